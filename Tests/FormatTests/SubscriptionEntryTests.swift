import Stratus
import StratusBytes
import StratusEngine
import StratusIndex
import StratusJournal
import Support
import Testing

/// The entries of subscriptions, matches, read marks and badges: `Formats/Record.md`.
@Suite struct SubscriptionEntryTests {
    private static let anchors = [
        SubscriptionAnchor(
            shape: SubscriptionAnchor.Shape(
                field: "city", kind: .prefix, parameter: 4, isInZone: true),
            slot: .max, order: 7),
        SubscriptionAnchor(
            shape: SubscriptionAnchor.Shape(kind: .always), slot: 0, order: .max),
    ]

    private static let info: SubscriptionInfo = {
        var info = SubscriptionInfo()
        info.alertBody = "A note"
        info.titleLocalizationKey = ""
        info.collapseIDKey = "æ"
        info.alertLocalizationArgs = []
        info.desiredKeys = ["a", "b", "c"]
        info.shouldBadge = true
        info.shouldSendMutableContent = true
        return info
    }()

    private static let subscription = SubscriptionEntry(
        options: [.firesOnCreation, .firesOnEnd, .firesOnce], user: 300, scope: .private,
        kind: .query, id: "mine", recordType: "Note", zone: "notes", predicate: "city = 'Oslo'",
        info: info,
        former: SubscriptionEntry.Replaced(
            number: 1 << 52 - 1, recordType: "Old", anchors: anchors),
        anchors: anchors)

    private static let removal = SubscriptionRemovalEntry(subscription, at: 600)

    private static let matches = MatchesEntry(
        time: -1_767_225_600_000_000, device: .max, modifier: 300,
        changes: [
            MatchesEntry.Change(
                .updated, recordName: "æ", type: 3, creator: 1,
                values: [
                    MatchesEntry.Value(field: 200, kind: FieldKind(.string), bytes: [0x61, 0x62]),
                    MatchesEntry.Value(field: 4, kind: FieldKind(.int64), bytes: [0x80, 1]),
                ],
                groups: [
                    MatchesEntry.Group(
                        user: 300, badge: nil,
                        subscriptions: [MatchesEntry.Match(number: 700, badges: false)]),
                    MatchesEntry.Group(
                        user: 7, badge: UInt64(UInt32.max),
                        subscriptions: [
                            MatchesEntry.Match(number: 1 << 52 - 1, badges: true),
                            MatchesEntry.Match(number: 600, badges: false),
                        ]),
                ]),
            MatchesEntry.Change(
                .deleted, recordName: "b", type: 3, creator: 300,
                groups: [
                    MatchesEntry.Group(
                        user: 7, badge: nil,
                        subscriptions: [MatchesEntry.Match(number: 600, badges: false)])
                ]),
        ])

    private static let mark = ReadMarkEntry(
        user: 9, time: 1_767_225_600_000_000,
        id: NotificationID(kind: 2, number: 600, offset: 1 << 52 - 1, place: .max))

    private static let left = ZoneNotificationsEntry(
        user: 9, time: -1, subscription: 600,
        changes: [
            ZoneNotificationsEntry.Change(offset: 700, zone: .max),
            ZoneNotificationsEntry.Change(offset: 650, zone: 3),
            ZoneNotificationsEntry.Change(offset: 700, zone: 1),
            ZoneNotificationsEntry.Change(offset: 1 << 52 - 1, zone: 200),
        ])

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

    private static func expectWhole(_ entry: SubscriptionEntry) {
        expectWhole(entry, { $0.write(to: &$1) }) { span throws(FormatError) in
            try SubscriptionEntry(span)
        }
    }

    @Test func `a subscription is read as it was written`() {
        Self.expectWhole(Self.subscription)
        Self.expectWhole(
            SubscriptionEntry(
                options: .firesOnDeletion, user: 1, scope: .public, kind: .query, id: "q",
                recordType: "Note"))
        Self.expectWhole(
            SubscriptionEntry(
                user: 1, scope: .private, kind: .zone, id: "z", zone: "notes",
                info: SubscriptionInfo()))
        Self.expectWhole(
            SubscriptionEntry(
                user: .max, scope: .shared, kind: .database, id: "æ", recordType: "Note",
                former: SubscriptionEntry.Replaced(number: 1, recordType: "", anchors: [])))
        var entry = SubscriptionEntry(
            user: 1, scope: .private, kind: .database, id: "d",
            former: SubscriptionEntry.Replaced(number: 700, recordType: "", anchors: []))
        for origin: UInt64 in [1, 300, 700] {
            entry.origin = origin
            Self.expectWhole(entry)
        }
    }

