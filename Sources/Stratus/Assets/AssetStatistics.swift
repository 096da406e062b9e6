internal import StratusAssets
internal import StratusFiles
internal import StratusEngine

/// What the assets of a store are, and what they take.
public struct AssetStatistics: Hashable, Sendable {
    /// Of chunks that are about as long.
    public struct LengthClass: Hashable, Sendable {
        /// Below this, in bytes; a power of two.
        public var limit: Int
        /// How many chunks.
        public var count: Int
    }

    /// Assets of records, each as often as a record has it.
    public var assetCount = 0
    /// What these hold, in bytes: what quotas count.
    public var logicalBytes = 0
    /// Chunks that the journal knows, lists among them, whether or not they are referenced.
    public var chunkCount = 0
    /// What these hold, in bytes.
    public var uniqueBytes = 0
    /// What they take as they are stored, without frames.
    public var storedBytes = 0
    /// Files that they lie in.
    public var segmentCount = 0
    /// By their lengths, the shortest first.
    public var lengths: [LengthClass] = []

    /// How many bytes an asset has for each that is kept of it; nil where nothing is.
    public var deduplicationRatio: Double? {
        uniqueBytes == 0 ? nil : Double(logicalBytes) / Double(uniqueBytes)
    }
    /// How many bytes a chunk has for each that it takes; nil where there is none.
    public var compressionRatio: Double? {
        storedBytes == 0 ? nil : Double(uniqueBytes) / Double(storedBytes)
    }
}

extension Container {
    /// What the assets of the store are, and what they take. Looks at each.
    public nonisolated(nonsending) func assetStatistics()
        async throws(StoreError) -> AssetStatistics
    {
        try await answer { () async throws(EngineError) -> AssetStatistics in
            let state = state
            return try await threads.run {
                try StoreReading(state, .blocking).assetStatistics()
            }
        }
    }
}

extension StoreReading {
    fileprivate func assetStatistics() throws(EngineError) -> AssetStatistics {
        var statistics = AssetStatistics()
        try forEachAsset { asset throws(EngineError) in
            statistics.assetCount += 1
            // What files say to be lengths is not always one.
            let sum = statistics.logicalBytes.addingReportingOverflow(asset.content.length)
            statistics.logicalBytes = sum.overflow ? .max : sum.partialValue
        }
        var segments: Set<UInt64> = []
        var classes: [Int: Int] = [:]
        try forEachChunk { _, place throws(EngineError) in
            statistics.chunkCount += 1
            statistics.uniqueBytes += place.length
            statistics.storedBytes += place.storedLength
            segments.insert(place.number)
            classes[Int.bitWidth - place.length.leadingZeroBitCount, default: 0] += 1
        }
        statistics.segmentCount = segments.count
        statistics.lengths = classes.sorted { $0.key < $1.key }.map {
            AssetStatistics.LengthClass(limit: 1 << $0.key, count: $0.value)
        }
        return statistics
    }
}
