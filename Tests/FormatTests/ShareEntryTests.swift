import Stratus
import StratusBytes
import StratusEngine
import StratusJournal
import Testing

/// The entries of shares, members and participants, and what records and tombstones say of shares:
/// `Formats/Record.md`.
@Suite struct ShareEntryTests {
    private static let share = ShareEntry(
        number: 7, began: Version(rawValue: 1 << 52 | 600), state: .ended, permission: 3,
        link: Hash128(high: .max, low: 5), recordName: "Share-1", rootName: "root")
    private static let members = MembersEntry(
        oldShare: 300, newShare: 7, device: .max,
        items: [
            MembersEntry.Item(
                name: "a", type: 2, version: Version(rawValue: 600), length: 88,
                since: Version(rawValue: 500), place: 0),
            MembersEntry.Item(
                name: "æ", type: 200, version: Version(rawValue: 1 << 60), length: 1 << 24,
                since: Version(rawValue: 1 << 40), place: 256),
        ])
    private static let participant = ParticipantEntry(
        share: 7, id: Hash128(high: 1, low: .max), user: 9, role: 3, permission: 2,
        status: .accepted, since: Version(rawValue: 1 << 52 | 700), added: -1,
        lookupKind: 1, lookup: "a@b.example")

    private static func bytes(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
        var writer = ByteWriter()
        write(&writer)
        return writer.bytes
    }

    /// Why bytes are not read; nil where they are.
    private static func refusal<Entry>(
        of bytes: [UInt8], _ read: (Span<UInt8>) throws(FormatError) -> Entry
    ) -> FormatError? {
        do throws(FormatError) {
            _ = try read(bytes.span)
            return nil
        } catch {
            return error
        }
    }

    private static func shareRefusal(_ bytes: [UInt8]) -> FormatError? {
        refusal(of: bytes) { span throws(FormatError) in try ShareEntry(span) }
    }
    private static func membersRefusal(_ bytes: [UInt8]) -> FormatError? {
        refusal(of: bytes) { span throws(FormatError) in try MembersEntry(span) }
    }
    private static func participantRefusal(_ bytes: [UInt8]) -> FormatError? {
        refusal(of: bytes) { span throws(FormatError) in try ParticipantEntry(span) }
    }
    private static func headRefusal(_ bytes: [UInt8]) -> FormatError? {
        refusal(of: bytes) { span throws(FormatError) in
            var cursor = ByteCursor()
            return try RecordHead(span, &cursor)
        }
    }
    private static func tombstoneRefusal(_ bytes: [UInt8]) -> FormatError? {
        refusal(of: bytes) { span throws(FormatError) in try Tombstone(span) }
    }

    @Test func `a share is read as it was written`() throws {
        var zoneWide = Self.share
        zoneWide.rootName = ""
        zoneWide.recordName = "cloudkit.zoneshare"
        zoneWide.state = .alive
        zoneWide.began = .none
        for entry in [Self.share, zoneWide] {
            let bytes = Self.bytes { entry.write(to: &$0) }
            let read = try ShareEntry(bytes.span)
            #expect(read == entry)
            #expect(entry.isZoneWide == entry.rootName.isEmpty)
        }
    }

    @Test func `members are read as they were written`() throws {
        var entering = Self.members
        entering.oldShare = 0
        for place in entering.items.indices {
            entering.items[place].since = .none
            entering.items[place].place = 0
        }
        var leaving = Self.members
        leaving.newShare = 0
        var full = entering
        full.items = (0..<MembersEntry.limit).map { number in
            MembersEntry.Item(
                name: "r\(number)", type: 0, version: Version(rawValue: UInt64(number) + 1),
                length: 40)
        }
        for entry in [Self.members, entering, leaving, full] {
            let bytes = Self.bytes { entry.write(to: &$0) }
            let read = try MembersEntry(bytes.span)
            #expect(read == entry)
        }
    }

    @Test func `a participant is read as it was written`() throws {
        var pending = Self.participant
        pending.user = 0
        pending.status = .pending
        pending.since = .none
        pending.lookupKind = 0
        pending.lookup = ""
        var removed = Self.participant
        removed.status = .removed
        for entry in [Self.participant, pending, removed] {
            let bytes = Self.bytes { entry.write(to: &$0) }
            let read = try ParticipantEntry(bytes.span)
            #expect(read == entry)
        }
    }

