internal import StratusFiles
internal import StratusIndex
package import StratusJournal
internal import Synchronization

/// The committer's view of the store: checks commits against everything staged before them.
package struct StoreParticipant: CommitParticipant {
    package var fold: StoreFold
    package let published: PublishedState
    private let due: MaintenanceDue
    /// What the commits of the group being filled add, in bytes for each database that has a quota.
    private var staged: [UInt32: Int] = [:]

    package init(fold: StoreFold, published: PublishedState, due: MaintenanceDue) {
        self.fold = fold
        self.published = published
        self.due = due
    }

    package static func stage(
        _ commit: PendingCommit, in stage: inout CommitStage<StoreParticipant>
    ) throws(JournalError) {
        if commit.transaction.beginsGroup { try stage.flush() }
        guard commit.take() else { return }
        let time = stage.writer.clock.now()
        let wasOvertaken = commit.draft?.isOvertaken(in: stage.fold.fold.state) ?? false
        if let draft = commit.draft, draft.holds(in: stage.fold.fold.state),
            draft.charge?.fits(in: stage.fold.fold.state, staged: stage.fold.staged) ?? true
        {
            let start = try stage.append(draft.buffer, isLast: true, time: time)
            stage.fold.count(draft.charge)
            commit.staged(nil, at: start, wasOvertaken: wasOvertaken)
            return
        }
        // Another commit was faster, or numbers are needed. None can be faster now.
        try stageAlone(commit, wasOvertaken: wasOvertaken, in: &stage, time: time)
    }

    /// Prepares a transaction where it cannot be overtaken, and appends it.
    private static func stageAlone(
        _ commit: PendingCommit, wasOvertaken: Bool, in stage: inout CommitStage<StoreParticipant>,
        time: Int64
    ) throws(JournalError) {
        var failure: JournalError?
        let reading = stage.reading
        let context = PreparationContext(
            position: (stage.writer.head, stage.writer.chain), now: time,
            payloadLimit: stage.writer.payloadLimit,
            partLimit: stage.partLimit, staged: stage.fold.staged)
        let preparation = commit.transaction.prepare(reading, context) {
            step throws(EngineError) in
            do throws(JournalError) {
                var start = stage.head
                switch step {
                case .append(let part):
                    start = try stage.append(part, isLast: false, time: time)
                case .takeBack: try stage.abandon()
                }
                return StagedPart(start: start, reading: stage.reading)
            } catch {
                failure = error
                throw EngineError(error)
            }
        }
        if let failure { throw failure }
        switch preparation {
        case .wouldBlock, .needsSerial:
            preconditionFailure("the committer waits for the disk, and is alone")
        case .refused(let error):
            try stage.abandon()
            commit.refused(error)
        case .draft(let draft) where draft.buffer.isEmpty:
            try stage.abandon()
            commit.staged(draft, at: nil, wasOvertaken: wasOvertaken)
        case .draft(let draft):
            let start = try stage.append(draft.buffer, isLast: true, time: time)
            stage.fold.count(draft.charge)
            commit.staged(draft, at: start, wasOvertaken: wasOvertaken)
        }
    }

    package func preamble(limit: Int) -> [UInt8] { fold.preamble(limit: limit) }

    package mutating func apply(
        _ header: FrameHeader, at offset: JournalOffset, payload: Span<UInt8>
    ) throws(JournalDamage.Kind) {
        try fold.apply(header, at: offset, payload: payload)
    }

    package mutating func complete(end: JournalOffset, time: Int64) {
        fold.complete(end: end, time: time)
    }
    package mutating func endGroup() throws(JournalError) {
        try fold.endGroup()
        staged.removeAll()
    }
    package var files: [String] { fold.files }
    package mutating func replace(_ failed: StoreParticipant) { fold.replace(failed.fold) }
    package mutating func setSavepoint() { fold.setSavepoint() }
    package mutating func rollBack() {
        fold.rollBack()
        staged.removeAll()
    }

    /// Counts what a commit adds that was appended to the group.
    private mutating func count(_ charge: QuotaCharge?) {
        guard let charge else { return }
        staged[charge.database, default: 0] &+= charge.growth
    }

    package mutating func publish(
        _ view: JournalView, of identity: StoreIdentity, head: JournalOffset
    ) {
        published.publish(fold.state, view, of: identity, head: head)
        due.note(memtableBytes: fold.state.index.activeBytes, end: head)
    }

    package mutating func takeChanges() -> UnpublishedChanges { fold.takeChanges() }
}

extension CommitStage<StoreParticipant> {
    /// The store as it is with everything staged.
    fileprivate var reading: StoreReading {
        var view = writer.view
        view.keepsEntries = false
        let published = fold.published.current
        let state = StoreState(
            fold: fold.fold.state, view: view, head: head, identity: writer.identity,
            assets: published.assets, cache: published.cache, staged: group)
        return StoreReading(state, .blocking)
    }
}
