import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Who may change what in the public database: semantics 1.2, 2.4 row 6, and 9.4.
@Suite struct PublicDatabaseTests {
    private static let id = noteID("a", in: .default)

    /// A public database with a record that alice created.
    private static func begin() async throws -> (container: Container, record: Record) {
        let container = try Container.inMemory()
        let record = try await container.publicDatabase(as: "alice").save(
            note("a", ["field": 1], in: .default))
        return (container, record)
    }

    @Test(arguments: [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func `only the creator or the host changes a record, under every policy`(
        policy: SavePolicy
    ) async throws {
        let (container, record) = try await Self.begin()
        var edited = record
        edited["field"] = 2
        let bob = container.publicDatabase(as: "bob")
        let error = await failure { [edited] in try await bob.save(edited, savePolicy: policy) }
        #expect(error.code == .permissionFailure && error.recordID == Self.id)
        // Nor is a conflict told to a caller who could not solve it.
        #expect(error.serverRecord == nil)
        let blind = note("a", ["field": 2], type: "Other", in: .default)
        let other = await failure { try await bob.save(blind, savePolicy: policy) }
        #expect(other.code == .permissionFailure)
        #expect(try await bob.record(for: Self.id) == record)
        edited = try await container.publicDatabase(as: "alice").save(edited, savePolicy: policy)
        edited["field"] = 3
        let last = try await container.publicDatabase(asHost: "bob").save(
            edited, savePolicy: policy)
        #expect(last["field"] == 3)
        #expect(last.creatorUserRecordID == container.userRecordID(for: "alice"))
        #expect(last.lastModifiedUserRecordID == container.userRecordID(for: "bob"))
        // The name under which the host wrote has no more rights for it.
        var again = last
        again["field"] = 4
        let refused = await failure { [again] in try await bob.save(again, savePolicy: policy) }
        #expect(refused.code == .permissionFailure)
    }

    @Test func `an item that is not permitted fails alone, and a replacing save too`() async throws
    {
        let (container, record) = try await Self.begin()
        let bob = container.publicDatabase(as: "bob")
        let replacing = RecordItem.save(
            note("a", in: .default), SaveRule(.changedKeys, replaces: true))
        let tagged = RecordItem.delete(Self.id, recordChangeTag: record.recordChangeTag)
        for item in [replacing, tagged, .delete(Self.id)] {
            let results = try await bob.modifyRecords(
                [item, .save(note("b", in: .default), SaveRule(.allKeys))], atomically: true)
            #expect(results[0].code == .permissionFailure && results[1].code == nil)
        }
        #expect(try await bob.record(for: Self.id) == record)
    }

    @Test func `only the creator or the host deletes a record`() async throws {
        let (container, _) = try await Self.begin()
        let bob = container.publicDatabase(as: "bob")
        for isHost in [false, true] {
            let error = await failure { try await bob.deleteRecord(withID: Self.id) }
            #expect(error.code == .permissionFailure && error.recordID == Self.id)
            let database =
                isHost
                ? container.publicDatabase(asHost: "bob") : container.publicDatabase(as: "alice")
            try await database.deleteRecord(withID: Self.id)
            #expect(try await database.allRecords(in: .default) == [])
            try await container.publicDatabase(as: "alice").save(note("a", in: .default))
        }
        // A record that is not there has no creator: CloudKit deletes it without an error.
        try await bob.deleteRecord(withID: noteID("none", in: .default))
    }

    @Test func `every caller reads, and an anonymous caller writes nothing`() async throws {
        let (container, record) = try await Self.begin()
        let anonymous = container.publicDatabase()
        #expect(try await anonymous.record(for: Self.id) == record)
        #expect(try await anonymous.allRecords(in: .default) == [record])
        let head = container.information.head
        let codes = [
            await failure { try await anonymous.save(note("b", in: .default)) }.code,
            await failure { try await anonymous.save(record, savePolicy: .allKeys) }.code,
            await failure { try await anonymous.deleteRecord(withID: Self.id) }.code,
            await failure { try await anonymous.save(RecordZone(zoneName: "z")) }.code,
            await failure { try await anonymous.deleteRecordZone(withID: notes) }.code,
            await failure { try await anonymous.moveRecords([Self.id], to: notes) }.code,
            await failure {
                try await anonymous.modifyRecords(
                    saving: [record], operationID: "one")
            }.code,
        ]
        #expect(codes == Array(repeating: .notAuthenticated, count: codes.count))
        #expect(container.information.head == head)
    }

    @Test func `a record is deleted with its target also where another user created it`()
        async throws
    {
        let (container, record) = try await Self.begin()
        let link = Reference(recordID: record.recordID, action: .deleteSelf)
        let bob = container.publicDatabase(as: "bob")
        try await bob.save(note("comment", ["of": .reference(link)], in: .default))
        // Its creator chose that: else any user could keep another from deleting a record.
        try await container.publicDatabase(as: "alice").deleteRecord(withID: record.recordID)
        #expect(try await bob.allRecords(in: .default) == [])
    }

    @Test func `a refused call is refused again under its operationID, and by nothing else`()
        async throws
    {
        let (container, record) = try await Self.begin()
        let bob = container.publicDatabase(as: "bob")
        for _ in 0..<2 {
            let result = try await bob.modifyRecords(
                saving: [note("b", in: .default)], deleting: [Self.id], operationID: "one")
            #expect(result.deleteResults[Self.id]?.code == .permissionFailure)
            #expect(result.saveResults[noteID("b", in: .default)]?.code == nil)
        }
        // The operationID of one caller gives another no rights.
        let alice = container.publicDatabase(as: "alice")
        let result = try await alice.modifyRecords(
            saving: [], deleting: [noteID("b", in: .default)], operationID: "one")
        #expect(result.deleteResults[noteID("b", in: .default)]?.code == .permissionFailure)
        #expect(try await bob.record(for: Self.id) == record)
    }

    /// Both calls are checked against the same state, since a commit before them waits for the disk.
    @Test(arguments: [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func `a record that another user creates meanwhile is not overwritten`(
        policy: SavePolicy
    ) async throws {
        let storage = GatedStorage()
        let container = try Container(
            writing: storage, creating: true, durability: .full, options: JournalOptions(),
            steppedByCaller: false)
        let alice = container.publicDatabase(as: "alice")
        let bob = container.publicDatabase(as: "bob")
        // All numbers are assigned, so that the caller's own task prepares what follows.
        try await alice.save(note("of-alice", ["field": 1], in: .default))
        try await bob.save(note("of-bob", ["field": 1], in: .default))
        storage.shut()
        let before = Task { try await alice.save(note("before", ["field": 1], in: .default)) }
        while !storage.isWaiting { await Task.yield() }
        let first = Task { try await alice.save(note("a", ["field": 7], in: .default)) }
        try await Task.sleep(for: .milliseconds(2))
        let late = Task {
            await failure {
                try await bob.save(note("a", ["field": 8], in: .default), savePolicy: policy)
            }
        }
        try await Task.sleep(for: .milliseconds(2))
        storage.open()
        _ = try await (before.value, first.value)
        #expect(await late.value.code == .permissionFailure)
        #expect(try await alice.record(for: Self.id)["field"] == 7)
        try await container.close()
    }
}
