internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// Reads the notifications of a user, in one state of the store: `Formats/Notification.md`,
/// "Pages".
struct NotificationReader {
    let reading: StoreReading
    let user: UserID
    /// Of the user.
    let number: UInt32
    /// ``DeviceHash`` of the device for which they are read; nil: for any.
    private(set) var device: UInt64?
    let owner: Record.ID
    /// Those that were read, living or not.
    private var subscriptions: [UInt64: StoredSubscription] = [:]
    private var zones: [UInt32: RecordZone.ID] = [:]
    /// What the user may read of the public database, by the grants and roles now. The inner one is nil
    /// where that is everything, the outer one until it is asked for.
    private var publicReader: PublicReader??
    /// So many entries are read to tell of what type and by whom something was changed in a zone; behind
    /// that it is told of whatever was.
    var entriesLeft: Int

    /// Nil where the user is not known, who has no notifications. Fails where the user's account
    /// cannot be used.
    init?(
        _ reading: StoreReading, of user: UserID, device: String? = nil
    ) throws(EngineError) {
        let refusal = try reading.accountRefusal(
            of: .user(user), in: .private(owner: user), isWrite: false)
        if let refusal { throw .refused(refusal) }
        guard let number = try reading.user(user) else { return nil }
        self.init(reading, of: user, numbered: number)
        self.device = Author(number, onDevice: device, seed: reading.identity.secret).device
    }

    /// For no device, and whether or not the account can be used.
    init(
        _ reading: StoreReading, of user: UserID, numbered number: UInt32,
        entryLimit: Int = .max
    ) {
        self.reading = reading
        self.user = user
        self.number = number
        owner = Record.ID(recordName: user.recordName)
        entriesLeft = entryLimit
    }

    var principal: Principal { .user(user) }

    /// The notifications behind a token, or all that are kept.
    ///
    /// - Parameter mayHaveGaps: whether a token is good, too, behind which some are not kept.
    mutating func page(
        since token: NotificationToken?, limit: Int, mayHaveGaps: Bool = false
    ) throws(EngineError) -> NotificationChanges {
        if let token {
            try token.check(of: number, reading)
            if !mayHaveGaps { try checkIsKept(token) }
        }
        let since = token?.position.offset ?? .zero
        let taken = Int(token?.taken ?? 0)
        var own: [StoredSubscription] = []
        var shared: [StoredSubscription] = []
        for subscription in try reading.zoneSubscriptions(of: number) {
            if subscription.entry.scope == .shared {
                shared.append(subscription)
            } else {
                own.append(subscription)
            }
        }
        let ended = try endedSubscriptions(since: since)
        let changes = try zoneChanges(own, ended.filter { !$0.isShared }, since: since)
        var page = OwnPage(changes, limit: limit)
        page.left = ended.filter(\.isShared)
        var start: ChangeToken?
        if !shared.isEmpty || !page.left.isEmpty {
            var first =
                token?.shared
                ?? sharedStart(of: shared + page.left.map(\.subscription), since: since)
            page.sharedPosition = first.position.offset
            // A reader of all that is kept, or with gaps, is not refused for ended parts that are
            // forgotten.
            if try isForgotten(first) { first.beginRound(at: reading.lastVersion) }
            start = first
        }
        try read(&page, from: taken > 0 ? since : since.next, taken: taken)
        // What others share, at the end of a page. Where no subscription to it has anything to tell any
        // more, the position of the page says how far it was read.
        var shares: SharedPage?
        let isNeeded = !shared.isEmpty || page.left.contains { $0.offset > page.last }
        if let start, isNeeded {
            // Whether anything of it has changed, the next page finds out where this one has no room.
            shares =
                page.room == 0
                ? SharedPage(token: start, moreComing: true)
                : try sharedChanges(shared, since: start, limit: page.room)
        }
        let position =
            page.isFull ? reading.identity.version(at: page.last) : reading.lastVersion
        return NotificationChanges(
            notifications: page.notifications + (shares?.notifications ?? []),
            notificationToken: NotificationToken(
                user: number, at: position, taken: page.isFull ? page.taken : 0,
                time: page.nextTime ?? reading.lastNotableTime, head: reading.lastVersion,
                shared: shares?.token, of: reading.identity),
            moreComing: page.isFull || shares?.moreComing == true)
    }

