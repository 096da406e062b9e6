package import StratusJournal
internal import Synchronization

/// Whether the maintainer has anything to do, at the cost of a load: callers ask before they commit
/// on their own threads.
///
/// The committer compares what it publishes with the limits that the maintainer has set.
package final class MaintenanceDue: Sendable {
    /// How far the index and the journal may grow until a step is due.
    package struct Limits: Sendable {
        package var memtableBytes = Int.max
        package var end = UInt64.max

        package func areReached(memtableBytes: Int, end: JournalOffset) -> Bool {
            memtableBytes >= self.memtableBytes || end.rawValue >= self.end
        }
    }

    private let memtableBytes = Atomic(Int.max)
    private let end = Atomic(UInt64.max)
    private let flag = Atomic(false)

    package var isSet: Bool { flag.load(ordering: .acquiring) }

    package func set() { flag.store(true, ordering: .releasing) }

    /// A step begins, and looks at all there is to do: what comes from now on sets it again.
    package func clear() { flag.store(false, ordering: .sequentiallyConsistent) }

    package func set(_ limits: Limits) {
        memtableBytes.store(limits.memtableBytes, ordering: .relaxed)
        end.store(limits.end, ordering: .relaxed)
    }

    /// The store was published with so large a memtable, and the journal up to `end`.
    package func note(memtableBytes: Int, end: JournalOffset) {
        let limits = Limits(
            memtableBytes: self.memtableBytes.load(ordering: .relaxed),
            end: self.end.load(ordering: .relaxed))
        if limits.areReached(memtableBytes: memtableBytes, end: end) { set() }
    }
}
