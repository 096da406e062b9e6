internal import StratusIndex
internal import StratusJournal

/// What a commit relied on: that the entry of a key was made at that offset, or that there was
/// none.
struct Expectation: Sendable {
    var key: IndexKey
    var stamp: UInt64?

    func holds(in map: OrderedMap) -> Bool { map[key]?.stamp == stamp }
}

/// What became of one item of a commit.
enum ItemResult: Sendable {
    /// Nothing had to be written.
    case unchanged
    /// Its frame begins at this place of the commit's bytes, or of the piece being filled.
    case staged(place: Int)
    case saved(Record)
    case failed(StoreError)

    var writesNothing: Bool {
        switch self {
        case .unchanged, .failed: true
        case .staged, .saved: false
        }
    }
}

/// A commit that was checked and encoded against one state of the store.
struct Preparation: Sendable {
    var buffer = CommitBuffer()
    /// Its read set: where all of it still holds, the commit may be written as it is.
    var expectations: [Expectation] = []
    /// An item each, in the order of the request.
    var results: [ItemResult] = []
    /// With the names that the commit itself brings.
    var schema: Schema
    /// Who the entries are by, and in which zone.
    var user: UInt32 = 0
    var zone: ZonePlace?
    /// Numbers must be assigned, or pieces written, which only the committer can.
    var needsCommitter = false

    init(_ reading: StoreReading) { schema = reading.state.schema }

    mutating func expect(_ key: IndexKey, _ value: IndexValue?) {
        expectations.append(Expectation(key: key, stamp: value?.stamp))
    }

    func holds(in map: OrderedMap) -> Bool { expectations.allSatisfy { $0.holds(in: map) } }
}

/// Who prepares a commit, and within which limits.
struct PreparingRole: Sendable {
    /// Where the journal stands before the group being filled, and its chain there. Known to the
    /// committer alone.
    var position: (offset: JournalOffset, chain: UInt64)?
    /// Microseconds since 1970.
    var now: Int64
    /// Of an entry's payload.
    var payloadLimit: Int
    /// Of what is appended in one piece.
    var pieceLimit: Int

    /// Assigns nothing and writes nothing.
    static let nobody = PreparingRole(position: nil, now: 0, payloadLimit: 0, pieceLimit: 0)

    /// Only the committer assigns numbers and writes pieces.
    var isCommitter: Bool { position != nil }
}

/// Takes a piece of a long commit and tells where it begins.
typealias PieceSink = (CommitBuffer) throws(JournalError) -> JournalOffset

/// Something that becomes one commit: checked once, against a state, knowing nothing of others
/// that write at the same time.
protocol CommitRequest: Sendable {
    /// Checks everything, then encodes. The caller's own task does it against the published
    /// state; where that has changed meanwhile, or only the committer can, the committer does it
    /// again, and nothing can come in between. A commit that is longer than a piece goes through
    /// `sink`, but for its last piece.
    func prepare(
        _ reading: StoreReading, _ role: PreparingRole, sink: PieceSink
    ) throws(StoreError) -> Preparation
}
