internal import StratusFiles
internal import Synchronization

/// When a commit is acknowledged.
package enum Durability: Equatable, Sendable {
    /// After a sync.
    case full
    /// At once; a sync follows within so many milliseconds. A power loss may take a suffix of the
    /// commits, never one from the middle; the death of the process takes nothing.
    case interval(milliseconds: Int)
    /// At once; a sync follows when a segment is full and when the store is closed.
    case none
}

/// What the committer asks of the layer above: to check and encode commits, and to show the store
/// to readers.
package protocol CommitParticipant: JournalFold {
    associatedtype Commit: Sendable
    /// What changed in the store, for those who wait for changes.
    associatedtype Changes: Sendable

    /// Checks `commit` against all that was staged before and appends its entries, or refuses it
    /// and appends none. A refusal is the participant's own matter; what is thrown is the
    /// journal's. Where the group before `commit` could not be written it is staged again.
    static func stage(
        _ commit: Commit, in stage: inout CommitStage<Self>
    ) throws(JournalError)

    /// Everything staged is now part of the store: readers may see it.
    mutating func publish(_ view: JournalView, of identity: StoreIdentity, head: JournalOffset)

    /// What changed since the last call; all of it was published.
    mutating func takeChanges() -> Changes
}

/// What came of a list of commits. The caller of the committer makes it known, when no lock is held
/// any more.
package struct CommitOutcome<Changes: Sendable>: Sendable {
    /// By the place of the commit in the list; those that are not in it went as their staging said.
    package var failures: [Int: JournalError] = [:]
    /// Nil where nothing was published.
    package var changes: Changes?
}

/// The one writer of a store: puts commits into groups, writes and syncs each group once, and then
/// publishes all of them.
///
/// Steps are taken by a thread in production, and by the caller in tests. One thread at a time
/// takes them; the lock is for those who take none, and is held while files are written.
package final class Committer<Participant: CommitParticipant>: Sendable {
    struct State {
        var stage: CommitStage<Participant>
        var isClosed = false
        /// Readers do not know yet that the last group is durable.
        var needsIdleGroup = false
        /// When the oldest group that is not durable was written, in monotonic nanoseconds.
        var unsyncedSince: UInt64?
    }

    package let durability: Durability
    let state: Mutex<State>

    /// So long after the last group an empty one follows it.
    package static var idleNanoseconds: UInt64 { 2_000_000 }

    package init(
        _ writer: JournalWriter, participant: sending Participant, durability: Durability
    ) {
        self.durability = durability
        var stage = CommitStage(writer, fold: participant)
        stage.publish()
        state = Mutex(State(stage: stage))
    }

    /// Takes `commits` into the journal, in order.
    package func commit(_ commits: [Participant.Commit]) -> CommitOutcome<Participant.Changes> {
        state.withLock { state in
            if state.isClosed {
                let failures = commits.indices.map { ($0, JournalError.closed) }
                return CommitOutcome(failures: Dictionary(uniqueKeysWithValues: failures))
            }
            return state.take(commits, durability)
        }
    }

    /// What is due though nothing was asked for: the sync of an interval, the idle group. Returns
    /// after how many nanoseconds to come back, or nil where nothing will be due.
    package func idle(now: UInt64) -> UInt64? {
        state.withLock { state in
            if state.isClosed { return nil }
            if case .interval(let milliseconds) = durability, let since = state.unsyncedSince {
                let due = since + UInt64(milliseconds) * 1_000_000
                if now < due { return due - now }
                // A failure poisons the writer, which tells the next commit.
                try? state.stage.writer.sync()
                state.unsyncedSince = nil
                state.needsIdleGroup = true
                return Self.idleNanoseconds
            }
            if state.needsIdleGroup {
                state.needsIdleGroup = false
                try? state.stage.writer.writeIdleGroup()
            }
            return nil
        }
    }

    /// Syncs and closes the journal; every later commit is refused.
    package func close() throws(JournalError) {
        try state.withLock { state throws(JournalError) in
            if state.isClosed { return }
            state.isClosed = true
            try state.stage.writer.close()
        }
    }

    /// Gives `body` the writer's own state, between commits.
    package func withStage<Result: Sendable>(
        _ body: @Sendable (borrowing CommitStage<Participant>) -> Result
    ) -> Result {
        state.withLock { body($0.stage) }
    }
}

extension Committer.State {
    mutating func take(
        _ commits: [Participant.Commit], _ durability: Durability
    ) -> CommitOutcome<Participant.Changes> {
        let before = stage.writer.head
        var failures: [Int: JournalError] = [:]
        // The first commit that was staged in the group being filled.
        var groupStart = 0
        for number in commits.indices {
            let commit = commits[number]
            let written = stage.writer.head
            let hadGroup = stage.group != nil
            do {
                try Participant.stage(commit, in: &stage)
            } catch {
                failures[number] = error
                // A group that could not be written took with it what had been staged in it. This
                // commit was not, and is staged again behind what is left.
                if hadGroup, stage.group == nil, stage.writer.head == written {
                    for index in groupStart..<number { failures[index] = error }
                    groupStart = number
                    failures[number] = restage(commit)
                }
            }
            if stage.writer.head != written || stage.group == nil {
                groupStart = stage.group == nil ? number + 1 : number
            }
        }
        do {
            try stage.flush()
        } catch {
            for index in groupStart..<commits.count where failures[index] == nil {
                failures[index] = error
            }
        }
        if let error = sync(durability, hasWritten: stage.writer.head != before) {
            for index in commits.indices where failures[index] == nil { failures[index] = error }
            return CommitOutcome(failures: failures)
        }
        stage.publish()
        return CommitOutcome(failures: failures, changes: stage.fold.takeChanges())
    }

    private mutating func restage(_ commit: Participant.Commit) -> JournalError? {
        do {
            try Participant.stage(commit, in: &stage)
            return nil
        } catch {
            return error
        }
    }

    /// Does after a batch what `durability` asks for.
    private mutating func sync(_ durability: Durability, hasWritten: Bool) -> JournalError? {
        // At no level is anything acknowledged once a sync has failed.
        if let poison = stage.writer.poison { return .poisoned(poison) }
        guard hasWritten else { return nil }
        do {
            switch durability {
            case .full:
                try stage.writer.sync()
            case .interval(let milliseconds):
                let now = Clock.monotonicNanoseconds
                let since = unsyncedSince ?? now
                unsyncedSince = since
                // Checked here too: while commits come without a pause, `idle` is not called.
                guard now - since >= UInt64(milliseconds) * 1_000_000 else { break }
                unsyncedSince = nil
                try stage.writer.sync()
            case .none:
                break
            }
            try stage.writer.checkFence()
        } catch {
            return error
        }
        if durability != .none { needsIdleGroup = true }
        return nil
    }
}
