internal import StratusBytes
internal import StratusIndex
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

/// A commit that was checked and encoded against one state of the store.
struct Draft: Sendable {
    var buffer = CommitBuffer()
    /// Its read set: while nothing of it is written, the commit may be written as it is.
    var readSet: [IndexKey] = []
    /// The same of ranges of keys.
    var readRanges: [Range<IndexKey>] = []
    /// Where the journal ended in the state that was checked against.
    let basis: JournalOffset
    /// An item each, in the order of the request.
    var results: [ItemResult] = []
    /// With the names that the commit itself brings.
    var schema: Schema
    /// The user who makes the entries, and their zone.
    var user: UInt32 = 0
    var zone: ZonePlace?
    /// What it adds to a database that has a quota.
    var charge: QuotaCharge?

    init(_ reading: StoreReading) {
        schema = reading.schema
        basis = reading.head
    }

    /// Whether nothing it relied on was written since, as memory tells.
    func holds(in state: FoldState) -> Bool {
        state.end <= basis
            || readSet.allSatisfy { !state.index.mayHaveChanged($0, since: basis.rawValue) }
                && readRanges.allSatisfy {
                    !state.index.mayHaveChanged($0, since: basis.rawValue)
                }
    }
}

extension CommitBuffer {
    /// Adds an entry; `payload` writes it. Fails with `limitExceeded` where it is too long.
    mutating func add(
        _ kind: EntryKind, zone: UInt32 = 0, incarnation: UInt16 = 0,
        limit: Int = FrameFormat.payloadLimit, payload: (inout ByteWriter) -> Void
    ) throws(EngineError) {
        do {
            try append(kind, zone: zone, incarnation: incarnation, limit: limit, payload: payload)
        } catch {
            throw EngineError(JournalError.entryTooLong)
        }
    }

    /// The same of what lies in a zone.
    mutating func add(
        _ kind: EntryKind, in zone: ZonePlace, limit: Int = FrameFormat.payloadLimit,
        payload: (inout ByteWriter) -> Void
    ) throws(EngineError) {
        try add(
            kind, zone: zone.number, incarnation: zone.incarnation, limit: limit,
            payload: payload)
    }
}

/// A commit that is part of the store: what was prepared and where it lies.
struct Committed: Sendable {
    var draft: Draft
    /// Where the commit, or the last part of a long one, begins; nil: nothing was written.
    var start: JournalOffset?
}

/// How a commit is prepared: serially or concurrently, and within which limits.
struct PreparationContext: Sendable {
    /// Where the journal stands before the group being filled, and its chain there. Known to the
    /// committer alone.
    var position: (offset: JournalOffset, chain: UInt64)?
    /// Microseconds since 1970.
    var now: Int64
    /// Of an entry's payload.
    var payloadLimit: Int
    /// Of what is appended in one part.
    var partLimit: Int
    /// What was staged in the group being filled, in bytes for each database that has a quota.
    var staged: [UInt32: Int] = [:]

    /// Assigns nothing and writes nothing.
    static let readOnly = PreparationContext(position: nil, now: 0, payloadLimit: 0, partLimit: 0)

    /// Only the committer assigns numbers and writes parts.
    var isSerial: Bool { position != nil }
}

/// What the committer does for a transaction that is longer than a part.
enum PartStep {
    /// Takes in a part of the commit.
    case append(CommitBuffer)
    /// Takes back all parts.
    case takeBack
}

/// What a step leaves behind.
struct StagedPart {
    /// Where the part begins.
    var start: JournalOffset
    /// The store with everything staged.
    var reading: StoreReading
}

typealias PartSink = (PartStep) throws(EngineError) -> StagedPart

/// What came of preparing a transaction.
enum Preparation: Sendable {
    /// May be committed while its read set holds.
    case draft(Draft)
    /// Not everything is in memory, and the view may not wait.
    case wouldBlock
    /// Numbers must be assigned, or parts written: no other commit may come between.
    case needsSerial
    case refused(EngineError)
}

/// Something that becomes one commit: checked once, against a state, knowing nothing of others
/// that write at the same time.
protocol Transaction: Sendable {
    /// Checks everything, then encodes. A commit that is longer than a part goes through `sink`,
    /// but for its last part. Returns nil where that needs a serial context: numbers must be
    /// assigned or parts written.
    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft?
}

extension Transaction {
    /// The caller's own task does it against the published state, without a sink, since it writes
    /// no parts; where that state has changed meanwhile, or only the committer can, the committer
    /// does it again, and nothing can come in between.
    func prepare(
        _ reading: StoreReading, _ context: PreparationContext,
        sink: PartSink = { _ throws(EngineError) in
            preconditionFailure("only the committer writes parts")
        }
    ) -> Preparation {
        do throws(EngineError) {
            guard let draft = try draft(reading, context, sink: sink) else { return .needsSerial }
            return .draft(draft)
        } catch {
            return error.wouldBlock ? .wouldBlock : .refused(error)
        }
    }
}
