internal import StratusJournal
internal import StratusEngine

/// What a reading of many entries does about those that are damaged: it ends there or, where its
/// caller asked for that, leaves them out and says which.
struct SkippedDamage: Sendable {
    let isAllowed: Bool
    /// The errors, in the order in which they were met.
    private(set) var errors: [StoreError] = []

    init(isAllowed: Bool) { self.isAllowed = isAllowed }

    /// All of them as one, which names each place.
    var error: StoreError? {
        errors.first.map { first in errors.dropFirst().reduce(first) { $0.adding($1.places) } }
    }

    /// Takes the error of the entry at `offset`; throws it where it is another, or none may be left
    /// out.
    mutating func take(
        _ failure: EngineError, at offset: JournalOffset
    ) throws(EngineError) {
        guard isAllowed, failure.isDamage else { throw failure }
        var error = StoreError(failure)
        if error.place?.offset == nil { error.place?.offset = offset.rawValue }
        errors.append(error)
    }
}

extension StoreReading {
    /// What `body` makes of the entries at `places`, without those that are skipped.
    func readable<Value>(
        _ places: [EntryLocation], _ skipped: inout SkippedDamage,
        _ body: (EntryLocation, JournalEntry) throws(EngineError) -> Value
    ) throws(EngineError) -> [Value] {
        var entries: [JournalEntry]?
        do throws(EngineError) {
            entries = try self.entries(places)
        } catch {
            // Read one by one, they say which of them is damaged.
            guard skipped.isAllowed, error.isDamage else { throw error }
        }
        var values: [Value] = []
        values.reserveCapacity(places.count)
        for (index, place) in places.enumerated() {
            do throws(EngineError) {
                let entry = if let entries { entries[index] } else { try self.entry(place) }
                values.append(try body(place, entry))
            } catch {
                try skipped.take(error, at: place.offset)
            }
        }
        return values
    }

    /// The records at `places`, whatever their names, without those that are skipped.
    func records(
        _ places: [EntryLocation], in zoneID: RecordZone.ID, _ skipped: inout SkippedDamage
    ) throws(EngineError) -> [Record] {
        var users = UserNames(self)
        return try readable(places, &skipped) { _, entry throws(EngineError) in
            try record(entry, in: zoneID, &users)
        }
    }
}
