import FoundationEssentials
import Stratus
import Support
import Testing

/// What a user can learn of the assets of others.
@Suite struct AssetDomainTests {
    private static func stored(
        _ deduplication: Container.Deduplication, isPublic: Bool
    ) async throws -> (growth: [Int], usage: [Int], chunks: Int) {
        let container = try Container.inMemory(deduplication: deduplication)
        var (growth, usage): ([Int], [Int]) = ([], [])
        for user in ["alice", "bob"] {
            let database =
                isPublic ? container.publicDatabase(as: user) : container.privateDatabase(for: user)
            let before = try await container.assetStatistics().storedBytes
            let used = try await database.usage().bytes
            try await database.save(
                note(
                    "of-\(user)", ["a": .asset(Asset(data: noise(200_000, seed: 1)))],
                    in: .default))
            growth.append(try await container.assetStatistics().storedBytes - before)
            usage.append(try await database.usage().bytes - used)
        }
        return (growth, usage, try await container.assetStatistics().chunkCount)
    }

    @Test(arguments: [false, true])
    func `two users who store the same file store and pay the same`(isPublic: Bool) async throws {
        let (growth, usage, _) = try await Self.stored(.perUser, isPublic: isPublic)
        #expect(growth[0] == growth[1] && growth[0] == 200_000)
        #expect(abs(usage[0] - usage[1]) <= 4 && usage[0] > 200_000)
    }

    @Test(arguments: [false, true])
    func `with the whole store as one domain the file is stored once`(isPublic: Bool) async throws {
        let (growth, usage, _) = try await Self.stored(.wholeStore, isPublic: isPublic)
        #expect(growth[0] == 200_000 && growth[1] == 0)
        #expect(abs(usage[0] - usage[1]) <= 4 && usage[0] > 200_000)
    }
}
