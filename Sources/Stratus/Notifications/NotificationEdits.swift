internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What a user says of the own notifications: a commit each.

/// Marks notifications as read.
struct ReadMarks: Transaction {
    private let user: UserID
    /// Each once.
    private let ids: [NotificationIdentifier]

    /// More than these are written by the committer, which can divide them.
    private static let usual = 1024

    init(_ ids: [NotificationIdentifier], of user: UserID) {
        self.user = user
        var seen: Set<NotificationIdentifier> = []
        self.ids = ids.filter { seen.insert($0).inserted }
    }

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        guard context.isSerial || ids.count <= Self.usual else { return nil }
        var draft = Draft(reading)
        guard var reader = try NotificationReader(reading, of: user) else {
            draft.readSet.append(.user(user.bits))
            draft.results = ids.map { _ in .failed(.noNotification) }
            return draft
        }
        var told = ToldNotifications()
        for id in ids {
            guard let entryID = id.entryID, try told.hasTold(id, entryID, to: &reader) else {
                draft.results.append(.failed(.noNotification))
                continue
            }
            let offset = JournalOffset(rawValue: entryID.offset)
            draft.readSet.append(.readMark(reader.number, entryID))
            if entryID.kind == SubscriptionEntry.Kind.query.rawValue {
                draft.readSet.append(.notification(reader.number, offset))
            }
            if try reader.isRead(entryID) {
                draft.results.append(.unchanged)
                continue
            }
            guard try draft.flushIfFull(context, sink) else { return nil }
            let place = draft.buffer.count
            let mark = ReadMarkEntry(user: reader.number, time: context.now, id: entryID)
            try draft.buffer.add(.readMark, limit: context.payloadLimit) { mark.write(to: &$0) }
            draft.results.append(.staged(place: place))
        }
        return draft
    }

    func outcomes(
        of committed: Committed
    ) -> [NotificationIdentifier: Result<Void, StoreError>] {
        var outcomes: [NotificationIdentifier: Result<Void, StoreError>] = [:]
        for (id, result) in zip(ids, committed.draft.results) {
            if let error = result.error {
                outcomes[id] = .failure(error)
            } else {
                outcomes[id] = .success(())
            }
        }
        return outcomes
    }
}

/// Which notifications a user was told, by the entries that brought them.
private struct ToldNotifications {
    private var byOffset: [UInt64: Set<NotificationIdentifier>] = [:]

    mutating func hasTold(
        _ id: NotificationIdentifier, _ entryID: NotificationID,
        to reader: inout NotificationReader
    ) throws(EngineError) -> Bool {
        let offset = JournalOffset(rawValue: entryID.offset)
        guard entryID.kind == SubscriptionEntry.Kind.query.rawValue else {
            return try reader.mayHaveTold(entryID)
        }
        if let known = byOffset[entryID.offset] { return known.contains(id) }
        let key = IndexKey.notification(reader.number, offset)
        var told: Set<NotificationIdentifier> = []
        if let value = try reader.reading.value(key), let row = NotificationRow(key, value) {
            told = Set(try reader.notifications(of: row).map(\.id))
        }
        byOffset[entryID.offset] = told
        return told.contains(id)
    }
}

extension NotificationReader {
    /// Whether a notification of a zone may have been told: of past ones nothing is kept.
    func mayHaveTold(_ id: NotificationID) throws(EngineError) -> Bool {
        let offset = JournalOffset(rawValue: id.offset)
        guard offset < reading.head,
            let subscription = try reading.subscription(numbered: id.number),
            subscription.entry.user == number, subscription.entry.kind.rawValue == id.kind,
            let zone = try reading.zone(id.place)
        else { return false }
        guard offset > start(of: subscription, since: .zero) else { return false }
        if subscription.entry.kind == .zone {
            let name = try reading.zoneEntry(zone).name
            guard name == subscription.entry.zone else { return false }
        }
        switch subscription.entry.scope {
        case .shared:
            if try !reading.participations(of: number, in: id.place).isEmpty { return true }
            return try endedSubscriptions(since: offset).contains { ended in
                ended.subscription.number == id.number
                    && ended.changes.contains { $0.zone == id.place && $0.offset == id.offset }
            }
        case .private, .public: return zone.database == number
        }
    }
}

/// Sets the badge of a user.
struct BadgeChange: Transaction {
    let user: UserID
    /// As the host gave it.
    let userName: String
    let value: UInt32

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        let reader = try NotificationReader(reading, of: user)
        if reader == nil, value == 0 {
            draft.readSet.append(.user(user.bits))
            draft.results = [.unchanged]
            return draft
        }
        var numbers = NumberAssignment(reading, context)
        guard let number = try numbers.user(user, name: userName) else { return nil }
        draft.readSet.append(.badge(number))
        if try reading.badge(of: number) == UInt64(value) {
            draft.results = [.unchanged]
            return draft
        }
        try numbers.write(to: &draft)
        let entry = BadgeEntry(user: number, value: value)
        try draft.buffer.add(.badge, limit: context.payloadLimit) { entry.write(to: &$0) }
        return draft
    }
}

extension StoreError {
    static let noNotification = StoreError(
        .unknownItem, "the user has no such notification")
}
