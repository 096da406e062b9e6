import Stratus
import StratusBytes
import StratusEngine
import StratusJournal
import Support
import Testing

/// The entries of identities and roles: `Formats/Record.md`.
@Suite struct IdentityEntryTests {
    private typealias Malformation = HostilePayloadTests.Malformation
    private typealias Key = IdentityEntry.AddressKey

    /// The payload of an identity, by no code of the store, so that every part of it can be false.
    struct RawIdentity {
        var user: UInt64 = 1
        var status: UInt8 = 1
        var flags: UInt8 = 0
        var givenName = "Al"
        var familyName = ""
        var addresses: [(kind: UInt8, text: String, compared: String)] = []
        var formerAddresses: [UInt64] = []
        /// What stands behind the last address.
        var rest: [UInt8] = []

        var payload: [UInt8] {
            var writer = ByteWriter()
            writer.varint(user)
            writer.append([status, flags])
            writer.countedText(givenName)
            writer.countedText(familyName)
            writer.varint(addresses.count)
            for address in addresses {
                writer.uint8(address.kind)
                writer.countedText(address.text)
                writer.countedText(address.compared)
            }
            writer.varint(formerAddresses.count)
            for address in formerAddresses {
                writer.uint64(0)
                writer.uint64(address)
            }
            writer.append(rest)
            return writer.bytes
        }
    }

    struct Change: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var body: @Sendable (inout RawIdentity) -> Void

        init(_ name: String, _ body: @escaping @Sendable (inout RawIdentity) -> Void) {
            testDescription = name
            self.body = body
        }

