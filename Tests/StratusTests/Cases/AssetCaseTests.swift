import FoundationEssentials
import Stratus
import Support
import Testing

@Suite struct AssetCaseTests {
    // C24.
    @Test func `the file of a fetched asset is fresh and has the bytes of the save`() async throws {
        let (_, database) = try await makeDatabase()
        let folder = try TemporaryFolder()
        let path = try folder.file("photo", noise(200_000, seed: 1))
        try await database.save(note("a", ["photo": .asset(Asset(file: path))]))
        try noise(10, seed: 2).write(to: URL(filePath: path))
        let record = try await database.record(for: noteID("a"))
        let first = try await record.asset("photo").temporaryFile()
        let second = try await record.asset("photo").temporaryFile()
        defer { for path in [first, second] { try? FileManager.default.removeItem(atPath: path) } }
        #expect(first != second && first != path)
        #expect(contents(of: first) == noise(200_000, seed: 1))
        #expect(contents(of: second) == noise(200_000, seed: 1))
        let mode = try FileManager.default.attributesOfItem(atPath: first)[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    // C25.
    @Test func `after an asset was replaced a fetch has the new one, and a file of before stays`()
        async throws
    {
        let (_, database) = try await makeDatabase()
        var record = try await database.save(
            note("a", ["photo": .asset(Asset(data: noise(200_000, seed: 1)))]))
        let file = try await record.asset("photo").temporaryFile()
        defer { try? FileManager.default.removeItem(atPath: file) }
        record["photo"] = .asset(Asset(data: noise(300_000, seed: 2)))
        try await database.save(record)
        let fetched = try await database.record(for: noteID("a"))
        #expect(try await fetched.bytes("photo") == noise(300_000, seed: 2))
        #expect(contents(of: file) == noise(200_000, seed: 1))
    }

    // C48.
    @Test func `the asset of a child that comes before its parent keeps its bytes`() async throws {
        let (_, database) = try await makeDatabase()
        var child = note("child", ["photo": .asset(Asset(data: noise(100_000, seed: 3)))])
        child = try await database.save(child)
        let token = try await FollowedChanges(of: database).token
        try await database.save(note("parent"))
        child.parent = Reference(recordID: noteID("parent"))
        try await database.save(child)
        let changes = try await FollowedChanges(of: database, since: token)
        let found = try #require(changes.modified.first { $0.recordID == noteID("child") })
        #expect(found.parent?.recordID == noteID("parent"))
        #expect(try await found.bytes("photo") == noise(100_000, seed: 3))
    }
}
