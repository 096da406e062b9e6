package import StratusBytes
internal import StratusFiles
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let matches = EntryKind(rawValue: 56)
    package static let readMark = EntryKind(rawValue: 57)
    package static let badge = EntryKind(rawValue: 58)
    package static let notificationPolicy = EntryKind(rawValue: 64)
    package static let zoneNotifications = EntryKind(rawValue: 65)
}

/// Notifications of query subscriptions and of subscriptions that ended, read marks and badges.
///
/// One entry after the other takes effect as if each were a group of its own, so that what is there
/// depends on the entries alone, and not on the groups that they were written in.
package struct NotificationProjection: Projection {
    package static let entries = [
        EntryForm(.matches, "matches", isInZone: true, selection: .omitted),
        EntryForm(.readMark, "read mark"),
        EntryForm(.badge, "badge"),
        // What is kept depends on each of them.
        EntryForm(
            .notificationPolicy, "notification policy", retention: .always, selection: .all),
        EntryForm(.zoneNotifications, "zone notifications"),
    ]
    package static let alsoReads: [EntryKind] = [.zone]
    package static let keyspaces: [KeySpace] = [
        .notifications, .zoneNotifications, .notificationTimes, .notificationCounts, .badges,
        .readMarks, .notificationPolicy,
    ]

    /// An entry, which takes effect when the group ends.
    private struct Item {
        var offset: JournalOffset
        /// In microseconds since 1970; of a purge that of the commit.
        var time: Int64
        var effect: Effect

        /// What the index says of the notifications that it brings a user.
        func row(
            _ kind: NotificationRow.Kind, of user: UInt32, in zone: UInt32 = 0, count: Int
        ) -> NotificationRow {
            NotificationRow(
                user: user, offset: offset, kind: kind, zone: zone, count: count, time: time)
        }

        /// The zone of a user that it purges; nil where it purges none.
        func purgedZone(of user: UInt32) -> UInt32? {
            if case .purge(user, let zone) = effect { zone } else { nil }
        }
    }

    private enum Effect {
        /// How many notifications users have.
        case matches(zone: UInt32, users: [(user: UInt32, count: Int)])
        case readMark(user: UInt32, NotificationID, IndexValue)
        /// Of a subscription that ended.
        case zones(user: UInt32)
        case policy(NotificationPolicyEntry)
        /// A zone of a user is gone with all that the user had in it.
        case purge(user: UInt32, zone: UInt32)
    }

    /// How many notifications a user has, since an entry at `stamp`.
    private struct Count {
        var notifications: Int
        /// Where the last one lies that went for its age or their number; zero: none did.
        var floor: UInt64
        var stamp: UInt64
    }

    /// Of the open commit, and of the complete commits of the group.
    private var open: [Item] = []
    private var complete: [Item] = []
    /// Of the group, while it ends.
    private var counts: [UInt32: Count] = [:]
    /// Nil: not read yet.
    private var kept: KeptNotifications?
    /// No notification has an earlier time: what was removed need not be passed over again.
    private var oldest = Int64.min
    /// By user, of those who reached the limit: the next ones to go, of which some may have gone
    /// otherwise, and where those behind them begin.
    private var next: [UInt32: (rows: ArraySlice<NotificationRow>, end: JournalOffset)] = [:]
    /// So many rows of a user are read at once, and of so many users.
    private static let readAhead = 64
    private static let userLimit = 1000

    package init() {}

    package mutating func rollBack() { self = NotificationProjection() }

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        switch entry.header.kind {
        case .matches: try take(MatchesSummary(payload), entry, &state)
        case .readMark: try take(ReadMarkEntry(payload), entry, &state)
        case .badge: try take(BadgeEntry(payload), entry, &state)
        case .notificationPolicy:
            open.append(
                Item(
                    offset: entry.offset, time: .min,
                    effect: .policy(try NotificationPolicyEntry(payload))))
        case .zoneNotifications: try take(ZoneNotificationsEntry(payload), entry, &state)
        default:
            let zone = try ZoneEntry(payload)
            if zone.state != .purged { return }
            open.append(
                Item(
                    offset: entry.offset, time: .min,
                    effect: .purge(user: zone.database, zone: zone.number)))
        }
    }

    private mutating func take(
        _ left: ZoneNotificationsEntry, _ entry: borrowing FoldedEntry, _ state: inout FoldState
    ) throws(FormatError) {
        guard state.numbers.hasUser(left.user) else { throw .value("user number") }
        try left.check(at: entry.offset)
        open.append(
            Item(
                offset: entry.offset, time: left.time,
                effect: .zones(user: left.user)))
        wake(left.user, &state)
    }

    private mutating func take(
        _ matches: MatchesSummary, _ entry: borrowing FoldedEntry, _ state: inout FoldState
    ) throws(FormatError) {
        guard state.numbers.schema.name(matches.greatestName) != nil else {
            throw .value("type number")
        }
        guard state.numbers.hasUser(matches.greatestUser) else { throw .value("user number") }
        open.append(
            Item(
                offset: entry.offset, time: matches.time,
                effect: .matches(zone: entry.zone, users: matches.counts)))
        for (user, _) in matches.counts { wake(user, &state) }
    }

    private mutating func take(
        _ mark: ReadMarkEntry, _ entry: borrowing FoldedEntry, _ state: inout FoldState
    ) throws(FormatError) {
        guard state.numbers.hasUser(mark.user) else { throw .value("user number") }
        open.append(
            Item(
                offset: entry.offset, time: mark.time,
                effect: .readMark(user: mark.user, mark.id, entry.location())))
        wake(mark.user, &state)
    }

    private func take(
        _ badge: BadgeEntry, _ entry: borrowing FoldedEntry, _ state: inout FoldState
    ) throws(FormatError) {
        guard state.numbers.hasUser(badge.user) else { throw .value("user number") }
        var row = entry.location()
        row.first = UInt64(badge.value)
        state.index.set(.badge(badge.user), row)
        wake(badge.user, &state)
    }

    /// Wakes those who wait for the user's notifications.
    private func wake(_ user: UInt32, _ state: inout FoldState) {
        state.changes?.note(.database(user))
    }

    package mutating func completeCommit(at time: Int64, in state: inout FoldState) {
        if open.isEmpty { return }
        for var item in open {
            if case .purge = item.effect { item.time = time }
            complete.append(item)
        }
        open.removeAll()
    }

    package mutating func endGroup(in state: inout FoldState) throws(IndexError) {
        if complete.isEmpty { return }
        let items = complete
        complete.removeAll()
        if kept == nil {
            kept = try KeptNotifications { key throws(IndexError) in
                try state.index.value(of: key, .blocking)
            }
        }
        var rest = items[...]
        while let item = rest.first {
            try removeExpired(at: item, &state)
            var count = 1
            switch item.effect {
            case .policy(let policy):
                kept?.set(policy)
                for (key, value) in kept?.rows(at: item.offset.rawValue) ?? [] {
                    state.index.set(key, value)
                }
            case .matches(let zone, let users):
                for (user, count) in users {
                    let row = item.row(.matches, of: user, in: zone, count: count)
                    try add(row, readOffset: 0, &state)
                }
            case .readMark(let user, let id, let location):
                try readMark(id, of: user, location, item, &state)
            case .zones(let user):
                let key = IndexKey.zoneNotification(user, item.offset)
                let value = IndexValue(
                    stamp: item.offset.rawValue, first: UInt64(bitPattern: item.time))
                state.index.set(key, value, isFresh: true)
                try add(item.row(.zones, of: user, count: 1), readOffset: 0, &state)
            case .purge(let user, _):
                // Those of one commit go at once: there may be many.
                let purges = rest.prefix {
                    $0.time == item.time && $0.purgedZone(of: user) != nil
                }
                try purge(purges, of: user, &state)
                count = purges.count
            }
            rest = rest.dropFirst(count)
        }
        // The index gets the users in one order, whatever the dictionary's.
        for (user, count) in counts.sorted(by: { $0.key < $1.key }) {
            let key = IndexKey.notificationCount(user)
            if count.notifications > 0 || count.floor > 0 {
                let number = UInt64(max(0, count.notifications))
                state.index.set(
                    key, IndexValue(stamp: count.stamp, first: number, second: count.floor))
            } else {
                state.index.remove(key, at: count.stamp)
            }
        }
        counts.removeAll()
    }
}

