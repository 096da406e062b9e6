internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import Synchronization

/// What query subscriptions wait for, by database, so that most changes of records are told from
/// memory to concern none. One serves all states of an open store.
package final class SubscriptionFilters: Sendable {
    private let filters = Mutex<[UInt32: SubscriptionFilter]>([:])

    init() {}

    /// That of a database.
    package func filter(of database: UInt32) -> SubscriptionFilter {
        filters.withLock { filters in
            if let known = filters[database] { return known }
            let new = SubscriptionFilter(database)
            filters[database] = new
            return new
        }
    }
}

/// What query subscriptions of a database wait for.
///
/// It may have more than a state does, and never less: the index decides where a slot is there.
/// What was added is never taken out.
package final class SubscriptionFilter: Sendable {
    private struct Contents {
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

    private let database: UInt32
    private let contents = Mutex(Contents())
    /// So many entries are read at a time.
    private static let chunk = 256
    private static let stateLimit = 8

    fileprivate init(_ database: UInt32) { self.database = database }

    /// The shapes of the anchors that subscriptions of a type have, with their hashes: all of the
    /// state that `reading` sees. From then on ``mayContain(_:)`` knows their slots.
    package func shapes(
        ofType name: String, _ reading: StoreReading
    ) throws(EngineError) -> [SubscriptionAnchor.Shape: UInt64] {
        guard let change = try reading.value(.subscriptionChanges(database))?.stamp else {
            return [:]
        }
        let known = contents.withLock { contents -> [SubscriptionAnchor.Shape: UInt64]? in
            guard contents.state(before: change) == change else { return nil }
            return contents.shapes[name] ?? [:]
        }
        if let known { return known }
        try add(through: change, reading)
        return contents.withLock { $0.shapes[name] ?? [:] }
    }

    /// Whether a subscription may wait in a slot, of the shapes that were asked for.
    package func mayContain(_ slot: UInt64) -> Bool {
        contents.withLock { $0.slots.contains(slot) }
    }

    /// Adds what the state of a reading has, whose last change that is.
    private func add(through change: UInt64, _ reading: StoreReading) throws(EngineError) {
        // Of later ones other entries may come to lie there, so they are read each time.
        let settled = reading.settled.rawValue
        let start = contents.withLock { $0.state(before: change) }
        var next = start.map { $0 + 1 } ?? 0
        while true {
            var places: [EntryLocation] = []
            try reading.scan(IndexKey.subscriptionNumbers(database, from: next)) { _, value in
                places.append(EntryLocation(value))
                return places.count < Self.chunk
            }
            guard let last = places.last else { break }
            next = last.offset.rawValue + 1
            let additions = try additions(unknown(places), reading)
            contents.withLock { contents in
                for addition in additions {
                    Self.add(addition, isSettled: addition.number < settled, to: &contents)
                }
            }
        }
        guard change < settled else { return }
        contents.withLock { Self.note(change, in: &$0) }
    }

    /// Those of the subscriptions that were not added yet.
    private func unknown(_ places: [EntryLocation]) -> [EntryLocation] {
        contents.withLock { contents in
            places.filter { !contents.numbers.contains($0.offset.rawValue) }
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
        _ addition: Addition, isSettled: Bool, to contents: inout Contents
    ) {
        contents.shapes[addition.type, default: [:]].merge(addition.shapes) { $1 }
        for slot in addition.slots { contents.slots.insert(slot) }
        if isSettled { contents.numbers.insert(addition.number) }
    }

    private static func note(_ change: UInt64, in contents: inout Contents) {
        if contents.states.contains(change) { return }
        let place = contents.states.firstIndex { $0 > change } ?? contents.states.count
        contents.states.insert(change, at: place)
        if contents.states.count > stateLimit { contents.states.removeFirst() }
    }
}
