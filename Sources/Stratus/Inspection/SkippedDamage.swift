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
    /// Gives `body` the number in `places` and the entry of each, in the order in which they lie, but
    /// for those that are skipped.
    func forEachReadable(
        _ places: [EntryLocation], _ skipped: inout SkippedDamage,
        _ body: (Int, JournalEntry) throws(EngineError) -> Void
    ) throws(EngineError) {
        try forEachReadable(places) { number, entry throws(EngineError) in
            do throws(EngineError) {
                try body(number, try entry.get())
            } catch {
                try skipped.take(error, at: places[number].offset)
            }
        }
    }

    /// The records at `places`, whatever their names, in that order, without those that are skipped.
    func records(
        _ places: [EntryLocation], in zoneID: RecordZone.ID, _ skipped: inout SkippedDamage
    ) throws(EngineError) -> [Record] {
        var users = UserNames(self)
        var records: [(number: Int, record: Record)] = []
        records.reserveCapacity(places.count)
        try forEachReadable(places, &skipped) { number, entry throws(EngineError) in
            records.append((number, try record(entry, in: zoneID, &users)))
        }
        let isInOrder = zip(records, records.dropFirst()).allSatisfy { $0.number < $1.number }
        if !isInOrder { records.sort { $0.number < $1.number } }
        return records.map(\.record)
    }
}
