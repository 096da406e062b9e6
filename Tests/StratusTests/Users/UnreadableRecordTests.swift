import Stratus
import Testing

/// Records of the public database that a caller may write and not read: nothing of them is told, and
/// what would need them is missing. Semantics 9.4, `Formats/README.md`, "Permissions".
@Suite struct UnreadableRecordTests {
    private let container: Container
    private let alice: Database
    /// Bob may create and write what he may not read.
    private let bob: Database

    private static func schema(_ grants: String) -> String {
        """
        DEFINE SCHEMA
            RECORD TYPE Letter (a INT64, b INT64, file ASSET, \(grants));
            RECORD TYPE Note (file ASSET);
        """
    }
    private static let hidden = schema(
        #"GRANT CREATE, WRITE TO "_icloud", GRANT READ TO "_creator""#)
    private static let open = schema(
        #"GRANT CREATE, WRITE TO "_icloud", GRANT READ TO "_world""#)

    init() async throws {
        container = try Container.inMemory()
        try await container.importSchema(Self.hidden)
        alice = container.publicDatabase(as: "alice")
        bob = container.publicDatabase(as: "bob")
    }

    private func letter(_ name: String, _ fields: [String: RecordValue] = [:]) -> Record {
        note(name, fields, type: "Letter", in: .default)
    }

    @Test func `an ancestor that the caller could not read is in no conflict`() async throws {
        let first = try await alice.save(letter("a", ["a": 1]))
        try await alice.deleteRecord(withID: first.recordID)
        // The name is bob's now, whose records he may read.
        let own = try await bob.save(letter("a", ["b": 2]))
        var guess = Record(
            recordType: "Letter", recordID: first.recordID,
            recordChangeTag: first.recordChangeTag)
        guess["b"] = 3
        let refused = await failure { [guess] in try await bob.save(guess) }
        #expect(refused.code == .serverRecordChanged && refused.serverRecord == own)
        #expect(refused.ancestorRecord == nil)
        // One of his own he is told.
        var later = own
        later["b"] = 4
        try await bob.save(later)
        var late = Record(
            recordType: "Letter", recordID: own.recordID, recordChangeTag: own.recordChangeTag)
        late["b"] = 5
        let conflict = await failure { [late] in try await bob.save(late) }
        #expect(conflict.ancestorRecord == own)
    }

    @Test func `a save is answered with what the caller sent, also once it is repeated`()
        async throws
    {
        try await alice.save(letter("a", ["a": 1]))
        var change = letter("a")
        change["b"] = 2
        for _ in 0..<2 {
            let saved = try await bob.modifyRecords(
                saving: [change], savePolicy: .changedKeys, operationID: "one")
            let answer = try #require(try saved.saveResults[change.recordID]?.get())
            #expect(answer.allKeys == ["b"] && answer.recordChangeTag != nil)
        }
        let whole = try await alice.record(for: change.recordID)
        #expect(whole["a"] == 1 && whole["b"] == 2)
    }

    @Test func `a repeated save is answered by the grants of now`() async throws {
        try await container.importSchema(Self.open)
        try await alice.save(letter("a", ["a": 1]))
        var change = letter("a")
        change["b"] = 2
        func answer() async throws -> Record? {
            try await bob.modifyRecords(
                saving: [change], savePolicy: .changedKeys, operationID: "one"
            ).saveResults[change.recordID]?.get()
        }
        #expect(try await answer()?.allKeys.sorted() == ["a", "b"])
        try await container.importSchema(Self.hidden)
        #expect(try await answer()?.allKeys == ["b"])
    }

    @Test func `a checksum stands for no asset that the caller may not read`() async throws {
        let bytes = noise(1000, seed: 1)
        let saved = try await alice.save(letter("a", ["file": .asset(Asset(data: bytes))]))
        let checksum = try #require(saved.asset("file").fileChecksum)
        let sent = letter(
            "a", ["file": .asset(Asset(.held(checksum: checksum, size: bytes.count)))])
        for (database, isAllowed) in [(bob, false), (alice, true)] {
            let results = try await database.modifyRecords(
                [.save(sent, SaveRule(.changedKeys))], atomically: false)
            switch results[0] {
            case .success: #expect(isAllowed)
            case .failure(let error): #expect(!isAllowed && error.code == .assetNotAvailable)
            }
        }
    }

    @Test func `a parent and a target that the caller may not read are missing`() async throws {
        let target = try await alice.save(letter("a")).recordID
        var child = letter("child")
        child.parent = Reference(recordID: target)
        let pointing = letter(
            "pointing", ["to": .reference(Reference(recordID: target, action: .validate))])
        for record in [child, pointing] {
            let error = await failure { try await bob.save(record) }
            #expect(error.code == .referenceViolation, "\(record.recordID.recordName)")
            try await alice.save(record)
        }
    }

    @Test func `an asset that was opened is read by the grants and the account of now`()
        async throws
    {
        try await container.importSchema(Self.open)
        let data = noise(500_000, seed: 2)
        let id = try await alice.save(letter("a", ["file": .asset(Asset(data: data))])).recordID
        let own = try await container.privateDatabase(for: "bob").save(
            note("p", ["file": .asset(Asset(data: data))], in: .default))
        let read = try await bob.record(for: id)
        #expect(try await read.bytes("file") == data)
        #expect(try await own.bytes("file") == data)
        try await container.setUserProfile(UserProfile(accountStatus: .restricted), for: "bob")
        #expect(await failure { try await own.bytes("file") }.code == .notAuthenticated)
        // What all may read he still may.
        #expect(try await read.bytes("file") == data)
        try await container.importSchema(Self.hidden)
        #expect(await failure { try await read.bytes("file") }.code == .permissionFailure)
        try await container.setUserProfile(UserProfile(accountStatus: .available), for: "bob")
        #expect(try await own.bytes("file") == data)
        let host = try await container.publicDatabase(asHost: "bob").record(for: id)
        #expect(try await host.bytes("file") == data)
    }
}