// What an entry does to the rows.
extension NotificationProjection {
    /// A notification was read. A read mark of it from before says nothing more.
    private mutating func readMark(
        _ id: NotificationID, of user: UInt32, _ location: IndexValue, _ item: Item,
        _ state: inout FoldState
    ) throws(IndexError) {
        let key = IndexKey.readMark(user, id)
        if let old = try state.index.value(of: key, .blocking) {
            let offset = JournalOffset(rawValue: old.stamp)
            try remove(offset, of: user, at: item.offset.rawValue, &state)
        }
        state.index.set(key, location)
        try add(item.row(.readMark, of: user, count: 1), readOffset: id.offset, &state)
    }

    /// With zones that are purged the notifications of their records go, and with each of them those of
    /// zones that were gone before. Only the user whose zones they are has any.
    private mutating func purge(
        _ purges: ArraySlice<Item>, of user: UInt32, _ state: inout FoldState
    ) throws(IndexError) {
        // By zone, with which entry its notifications go; nil: with none.
        var ends: [UInt32: JournalOffset?] = [:]
        for purge in purges {
            if let zone = purge.purgedZone(of: user) { ends[zone] = .some(purge.offset) }
        }
        var gone: [(row: NotificationRow, end: JournalOffset)] = []
        var cursor = state.index.cursor(IndexKey.notifications(of: user), .blocking)
        while let (key, value) = try cursor.next() {
            guard let row = NotificationRow(key, value), row.kind == .matches else { continue }
            let end: JournalOffset?
            if let known = ends[row.zone] {
                end = known
            } else {
                end = try Self.place(of: row.zone, in: state.index).flatMap { place in
                    if place.isAlive || place.database != user { return nil }
                    return purges.first { $0.offset > place.offset }?.offset
                }
                ends[row.zone] = .some(end)
            }
            if let end { gone.append((row, end)) }
        }
        // In the order of the entries with which they go.
        for (row, end) in gone.sorted(by: { ($0.end, $0.row.offset) < ($1.end, $1.row.offset) }) {
            try remove(row, at: end.rawValue, &state)
        }
    }

