import Stratus
import StratusArchive
import StratusBytes
import StratusFiles
import Support
import Synchronization
import Testing

/// What is found among the archives of a directory, and what is refused before anything is written.
struct ArchiveDirectoryTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")
    /// Where the archives of a store lie.
    private static let directory = "archives"

    private func save(_ container: Container, _ names: [String]) async throws {
        let database = container.privateDatabase(for: "alice")
        for name in names {
            let id = Record.ID(recordName: name, zoneID: Self.zone)
            try await database.save(Record(recordType: "Note", recordID: id))
        }
    }

    private func opened() async throws -> Container {
        let container = try store.open()
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: Self.zone))
        try await save(container, ["a", "b"])
        return container
    }

    /// The error of a backup to a pipe, and how many bytes went there before.
    private func refusal(
        _ container: Container, since base: Archive
    ) async -> (error: StoreError?, count: Int) {
        let count = Mutex(0)
        do throws(StoreError) {
            try await container.backup(since: base) { bytes in
                count.withLock { $0 += bytes.count }
            }
            return (nil, count.withLock { $0 })
        } catch {
            return (error, count.withLock { $0 })
        }
    }

    private static func table(_ base: UInt64?, at end: UInt64 = 0) -> ArchiveTable {
        ArchiveTable(
            baseID: base.map { Hash128(high: 1, low: $0) }, storeID: Hash128(high: 2, low: 2),
            lineage: 3, incarnation: 0, keepsHistory: false, start: end, end: end, floor: 0,
            chain: 0, lastTime: 0, made: 0)
    }

    /// Makes an archive that holds nothing and ends where it begins.
    private func craft(_ number: UInt64, since base: UInt64?, at end: UInt64 = 0) throws {
        var bytes: [UInt8] = []
        let writer = ArchiveWriter(
            Self.table(base, at: end), archiveID: Hash128(high: 1, low: number)
        ) { written throws(StorageError) in bytes += written }
        try writer.finish(chain: 0, lastTime: 0)
        store.disk.replaceContents(store.archivePath("crafted-\(number)"), bytes)
    }

    @Test func `a backup that is refused has written nothing, not even a head`() async throws {
        let container = try store.open()
        try await container.setDeletionPolicy(.none)
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: Self.zone))
        let names = (0..<300).map { "r\($0)" }
        try await save(container, names)
        let base = try await container.backup(to: store.archivePath("a"), marking: .none)
        for name in names {
            try await container.privateDatabase(for: "alice").deleteRecord(
                withID: Record.ID(recordName: name, zoneID: Self.zone))
        }
        try await save(container, (0..<300).map { "s\($0)" })
        try await container.maintenance.compact()
        let (error, count) = await refusal(container, since: base)
        #expect(error?.cause == .changeToken(.compacted))
        #expect(error?.needsFullBackup == true)
        #expect(count == 0)
        try await container.close()
    }

    @Test func `a base that is damaged is named, and a full backup would do`() async throws {
        let container = try await opened()
        let base = try await container.backup(to: store.archivePath("a"))
        let path = store.archivePath("a")
        // The manifest is the last part: twice the same, and how long that is.
        var bytes = store.disk.contents(path)
        let table = Int(bytes.span.uint64(at: bytes.count - 16))
        let length = Int(bytes.span.uint64(at: table - 8))
        bytes[table - 9] ^= 1
        bytes[table - 9 - length] ^= 1
        store.disk.replaceContents(path, bytes)
        let (error, count) = await refusal(container, since: base)
        #expect(error?.needsFullBackup == true && count == 0)
        #expect(error?.place?.file == "a" && error?.place?.kind == "archive.part")
        try await container.close()
    }

    @Test func `a base that does not lie beside the new archive is refused before any write`()
        async throws
    {
        let container = try await opened()
        let base = try await container.backup(to: store.archivePath("a"))
        try await save(container, ["c"])
        try store.disk.process().makeDirectory("elsewhere")
        let error = await #expect(throws: StoreError.self) {
            try await container.backup(to: "elsewhere/b", since: base)
        }
        #expect(error?.code == .invalidArguments && error?.needsFullBackup == false)
        #expect(error?.reason.contains("beside") == true)
        #expect(!store.disk.paths.contains { $0.hasPrefix("elsewhere/") })
        // A copy of the base is as good, under whatever name.
        store.disk.duplicate(store.archivePath("a"), to: "elsewhere/copy")
        let archive = try await container.backup(to: "elsewhere/b", since: base)
        #expect(archive.information.chainLength == 2)
        try await container.close()
    }

    @Test func `a table that no reader would take is refused before the foot`() throws {
        var bytes: [UInt8] = []
        let writer = ArchiveWriter(
            Self.table(nil), archiveID: Hash128(high: 1, low: 1), tableLimit: 64
        ) { written throws(StorageError) in bytes += written }
        #expect(bytes.isEmpty)
        try writer.put("manifest-0000000000000001", [1, 2, 3])
        let error = #expect(throws: ArchiveRefusal.self) {
            try writer.finish(chain: 0, lastTime: 0)
        }
        #expect(bytes.count == 64 + 3)
        let refusal = try #require(error)
        #expect(StoreError(translating: refusal).code == .limitExceeded)
    }

    @Test func `an archive is found beside a copy of it that ended early`() async throws {
        let container = try await opened()
        let base = try await container.backup(to: store.archivePath("a"))
        try await save(container, ["c"])
        try await container.backup(to: store.archivePath("b"), since: base)
        try await container.close()
        // The copy comes first in the order of names.
        let bytes = store.disk.contents(store.archivePath("a"))
        store.disk.replaceContents(store.archivePath(".a.Xy12"), Array(bytes.dropLast(10)))
        let archive = try await store.openArchive("b")
        #expect(archive.information.chainLength == 2)
        #expect(try await archive.verify().isEmpty)
        let found = try await Archive.list(in: Self.directory, on: store.disk.process())
        #expect(found.archives.map(\.path) == ["archives/a", "archives/b"])
        #expect(found.refused.map { $0.file } == ["archives/.a.Xy12"])
        // Without a good one it is the reason.
        store.disk.delete(store.archivePath("a"))
        let error = await #expect(throws: StoreError.self) { _ = try await store.openArchive("b") }
        #expect(error?.place?.file == ".a.Xy12" && error?.place?.kind == "archive.foot")
    }

    @Test func `archives that go on from each other in a circle are refused by name`()
        async throws
    {
        for (number, base) in [(1, 2), (2, 3), (3, 1), (4, 4)] as [(UInt64, UInt64)] {
            try craft(number, since: base, at: 8)
        }
        store.disk.resetCalls()
        for (name, last) in [("crafted-1", "crafted-3"), ("crafted-4", "crafted-4")] {
            let error = await #expect(throws: StoreError.self) {
                _ = try await store.openArchive(name)
            }
            #expect(error?.cause == .damaged)
            #expect(error?.place?.kind == "archive.cycle" && error?.place?.file == last)
        }
        #expect(store.disk.callCount < 200)
        let found = try await Archive.list(in: Self.directory, on: store.disk.process())
        #expect(found.archives.isEmpty && found.refused.count == 4)
        #expect(found.refused.allSatisfy { $0.error.place?.kind == "archive.cycle" })
    }

    @Test func `of many archives each is read once, and few descriptors stay open`() async throws {
        let count: UInt64 = 100
        for number in 0..<count { try craft(number, since: number == 0 ? nil : number - 1) }
        store.disk.logsCalls = true
        store.disk.resetCalls()
        let found = try await Archive.list(in: Self.directory, on: store.disk.process())
        #expect(found.refused.isEmpty)
        #expect(Set(found.archives.map(\.information.chainLength)) == Set(1...Int(count)))
        func calls(_ call: DiskCall) -> Int { store.disk.log.count { $0.call == call } }
        // Head, table and foot.
        #expect(calls(.read) <= 3 * Int(count))
        #expect(calls(.open) <= 2 * Int(count))
        let open = calls(.open) + calls(.openDirectory) - calls(.close)
        #expect(open <= ArchiveDirectory.descriptorLimit + 1)
        // Until here they are all held.
        #expect(found.archives.count == Int(count))
    }
}
