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

    init(_ kind: EntryKind, zone: UInt32 = 0, _ bytes: [UInt8]) {
        self.kind = kind
        self.zone = zone
        self.bytes = bytes
    }

    init(_ kind: EntryKind, _ write: (inout ByteWriter) -> Void) {
        var writer = ByteWriter()
        write(&writer)
        self.init(kind, writer.bytes)
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

    /// How long an entry becomes, in bytes, where its changes can be divided.
    private static let usualLength = 32 << 10

    /// The next entry that follows from what was found, which is then to be written; nil: that was
    /// all, for now, or it is more than this context may write. Changes are gathered, since an entry
    /// of many costs hardly more than one of one.
    mutating func next() throws(EngineError) -> MatchOutput? {
        if isTooLong { return nil }
        if found.isEmpty {
            if isDraining { (isDraining, drained) = (false, nil) }
        } else {
            if foundLength >= lengthLimit || found.count >= MatchesEntry.changeLimit {
                isDraining = true
            }
            if isClosed || isDraining { return try matchesOutput() }
        }
        guard isClosed else { return nil }
        if let match = endings.popLast() {
            let subscription = try Self.subscription(in: reading.entry(match.location))
            let removal = SubscriptionRemovalEntry(subscription, at: match.number)
            return MatchOutput(.subscriptionRemoval) { removal.write(to: &$0) }
        }
        if changedBadges == nil { changedBadges = badges.keys.sorted(by: >) }
        if let user = changedBadges?.popLast() {
            let value = UInt32(truncatingIfNeeded: badges[user] ?? 0)
            let badge = BadgeEntry(user: user, value: value)
            return MatchOutput(.badge) { badge.write(to: &$0) }
        }
        return nil
    }

    /// No change comes any more: all that was gathered follows, and then the badges as they are.
    mutating func close() {
        isClosed = true
    }

    /// Where changes can be divided, an entry becomes no longer, in bytes.
    private var lengthLimit: Int {
        min(Self.usualLength, context.payloadLimit - Self.headLength)
    }

    /// As many of the next matches as an entry has room for. Those of one zone come before those of
    /// the next, until all that was gathered is written: where records are moved, a record is told to
    /// be gone from the one before it is told to be in the other.
    private mutating func matchesOutput() throws(EngineError) -> MatchOutput {
        var zone = found[0].zone
        if let drained, found.contains(where: { $0.zone == drained }) { zone = drained }
        drained = zone
        let parts = takeParts(ofZone: zone)
        var writer = MatchesWriter(
            time: context.now, device: author.device, modifier: author.user,
            changeCount: parts.count)
        for (change, part) in parts { try write(change, part, to: &writer) }
        if found.allSatisfy({ $0.matches.isEmpty }) {
            found = []
            matches = []
            foundLength = 0
        } else {
            found.removeAll { $0.matches.isEmpty }
            foundLength = found.reduce(0) { $0 + $1.length(withMatches: $1.matches.count) }
        }
        return MatchOutput(.matches, zone: zone, writer.bytes)
    }

    /// Which changes an entry has room for, and which of the matches of each.
    private mutating func takeParts(ofZone zone: UInt32) -> [(change: Int, matches: Range<Int>)] {
        var parts: [(change: Int, matches: Range<Int>)] = []
        var (length, room) = (0, MatchesEntry.limit)
        for place in found.indices where found[place].zone == zone {
            let matches = found[place].matches
            var count = min(room, matches.count)
            var taken = found[place].length(withMatches: count)
            if !parts.isEmpty, length + taken > lengthLimit { break }
            while taken > context.payloadLimit - Self.headLength, count > 1 {
                count = (count + 1) / 2
                taken = found[place].length(withMatches: count)
            }
            let end = matches.lowerBound + count
            found[place].matches = end..<matches.upperBound
            parts.append((place, matches.lowerBound..<end))
            length += taken
            room -= count
            let isWhole = end == matches.upperBound
            if !isWhole || room == 0 || parts.count == MatchesEntry.changeLimit { break }
        }
        return parts
    }

    /// More than what an entry has beside its changes, in bytes.
    private static let headLength = 64

    private mutating func write(
        _ place: Int, _ part: Range<Int>, to writer: inout MatchesWriter
    ) throws(EngineError) {
        let change = found[place]
        var users = 1
        for place in part.dropFirst() where matches[place].user != matches[place - 1].user {
            users += 1
        }
        writer.beginChange(
            change.reason, recordName: change.name, type: change.type, creator: change.creator,
            values: change.values, groupCount: users)
        var rest = part
        while let first = rest.first {
            let user = matches[first].user
            let own = rest.prefix { matches[$0].user == user }
            rest = own.endIndex..<rest.endIndex
            let raise = own.count { matches[$0].options.contains(.badges) }
            let badge = raise > 0 ? try self.badge(of: user) : nil
            writer.beginGroup(of: user, badge: badge, count: own.count)
            for place in own {
                let match = matches[place]
                writer.add(match.number, badges: match.options.contains(.badges))
            }
            if let badge { badges[user] = min(badge + UInt64(raise), UInt64(UInt32.max)) }
        }
    }

    /// As it is before the next change.
    private mutating func badge(of user: UInt32) throws(EngineError) -> UInt64 {
        if let known = badges[user] { return known }
        if !context.isSerial { readSet.append(.badge(user)) }
        let value = try reading.value(.badge(user))?.first ?? 0
        return min(value, UInt64(UInt32.max))
    }
}

// Values that notifications bring.
extension SubscriptionMatcher {
    mutating func values(
        of fields: some EncodedFields, namedBy range: Range<Int>
    ) throws(EngineError) -> [MatchesEntry.Value] {
        guard range.contains(where: { matches[$0].options.contains(.namesFields) }) else {
            return []
        }
        let naming = matches[range].filter { $0.options.contains(.namesFields) }
        var names: Set<String> = []
        var rest = naming.filter { match in
            names.formUnion(named[match.number] ?? [])
            return named[match.number] == nil
        }[...]
        while !rest.isEmpty {
            let some = rest.prefix(Self.readLimit)
            rest = rest.dropFirst(some.count)
            for (match, entry) in zip(some, try reading.entries(some.map { $0.location })) {
                let fields = try Self.subscription(in: entry).info?.namedFields ?? []
                names.formUnion(fields)
                if named.count < Self.namedLimit { named[match.number] = Array(fields) }
            }
        }
        return names.compactMap { value(of: $0, in: fields) }.sorted { $0.field < $1.field }
    }

    /// Nil where there is none that a notification brings.
    private func value(
        of name: String, in fields: some EncodedFields
    ) -> MatchesEntry.Value? {
        guard let number = schema.number(name), let field = fields.encodedValue(of: number),
            MatchesEntry.Value.mayHave(field.kind)
        else { return nil }
        var bytes = field.bytes[field.range]
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
