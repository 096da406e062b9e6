import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusIndex
import StratusJournal
import Support
import Testing

/// An index that is whole, and says something else of assets than the journal.
struct AssetMapTests {
    private let sample: SmallStore

    private static let zone = RecordZone.ID(zoneName: "notes")
    private static let wholeRange = IndexKey()..<IndexKey().appending(UInt8(0xff))
    private static let records: UInt8 = 1
    private static let assets: UInt8 = 6
    private static let chunks: UInt8 = 24

    /// Assets that were saved, replaced, taken away, deleted with a record and with a zone, and
    /// collected; behind that a checkpoint.
    init() async throws {
        let store = SmallStore(seed: 5)
        try await Self.fill(store)
        sample = store
    }

    @inline(never)
    private static func fill(_ store: SmallStore) async throws {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        let other = RecordZone.ID(zoneName: "other")
        for id in [zone, other] { try await database.save(RecordZone(zoneID: id)) }
        for name in ["stays", "replaced", "removed", "deleted"] {
            try await save(name, to: database)
        }
        try await save("gone", in: other, to: database)
        try await save("bare", to: database, isBare: true)
        try await save("replaced", to: database)
        try await save("removed", to: database, isBare: true)
        try await database.deleteRecord(withID: Record.ID(recordName: "deleted", zoneID: zone))
        try await database.deleteRecordZone(withID: other)
        try await container.collectAssets()
        // Once more what was taken back.
        try await save("deleted", to: database)
        try await container.checkpoint()
        try await container.close()
    }

    @inline(never)
    private static func save(
        _ name: String, in zone: RecordZone.ID = zone, to database: Database, isBare: Bool = false
    ) async throws {
        let id = Record.ID(recordName: name, zoneID: zone)
        var record =
            (try? await database.record(for: id)) ?? Record(recordType: "Note", recordID: id)
        let version = record.recordChangeTag ?? "new"
        record["file"] = isBare ? nil : .asset(Asset(data: Data("\(name) \(version)".utf8)))
        record["number"] = 1
        try await database.save(record)
    }

    private typealias Row = (key: IndexKey, value: IndexValue)

    /// What a verification finds after `change` was made to the index that the checkpoint names.
    /// It is given the rows of a keyspace, and the stamp of whatever is new.
    private func findings(
        _ change: (inout OrderedIndex, (UInt8) throws -> [Row], UInt64) throws -> Void
    ) throws -> [StoreError.Place] {
        let store = sample.copy(seed: 1)
        let storage = try LocalStorage(
            at: SmallStore.directory, .writing(creating: false), on: store.disk.process())
        var manifest = try store.manifest
        var checkpoint = try #require(manifest.checkpoint)
        var cursor = ByteCursor()
        // The version and two counts, then the names with their length.
        for _ in 0..<3 { _ = try cursor.varint(checkpoint.state.span) }
        let length = Int(try cursor.varint(checkpoint.state.span))
        cursor.position += length
        let identity = Hash128(high: manifest.storeID.high, low: manifest.storeID.low)
        let tables = TableStore(storage, cache: BlockCache(limit: 1 << 20), storeID: identity)
        var index = try OrderedIndex(
            description: checkpoint.state.span.extracting(
                cursor.position..<checkpoint.state.count), file: "manifest", in: tables)
        let whole = index
        func rows(_ keyspace: UInt8) throws -> [Row] {
            var rows: [Row] = []
            var cursor = whole.cursor(Self.wholeRange, .blocking)
            while let row = try cursor.next() {
                if row.key.count > 4, row.key.byte(at: 4) == keyspace { rows.append(row) }
            }
            return rows
        }
        try change(&index, rows, checkpoint.position.offset.rawValue - 1)
        index.freeze()
        if let output = try index.checkpointJob()?.run() { _ = index.install(output) }
        let head = checkpoint.state[..<cursor.position]
        checkpoint = Manifest.Checkpoint(
            position: checkpoint.position, files: index.fileNames,
            state: Array(head) + index.description)
        manifest.set(checkpoint)
        storage.close()
        store.disk.replaceContents(store.path(manifest.fileName), manifest.encoded())
        return try StoreVerification(
            LocalStorage(at: SmallStore.directory, .reading, on: store.disk.process())
        ).findings.map(\.place)
    }

    /// Whether all that was found is that the index is not what the journal says of `kind`.
    private static func areAbout(_ kind: String, _ findings: [StoreError.Place]) -> Bool {
        !findings.isEmpty
            && findings.allSatisfy {
                $0.kind == "checkpoint.\(kind)" && $0.file.hasPrefix(Manifest.filePrefix)
                    && StoreVerification.isOfIndex($0)
            }
    }

    @Test func `what the index says of assets and chunks is what the journal says`() throws {
        #expect(try findings { _, _, _ in }.isEmpty)
        // The journal has more than the index, as it should.
        _ = try findings { _, rows, _ in
            let (assets, chunks) = (try rows(Self.assets), try rows(Self.chunks))
            #expect(assets.count == 3 && chunks.count == 3)
        }
    }

    @Test func `a record with assets that the index does not name is found`() throws {
        for place in 0..<3 {
            let found = try findings { index, rows, stamp in
                index.remove(try rows(Self.assets)[place].key, at: stamp)
            }
            #expect(Self.areAbout("assets", found) && found.allSatisfy { $0.offset != nil })
        }
    }

    @Test func `a record that has no assets, or lies elsewhere, is found`() throws {
        let added = try findings { index, rows, stamp in
            let known = Set(try rows(Self.assets).map { $0.key.uint64(at: 5) })
            let first = try rows(Self.records).first { !known.contains($0.key.uint64(at: 5)) }
            let bare = try #require(first)
            let key = IndexKey(
                partition: bare.key.uint32(at: 0), keyspace: Self.assets,
                high: bare.key.uint64(at: 5), low: bare.key.uint64(at: 13))
            index.set(key, bare.value)
        }
        #expect(Self.areAbout("assets", added))
        for isNewer in [false, true] {
            let changed = try findings { index, rows, stamp in
                let (key, value) = try rows(Self.assets)[0]
                index.set(
                    key,
                    IndexValue(
                        stamp: isNewer ? stamp : value.stamp, first: value.first + 1,
                        second: value.second))
            }
            #expect(Self.areAbout("assets", changed))
        }
    }

    @Test func `a chunk that the index does not have, or has elsewhere, is found`() throws {
        let missing = try findings { index, rows, stamp in
            index.remove(try rows(Self.chunks)[0].key, at: stamp)
        }
        #expect(Self.areAbout("chunks", missing) && missing.allSatisfy { $0.offset != nil })
        for isNewer in [false, true] {
            let moved = try findings { index, rows, stamp in
                let (key, value) = try rows(Self.chunks)[1]
                index.set(
                    key,
                    IndexValue(
                        stamp: isNewer ? stamp : value.stamp, first: value.first,
                        second: value.second + 1 << 20))
            }
            #expect(Self.areAbout("chunks", moved))
        }
    }

    @Test func `a chunk of which the journal says nothing, or that it is gone, is found`() throws {
        let added = try findings { index, rows, _ in
            let (key, value) = try rows(Self.chunks)[0]
            let other = IndexKey(partition: 0).appending(Self.chunks)
                .appending(~key.uint64(at: 5), 1).appending(2, 3)
            index.set(other, value)
        }
        #expect(Self.areAbout("chunks", added))
    }
}
