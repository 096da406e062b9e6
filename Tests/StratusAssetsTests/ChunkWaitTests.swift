import StratusAssets
import StratusBytes
import StratusFiles
import Support
import Testing

/// Reads of chunks while others are written.
@Suite struct ChunkWaitTests {
    @Test(arguments: [ReadMode.resident, .blocking])
    func `a read does not wait for an append`(mode: ReadMode) throws {
        let storage = GatedStorage(holding: .append)
        let store = try ChunkStoreTests.makeStore(storage)
        let chunk = EncodedChunk([1, 2, 3], in: ChunkStoreTests.domain)
        let place = try store.append(chunk)
        try store.sync()
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
        let found = Outcome<ArraySlice<UInt8>?>()
        try Thread.start { found.finish(try? store.read(chunk.address, at: place, mode)) }
        // A read that waits does so until the gate is open.
        for _ in 0..<50_000 where found.value == nil { Thread.pause(microseconds: 200) }
        let early = found.value
        storage.open()
        isWritten.wait()
        #expect(early == [1, 2, 3])
    }
}
