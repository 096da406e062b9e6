internal import StratusAssets
internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// The chunks that must be kept, of one range of addresses: those that records name, in the newest
/// state, at every pinned point and mark, and in the history that is kept; those that records name
/// which a long-lived request is to save; and those of uploads whose receipts are still valid. Of
/// some zones, those that their records name.
struct ReachableChunks {
    private let range: ClosedRange<UInt64>
    private let store: AssetStore
    /// Nil: those of some zones are looked for.
    private let receipts: AssetReceipts?
    /// Nil: all.
    private let zones: Set<UInt32>?
    /// Only records that were saved from here on count.
    private let start: JournalOffset
    /// The fingerprints: two chunks with the same keep each other.
    private(set) var chunks: Set<UInt64> = []
    /// The lists that were read: many records may name one, and a damaged one itself.
    private var lists: Set<AssetContent.List> = []
    /// What was written before was looked at.
    private var end: JournalOffset

    /// Of addresses that begin with a number in `range`: what is needed in `reading`, the newest
    /// state, and at the earlier points that may be read. `progress` is told of each few records how many
    /// they are.
    init(
        _ range: ClosedRange<UInt64>, _ reading: StoreReading, _ published: PublishedState,
        _ store: AssetStore, _ receipts: AssetReceipts, progress: (Int) -> Void
    ) throws(EngineError) {
        self.init(range, store, receipts, zones: nil, from: .zero, end: reading.head)
        try addReceipts()
        // Asked for after the state: who begins to hold one later holds this one or a newer.
        try add(reading, at: published.points, progress)
        for place in try reading.requests() { try add(reading.entry(place.entry), reading) }
        if end < reading.head { try addNewVersions() }
    }

    /// What records of these zones name that were saved from `start` on and are seen in `reading`, the
    /// newest state, or at `points`.
    init(
        of zones: Set<UInt32>, savedFrom start: JournalOffset = .zero, _ reading: StoreReading,
        at points: NeededPoints, _ store: AssetStore
    ) throws(EngineError) {
        self.init(0...UInt64.max, store, nil, zones: zones, from: start, end: reading.head)
        try add(reading, at: points)
        if end < reading.head { try addVersions(to: reading) }
    }

    private init(
        _ range: ClosedRange<UInt64>, _ store: AssetStore, _ receipts: AssetReceipts?,
        zones: Set<UInt32>?, from start: JournalOffset, end: JournalOffset
    ) {
        self.range = range
        self.store = store
        self.receipts = receipts
        self.zones = zones
        self.start = start
        self.end = end
    }

    /// What is seen in the newest state and at points before it; of the history that is kept, what is
    /// seen where it begins.
    private mutating func add(
        _ reading: StoreReading, at points: NeededPoints, _ progress: (Int) -> Void = { _ in }
    ) throws(EngineError) {
        var found: [Int: EntryLocation] = [:]
        func read(_ chunks: inout ReachableChunks) throws(EngineError) {
            let batch = found.values.sorted { $0.offset < $1.offset }
            found.removeAll(keepingCapacity: true)
            for entry in try reading.entries(batch) { try chunks.add(entry, reading) }
            progress(batch.count)
        }
        let held = (points.listed + points.marks).map { JournalOffset(rawValue: $0).next }
        // Of the history that is kept, every version is needed.
        if let floor = points.floor { end = min(end, JournalOffset(rawValue: floor).next) }
        for point in held.filter({ $0 < end }) + [end] {
            try reading.looking(from: point).forEachRecordWithAssets(in: zones) {
                _, _, place throws(EngineError) in
                if place.offset < start { return }
                found[Int(place.offset.rawValue)] = place
                if found.count == 1024 { try read(&self) }
            }
        }
        try read(&self)
    }

    /// Whether the chunk must be kept; may be true for one that need not, never the reverse.
    func mayContain(_ address: ChunkAddress) -> Bool { chunks.contains(address.fingerprint) }

    /// Adds the chunks of every version of a record that was written since.
    mutating func addNewVersions() throws(EngineError) {
        // Before the records: a receipt is used up by one that is there already.
        try addReceipts()
        try addVersions(to: store.reading())
    }

