import Stratus
import StratusEngine
import StratusJournal
import Testing

/// A store of alice's, in whose zones others have had a part.
struct ParticipationWorld {
    private(set) var store: DiskStore
    var container: Container
    static let users = ["bob", "carol", "dave", "eve"]

    var alice: Database { container.privateDatabase(for: "alice") }

    /// - Parameter others: zones made before the usual ones, in which all keep their parts.
    init(others: [String] = []) async throws {
        var store = DiskStore()
        store.options.segmentLength = 16 << 10
        store.steppedByCaller = true
        self.store = store
        container = try store.open()
        for zone in others + ["removed", "ended", "deleted", "living"] {
            let id = RecordZone.ID(zoneName: zone)
            try await alice.save(RecordZone(zoneID: id))
            let root = note("root", in: id)
            var share = Share(rootRecord: root)
            share.publicPermission = .readWrite
            let result = try await alice.modifyRecords(saving: [root, share.record])
            if let failure = result.partialFailure { throw failure }
            let link = Share(try #require(try result.saveResults[share.recordID]?.get()))?
                .shortGUID
            for user in Self.users {
                try await container.acceptShare(try #require(link), as: user)
            }
        }
    }

    /// Opens the store anew.
    mutating func reopen(steppedByCaller: Bool) async throws {
        try await container.close()
        store.steppedByCaller = steppedByCaller
        container = try store.open(creating: false)
    }

    /// Alice changes what is shared of a zone.
    func change(_ zone: String, to number: Int) async throws {
        let id = RecordZone.ID(zoneName: zone)
        var root = try await alice.record(for: noteID("root", in: id))
        root["n"] = .int64(Int64(number))
        try await alice.save(root)
    }

    /// Bob's and carol's part in three zones ends, each time in another way; dave's and eve's
    /// where the share or the zone ends.
    func end() async throws {
        for user in ["bob", "carol"] {
            try await container.sharedDatabase(for: user).deleteRecord(
                withID: try await share(in: "removed", as: user))
        }
        let ended = RecordZone.ID(zoneName: "ended")
        let root = try await alice.record(for: noteID("root", in: ended))
        try await alice.deleteRecord(withID: try #require(root.share).recordID)
        try await alice.deleteRecordZone(withID: RecordZone.ID(zoneName: "deleted"))
    }

    private func share(in zone: String, as user: String) async throws -> Record.ID {
        let id = RecordZone.ID(
            zoneName: zone, ownerName: container.userRecordName(for: "alice"))
        let root = try await container.sharedDatabase(for: user).record(
            for: noteID("root", in: id))
        return try #require(root.share).recordID
    }

    /// Writes so much that segments are worth compacting, and compacts until nothing more goes.
    func compact() async throws {
        let living = RecordZone.ID(zoneName: "living")
        for round in 0..<40 {
            try await alice.saveAll(
                [
                    note(
                        "filler",
                        ["text": .string(String(repeating: "\(round % 10)", count: 900))],
                        in: living)
                ], savePolicy: .allKeys)
        }
        for _ in 0..<4 { try await container.maintenance.compact() }
    }

    func rows(_ keyspace: String) async throws -> Int {
        // Then all of them lie in tables, and none twice.
        try await container.maintenance.erase()
        let keyspaces = try await container.indexStatistics().keyspaces
        return keyspaces.first { $0.name == keyspace }?.entries ?? 0
    }

    func zones(of user: String) async throws -> Set<String> {
        Set(
            try await container.sharedDatabase(for: user).allRecordZones().map {
                $0.zoneID.zoneName
            })
    }

    func token(of user: String) async throws -> ChangeToken {
        let changes = try await container.sharedDatabase(for: user).databaseChanges()
        #expect(!changes.moreComing)
        return changes.changeToken
    }
}
