internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// What becomes of a record, as it is encoded.
struct RecordChange {
    let reason: MatchesEntry.Reason
    /// The number of its type.
    let type: UInt32
    let name: String
    let creator: UInt32
    /// The version before, of an update.
    let previous: PreviousVersion?

    var isUpdate: Bool {
        switch reason {
        case .updated: true
        case .created, .deleted: false
        }
    }

    init(
        _ reason: MatchesEntry.Reason, type: UInt32, name: String, creator: UInt32,
        over previous: PreviousVersion? = nil
    ) {
        self.reason = reason
        self.type = type
        self.name = name
        self.creator = creator
        self.previous = previous
    }
}

/// A version that an update replaces: an object, since most changes have none.
final class PreviousVersion {
    let entry: JournalEntry
    let fields: StoredFields

    init(_ entry: JournalEntry, _ fields: StoredFields) {
        self.entry = entry
        self.fields = fields
    }
}

/// The types of whose subscriptions a draft relies on that none begins or ends.
struct ReliedTypes {
    private var last: UInt32?
    private var others: Set<UInt32> = []

    mutating func add(
        _ type: UInt32, in database: UInt32, _ reading: StoreReading, to draft: inout Draft
    ) {
        if type == last { return }
        if let last { others.insert(last) }
        last = type
        guard !others.contains(type), let name = draft.schema.name(type) else { return }
        draft.readSet.append(reading.subscriptionChanges(ofType: name, in: database))
    }
}