    private mutating func addVersions(to reading: StoreReading) throws(EngineError) {
        var log = JournalLog(reading.view, from: max(end, start), to: reading.head)
        // Of the commit that is not complete yet, and may never be.
        var open: [EntryLocation] = []
        do {
            while let entry = try log.nextLine()?.entry {
                guard entry.kind.isEntry else { continue }
                if entry.header.ordinal == 0 { open.removeAll(keepingCapacity: true) }
                let isMeant = zones?.contains(entry.zone) ?? true
                let hasAssets =
                    try isMeant && entry.kind == .record
                    && entry.recordHead().head.assetBytes != nil
                if hasAssets || zones == nil && entry.kind == .request {
                    open.append(EntryLocation(entry.header, at: entry.offset, isDeleted: false))
                }
                guard entry.header.isLast || entry.isOfCompleteCommit else { continue }
                for place in open { try add(reading.entry(place), reading) }
                open.removeAll(keepingCapacity: true)
            }
        } catch {
            throw EngineError(translating: error)
        }
        end = reading.head
    }

    private mutating func addReceipts() throws(EngineError) {
        for content in receipts?.held ?? [] { try add(content) }
    }

    private mutating func add(
        _ entry: JournalEntry, _ reading: StoreReading
    ) throws(EngineError) {
        if entry.kind == .request {
            // What the caller had fetched may be gone since.
            for content in try entry.requestedAssets() { try add(content, mayBeGone: true) }
        } else {
            try reading.forEachAsset(of: entry) { _, content throws(EngineError) in
                try add(content)
            }
        }
    }

    private mutating func add(
        _ content: AssetContent, mayBeGone: Bool = false
    ) throws(EngineError) {
        // What may be gone may be stored again while others are looked at: it marks no list as read.
        var read: Set<AssetContent.List> = []
        if !mayBeGone { swap(&read, &lists) }
        defer { if !mayBeGone { swap(&read, &lists) } }
        var cursor = ExtentCursor(content)
        while let step = cursor.next(once: &read) {
            if range.contains(step.address.high.high) { chunks.insert(step.address.fingerprint) }
            guard step.isList else { continue }
            let list = try store.read(step.address)
            if mayBeGone, list == nil { continue }
            // Where it is not known what is named, nothing is taken back.
            guard let list, cursor.enter(step, list.span) else { throw .refused(.damagedList) }
        }
    }
}

/// Removes unreachable chunks from the index. A chunk that was stored again meanwhile stays.
struct ReclaimedChunksCommit: Transaction {
    let rows: [ChunkEntry.Row]

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        var addresses: [ChunkAddress] = []
        for row in rows where try draft.finds(row, reading) {
            addresses.append(row.address)
        }
        let most = max(1, (context.payloadLimit - 64) / ChunkAddress.length)
        for start in stride(from: 0, to: addresses.count, by: most) {
            let part = addresses[start..<min(addresses.count, start + most)]
            try draft.buffer.add(.reclaimedChunks, limit: context.payloadLimit) {
                ReclaimedChunksEntry.write(part, to: &$0)
            }
        }
        return draft
    }
}

/// States the new locations of chunks that were copied. A chunk that was stored again or reclaimed
/// meanwhile keeps that state.
struct MovedChunksCommit: Transaction {
    let moved: [(old: ChunkEntry.Row, new: ChunkLocation)]

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        var rows: [ChunkEntry.Row] = []
        for (old, new) in moved where try draft.finds(old, reading) {
            rows.append((old.address, new))
        }
        try draft.buffer.add(rows, limit: context.payloadLimit)
        return draft
    }
}

extension Draft {
    /// Whether a chunk is still where it was; the commit relies on the answer.
    fileprivate mutating func finds(
        _ row: ChunkEntry.Row, _ reading: StoreReading
    ) throws(EngineError) -> Bool {
        let key = IndexKey.chunk(row.address)
        readSet.append(key)
        return try reading.value(key).flatMap { ChunkLocation($0) } == row.place
    }
}
