internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// An entry that follows from a match, ready to be written.
struct MatchOutput {
    var kind: EntryKind
    /// 0 of what lies in none.
    var zone: UInt32 = 0
    var bytes: [UInt8]

    init(_ kind: EntryKind, zone: UInt32 = 0, _ write: (inout ByteWriter) -> Void) {
        self.kind = kind
        self.zone = zone
        var writer = ByteWriter()
        write(&writer)
        bytes = writer.bytes
    }
}

extension CommitBuffer {
    mutating func add(_ output: MatchOutput, limit: Int) throws(EngineError) {
        try add(output.kind, zone: output.zone, limit: limit) { $0.append(output.bytes) }
    }
}

// What follows from matches.
extension SubscriptionMatcher {
    /// So many entries of subscriptions are read at a time.
    private static let readLimit = 256
    /// Of a string so many Unicode scalars are brought.
    private static let scalarLimit = 100

    /// The next entry that follows from what was found, which is then to be written; nil: that was
    /// all.
    func next() throws(EngineError) -> MatchOutput? {
        while let change = found.first {
            if written < change.matches.count { return try matches(of: change) }
            found.removeFirst()
            written = 0
        }
        if let match = endings.popLast() {
            let subscription = try Self.subscription(in: reading.entry(match.location))
            let removal = SubscriptionRemovalEntry(subscription, at: match.number)
            return MatchOutput(.subscriptionRemoval) { removal.write(to: &$0) }
        }
        if let user = changedBadges.popLast() {
            let value = UInt32(truncatingIfNeeded: badges[user] ?? 0)
            let badge = BadgeEntry(user: user, value: value)
            return MatchOutput(.badge) { badge.write(to: &$0) }
        }
        return nil
    }

    /// No change comes any more: the badges follow, as they are then.
    func close() {
        changedBadges = badges.keys.sorted(by: >)
    }

    /// As many of the next matches as an entry has room for.
    private func matches(of change: MatchedChange) throws(EngineError) -> MatchOutput {
        let rest = change.matches[written...]
        var count = min(MatchesEntry.limit, rest.count)
        while true {
            let entry = try entry(of: change, rest.prefix(count))
            let output = MatchOutput(.matches, zone: change.zone) { entry.write(to: &$0) }
            guard output.bytes.count > context.payloadLimit, count > 1 else {
                written += count
                for group in entry.groups { raiseBadge(group) }
                return output
            }
            count = (count + 1) / 2
        }
    }

    private func entry(
        of change: MatchedChange, _ matches: ArraySlice<Match>
    ) throws(EngineError) -> MatchesEntry {
        var groups: [MatchesEntry.Group] = []
        var rest = matches
        while let first = rest.first {
            let own = rest.prefix(while: { $0.user == first.user })
            rest = rest.dropFirst(own.count)
            var badge: UInt64?
            if own.contains(where: { $0.options.contains(.badges) }) {
                badge = try self.badge(of: first.user)
            }
            groups.append(
                MatchesEntry.Group(
                    user: first.user, badge: badge,
                    subscriptions: own.map {
                        MatchesEntry.Match(
                            number: $0.number, badges: $0.options.contains(.badges))
                    }))
        }
        return MatchesEntry(
            time: context.now, device: device, reason: change.reason, recordName: change.name,
            type: change.type, creator: change.creator, modifier: user,
            values: try values(of: change, namedBy: matches), groups: groups)
    }

    /// As it is before the next entry.
    private func badge(of user: UInt32) throws(EngineError) -> UInt64 {
        if let known = badges[user] { return known }
        if !context.isSerial { readSet.append(.badge(user)) }
        let value = try reading.value(.badge(user))?.first ?? 0
        return min(value, UInt64(UInt32.max))
    }

    private func raiseBadge(_ group: MatchesEntry.Group) {
        guard let badge = group.badge else { return }
        let count = group.subscriptions.count { $0.badges }
        badges[group.user] = min(badge + UInt64(count), UInt64(UInt32.max))
    }
}

// Values that notifications bring.
extension SubscriptionMatcher {
    private func values(
        of change: MatchedChange, namedBy matches: ArraySlice<Match>
    ) throws(EngineError) -> [MatchesEntry.Value] {
        let naming = matches.filter { $0.options.contains(.namesFields) }
        var rest = naming[...]
        var names: Set<String> = []
        while !rest.isEmpty {
            let places = rest.prefix(Self.readLimit).map { $0.location }
            rest = rest.dropFirst(places.count)
            for entry in try reading.entries(places) {
                guard let info = try Self.subscription(in: entry).info else { continue }
                names.formUnion(info.namedFields)
            }
        }
        let values = names.compactMap { value(of: $0, in: change.fields) }
        return Array(
            values.sorted { $0.field < $1.field }.prefix(MatchesEntry.valueLimit))
    }

    /// Nil where there is none that a notification brings.
    private func value(of name: String, in fields: StoredFields) -> MatchesEntry.Value? {
        guard let number = schema.number(name), let field = fields.field(number),
            MatchesEntry.Value.mayHave(field.kind)
        else { return nil }
        var bytes = fields.bytes[field.range]
        if field.kind.element == .string { bytes = Self.cut(bytes) }
        return MatchesEntry.Value(field: number, kind: field.kind, bytes: Array(bytes))
    }

    /// The beginning of a text in UTF-8.
    private static func cut(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var count = 0
        for place in text.indices where text[place] & 0xc0 != 0x80 {
            if count == scalarLimit { return text[..<place] }
            count += 1
        }
        return text
    }
}
