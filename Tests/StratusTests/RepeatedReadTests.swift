import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Synchronization
import Testing

/// What the caches keep of the records that were read.
@Suite struct RepeatedReadTests {
    @Test(arguments: [(100, false), (100_000, true)])
    func `a record that was read is not read from its file again, unless it is long`(
        length: Int, isRead: Bool
    ) async throws {
        let storage = WatchedStorage()
        let container = try Container(
            writing: storage, creating: true, durability: .full, options: JournalOptions(),
            steppedByCaller: true)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let text = String(repeating: "x", count: length)
        try await database.save(note("a", ["text": .string(text)]))
        #expect(try await database.record(for: noteID("a"))["text"] == .string(text))
        let count = Mutex(0)
        storage.hooks.withLock {
            $0.reading = { _ throws(StorageError) in count.withLock { $0 += 1 } }
        }
        for _ in 0..<3 {
            #expect(try await database.record(for: noteID("a"))["text"] == .string(text))
        }
        #expect((count.withLock { $0 } > 0) == isRead)
        try await container.close()
    }

    @Test func `a record that was saved again is read anew`() async throws {
        let (container, database) = try await makeDatabase()
        for number in 0..<20 {
            var record = try? await database.record(for: noteID("a"))
            if record == nil { record = note("a") }
            record?["number"] = .int64(Int64(number))
            try await database.save(try #require(record))
            #expect(try await database.record(for: noteID("a"))["number"] == .int64(Int64(number)))
        }
        try await container.close()
    }
}