    private static func place(
        of zone: UInt32, in index: OrderedIndex
    ) throws(IndexError) -> ZonePlace? {
        try index.value(of: .zoneNumber(zone), .blocking).flatMap { ZonePlace($0) }
    }

    private mutating func add(
        _ row: NotificationRow, readOffset: UInt64, _ state: inout FoldState
    ) throws(IndexError) {
        let stamp = row.offset.rawValue
        state.index.set(.notification(row.user, row.offset), row.value, isFresh: true)
        state.index.set(
            .notificationTime(row.time, row.offset, row.user), row.value(readOffset: readOffset),
            isFresh: true)
        oldest = min(oldest, row.time)
        let limit = kept?.policy.count ?? .max
        var surplus = try count(row.count, of: row.user, at: stamp, state) - limit
        while surplus > 0, let first = try firstRow(of: row.user, in: state.index),
            first.count <= surplus
        {
            surplus -= first.count
            next[row.user]?.rows.removeFirst()
            try removeWhole(first, at: stamp, &state)
        }
    }

    /// The oldest row of a user, which stays the next one.
    private mutating func firstRow(
        of user: UInt32, in index: OrderedIndex
    ) throws(IndexError) -> NotificationRow? {
        while true {
            guard let row = next[user]?.rows.first else {
                guard try readOn(user, in: index) else { return nil }
                continue
            }
            let key = IndexKey.notification(user, row.offset)
            if try index.value(of: key, .blocking) != nil { return row }
            next[user]?.rows.removeFirst()
        }
    }

    /// Reads the next ones to go; false where there are none.
    private mutating func readOn(
        _ user: UInt32, in index: OrderedIndex
    ) throws(IndexError) -> Bool {
        var rows: [NotificationRow] = []
        let start = next[user]?.end ?? .zero
        var cursor = index.cursor(IndexKey.notifications(of: user, from: start), .blocking)
        while rows.count < Self.readAhead, let (key, value) = try cursor.next() {
            if let row = NotificationRow(key, value) { rows.append(row) }
        }
        guard let last = rows.last else { return false }
        if next[user] == nil, next.count == Self.userLimit { next.removeAll() }
        next[user] = (rows[...], last.offset.next)
        return true
    }

    /// Takes away what is older than the lifetime at the time of an entry.
    private mutating func removeExpired(
        at item: Item, _ state: inout FoldState
    ) throws(IndexError) {
        let lifetime = kept?.policy.lifetime ?? .max
        let (limit, overflow) = item.time.subtractingReportingOverflow(lifetime)
        guard !overflow, limit > oldest else { return }
        let (expired, next) = try rows(before: limit, in: state.index)
        for row in expired { try removeWhole(row, at: item.offset.rawValue, &state) }
        oldest = next
    }

    /// The notifications from before a time, and the time of the next one.
    private func rows(
        before limit: Int64, in index: OrderedIndex
    ) throws(IndexError) -> (rows: [NotificationRow], next: Int64) {
        var rows: [NotificationRow] = []
        var cursor = index.cursor(IndexKey.notificationTimes(from: oldest), .blocking)
        while let (key, value) = try cursor.next() {
            guard let row = NotificationRow(key, value) else { continue }
            if row.time >= limit { return (rows, row.time) }
            rows.append(row)
        }
        return (rows, .max)
    }

