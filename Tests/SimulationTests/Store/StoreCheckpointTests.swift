import StratusEngine
import StratusFiles
import StratusIndex
import StratusJournal
import StratusBytes
import Testing

/// What a manifest is told of the state at one place of the journal.
struct StoreCheckpointTests {
    private let state = {
        let store = TableStore(
            MemoryStorage(), cache: BlockCache(limit: 1 << 20),
            storeID: Hash128(high: 7, low: 11))
        var state = FoldState(store, firstNumber: 1, ReleasedFiles())
        state.index.set(KeySpace.marks.key(), IndexValue(stamp: 100))
        return state
    }()

    private static func writeAll(_ state: inout FoldState) throws {
        state.index.freeze()
        let output = try #require(try state.index.checkpointJob()?.run())
        _ = state.index.install(output)
    }

    @Test func `no checkpoint names tables that hold what lies behind it`() throws {
        var state = state
        let position = JournalPosition(
            offset: JournalOffset(rawValue: 200), chain: 0, totals: SegmentTotals())
        let checkpoint = StoreCheckpoint(state, at: position)
        try Self.writeAll(&state)
        #expect(checkpoint.manifest(of: state.index) != nil)
        // A commit that is longer than memory is written to tables before it is complete.
        state.index.set(KeySpace.marks.key(), IndexValue(stamp: 200))
        #expect(checkpoint.manifest(of: state.index) != nil)
        try Self.writeAll(&state)
        #expect(checkpoint.manifest(of: state.index) == nil)
    }
}
