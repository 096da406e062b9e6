import FoundationEssentials
import Stratus
import Testing

/// Records that are brought back from an earlier state.
struct RestoreTests {
    private static let zone = RecordZone.ID(zoneName: "notes")
    private let container: Container
    private let database: Database

    init() async throws {
        container = try Container.inMemory()
        database = container.privateDatabase(for: "alice")
        try await container.setHistoryPolicy(.everything)
        try await database.save(RecordZone(zoneID: Self.zone))
    }

    private static func id(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: zone)
    }

    private func save(
        _ name: String, _ text: String, parent: String? = nil, file: Data? = nil
    ) async throws {
        let id = Self.id(name)
        var record =
            (try? await database.record(for: id)) ?? Record(recordType: "Note", recordID: id)
        record["text"] = .string(text)
        if let parent { record.parent = Reference(recordID: Self.id(parent)) }
        if let file { record["file"] = .asset(Asset(data: file)) }
        try await database.save(record)
    }

    private func texts(
        _ database: Database? = nil, in zone: RecordZone.ID = zone
    ) async throws -> [String: String] {
        let page = try await (database ?? self.database).records(inZoneWith: zone)
        return Dictionary(
            uniqueKeysWithValues: page.records.map {
                ($0.recordID.recordName, $0["text"]?.stringValue ?? "")
            })
    }

    /// Three records as they were, of which one is gone, one was changed, and a new one came.
    private func change() async throws -> DatabaseSnapshot {
        for name in ["a", "b", "c"] { try await save(name, "old") }
        let before = container.snapshot().offset
        try await database.deleteRecord(withID: Self.id("a"))
        try await save("b", "new")
        try await save("d", "new")
        return try await container.snapshot(at: .offset(before - 1)).privateDatabase(for: "alice")
    }

    @Test(arguments: [
        (RestoreMode.skip, ["a": "old", "b": "new", "c": "old", "d": "new"]),
        (.keep, ["a": "old", "b": "new", "c": "old", "d": "new"]),
        (.replace, ["a": "old", "b": "old", "c": "old", "d": "new"]),
        (.mirror, ["a": "old", "b": "old", "c": "old"]),
    ])
    func `what becomes of what is there, the mode says`(
        mode: RestoreMode, expected: [String: String]
    ) async throws {
        let before = try await change()
        let token = try await database.recordZoneChanges(inZoneWith: Self.zone).changeToken
        let plan = try await database.restore(Self.zone, from: before, mode: mode, dryRun: true)
        #expect(try await texts() == ["b": "new", "c": "old", "d": "new"])
        var done = try await database.restore(Self.zone, from: before, mode: mode)
        #expect(try await texts() == expected)
        #expect(done.isProved == (mode == .mirror))
        done.isProved = false
        #expect(done == plan)
        #expect(done.added == ["a"] && done.unchangedCount == 1)
        #expect(done.deleted == (mode == .mirror ? ["d"] : []))
        #expect(done.kept == (mode == .skip || mode == .keep ? ["b"] : []))
        // As changes like any other.
        let changes = try await database.recordZoneChanges(inZoneWith: Self.zone, since: token)
        #expect(changes.modifications.count == done.added.count + done.replaced.count)
        #expect(changes.deletions.count == done.deleted.count)
        // Done again it changes nothing.
        #expect(try await database.restore(Self.zone, from: before, mode: mode).isEmpty)
    }

    @Test func `fields that came since go, and assets, parents and references come back`()
        async throws
    {
        try await save("top", "old", file: Data([1, 2, 3]))
        try await save("below", "old", parent: "top")
        var record = try await database.record(for: Self.id("below"))
        record["list"] = [1, 2]
        record["link"] = .reference(Reference(recordID: Self.id("top"), action: .deleteSelf))
        record.encryptedValues["secret"] = "kept"
        try await database.save(record)
        let before = container.snapshot().offset
        record = try await database.record(for: Self.id("below"))
        record["list"] = nil
        record["link"] = nil
        record["more"] = "new"
        record.encryptedValues["secret"] = nil
        record.parent = nil
        try await database.save(record)
        try await save("top", "new", file: Data([9]))
        let old = try await container.snapshot(at: .offset(before - 1))
            .privateDatabase(for: "alice")
        let done = try await database.restore(Self.zone, from: old, mode: .mirror)
        #expect(done.isProved && Set(done.replaced) == ["top", "below"])
        let back = try await database.record(for: Self.id("below"))
        #expect(back["more"] == nil && back["list"] == [1, 2])
        #expect(back.encryptedValues["secret"] == "kept")
        #expect(back.parent?.recordID.recordName == "top")
        let top = try await database.record(for: Self.id("top"))
        #expect(try await top["file"]?.assetValue?.data(limit: 1 << 20) == Data([1, 2, 3]))
    }

    /// A record of which a field is gone since, one has another value and one has come, and one below it
    /// that has another text.
    private func changeFields() async throws -> DatabaseSnapshot {
        try await save("top", "old", file: Data([1, 2, 3]))
        try await save("below", "old", parent: "top")
        var record = try await database.record(for: Self.id("top"))
        record.encryptedValues["secret"] = "old"
        try await database.save(record)
        let before = container.snapshot().offset
        try await save("below", "new", parent: "top")
        try await save("top", "new", file: Data([9]))
        record = try await database.record(for: Self.id("top"))
        record.encryptedValues["secret"] = nil
        record["more"] = "new"
        try await database.save(record)
        return try await container.snapshot(at: .offset(before - 1)).privateDatabase(for: "alice")
    }

    @Test(arguments: [
        (RestoreMode.skip, true, [UInt8(9)], true), (.keep, true, [9], true),
        (.replace, true, [1, 2, 3], true), (.mirror, true, [1, 2, 3], false),
    ])
    func `of some fields, too, the mode says what becomes of what is there`(
        mode: RestoreMode, hasSecret: Bool, file: [UInt8], hasMore: Bool
    ) async throws {
        let old = try await changeFields()
        func bring(dryRun: Bool) async throws -> RestoredRecords {
            try await database.restore(
                Self.zone, from: old, records: ["top"], fields: ["file", "secret", "more"],
                mode: mode, dryRun: dryRun)
        }
        let token = try await database.recordZoneChanges(inZoneWith: Self.zone).changeToken
        let plan = try await bring(dryRun: true)
        let done = try await bring(dryRun: false)
        #expect(done == plan && done.replaced == ["top"] && done.kept.isEmpty)
        let top = try await database.record(for: Self.id("top"))
        // What is not named stays, and so does what is below.
        #expect(top["text"] == "new" && (top["more"] != nil) == hasMore)
        #expect((top.encryptedValues["secret"] == "old") == hasSecret)
        #expect(try await top["file"]?.assetValue?.data(limit: 1 << 20) == Data(file))
        #expect(try await texts()["below"] == "new")
        let changes = try await database.recordZoneChanges(inZoneWith: Self.zone, since: token)
        #expect(changes.modifications.count == 1)
        if hasMore {
            #expect(try await bring(dryRun: false).isEmpty)
        } else {
            // By now it is a name that no state knows.
            let error = await #expect(throws: StoreError.self) { try await bring(dryRun: false) }
            #expect(error?.code == .unknownItem)
        }
    }

    @Test func `an asset alone comes back, or stays where it was changed since`() async throws {
        let old = try await changeFields()
        for mode in [RestoreMode.skip, .keep] {
            let done = try await database.restore(
                Self.zone, from: old, records: ["top"], fields: ["file"], mode: mode)
            #expect(done.isEmpty && done.kept == ["top"])
        }
        let done = try await database.restore(
            Self.zone, from: old, records: ["top"], fields: ["file"], mode: .mirror)
        #expect(done.replaced == ["top"] && done.unchangedCount == 0)
        let top = try await database.record(for: Self.id("top"))
        #expect(try await top["file"]?.assetValue?.data(limit: 1 << 20) == Data([1, 2, 3]))
        #expect(top["text"] == "new" && top["more"] == "new")
        #expect(top.encryptedValues["secret"] == nil)
        let again = try await database.restore(
            Self.zone, from: old, records: ["top"], fields: ["file"])
        #expect(again.isEmpty && again.unchangedCount == 1)
    }

    @Test func `fields are of records that are named, and both must be there`() async throws {
        let old = try await changeFields()
        func code(
            _ names: [String]?, _ fields: [String], to zone: RecordZone.ID? = nil
        ) async throws -> StoreError.Code? {
            await #expect(throws: StoreError.self) {
                try await database.restore(
                    Self.zone, from: old, to: zone, records: names, fields: fields)
            }?.code
        }
        #expect(try await code(nil, ["file"]) == .invalidArguments)
        #expect(try await code(["top"], ["file", "fiel"]) == .unknownItem)
        #expect(try await code(["none"], ["file"]) == .unknownItem)
        let other = RecordZone.ID(zoneName: "other")
        #expect(try await code(["top"], ["file"], to: other) == .unknownItem)
        _ = try await database.modifyRecords(
            saving: [], deleting: [Self.id("below"), Self.id("top")])
        #expect(try await code(["top"], ["file"]) == .unknownItem)
        #expect(try await database.allRecordZones().count == 2)
        #expect(try await texts().isEmpty)
    }

    @Test func `a record comes back with all below it, and nothing else`() async throws {
        try await save("top", "old")
        try await save("middle", "old", parent: "top")
        try await save("leaf", "old", parent: "middle")
        try await save("other", "old")
        let before = container.snapshot().offset
        for name in ["leaf", "middle", "top", "other"] {
            try await database.deleteRecord(withID: Self.id(name))
        }
        let old = try await container.snapshot(at: .offset(before - 1))
            .privateDatabase(for: "alice")
        let done = try await database.restore(Self.zone, from: old, records: ["middle", "top"])
        #expect(Set(done.added) == ["top", "middle", "leaf"])
        #expect(try await texts().keys.sorted() == ["leaf", "middle", "top"])
        let error = await #expect(throws: StoreError.self) {
            try await database.restore(Self.zone, from: old, records: ["nobody"])
        }
        #expect(error?.code == .unknownItem)
    }

    @Test func `a zone comes into another zone, database and store`() async throws {
        for number in 0..<30 {
            try await save(
                "r\(number)", "text \(number)", parent: number > 0 ? "r\(number / 2)" : nil,
                file: Data([UInt8(number)]))
        }
        let source = container.snapshot().privateDatabase(for: "alice")
        let copy = RecordZone.ID(zoneName: "copy")
        let inside = try await database.restore(Self.zone, from: source, to: copy)
        #expect(inside.isProved && inside.added.count == 30)
        #expect(try await texts(in: copy) == texts())
        let other = try Container.inMemory()
        let bobs = other.privateDatabase(for: "bob")
        // Its numbers of types and fields are others.
        try await bobs.save(RecordZone(zoneName: "first"))
        try await bobs.save(
            Record(
                recordType: "Other",
                recordID: Record.ID(
                    recordName: "x", zoneID: RecordZone.ID(zoneName: "first"))))
        let outside = try await bobs.restore(Self.zone, from: source, mode: .mirror)
        #expect(outside.isProved)
        #expect(
            try await bobs.contentHash(of: Self.zone) == database.contentHash(of: Self.zone))
        let back = try await bobs.record(for: Self.id("r7"))
        #expect(back.parent?.recordID.recordName == "r3")
        #expect(try await back["file"]?.assetValue?.data(limit: 1 << 20) == Data([7]))
        // What cannot be saved leaves no zone behind.
        let strict = try Container.inMemory(environment: .production).privateDatabase(for: "bob")
        await #expect(throws: StoreError.self) {
            try await strict.restore(Self.zone, from: source)
        }
        #expect(try await strict.allRecordZones().count == 1)
    }

    @Test func `a record of another type is refused, and nothing is done`() async throws {
        try await save("a", "old")
        try await save("b", "old")
        let before = container.snapshot().offset
        try await database.deleteRecord(withID: Self.id("a"))
        try await database.deleteRecord(withID: Self.id("b"))
        try await database.save(Record(recordType: "Task", recordID: Self.id("a")))
        let old = try await container.snapshot(at: .offset(before - 1))
            .privateDatabase(for: "alice")
        let error = await #expect(throws: StoreError.self) {
            try await database.restore(Self.zone, from: old)
        }
        #expect(error?.code == .invalidArguments && error?.recordID == Self.id("a"))
        #expect(try await texts().keys.sorted() == ["a"])
    }

    @Test func `others may save meanwhile`() async throws {
        for number in 0..<20 { try await save("r\(number)", "old") }
        let before = container.snapshot().offset
        for number in 0..<20 { try await save("r\(number)", "new") }
        let old = try await container.snapshot(at: .offset(before - 1))
            .privateDatabase(for: "alice")
        async let saving: Void = {
            for number in 0..<40 {
                let id = Self.id("r\(number % 20)")
                var record = try await database.record(for: id)
                record["note"] = .int64(Int64(number))
                try await database.save(record) { _, mine, _, theirs in mine ?? theirs }
            }
        }()
        try await database.restore(Self.zone, from: old, mode: .replace)
        try await saving
        let page = try await database.records(inZoneWith: Self.zone)
        #expect(page.records.allSatisfy { $0["text"] == "old" })
    }
    @Test func `a zone comes back in one commit, also one that was purged`() async throws {
        try await save("a", "old")
        try await save("b", "old")
        let before = container.snapshot().offset
        let old = try await container.snapshot(at: .offset(before - 1))
            .privateDatabase(for: "alice")
        for reason in [DatabaseChanges.Deletion.Reason.deleted, .purged] {
            try await database.deleteRecordZone(withID: Self.zone, reason: reason)
            let token = try await database.databaseChanges().changeToken
            let done = try await database.restore(Self.zone, from: old, mode: .mirror)
            #expect(done.isProved && done.added.count == 2)
            #expect(try await texts() == ["a": "old", "b": "old"])
            let changes = try await database.databaseChanges(since: token)
            #expect(changes.modifications == [Self.zone])
            // The zone has no state without the records.
            let made = try await database.recordZone(for: Self.zone)
            #expect(made.capabilities.contains(.atomic))
        }
    }

    @Test func `a restore that fails leaves no zone behind, and none that another made goes`()
        async throws
    {
        try await save("a", "old")
        let before = container.snapshot().offset
        let old = try await container.snapshot(at: .offset(before - 1))
            .privateDatabase(for: "alice")
        let target = RecordZone.ID(zoneName: "other")
        let small = try Container.inMemory(profile: Profile(bytesPerRecord: 1))
        let strict = small.privateDatabase(for: "alice")
        let first = await #expect(throws: StoreError.self) {
            try await strict.restore(Self.zone, from: old, to: target)
        }
        #expect(first?.code == .partialFailure)
        #expect(try await strict.allRecordZones().count == 1)
        try await strict.save(RecordZone(zoneID: target))
        _ = await #expect(throws: StoreError.self) {
            try await strict.restore(Self.zone, from: old, to: target)
        }
        #expect(try await strict.allRecordZones().count == 2)
    }

    @Test func `what a mirror deletes takes nothing along that was there`() async throws {
        func link(_ name: String, to target: String, _ action: Reference.Action) async throws {
            var record = Record(recordType: "Note", recordID: Self.id(name))
            record["link"] = .reference(Reference(recordID: Self.id(target), action: action))
            try await database.save(record)
        }
        // A reference may be saved before its target is.
        try await link("early", to: "late", .deleteSelf)
        try await save("checked", "old")
        try await link("checking", to: "checked", .validate)
        try await database.deleteRecord(withID: Self.id("checked"))
        let before = container.snapshot().offset
        try await save("late", "new")
        try await link("extra", to: "late", .deleteSelf)
        try await database.deleteRecord(withID: Self.id("checking"))
        let old = try await container.snapshot(at: .offset(before - 1))
            .privateDatabase(for: "alice")
        let done = try await database.restore(Self.zone, from: old, mode: .mirror)
        #expect(done.isProved)
        #expect(Set(done.deleted) == ["late", "extra"] && done.added == ["checking"])
        #expect(try await texts().keys.sorted() == ["checking", "early"])
    }

    @Test func `the default zone comes back whole or not at all, and users stay`() async throws {
        func record(_ name: String, _ text: String) -> Record {
            var record = Record(recordType: "Note", recordID: Record.ID(recordName: name))
            record["text"] = .string(text)
            return record
        }
        try await database.save(record("a", "old"))
        let before = container.snapshot().offset
        try await database.deleteRecord(withID: Record.ID(recordName: "a"))
        var user = try await database.record(for: container.userRecordID(for: "alice"))
        user["nick"] = "ally"
        try await database.save(user)
        try await database.save(record("b", "new"))
        let old = try await container.snapshot(at: .offset(before - 1))
            .privateDatabase(for: "alice")
        let done = try await database.restore(.default, from: old, mode: .mirror)
        #expect(done.added == ["a"] && done.deleted == ["b"])
        let kept = try await database.record(for: user.recordID)
        #expect(kept["nick"] == "ally")
    }
}
