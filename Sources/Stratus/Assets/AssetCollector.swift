internal import StratusAssets
internal import StratusBytes
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// Reclaims unreferenced chunks of assets, in two phases: `Formats/Assets.md`, "Collection".
///
/// A chunk is needed while a record names it that can be seen from a needed point: the newest
/// state, or one that a snapshot or a reading holds. What it is named by is read from the records
/// themselves; nothing is counted.
struct AssetCollector {
    private typealias Segment = CollectionReport.Segment

    /// How much of a segment is needed, or was until now: chunks, and their frames in bytes.
    private struct Share {
        var count = 0
        var bytes = 0

        mutating func add(_ place: ChunkLocation) {
            count += 1
            bytes += place.frameLength
        }
    }

    let store: AssetStore
    let receipts: AssetReceipts
    let engine: Engine
    /// How much of a segment has to be dead before the rest is copied: one part in so many.
    let deadShare: Int
    let isDryRun: Bool
    let progress: Container.RecordProgress

    /// How many records with assets were read.
    private var readCount = 0
    private var report = CollectionReport()
    /// What was taken back, by segment.
    private var lost: [UInt64: Share] = [:]
    /// The numbers of the report's segments.
    private var numbers: [UInt64] = []

    /// So many chunks are taken back in one commit.
    private static let batchLimit = 1 << 14

    init(
        _ store: AssetStore, _ receipts: AssetReceipts, _ engine: Engine, deadShare: Int,
        isDryRun: Bool, _ progress: @escaping Container.RecordProgress
    ) {
        self.store = store
        self.receipts = receipts
        self.engine = engine
        self.deadShare = deadShare
        self.isDryRun = isDryRun
        self.progress = progress
    }

    /// Does everything that can be done now. Blocks the calling thread.
    mutating func run() throws(EngineError) -> CollectionReport {
        let chunks = try store.chunks()
        try takeBack()
        // Asked for in this order, and before what is named: a save that is begun later writes to
        // this segment or to later ones, as those do that are under way.
        let current = chunks.currentNumber
        try choose(chunks, before: min(store.holds.firstSegment ?? .max, current))
        if isDryRun {
            let isRead = try store.hasOldReaders()
            keep { _ in isRead ? .reader : nil }
        } else {
            try copy(chunks)
            try deleteSegments(chunks)
        }
        return report
    }

    // MARK: The first phase

    private mutating func takeBack() throws(EngineError) {
        var count = 0
        try store.reading().forEachChunk { _, _ in count += 1 }
        if count == 0 { return }
        for range in ChunkAddress.passes(over: count) { try takeBack(range) }
    }

    /// The chunks whose addresses begin with a number in `range`.
    private mutating func takeBack(_ range: ClosedRange<UInt64>) throws(EngineError) {
        let reading = try store.reading()
        var reachable = try ReachableChunks(range, reading, engine.published, store, receipts) {
            readCount += $0
            progress(readCount, nil)
        }
        var batch: [ChunkEntry.Row] = []
        try reading.forEachChunk { address, place throws(EngineError) in
            guard !reachable.mayContain(address), range.contains(address.high.high) else { return }
            batch.append((address, place))
            if batch.count == Self.batchLimit {
                try takeBack(batch, &reachable)
                batch.removeAll(keepingCapacity: true)
            }
        }
        try takeBack(batch, &reachable)
    }

    /// Reclaims those that no save holds. Records saved meanwhile are read after the chunks were
    /// claimed: from then on no save can come to rely on them.
    private mutating func takeBack(
        _ batch: [ChunkEntry.Row], _ reachable: inout ReachableChunks
    ) throws(EngineError) {
        if batch.isEmpty { return }
        let free = store.holds.beginReclaiming(batch.map(\.address))
        defer { store.holds.endReclaiming() }
        try reachable.addNewVersions()
        let rows = batch.filter { free.contains($0.address) && !reachable.mayContain($0.address) }
        if !rows.isEmpty, !isDryRun {
            _ = try engine.commitBlocking(ReclaimedChunksCommit(rows: rows))
        }
        for (_, place) in rows {
            report.reclaimedChunks += 1
            report.reclaimedBytes += place.frameLength
            lost[place.number, default: Share()].add(place)
        }
    }

    // MARK: Which segments go

