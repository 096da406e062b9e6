import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
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

    // MARK: Answers, and work

    /// What a user sees of storing something, and what the store did for it.
    private struct Course: Equatable {
        /// How far the asset was, each time that this was told.
        var progress: [TransferProgress]
        var answers: [String]
        /// What was done to segments of chunks, call by call.
        var writings: [String]
        var newChunks: Int
        /// Each of them was hashed whole: its frame says by what.
        var newBytes: Int
    }

    @Test(arguments: [false, true])
    func `who stores what another has stored sees and causes the same as who was first`(
        isPublic: Bool
    ) async throws {
        let courses = try await Self.courses(.perUser, isPublic: isPublic)
        #expect(courses[0] == courses[1])
        #expect(courses[0].newBytes == 1_270_000 && courses[0].writings.count > 2)
        #expect(courses[0].progress.last?.completedBytes == 1_200_000)
    }

    @Test(arguments: [false, true])
    func `with the whole store as one domain the second user is told the same, and writes nothing`(
        isPublic: Bool
    ) async throws {
        let courses = try await Self.courses(.wholeStore, isPublic: isPublic)
        #expect(courses[0].progress == courses[1].progress)
        #expect(courses[0].answers == courses[1].answers)
        #expect(courses[0].newBytes > 0 && courses[1].newBytes == 0)
        #expect(courses[1].newChunks == 0 && courses[1].writings == [])
    }

    /// That of alice, and then that of bob, who stores the same.
    @inline(never)
    private static func courses(
        _ deduplication: Container.Deduplication, isPublic: Bool
    ) async throws -> [Course] {
        let storage = WatchedStorage()
        let container = try Container(
            writing: storage, creating: true, durability: .full, deduplication: deduplication,
            options: JournalOptions(), steppedByCaller: true)
        let folder = try TemporaryFolder()
        let path = try folder.file("f", noise(900_000, seed: 1) + Data(count: 300_000))
        var courses: [Course] = []
        // Carol comes before, so that neither of them is the first to do anything.
        for user in ["carol", "alice", "bob"] {
            let database =
                isPublic ? container.publicDatabase(as: user) : container.privateDatabase(for: user)
            let asset = RecordValue.asset(Asset(data: noise(1000, seed: 3)))
            try await database.save(note("first-\(user)", ["a": asset], in: .default))
            if user == "carol" { continue }
            courses.append(try await course(user, path, database, container, storage))
        }
        return courses
    }

    @inline(never)
    private static func course(
        _ user: String, _ path: String, _ database: Database, _ container: Container,
        _ storage: WatchedStorage
    ) async throws -> Course {
        let (progress, writings) = (Notes<TransferProgress>(), Notes<String>())
        let before = try await container.assetStatistics()
        storage.hooks.withLock {
            $0.writing = { verb, name, count throws(StorageError) in
                if name.hasPrefix("chunks-") { writings.add("\(verb) \(count)") }
            }
        }
        let saved = try await database.save(
            note("of-\(user)", ["a": .asset(Asset(file: path))], in: .default),
            progress: { _, step in progress.add(step) })
        let uploaded = try await database.store(Asset(data: noise(70_000, seed: 2)))
        storage.hooks.withLock { $0.writing = nil }
        let after = try await container.assetStatistics()
        let assets = [try saved.asset("a"), uploaded.asset]
        return Course(
            progress: progress.all,
            answers: saved.allKeys + assets.map { "\($0.size ?? -1) \($0.fileChecksum ?? "")" },
            writings: writings.all, newChunks: after.chunkCount - before.chunkCount,
            newBytes: after.uniqueBytes - before.uniqueBytes)
    }
}

/// What was told by any thread, in order.
final class Notes<Element: Sendable>: Sendable {
    private let notes = Mutex<[Element]>([])

    func add(_ note: Element) { notes.withLock { $0.append(note) } }
    var all: [Element] { notes.withLock { $0 } }
}
