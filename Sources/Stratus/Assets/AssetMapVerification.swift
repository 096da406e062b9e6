internal import StratusAssets
internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

/// Compares what the index says of assets and chunks with all that the journal says of them:
/// `Formats/Index.md`, "Keys".
///
/// What an entry says of a key is what the index has there, or something newer took its place; and
/// the index has no more than was found so. In memory are only the chunks that the index does not
/// have, until the entry comes that took them back.
struct AssetMapVerification {
    /// What an entry says and the index does not, until the commit is whole.
    private enum Doubt {
        case missing(ChunkAddress)
        case takenBack(ChunkAddress)
        case wrong(StaticString)
    }

    private(set) var findings: [StoreError.Place] = []
    private let reading: StoreReading
    private let manifest: Manifest
    private var open: [(doubt: Doubt, offset: JournalOffset)] = []
    /// By a part of their addresses.
    private var missing: [UInt64: JournalOffset] = [:]
    private var assetCount = 0
    private var chunkCount = 0
    private var zone: (number: UInt32, isAlive: Bool)?

    private static let assets: StaticString = "checkpoint.assets"
    private static let chunks: StaticString = "checkpoint.chunks"
    private static let findingLimit = 1000

    /// - Parameter reclaimedChunks: how many chunks the journal says were taken back.
    init(
        _ reading: StoreReading, named manifest: Manifest, reclaimedChunks: Int
    ) throws {
        self.reading = reading
        self.manifest = manifest
        for range in ChunkAddress.passes(over: reclaimedChunks) {
            try read(range, withAssets: range.lowerBound == 0)
        }
        try compareCounts()
    }

    /// Reads the journal; of chunks, those whose addresses begin with a number in `range`.
    private mutating func read(
        _ range: ClosedRange<UInt64>, withAssets: Bool
    ) throws {
        var log = JournalLog(reading.view, from: .zero, to: reading.head)
        while let entry = try log.nextLine()?.entry {
            guard entry.kind.isEntry else { continue }
            // A commit that another one follows before its last entry was given up.
            if entry.header.ordinal == 0 { open.removeAll(keepingCapacity: true) }
            switch entry.kind {
            case .chunks, .reclaimedChunks: try takeChunks(entry, range)
            case .record where withAssets: try takeRecord(entry)
            case .tombstone where withAssets: try takeTombstone(entry)
            default: break
            }
            if entry.header.isLast { settle() }
        }
        for offset in missing.values.sorted() { note(Self.chunks, at: offset) }
        missing.removeAll()
        open.removeAll()
    }

    /// The open commit is whole: what it says holds.
    private mutating func settle() {
        for (doubt, offset) in open {
            switch doubt {
            case .missing(let address):
                if missing.count < ChunkAddress.passLimit * 2 {
                    missing[address.low.low] = offset
                } else {
                    // More than were ever taken back.
                    note(Self.chunks, at: offset)
                }
            case .takenBack(let address): missing[address.low.low] = nil
            case .wrong(let kind): note(kind, at: offset)
            }
        }
        open.removeAll(keepingCapacity: true)
    }

    private mutating func note(_ kind: StaticString, at offset: JournalOffset?) {
        let place = StoreError.Place(
            file: manifest.fileName, byte: manifest.checkpointPlace, offset: offset?.rawValue,
            kind: "\(kind)")
        if findings.count < Self.findingLimit, findings.last != place { findings.append(place) }
    }

    /// What the index has beyond what was found right, no entry says.
    private mutating func compareCounts() throws(StoreError) {
        var count = 0
        try reading.forEachRecordWithAssets { _, _, _ in count += 1 }
        if findings.isEmpty, count != assetCount { note(Self.assets, at: nil) }
        count = 0
        try reading.scan(KeySpace.chunks.range()) { _, _ in
            count += 1
            return true
        }
        if findings.isEmpty, count != chunkCount { note(Self.chunks, at: nil) }
    }
}

// Entries.
extension AssetMapVerification {
    private mutating func takeRecord(_ entry: JournalEntry) throws {
        let (head, name) = try entry.withPayload { bytes throws(FormatError) in
            var cursor = ByteCursor()
            let head = try RecordHead(bytes, &cursor)
            return (head, Hash128(bytes.extracting(head.name), seed: reading.identity.secret))
        }
        if head.assetBytes != nil {
            let place = EntryLocation(entry.header, at: entry.offset, isDeleted: false)
            try compare(entry, name, place.value)
        } else if head.formerAssetBytes != nil {
            try compare(entry, name, nil)
        }
    }

    private mutating func takeTombstone(_ entry: JournalEntry) throws {
        let tombstone = try entry.withPayload { bytes throws(FormatError) in
            try Tombstone(bytes)
        }
        guard tombstone.assetBytes != nil else { return }
        try compare(entry, Hash128(tombstone.name, seed: reading.identity.secret), nil)
    }

    /// The entry says of the record either where it lies now, with its assets, or that it has none.
    private mutating func compare(
        _ entry: JournalEntry, _ name: Hash128, _ value: IndexValue?
    ) throws(StoreError) {
        guard try isAlive(entry.zone) else { return }
        let found = try reading.value(.assets(entry.zone, name))
        if let found, found.stamp > entry.offset.rawValue { return }
        if found == value {
            if value != nil { assetCount += 1 }
            return
        }
        // A later version may have none.
        if found == nil, let newest = try reading.value(.record(entry.zone, name)),
            newest.stamp > entry.offset.rawValue
        {
            return
        }
        open.append((.wrong(Self.assets), entry.offset))
    }

    /// What lay in a zone went with it.
    private mutating func isAlive(_ number: UInt32) throws(StoreError) -> Bool {
        if let zone, zone.number == number { return zone.isAlive }
        let isAlive = try reading.zone(number)?.isAlive ?? false
        zone = (number, isAlive)
        return isAlive
    }

    private mutating func takeChunks(
        _ entry: JournalEntry, _ range: ClosedRange<UInt64>
    ) throws {
        var rows: [(address: ChunkAddress, value: IndexValue?)] = []
        try entry.withPayload { bytes throws(FormatError) in
            if entry.kind == .chunks {
                try ChunkEntry.forEach(bytes) { rows.append(($0, $1.value(at: entry.offset))) }
            } else {
                try ReclaimedChunksEntry.forEach(bytes) { rows.append(($0, nil)) }
            }
        }
        for (address, value) in rows where range.contains(address.high.high) {
            let found = try reading.value(.chunk(address))
            if let found {
                if found.stamp > entry.offset.rawValue { continue }
                if found == value {
                    chunkCount += 1
                } else {
                    open.append((.wrong(Self.chunks), entry.offset))
                }
            } else {
                open.append((value == nil ? .takenBack(address) : .missing(address), entry.offset))
            }
        }
    }
}