    @Test func `a full list of anchors is read as it was written`() throws {
        var entry = Self.subscription
        entry.anchors = (0..<SubscriptionAnchor.limit).map { number in
            SubscriptionAnchor(
                shape: SubscriptionAnchor.Shape(field: "f\(number)", kind: .equal),
                slot: UInt64(number), order: 0)
        }
        let bytes = Self.bytes { entry.write(to: &$0) }
        let read = try SubscriptionEntry(bytes.span)
        #expect(read == entry)
    }

    @Test func `the other entries are read as they were written`() {
        Self.expectWhole(Self.removal, { $0.write(to: &$1) }) { span throws(FormatError) in
            try SubscriptionRemovalEntry(span)
        }
        Self.expectWhole(Self.matches, { $0.write(to: &$1) }) { span throws(FormatError) in
            try MatchesEntry(span)
        }
        Self.expectWhole(Self.mark, { $0.write(to: &$1) }) { span throws(FormatError) in
            try ReadMarkEntry(span)
        }
        Self.expectWhole(Self.left, { $0.write(to: &$1) }) { span throws(FormatError) in
            try ZoneNotificationsEntry(span)
        }
        for badge in [BadgeEntry(user: 1, value: 0), BadgeEntry(user: .max, value: .max)] {
            Self.expectWhole(badge, { $0.write(to: &$1) }) { span throws(FormatError) in
                try BadgeEntry(span)
            }
        }
    }

    @Test func `a subscription says what is in the index besides its options`() {
        #expect(Self.subscription.database == 300)
        let options = Self.subscription.indexedOptions
        #expect(options == Self.subscription.options.union([.badges, .namesFields]))
        var silent = Self.subscription
        silent.info?.shouldBadge = false
        silent.info?.desiredKeys = nil
        #expect(silent.indexedOptions == silent.options)
        silent.scope = .public
        #expect(silent.database == 0)
        silent.scope = .shared
        #expect(silent.database == nil)
        #expect(Self.removal.former == Self.subscription.former(at: 600))
        silent.kind = .database
        #expect(silent.former(at: 5).recordType.isEmpty)
    }

    @Test func `matches are grouped by user, in order`() {
        let change = Self.matches.changes[0]
        #expect(change.groups.map { $0.user } == [7, 300])
        #expect(change.values.map { $0.field } == [4, 200])
        #expect(change.group(of: 7)?.subscriptions.map { $0.number } == [600, 1 << 52 - 1])
        #expect(change.group(of: 300)?.badge == nil)
        #expect(change.group(of: 8) == nil)
    }

    @Test func `users have as many notifications as subscriptions match in all changes`() throws {
        var matches = Self.matches
        let all = Self.bytes { matches.write(to: &$0) }
        let summary = try MatchesSummary(all.span)
        #expect(summary.time == matches.time && summary.greatestUser == 300)
        #expect(summary.counts.map { $0.user } == [7, 300])
        #expect(summary.counts.map { $0.count } == [3, 1])
        matches.changes.removeFirst()
        let rest = Self.bytes { matches.write(to: &$0) }
        #expect(try MatchesSummary(rest.span).counts.map { $0.count } == [1])
    }

    @Test func `a change takes no more bytes than it says`() {
        for change in Self.matches.changes {
            let one = MatchesEntry(time: 0, modifier: 1, changes: [change])
            let none = MatchesEntry(time: 0, modifier: 1, changes: [])
            let (whole, rest) = (
                Self.bytes { one.write(to: &$0) }, Self.bytes { none.write(to: &$0) }
            )
            let limit = MatchesWriter.greatestHeadLength(
                recordName: change.recordName, values: change.values)
            let count = change.groups.reduce(0) { $0 + $1.subscriptions.count }
            let matches = MatchesWriter.greatestMatchLength * count
            #expect(whole.count - rest.count <= limit + matches)
        }
    }

