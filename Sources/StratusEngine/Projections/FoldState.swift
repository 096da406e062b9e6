package import StratusIndex
package import StratusJournal

/// The state of all projections: what grows with the journal, and is rolled back as a whole.
package struct FoldState: Sendable {
    package var index: OrderedIndex
    package var lease: FileLease
    package var numbers = StoreNumbers()
    /// The indexes that are declared.
    package internal(set) var indexes = IndexTable.empty {
        didSet { index.dropped = indexes.dropped }
    }
    /// Which of the past is kept.
    package internal(set) var history = KeptHistory()
    /// Which deletions are remembered.
    package internal(set) var deletions = KeptWindow(DeletionPolicyEntry.standard)
    /// Whether an identity was stated since the fold began. Of those before, which a checkpoint
    /// holds, the index tells.
    package internal(set) var hasIdentities = false
    /// The same of subscriptions: whether one was saved or has ended.
    package internal(set) var hasSubscriptions = false
    /// Where the last entry of a share, a participant or a participation horizon lies; zero: there was
    /// none since the fold began.
    package internal(set) var sharingChange = JournalOffset.zero
    /// Where the last commit ends.
    package var end = JournalOffset.zero
    /// Of the last commit, in microseconds since 1970.
    package var lastTime: Int64 = 0
    /// About how many bytes of the journal have entries that were replaced and are still there: says
    /// when it is worth to find out.
    package var deadBytes = 0
    /// What changed since the state was last published; nil where it is read by its own fold only.
    package var changes: UnpublishedChanges?

    /// An entry with so long a payload is needed no longer.
    mutating func noteDead(payload length: Int) {
        deadBytes &+= FrameFormat.frameLength(payload: length)
    }

    /// Changes what of the past is kept. The index keeps to it at once.
    mutating func keep(_ change: (inout KeptHistory) -> Void) {
        change(&history)
        index.points = index.points.keeping(history.points)
    }

    /// Less of the past is kept; how much of the journal that frees is found out by looking.
    mutating func noteForgotten() { deadBytes &+= end.bytes(since: .zero) }
    /// Whether that is counted: more than was ever written.
    var countsForgotten: Bool { deadBytes >= end.bytes(since: .zero) }

    package var schema: Schema { numbers.schema }
    package var zoneCount: UInt32 { numbers.zoneCount }
    package var userCount: UInt32 { numbers.userCount }
}

/// What the readers of a state, and the asset collector, are told of the commits since the last one.
package struct UnpublishedChanges: Sendable {
    /// What was changed, some of it named more than once.
    package private(set) var subjects: [ChangeSubject] = []
    /// The length of the assets that records have ceased to name, in bytes.
    package var freedAssetBytes = 0

    mutating func note(_ subject: ChangeSubject) {
        // Many records of one share follow each other.
        if subjects.last != subject { subjects.append(subject) }
    }
}
