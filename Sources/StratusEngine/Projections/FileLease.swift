internal import Synchronization

/// Keeps the files of index and journal that a state of the store may read.
///
/// Every state holds the lease of its time, and every lease the one that followed it: the files
/// that were given up under a lease are deleted once no state holds it or an older lease.
package final class FileLease: Sendable {
    private struct State {
        var next: FileLease?
        var given: [String] = []
    }

    private let state = Mutex(State())
    private let released: ReleasedFiles

    package init(_ released: ReleasedFiles) { self.released = released }

    deinit { released.add(state.withLock { $0.given }) }

    /// `files` are given up; returns the lease of states that do not read them.
    package func giveUp(_ files: [String]) -> FileLease {
        let next = FileLease(released)
        state.withLock { $0 = State(next: next, given: files) }
        return next
    }

    /// Makes this the last lease again, where no state holds a later one. Returns the files that were
    /// given up since.
    package func takeBack() -> [String] {
        var files: [String] = []
        var lease: FileLease? = self
        while let last = lease {
            lease = last.state.withLock { state in
                defer { state = State() }
                files += state.given
                return state.next
            }
        }
        return files
    }
}

/// Files of index and journal that no state of this process reads any more, for deletion.
package typealias ReleasedFiles = Handover<String>
