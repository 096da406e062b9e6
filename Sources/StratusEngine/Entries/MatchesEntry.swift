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

        /// No fewer bytes than it takes in the entry.
        package var greatestLength: Int {
            var length = 32 + recordName.utf8.count
            for value in values { length += 9 + value.bytes.count }
            for group in groups { length += 16 + 9 * group.subscriptions.count }
            return length
        }
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
    private static let hasDevice: UInt64 = 1

    package init(time: Int64, device: UInt64? = nil, modifier: UInt32, changes: [Change]) {
        self.time = time
        self.device = device
        self.modifier = modifier
        self.changes = changes
    }

    /// How many notifications each user has by the entry; the users rise.
    package var counts: [(user: UInt32, count: Int)] {
        // Most often the changes are of one user's subscriptions.
        var counts: [(user: UInt32, count: Int)] = []
        for group in changes.lazy.flatMap(\.groups) {
            if let last = counts.indices.last, counts[last].user == group.user {
                counts[last].count += group.subscriptions.count
            } else {
                counts.append((group.user, group.subscriptions.count))
            }
        }
        let isRising = zip(counts, counts.dropFirst()).allSatisfy { $0.user < $1.user }
        if isRising { return counts }
        var sums: [UInt32: Int] = [:]
        for (user, count) in counts { sums[user, default: 0] += count }
        return sums.sorted { $0.key < $1.key }.map { (user: $0.key, count: $0.value) }
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(device == nil ? 0 : Self.hasDevice)
        writer.signedVarint(time)
        if let device { writer.uint64(device) }
        writer.varint(modifier)
        writer.varint(changes.count)
        for change in changes { change.write(to: &writer) }
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        let flags = try cursor.varint(bytes)
        guard flags & ~Self.hasDevice == 0 else { throw .newer("flags") }
        time = try Self.readTime(bytes, &cursor)
        if flags & Self.hasDevice != 0 { device = try cursor.uint64(bytes) }
        modifier = try cursor.varint32(bytes)
        guard modifier > 0 else { throw .value("modifier") }
        let count = try cursor.count(bytes, upTo: Self.changeLimit)
        guard count > 0 else { throw .value("count") }
        changes = []
        for _ in 0..<count { changes.append(try Change(bytes, &cursor)) }
        try ExtensionBlock.end(bytes, &cursor)
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
    fileprivate func write(to writer: inout ByteWriter) {
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
        writer.varint(groups.count)
        var last: UInt32 = 0
        for group in groups {
            writer.varint(group.user - last)
            last = group.user
            group.write(to: &writer)
        }
    }

    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        guard let reason = MatchesEntry.Reason(rawValue: try cursor.uint8(bytes)) else {
            throw .newer("reason")
        }
        self.reason = reason
        recordName = try cursor.text(bytes, upTo: NameRules.limit)
        guard !recordName.isEmpty else { throw .value("name") }
        type = try cursor.varint32(bytes)
        creator = try cursor.varint32(bytes)
        guard creator > 0 else { throw .value("creator") }
        values = []
        groups = []
        let valueCount = try cursor.count(bytes, upTo: MatchesEntry.valueLimit)
        for _ in 0..<valueCount {
            let value = try MatchesEntry.Value(bytes, &cursor)
            if let last = values.last, last.field >= value.field { throw .value("field") }
            values.append(value)
        }
        let groupCount = try cursor.count(bytes, upTo: MatchesEntry.limit)
        guard groupCount > 0 else { throw .value("count") }
        for _ in 0..<groupCount {
            let last = groups.last?.user ?? 0
            groups.append(try MatchesEntry.Group(bytes, &cursor, behind: last))
        }
    }
}

extension MatchesEntry.Value {
    fileprivate init(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        field = try cursor.varint32(bytes)
        let kind = try FieldKind(bytes, &cursor)
        guard Self.mayHave(kind) else { throw .value("field kind") }
        self.kind = kind
        let length = try cursor.count(bytes, upTo: MatchesEntry.valueLengthLimit)
        let range = try cursor.range(bytes, count: length)
        try ValueFormat.check(bytes, in: range, kind)
        self.bytes = bytes.array(in: range)
    }

    /// Whether a notification may bring a value of that kind.
    package static func mayHave(_ kind: FieldKind) -> Bool {
        if kind.isList || kind.isEncrypted { return false }
        switch kind.element {
        case .string, .int64, .double, .date, .location, .reference: return true
        case .bytes, .asset, nil: return false
        }
    }
}

extension MatchesEntry.Group {
    /// What follows the user.
    fileprivate func write(to writer: inout ByteWriter) {
        writer.varint(badge.map { $0 + 1 } ?? 0)
        writer.varint(subscriptions.count)
        var last: UInt64 = 0
        for match in subscriptions {
            writer.varint((match.number - last) << 1 | (match.badges ? 1 : 0))
            last = match.number
        }
    }

    fileprivate init(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor, behind lastUser: UInt32
    ) throws(FormatError) {
        let (user, overflow) = lastUser.addingReportingOverflow(try cursor.varint32(bytes))
        guard !overflow, user > lastUser else { throw .value("user") }
        self.user = user
        let badge = try cursor.varint(bytes)
        guard badge <= UInt64(UInt32.max) + 1 else { throw .value("badge") }
        self.badge = badge == 0 ? nil : badge - 1
        let count = try cursor.count(bytes, upTo: MatchesEntry.limit)
        guard count > 0 else { throw .value("count") }
        subscriptions = []
        var last: UInt64 = 0
        for _ in 0..<count {
            let value = try cursor.varint(bytes)
            let number = last + value >> 1
            guard number > last, number < JournalOffset.limit else { throw .value("number") }
            subscriptions.append(MatchesEntry.Match(number: number, badges: value & 1 != 0))
            last = number
        }
        let isBadging = subscriptions.contains(where: { $0.badges })
        guard isBadging == (badge != 0) else { throw .value("badge") }
    }
}
