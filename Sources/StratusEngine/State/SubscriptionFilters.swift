internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import Synchronization

/// What query subscriptions wait for, by database, so that most changes of records are told from
/// memory to concern none. One serves all states of an open store.
///
/// It may have more than a state does, and never less: the index decides where a slot is there.
/// What was added is never taken out.
package final class SubscriptionFilters: Sendable {
    private struct Filter {
        /// By type, with their hashes.
        var shapes: [String: [SubscriptionAnchor.Shape: UInt64]] = [:]
        var slots = NumberSet()
        /// The numbers of the subscriptions that were added.
        var numbers = NumberSet()
        /// The last changes of states of which everything was added, in their order. Between two of
        /// them subscriptions may have come and gone that were not.
        var states: [UInt64] = []

        /// Of the last such state at or before a change. What a later state has of that time, this
        /// one has, too: a subscription that ended does not come back.
        func state(before change: UInt64) -> UInt64? { states.last { $0 <= change } }
    }

    /// What the entry of a subscription adds.
    private struct Addition {
        var number: UInt64
        var type: String
        /// Each shape with its hash.
        var shapes: [SubscriptionAnchor.Shape: UInt64]
        var slots: [UInt64]
    }

    private let filters = Mutex<[UInt32: Filter]>([:])
    /// So many entries are read at a time.
    private static let chunk = 256
    private static let stateLimit = 8

    init() {}

    /// The shapes of the anchors that subscriptions of a type have, with their hashes: all of the
    /// state that `reading` sees. From then on ``mayContain(_:in:)`` knows their slots.
    package func shapes(
        ofType name: String, in database: UInt32, _ reading: StoreReading
    ) throws(EngineError) -> [SubscriptionAnchor.Shape: UInt64] {
        guard let change = try reading.value(.subscriptionChanges(database))?.stamp else {
            return [:]
        }
        let known = filters.withLock { filters -> [SubscriptionAnchor.Shape: UInt64]? in
            guard let filter = filters[database], filter.state(before: change) == change else {
                return nil
            }
            return filter.shapes[name] ?? [:]
        }
        if let known { return known }
        try add(database, through: change, reading)
        return filters.withLock { $0[database]?.shapes[name] ?? [:] }
    }

    /// Whether a subscription may wait in a slot; true of a database that was not asked for yet.
    package func mayContain(_ slot: UInt64, in database: UInt32) -> Bool {
        filters.withLock { filters in
            // In place: a copy would count references.
            filters[database]?.slots.contains(slot) ?? true
        }
    }

    /// Adds what the state of a reading has, whose last change that is.
    private func add(
        _ database: UInt32, through change: UInt64, _ reading: StoreReading
    ) throws(EngineError) {
        // Of later ones other entries may come to lie there, so they are read each time.
        let settled = reading.settled.rawValue
        let start = filters.withLock { $0[database]?.state(before: change) }
        var next = start.map { $0 + 1 } ?? 0
        while true {
            var places: [EntryLocation] = []
            try reading.scan(IndexKey.subscriptionNumbers(database, from: next)) { _, value in
                places.append(EntryLocation(value))
                return places.count < Self.chunk
            }
            guard let last = places.last else { break }
            next = last.offset.rawValue + 1
            let additions = try additions(unknown(places, in: database), reading)
            filters.withLock { filters in
                for addition in additions {
                    Self.add(
                        addition, isSettled: addition.number < settled,
                        to: &filters[database, default: Filter()])
                }
            }
        }
        guard change < settled else { return }
        filters.withLock { Self.note(change, in: &$0[database, default: Filter()]) }
    }

    /// Those of the subscriptions that were not added yet.
    private func unknown(_ places: [EntryLocation], in database: UInt32) -> [EntryLocation] {
        filters.withLock { filters in
            guard let filter = filters[database] else { return places }
            return places.filter { !filter.numbers.contains($0.offset.rawValue) }
        }
    }

    private func additions(
        _ places: [EntryLocation], _ reading: StoreReading
    ) throws(EngineError) -> [Addition] {
        if places.isEmpty { return [] }
        var found: [Addition] = []
        for entry in try reading.entries(places) {
            let subscription: SubscriptionEntry
            do throws(FormatError) {
                subscription = try entry.withPayload { payload throws(FormatError) in
                    try SubscriptionEntry(payload)
                }
            } catch {
                throw .damaged(entry)
            }
            var shapes: [SubscriptionAnchor.Shape: UInt64] = [:]
            for anchor in subscription.anchors where shapes[anchor.shape] == nil {
                shapes[anchor.shape] = anchor.shape.hash(
                    type: subscription.recordType, seed: reading.identity.secret)
            }
            found.append(
                Addition(
                    number: entry.offset.rawValue, type: subscription.recordType,
                    shapes: shapes, slots: subscription.anchors.map { $0.slot }))
        }
        return found
    }

    private static func add(
        _ addition: Addition, isSettled: Bool, to filter: inout Filter
    ) {
        filter.shapes[addition.type, default: [:]].merge(addition.shapes) { $1 }
        for slot in addition.slots { filter.slots.insert(slot) }
        if isSettled { filter.numbers.insert(addition.number) }
    }

    private static func note(_ change: UInt64, in filter: inout Filter) {
        if filter.states.contains(change) { return }
        let place = filter.states.firstIndex { $0 > change } ?? filter.states.count
        filter.states.insert(change, at: place)
        if filter.states.count > stateLimit { filter.states.removeFirst() }
    }
}
