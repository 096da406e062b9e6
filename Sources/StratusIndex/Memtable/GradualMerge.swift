internal import Synchronization

/// Layers of a memtable that become one in steps, so that no commit waits for all of it.
///
/// It belongs to what the layers hold, which never changes: states of the index that have them all may
/// share it, and any of them may go on with it.
final class GradualMerge: Sendable {
    /// The newest first.
    let layers: [MemtableLayer]
    private let state: Mutex<State>

    private struct State {
        var merge: LayerMerge
        var summary: LayerSummary
    }

    init(_ layers: [MemtableLayer], _ points: NeededPoints, _ groupings: KeyGroupings) {
        self.layers = layers
        state = Mutex(
            State(
                merge: LayerMerge(layers[0].entries, over: layers[1...], points),
                summary: LayerSummary(
                    mostEntries: layers.reduce(0) { $0 + $1.entries.count },
                    mostGroups: layers.reduce(0) { $0 + $1.mostGroups }, groupings)))
    }

    /// The greatest stamp of a change of which nothing is left so far.
    var lastVanished: UInt64 { state.withLock { $0.merge.lastVanished } }

    /// Goes on by so many entries; returns the layer when it is made.
    func advance(by count: Int) -> MemtableLayer? {
        state.withLock { state in
            state.merge.advance(by: count)
            let entries = state.merge.entries
            state.summary.add(entries, until: entries.count)
            return state.merge.isDone ? MemtableLayer(entries, state.summary) : nil
        }
    }
}
