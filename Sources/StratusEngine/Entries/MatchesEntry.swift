package import StratusBytes
internal import StratusJournal

/// The entry of changes of records that query subscriptions wait for: `Formats/Record.md`, "Matches".
package struct MatchesEntry: Equatable, Sendable {
    /// What became of the record: CloudKit's numbers.
    package enum Reason: UInt8, Sendable {
        case created = 1
        case updated = 2
        case deleted = 3
    }

    /// A value that a notification brings.
    package struct Value: Equatable, Sendable {
        /// Number of the field's name.
        package var field: UInt32
        package var kind: FieldKind
        /// As ``ValueFormat`` has it.
        package var bytes: [UInt8]

        package init(field: UInt32, kind: FieldKind, bytes: [UInt8]) {
            self.field = field
            self.kind = kind
            self.bytes = bytes
        }
    }

    /// A subscription that matches.
    package struct Match: Equatable, Sendable {
        /// Where its entry lies.
        package var number: UInt64
        /// Whether it adds one to the badge.
        package var badges: Bool

        package init(number: UInt64, badges: Bool) {
            self.number = number
            self.badges = badges
        }
    }

    /// The subscriptions of a user.
    package struct Group: Equatable, Sendable {
        package var user: UInt32
        /// What it was before this change; nil where none of the subscriptions badges.
        package var badge: UInt64?
        /// Their numbers rise.
        package private(set) var subscriptions: [Match]

        package init(user: UInt32, badge: UInt64?, subscriptions: [Match]) {
            self.user = user
            self.badge = badge
            self.subscriptions = subscriptions.sorted { $0.number < $1.number }
        }
    }

    /// What became of one record.
    package struct Change: Equatable, Sendable {
        package var reason: Reason
        package var recordName: String
        package var type: UInt32
        /// Of the record.
        package var creator: UInt32
        /// The fields rise.
        package private(set) var values: [Value]
        /// The users rise.
        package private(set) var groups: [Group]

        package init(
            _ reason: Reason, recordName: String, type: UInt32, creator: UInt32,
            values: [Value] = [], groups: [Group]
        ) {
            self.reason = reason
            self.recordName = recordName
            self.type = type
            self.creator = creator
            self.values = values.sorted { $0.field < $1.field }
            self.groups = groups.sorted { $0.user < $1.user }
        }

        package func group(of user: UInt32) -> Group? { groups.first { $0.user == user } }
    }

    /// In microseconds since 1970. That of the commit does not outlive the commit's last entry.
    package var time: Int64
    /// Which device changed the records: ``DeviceHash``. Nil: not known.
    package var device: UInt64?
    /// Who changed them.
    package var modifier: UInt32
    package var changes: [Change]

    /// How many changes an entry has at most.
    package static let changeLimit = 256
    package static let valueLimit = 4096
    /// How many users a change concerns at most, and how many subscriptions of each of them.
    package static let limit = 4096
    /// Of a value, in bytes.
    fileprivate static let valueLengthLimit = 4096
    private static let timeLimit: UInt64 = 1 << 60
    fileprivate static let hasDevice: UInt64 = 1

    package init(time: Int64, device: UInt64? = nil, modifier: UInt32, changes: [Change]) {
        self.time = time
        self.device = device
        self.modifier = modifier
        self.changes = changes
    }

    package func write(to writer: inout ByteWriter) {
        var matches = MatchesWriter(
            time: time, device: device, modifier: modifier, changeCount: changes.count)
        for change in changes {
            matches.beginChange(
                change.reason, recordName: change.recordName, type: change.type,
                creator: change.creator, values: change.values, groupCount: change.groups.count)
            for group in change.groups {
                matches.beginGroup(
                    of: group.user, badge: group.badge, count: group.subscriptions.count)
                for match in group.subscriptions {
                    matches.add(match.number, badges: match.badges)
                }
            }
        }
        writer.append(matches.bytes)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var reader = try MatchesReader(bytes)
        time = reader.time
        device = reader.device
        modifier = reader.modifier
        changes = []
        for _ in 0..<reader.changeCount { changes.append(try Change(bytes, &reader)) }
        try reader.end(bytes)
    }

    static func readTime(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> Int64 {
        let time = try cursor.signedVarint(bytes)
        guard time.magnitude < timeLimit else { throw .value("time") }
        return time
    }
}

extension MatchesEntry.Change {
    fileprivate init(
        _ bytes: Span<UInt8>, _ reader: inout MatchesReader
    ) throws(FormatError) {
        let head = try reader.beginChange(bytes)
        guard let name = bytes.text(in: head.name) else { throw .text }
        reason = head.reason
        recordName = name
        type = head.type
        creator = head.creator
        values = []
        groups = []
        for _ in 0..<head.valueCount {
            let value = try reader.value(bytes)
            values.append(
                MatchesEntry.Value(
                    field: value.field, kind: value.kind, bytes: bytes.array(in: value.range)))
        }
        for _ in 0..<(try reader.beginGroups(bytes)) {
            let group = try reader.beginGroup(bytes)
            var matches: [MatchesEntry.Match] = []
            for _ in 0..<group.count { matches.append(try reader.match(bytes)) }
            try reader.endGroup()
            groups.append(
                MatchesEntry.Group(user: group.user, badge: group.badge, subscriptions: matches))
        }
    }
}

extension MatchesEntry.Value {
    /// Whether a notification may bring a value of that kind.
    package static func mayHave(_ kind: FieldKind) -> Bool {
        if kind.isList || kind.isEncrypted { return false }
        switch kind.element {
        case .string, .int64, .double, .date, .location, .reference: return true
        case .bytes, .asset, nil: return false
        }
    }
}

/// What a fold takes from the entry of matches, read without making one.
package struct MatchesSummary {
    package let time: Int64
    /// How many notifications each user has by the entry; the users rise.
    package private(set) var counts: [(user: UInt32, count: Int)] = []
    /// The greatest numbers of a user and of a name that the entry uses. None of a user is 0.
    package private(set) var greatestUser: UInt32
    package private(set) var greatestName: UInt32 = 0

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var reader = try MatchesReader(bytes)
        time = reader.time
        greatestUser = reader.modifier
        for _ in 0..<reader.changeCount {
            let head = try reader.beginChange(bytes)
            guard bytes.isText(in: head.name) else { throw .text }
            greatestName = max(greatestName, head.type)
            greatestUser = max(greatestUser, head.creator)
            for _ in 0..<head.valueCount {
                greatestName = max(greatestName, try reader.value(bytes).field)
            }
            for _ in 0..<(try reader.beginGroups(bytes)) {
                let group = try reader.beginGroup(bytes)
                greatestUser = max(greatestUser, group.user)
                for _ in 0..<group.count { _ = try reader.match(bytes) }
                try reader.endGroup()
                // Most often the changes are of one user's subscriptions.
                if let last = counts.indices.last, counts[last].user == group.user {
                    counts[last].count += group.count
                } else {
                    counts.append((group.user, group.count))
                }
            }
        }
        try reader.end(bytes)
        let isRising = zip(counts, counts.dropFirst()).allSatisfy { $0.user < $1.user }
        if isRising { return }
        var sums: [UInt32: Int] = [:]
        for (user, count) in counts { sums[user, default: 0] += count }
        counts = sums.sorted { $0.key < $1.key }.map { (user: $0.key, count: $0.value) }
    }
}

