import StratusAssets
import StratusBytes
import StratusFiles
import Support
import Testing

/// Reads of chunks that must not wait.
@Suite struct ChunkWaitTests {
    @Test func `who may not wait does not wait for who writes`() throws {
        let storage = GatedStorage(holding: .append)
        let store = try ChunkStoreTests.makeStore(storage)
        let chunk = EncodedChunk([1, 2, 3], in: ChunkStoreTests.domain)
        let place = try store.append(chunk)
        try store.sync()
        #expect(try store.read(chunk.address, at: place, .resident) == [1, 2, 3])
        storage.shut()
        let isWritten = Outcome<Void>()
        try Thread.start {
            for seed in UInt64(0)..<8 {
                let bytes = ChunkerTests.random(200_000, seed: seed)
                _ = try? store.append(EncodedChunk(bytes[...], in: ChunkStoreTests.domain))
            }
            isWritten.finish(())
        }
        while !storage.isWaiting { Thread.pause(microseconds: 200) }
        let failure = Outcome<ChunkError?>()
        try Thread.start {
            do throws(ChunkError) {
                _ = try store.read(chunk.address, at: place, .resident)
                failure.finish(nil)
            } catch {
                failure.finish(error)
            }
        }
        // Who waits does so until the gate is open.
        for _ in 0..<50_000 where failure.value == nil { Thread.pause(microseconds: 200) }
        let early = failure.value ?? nil
        storage.open()
        isWritten.wait()
        guard case .storage(let error)? = early else {
            Issue.record("it was read, or waited: \(String(describing: failure.wait()))")
            return
        }
        #expect(error.kind == .notResident)
        #expect(try store.read(chunk.address, at: place) == [1, 2, 3])
    }
}