    @Test func `a notification brings values that are neither lists nor bytes nor encrypted`() {
        let kinds: [ValueKind] = [.string, .int64, .double, .date, .location, .reference]
        for kind in kinds {
            #expect(MatchesEntry.Value.mayHave(FieldKind(kind)))
            #expect(!MatchesEntry.Value.mayHave(FieldKind(kind, isList: true)))
            if let encrypted = FieldKind(kind).encrypted {
                #expect(!MatchesEntry.Value.mayHave(encrypted))
            }
        }
        let others = [FieldKind(.bytes), FieldKind(.asset), FieldKind.emptyList]
        for kind in others { #expect(!MatchesEntry.Value.mayHave(kind)) }
    }

    @Test func `shapes have hashes of all that tells them apart`() {
        let shape = SubscriptionAnchor.Shape(
            field: "a", kind: .cell, parameter: 3, isInZone: false)
        let changes: [(inout SubscriptionAnchor.Shape) -> Void] = [
            { $0.field = "b" }, { $0.kind = .block }, { $0.parameter = 4 },
            { $0.isInZone = true },
        ]
        var hashes: Set = [
            shape.hash(type: "Note", seed: 1), shape.hash(type: "Note", seed: 2),
            shape.hash(type: "Part", seed: 1),
        ]
        for change in changes {
            var other = shape
            change(&other)
            hashes.insert(other.hash(type: "Note", seed: 1))
        }
        #expect(hashes.count == 7)
        let types = Set(
            ["Note", "Part"].map { SubscriptionAnchor.hash(ofType: $0, seed: 1) })
        #expect(types.count == 2)
    }
}

// What is refused.
extension SubscriptionEntryTests {
    private typealias Malformation = HostilePayloadTests.Malformation

    /// A payload, by no code of the store, and why it is refused.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var kind: UInt8
        var zone: UInt8
        var error: FormatError
        var bytes: [UInt8]

        init(
            _ name: String, _ kind: UInt8, _ error: FormatError,
            _ write: (inout ByteWriter) -> Void
        ) {
            testDescription = name
            self.kind = kind
            zone = kind == 56 ? 1 : 0
            self.error = error
            bytes = SubscriptionEntryTests.bytes(write)
        }
    }

    /// The payload of a subscription, every part of which can be false.
    private struct RawSubscription {
        var flags: UInt64 = 1
        var user: UInt64 = 1
        var scope: UInt8 = 2
        var kind: UInt8 = 1
        var id = "a"
        var type = "Note"
        var zone = ""
        var predicate = ""
        /// From the byte that says whether there is one.
        var info: [UInt8] = [0]
        /// Its number and what follows.
        var former: [UInt8] = [0]
        /// With their count.
        var anchors: [UInt8] = [0]
        var rest: [UInt8] = []

        func write(to writer: inout ByteWriter) {
            writer.varint(flags)
            writer.varint(user)
            writer.append([scope, kind])
            for text in [id, type, zone, predicate] { writer.countedText(text) }
            for part in [info, former, anchors, rest] { writer.append(part) }
        }
    }

    private static func badSubscription(
        _ name: String, _ error: FormatError, _ change: (inout RawSubscription) -> Void
    ) -> Case {
        var raw = RawSubscription()
        change(&raw)
        return Case(name, 54, error) { raw.write(to: &$0) }
    }

