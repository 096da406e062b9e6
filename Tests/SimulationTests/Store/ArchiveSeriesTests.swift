import Stratus
import Support
import Synchronization
import Testing

/// Archives that go on from each other as the store changes.
struct ArchiveSeriesTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")

    private func opened(stepped: Bool = true) async throws -> Container {
        _ = store.archivePath("")
        let container = try store.open(stepped: stepped)
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: Self.zone))
        return container
    }

    private func save(_ container: Container, _ names: [String]) async throws {
        for name in names {
            let id = Record.ID(recordName: name, zoneID: Self.zone)
            try await container.privateDatabase(for: "alice").save(
                Record(recordType: "Note", recordID: id))
        }
    }

    private func delete(_ container: Container, _ names: [String]) async throws {
        for name in names {
            try await container.privateDatabase(for: "alice").deleteRecord(
                withID: Record.ID(recordName: name, zoneID: Self.zone))
        }
    }

    private func names(_ container: Container) async throws -> [String] {
        try await container.privateDatabase(for: "alice").records(inZoneWith: Self.zone).records
            .map { $0.recordID.recordName }.sorted()
    }

    /// What an archive holds, proved by a verification of all that it goes on from.
    private func names(_ archive: Archive?) async throws -> [String] {
        let path = try #require(archive?.path)
        let opened = try await store.openArchive(String(path.split(separator: "/").last ?? ""))
        #expect(try await opened.verify().isEmpty)
        return try await names(opened.container())
    }

    private func series(
        _ container: Container, _ change: (inout ArchiveSeries.Options) -> Void = { _ in }
    ) -> ArchiveSeries {
        var options = ArchiveSeries.Options()
        change(&options)
        return ArchiveSeries(of: container, in: SmallStore.archives, options: options)
    }

    @Test func `each goes on from the one before, and where nothing changed there is none`()
        async throws
    {
        let container = try await opened(stepped: false)
        var series = series(container)
        try await save(container, ["a", "b"])
        let first = try #require(try await series.next())
        #expect(first.information.baseID == nil)
        #expect(try await first.zones().allSatisfy { $0.contentHash != nil })
        #expect(try await series.next() == nil)
        try await save(container, ["c"])
        try await delete(container, ["a"])
        let second = try #require(try await series.next())
        #expect(second.information.baseID == first.information.archiveID)
        #expect(second.information.range.lowerBound == first.information.range.upperBound)
        #expect(try await second.zones().allSatisfy { $0.contentHash == nil })
        #expect(try await names(first) == ["a", "b"])
        #expect(try await names(second) == ["b", "c"])
        // So does one that begins anew, and one beside the writer.
        var again = self.series(try store.openReadOnly())
        #expect(try await again.next() == nil)
        try await save(container, ["d"])
        var found: Archive?
        for _ in 0..<500 where found == nil {
            found = try await again.next()
            if found == nil { try await Task.sleep(for: .milliseconds(10)) }
        }
        let third = try #require(found)
        #expect(third.information.baseID == second.information.archiveID)
        #expect(try await names(third) == ["b", "c", "d"])
        #expect(try await series.next()?.information.range.lowerBound == nil)
        try await container.close()
    }

    @Test func `a store that was restored begins a series of its own beside that of its original`()
        async throws
    {
        let container = try await opened()
        var series = series(container)
        try await save(container, ["a"])
        let first = try #require(try await series.next())
        try await container.copy(to: "copy")
        let copy = try store.opening("copy").open()
        var own = self.series(copy)
        let second = try #require(try await own.next())
        #expect(second.information.baseID == nil && second.path != first.path)
        try await save(copy, ["b"])
        #expect(try await own.next()?.information.baseID == second.information.archiveID)
        try await copy.close()
        try await container.close()
    }

    @Test func `after so many a full one follows`() async throws {
        let container = try await opened()
        var series = series(container) { $0.chainLimit = 3 }
        var lengths: [Int] = []
        for number in 0..<7 {
            try await save(container, ["r\(number)"])
            lengths.append(try #require(try await series.next()).information.chainLength)
        }
        #expect(lengths == [1, 2, 3, 1, 2, 3, 1])
        try await container.close()
    }

    @Test func `one that was deleted is gone on from no more`() async throws {
        let container = try await opened()
        var series = series(container)
        var archives: [Archive] = []
        for name in ["a", "b", "c"] {
            try await save(container, [name])
            archives.append(try #require(try await series.next()))
        }
        store.disk.delete(archives[2].path)
        try await save(container, ["d"])
        let next = try #require(try await series.next())
        #expect(next.information.baseID == archives[1].information.archiveID)
        #expect(try await names(next) == ["a", "b", "c", "d"])
        for archive in archives[..<2] + [next] { store.disk.delete(archive.path) }
        #expect(try await series.next()?.information.baseID == nil)
        try await container.close()
    }

    @Test(arguments: [true, false])
    func `what is forgotten waits for the next one, and no longer than it is said`(
        waits: Bool
    ) async throws {
        let container = try await opened()
        try await container.setDeletionPolicy(.none)
        let names = (0..<300).map { "r\($0)" }
        try await save(container, names)
        var series = series(container) { if !waits { $0.holding = .zero } }
        let base = try #require(try await series.next())
        try await delete(container, names)
        try await save(container, (0..<300).map { "s\($0)" })
        // First they are forgotten, then their entries go.
        for _ in 0..<2 { try await container.maintenance.compact() }
        let next = try #require(try await series.next())
        #expect(next.information.baseID == (waits ? base.information.archiveID : nil))
        #expect(try await self.names(next).count == 300)
        // The deletions are in an archive now, and are forgotten.
        try await save(container, ["t"])
        try await container.maintenance.compact()
        let last = try #require(try await series.next())
        #expect(last.information.baseID == next.information.archiveID)
        try await container.close()
    }

    @Test func `run by itself it writes what changed, until its task is cancelled`() async throws {
        let container = try await opened(stepped: false)
        try await save(container, ["a"])
        let (made, continuation) = AsyncStream<Archive>.makeStream()
        let task = Task {
            var series = series(container)
            try await series.run(every: .milliseconds(5)) { continuation.yield($0) }
        }
        var archives: [Archive] = []
        for await archive in made {
            archives.append(archive)
            if archives.count == 4 { break }
            try await save(container, ["b\(archives.count)"])
        }
        task.cancel()
        try await task.value
        #expect(archives.map(\.information.chainLength) == [1, 2, 3, 4])
        #expect(try await names(archives.last) == ["a", "b1", "b2", "b3"])
        try await container.close()
    }
}
