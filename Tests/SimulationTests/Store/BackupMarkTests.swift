import FoundationEssentials
import Stratus
import Support
import Testing

/// Marks that backups leave at the states that they write.
struct BackupMarkTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")
    private static let names = ["a", "b", "c", "d"]

    private func opened(stepped: Bool = true) async throws -> Container {
        let container = try store.open(stepped: stepped)
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: Self.zone))
        return container
    }

    /// Gives all records another number and another asset, in one commit.
    private static func save(_ container: Container, _ number: Int) async throws {
        let database = container.privateDatabase(for: "alice")
        var records: [Record] = []
        for name in names {
            let id = Record.ID(recordName: name, zoneID: zone)
            var record =
                (try? await database.record(for: id)) ?? Record(recordType: "Note", recordID: id)
            record["number"] = .int64(Int64(number))
            let bytes = (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* number) }
            record["file"] = .asset(Asset(data: Data(bytes)))
            records.append(record)
        }
        _ = try await database.modifyRecords(saving: records)
    }

    private func marks(_ container: Container, _ name: String) async throws -> [Mark] {
        try await container.marks().filter { $0.name == name }
    }

    /// That the store has one mark of the name, at the state that the archive holds, all of which is
    /// whole.
    private func check(_ archive: Archive, isMarked name: String, in container: Container)
        async throws
    {
        let marks = try await marks(container, name)
        let mark = try #require(marks.first)
        #expect(marks.count == 1)
        let then = try await container.snapshot(at: .mark(mark)).privateDatabase(for: "alice")
        let path = try #require(archive.path.split(separator: "/").last)
        let opened = try await store.openArchive(String(path))
        #expect(try await opened.verify().isEmpty)
        let held = try await opened.container()
        // The archive ends before the mark, and so does not have it.
        #expect(try await !held.marks().contains(mark))
        let hash = try await held.privateDatabase(for: "alice").contentHash(includingSystem: true)
        #expect(try then.contentHash(includingSystem: true) == hash)
    }

    @Test func `a backup leaves one mark, at the very state that it has`() async throws {
        let container = try await opened()
        var base: Archive?
        for round in 0..<6 {
            try await Self.save(container, round)
            base = try await container.backup(
                to: store.archivePath("a\(round)"), since: round == 3 ? nil : base,
                keepingHistory: false, marking: .named("nightly"))
            try await check(try #require(base), isMarked: "nightly", in: container)
        }
        #expect(try await container.marks().count == 1)
        try await store.openArchive("a5").restore(to: "restored")
        let restored = try store.opening("restored").open()
        let hash = try await container.privateDatabase(for: "alice")
            .contentHash(includingSystem: true)
        #expect(
            try await restored.privateDatabase(for: "alice").contentHash(includingSystem: true)
                == hash)
        try await restored.close()
        // What is marked stays when all else is forgotten.
        try await Self.save(container, 100)
        for _ in 0..<2 { try await container.maintenance.compact() }
        let last = try #require(base)
        try await check(last, isMarked: "nightly", in: container)
        try await container.close()
        #expect(try store.verification().findings.isEmpty)
    }

    @Test func `the mark is at the state of the archive while others save and assets move`()
        async throws
    {
        let container = try await opened(stepped: false)
        try await Self.save(container, 0)
        async let saving: Void = {
            for number in 1...60 { try await Self.save(container, number) }
        }()
        async let collecting: Void = {
            for _ in 0..<6 { _ = try await container.collectAssets() }
        }()
        var archives: [Archive] = []
        for round in 0..<6 {
            let archive = try await container.backup(
                to: store.archivePath("a\(round)"), since: archives.last, marking: .named("nightly")
            )
            try await check(archive, isMarked: "nightly", in: container)
            archives.append(archive)
        }
        try await saving
        try await collecting
        try await container.close()
    }

    @Test func `a backup that fails leaves the marks as they were`() async throws {
        let container = try await opened()
        try await Self.save(container, 1)
        let path = store.archivePath("a")
        try await container.backup(to: path, marking: .named("nightly"))
        let before = try await container.marks()
        try await Self.save(container, 2)
        await #expect(throws: StoreError.self) {
            try await container.backup(to: path, marking: .named("nightly"))
        }
        #expect(try await container.marks() == before)
        let empty = await #expect(throws: StoreError.self) {
            try await container.backup(to: store.archivePath("b"), marking: .named(""))
        }
        #expect(empty?.code == .invalidArguments)
        // What only reads cannot leave one.
        let reader = try store.openReadOnly()
        await #expect(throws: StoreError.self) {
            try await reader.backup(to: store.archivePath("b"), marking: .named("nightly"))
        }
        // Those of other names are not touched, and bytes are marked as files are.
        try await container.backup(marking: .named("piped")) { _ in }
        #expect(try await container.marks().map(\.name) == ["nightly", "piped"])
        try await container.close()
    }

    @Test func `where nothing is said the mark is left if that can be`() async throws {
        let container = try await opened()
        for number in 1...2 {
            try await Self.save(container, number)
            let archive = try await container.backup(to: store.archivePath("a\(number)"))
            try await check(archive, isMarked: "backup", in: container)
        }
        let marks = try await container.marks()
        #expect(marks.count == 1)
        // Neither asks for one, and what only reads has an archive all the same.
        try await container.backup(marking: .none) { _ in }
        let reader = try store.openReadOnly()
        try await reader.backup(to: store.archivePath("b"))
        #expect(try await store.openArchive("b").verify().isEmpty)
        #expect(try await container.marks() == marks)
        try await reader.close()
        try await container.close()
    }

    @Test func `a series has one mark at a time, and writes no archive for that`() async throws {
        let container = try await opened()
        _ = store.archivePath("")
        var options = ArchiveSeries.Options()
        options.mark = .named("series")
        options.chainLimit = 3
        var series = ArchiveSeries(of: container, in: SmallStore.archives, options: options)
        for number in 0..<5 {
            try await Self.save(container, number)
            let archive = try #require(try await series.next())
            try await check(archive, isMarked: "series", in: container)
            #expect(try await series.next() == nil)
            // Nor does one that begins anew.
            var again = ArchiveSeries(of: container, in: SmallStore.archives, options: options)
            #expect(try await again.next() == nil)
        }
        // A mark of another name is a change.
        try await container.mark("own")
        let archive = try #require(try await series.next())
        try await check(archive, isMarked: "series", in: container)
        #expect(try await archive.container().marks().contains { $0.name == "own" })
        #expect(try await series.next() == nil)
        try await container.close()
    }
}