    /// Where a reader begins who was told nothing of what others share.
    func sharedStart(
        of subscriptions: [StoredSubscription], since: JournalOffset
    ) -> ChangeToken {
        let first = subscriptions.reduce(reading.head) { min($0, start(of: $1, since: since)) }
        return ChangeToken(
            participant: number, in: nil, at: reading.identity.version(at: first),
            of: reading.identity)
    }

    /// Whether parts that the user had at the position of a shared token may be forgotten.
    func isForgotten(_ shared: ChangeToken) throws(EngineError) -> Bool {
        shared.isForgotten(by: try reading.participationHorizon(of: number))
    }

    /// Fails where notifications behind a token may be gone.
    private func checkIsKept(_ token: NotificationToken) throws(EngineError) {
        guard try isComplete(since: token) else {
            throw .refused(
                .expired(
                    .compacted, "notifications from behind the token are not kept any more"))
        }
    }

    /// Whether all notifications behind a token are kept.
    func isComplete(since token: NotificationToken) throws(EngineError) -> Bool {
        if let shared = token.shared, try isForgotten(shared) { return false }
        let count = try reading.value(.notificationCount(number))
        // The last one that went by number or age, as far as the index knows.
        let gone = JournalOffset(rawValue: count?.second ?? 0)
        if token.read < gone { return false }
        if try wasPurged(since: token) { return false }
        // An index that was made anew does not know of those that compaction dropped before.
        let compacted = reading.view.segments.filter {
            $0.listed.isCompacted && $0.listed.end > token.read
        }
        if compacted.isEmpty { return true }
        let least = try reading.keptNotifications.least
        var isKept = true
        try reading.scan(IndexKey.notificationTimes(), .backward) { key, value in
            if let last = NotificationRow(key, value) {
                let limit = last.time.subtractingReportingOverflow(least.lifetime)
                isKept = limit.overflow || token.time >= limit.partialValue
            }
            return false
        }
        guard isKept, count?.first ?? 0 >= UInt64(least.count) else {
            return isKept
        }
        try reading.scan(IndexKey.notifications(of: number)) { key, value in
            if let first = NotificationRow(key, value), token.position.offset < first.offset {
                isKept = !compacted.contains { $0.base < first.offset }
            }
            return false
        }
        return isKept
    }
}

// Notifications of records, and read marks.
extension NotificationReader {
    /// A page of what the index has of the user, and of the user's own zones between it.
    private struct OwnPage {
        var notifications: [StoreNotification] = []
        /// By their offsets.
        private var changes: ArraySlice<ZoneChange>
        /// Subscriptions to the shared database that ended, and behind which offset what they had to tell
        /// was not told.
        var left: [EndedSubscription] = []
        var sharedPosition = JournalOffset.zero
        private let limit: Int
        /// Of what was taken last.
        var last = JournalOffset.zero
        /// Of the entry there only so many were; 0: all.
        var taken = 0
        /// Whether there is more.
        var isFull = false
        /// Of the first row that there was no room for.
        var nextTime: Int64?

        init(_ changes: [ZoneChange], limit: Int) {
            self.changes =
                changes.sorted {
                    ($0.offset, $0.subscription.number) < ($1.offset, $1.subscription.number)
                }[...]
            self.limit = limit
        }

        /// For how many there is room yet.
        var room: Int { max(0, limit - notifications.count) }

        /// Whether what lies at `offset` has room, since the page has less than its limit or has
        /// something of that offset already.
        mutating func hasRoom(at offset: JournalOffset) -> Bool {
            if !isFull, notifications.count >= limit, offset != last { isFull = true }
            return !isFull
        }

