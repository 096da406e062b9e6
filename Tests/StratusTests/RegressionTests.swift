import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Faults that were found and mended, each named after the behaviour that it broke.
@Suite struct RegressionTests {
    private let zone = RecordZone.ID(zoneName: "notes")

    private func record(_ name: String) -> Record {
        Record(recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zone))
    }

    private func makeDatabase() async throws -> (Container, Database) {
        let container = try Container.inMemory()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        return (container, database)
    }

    /// A parent's name of more than 255 bytes was written and could never be read again.
    @Test(arguments: [String(repeating: "p", count: 300), "", "_x", "\u{e9}"])
    func `a parent's name follows the rules of record names`(name: String) async throws {
        let (container, database) = try await makeDatabase()
        var child = record("child")
        child.parent = Reference(recordID: Record.ID(recordName: name, zoneID: zone))
        do {
            try await database.save(child)
            Issue.record("the parent was accepted")
        } catch {
            #expect(error.code == .invalidArguments)
        }
        child.parent = nil
        try await database.save(child)
        #expect(try await database.record(for: child.recordID).parent == nil)
        try await container.close()
    }

    /// The owner's two names were compared as texts.
    @Test func `a parent may name the owner in either way`() async throws {
        let (container, database) = try await makeDatabase()
        let owner = container.userRecordName(for: "alice")
        try await database.save(record("top"))
        var child = record("child")
        child.parent = Reference(
            recordID: Record.ID(
                recordName: "top", zoneID: RecordZone.ID(zoneName: "notes", ownerName: owner)))
        let saved = try await database.save(child)
        #expect(saved.parent?.recordID.recordName == "top")
        var stranger = record("stranger")
        stranger["link"] = .reference(
            Reference(
                recordID: Record.ID(
                    recordName: "x", zoneID: RecordZone.ID(zoneName: "notes", ownerName: "bob"))))
        await #expect(throws: StoreError.self) { try await database.save(stranger) }
        try await container.close()
    }

    /// A deletion that another one had staged was reported as done, though the group was lost; and
    /// taking back a group whose commits were complete stopped the process.
    @Test(arguments: [false, true])
    func `nothing is reported that was decided by a group that failed`(isStepped: Bool)
        async throws
    {
        let disk = SimulatedDisk()
        let storage = try LocalStorage(
            at: "store", .writing(creating: true), on: disk.process())
        let container = try Container(
            writing: storage, creating: true, durability: .full, options: JournalOptions(),
            steppedByCaller: isStepped)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        try await database.save(record("a"))
        disk.faults = [DiskFault(.fail(.noSpace), at: 1, of: .write, lasting: true)]
        let id = record("a").recordID
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<32 {
                group.addTask { (try? await database.deleteRecord(withID: id)) != nil }
            }
            for await isDone in group { #expect(!isDone) }
        }
        #expect(try await database.record(for: id).recordID == id)
    }

    /// What is too long failed only after its batch had been reported as saved.
    @Test func `a batch whose names cannot be written says so`() async throws {
        var options = JournalOptions()
        options.segmentLength = 16 << 10
        let container = try Container(
            writing: MemoryStorage(), creating: true, durability: .none, options: options,
            steppedByCaller: true)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        var wide = record("wide")
        for number in 0..<40 {
            wide["field" + String(repeating: "x", count: 200) + String(number)] = 1
        }
        do {
            try await database.save(wide)
            Issue.record("names beyond the limit were accepted")
        } catch {
            #expect(error.code == .limitExceeded)
        }
        try await database.save(record("narrow"))
        let page = try await database.records(inZoneWith: zone)
        #expect(page.records.map(\.recordID.recordName) == ["narrow"])
        try await container.close()
    }

    /// An interval out of range stopped the process at the first commit.
    @Test(arguments: [-1, Int.max]) func `an interval may be any number`(milliseconds: Int)
        async throws
    {
        let path = FileManager.default.temporaryDirectory.path + "/stratus-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let container = try await Container.open(
            at: path, creating: true, durability: .interval(milliseconds: milliseconds))
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        try await database.save(record("a"))
        try await container.close()
    }

    /// Each item of an atomic batch that is wrong itself has its own error, whether the caller or
    /// the committer prepared the batch.
    @Test(arguments: [false, true])
    func `two wrong items of an atomic batch say what is wrong with each`(isKnown: Bool)
        async throws
    {
        let (container, database) = try await makeDatabase()
        var first = record("first")
        first["title"] = "text"
        if isKnown { try await database.save(first) }
        var wrong = record("wrong")
        wrong["recordID"] = 1
        var worse = record("worse")
        worse["bad name"] = 1
        var good = record("good")
        good["title"] = "fine"
        let result = try await database.modifyRecords(saving: [wrong, good, worse])
        func code(_ record: Record) -> StoreError.Code? {
            if case .failure(let error)? = result.saveResults[record.recordID] {
                error.code
            } else {
                nil
            }
        }
        #expect(code(wrong) == .invalidArguments)
        #expect(code(worse) == .invalidArguments)
        #expect(code(good) == .batchRequestFailed)
        try await container.close()
    }
}