    private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }

    /// A list of one anchor.
    private static func rawAnchor(kind: UInt8 = 1, isInZone: UInt8 = 0) -> [UInt8] {
        [1, 1, 0x61, kind, 0, isInZone] + [UInt8](repeating: 0, count: 16)
    }

    private static func rawInfo(_ mask: UInt64, _ rest: [UInt8] = []) -> [UInt8] {
        bytes {
            $0.uint8(1)
            $0.varint(mask)
            $0.append(rest)
        }
    }

    private static let count1025: [UInt8] = [0x81, 0x08]

    static let badSubscriptions: [Case] = [
        badSubscription("a flag of a later version", .newer("flags")) { $0.flags = 32 },
        badSubscription("user 0", .value("user")) { $0.user = 0 },
        badSubscription("a user's number that no user has", .integer) { $0.user = 1 << 32 },
        badSubscription("scope 0", .newer("scope")) { $0.scope = 0 },
        badSubscription("scope 4", .newer("scope")) { $0.scope = 4 },
        badSubscription("kind 0", .newer("subscription kind")) { $0.kind = 0 },
        badSubscription("a kind of a later version", .newer("subscription kind")) { $0.kind = 4 },
        badSubscription("a query in the shared scope", .value("subscription kind")) {
            $0.scope = 3
        },
        badSubscription("a zone in the public scope", .value("subscription kind")) { raw in
            (raw.scope, raw.kind, raw.zone) = (1, 2, "notes")
        },
        badSubscription("a database in the public scope", .value("subscription kind")) { raw in
            (raw.scope, raw.kind) = (1, 3)
        },
        badSubscription("no ID", .value("subscriptionID")) { $0.id = "" },
        badSubscription("an ID of 256 bytes", .value("count")) { $0.id = long(256) },
        badSubscription("a query without a type", .value("type")) { $0.type = "" },
        badSubscription("a type of 256 bytes", .value("count")) { $0.type = long(256) },
        badSubscription("a zone without a name", .value("zone")) {
            ($0.kind, $0.flags) = (2, 0)
        },
        badSubscription("a database with a zone", .value("zone")) { raw in
            (raw.kind, raw.flags, raw.zone) = (3, 0, "notes")
        },
        badSubscription("a database with flags", .value("flags")) { $0.kind = 3 },
        badSubscription("a predicate of 65,537 bytes", .value("count")) {
            $0.predicate = long(65537)
        },
        badSubscription("a database with a predicate", .value("predicate")) { raw in
            (raw.kind, raw.flags, raw.predicate) = (3, 0, "a = 1")
        },
        badSubscription("info 2", .value("info")) { $0.info = [2] },
        badSubscription("content of a later version", .newer("flags")) { raw in
            raw.info = rawInfo(1 << 18)
        },
        badSubscription("a text of 4,097 bytes", .value("count")) { raw in
            raw.info = rawInfo(1, bytes { $0.countedText(long(4097)) })
        },
        badSubscription("65 arguments", .value("count")) { $0.info = rawInfo(1 << 11, [65]) },
        badSubscription("an argument of 256 bytes", .value("count")) { raw in
            raw.info = rawInfo(
                1 << 12,
                bytes {
                    $0.uint8(1)
                    $0.countedText(long(256))
                })
        },
        badSubscription("4 desired keys", .value("count")) { $0.info = rawInfo(1 << 14, [4]) },
        badSubscription("a text that is not UTF-8", .text) { $0.info = rawInfo(1, [1, 0xff]) },
        badSubscription("a former number that no entry has", .value("number")) { raw in
            raw.former = bytes {
                $0.varint(UInt64(1) << 52)
                $0.append([0, 0, 0])
            }
        },
        badSubscription("1,025 former anchors", .value("count")) { raw in
            raw.former = [1, 0] + count1025
        },
        badSubscription("a query that goes on with what one told", .value("origin")) { raw in
            raw.former = [5, 0, 0, 5]
        },
        badSubscription("an origin behind what it replaces", .value("origin")) { raw in
            (raw.kind, raw.flags, raw.former) = (3, 0, [5, 0, 0, 6])
        },
        badSubscription("1,025 anchors", .value("count")) { $0.anchors = count1025 },
        badSubscription("anchors that are not there", .truncated) { $0.anchors = [0x80, 0x08] },
        badSubscription("an anchor of a later kind", .newer("anchor kind")) {
            $0.anchors = rawAnchor(kind: 8)
        },
        badSubscription("an anchor that is in two zones", .value("isInZone")) {
            $0.anchors = rawAnchor(isInZone: 2)
        },
        badSubscription("a database with an anchor", .value("anchors")) { raw in
            (raw.kind, raw.flags, raw.anchors) = (3, 0, rawAnchor())
        },
        badSubscription("an extension of a later version", .newer("extension")) {
            $0.rest = [1, 2, 0]
        },
        badSubscription("an extension block without a value", .value("extensions")) {
            $0.rest = [0]
        },
    ]

    private static func badRemoval(
        _ name: String, _ error: FormatError, user: UInt8 = 1, scope: UInt8 = 2,
        id: String = "a", number: UInt64 = 5, rest: [UInt8] = []
    ) -> Case {
        Case(name, 55, error) {
            $0.append([user, scope])
            $0.countedText(id)
            $0.uint64(number)
            $0.append([0, 0] + rest)
        }
    }

    /// The payload of matches, every part of which can be false.
    private struct RawMatches {
        var flags: UInt64 = 0
        var time: Int64 = 0
        var reason: UInt8 = 1
        var name = "a"
        var modifier: UInt64 = 1
        var changeCount: UInt64 = 1
        /// Type and creator.
        var numbers: [UInt64] = [0, 1]
        /// With their count.
        var values: [UInt8] = [0]
        var groupCount: UInt64 = 1
        /// User, badge, count and subscriptions.
        var groups: [UInt64] = [1, 0, 1, 1200]
        var rest: [UInt8] = []

        func write(to writer: inout ByteWriter) {
            writer.varint(flags)
            writer.signedVarint(time)
            writer.varint(modifier)
            writer.varint(changeCount)
            writer.uint8(reason)
            writer.countedText(name)
            for number in numbers { writer.varint(number) }
            writer.append(values)
            writer.varint(groupCount)
            for number in groups { writer.varint(number) }
            writer.append(rest)
        }
    }

    private static func badMatch(
        _ name: String, _ error: FormatError, _ change: (inout RawMatches) -> Void
    ) -> Case {
        var raw = RawMatches()
        change(&raw)
        return Case(name, 56, error) { raw.write(to: &$0) }
    }

    static let badMatches: [Case] = [
        badMatch("a flag of a later version", .newer("flags")) { $0.flags = 2 },
        badMatch("a time past all years", .value("time")) { $0.time = 1 << 60 },
        badMatch("a time before all years", .value("time")) { $0.time = -1 << 60 },
        badMatch("reason 0", .newer("reason")) { $0.reason = 0 },
        badMatch("a reason of a later version", .newer("reason")) { $0.reason = 4 },
        badMatch("no name", .value("name")) { $0.name = "" },
        badMatch("a name of 256 bytes", .value("count")) { $0.name = long(256) },
        badMatch("a type of 33 bits", .integer) { $0.numbers[0] = 1 << 32 },
        badMatch("creator 0", .value("creator")) { $0.numbers[1] = 0 },
        badMatch("modifier 0", .value("modifier")) { $0.modifier = 0 },
        badMatch("no changes", .value("count")) { $0.changeCount = 0 },
        badMatch("257 changes", .value("count")) { $0.changeCount = 257 },
        badMatch("a change that is not there", .truncated) { $0.changeCount = 2 },
        badMatch("4,097 values", .value("count")) { $0.values = [0x81, 0x20] },
        badMatch("fields that fall", .value("field")) {
            $0.values = [2, 1, 2, 1, 2, 0, 2, 1, 2]
        },
        badMatch("the same field twice", .value("field")) {
            $0.values = [2, 1, 2, 1, 2, 1, 2, 1, 2]
        },
        badMatch("a value of an unknown kind", .newer("field kind")) {
            $0.values = [1, 0, 31, 0]
        },
        badMatch("bytes", .value("field kind")) { $0.values = [1, 0, 5, 0] },
        badMatch("a list", .value("field kind")) { $0.values = [1, 0, 33, 1, 0] },
        badMatch("an encrypted value", .value("field kind")) { $0.values = [1, 0, 65, 0] },
        badMatch("a value of 4,097 bytes", .value("count")) {
            $0.values = [1, 0, 1, 0x81, 0x20]
        },
        badMatch("a value that is not there", .truncated) { raw in
            raw.values = [1, 0, 1, 200, 1]
        },
        badMatch("a text that is not UTF-8", .text) { $0.values = [1, 0, 1, 1, 0xff] },
        badMatch("a date of seven bytes", .value("length")) {
            $0.values = [1, 0, 4, 7, 0, 0, 0, 0, 0, 0, 0]
        },
        badMatch("no users", .value("count")) { ($0.groupCount, $0.groups) = (0, []) },
        badMatch("4,097 users", .value("count")) { $0.groupCount = 4097 },
        badMatch("user 0", .value("user")) { $0.groups[0] = 0 },
        badMatch("the same user twice", .value("user")) { raw in
            (raw.groupCount, raw.groups) = (2, [1, 0, 1, 1200, 0, 0, 1, 1200])
        },
        badMatch("users that no user's number reaches", .value("user")) { raw in
            raw.groupCount = 2
            raw.groups = [1, 0, 1, 1200, UInt64(UInt32.max), 0, 1, 1200]
        },
        badMatch("a badge of 33 bits", .value("badge")) { $0.groups[1] = 1 << 32 + 1 },
        badMatch("a badge that nothing counts in", .value("badge")) { $0.groups[1] = 1 },
        badMatch("a subscription that badges, without a badge", .value("badge")) {
            $0.groups[3] = 1201
        },
        badMatch("no subscriptions", .value("count")) { $0.groups = [1, 0, 0] },
        badMatch("4,097 subscriptions", .value("count")) { $0.groups[2] = 4097 },
        badMatch("the same subscription twice", .value("number")) {
            $0.groups = [1, 0, 2, 1200, 0]
        },
        badMatch("subscription 0", .value("number")) { $0.groups[3] = 0 },
        badMatch("a number that no entry has", .value("number")) { $0.groups[3] = 1 << 53 },
        badMatch("the greatest number", .value("number")) { $0.groups[3] = .max },
        badMatch("bytes behind the end", .value("extensions")) { $0.rest = [0] },
    ]

    private static func badMark(
        _ name: String, _ error: FormatError, user: UInt8 = 1, time: Int64 = 0, kind: UInt8 = 1,
        number: UInt64 = 5, offset: UInt64 = 6, rest: [UInt8] = []
    ) -> Case {
        Case(name, 57, error) {
            $0.uint8(user)
            $0.signedVarint(time)
            $0.uint8(kind)
            $0.uint64(number)
            $0.uint64(offset)
            $0.uint32(1)
            $0.append(rest)
        }
    }

    private static func badLeft(
        _ name: String, _ error: FormatError, user: UInt8 = 1, time: Int64 = 0,
        number: UInt64 = 5, count: UInt64 = 1, changes: [UInt64] = [6, 1], rest: [UInt8] = []
    ) -> Case {
        Case(name, 65, error) {
            $0.uint8(user)
            $0.signedVarint(time)
            $0.uint64(number)
            $0.varint(count)
            for number in changes { $0.varint(number) }
            $0.append(rest)
        }
    }

    static let badLeftovers: [Case] = [
        badLeft("of user 0", .value("user"), user: 0),
        badLeft("past all years", .value("time"), time: 1 << 60),
        badLeft("of number 0", .value("number"), number: 0),
        badLeft("of a number that no entry has", .value("number"), number: 1 << 52),
        badLeft("of no zones", .value("count"), count: 0, changes: []),
        badLeft("of 4,097 zones", .value("count"), count: 4097),
        badLeft("of a zone that is not there", .truncated, count: 2),
        badLeft("of a change at offset 0", .value("offset"), changes: [0, 1]),
        badLeft("of a change that no entry is", .value("offset"), changes: [1 << 52, 1]),
        badLeft(
            "of changes past all offsets", .value("offset"), count: 2, changes: [6, 1, .max, 1]),
        badLeft("of zone 0", .value("zone"), changes: [6, 0]),
        badLeft("of a zone of 33 bits", .integer, changes: [6, 1 << 32]),
        badLeft("with bytes behind the end", .value("extensions"), rest: [0]),
    ]

    static let badOthers: [Case] = [
        badRemoval("a removal for user 0", .value("user"), user: 0),
        badRemoval("a removal in scope 4", .newer("scope"), scope: 4),
        badRemoval("a removal without an ID", .value("subscriptionID"), id: ""),
        badRemoval("a removal of number 0", .value("number"), number: 0),
        badRemoval("a removal of a number that no entry has", .value("number"), number: 1 << 52),
        badRemoval("bytes behind a removal", .value("extensions"), rest: [0]),
        badMark("a mark for user 0", .value("user"), user: 0),
        badMark("a mark past all years", .value("time"), time: 1 << 60),
        badMark("a mark of kind 0", .newer("subscription kind"), kind: 0),
        badMark("a mark of a later kind", .newer("subscription kind"), kind: 4),
        badMark("a mark of number 0", .value("number"), number: 0),
        badMark("a mark of a number that no entry has", .value("number"), number: 1 << 52),
        badMark("a mark of offset 0", .value("offset"), offset: 0),
        badMark("a mark of an offset that no entry has", .value("offset"), offset: 1 << 52),
        badMark("bytes behind a mark", .value("extensions"), rest: [0]),
        Case("a badge for user 0", 58, .value("user")) { $0.append([0, 1]) },
        Case("a badge of 33 bits", 58, .integer) {
            $0.uint8(1)
            $0.varint(UInt64(1) << 32)
        },
        Case("a badge without a value", 58, .truncated) { $0.uint8(1) },
        Case("bytes behind a badge", 58, .value("extensions")) { $0.append([1, 1, 0]) },
    ]

    private static func refusal(of bad: Case) -> FormatError? {
        do throws(FormatError) {
            let span = bad.bytes.span
            switch bad.kind {
            case 54: _ = try SubscriptionEntry(span)
            case 55: _ = try SubscriptionRemovalEntry(span)
            case 56: _ = try MatchesEntry(span)
            case 57: _ = try ReadMarkEntry(span)
            case 65: _ = try ZoneNotificationsEntry(span)
            default: _ = try BadgeEntry(span)
            }
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: badSubscriptions + badMatches + badLeftovers + badOthers)
    func `an entry that breaks a rule is refused at the opening`(bad: Case) async throws {
        #expect(Self.refusal(of: bad) == bad.error)
        try await Self.expectRefusal(bad, bad.error)
    }

    @Test func `the cases break one rule each`() {
        let whole: [Case] = [
            Self.badSubscription("whole", .truncated) { _ in },
            Self.badRemoval("whole", .truncated),
            Self.badMatch("whole", .truncated) { _ in }, Self.badMark("whole", .truncated),
            Self.badLeft("whole", .truncated),
        ]
        for whole in whole { #expect(Self.refusal(of: whole) == nil) }
    }

    /// The store has one user, one zone, and a few names.
    static let unknown: [Case] = [
        badSubscription("of an unknown user", .value("")) { $0.user = 2 },
        badSubscription("in the place of a later one", .value("")) { raw in
            raw.former = bytes {
                $0.varint(UInt64(1) << 40)
                $0.append([0, 0, 0])
            }
        },
        badRemoval("of an unknown user", .value(""), user: 2),
        badRemoval("of a later one", .value(""), number: 1 << 40),
        badMatch("of an unknown type", .value("")) { $0.numbers[0] = 9999 },
        badMatch("of an unknown creator", .value("")) { $0.numbers[1] = 2 },
        badMatch("of an unknown modifier", .value("")) { $0.modifier = 2 },
        badMatch("of an unknown user", .value("")) { $0.groups[0] = 2 },
        badMatch("with an unknown field", .value("")) {
            $0.values = [1, 0x8f, 0x4e, 2, 1, 2]
        },
        badMark("of an unknown user", .value(""), user: 2),
        badLeft("zones, of an unknown user", .value(""), user: 2),
        badLeft("zones, of a later one", .value(""), number: 1 << 40),
        badLeft("zones, of a later change", .value(""), changes: [1 << 40, 1]),
        Case("of an unknown user", 58, .value("")) { $0.append([2, 1]) },
    ]

    @Test(arguments: unknown)
    func `an entry that uses what is not known is refused at the opening`(
        bad: Case
    ) async throws {
        #expect(Self.refusal(of: bad) == nil)
        try await Self.expectRefusal(bad, bad.error)
    }

    @Test func `matches in an unknown zone are refused at the opening`() async throws {
        var bad = Self.badMatch("in an unknown zone", .value("")) { _ in }
        bad.zone = 77
        try await Self.expectRefusal(bad, bad.error)
    }

    private static func expectRefusal(_ bad: Case, _ error: FormatError) async throws {
        // The segment has no room for more, and the decoder has refused it.
        guard bad.bytes.count < 32 << 10 else { return }
        var malformation = Malformation(bad.testDescription, entry: bad.kind) {
            $0.append(bad.bytes)
        }
        malformation.zone = bad.zone
        let (maker, file, byte) = try await HostilePayloadTests.store(malformation)
        var expected = "payload.content"
        if case .newer(let what) = error { expected = "format.newer \(what)" }
        let found: JournalDamage
        do {
            _ = try maker.open()
            Issue.record("it is taken")
            return
        } catch JournalError.newerFormat(let damage) {
            found = damage
        } catch JournalError.damaged(let damage) {
            found = damage
        }
        #expect(found.kind.identifier == expected)
        #expect(found.file == file && found.byte == byte)
    }
}

// The keys of the index.
extension SubscriptionEntryTests {
    @Test func `a row of a notification says what its key and its value do`() {
        let offset = JournalOffset(rawValue: 1 << 52 - 1)
        let times: [Int64] = [-1 << 59, -1, 0, 1 << 59]
        for time in times {
            let row = NotificationRow(
                user: 7, offset: offset, kind: .matches, zone: 300, count: 1 << 24 - 1, time: time)
            let words: UInt64 = (1 << 24 - 1) << 40 | 1 << 32 | 300
            let byUser = NotificationRow(
                .notification(7, offset),
                IndexValue(
                    stamp: offset.rawValue, first: words, second: UInt64(bitPattern: time)))
            #expect(byUser == row)
            let byTime = NotificationRow(
                .notificationTime(time, offset, 7),
                IndexValue(stamp: offset.rawValue, first: words))
            #expect(byTime == row)
        }
        let keys = times.map { IndexKey.notificationTime($0, offset, 7) }
        #expect(zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 })
        let fromZero = IndexKey.notificationTimes(from: 0)
        #expect(keys.map { fromZero.contains($0) } == [false, false, true, true])
        let other = NotificationRow(.badge(7), IndexValue(stamp: 1, first: 1 << 32))
        #expect(other == nil)
    }

    @Test func `ranges of keys have the keys that they say`() {
        let (low, high) = (JournalOffset(rawValue: 5), JournalOffset(rawValue: 6))
        let all = IndexKey.notifications(of: 7)
        let later = IndexKey.notifications(of: 7, from: high)
        #expect(all.contains(.notification(7, low)) && all.contains(.notification(7, high)))
        #expect(!later.contains(.notification(7, low)))
        #expect(later.contains(.notification(7, high)))
        #expect(!all.contains(.notification(8, high)) && !all.contains(.badge(7)))

        let anchors = IndexKey.subscriptionAnchors(0, shape: 1, slot: .max, orders: 3...4)
        for order: UInt64 in 2...5 {
            let key = IndexKey.subscriptionAnchor(
                0, shape: 1, slot: .max, order: order, number: .max)
            #expect(key.anchorOrder == order)
            #expect(anchors.contains(key) == (3...4 ~= order))
            #expect(IndexKey.subscriptionAnchors(0, shape: 1, slot: .max).contains(key))
            #expect(!IndexKey.subscriptionAnchors(1, shape: 1, slot: .max).contains(key))
        }

        let left = IndexKey.zoneNotifications(of: 7, from: high)
        #expect(!left.contains(.zoneNotification(7, low)))
        #expect(left.contains(.zoneNotification(7, high)))
        #expect(!left.contains(.zoneNotification(8, high)))

        let numbers = IndexKey.subscriptionNumbers(4, from: 10)
        #expect(!numbers.contains(.subscriptionNumber(4, 9)))
        #expect(numbers.contains(.subscriptionNumber(4, 10)))
        #expect(!numbers.contains(.subscriptionNumber(5, 10)))

        let id = NotificationID(kind: 1, number: 8, offset: 9, place: 1)
        #expect(IndexKey.readMarks(of: 7, 9).contains(.readMark(7, id)))
        #expect(!IndexKey.readMarks(of: 7, 8).contains(.readMark(7, id)))
        let hash = Hash128(high: .max, low: .max)
        let own = IndexKey.subscription(7, .private, hash)
        #expect(IndexKey.subscriptions(7).contains(own))
        #expect(IndexKey.subscriptions(7, .private).contains(own))
        #expect(!IndexKey.subscriptions(7, .public).contains(own))
    }
}