        /// The next change of a zone that lies before `end`, where it has room.
        mutating func takeChange(before end: JournalOffset?) -> ZoneChange? {
            guard let next = changes.first, end.map({ next.offset < $0 }) ?? true,
                hasRoom(at: next.offset)
            else { return nil }
            last = next.offset
            return changes.popFirst()
        }
    }

    /// - Parameters:
    ///   - start: where the first entry may lie.
    ///   - taken: so many notifications of the entry there were in a page before.
    private mutating func read(
        _ page: inout OwnPage, from start: JournalOffset, taken: Int
    ) throws(EngineError) {
        var rows: [NotificationRow] = []
        var next = start
        while true {
            rows.removeAll(keepingCapacity: true)
            let (start, batch) = (next, Self.batch)
            try reading.scan(IndexKey.notifications(of: number, from: start)) {
                key, value throws(EngineError) in
                guard let row = NotificationRow(key, value) else {
                    throw reading.damaged(at: JournalOffset(rawValue: value.stamp))
                }
                rows.append(row)
                return rows.count < batch
            }
            for row in rows {
                try readChanges(&page, before: row.offset)
                guard page.hasRoom(at: row.offset) else {
                    page.nextTime = row.time
                    return
                }
                // Only the first row may be the one of which some were given.
                var told = row.offset == start ? taken : 0
                page.last = row.offset
                page.notifications += try notifications(
                    of: row, behind: &told, upTo: max(1, page.room))
                if row.kind == .zones,
                    let left = page.left.first(where: { $0.offset == row.offset })
                {
                    page.notifications += try sharedNotifications(
                        of: left, since: page.sharedPosition)
                }
                if told < row.count {
                    (page.taken, page.nextTime, page.isFull) = (told, row.time, true)
                    return
                }
                next = row.offset.next
            }
            if rows.count < batch { break }
        }
        try readChanges(&page, before: nil)
    }

    private static let batch = 256

    private mutating func readChanges(
        _ page: inout OwnPage, before end: JournalOffset?
    ) throws(EngineError) {
        while let change = page.takeChange(before: end) {
            let zoneID = try zoneID(change.zone)
            page.notifications.append(
                try notification(
                    change.subscription, at: change.offset, change.zone, as: zoneID,
                    isFromThisDevice: change.isFromThisDevice))
        }
    }

    /// All that the user is told because of an entry.
    mutating func notifications(
        of row: NotificationRow
    ) throws(EngineError) -> [StoreNotification] {
        var told = 0
        return try notifications(of: row, behind: &told, upTo: .max)
    }

    /// What the user is told because of an entry behind the first `told`, at most so many; `told` then
    /// is how many were passed, with those of records that the user may not read.
    private mutating func notifications(
        of row: NotificationRow, behind told: inout Int, upTo count: Int
    ) throws(EngineError) -> [StoreNotification] {
        switch row.kind {
        case .matches: return try matches(of: row, behind: &told, upTo: count)
        case .readMark:
            told = row.count
            return [try readMark(row)]
        case .zones:
            // Those of the user's own stand where they changed.
            told = row.count
            return []
        }
    }

    private func readMark(_ row: NotificationRow) throws(EngineError) -> StoreNotification {
        guard let entry = try reading.keptEntry(at: row.offset), entry.kind == .readMark,
            let mark = entry.withPayload({ try? ReadMarkEntry($0) }), mark.user == number
        else { throw reading.damaged(at: row.offset) }
        var notification = StoreNotification(
            NotificationIdentifier(readMark: row.offset.rawValue), .readMark,
            created: Date(microseconds: row.time), of: reading.identity)
        notification.subscriptionOwner = owner
        notification.markedID = NotificationIdentifier(mark.id)
        return notification
    }

