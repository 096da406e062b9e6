package import StratusAssets
internal import StratusIndex
package import StratusJournal

extension StoreReading {
    /// Gives `body` the chunks of which an entry at `start` or behind it says where they lie, in
    /// the order of their addresses.
    package func forEachChunk(
        since start: JournalOffset = .zero,
        _ body: (ChunkAddress, ChunkLocation) throws(EngineError) -> Void
    ) throws(EngineError) {
        try scan(KeySpace.chunks.range()) { key, value throws(EngineError) in
            if value.stamp < start.rawValue { return true }
            guard let place = ChunkLocation(value) else {
                throw damaged(at: JournalOffset(rawValue: value.stamp))
            }
            try body(key.chunkAddress, place)
            return true
        }
    }

    /// Where a chunk lies; nil where the journal knows none of that address.
    package func location(of address: ChunkAddress) throws(EngineError) -> ChunkLocation? {
        try value(.chunk(address)).flatMap { ChunkLocation($0) }
    }
}