    /// Takes away a notification and what there is because of it alone.
    private mutating func removeWhole(
        _ row: NotificationRow, at stamp: UInt64, _ state: inout FoldState
    ) throws(IndexError) {
        switch row.kind {
        case .matches: break
        case .zones: state.index.remove(.zoneNotification(row.user, row.offset), at: stamp)
        case .readMark:
            let key = IndexKey.notificationTime(row.time, row.offset, row.user)
            guard let value = try state.index.value(of: key, .blocking) else { break }
            for key in try readMarks(of: value.second, row, in: state.index) {
                state.index.remove(key, at: stamp)
            }
        }
        try remove(row, at: stamp, &state)
        counts[row.user]?.floor.raise(to: row.offset.rawValue)
    }

    /// The keys of what a read mark alone says of the notification at `offset`.
    private func readMarks(
        of offset: UInt64, _ row: NotificationRow, in index: OrderedIndex
    ) throws(IndexError) -> [IndexKey] {
        var keys: [IndexKey] = []
        var cursor = index.cursor(IndexKey.readMarks(of: row.user, offset), .blocking)
        while let (key, value) = try cursor.next() {
            if value.stamp == row.offset.rawValue { keys.append(key) }
        }
        return keys
    }

    /// Takes away the rows of a notification of which it is known where it lies; it may be gone.
    private mutating func remove(
        _ offset: JournalOffset, of user: UInt32, at stamp: UInt64, _ state: inout FoldState
    ) throws(IndexError) {
        let key = IndexKey.notification(user, offset)
        guard let value = try state.index.value(of: key, .blocking),
            let row = NotificationRow(key, value)
        else { return }
        try remove(row, at: stamp, &state)
    }

    private mutating func remove(
        _ row: NotificationRow, at stamp: UInt64, _ state: inout FoldState
    ) throws(IndexError) {
        state.index.remove(.notification(row.user, row.offset), at: stamp)
        state.index.remove(.notificationTime(row.time, row.offset, row.user), at: stamp)
        state.deadBytes &+= KeySpace.partLength
        _ = try count(-row.count, of: row.user, at: stamp, state)
    }

    /// Counts notifications that came or went; returns how many there are.
    private mutating func count(
        _ difference: Int, of user: UInt32, at stamp: UInt64, _ state: FoldState
    ) throws(IndexError) -> Int {
        var count = Count(notifications: 0, floor: 0, stamp: stamp)
        if let known = counts[user] {
            count = known
        } else if let value = try state.index.value(of: .notificationCount(user), .blocking) {
            count.notifications = Int(truncatingIfNeeded: value.first)
            count.floor = value.second
        }
        count.notifications += difference
        count.stamp = stamp
        counts[user] = count
        return count.notifications
    }
}

// What an entry says.
extension NotificationProjection {
    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        switch entry.kind {
        case .matches:
            let matches = try MatchesSummary(payload)
            numbers.useUser(matches.greatestUser)
            numbers.useType(matches.greatestName)
        case .readMark: numbers.useUser(try ReadMarkEntry(payload).user)
        case .notificationPolicy: _ = try NotificationPolicyEntry(payload)
        case .zoneNotifications:
            let left = try ZoneNotificationsEntry(payload)
            numbers.useUser(left.user)
            try left.check(at: entry.offset)
        default: numbers.useUser(try BadgeEntry(payload).user)
        }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        switch kind {
        case .matches:
            let matches = try MatchesEntry(payload)
            let (first, users) = (matches.changes[0], try MatchesSummary(payload).counts)
            let reason =
                matches.changes.count == 1
                ? "\(first.reason)" : "changes of \(matches.changes.count) records"
            let count = users.reduce(0) { $0 + $1.count }
            return EntryDescription(
                recordName: first.recordName, recordType: schema.name(first.type),
                detail: "\(reason), \(count) notifications of \(users.count) users")
        case .readMark:
            let mark = try ReadMarkEntry(payload)
            return EntryDescription(
                detail: "user \(mark.user), notification \(mark.id.offset) of subscription "
                    + "\(mark.id.number)")
        case .zoneNotifications:
            let left = try ZoneNotificationsEntry(payload)
            return EntryDescription(
                detail: "user \(left.user), \(left.changes.count) zones of subscription "
                    + "\(left.subscription)")
        case .notificationPolicy:
            let policy = try NotificationPolicyEntry(payload)
            return EntryDescription(
                detail: "\(policy.lifetime / 1_000_000) s, \(policy.count) of a user")
        default:
            let badge = try BadgeEntry(payload)
            return EntryDescription(detail: "user \(badge.user): \(badge.value)")
        }
    }
}

extension UInt64 {
    fileprivate mutating func raise(to other: UInt64) { self = Swift.max(self, other) }
}