    private mutating func matches(
        of row: NotificationRow, behind told: inout Int, upTo limit: Int
    ) throws(EngineError) -> [StoreNotification] {
        guard let zone = try reading.zone(row.zone) else { throw reading.damaged(at: row.offset) }
        let (entry, matches) = try matches(at: row.offset)
        var teller = MatchTeller(
            row, matches, entry, try zoneID(zone), isPublic: zone.database == 0,
            skipped: told, limit: limit)
        try reading.scan(IndexKey.readMarks(of: number, row.offset.rawValue)) { _, _ in
            teller.isAnyRead = true
            return false
        }
        for (place, change) in matches.changes.enumerated() {
            guard let group = change.group(of: number) else { continue }
            try tell(change, at: place, group, &teller)
            if teller.isDone { break }
        }
        // Its rows say of whom it is.
        if teller.count == 0 { throw reading.damaged(at: row.offset) }
        // Where the row says more than the entry, nothing more comes.
        told = teller.isDone ? teller.count : row.count
        return teller.found
    }

    /// The notifications that a user has of an entry, as far as they are asked for.
    private struct MatchTeller {
        let row: NotificationRow
        let matches: MatchesEntry
        let entry: JournalEntry
        let zoneID: RecordZone.ID
        let isPublic: Bool
        let skipped: Int
        private let limit: Int
        var isAnyRead = false
        /// How many were passed.
        var count = 0
        var found: [StoreNotification] = []

        init(
            _ row: NotificationRow, _ matches: MatchesEntry, _ entry: JournalEntry,
            _ zoneID: RecordZone.ID, isPublic: Bool, skipped: Int, limit: Int
        ) {
            self.row = row
            self.matches = matches
            self.entry = entry
            self.zoneID = zoneID
            self.isPublic = isPublic
            self.skipped = skipped
            self.limit = limit
        }

        var isDone: Bool { found.count >= limit }
    }

    /// Adds what the user is told of a change.
    private mutating func tell(
        _ change: MatchesEntry.Change, at place: Int, _ group: MatchesEntry.Group,
        _ teller: inout MatchTeller
    ) throws(EngineError) {
        let first = teller.count
        // What the page before had, and what the user may not read.
        var isLeftOut = first + group.subscriptions.count <= teller.skipped
        if !isLeftOut, teller.isPublic {
            isLeftOut = try !mayRead(change, teller.entry)
        }
        if isLeftOut {
            teller.count += group.subscriptions.count
            return
        }
        let values = try values(of: change, in: teller.zoneID, teller.entry)
        let isOwn =
            device != nil && teller.matches.device == device && teller.matches.modifier == number
        var badge = group.badge ?? 0
        for match in group.subscriptions {
            if match.badges { badge = min(badge + 1, UInt64(UInt32.max)) }
            teller.count += 1
            if teller.count <= teller.skipped { continue }
            let subscription = try subscription(match.number, in: teller.entry)
            let id = NotificationID(
                kind: SubscriptionEntry.Kind.query.rawValue, number: match.number,
                offset: teller.row.offset.rawValue, place: UInt32(truncatingIfNeeded: place))
            var notification = StoreNotification(
                NotificationIdentifier(id), .query,
                created: Date(microseconds: teller.row.time), of: reading.identity)
            notification.subscriptionOwner = owner
            notification.state(subscription, values)
            notification.reason = StoreNotification.Reason(change.reason)
            notification.recordID = Record.ID(
                recordName: change.recordName, zoneID: teller.zoneID)
            notification.zoneID = teller.zoneID
            notification.databaseScope = teller.isPublic ? .public : .private
            notification.badge = match.badges ? Int(clamping: badge) : nil
            if teller.isAnyRead { notification.isRead = try isRead(id) }
            notification.isFromThisDevice = isOwn
            teller.found.append(notification)
            if teller.isDone { return }
        }
    }

    func isRead(_ id: NotificationID) throws(EngineError) -> Bool {
        try reading.value(.readMark(number, id)) != nil
    }

    /// The subscription that an entry names.
    private mutating func subscription(
        _ number: UInt64, in entry: JournalEntry
    ) throws(EngineError) -> StoredSubscription {
        if let known = subscriptions[number] { return known }
        guard let found = try reading.subscription(numbered: number),
            found.entry.user == self.number
        else { throw .damaged(entry) }
        subscriptions[number] = found
        return found
    }

