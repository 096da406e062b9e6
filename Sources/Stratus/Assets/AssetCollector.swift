internal import StratusAssets
internal import StratusBytes
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal

/// Takes back what nobody needs of assets, in two phases: `Formats/Assets.md`, "Collection".
///
/// A chunk is needed while a record names it that can be seen from a needed point: the newest
/// state, or one that a snapshot or a reading holds. What it is named by is read from the records
/// themselves; nothing is counted.
struct AssetCollector {
    let store: AssetStore
    let engine: Engine
    /// How much of a segment has to be dead before the rest is copied: one part in so many.
    let deadShare: Int
    let isDryRun: Bool

    private var report = CollectionReport()

    /// So many chunks are marked in one pass, and so many taken back in one commit.
    private static let passLimit = 1 << 20
    private static let batchLimit = 1 << 14

    init(_ store: AssetStore, _ engine: Engine, deadShare: Int, isDryRun: Bool = false) {
        self.store = store
        self.engine = engine
        self.deadShare = deadShare
        self.isDryRun = isDryRun
    }

    /// Does everything that can be done now. Blocks the calling thread.
    mutating func run() throws(StoreError) -> CollectionReport {
        let chunks = try store.chunks()
        try takeBack()
        try copy(chunks)
        if !isDryRun {
            // A segment goes only once no crash can bring back what named it.
            try engine.askBlocking { keeper throws(StoreError) in try keeper.writeCheckpoint() }
        }
        try deleteSegments(chunks)
        return report
    }

    // MARK: The first phase

    private mutating func takeBack() throws(StoreError) {
        var count = 0
        try store.reading().forEachChunk { _, _ in count += 1 }
        if count == 0 { return }
        let passCount = UInt64(count / Self.passLimit + 1)
        let width = UInt64.max / passCount
        for pass in 0..<passCount {
            let last = pass == passCount - 1 ? UInt64.max : (pass + 1) * width - 1
            try takeBack(pass * width...last)
        }
    }

    /// The chunks whose addresses begin with a number in `range`.
    private mutating func takeBack(_ range: ClosedRange<UInt64>) throws(StoreError) {
        var marks = ChunkMarks(range)
        let reading = try store.reading()
        try marks.add(reading, engine.published.points, store, since: nil)
        var batch: [ChunkEntry.Row] = []
        try reading.forEachChunk { address, place throws(StoreError) in
            guard !marks.mayHave(address), range.contains(address.high.high) else { return }
            batch.append((address, place))
            if batch.count == Self.batchLimit {
                try takeBack(batch, &marks, reading.head)
                batch.removeAll(keepingCapacity: true)
            }
        }
        try takeBack(batch, &marks, reading.head)
    }

    /// Takes back those that nobody holds. What was named since `head` is looked for once more,
    /// when nobody can come to rely on the others any more.
    private mutating func takeBack(
        _ batch: [ChunkEntry.Row], _ marks: inout ChunkMarks, _ head: JournalOffset
    ) throws(StoreError) {
        if batch.isEmpty { return }
        let free = Set(store.holds.doom(batch.map(\.address)))
        defer { store.holds.spare() }
        try marks.add(store.reading(), engine.published.points, store, since: head)
        let rows = batch.filter { free.contains($0.address) && !marks.mayHave($0.address) }
        if !rows.isEmpty, !isDryRun {
            _ = try engine.commitBlocking(LostChunksCommit(rows: rows))
        }
        report.lostChunks += rows.count
        report.lostBytes += rows.reduce(0) { $0 + $1.place.frameLength }
    }

    // MARK: Copying

    /// Copies what is left of segments that are mostly dead.
    private mutating func copy(_ chunks: ChunkStore) throws(StoreError) {
        var living: [UInt64: Int] = [:]
        let reading = try store.reading()
        try reading.forEachChunk { _, place in
            living[place.number, default: 0] += place.frameLength
        }
        var segments: Set<UInt64> = []
        for (number, bytes) in living where number < chunks.currentNumber {
            let extent = try translated { () throws(ChunkError) in try chunks.extent(of: number) }
            if (extent - bytes) * deadShare > extent { segments.insert(number) }
        }
        if segments.isEmpty { return }
        var batch: [ChunkEntry.Row] = []
        var (count, total) = (0, 0)
        try reading.forEachChunk { address, place throws(StoreError) in
            guard segments.contains(place.number) else { return }
            count += 1
            total += place.frameLength
            batch.append((address, place))
            if batch.count == Self.batchLimit {
                try copy(batch, chunks)
                batch.removeAll(keepingCapacity: true)
            }
        }
        try copy(batch, chunks)
        report.copiedChunks = count
        report.copiedBytes = total
    }

    private func copy(_ batch: [ChunkEntry.Row], _ chunks: ChunkStore) throws(StoreError) {
        if batch.isEmpty || isDryRun { return }
        var moved: [(old: ChunkEntry.Row, new: ChunkPlace)] = []
        for row in batch.sorted(by: ChunkEntry.isBefore) {
            do throws(ChunkError) {
                moved.append((row, try chunks.copy(row.address, at: row.place)))
            } catch {
                // What is damaged stays where it is, for whoever can repair it.
                guard case .damaged = error else { throw StoreError(error) }
            }
        }
        try translated { () throws(ChunkError) in try chunks.sync() }
        _ = try engine.commitBlocking(MovedChunksCommit(moved: moved))
    }

    // MARK: The second phase

    private mutating func deleteSegments(_ chunks: ChunkStore) throws(StoreError) {
        let numbers = try translated { () throws(ChunkError) in try chunks.segmentNumbers() }
        // Asked for before what is named: what is begun later lies in later segments.
        let first = min(store.holds.firstSegment ?? .max, chunks.currentNumber)
        var named: Set<UInt64> = []
        try store.reading().forEachChunk { _, place in named.insert(place.number) }
        let free = numbers.filter { $0 < first && !named.contains($0) }
        if free.isEmpty || isDryRun {
            report.deletedSegments = free.map { ChunkPlace.file(ofSegment: $0) }
            return
        }
        guard try !store.hasOldReaders() else {
            report.keptSegments = free.map { ChunkPlace.file(ofSegment: $0) }
            return
        }
        // Between commits, so that the store is still ours when they go.
        let deleted = Deleted()
        try engine.askBlocking { _ throws(StoreError) in
            for number in free {
                let isGone = try translated { () throws(ChunkError) in try chunks.delete(number) }
                if isGone { deleted.add(number) }
            }
        }
        let gone = deleted.numbers
        report.deletedSegments = gone.map { ChunkPlace.file(ofSegment: $0) }
        report.keptSegments = free.filter { !gone.contains($0) }.map {
            ChunkPlace.file(ofSegment: $0)
        }
    }
}

/// What a collection did or, where it was only to say so, would do.
public struct CollectionReport: Hashable, Sendable {
    /// Chunks that no record names any more, nor did one that can still be seen.
    public var lostChunks = 0
    /// What these take with their frames, in bytes.
    public var lostBytes = 0
    /// Chunks out of segments that are mostly dead.
    public var copiedChunks = 0
    /// What these take with their frames, in bytes.
    public var copiedBytes = 0
    /// The files of segments in which nothing is named.
    public var deletedSegments: [String] = []
    /// Those that a reading process may still need.
    public var keptSegments: [String] = []
}
