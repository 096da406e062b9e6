package import StratusJournal
import Synchronization

/// What a committer told its participant.
package final class ModelOutcomes: Sendable {
    package struct Outcome: Sendable {
        package var commit: ModelCommit
        /// Nil where the commit was acknowledged.
        package var failure: JournalError?
    }

    private struct State {
        var all: [Outcome] = []
        var published: [FoldedCommit] = []
        var view: JournalView?
        var head = JournalOffset.zero
    }

    private let state = Mutex(State())

    /// In the order in which they were told.
    package var all: [Outcome] { state.withLock { $0.all } }
    /// What readers in the same process may see.
    package var published: [FoldedCommit] { state.withLock { $0.published } }
    package var view: JournalView? { state.withLock { $0.view } }
    package var head: JournalOffset { state.withLock { $0.head } }

    /// What was told of a commit; the outer nil where nothing was.
    package func failure(of number: UInt64) -> JournalError?? {
        all.last { $0.commit.number == number }.map(\.failure)
    }

    /// The numbers of the acknowledged commits that were not refused by the model.
    package var acknowledged: [UInt64] {
        all.filter { $0.failure == nil && $0.commit.leavesEntries }.map(\.commit.number)
    }

    func publish(_ commits: [FoldedCommit], _ view: JournalView, _ head: JournalOffset) {
        state.withLock {
            $0.published = commits
            $0.view = view
            $0.head = head
        }
    }

    func finish(_ commit: ModelCommit, _ failure: JournalError?) {
        state.withLock { $0.all.append(Outcome(commit: commit, failure: failure)) }
    }
}

extension ModelCommit {
    /// Whether anything of it is there once it is acknowledged.
    package var leavesEntries: Bool {
        switch course {
        case .short, .long: true
        case .abandoned, .refused: false
        }
    }
}