    @Test func `the next entry of a participant knows when the participation began`() {
        var first = Self.participant
        first.since = .none
        let version = Version(rawValue: 800)
        #expect(first.continued(from: version).since == version)
        #expect(Self.participant.continued(from: version) == Self.participant)
        first.status = .pending
        #expect(first.continued(from: version).since == Version.none)
    }

    /// What a payload says, and why it is refused.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Nil where it is read.
        var error: FormatError?
        var bytes: [UInt8]

        init(_ name: String, _ error: FormatError?, _ bytes: [UInt8]) {
            testDescription = name
            self.error = error
            self.bytes = bytes
        }
    }

    private static func changedShare(
        _ name: String, _ error: FormatError, _ change: (inout ShareEntry) -> Void
    ) -> Case {
        var entry = share
        change(&entry)
        return Case(name, error, bytes { entry.write(to: &$0) })
    }

    /// With any state and permission.
    private static func raw(state: UInt8, permission: UInt8) -> [UInt8] {
        bytes {
            $0.append([7, 0, state, permission])
            $0.zeros(16)
            $0.countedText("Share-1")
            $0.countedText("root")
        }
    }

    static let badShares: [Case] = [
        changedShare("number 0", .value("number")) { $0.number = 0 },
        changedShare("a number above all", .value("number")) { $0.number = 1 << 31 },
        Case("state 0", .newer("state"), raw(state: 0, permission: 1)),
        Case("an unknown state", .newer("state"), raw(state: 4, permission: 1)),
        Case("permission 0", .newer("permission"), raw(state: 1, permission: 0)),
        Case("an unknown permission", .newer("permission"), raw(state: 1, permission: 4)),
        changedShare("a record without a name", .value("name")) { $0.recordName = "" },
        changedShare("a long record name", .value("count")) {
            $0.recordName = String(repeating: "a", count: 256)
        },
        changedShare("a long root name", .value("count")) {
            $0.rootName = String(repeating: "a", count: 256)
        },
        Case(
            "an extension that must be known", .newer("extension"),
            raw(state: 1, permission: 1) + [1, 0, 0]),
        Case(
            "a block of no extensions", .value("extensions"), raw(state: 1, permission: 1) + [0]),
    ]

    @Test(arguments: badShares)
    func `a share that breaks a rule is refused`(bad: Case) {
        #expect(Self.shareRefusal(bad.bytes) == bad.error)
    }

    @Test func `an extension of a share that may be passed over is`() throws {
        let bytes = Self.raw(state: 1, permission: 1) + [1, 1, 0]
        let read = try ShareEntry(bytes.span)
        #expect(read.number == 7)
    }

    private static func changedMembers(
        _ name: String, _ error: FormatError, _ change: (inout MembersEntry) -> Void
    ) -> Case {
        var entry = members
        change(&entry)
        return Case(name, error, bytes { entry.write(to: &$0) })
    }

    static let badMembers: [Case] = [
        changedMembers("no share at all", .value("share")) {
            $0.oldShare = 0
            $0.newShare = 0
        },
        changedMembers("the same share", .value("share")) { $0.newShare = 300 },
        changedMembers("no records", .value("count")) { $0.items = [] },
        changedMembers("257 records", .value("count")) {
            $0.items = [MembersEntry.Item](repeating: $0.items[0], count: 257)
        },
        changedMembers("a record without a name", .value("name")) { $0.items[1].name = "" },
        changedMembers("no version", .value("version")) { $0.items[0].version = .none },
        changedMembers("a frame of 32 bytes", .value("length")) { $0.items[0].length = 32 },
        changedMembers("a frame that is not aligned", .value("length")) { $0.items[0].length = 92 },
        changedMembers("a frame that is too long", .value("length")) {
            $0.items[0].length = 16 << 20 + 56
        },
        changedMembers("no beginning of the former membership", .value("since")) {
            $0.items[1].since = .none
        },
        changedMembers("a place above all", .value("place")) { $0.items[1].place = 257 },
        Case(
            "bytes behind the last record", .value("length"),
            bytes { members.write(to: &$0) } + [0]),
    ]

    @Test(arguments: badMembers)
    func `members that break a rule are refused`(bad: Case) {
        #expect(Self.membersRefusal(bad.bytes) == bad.error)
    }

    private static func changedParticipant(
        _ name: String, _ error: FormatError, _ change: (inout ParticipantEntry) -> Void
    ) -> Case {
        var entry = participant
        change(&entry)
        return Case(name, error, bytes { entry.write(to: &$0) })
    }

    private static func raw(status: UInt8) -> [UInt8] {
        bytes {
            $0.varint(UInt32(7))
            $0.zeros(16)
            $0.append([9, 3, 2, status, 0, 0, 0, 0])
        }
    }

    static let badParticipants: [Case] = [
        changedParticipant("no share", .value("share")) { $0.share = 0 },
        changedParticipant("role 0", .newer("role")) { $0.role = 0 },
        changedParticipant("an unknown role", .newer("role")) { $0.role = 5 },
        changedParticipant("permission 0", .newer("permission")) { $0.permission = 0 },
        changedParticipant("an unknown permission", .newer("permission")) { $0.permission = 4 },
        Case("status 0", .newer("status"), raw(status: 0)),
        Case("an unknown status", .newer("status"), raw(status: 4)),
        changedParticipant("acceptance by no user", .value("user")) { $0.user = 0 },
        changedParticipant("a participation before acceptance", .value("since")) {
            $0.status = .pending
        },
        changedParticipant("a date past all years", .value("added")) { $0.added = 1 << 53 },
        changedParticipant("a date before all years", .value("added")) { $0.added = -1 << 53 },
        changedParticipant("an unknown kind of look-up", .newer("lookup kind")) {
            $0.lookupKind = 4
        },
        changedParticipant("a kind of look-up without a text", .value("lookup")) {
            $0.lookup = ""
        },
        changedParticipant("a text without a kind of look-up", .value("lookup")) {
            $0.lookupKind = 0
        },
        changedParticipant("a long look-up", .value("count")) {
            $0.lookup = String(repeating: "a", count: ParticipantEntry.lookupLimit + 1)
        },
        Case("bytes behind the end", .value("extensions"), raw(status: 1) + [0]),
    ]

    @Test(arguments: badParticipants)
    func `a participant that breaks a rule is refused`(bad: Case) {
        #expect(Self.participantRefusal(bad.bytes) == bad.error)
    }

    @Test func `bytes that end early, or say something else, are refused or read and never trap`() {
        let entries: [(bytes: [UInt8], refusal: ([UInt8]) -> FormatError?)] = [
            (Self.bytes { Self.share.write(to: &$0) }, Self.shareRefusal),
            (Self.bytes { Self.members.write(to: &$0) }, Self.membersRefusal),
            (Self.bytes { Self.participant.write(to: &$0) }, Self.participantRefusal),
            (Self.headBytes, Self.headRefusal), (Self.tombstoneBytes, Self.tombstoneRefusal),
        ]
        for (place, entry) in entries.enumerated() {
            #expect(entry.refusal(entry.bytes) == nil)
            for count in 0..<entry.bytes.count {
                let refusal = entry.refusal(Array(entry.bytes.prefix(count)))
                let what: Comment = "entry \(place), \(count) bytes"
                if place < 3 { #expect(refusal == FormatError.truncated, what) }
                // Of a tombstone all behind the name may be missing.
                if place == 3 { #expect(refusal != nil, what) }
                for value: UInt8 in [0, 1, 0x7f, 0x80, 0xff] {
                    var other = entry.bytes
                    other[count] = value
                    _ = entry.refusal(other)
                }
            }
        }
    }
}

// What records and tombstones say.
extension ShareEntryTests {
    private static let rows: IndexStatement = {
        var rows = IndexStatement()
        rows.add(
            FieldIndex(number: 0, type: 3, field: 1, form: .number),
            old: [], new: [IndexedValue(number: 4)])
        return rows
    }()

    private static let head: RecordHead = {
        var head = RecordHead(
            type: 3, modified: 1_767_225_700_000, by: Author(2, device: .max - 1),
            created: 1_767_225_600_000, creator: 1, previous: Version(rawValue: 600),
            isUpdate: true,
            origin: MoveOrigin(zone: 4, version: Version(rawValue: 500)))
        head.replacedLength = 90
        head.assetBytes = 0
        head.formerAssetBytes = 70
        head.membership = ShareMembership(share: 8, since: .none, place: 0)
        head.formerMembership = ShareMembership(
            share: 7, since: Version(rawValue: 550), place: 256)
        return head
    }()

    private static let headBytes: [UInt8] = bytes {
        head.write(
            name: "root", parent: "parent",
            links: LinkChange(
                hasCascadeLinks: true, formerParent: "former",
                formerCascadeLinks: [CascadeLink(field: 1, target: "target")]),
            indexRows: rows, shareRecord: "Share-1", to: &$0)
    }

    @Test func `the head of a record with all parts is read as it was written`() throws {
        let bytes = Self.headBytes
        var cursor = ByteCursor()
        let head = try RecordHead(bytes.span, &cursor)
        #expect(cursor.position == bytes.count)
        #expect(head.membership == Self.head.membership)
        #expect(head.formerMembership == Self.head.formerMembership)
        #expect(head.replacedMembership == Self.head.formerMembership)
        #expect(head.concernsShares)
        let names = [
            try head.shareRecord(in: bytes.span), try head.name(in: bytes.span),
            try head.parent(in: bytes.span),
        ]
        #expect(names == ["Share-1", "root", "parent"])
        #expect(head.origin == Self.head.origin && head.device == .max - 1)
        #expect(head.assetBytes == 0 && head.formerAssetBytes == 70)
        #expect(head.indexRows != nil && head.formerCascadeLinks != nil)
    }

    private static func written(
        isUpdate: Bool = true, _ own: ShareMembership?, _ former: ShareMembership? = nil,
        shareRecord: String? = nil
    ) -> [UInt8] {
        var head = RecordHead(
            type: 3, modified: 0, by: Author(2), created: 0, creator: 2,
            previous: isUpdate ? Version(rawValue: 600) : .none, isUpdate: isUpdate)
        head.membership = own
        head.formerMembership = former
        return bytes {
            head.write(name: "a", parent: nil, shareRecord: shareRecord, to: &$0)
        }
    }

    private static func membership(
        _ share: UInt32, since: UInt64 = 0, place: UInt32 = 0
    ) -> ShareMembership {
        ShareMembership(share: share, since: Version(rawValue: since), place: place)
    }

    static let goodHeads: [Case] = [
        Case("no share", nil, written(nil)),
        Case("a new record", nil, written(isUpdate: false, membership(8))),
        Case("a member", nil, written(membership(8, since: 500))),
        Case("a member by a members entry", nil, written(membership(8, since: 500, place: 1))),
        Case("a root", nil, written(membership(8), shareRecord: "s")),
        Case("leaving", nil, written(nil, membership(8, since: 500))),
        Case("taken out before", nil, written(nil, membership(0, since: 500, place: 9))),
        Case("changing", nil, written(membership(8), membership(7, since: 500, place: 3))),
    ]

    @Test(arguments: goodHeads)
    func `a record says what it was in and is in`(good: Case) {
        #expect(Self.headRefusal(good.bytes) == nil)
    }

    static let badHeads: [Case] = [
        Case("member of no share", .value("share"), written(membership(0))),
        Case(
            "a new record that was there", .value("since"),
            written(isUpdate: false, membership(8, since: 500))),
        Case("a place above all", .value("place"), written(membership(8, since: 5, place: 257))),
        Case(
            "a new record that leaves", .value("flags"),
            written(isUpdate: false, nil, membership(7, since: 500))),
        Case("leaving without a beginning", .value("since"), written(nil, membership(7))),
        Case("leaving no share", .value("share"), written(nil, membership(0, since: 500))),
        Case(
            "leaving the share that it enters", .value("share"),
            written(membership(8), membership(8, since: 500))),
        Case(
            "leaving a share while in another", .value("since"),
            written(membership(8, since: 500), membership(7, since: 400))),
        Case("a root in no share", .value("flags"), written(nil, shareRecord: "s")),
        Case(
            "a share record without a name", .value("share record"),
            written(membership(8), shareRecord: "")),
    ]

    @Test(arguments: badHeads)
    func `a record that breaks a rule of shares is refused`(bad: Case) {
        #expect(Self.headRefusal(bad.bytes) == bad.error)
    }

    private static let tombstone: Tombstone = {
        var tombstone = Tombstone(
            type: 3, name: "root", previous: Version(rawValue: 600),
            by: Author(2, device: .max - 1), deleted: 5)
        tombstone.replacedLength = 90
        tombstone.parent = "parent"
        tombstone.cascadeLinks = [CascadeLink(field: 1, target: "target")]
        tombstone.destination = 4
        tombstone.assetBytes = 70
        tombstone.indexRows = rows
        tombstone.membership = ShareMembership(
            share: 7, since: Version(rawValue: 550), place: 3)
        return tombstone
    }()

    private static let tombstoneBytes: [UInt8] = bytes { tombstone.write(to: &$0) }

    @Test func `a tombstone with all parts is read as it was written`() throws {
        let bytes = Self.tombstoneBytes
        let read = try Tombstone(bytes.span)
        #expect(read == Self.tombstone)
        var outside = Self.tombstone
        outside.membership = Self.membership(0, since: 550, place: 1)
        let others = Self.bytes { outside.write(to: &$0) }
        let other = try Tombstone(others.span)
        #expect(other == outside)
    }

    @Test func `a tombstone says how its record entered a share`() {
        let memberships: [(ShareMembership, FormatError)] = [
            (Self.membership(7), .value("since")),
            (Self.membership(0, since: 550), .value("share")),
            (Self.membership(7, since: 550, place: 257), .value("place")),
        ]
        for (membership, error) in memberships {
            var tombstone = Self.tombstone
            tombstone.membership = membership
            let bytes = Self.bytes { tombstone.write(to: &$0) }
            #expect(Self.tombstoneRefusal(bytes) == error)
        }
    }

    @Test func `a record that went along has the row of that until its next entry`() {
        let (before, entered) = (Version(rawValue: 500), Version(rawValue: 600))
        let after = Version(rawValue: 700)
        let along = ShareMembership(share: 7, since: entered, place: 256)
        #expect(along.row(of: before) == ShareRow.Place(version: entered, ordinal: 255))
        #expect(along.row(of: after) == ShareRow.Place(version: after, ordinal: 0))
        let own = ShareMembership(share: 7, since: before, place: 0)
        #expect(own.row(of: before) == ShareRow.Place(version: before, ordinal: 0))
        #expect(own.row(of: after) == ShareRow.Place(version: after, ordinal: 0))
    }
}

// What the fold refuses.
extension ShareEntryTests {
    typealias Malformation = HostilePayloadTests.Malformation

    private static func hostile(
        _ name: String, kind: UInt8, zone: UInt8 = 1, _ write: (inout ByteWriter) -> Void
    ) -> Malformation {
        var malformation = Malformation(name, entry: kind, write)
        malformation.zone = zone
        return malformation
    }

    private static func hostileShare(
        _ name: String, number: UInt32, began: UInt64 = 0, zone: UInt8 = 1
    ) -> Malformation {
        var other = share
        other.number = number
        other.began = Version(rawValue: began)
        return hostile(name, kind: 49, zone: zone) { other.write(to: &$0) }
    }

    private static func hostileMembers(
        _ name: String, from old: UInt32, to new: UInt32
    ) -> Malformation {
        var other = members
        (other.oldShare, other.newShare) = (old, new)
        return hostile(name, kind: 50) { other.write(to: &$0) }
    }

    /// The store has one zone and no share.
    static let refusedByFold: [Malformation] = [
        hostileShare("a share whose number leaves one out", number: 3),
        hostileShare("a new share with the number of a zone", number: 1),
        hostileShare("a share that began before, and is not known", number: 2, began: 600),
        hostileShare("a share of an unknown zone", number: 2, zone: 77),
        hostileMembers("members that leave an unknown share", from: 2, to: 0),
        hostileMembers("members that enter an unknown share", from: 0, to: 2),
        hostile("a participant of an unknown share", kind: 51) { participant.write(to: &$0) },
        Malformation("a record in an unknown share") {
            $0.flags = 1024
            $0.shares = [2, 0]
        },
        hostile("a tombstone of a record in an unknown share", kind: 33) {
            for number: UInt64 in [0, 1, 0, 600, 9] { $0.varint(number) }
            $0.countedText("hostile")
            $0.append([32, 2, 1, 0])
        },
    ]

    @Test(arguments: refusedByFold)
    func `an entry of a share that there is not is refused at the opening`(
        malformation: Malformation
    ) async throws {
        let (maker, file, byte) = try await HostilePayloadTests.store(malformation)
        let error = #expect(throws: JournalError.self) { try maker.open() }
        guard case .damaged(let damage)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(damage.kind.identifier == "payload.content")
        #expect(damage.file == file && damage.byte == byte)
    }
}