/// Reads a matches entry part by part, in the order of ``MatchesWriter``, and checks each part.
private struct MatchesReader {
    let time: Int64
    private(set) var device: UInt64?
    let modifier: UInt32
    let changeCount: Int
    private var cursor = ByteCursor()
    /// Of the change, and of the group.
    private var lastField: UInt32?
    private var lastUser: UInt32 = 0
    private var lastNumber: UInt64 = 0
    private var hasBadge = false
    private var isBadging = false

    init(_ bytes: Span<UInt8>) throws(FormatError) {
        let flags = try cursor.varint(bytes)
        guard flags & ~MatchesEntry.hasDevice == 0 else { throw .newer("flags") }
        time = try MatchesEntry.readTime(bytes, &cursor)
        if flags & MatchesEntry.hasDevice != 0 { device = try cursor.uint64(bytes) }
        modifier = try cursor.varint32(bytes)
        guard modifier > 0 else { throw .value("modifier") }
        changeCount = try cursor.count(bytes, upTo: MatchesEntry.changeLimit)
        guard changeCount > 0 else { throw .value("count") }
    }

    /// What a change begins with, and where its record name lies.
    struct ChangeHead {
        var reason: MatchesEntry.Reason
        var name: Range<Int>
        var type: UInt32
        var creator: UInt32
        var valueCount: Int
    }

    mutating func beginChange(_ bytes: Span<UInt8>) throws(FormatError) -> ChangeHead {
        guard let reason = MatchesEntry.Reason(rawValue: try cursor.uint8(bytes)) else {
            throw .newer("reason")
        }
        let length = try cursor.count(bytes, upTo: NameRules.limit)
        let name = try cursor.range(bytes, count: length)
        guard length > 0 else { throw .value("name") }
        let type = try cursor.varint32(bytes)
        let creator = try cursor.varint32(bytes)
        guard creator > 0 else { throw .value("creator") }
        let valueCount = try cursor.count(bytes, upTo: MatchesEntry.valueLimit)
        lastField = nil
        return ChangeHead(
            reason: reason, name: name, type: type, creator: creator, valueCount: valueCount)
    }