        var payload: [UInt8] {
            var raw = RawIdentity()
            body(&raw)
            return raw.payload
        }
    }

    private static func payload(_ entry: IdentityEntry) -> [UInt8] {
        var writer = ByteWriter()
        entry.write(to: &writer)
        return writer.bytes
    }

    private static func payload(_ entry: RolesEntry) -> [UInt8] {
        var writer = ByteWriter()
        entry.write(to: &writer)
        return writer.bytes
    }

    @Test func `an identity is read as it was written`() throws {
        let entries = [
            IdentityEntry(user: 1), IdentityEntry(user: 1 << 30, status: .couldNotDetermine),
            IdentityEntry(
                user: 7, status: .temporarilyUnavailable, isDiscoverable: true,
                givenName: "Ål", familyName: String(repeating: "x", count: 255),
                addresses: [
                    IdentityEntry.Address("Al@b.c", key: Key(.email, "al@b.c")),
                    IdentityEntry.Address("d@e.f", key: Key(.email, "d@e.f")),
                    IdentityEntry.Address("d@e.f", key: Key(.phone, "d@e.f")),
                ],
                formerAddresses: [Hash128(high: 2, low: 0), Hash128(high: 1, low: 9)]),
        ]
        for entry in entries {
            let bytes = Self.payload(entry)
            let read = try IdentityEntry(bytes.span)
            #expect(read == entry)
            // Every part of it is needed.
            for length in 0..<bytes.count {
                let part = Array(bytes[..<length])
                #expect(throws: FormatError.self) { try IdentityEntry(part.span) }
            }
        }
    }

    @Test func `the bytes of an identity are those of the page`() throws {
        let entry = IdentityEntry(
            user: 300, status: .restricted, isDiscoverable: true, givenName: "Al",
            addresses: [
                IdentityEntry.Address("A@b", key: Key(.email, "a@b")),
                IdentityEntry.Address("+1", key: Key(.phone, "+1")),
            ], formerAddresses: [Hash128(high: 0, low: 9), Hash128(high: 0, low: 5)])
        var raw = RawIdentity(user: 300, status: 2, flags: 1)
        raw.addresses = [(1, "A@b", "a@b"), (2, "+1", "")]
        raw.formerAddresses = [5, 9]
        #expect(Self.payload(entry) == raw.payload)
        #expect(Array(raw.payload.prefix(7)) == [0xac, 0x02, 2, 1, 2, 0x41, 0x6c])
    }

    static let malformed = [
        Change("user 0") { $0.user = 0 },
        Change("a user's number that no user has") { $0.user = 1 << 32 },
        Change("a name of 256 bytes") { $0.givenName = String(repeating: "x", count: 256) },
        Change("a family name of 256 bytes") {
            $0.familyName = String(repeating: "x", count: 256)
        },
        Change("an empty address") { $0.addresses = [(1, "", "")] },
        Change("an empty address with a compared text") { $0.addresses = [(1, "", "a")] },
        Change("an address of 256 bytes") {
            $0.addresses = [(2, String(repeating: "x", count: 256), "")]
        },
        Change("a compared text of 1,025 bytes") {
            $0.addresses = [(1, "a", String(repeating: "x", count: 1025))]
        },
        Change("a compared text that is the text") { $0.addresses = [(1, "a", "a")] },
        Change("the same address twice") { $0.addresses = [(1, "a", ""), (1, "A", "a")] },
        Change("33 addresses") { raw in
            raw.addresses = (0..<33).map { (kind: 2, text: "\($0)", compared: "") }
        },
        Change("the same former address twice") { $0.formerAddresses = [7, 7] },
        Change("former addresses that fall") { $0.formerAddresses = [7, 6] },
        Change("an extension block without a value") { $0.rest = [0] },
    ]

    @Test(arguments: malformed)
    func `an identity that makes no sense is refused at the opening`(
        change: Change
    ) async throws {
        let payload = change.payload
        #expect(throws: FormatError.self) { try IdentityEntry(payload.span) }
        try await Self.expectDamage(
            Malformation(change.testDescription, entry: 52) { $0.append(payload) })
    }

    static let newer = [
        Change("account status") { $0.status = 5 }, Change("flags") { $0.flags = 2 },
        Change("address kind") { $0.addresses = [(3, "a", "")] },
        Change("extension") { $0.rest = [1, 2, 0] },
    ]

    @Test(arguments: newer)
    func `what an identity has of a later version is of a newer format`(
        change: Change
    ) async throws {
        let payload = change.payload
        let entry = Malformation(change.testDescription, entry: 52) { $0.append(payload) }
        let (maker, file, byte) = try await HostilePayloadTests.store(entry)
        do {
            _ = try maker.open()
            Issue.record("it is taken")
        } catch JournalError.newerFormat(let damage) {
            #expect(damage.kind.identifier == "format.newer \(change.testDescription)")
            #expect(damage.file == file && damage.byte == byte)
        }
    }

    @Test func `an extension that may be passed over is`() throws {
        let payload = Change("later") { $0.rest = [1, 3, 1, 9] }.payload
        let read = try IdentityEntry(payload.span)
        #expect(read == IdentityEntry(user: 1, givenName: "Al"))
    }

    @Test func `an identity or roles of an unknown user are refused at the opening`() async throws {
        let payload = RawIdentity(user: 2).payload
        try await Self.expectDamage(Malformation("identity", entry: 52) { $0.append(payload) })
        try await Self.expectDamage(Malformation("roles", entry: 53) { $0.append([2, 0]) })
    }

    @Test func `roles are read as they were written, in order`() throws {
        for names: Set<String> in [[], ["Curator"], ["b", "B", "a_1", "A"]] {
            let entry = RolesEntry(user: 9, names: names)
            let bytes = Self.payload(entry)
            let read = try RolesEntry(bytes.span)
            #expect(read == entry && Set(read.names) == names)
            for length in 0..<bytes.count {
                let part = Array(bytes[..<length])
                #expect(throws: FormatError.self) { try RolesEntry(part.span) }
            }
        }
        let bytes = Self.payload(RolesEntry(user: 9, names: ["b", "A"]))
        #expect(bytes == [9, 2, 1, 0x41, 1, 0x62])
    }

    static let malformedRoles: [[UInt8]] = [
        // User 0, a count above the limit, an empty name, one that begins with _ or a digit.
        [0, 0], [1, 0xe9, 0x07], [1, 1, 0], [1, 1, 2, 0x5f, 0x61], [1, 1, 1, 0x31],
        // One that is not UTF-8, falling names, the same twice, bytes behind the last.
        [1, 1, 1, 0xff], [1, 2, 1, 0x62, 1, 0x61], [1, 2, 1, 0x61, 1, 0x61], [1, 0, 0],
    ]

    @Test(arguments: malformedRoles)
    func `roles that make no sense are refused at the opening`(payload: [UInt8]) async throws {
        #expect(throws: FormatError.self) { try RolesEntry(payload.span) }
        try await Self.expectDamage(Malformation("roles", entry: 53) { $0.append(payload) })
    }

    private static func expectDamage(
        _ entry: Malformation, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let (maker, file, byte) = try await HostilePayloadTests.store(entry)
        do {
            _ = try maker.open()
            Issue.record("it is taken", sourceLocation: sourceLocation)
        } catch JournalError.damaged(let damage) {
            #expect(
                damage.kind.identifier == "payload.content", sourceLocation: sourceLocation)
            #expect(
                damage.file == file && damage.byte == byte, sourceLocation: sourceLocation)
        }
    }
}
