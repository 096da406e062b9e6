internal import Synchronization

/// Two layers of a memtable that become one in steps, so that no commit waits for all of it.
///
/// It belongs to what the layers hold, which never changes: states of the index that have both may
/// share it, and any of them may go on with it.
final class GradualMerge: Sendable {
    let newer: MemtableLayer
    let older: MemtableLayer
    private let state: Mutex<State>

    private struct State {
        var merge: LayerMerge
        var summary: LayerSummary
    }

    init(_ newer: MemtableLayer, over older: MemtableLayer, _ points: NeededPoints) {
        self.newer = newer
        self.older = older
        let merge = LayerMerge(
            newer.entries, over: older.entries,
            hasDrops: newer.dropCount + older.dropCount > 0, points)
        let summary = LayerSummary(mostEntries: newer.entries.count + older.entries.count)
        state = Mutex(State(merge: merge, summary: summary))
    }

    /// Goes on by so many entries; returns the layer when it is made.
    func advance(by count: Int) -> MemtableLayer? {
        state.withLock { state in
            state.merge.advance(by: count)
            let (entries, isDone) = (state.merge.entries, state.merge.isDone)
            state.summary.add(entries, until: isDone ? entries.count : entries.count - 1)
            return isDone ? MemtableLayer(entries, state.summary) : nil
        }
    }
}