    /// Finds the segments in which nothing is needed, and those that are mostly dead.
    private mutating func choose(
        _ chunks: ChunkStore, before first: UInt64
    ) throws(EngineError) {
        var living: [UInt64: Share] = [:]
        try store.reading().forEachChunk { _, place in
            living[place.number, default: Share()].add(place)
        }
        if isDryRun {
            for (number, share) in lost {
                living[number]?.count -= share.count
                living[number]?.bytes -= share.bytes
            }
        }
        let all = try translated { () throws(ChunkError) in try chunks.segmentNumbers() }
        for number in all where number < first {
            let rest = living[number] ?? Share()
            guard let used = try usedLength(of: number, rest.bytes, chunks) else { continue }
            let gone = lost[number]?.bytes ?? 0
            numbers.append(number)
            report.segments.append(
                Segment(
                    file: ChunkLocation.file(ofSegment: number),
                    reason: rest.count > 0 ? .mostlyDead : gone > 0 ? .replaced : .unnamed,
                    bytes: used, reclaimedBytes: gone, copiedBytes: rest.bytes))
            report.copiedChunks += rest.count
            report.copiedBytes += rest.bytes
        }
        // The last one goes when another one follows it; where nothing was written, none does.
        if let last = report.segments.last, numbers.last == all.last, last.bytes == 0,
            report.copiedChunks == 0
        {
            report.segments.removeLast()
            numbers.removeLast()
        }
    }

    /// How much was written to a segment, in bytes, if it goes where `living` bytes of it are
    /// needed.
    private func usedLength(
        of number: UInt64, _ living: Int, _ chunks: ChunkStore
    ) throws(EngineError) -> Int? {
        func isMostlyDead(_ length: Int) -> Bool {
            living == 0 || (length - living) * deadShare > length
        }
        return try translated { () throws(ChunkError) in
            // Where not even all of the file would be enough, its frames need not be read.
            guard isMostlyDead(try chunks.length(of: number)) else { return nil }
            let used = try chunks.usedLength(of: number)
            return isMostlyDead(used) ? used : nil
        }
    }

    /// Says why a segment stays: `keeper` is given its number.
    private mutating func keep(_ keeper: (UInt64) -> Segment.Keeper?) {
        for (index, number) in numbers.enumerated() {
            report.segments[index].keeper = keeper(number)
        }
    }

    // MARK: Copying

    /// Copies what is left of segments that are mostly dead.
    private func copy(_ chunks: ChunkStore) throws(EngineError) {
        if report.copiedChunks == 0 { return }
        let segments = Set(numbers)
        var batch: [ChunkEntry.Row] = []
        try store.reading().forEachChunk { address, place throws(EngineError) in
            guard segments.contains(place.number) else { return }
            batch.append((address, place))
            if batch.count == Self.batchLimit {
                try copy(batch, chunks)
                batch.removeAll(keepingCapacity: true)
            }
        }
        try copy(batch, chunks)
    }

    private func copy(_ batch: [ChunkEntry.Row], _ chunks: ChunkStore) throws(EngineError) {
        if batch.isEmpty { return }
        var moved: [(old: ChunkEntry.Row, new: ChunkLocation)] = []
        for row in batch.sorted(by: ChunkEntry.isBefore) {
            do throws(ChunkError) {
                moved.append((row, try chunks.copy(row.address, at: row.place)))
            } catch {
                // A damaged chunk stays where it is, for a repair.
                guard case .damaged = error else { throw EngineError(error) }
            }
        }
        try translated { () throws(ChunkError) in try chunks.sync() }
        _ = try engine.commitBlocking(MovedChunksCommit(moved: moved))
    }

    // MARK: The second phase

    private mutating func deleteSegments(_ chunks: ChunkStore) throws(EngineError) {
        if numbers.isEmpty { return }
        let before = try store.reading()
        // A segment goes only once no crash can bring back what named it.
        try engine.writeCheckpointAndWait()
        guard let checkpoint = engine.maintainer.checkpoint, checkpoint >= before.head else {
            return keep { _ in .checkpoint }
        }
        // What was stored anew behind the checkpoint may be lost with a crash, and the old is
        // needed again.
        var named: Set<UInt64> = []
        for reading in [before, try store.reading()] {
            try reading.forEachChunk { _, place in named.insert(place.number) }
        }
        let isRead = try store.hasOldReaders()
        keep { number in named.contains(number) ? .damage : isRead ? .reader : nil }
        let free = numbers.indices.filter { report.segments[$0].keeper == nil }
        let deleted = try delete(free.map { numbers[$0] }, chunks)
        for index in free where !deleted.contains(numbers[index]) {
            report.segments[index].keeper = .reader
        }
    }

    /// Deletes segments, between commits, so that the store is still ours when they go. Returns
    /// the numbers of those that are gone.
    private func delete(
        _ numbers: [UInt64], _ chunks: ChunkStore
    ) throws(EngineError) -> Set<UInt64> {
        if numbers.isEmpty { return [] }
        return try engine.runExclusivelyAndWait { _ throws(EngineError) in
            var deleted: Set<UInt64> = []
            for number in numbers {
                let isGone = try translated { () throws(ChunkError) in try chunks.delete(number) }
                if isGone { deleted.insert(number) }
            }
            return deleted
        }
    }
}