    /// Whether the user may still be told what a page had: not of what was purged, or is not kept any
    /// more.
    mutating func mayTell(_ id: NotificationID) throws(EngineError) -> Bool {
        guard id.kind == SubscriptionEntry.Kind.query.rawValue else { return try mayHaveTold(id) }
        let offset = JournalOffset(rawValue: id.offset)
        let key = IndexKey.notification(number, offset)
        guard let row = try reading.value(key).flatMap({ NotificationRow(key, $0) }),
            let zone = try reading.zone(row.zone)
        else { return false }
        if zone.database != 0 { return true }
        let (entry, matches) = try matches(at: offset)
        guard Int(id.place) < matches.changes.count else { throw .damaged(entry) }
        return try mayRead(matches.changes[Int(id.place)], entry)
    }

    private func matches(
        at offset: JournalOffset
    ) throws(EngineError) -> (entry: JournalEntry, matches: MatchesEntry) {
        guard let entry = try reading.keptEntry(at: offset), entry.kind == .matches,
            let matches = entry.withPayload({ try? MatchesEntry($0) })
        else { throw reading.damaged(at: offset) }
        return (entry, matches)
    }

    /// Whether the user may read the record of the public database.
    private mutating func mayRead(
        _ change: MatchesEntry.Change, _ entry: JournalEntry
    ) throws(EngineError) -> Bool {
        guard let type = reading.schema.name(change.type),
            let creator = try reading.user(change.creator)
        else { throw .damaged(entry) }
        let reader: PublicReader?
        if let publicReader {
            reader = publicReader
        } else {
            reader = try PublicReader(user, reading.newest.grants(), reading)
            publicReader = .some(reader)
        }
        return reader?.refusal(ofType: type, creator: creator) == nil
    }

    private func values(
        of change: MatchesEntry.Change, in zone: RecordZone.ID, _ entry: JournalEntry
    ) throws(EngineError) -> [String: RecordValue] {
        var values: [String: RecordValue] = [:]
        for value in change.values {
            guard let name = reading.schema.name(value.field) else { throw .damaged(entry) }
            do throws(FormatError) {
                values[name] = try ValueFormat.value(
                    value.bytes, in: 0..<value.bytes.count, kind: value.kind, zone: zone)
            } catch {
                throw .damaged(entry)
            }
        }
        return values
    }

    private mutating func zoneID(_ zone: ZonePlace) throws(EngineError) -> RecordZone.ID {
        if let known = zones[zone.number] { return known }
        let id = RecordZone.ID(zoneName: try reading.zoneEntry(zone).name)
        zones[zone.number] = id
        return id
    }
}

extension StoreNotification {
    /// Says what its subscription wants of it.
    mutating func state(
        _ subscription: StoredSubscription, _ values: [String: RecordValue]
    ) {
        subscriptionID = subscription.entry.id
        guard let info = subscription.entry.info.map({ Subscription.NotificationInfo($0) }) else {
            return
        }
        notificationInfo = info
        for key in info.desiredKeys ?? [] { recordFields[key] = values[key] }
        func inserted(_ fields: [String]?) -> [String]? {
            fields.map { $0.map { values[$0]?.insertedText ?? "" } }
        }
        alertLocalizationArgs = inserted(info.alertLocalizationArgs)
        titleLocalizationArgs = inserted(info.titleLocalizationArgs)
        subtitleLocalizationArgs = inserted(info.subtitleLocalizationArgs)
    }
}

extension StoreNotification.Reason {
    fileprivate init(_ stored: MatchesEntry.Reason) {
        self =
            switch stored {
            case .created: .recordCreated
            case .updated: .recordUpdated
            case .deleted: .recordDeleted
            }
    }
}

extension Date {
    /// From microseconds since 1970, as entries have it.
    init(microseconds: Int64) {
        self.init(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
