import Stratus
import StratusJournal
import Support
import Testing

/// What a save may bring, in a store whose schema is frozen.
@Suite struct EnvironmentTests {
    /// A store in which one record of the type `Note` has the fields `text`, `list` and `secret`,
    /// and one of the type `Bare` none.
    private func makeProduction() async throws -> Container {
        let store = DiskStore()
        let development = try store.open()
        #expect(development.environment == .development)
        let database = development.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        var record = note("a", ["text": "a", "list": [1]])
        record.encryptedValues["secret"] = "s"
        try await database.save(record)
        try await database.save(note("bare", type: "Bare"))
        try await development.close()
        // A store of the other environment with the same schema.
        try store.editManifest {
            $0.environment = .production
            $0.set(nil)
        }
        return try store.open(creating: false, environment: .production)
    }

    @Test func `the environment is part of the store, and checked where a caller names one`()
        async throws
    {
        let store = DiskStore()
        try await store.open(environment: .production).close()
        #expect(try store.openReadOnly().environment == .production)
        #expect(try store.open(environment: nil).environment == .production)
        store.disk.killProcesses()
        let error = await failure { try store.open(environment: .development) }
        #expect(error.code == .invalidArguments)
        #expect(
            error.reason
                == "expected a store of the environment development, found one of production")
        try await store.open(environment: .production).close()
    }

    @Test func `in production a save with an unknown type or field has no effect`() async throws {
        let container = try await makeProduction()
        #expect(container.environment == .production)
        let database = container.privateDatabase(for: "alice")
        let names = container.information.nameCount
        let refused = [
            note("x", type: "Page"), note("x", ["new": 1]), note("x", ["new": []]),
            // Names that are in use, for something else.
            note("x", type: "text"), note("x", ["text": "a"], type: "Bare"),
            note("x", ["Bare": 1]), note("x", ["text": 5]),
        ]
        for record in refused {
            let error = await failure { try await database.save(record) }
            #expect(error.code == .invalidArguments, "\(record.recordType) \(record.allKeys)")
            let result = try await database.modifyRecords(
                saving: [note("y", ["text": "b"]), record])
            #expect(result.saveResults[noteID("x")]?.code == .invalidArguments)
            #expect(result.saveResults[noteID("y")]?.code == .batchRequestFailed)
        }
        #expect(try await database.names() == ["a", "bare"])
        #expect(container.information.nameCount == names)
    }

    @Test func `in production what the schema has is saved as ever`() async throws {
        let container = try await makeProduction()
        let database = container.privateDatabase(for: "alice")
        var record = note("b", ["text": "b", "list": []])
        record.encryptedValues["secret"] = "t"
        record = try await database.save(record)
        // What is removed needs no field.
        record["text"] = nil
        record["new"] = nil
        try await database.save(record)
        try await database.save(note("c", type: "Bare"))
        // New users, and zones, are nothing of the schema.
        let other = container.privateDatabase(for: "bob")
        try await other.save(RecordZone(zoneID: notes))
        try await other.save(note("a", ["text": "of bob"]))
        let shared = container.publicDatabase(as: "bob")
        var user = try await shared.record(for: container.userRecordID(for: "bob"))
        user = try await shared.save(user)
        user["text"] = "no field of users"
        let error = await failure { [user] in try await shared.save(user) }
        #expect(error.code == .invalidArguments)
        #expect(try await database.names() == ["a", "b", "bare", "c"])
    }

    // Semantics 8.2.
    @Test func `in production nothing is shared until the type of shares is deployed`()
        async throws
    {
        let container = try Container.inMemory(environment: .production)
        let schema = "DEFINE SCHEMA RECORD TYPE Note ( text STRING );"
        try await container.deploySchema(schema)
        let alice = container.privateDatabase(for: "alice")
        try await alice.save(RecordZone(zoneID: notes))
        var root = try await alice.save(note("root", ["text": "a"]))
        func refusal(of share: Share, with records: [Record]) async throws -> StoreError? {
            let result = try await alice.modifyRecords(saving: records + [share.record])
            for record in records {
                #expect(result.saveResults[record.recordID]?.code == .batchRequestFailed)
            }
            guard case .failure(let error)? = result.saveResults[share.recordID] else { return nil }
            return error
        }
        root["text"] = "b"
        for (share, records) in [
            (Share(rootRecord: root), [root]), (Share(recordZoneID: notes), []),
        ] {
            let error = try await refusal(of: share, with: records)
            #expect(error?.code == .invalidArguments)
            #expect(
                error?.reason == "cannot create new type 'cloudkit.share' in production schema")
        }
        #expect(try await alice.names() == ["root"])
        let kept = try await alice.record(for: noteID("root"))
        #expect(kept.share == nil && kept["text"] == "a")
        // The fields of shares are deployed as those of any type.
        let type = #"RECORD TYPE "cloudkit.share" ("cloudkit.type" STRING"#
        try await container.deploySchema("\(schema) \(type));")
        var share = Share(rootRecord: root)
        share.title = "Ours"
        let error = try await refusal(of: share, with: [root])
        #expect(error?.code == .invalidArguments)
        #expect(
            error?.reason
                == "cannot create or modify field 'cloudkit.title' in production schema")
        try await container.deploySchema("\(schema) \(type), \"cloudkit.title\" STRING);")
        share.publicPermission = .readOnly
        let result = try await alice.modifyRecords(saving: [root, share.record])
        #expect(result.partialFailure == nil)
        let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
        // Who has a part in it is nothing of the schema.
        try await container.acceptShare(try #require(saved?.shortGUID), as: "bob")
        let zone = RecordZone.ID(
            zoneName: notes.zoneName, ownerName: container.userRecordName(for: "alice"))
        let bob = container.sharedDatabase(for: "bob")
        #expect(try await bob.record(for: noteID("root", in: zone))["text"] == "b")
        #expect(
            Share(try await bob.record(for: noteID(share.recordID.recordName, in: zone)))?.title
                == "Ours")
    }
}
