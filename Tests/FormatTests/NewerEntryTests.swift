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
            $0.zeros(8)
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
            $0.append([0, state, 0, 0, 1, form])
        }
    }

    /// Of the one zone, with the next number.
    private static func share(
        state: UInt8 = 1, permission: UInt8 = 1, _ rest: [UInt8] = []
    ) -> Malformation {
        var share = Malformation("share", entry: 49) {
            $0.append([2, 0, state, permission])
            $0.zeros(16)
            $0.countedText("later")
            $0.countedText("note-0")
            $0.append(rest)
        }
        share.zone = 1
        return share
    }

    /// Invited, of a share with the number of the zone.
    private static func participant(
        role: UInt8 = 3, permission: UInt8 = 2, status: UInt8 = 1, lookupKind: UInt8 = 0,
        _ rest: [UInt8] = []
    ) -> Malformation {
        var participant = Malformation("participant", entry: 51) {
            $0.append([1])
            $0.zeros(16)
            $0.append([0, role, permission, status, 0, 0, lookupKind])
            $0.countedText(lookupKind == 0 ? "" : "later")
            $0.append(rest)
        }
        participant.zone = 1
        return participant
    }

    /// With one address.
    private static func identity(
        status: UInt8 = 1, flags: UInt8 = 0, addressKind: UInt8 = 1, _ rest: [UInt8] = []
    ) -> Malformation {
        Malformation("identity", entry: 52) {
            $0.append([1, status, flags, 0, 0, 1, addressKind])
            $0.countedText("a@b.example")
            $0.append([0, 0])
            $0.append(rest)
        }
    }

    private static func roles(_ rest: [UInt8]) -> Malformation {
        Malformation("roles", entry: 53) {
            $0.append([1, 1])
            $0.countedText("Later")
            $0.append(rest)
        }
    }

    /// Of a query without a predicate; `info` and `anchors` as they stand there.
    private static func subscription(
        flags: UInt64 = 1, kind: UInt8 = 1, info: [UInt8] = [0], anchors: [UInt8] = [0],
        _ rest: [UInt8] = []
    ) -> Malformation {
        Malformation("subscription", entry: 54) {
            $0.varint(flags)
            $0.append([1, 2, kind])
            for text in ["later", "Note", "", ""] { $0.countedText(text) }
            $0.append(info)
            $0.uint8(0)
            $0.append(anchors)
            $0.append(rest)
        }
    }

    /// A list of one.
    private static func anchor(kind: UInt8) -> [UInt8] {
        [1, 1, 0x61, kind, 0, 0] + [UInt8](repeating: 0, count: 16)
    }

    private static func removal(anchors: [UInt8] = [0], _ rest: [UInt8] = []) -> Malformation {
        Malformation("subscription removal", entry: 55) {
            $0.append([1, 2])
            $0.countedText("later")
            $0.uint64(500)
            $0.countedText("Note")
            $0.append(anchors)
            $0.append(rest)
        }
    }

    /// Of one user and one subscription, which does not badge.
    private static func matches(
        flags: UInt8 = 0, reason: UInt8 = 1, _ rest: [UInt8] = []
    ) -> Malformation {
        var matches = Malformation("matches", entry: 56) {
            $0.append([flags, 0, 1, 1, reason])
            $0.countedText("note-0")
            $0.append([0, 1, 0, 1, 1, 0, 1])
            $0.varint(UInt64(1200))
            $0.append(rest)
        }
        matches.zone = 1
        return matches
    }

    private static func readMark(kind: UInt8 = 1, _ rest: [UInt8] = []) -> Malformation {
        Malformation("read mark", entry: 57) {
            $0.append([1, 0, kind])
            $0.uint64(600)
            $0.uint64(650)
            $0.uint32(1)
            $0.append(rest)
        }
    }

    private static func zoneNotifications(_ rest: [UInt8]) -> Malformation {
        Malformation("zone notifications", entry: 65) {
            $0.append([1, 0])
            $0.uint64(600)
            $0.append([1, 100, 1])
            $0.append(rest)
        }
    }

    private static func badge(_ rest: [UInt8]) -> Malformation {
        Malformation("badge", entry: 58) {
            $0.append([1, 7])
            $0.append(rest)
        }
    }

    private static let ofSubscriptions: [(entry: Malformation, what: String)] = [
        (subscription(flags: 32), "flags"), (subscription(kind: 4), "subscription kind"),
        // A bit of the content.
        (subscription(info: [1, 0x80, 0x80, 0x10]), "flags"),
        (subscription(anchors: anchor(kind: 8)), "anchor kind"),
        (subscription(extensions(2)), "extension"),
        (removal(anchors: anchor(kind: 8)), "anchor kind"),
        (removal(extensions(0)), "extension"), (matches(flags: 2), "flags"),
        (matches(reason: 4), "reason"), (matches(extensions(4)), "extension"),
        (readMark(kind: 4), "subscription kind"), (readMark(extensions(2)), "extension"),
        (badge(extensions(6)), "extension"), (zoneNotifications(extensions(2)), "extension"),
    ]

    private static let ofOthers: [(entry: Malformation, what: String)] = [
        (Malformation("record") { $0.flags = 16384 }, "flags"),
        (Malformation("record") { $0.extensions = extensions(6) }, "extension"),
        (tombstone(flags: 128), "flags"),
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
        (index(state: 4, form: 1), "state"), (index(state: 1, form: 7), "form"),
        (share(state: 4), "state"), (share(permission: 4), "permission"),
        (share(extensions(2)), "extension"), (participant(role: 5), "role"),
        (participant(permission: 4), "permission"), (participant(status: 4), "status"),
        (participant(lookupKind: 4), "lookup kind"),
        (participant(extensions(0)), "extension"), (identity(status: 5), "account status"),
        (identity(flags: 2), "flags"), (identity(addressKind: 3), "address kind"),
        (identity(extensions(4)), "extension"), (roles(extensions(2)), "extension"),
    ]

    private static func device(
        state: UInt8 = 1, environment: UInt8 = 0, _ rest: [UInt8] = []
    ) -> Malformation {
        Malformation("device", entry: 59) {
            $0.append([1, state, 1, 0x61, environment, 1, 7, 0])
            $0.append(rest)
        }
    }

    private static func pushPosition(_ rest: [UInt8]) -> Malformation {
        Malformation("push position", entry: 60) {
            $0.append([1, 1, 0x61, 55])
            $0.zeros(55)
            $0.append(rest)
        }
    }

    private static let ofDevices: [(entry: Malformation, what: String)] = [
        (device(state: 2), "device state"), (device(environment: 2), "push environment"),
        (device(extensions(2)), "extension"), (pushPosition(extensions(0)), "extension"),
    ]

    private static func requestState(_ rest: [UInt8]) -> Malformation {
        Malformation("request state", entry: 62) {
            $0.zeros(16)
            $0.append([1, 0x61, 1, 0, 2])
            $0.append(rest)
        }
    }

    private static let mustBeKnown =
        ofOthers + ofSubscriptions + ofDevices
        + [(requestState(extensions(2)), "extension")]

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
        zone(extensions(1)), user(extensions(3)), share(extensions(1)),
        participant(extensions(5)), identity(extensions(7)), roles(extensions(1)),
        subscription(extensions(1)), removal(extensions(3)), matches(extensions(1)),
        readMark(extensions(7)), badge(extensions(1)),
        zoneNotifications(extensions(5)), device(extensions(1)),
        pushPosition(extensions(3)), requestState(extensions(1)),
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
