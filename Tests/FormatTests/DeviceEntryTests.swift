import Stratus
import StratusBytes
import StratusEngine
import StratusJournal
import Testing

/// The entries of devices and of push positions: `Formats/Record.md`.
@Suite struct DeviceEntryTests {
    private static let devices = [
        DeviceEntry(user: 1, name: "a", registration: nil),
        DeviceEntry(
            user: .max, name: String(repeating: "x", count: 255),
            registration: DeviceEntry.Registration(
                environment: .production, token: [0], start: 0)),
        DeviceEntry(
            user: 300, name: "æ",
            registration: DeviceEntry.Registration(
                environment: .development, token: Array(repeating: 7, count: 200),
                start: 1 << 52 - 1)),
    ]

    private static let positions = [55, 310].map {
        PushPositionEntry(user: 300, device: "æ", token: Array(repeating: 7, count: $0))
    }

    private static func bytes(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
        var writer = ByteWriter()
        write(&writer)
        return writer.bytes
    }

    private static func result<Entry>(
        _ bytes: [UInt8], _ read: (Span<UInt8>) throws(FormatError) -> Entry
    ) -> Result<Entry, FormatError> {
        do throws(FormatError) {
            return .success(try read(bytes.span))
        } catch {
            return .failure(error)
        }
    }

    /// The entry is read as it was written, and every part of it is needed. Whatever a bit says,
    /// the bytes are refused or are another entry.
    private static func expectWhole<Entry: Equatable>(
        _ entry: Entry, _ write: (Entry, inout ByteWriter) -> Void,
        _ read: (Span<UInt8>) throws(FormatError) -> Entry
    ) {
        let bytes = Self.bytes { write(entry, &$0) }
        let whole = result(bytes, read)
        #expect(whole == .success(entry))
        for count in 0..<bytes.count {
            let part = result(Array(bytes.prefix(count)), read)
            #expect(part == .failure(.truncated), "\(count) bytes")
        }
        for place in bytes.indices {
            for bit in 0..<8 {
                var other = bytes
                other[place] ^= UInt8(1) << UInt8(bit)
                guard case .success(let changed) = result(other, read) else { continue }
                let again = result(Self.bytes { write(changed, &$0) }, read)
                #expect(again == .success(changed), "bit \(bit) of byte \(place)")
            }
        }
    }

    @Test func `devices and positions are read as they were written`() {
        for device in Self.devices {
            Self.expectWhole(device, { $0.write(to: &$1) }) { span throws(FormatError) in
                try DeviceEntry(span)
            }
        }
        for position in Self.positions {
            Self.expectWhole(position, { $0.write(to: &$1) }) { span throws(FormatError) in
                try PushPositionEntry(span)
            }
        }
    }

    /// A payload, by no code of the store, and why it is refused.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var kind: UInt8
        var error: FormatError
        var bytes: [UInt8]
    }

    private static func device(
        _ name: String, _ error: FormatError, user: UInt64 = 1, state: UInt8 = 1,
        device: String = "a", environment: UInt8 = 0, count: Int = 1, start: UInt64 = 0,
        rest: [UInt8] = []
    ) -> Case {
        let bytes = Self.bytes {
            $0.varint(user)
            $0.uint8(state)
            $0.countedText(device)
            if state == 1 {
                $0.uint8(environment)
                $0.varint(count)
                $0.zeros(count)
                $0.varint(start)
            }
            $0.append(rest)
        }
        return Case(testDescription: name, kind: 59, error: error, bytes: bytes)
    }

    private static func position(
        _ name: String, _ error: FormatError, user: UInt64 = 1, device: String = "a",
        count: Int = 55, rest: [UInt8] = []
    ) -> Case {
        let bytes = Self.bytes {
            $0.varint(user)
            $0.countedText(device)
            $0.varint(count)
            $0.zeros(count)
            $0.append(rest)
        }
        return Case(testDescription: name, kind: 60, error: error, bytes: bytes)
    }

    private static let long = String(repeating: "x", count: 256)

    static let bad: [Case] = [
        device("user 0", .value("user"), user: 0),
        device("a user's number that no user has", .integer, user: 1 << 32),
        device("a state of a later version", .newer("device state"), state: 2),
        device("a device without a name", .value("device name"), device: ""),
        device("a name of 256 bytes", .value("count"), device: long),
        device("an environment of a later version", .newer("push environment"), environment: 2),
        device("no token", .value("device token"), count: 0),
        device("a token of 4,097 bytes", .value("count"), count: 4097),
        device("a start that no entry has", .value("start"), start: 1 << 52),
        device("an extension of a later version", .newer("extension"), rest: [1, 2, 0]),
        device("an extension block without a value", .value("extensions"), rest: [0]),
        device("a token of a removed device", .newer("extension"), state: 0, rest: [1, 0, 0]),
        position("a position of user 0", .value("user"), user: 0),
        position("a position of no device", .value("device name"), device: ""),
        position("a position of a name of 256 bytes", .value("count"), device: long),
        position("a token of 54 bytes", .value("token"), count: 54),
        position("a token of 311 bytes", .value("count"), count: 311),
        position("an extension that must be known", .newer("extension"), rest: [1, 2, 0]),
    ]

    @Test(arguments: bad)
    func `what is out of range is refused`(entry: Case) {
        let error: FormatError?
        switch entry.kind {
        case 59:
            let result = Self.result(entry.bytes) { span throws(FormatError) in
                try DeviceEntry(span)
            }
            error = if case .failure(let error) = result { error } else { nil }
        default:
            let result = Self.result(entry.bytes) { span throws(FormatError) in
                try PushPositionEntry(span)
            }
            error = if case .failure(let error) = result { error } else { nil }
        }
        #expect(error == entry.error)
    }
}

// Devices that use what is not known, or lie behind what goes on with them: `Formats/Record.md`,
// "Validity", rule 4. What breaks a rule by itself is above.
extension HostilePayloadTests {
    private static func device(
        _ name: String, user: UInt64 = 1, start: UInt64 = 0
    ) -> Malformation {
        Malformation(name, entry: 59) {
            $0.varint(user)
            $0.uint8(1)
            $0.countedText("hostile")
            $0.append([0, 1, 7])
            $0.varint(start)
        }
    }

    private static func pushPosition(_ name: String, user: UInt64) -> Malformation {
        Malformation(name, entry: 60) {
            $0.varint(user)
            $0.countedText("hostile")
            $0.uint8(55)
            $0.zeros(55)
        }
    }

    /// Refused when the store is opened.
    static let ofDevices: [Malformation] = [
        device("a device of an unknown user", user: 77),
        device("a device that goes on with a later registration", start: 1 << 40),
        pushPosition("a push position of an unknown user", user: 77),
    ]
}
