import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusIndex
import StratusJournal
import Support
import Testing
import StratusEngine

/// A checkpoint that is whole, and says something else than the journal.
struct IndexComparisonTests {
    private let sample: SmallStore

    private static let zone = RecordZone.ID(zoneName: "notes")
    private static let registry = ProjectionRegistry.store

    /// Something of all that an index knows, replaced and taken away in part; behind that a
    /// checkpoint, and more.
    init() async throws {
        let store = SmallStore(seed: 5)
        try await Self.fill(store)
        sample = store
    }

    @inline(never)
    private static func fill(_ store: SmallStore) async throws {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice", device: "phone")
        let other = RecordZone.ID(zoneName: "other")
        for id in [zone, other] { try await database.save(RecordZone(zoneID: id)) }
        for name in ["stays", "replaced", "removed", "deleted"] {
            try await save(name, to: database)
        }
        try await save("gone", in: other, to: database)
        try await save("bare", to: database, isBare: true)
        try await container.addIndex(on: "number", of: "Note", .queryable)
        let schema = try await container.schema()
        try await container.importSchema(
            schema.replacing("DEFINE SCHEMA", with: "DEFINE SCHEMA CREATE ROLE Reader;"))
        try await save("replaced", to: database)
        try await save("removed", to: database, isBare: true)
        try await database.deleteRecord(withID: Record.ID(recordName: "deleted", zoneID: zone))
        try await database.deleteRecordZone(withID: other)
        try await container.collectAssets()
        // Once more what was taken back.
        try await save("deleted", to: database)
        try await saveLinks(to: database)
        try await share(container, database)
        try await notify(container, database)
        try await push(container)
        try await submit(database)
        _ = try await container.mark("here")
        try await container.setHistoryPolicy(.everything)
        try await container.setDeletionPolicy(.everything)
        try await container.setNotificationPolicy(NotificationPolicy(count: 100))
        try await container.checkpoint()
        try await save("stays", to: database)
        try await save("behind the checkpoint", to: database)
        // What a clean close would keep is another checkpoint.
        store.disk.killProcesses()
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

    /// Under an operationID, and with a client token.
    @inline(never)
    private static func saveLinks(to database: Database) async throws {
        let records = ["child", "owned"].map { name in
            let target = Record.ID(recordName: "stays", zoneID: zone)
            var record = Record(
                recordType: "Part", recordID: Record.ID(recordName: name, zoneID: zone))
            record.parent = name == "child" ? Reference(recordID: target) : nil
            if name == "owned" {
                record["target"] = .reference(Reference(recordID: target, action: .deleteSelf))
            }
            return record
        }
        _ = try await database.modifyRecords(
            saving: records, operationID: "links", clientChangeTokenData: Data("token".utf8))
    }

    /// A record with one below it, with users of whom one is removed afterwards.
    @inline(never)
    private static func share(_ container: Container, _ database: Database) async throws {
        let users = ["bob", "carol"].map { container.userRecordID(for: $0) }
        let root = try await database.record(for: Record.ID(recordName: "stays", zoneID: zone))
        var share = Share(
            rootRecord: root, shareID: Record.ID(recordName: "share", zoneID: zone))
        for user in users {
            let info = UserIdentity.LookupInfo(userRecordID: user)
            try share.addParticipant(Share.Participant(info, permission: .readWrite))
        }
        let result = try await database.modifyRecords(saving: [root, share.record])
        if let failure = result.partialFailure { throw failure }
        let saved = Share(try await database.record(for: share.recordID))
        let link = try #require(saved?.shortGUID)
        for user in ["bob", "carol"] {
            try await container.setUserProfile(
                UserProfile(emailAddresses: ["\(user)@example.com"]), for: user)
            try await container.setRoles(["Reader"], of: user)
            try await container.acceptShare(link, as: user)
        }
        let accepted = Share(try await database.record(for: share.recordID))
        var fewer = try #require(accepted)
        fewer.setParticipants(
            fewer.participants.filter { $0.userIdentity.userRecordID != users[1] })
        try await database.save(fewer.record)
    }

    /// A subscription that badges, and two notifications, one of which is read; and one to the zone
    /// that ends with something to tell.
    @inline(never)
    private static func notify(_ container: Container, _ database: Database) async throws {
        let ones = try Query.Predicate("number = 1")
        var info = Subscription.NotificationInfo()
        info.shouldBadge = true
        let kind = Subscription.Kind.query(
            ones, recordType: "Note", zoneID: nil,
            options: [.firesOnRecordCreation, .firesOnRecordUpdate])
        try await database.save(Subscription(kind, id: "ones", notificationInfo: info))
        try await database.save(Subscription(.database(recordType: nil), id: "zones"))
        for _ in 0..<2 { try await save("told", to: database) }
        let page = try await container.notificationChanges(for: "alice")
        let first = try #require(page.notifications.first)
        let results = try await container.markNotificationsRead([first.id], for: "alice")
        let result = try #require(results[first.id])
        try result.get()
        try await database.deleteSubscription(withID: "zones")
    }

    private struct Sender: PushSender {
        func send(_ push: Push) async -> PushOutcome { .delivered }
    }

    /// A device, and how far it was sent its pushes.
    @inline(never)
    private static func push(_ container: Container) async throws {
        let device = PushDevice(
            name: "phone", token: Data("token".utf8), environment: .development)
        try await container.registerDevice(device, for: "alice")
        let before = try await container.deviceStates(for: "alice").first?.position
        try await save("pushed", to: container.privateDatabase(for: "alice"))
        let delivery = Task { try await container.deliverPushes(through: Sender()) }
        while try await container.deviceStates(for: "alice").first?.position == before {
            await Task.yield()
        }
        delivery.cancel()
        try await delivery.value
    }

    /// A long-lived operation that is pending, and one that is finished.
    @inline(never)
    private static func submit(_ database: Database) async throws {
        let request = LongLivedRequest.records(
            [Record.ID(recordName: "stays", zoneID: zone)], desiredKeys: nil)
        try await database.submit(request, operationID: "pending")
        _ = try await database.submit(request, operationID: "finished").answer()
    }

    private typealias Row = (key: IndexKey, value: IndexValue)

    /// The checkpoint of a store, taken apart.
    private struct Parts {
        var version: UInt64
        var zoneCount: UInt64
        var userCount: UInt64
        var deadBytes: UInt64
        var history: KeptHistory
        var deletions: KeptWindow
        var indexes: IndexTable
        var names: [UInt8]
        var locations: [(number: UInt64, offset: UInt64)] = []
        var index: OrderedIndex
        /// Of whatever is new.
        var stamp: UInt64

        /// The rows of a keyspace, as they were.
        func rows(_ keyspace: UInt8) throws -> [Row] {
            var rows: [Row] = []
            var cursor = index.cursor(IndexKey.all, .blocking)
            while let row = try cursor.next() {
                if row.key.keyspace == keyspace { rows.append(row) }
            }
            return rows
        }

        init(_ manifest: Manifest, in storage: any Storage) throws {
            let checkpoint = try #require(manifest.checkpoint)
            let state = checkpoint.state.span
            var cursor = ByteCursor()
            version = try cursor.varint(state)
            zoneCount = try cursor.varint(state)
            userCount = try cursor.varint(state)
            deadBytes = try cursor.varint(state)
            history = try KeptHistory(state, &cursor)
            deletions = try KeptWindow(state, &cursor)
            indexes = try IndexTable(state, &cursor)
            let length = try cursor.count(state, upTo: state.count)
            names = state.array(in: try cursor.range(state, count: length))
            for _ in 0..<(try cursor.varint(state)) {
                locations.append((try cursor.varint(state), try cursor.varint(state)))
            }
            let cache = BlockCache(limit: 1 << 20)
            index = try OrderedIndex(
                description: state.extracting(cursor.position..<state.count), file: "manifest",
                in: ProjectionRegistry.store.tables(of: manifest, in: storage, cache: cache))
            stamp = checkpoint.position.offset.rawValue - 1
        }

        var state: [UInt8] {
            var writer = ByteWriter()
            for number in [version, zoneCount, userCount, deadBytes] { writer.varint(number) }
            history.write(to: &writer)
            deletions.write(to: &writer)
            indexes.write(to: &writer)
            writer.varint(names.count)
            writer.append(names)
            writer.varint(locations.count)
            for (number, offset) in locations {
                writer.varint(number)
                writer.varint(offset)
            }
            writer.append(index.description)
            return writer.bytes
        }
    }

    /// What a verification finds after `change` was made to what the checkpoint names.
    private func findings(
        _ store: SmallStore? = nil, memoryLimit: Int = StoreVerification.memoryLimit,
        _ change: (inout Parts) throws -> Void
    ) throws -> [StoreError.Place] {
        let store = (store ?? sample).copy(seed: 1)
        let storage = try LocalStorage(
            at: SmallStore.directory, .writing(creating: false), on: store.disk.process())
        var manifest = try store.manifest
        let position = try #require(manifest.checkpoint?.position)
        var parts = try Parts(manifest, in: storage)
        try change(&parts)
        parts.index.freeze()
        if let output = try parts.index.checkpointJob()?.run() { _ = parts.index.install(output) }
        manifest.set(
            Manifest.Checkpoint(
                position: position, files: parts.index.fileNames, state: parts.state))
        storage.close()
        store.disk.replaceContents(store.path(manifest.fileName), manifest.encoded())
        let names = store.disk.paths
        let places = try store.verification(memoryLimit: memoryLimit).findings.map(\.place)
        #expect(store.disk.paths == names, "verify leaves nothing behind")
        for place in places {
            #expect(place.file == manifest.fileName && place.byte == manifest.checkpointPlace)
            #expect(StoreVerification.canBeMadeAnew(place))
        }
        return places
    }

    /// Only a compaction makes horizons, and compares less; a share grows only while a call lasts.
    private static let keyspaces: [KeySpace] = {
        let others: [KeySpace] = [.horizons, .participationHorizons, .growingShares]
        let numbers = Set(others.map(\.rawValue))
        return registry.projections.flatMap { $0.keyspaces }.filter {
            !numbers.contains($0.rawValue)
        }
    }()

    @Test func `what a checkpoint says is what the journal says`() throws {
        #expect(try findings { _ in }.isEmpty)
        // Of every keyspace there is something that could differ.
        _ = try findings { parts in
            for keyspace in Self.keyspaces {
                let rows = try parts.rows(keyspace.rawValue)
                #expect(!rows.isEmpty, "\(keyspace.name)")
            }
        }
    }

    @Test func `a row that is missing is found, in every keyspace, with the entry that made it`()
        throws
    {
        for keyspace in Self.keyspaces {
            var stamp: UInt64?
            let found = try findings { parts in
                let row = try #require(try parts.rows(keyspace.rawValue).last)
                stamp = row.value.stamp
                parts.index.remove(row.key, at: parts.stamp)
            }
            #expect(found.map(\.kind) == ["checkpoint.\(keyspace.name)"])
            #expect(found.map(\.offset) == [stamp])
        }
    }

    @Test func `a row that says something else is found, in every keyspace`() throws {
        for keyspace in Self.keyspaces {
            for part in 0..<3 {
                let found = try findings { parts in
                    let (key, value) = try #require(try parts.rows(keyspace.rawValue).first)
                    var other = value
                    if part == 0 { other.first ^= 1 << 30 }
                    if part == 1 { other.second ^= 1 << 30 }
                    other.stamp = part == 2 ? parts.stamp : value.stamp
                    parts.index.set(key, other)
                }
                #expect(found.map(\.kind) == ["checkpoint.\(keyspace.name)"], "part \(part)")
            }
        }
    }

    @Test func `a row of which the journal says nothing is found, in every keyspace`() throws {
        let unknown = KeySpace(77, "keyspace 77")
        for keyspace in Self.keyspaces + [unknown] {
            let found = try findings { parts in
                let key = keyspace.key(zone: 1).appending(UInt64.max)
                parts.index.set(key, IndexValue(stamp: parts.stamp))
            }
            #expect(found.map(\.kind) == ["checkpoint.\(keyspace.name)"])
            #expect(found.map(\.offset) == [nil])
        }
    }

    @Test func `each keyspace is named once, with the earliest entry that says otherwise`() throws {
        var stamps: [UInt64] = []
        let found = try findings { parts in
            for keyspace: UInt8 in [2, 1] {
                let rows = try parts.rows(keyspace)
                stamps.insert(rows.map(\.value.stamp).min() ?? 0, at: 0)
                for row in rows { parts.index.remove(row.key, at: parts.stamp) }
            }
            parts.index.set(
                KeySpace(2, "").key(zone: 1).appending(UInt64(1)), IndexValue(stamp: parts.stamp))
        }
        #expect(found.map(\.kind) == ["checkpoint.records", "checkpoint.feed"])
        #expect(found.map(\.offset) == stamps)
    }

    @Test func `counts and names that are not those of the journal are found`() throws {
        let changes: [(inout Parts) throws -> Void] = [
            { $0.zoneCount += 1 }, { $0.userCount -= 1 },
            { parts in
                // The kind of the last field.
                parts.names[parts.names.count - 1] = 3
            },
            { $0.locations[0].offset -= 1 }, { $0.locations[1].number += 1 },
            { $0.history = KeptHistory() }, { $0.indexes = .empty },
        ]
        for (number, change) in changes.enumerated() {
            let found = try findings(nil, change)
            #expect(found.map(\.kind) == ["checkpoint.state"], "change \(number)")
        }
    }

    @Test func `a state whose locations of names make no sense is of no use`() throws {
        let changes: [(inout Parts) throws -> Void] = [
            { $0.locations = [] }, { $0.locations[0].number = 1 },
            { $0.locations[1].number = 0 }, { $0.locations[1].number = 1000 },
            { $0.locations[1].offset = $0.locations[0].offset },
            { $0.locations[$0.locations.count - 1].offset = $0.stamp + 1 },
            { $0.locations[$0.locations.count - 1].offset = 1 << 52 },
        ]
        for (number, change) in changes.enumerated() {
            let found = try findings(nil, change)
            #expect(found.map(\.kind) == ["checkpoint.refused"], "change \(number)")
        }
    }

    @Test func `rows that were built of a version that was replaced do not come back`()
        async throws
    {
        let store = SmallStore(seed: 7)
        try await Self.replaceBuilt(store)
        #expect(try store.verification().findings.isEmpty)
    }

    /// Builds an index of records of which one is then replaced, and its first version compacted away.
    @inline(never)
    private static func replaceBuilt(_ store: SmallStore) async throws {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        func save(_ names: [String], _ number: Int64) async throws {
            let records = names.map { name in
                var record = Record(
                    recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zone))
                record["number"] = .int64(number)
                record["text"] = .string(String(repeating: "x", count: 500))
                return record
            }
            let result = try await database.modifyRecords(saving: records, savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
        }
        try await save(["replaced", "stays"], 1)
        try await container.addIndex(on: "number", of: "Note", .queryable)
        try await save(["replaced"], 2)
        try await save((0..<200).map { "more\($0)" }, 3)
        try await container.checkpoint()
        try await container.maintenance.compact()
        try await container.close()
    }

    @Test func `an index that does not fit into memory is compared all the same`() async throws {
        let store = SmallStore(seed: 6)
        try await Self.fillBeyondMemory(store)
        let least = 1 << 20
        #expect(try findings(store, memoryLimit: least) { _ in }.isEmpty)
        let found = try findings(store, memoryLimit: least) { parts in
            let rows = try parts.rows(3)
            parts.index.remove(rows[rows.count / 2].key, at: parts.stamp)
        }
        #expect(found.map(\.kind) == ["checkpoint.types"])
        // The room for temporary files is needed for that.
        let error = #expect(throws: JournalError.self) {
            _ = try store.verification(memoryLimit: least, scratch: "none")
        }
        #expect(error.map { StoreError($0).cause } == .inputOutput("none (open: no such file)"))
    }

    @inline(never)
    private static func fillBeyondMemory(_ store: SmallStore) async throws {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        for round in 0..<3 {
            let records = (0..<3000).map { number in
                var record = Record(
                    recordType: "Note",
                    recordID: Record.ID(recordName: "r\(number + round * 1000)", zoneID: zone))
                record["number"] = .int64(Int64(round))
                return record
            }
            _ = try await database.modifyRecords(saving: records, savePolicy: .allKeys)
        }
        try await container.checkpoint()
        try await container.close()
    }
}
