package import StratusAssets
internal import StratusIndex
package import StratusJournal

extension StoreReading {
    /// Gives `body` the chunks of which an entry at `start` or behind it, and before `end`, says where
    /// they lie, in the order of their addresses, from those on that begin with `first`.
    package func forEachChunk(
        since start: JournalOffset = .zero, before end: JournalOffset? = nil,
        from first: UInt16 = 0,
        _ body: (ChunkAddress, ChunkLocation) throws(EngineError) -> Void
    ) throws(EngineError) {
        let least = KeySpace.chunks.key().appending(UInt8(first >> 8))
            .appending(UInt8(first & 0xff))
        try scan(least..<KeySpace.chunks.range().upperBound) { key, value throws(EngineError) in
            if value.stamp < start.rawValue { return true }
            if let end, value.stamp >= end.rawValue { return true }
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
