import Stratus
import StratusBytes
import StratusJournal
import Support
import Testing

/// What a later version adds to entries: passed over where it may be, and otherwise a newer format,
/// never damage.
@Suite struct NewerEntryTests {
    private typealias Malformation = HostilePayloadTests.Malformation

    /// A block with one value under `tag`.
    private static func extensions(_ tag: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.varint(1)
        writer.varint(tag)
        writer.countedText("later")
        return writer.bytes
    }

    private static func zone(capabilities: UInt8 = 15, _ rest: [UInt8] = []) -> Malformation {
        Malformation("zone", entry: 34) {
            $0.varint(2)
            $0.varint(1)
            $0.append([1, capabilities, 0, 0])
            $0.countedText("later")
            $0.append(rest)
        }
    }

    private static func user(_ rest: [UInt8]) -> Malformation {
        Malformation("user", entry: 35) {
            $0.varint(2)
            $0.append([UInt8](repeating: 7, count: 16))
            $0.signedVarint(0)
            $0.countedText("later")
            $0.append(rest)
        }
    }

    private static func tombstone(flags: UInt64) -> Malformation {
        var tombstone = Malformation("tombstone", entry: 33) {
            for number: UInt64 in [0, 1, 0, 600, 9] { $0.varint(number) }
            $0.countedText("later")
            $0.varint(flags)
        }
        tombstone.zone = 1
        return tombstone
    }

    private static func index(state: UInt8, form: UInt8) -> Malformation {
        Malformation("index", entry: 46) {
            $0.append([0, state, 0, 1, form])
        }
    }

    private static let mustBeKnown: [(entry: Malformation, what: String)] = [
        (Malformation("record") { $0.flags = 1024 }, "flags"),
        (Malformation("record") { $0.extensions = extensions(6) }, "extension"),
        (tombstone(flags: 32), "flags"),
        (zone(capabilities: 16), "capabilities"),
        (zone(extensions(0)), "extension"),
        (user(extensions(8)), "extension"),
        (
            Malformation("policy", entry: 39) {
                $0.uint64(64)
                $0.uint8(4)
            }, "policy"
        ),
        (Malformation("deletion policy", entry: 45) { $0.uint8(4) }, "policy"),
        (index(state: 4, form: 1), "state"), (index(state: 1, form: 4), "form"),
    ]

    @Test(arguments: mustBeKnown.indices)
    func `what must be known is of a newer format for all that read it`(index: Int) async throws {
        let (entry, what) = Self.mustBeKnown[index]
        let (maker, file, byte) = try await HostilePayloadTests.store(entry)
        for isOpening in [true, false] {
            do {
                if isOpening {
                    _ = try maker.open()
                } else {
                    _ = try StoreVerification(maker.disk.storage(writing: false))
                }
                Issue.record("nothing is wrong, opening: \(isOpening)")
            } catch JournalError.newerFormat(let damage) {
                #expect(damage.kind.identifier == "format.newer \(what)")
                #expect(damage.file == file && damage.byte == byte)
            }
        }
    }

    private static let mayBeIgnored = [
        Malformation("record") { $0.extensions = extensions(7) },
        zone(extensions(1)), user(extensions(3)),
    ]

    @Test(arguments: mayBeIgnored.indices)
    func `what may be passed over changes nothing`(index: Int) async throws {
        let (maker, _, _) = try await HostilePayloadTests.store(Self.mayBeIgnored[index])
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        let names = try await database.records(inZoneWith: SampleMaker.zone).records
            .map(\.recordID.recordName).sorted()
        #expect(names == (index == 0 ? ["hostile", "note-0", "note-1"] : ["note-0", "note-1"]))
        // An entry in its place has it no more.
        if index == 0 { try await database.save(maker.record("hostile"), savePolicy: .allKeys) }
        try await container.close()
        let findings = try StoreVerification(maker.disk.storage(writing: false)).findings
        #expect(findings.isEmpty, "\(findings)")
    }

    @Test func `an extension block that is none is damage`() async throws {
        // No value, falling tags, and a value that reaches beyond the entry.
        let blocks: [[UInt8]] = [[0], [2, 3, 0, 3, 0], [1, 3, 200, 1]]
        for block in blocks {
            let (maker, _, byte) = try await HostilePayloadTests.store(Self.user(block))
            do {
                _ = try maker.open()
                Issue.record("\(block) is taken")
            } catch JournalError.damaged(let damage) {
                #expect(damage.kind == .payload("content") && damage.byte == byte)
            }
        }
    }
}
