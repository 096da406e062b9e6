import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// A process that reads beside writers that come and go.
@Suite struct ReadingProcessTests {
    /// A storage that says of writers what a test says.
    private final class ScriptedStorage: StorageWrapper {
        let under: any Storage
        /// The answers to come; the last one stays.
        let answers = Mutex([false])

        init(under: any Storage) { self.under = under }

        func hasWriter() throws(StorageError) -> Bool {
            answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        }
    }

    /// A writer that says of nothing that it is durable, a database in which it saved a record, and a
    /// reader.
    private static func begin() async throws -> (
        writer: Container, database: Database, reader: Container, storage: ScriptedStorage
    ) {
        var store = DiskStore()
        store.durability = .none
        let writer = try store.open()
        let database = writer.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a"))
        let storage = ScriptedStorage(
            under: try LocalStorage(at: "store", .reading, on: store.disk.process()))
        return (writer, database, try Container(reading: storage), storage)
    }

    @Test func `a writer that comes while the end is read takes nothing back`() async throws {
        let (writer, database, reader, storage) = try await Self.begin()
        let seen = reader.privateDatabase(for: "alice")
        #expect(try await seen.names() == ["a"])
        let token = try await seen.recordZoneChanges(inZoneWith: notes, since: nil).changeToken
        for answers in [[false, true], [true]] {
            storage.answers.withLock { $0 = answers }
            try await reader.refresh()
            #expect(try await seen.names() == ["a"], "\(answers)")
            let changes = try await seen.recordZoneChanges(inZoneWith: notes, since: token)
            #expect(changes.modifications.isEmpty)
        }
        try await database.save(note("b"))
        try await writer.close()
        storage.answers.withLock { $0 = [false] }
        try await reader.refresh()
        #expect(try await seen.names() == ["a", "b"])
        try await reader.close()
    }

    /// What is shown was read to the end before the writer came, and began at an older checkpoint.
    @Test func `a writer that has not said yet where the journal ends takes nothing back`()
        async throws
    {
        let (writer, database, reader, storage) = try await Self.begin()
        let seen = reader.privateDatabase(for: "alice")
        try await writer.checkpoint()
        try await database.save(note("b"))
        try await reader.refresh()
        #expect(try await seen.names() == ["a", "b"])
        let token = try await reader.changes().changeToken
        storage.answers.withLock { $0 = [true] }
        for _ in 0..<2 {
            #expect(try await !reader.refresh())
            #expect(try await seen.names() == ["a", "b"])
            #expect(try await reader.changes(since: token).zones.isEmpty)
        }
        try await database.save(note("c"))
        try await writer.close()
        storage.answers.withLock { $0 = [false] }
        while try await reader.refresh() {}
        #expect(try await seen.names() == ["a", "b", "c"])
        #expect(try await reader.changes(since: token).zones.count == 1)
        try await reader.close()
    }

    /// What makes tables anew without a change of the journal.
    enum Renewal: CaseIterable { case erasure, newIndex }

    @Test(arguments: Renewal.allCases)
    func `a reader goes over to an index that was made anew of the same journal`(
        renewal: Renewal
    ) async throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let path = folder.path + "/store"
        var writer = try await Container.open(at: path, creating: true)
        var database = writer.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        for round in 0..<4 {
            try await database.saveAll((0..<100).map { note("r\(round)-\($0)") })
            try await writer.checkpoint()
        }
        try await writer.close()
        let reader = try await Container.openReadOnly(at: path)
        let seen = reader.privateDatabase(for: "alice")
        #expect(try await seen.record(for: noteID("r0-0")).recordType == "Note")
        switch renewal {
        case .erasure:
            writer = try await Container.open(at: path)
            try await writer.maintenance.erase()
        case .newIndex: writer = try await Container.reindex(at: path)
        }
        try await writer.close()
        try await reader.refresh()
        for number in 0..<2 {
            writer = try await Container.open(at: path)
            database = writer.privateDatabase(for: "alice")
            try await database.save(note("more\(number)"))
            try await writer.close()
            try await reader.refresh()
            #expect(try await seen.names().count == 401 + number)
        }
        try await reader.close()
    }
}
