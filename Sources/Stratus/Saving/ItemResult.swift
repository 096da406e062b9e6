internal import StratusEngine
internal import StratusJournal

/// What is to be done with an item that passed its checks.
enum ItemPlan: Sendable {
    case insert(previous: Version)
    indirect case update(EntryLocation, JournalEntry?)
    indirect case delete(EntryLocation, JournalEntry?)
}

/// What becomes of one item of a commit.
enum ItemResult: Sendable {
    /// Nothing has to be written.
    case unchanged
    case planned(ItemPlan)
    /// Its frame begins at this place of the commit's bytes, or of the part being filled.
    case staged(place: Int)
    case saved(Record)
    case failed(StoreError)

    var writesNothing: Bool {
        switch self {
        case .unchanged, .failed: true
        case .planned, .staged, .saved: false
        }
    }

    var hasFailed: Bool { if case .failed = self { true } else { false } }
}

/// What the transactions of the library prepare.
typealias Draft = StratusEngine.Draft<ItemResult>
typealias Committed = StratusEngine.Committed<ItemResult>
