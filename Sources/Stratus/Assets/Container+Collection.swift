internal import StratusAssets
internal import StratusFiles
internal import StratusJournal
internal import StratusEngine

extension Container {
    /// Deletes unreferenced chunks of assets: those that no record names, neither now nor in a
    /// state that a snapshot still sees, and what crashes and cancelled saves have left.
    ///
    /// The store does so by itself as assets are replaced and deleted, each time that was 64 MiB;
    /// this does all of it now.
    ///
    /// - Parameters:
    ///   - dryRun: only says what would go, and why. That a reading process still needs a segment may
    ///     show only when it is to go.
    ///   - progress: is told how many records with assets were read; of how many is not known.
    /// - Throws: ``StoreError`` with `serviceUnavailable` where a collection is under way; with the
    ///   cause `damaged` where the chunks of an asset cannot be read, so that it is unknown which
    ///   chunks are needed.
    @discardableResult
    public nonisolated(nonsending) func collectAssets(
        dryRun: Bool = false, progress: @escaping RecordProgress = { _, _ in }
    ) async throws(StoreError) -> CollectionReport {
        try await answer { () async throws(EngineError) -> CollectionReport in
            try await collectAssets(deadShare: 8, isDryRun: dryRun, progress: progress)
        }
    }

    /// Whatever is not needed, however little of a segment.
    nonisolated(nonsending) func eraseAssets() async throws(EngineError) -> CollectionReport {
        try await collectAssets(deadShare: 1 << 30, endsSegment: true)
    }

    private nonisolated(nonsending) func collectAssets(
        deadShare: Int, isDryRun: Bool = false, endsSegment: Bool = false,
        progress: @escaping RecordProgress = { _, _ in }
    ) async throws(EngineError) -> CollectionReport {
        let engine = try engine()
        let (assets, receipts) = (foundation.assets, receipts)
        return try await assets.uploads.run { () throws(EngineError) in
            if endsSegment {
                let chunks = try assets.chunks()
                try translated { () throws(ChunkError) in try chunks.endSegment() }
            }
            let report = try assets.collect(
                receipts, engine, deadShare: deadShare, isDryRun: isDryRun, progress)
            guard let report else {
                throw EngineError.refused(.serviceUnavailable, "another collection is under way")
            }
            return report
        }
    }
}

extension AssetStore {
    /// Collects in the background when records have ceased to name as much as a segment holds.
    func collectIfDue(_ receipts: AssetReceipts, _ engine: Engine) {
        guard takeFreed() else { return }
        try? uploads.submit { [self] in
            // A failure is dropped: the next collection tries again, and one that a caller starts
            // reports it.
            _ = try? collect(receipts, engine, deadShare: 2)
        }
    }

    /// Nil where another collection is under way.
    fileprivate func collect(
        _ receipts: AssetReceipts, _ engine: Engine, deadShare: Int, isDryRun: Bool = false,
        _ progress: @escaping Container.RecordProgress = { _, _ in }
    ) throws(EngineError) -> CollectionReport? {
        try collecting { () throws(EngineError) in
            var collector = AssetCollector(
                self, receipts, engine, deadShare: deadShare, isDryRun: isDryRun, progress)
            return try collector.run()
        }
    }
}
