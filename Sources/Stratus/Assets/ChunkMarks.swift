internal import StratusAssets
internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import Synchronization

/// The chunks that records name, of a part of all addresses.
struct ChunkMarks {
    private let range: ClosedRange<UInt64>
    /// Of the addresses; two with the same keep each other.
    private var marks: Set<UInt64> = []

    /// Of addresses that begin with a number in `range`.
    init(_ range: ClosedRange<UInt64>) { self.range = range }

    /// Whether the chunk was marked.
    func mayHave(_ address: ChunkAddress) -> Bool { marks.contains(address.low.low) }

    /// Marks what records name that are seen from `points`; with `since` only what was written from
    /// there on.
    mutating func add(
        _ reading: StoreReading, _ points: NeededPoints, _ store: AssetStore,
        since: JournalOffset?
    ) throws(StoreError) {
        var found: [Int: (zone: ZonePlace, place: EntryPlace)] = [:]
        func read(_ marks: inout ChunkMarks) throws(StoreError) {
            let batch = found.values.sorted { $0.place.offset < $1.place.offset }
            found.removeAll(keepingCapacity: true)
            for (index, entry) in try reading.entries(batch.map(\.place)).enumerated() {
                try reading.forEachAsset(of: entry, in: batch[index].zone) {
                    asset throws(StoreError) in
                    try marks.add(asset.content, store)
                }
            }
        }
        let head = reading.head
        let held = points.listed.map { JournalOffset(rawValue: $0 + 1) }.filter { $0 < head }
        for point in held + [head] {
            try reading.looking(from: point).forEachRecordWithAssets {
                zone, _, place throws(StoreError) in
                if let since, place.offset < since { return }
                found[Int(place.offset.rawValue)] = (zone, place)
                if found.count == 1024 { try read(&self) }
            }
        }
        try read(&self)
    }

    private mutating func add(
        _ content: AssetContent, _ store: AssetStore
    ) throws(StoreError) {
        var cursor = PieceCursor(content)
        while let step = cursor.next() {
            if range.contains(step.address.high.high) { marks.insert(step.address.low.low) }
            guard step.isList else { continue }
            // Where it is not known what is named, nothing is taken back.
            guard let bytes = try store.read(step.address), cursor.enter(step, bytes.span) else {
                throw StoreError.damagedList
            }
        }
    }
}

/// Takes back the places of chunks that nobody needs; where one was stored anew meanwhile, it
/// stays.
struct LostChunksCommit: CommitRequest {
    let rows: [ChunkEntry.Row]

    func prepare(
        _ reading: StoreReading, _ role: PreparingRole, sink: PieceSink
    ) throws(StoreError) -> Preparation {
        var preparation = Preparation(reading)
        var addresses: [ChunkAddress] = []
        for row in rows where try preparation.finds(row, reading) {
            addresses.append(row.address)
        }
        let most = max(1, (role.payloadLimit - 64) / ChunkAddress.length)
        for start in stride(from: 0, to: addresses.count, by: most) {
            let part = addresses[start..<min(addresses.count, start + most)]
            try preparation.buffer.add(.lostChunks, limit: role.payloadLimit) {
                LostChunksEntry.write(part, to: &$0)
            }
        }
        return preparation
    }
}

/// Says where chunks lie now that were copied; where one was stored anew or taken back meanwhile,
/// that holds.
struct MovedChunksCommit: CommitRequest {
    let moved: [(old: ChunkEntry.Row, new: ChunkPlace)]

    func prepare(
        _ reading: StoreReading, _ role: PreparingRole, sink: PieceSink
    ) throws(StoreError) -> Preparation {
        var preparation = Preparation(reading)
        var rows: [ChunkEntry.Row] = []
        for (old, new) in moved where try preparation.finds(old, reading) {
            rows.append((old.address, new))
        }
        try preparation.buffer.add(rows, limit: role.payloadLimit)
        return preparation
    }
}

extension Preparation {
    /// Whether a chunk is still where it was; the commit relies on the answer.
    fileprivate mutating func finds(
        _ row: ChunkEntry.Row, _ reading: StoreReading
    ) throws(StoreError) -> Bool {
        let key = IndexKey.chunk(row.address)
        readSet.append(key)
        return try reading.value(key).flatMap { ChunkPlace($0) } == row.place
    }
}

/// The segments that were deleted.
final class Deleted: Sendable {
    private let all = Mutex<[UInt64]>([])

    var numbers: [UInt64] { all.withLock { $0 } }
    func add(_ number: UInt64) { all.withLock { $0.append(number) } }
}
