package import StratusBytes
package import StratusIndex
package import StratusJournal

/// What is to be done with an item that passed its checks.
package enum ItemPlan: Sendable {
    case insert(previous: Version)
    indirect case update(EntryLocation, JournalEntry?)
    indirect case delete(EntryLocation, JournalEntry?)
    /// To state that the record was deleted before its zone was restored.
    case restoreDeletion
}

/// What becomes of one item of a commit. The engine hands it back unread.
package enum ItemResult: Sendable {
    /// Nothing has to be written.
    case unchanged
    case planned(ItemPlan)
    /// Its frame begins at this place of the commit's bytes, or of the part being filled.
    case staged(place: Int)
    /// What is in the store now.
    case done(any Sendable)
    case refused(any Error)

    package var writesNothing: Bool {
        switch self {
        case .unchanged, .refused: true
        case .planned, .staged, .done: false
        }
    }

    package var hasFailed: Bool { if case .refused = self { true } else { false } }
}

/// A commit that was checked and encoded against one state of the store.
package struct Draft: Sendable {
    package var buffer = CommitBuffer()
    /// Its read set: while nothing of it is written, the commit may be written as it is.
    package var readSet: [IndexKey] = []
    /// The same of ranges of keys.
    package var readRanges: [Range<IndexKey>] = []
    /// Where the journal ended in the state that was checked against.
    package let basis: JournalOffset
    /// An item each, in the order of the request.
    package var results: [ItemResult] = []
    /// With the names that the commit itself brings.
    package var schema: Schema
    /// With those that the commit itself declares.
    package var indexes: IndexTable
    /// Whether any of these are to be built once it is done.
    package var buildsIndexes = false
    /// The user who makes the entries, and their zone.
    package var user: UInt32 = 0
    package var zone: ZonePlace?
    /// What it adds to a database that has a quota.
    package var charge: QuotaCharge?

    package init(_ reading: StoreReading) {
        schema = reading.schema
        indexes = reading.indexes
        basis = reading.head
    }

    /// Sends what there is as a part where it nearly is one, and something follows. False where that
    /// needs a serial context.
    package mutating func flushIfFull(
        _ context: PreparationContext, _ sink: PartSink
    ) throws(EngineError) -> Bool {
        guard buffer.lengthInBytes > context.partLimit * 3 / 4 else { return true }
        guard context.isSerial else { return false }
        _ = try sink(.append(buffer))
        buffer = CommitBuffer(capacity: context.partLimit)
        return true
    }

    /// Whether others committed since it was prepared.
    package func isOvertaken(in state: FoldState) -> Bool { state.end > basis }

    /// Whether nothing it relied on was written since, as memory tells.
    package func holds(in state: FoldState) -> Bool {
        !isOvertaken(in: state)
            || readSet.allSatisfy { !state.index.mayHaveChanged($0, since: basis.rawValue) }
                && readRanges.allSatisfy {
                    !state.index.mayHaveChanged($0, since: basis.rawValue)
                }
    }
}

extension CommitBuffer {
    /// Adds an entry; `payload` writes it. Fails with `limitExceeded` where it is too long.
    package mutating func add(
        _ kind: EntryKind, zone: UInt32 = 0, limit: Int = FrameFormat.payloadLimit,
        payload: (inout ByteWriter) -> Void
    ) throws(EngineError) {
        do {
            try append(kind, zone: zone, limit: limit, payload: payload)
        } catch {
            throw EngineError(JournalError.entryTooLong)
        }
    }

    /// The same of what lies in a zone.
    package mutating func add(
        _ kind: EntryKind, in zone: ZonePlace, limit: Int = FrameFormat.payloadLimit,
        payload: (inout ByteWriter) -> Void
    ) throws(EngineError) {
        try add(kind, zone: zone.number, limit: limit, payload: payload)
    }
}

/// A commit that is part of the store: what was prepared and where it lies.
package struct Committed: Sendable {
    package var draft: Draft
    /// Where the commit, or the last part of a long one, begins; nil: nothing was written.
    package var start: JournalOffset?
    /// Whether others committed between the caller's preparation and this.
    package var wasOvertaken: Bool
}

/// How a commit is prepared: serially or concurrently, and within which limits.
package struct PreparationContext: Sendable {
    /// Where the journal stands before the group being filled, and its chain there. Known to the
    /// committer alone.
    package var position: (offset: JournalOffset, chain: UInt64)?
    /// Microseconds since 1970.
    package var now: Int64
    /// Of an entry's payload.
    package var payloadLimit: Int
    /// Of what is appended in one part.
    package var partLimit: Int
    /// What was staged in the group being filled, in bytes for each database that has a quota.
    package var staged: [UInt32: Int] = [:]

    /// Assigns nothing and writes nothing.
    package static let readOnly = PreparationContext(
        position: nil, now: 0, payloadLimit: 0, partLimit: 0)

    /// Only the committer assigns numbers and writes parts.
    package var isSerial: Bool { position != nil }
}

/// What the committer does for a transaction that is longer than a part.
package enum PartStep {
    /// Takes in a part of the commit.
    case append(CommitBuffer)
    /// Takes back all parts.
    case takeBack
}

/// What a step leaves behind.
package struct StagedPart {
    /// Where the part begins.
    package var start: JournalOffset
    /// The store with everything staged.
    package var reading: StoreReading

    package init(start: JournalOffset, reading: StoreReading) {
        self.start = start
        self.reading = reading
    }
}

package typealias PartSink = (PartStep) throws(EngineError) -> StagedPart

/// What came of preparing a transaction.
package enum Preparation: Sendable {
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
package protocol Transaction: Sendable {
    /// Whether the commit is the first of its group, so that what was before it lies before the
    /// group.
    var beginsGroup: Bool { get }

    /// Checks everything, then encodes. A commit that is longer than a part goes through `sink`,
    /// but for its last part. Returns nil where that needs a serial context: numbers must be
    /// assigned or parts written.
    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft?
}

extension Transaction {
    package var beginsGroup: Bool { false }

    /// The caller's own task does it against the published state, without a sink, since it writes
    /// no parts; where that state has changed meanwhile, or only the committer can, the committer
    /// does it again, and nothing can come in between.
    package func prepare(
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
