import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// What else of a store has to do with the versions that a zone was restored with.
struct ZoneLineageTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")
    private static let user = "alice"

    private func id(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: Self.zone)
    }

    private func database(_ container: Container) -> Database {
        container.privateDatabase(for: Self.user)
    }

    private func now(_ container: Container) -> DatabaseSnapshot {
        container.snapshot().privateDatabase(for: Self.user)
    }

    private func save(
        _ container: Container, _ name: String, _ text: String = "text", type: String = "Note",
        parent: String? = nil
    ) async throws {
        var record =
            (try? await database(container).record(for: id(name)))
            ?? Record(recordType: type, recordID: id(name))
        record["text"] = .string(text)
        if let parent { record.parent = Reference(recordID: id(parent)) }
        try await database(container).save(record)
    }

    /// A zone of some records in a store, of which one was deleted.
    private func filled(
        _ store: SmallStore, count: Int = 6, isTree: Bool = false
    ) async throws -> Container {
        let container = try store.open()
        try await database(container).save(RecordZone(zoneID: Self.zone))
        for number in 0..<count {
            try await save(container, "r\(number)", parent: isTree && number > 0 ? "r0" : nil)
        }
        try await database(container).deleteRecord(withID: id("r\(count - 1)"))
        return container
    }

    private func other(_ name: String = "other") throws -> Container {
        try store.opening(name).open()
    }

    private func page(
        _ container: Container, since token: ChangeToken? = nil, asOf point: ChangeToken? = nil,
        types: [String]? = nil, limit: Int? = nil
    ) async throws(StoreError) -> RecordZoneChanges {
        try await database(container).recordZoneChanges(
            inZoneWith: Self.zone, since: token, asOf: point, desiredRecordTypes: types,
            resultsLimit: limit)
    }

    @Test func `the devices of a store stay registered when a zone comes from another one`()
        async throws
    {
        let source = try await filled(store)
        let target = try other()
        try await target.registerDevice(
            PushDevice(name: "phone", token: Data([1]), environment: .development), for: "bob")
        try await database(target).restore(Self.zone, from: now(source))
        #expect(try store.opening("other").manifest.incarnation > 0)
        #expect(try await target.devices(for: "bob").map(\.name) == ["phone"])
    }

    @Test func `a tree that was restored can be shared`() async throws {
        let source = try await filled(store, count: 12, isTree: true)
        let target = try other()
        // So that other entries lie where the records lay.
        try await database(target).save(RecordZone(zoneName: "own"))
        for number in 0..<30 {
            try await database(target).save(
                Record(
                    recordType: "Note",
                    recordID: Record.ID(
                        recordName: "o\(number)", zoneID: RecordZone.ID(zoneName: "own"))))
        }
        try await database(target).restore(Self.zone, from: now(source))
        let tag = try await database(target).record(for: id("r3")).recordChangeTag
        let root = try await database(target).record(for: id("r0"))
        var share = Share(rootRecord: root)
        share.publicPermission = .readWrite
        let result = try await database(target).modifyRecords(saving: [root, share.record])
        let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
        try await target.acceptShare(try #require(saved?.shortGUID), as: "bob")
        let shared = target.sharedDatabase(for: "bob")
        let others = RecordZone.ID(
            zoneName: "notes", ownerName: target.userRecordName(for: Self.user))
        let all = try await shared.recordZoneChanges(inZoneWith: others)
        #expect(all.modifications.count == 12)
        for record in all.modifications where record.recordType == "Note" {
            let name = record.recordID.recordName
            #expect(record["text"] == "text" && name.hasPrefix("r"))
            let own = try await database(target).record(for: id(name))
            #expect(own.recordChangeTag == record.recordChangeTag)
        }
        // Sharing moves no tag.
        #expect(try await database(target).record(for: id("r3")).recordChangeTag == tag)
        // What ends is told of by the names of what it was.
        try await database(target).deleteRecord(withID: share.recordID)
        #expect(try await shared.allRecordZones().isEmpty)
        try await target.close()
        #expect(try store.opening("other").verification(scratch: "other").findings.isEmpty)
    }

    @Test func `a clone and a salvaged store take no token of what a zone was`() async throws {
        let container = try await filled(store)
        try await container.setHistoryPolicy(.everything)
        let before = container.snapshot().offset - 1
        let token = try await page(container).changeToken
        try await database(container).deleteRecordZone(withID: Self.zone)
        let past = try await container.snapshot(at: .offset(before))
        try await database(container).restore(
            Self.zone, from: past.privateDatabase(for: Self.user))
        let new = try await page(container, since: token).changeToken
        _ = try await container.backup(to: store.archivePath("a"))
        try await container.close()
        try await store.openArchive("a").restore(to: "restored")
        try await store.openArchive("a").restore(to: "clone", cloning: true)
        _ = try await Container.salvage(
            SmallStore.directory, to: "salvaged", on: store.disk.process(),
            scratch: SmallStore.directory)
        for (name, isGood) in [("restored", true), ("clone", false), ("salvaged", false)] {
            let copy = try other(name)
            #expect(try await page(copy).modifications.count == 5)
            for token in [token, new] {
                let found = await cause { () throws(StoreError) in
                    _ = try await page(copy, since: token)
                }
                #expect((found == nil) == isGood, "\(name)")
            }
            // Those that it gives are good.
            let own = try await page(copy, limit: 2).changeToken
            #expect(try await page(copy, since: own).modifications.count == 3, "\(name)")
            try await copy.close()
        }
    }

    @Test func `copies that restored different zones do not take each other's tokens`()
        async throws
    {
        let source = try await filled(store)
        let first = try other("first")
        try await database(first).save(RecordZone(zoneName: "own"))
        _ = try await first.backup(to: store.archivePath("a"))
        try await store.openArchive("a").restore(to: "second")
        let second = try other("second")
        try await database(first).restore(Self.zone, from: now(source))
        // In the other one the zone of the same number and name is another.
        try await database(second).save(RecordZone(zoneID: Self.zone))
        try await save(second, "r1", "other")
        let token = try await page(second).changeToken
        #expect(
            await cause { () throws(StoreError) in _ = try await page(first, since: token) }
                == .changeToken(.incarnation))
    }

    @Test func `a record that was moved out of a zone which came back is told from what it was`()
        async throws
    {
        let container = try await filled(store)
        try await container.setHistoryPolicy(.everything)
        let before = container.snapshot().offset - 1
        let other = RecordZone.ID(zoneName: "other")
        try await database(container).save(RecordZone(zoneID: other))
        _ = try await database(container).moveRecords([id("r4")], to: other)
        try await database(container).deleteRecordZone(withID: Self.zone)
        let past = try await container.snapshot(at: .offset(before))
        try await database(container).restore(
            Self.zone, from: past.privateDatabase(for: Self.user))
        let moved = Record.ID(recordName: "r4", zoneID: other)
        var record = try await database(container).record(for: moved)
        record["text"] = "moved"
        let tag = try await database(container).save(record).recordChangeTag
        // A client takes the tag of the one for that of the other.
        let stale = Record(recordType: "Note", recordID: id("r4"), recordChangeTag: tag)
        let error = await #expect(throws: StoreError.self) {
            try await database(container).save(stale)
        }
        #expect(error?.code == .serverRecordChanged && error?.ancestorRecord == nil)
    }

    @Test func `what a zone was before its restore is not known, and not made up`() async throws {
        let source = try await filled(store)
        let early = try await page(source).changeToken
        try await save(source, "r1", "changed")
        let late = try await page(source).changeToken
        let target = try other()
        try await target.setHistoryPolicy(.everything)
        try await database(target).restore(Self.zone, from: now(source))
        #expect(
            await cause { () throws(StoreError) in _ = try await page(target, asOf: early) }
                == .changeToken(.compacted))
        #expect(try await page(target, asOf: late).modifications.count == 5)
        // What has changed since is traced back to what was restored.
        let restored = try await page(target).changeToken
        try await save(target, "r1", "once more")
        let then = try await page(target, asOf: restored)
        #expect(
            then.modifications.first { $0.recordID == id("r1") }?["text"] == "changed")
        // As a moment, a token of what was restored is that of the restore.
        let moment = try await target.snapshot(at: .token(restored))
        let held = moment.privateDatabase(for: Self.user)
        #expect(try held.record(for: id("r1"))["text"] == "changed")
        // The tool tells of either which zone takes it.
        for token in [late, restored] {
            let info = try await target.info(of: token)
            #expect(info.refusal == nil && info.zoneID == Self.zone)
        }
        #expect(try await target.info(of: early).refusal == nil)
        // One from after what was restored is refused for that, as the feed refuses it.
        try await save(source, "r1", "behind")
        let behind = try await page(source).changeToken
        let refusal = try await target.info(of: behind).refusal
        #expect(refusal?.cause == .changeToken(.incarnation), "\(String(describing: refusal))")
        #expect(
            await cause { () throws(StoreError) in _ = try await page(target, since: behind) }
                == refusal?.cause)
    }

    @Test func `a fetch that began in a later state does not miss what is deleted here`()
        async throws
    {
        let source = try await filled(store)
        _ = try await source.backup(to: store.archivePath("a"))
        // The original goes on, and raises its own versions.
        let third = try await filled(store.opening("third"))
        let raised = RecordZone.ID(zoneName: "notes")
        try await source.privateDatabase(for: "eve").save(RecordZone(zoneName: "filler"))
        try await third.privateDatabase(for: "bob").save(RecordZone(zoneID: raised))
        try await source.privateDatabase(for: "bob").restore(
            raised, from: third.snapshot().privateDatabase(for: "bob"))
        #expect(try store.manifest.incarnation > 0)
        let amid = try await page(source, limit: 1)
        #expect(amid.moreComing)
        let target = try other()
        let archived = try await store.openArchive("a").container()
        try await database(target).restore(Self.zone, from: now(archived))
        try await store.openArchive("a").restore(to: "copy")
        let deleted = try #require(amid.modifications.first).recordID
        for container in [target, try other("copy")] {
            try await database(container).deleteRecord(withID: deleted)
            let rest = try await page(container, since: amid.changeToken)
            #expect(rest.deletions.map(\.recordID) == [deleted])
        }
    }

    @Test func `who follows one type is told of its deletions, or begins anew`() async throws {
        let source = try await filled(store)
        let early = try await page(source, types: ["Note"]).changeToken
        try await database(source).deleteRecord(withID: id("r4"))
        try await save(source, "r4", type: "Task")
        let late = try await page(source, types: ["Note"]).changeToken
        let target = try other()
        try await database(target).restore(Self.zone, from: now(source))
        #expect(
            await cause { () throws(StoreError) in
                _ = try await page(target, since: early, types: ["Note"])
            } == .changeToken(.compacted))
        #expect(try await page(target, since: late, types: ["Note"]).deletions.isEmpty)
    }

    @Test func `a production store takes a zone whose deletions are of types it does not have`()
        async throws
    {
        let source = try store.open()
        try await database(source).save(RecordZone(zoneID: Self.zone))
        try await save(source, "gone", type: "Draft")
        let early = try await page(source).changeToken
        try await database(source).deleteRecord(withID: id("gone"))
        try await save(source, "r", type: "Kept")
        let late = try await page(source).changeToken
        var options = store.options
        options.environment = .production
        var production = store.opening("production")
        production.options = options
        let target = try production.open()
        try await target.deploySchema("DEFINE SCHEMA RECORD TYPE Kept (text STRING);")
        let done = try await database(target).restore(Self.zone, from: now(source))
        #expect(done.keepsHistory && done.added == ["r"])
        #expect(
            await cause { () throws(StoreError) in _ = try await page(target, since: early) }
                == .changeToken(.compacted))
        #expect(try await page(target, since: late).modifications.isEmpty)
    }

    @Test func `subscriptions to two types are told of a restore one after the other`()
        async throws
    {
        let source = try await filled(store)
        try await save(source, "task", type: "Task")
        try await save(source, "r1", "last")
        let target = try other()
        for type in ["Note", "Task"] {
            try await database(target).save(Subscription(.database(recordType: type), id: type))
        }
        var token = try await target.notificationChanges(for: Self.user).notificationToken
        try await database(target).restore(Self.zone, from: now(source))
        var told: Set<String> = []
        for _ in 0..<3 {
            let page = try await target.notificationChanges(
                for: Self.user, since: token, resultsLimit: 1)
            told.formUnion(page.notifications.map(\.subscriptionID))
            token = page.notificationToken
        }
        #expect(told == ["Note", "Task"])
    }
}
