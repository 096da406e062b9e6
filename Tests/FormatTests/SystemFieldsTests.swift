import Stratus
import StratusBytes
import Testing

/// System fields as `Formats/SystemFields.md` says, without the format and the checksum.
struct SystemFieldsImage {
    var zone = "notes"
    var owner = "__defaultOwner__"
    var name: String
    var type = "Note"
    /// Version, created, modified.
    var saved: (UInt64, Int64, Int64)?
    var parent: String?

    /// Without a checksum.
    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.uint8(1)
        writer.uint8((saved == nil ? 0 : 1) | (parent == nil ? 0 : 2))
        for text in [zone, owner, name, type] { writer.countedText(text) }
        if let (version, created, modified) = saved {
            writer.uint64(version)
            writer.signedVarint(created)
            writer.signedVarint(modified)
            for word in [UInt64(1), 2, 3, 4] { writer.uint64(word << 60 | word) }
        }
        if let parent { writer.countedText(parent) }
        return writer.bytes
    }

    var sealed: [UInt8] { TokenFields.sealed(bytes) }
}

extension SampleMaker {
    /// Files of system fields, one a line.
    static func systemFields() -> [String: StoreFiles] {
        let time: Int64 = 1_767_225_600_000
        var whole = SystemFieldsImage(name: "a", saved: (545, time, time + 1500))
        whole.parent = "p"
        let valid = [
            SystemFieldsImage(name: "new").bytes, whole.bytes,
            SystemFieldsImage(
                zone: "z", owner: "_00112233445566778899aabbccddeeff", name: "ü", type: "Ä",
                saved: (.max, -1, 1 << 40)
            ).bytes,
            SystemFieldsImage(zone: "", owner: "", name: "", type: "", parent: "").bytes,
        ]
        var format = whole.bytes
        format[0] = 2
        var flags = whole.bytes
        flags[1] = 7
        var text = SystemFieldsImage(name: "aa").bytes
        text[26] = 0xff
        var count = SystemFieldsImage(name: "a").bytes
        count[2] = 0x7f
        let date = SystemFieldsImage(name: "a", saved: (1, 1 << 53, 0)).bytes
        let version = SystemFieldsImage(name: "a", saved: (0, 0, 0)).bytes
        let damaged: [[UInt8]] = [
            format, flags, text, count, date, version, whole.bytes + [0],
            Array(whole.bytes.dropLast(1)),
        ]
        var flipped = whole.sealed
        flipped[20] ^= 1
        return [
            "valid/system-fields": [Sample.systemFields: lines(valid.map(TokenFields.sealed))],
            "damaged/system-fields": [
                Sample.systemFields: lines(
                    [[], [1, 2, 3, 4], flipped] + damaged.map(TokenFields.sealed))
            ],
        ]
    }

    private static func lines(_ records: [[UInt8]]) -> [UInt8] {
        records.flatMap { Array(Hex.encode($0).utf8) + [0x0a] }
    }
}

@Suite struct SystemFieldsTests {
    /// What each line of a file of system fields is, as the library reads it.
    static func description(of file: [UInt8]) -> [String] {
        String(decoding: file, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map { line in
                guard let bytes = Hex.decode(line) else { return "refused hexadecimal" }
                do throws(StoreError) {
                    return text(try Record(systemFields: bytes))
                } catch {
                    guard let place = error.place, error.code == .invalidArguments else {
                        return "another error"
                    }
                    return "refused \(place.kind) byte \(place.byte)"
                }
            }
    }

    private static func text(_ record: Record) -> String {
        let id = record.recordID
        var text = "\(id.zoneID.zoneName) of \(id.zoneID.ownerName): \(record.recordType) "
        text += "\(id.recordName)"
        if record.recordChangeTag != nil {
            let system = SystemValues(record)
            text += " tag \(system.tag) created \(system.created) by \(system.creator)"
            text += " modified \(system.modified) by \(system.modifier)"
        }
        if let parent = record.parent { text += " parent \(parent.recordID.recordName)" }
        return text
    }

    @Test(arguments: ["valid/system-fields", "damaged/system-fields"])
    func `system fields are read as their expectation says`(name: String) throws {
        let sample = Sample(name: name)
        let file = try #require(sample.files[Sample.systemFields])
        let described = Self.description(of: file)
        #expect(described.joined(separator: "\n") + "\n" == sample.expected)
        let areRefused = described.map { $0.hasPrefix("refused ") }
        #expect(areRefused.allSatisfy { $0 == name.hasPrefix("damaged") })
    }

    @Test func `what is read gives the same bytes again`() throws {
        let file = try #require(
            Sample(name: "valid/system-fields").files[Sample.systemFields])
        for line in String(decoding: file, as: UTF8.self).split(separator: "\n") {
            let bytes = try #require(Hex.decode(line))
            #expect(try Record(systemFields: bytes).encodeSystemFields() == bytes, "\(line)")
        }
    }
}