    mutating func value(
        _ bytes: Span<UInt8>
    ) throws(FormatError) -> (field: UInt32, kind: FieldKind, range: Range<Int>) {
        let field = try cursor.varint32(bytes)
        let kind = try FieldKind(bytes, &cursor)
        guard MatchesEntry.Value.mayHave(kind) else { throw .value("field kind") }
        let length = try cursor.count(bytes, upTo: MatchesEntry.valueLengthLimit)
        let range = try cursor.range(bytes, count: length)
        try ValueFormat.check(bytes, in: range, kind)
        if let lastField, lastField >= field { throw .value("field") }
        lastField = field
        return (field, kind, range)
    }

    /// How many users the change concerns.
    mutating func beginGroups(_ bytes: Span<UInt8>) throws(FormatError) -> Int {
        let count = try cursor.count(bytes, upTo: MatchesEntry.limit)
        guard count > 0 else { throw .value("count") }
        lastUser = 0
        return count
    }

    mutating func beginGroup(
        _ bytes: Span<UInt8>
    ) throws(FormatError) -> (user: UInt32, badge: UInt64?, count: Int) {
        let (user, overflow) = lastUser.addingReportingOverflow(try cursor.varint32(bytes))
        guard !overflow, user > lastUser else { throw .value("user") }
        let badge = try cursor.varint(bytes)
        guard badge <= UInt64(UInt32.max) + 1 else { throw .value("badge") }
        let count = try cursor.count(bytes, upTo: MatchesEntry.limit)
        guard count > 0 else { throw .value("count") }
        (lastUser, lastNumber) = (user, 0)
        (hasBadge, isBadging) = (badge > 0, false)
        return (user, badge == 0 ? nil : badge - 1, count)
    }

    mutating func match(_ bytes: Span<UInt8>) throws(FormatError) -> MatchesEntry.Match {
        let value = try cursor.varint(bytes)
        let number = lastNumber + value >> 1
        guard number > lastNumber, number < JournalOffset.limit else { throw .value("number") }
        lastNumber = number
        let badges = value & 1 != 0
        if badges { isBadging = true }
        return MatchesEntry.Match(number: number, badges: badges)
    }

    func endGroup() throws(FormatError) {
        guard isBadging == hasBadge else { throw .value("badge") }
    }

    mutating func end(_ bytes: Span<UInt8>) throws(FormatError) {
        try ExtensionBlock.end(bytes, &cursor)
    }
}

/// Writes a matches entry part by part: its changes, of each the users, of each user the
/// subscriptions, as many as was said of each.
package struct MatchesWriter {
    private var writer = ByteWriter()
    /// Of the change, and of the group.
    private var lastUser: UInt32 = 0
    private var lastNumber: UInt64 = 0

    package init(time: Int64, device: UInt64?, modifier: UInt32, changeCount: Int) {
        writer.varint(device == nil ? 0 : MatchesEntry.hasDevice)
        writer.signedVarint(time)
        if let device { writer.uint64(device) }
        writer.varint(modifier)
        writer.varint(changeCount)
    }

    /// No fewer bytes than a change takes, but for its matches.
    package static func greatestHeadLength(
        recordName: String, values: [MatchesEntry.Value]
    ) -> Int {
        values.reduce(32 + recordName.utf8.count) { $0 + 9 + $1.bytes.count }
    }

    /// A match takes no more bytes, with what says whose it is.
    package static let greatestMatchLength = 25

    /// What was written.
    package var bytes: [UInt8] { writer.bytes }

    /// - Parameter values: their fields rise.
    package mutating func beginChange(
        _ reason: MatchesEntry.Reason, recordName: String, type: UInt32, creator: UInt32,
        values: [MatchesEntry.Value], groupCount: Int
    ) {
        writer.uint8(reason.rawValue)
        writer.countedText(recordName)
        writer.varint(type)
        writer.varint(creator)
        writer.varint(values.count)
        for value in values {
            writer.varint(value.field)
            writer.uint8(value.kind.rawValue)
            writer.varint(value.bytes.count)
            writer.append(value.bytes)
        }
        writer.varint(groupCount)
        lastUser = 0
    }

    /// - Parameters:
    ///   - user: above the one before in the change.
    ///   - badge: what it was before the change; nil where none of the subscriptions badges.
    package mutating func beginGroup(of user: UInt32, badge: UInt64?, count: Int) {
        writer.varint(user - lastUser)
        writer.varint(badge.map { $0 + 1 } ?? 0)
        writer.varint(count)
        (lastUser, lastNumber) = (user, 0)
    }

    /// - Parameter number: above the one before in the group.
    package mutating func add(_ number: UInt64, badges: Bool) {
        writer.varint((number - lastNumber) << 1 | (badges ? 1 : 0))
        lastNumber = number
    }
}
