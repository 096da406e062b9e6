internal import StratusBytes
internal import StratusFiles
package import StratusJournal

/// Where a zone has its history from that was restored with it: `Formats/Record.md`, "Zone". Tokens
/// of these zones are good in it.
package struct ZoneLineage: Equatable, Sendable {
    /// A zone as one store knew it.
    package struct Source: Equatable, Sendable {
        package var storeID: StoreID
        /// Of that store.
        package var lineage: UInt64
        package var database: UInt32
        package var zone: UInt32
        /// The last version up to which the history is that of the source.
        package var through: Version

        package init(
            storeID: StoreID, lineage: UInt64, database: UInt32, zone: UInt32, through: Version
        ) {
            self.storeID = storeID
            self.lineage = lineage
            self.database = database
            self.zone = zone
            self.through = through
        }
    }

    /// What was deleted at or before it is forgotten.
    package var floor: Version
    /// The zone that the history was taken from first; 1 to ``sourceLimit``.
    package var sources: [Source]

    /// How many sources an entry names at most: the first ones.
    package static let sourceLimit = 256

    package init(floor: Version, sources: [Source]) {
        self.floor = floor
        self.sources = Array(sources.prefix(Self.sourceLimit))
    }

    /// Everything up to there was restored.
    package var through: Version { sources[0].through }

    /// Draws the lineages of the sources anew: what they gave is not good in this store.
    fileprivate mutating func redraw(_ randomness: Randomness) {
        for place in sources.indices { sources[place].lineage = randomness.next() }
    }

    func write(to writer: inout ByteWriter) {
        writer.uint64(floor.rawValue)
        for source in sources {
            source.storeID.write(to: &writer)
            writer.uint64(source.lineage)
            writer.uint32(source.database)
            writer.uint32(source.zone)
            writer.uint64(source.through.rawValue)
        }
    }

    init(_ count: Int, _ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        floor = Version(rawValue: try cursor.uint64(bytes))
        sources = []
        for _ in 0..<count {
            let id = try cursor.hash(bytes)
            let source = Source(
                storeID: StoreID(high: id.high, low: id.low), lineage: try cursor.uint64(bytes),
                database: try cursor.uint32(bytes), zone: try cursor.uint32(bytes),
                through: Version(rawValue: try cursor.uint64(bytes)))
            guard source.through <= (sources.first?.through ?? source.through) else {
                throw .value("lineage")
            }
            sources.append(source)
        }
    }
}

extension JournalEntry {
    /// The same; of a zone that was restored, with lineages that no token has.
    func withoutTokens(_ randomness: Randomness) throws(FormatError) -> JournalEntry {
        guard kind == .zone else { return self }
        var entry = try withPayload { payload throws(FormatError) in try ZoneEntry(payload) }
        guard entry.lineage != nil else { return self }
        entry.lineage?.redraw(randomness)
        var writer = ByteWriter()
        entry.write(to: &writer)
        return replacing(kind, zone: zone, payload: writer.bytes)
    }
}
