import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Synchronization
import Support
import Testing

/// Which threads wait for the disk, and which files stay while one does.
@Suite struct WaitingTests {
    /// Whether this is done by a task that asked the store for something: such a task runs on the
    /// cooperative pool. The store's own threads run no task.
    private enum Asking { @TaskLocal static var isOn = false }

    private struct Waits {
        var byTasks = 0
        var byThreads = 0
    }

    private func container(_ storage: any Storage, stepped: Bool) throws -> Container {
        try Container(
            writing: storage, creating: true, durability: .full, options: JournalOptions(),
            steppedByCaller: stepped, memoryLimit: 1 << 20)
    }

    @Test func `a task never waits for the disk, whatever it asks for`() async throws {
        let storage = WatchedStorage()
        let writer = try container(storage, stepped: false)
        let alice = writer.privateDatabase(for: "alice")
        try await alice.save(RecordZone(zoneID: notes))
        try await alice.saveAll((0..<2000).map { note("r\($0)", ["number": .int64(Int64($0))]) })
        try await writer.close()
        let container = try container(storage, stepped: false)
        let waits = Mutex(Waits())
        // A disk whose cache never holds anything.
        storage.hooks.withLock {
            $0.reading = { mode throws(StorageError) in
                if mode == .resident { throw StorageError(.notResident, file: "any") }
                waits.withLock {
                    if Asking.isOn { $0.byTasks += 1 } else { $0.byThreads += 1 }
                }
            }
        }
        let database = container.privateDatabase(for: "alice")
        try await Asking.$isOn.withValue(true) {
            #expect(try await database.record(for: noteID("r7"))["number"] == 7)
            #expect(try await database.records(for: [noteID("r8"), noteID("r9")]).count == 2)
            #expect(try await database.allRecords().count == 2000)
            #expect(try await database.recordZone(for: notes).zoneID == notes)
            #expect(try await database.allRecordZones().count == 2)
            let changes = try await FollowedChanges(of: database)
            #expect(changes.modified.count == 2000)
            #expect(try await database.databaseChanges().modifications == [notes])
            #expect(try await database.contentHash().recordCount == 2000)
            #expect(try await database.recordCount(inZoneWith: notes) == 2000)
            var record = try await database.record(for: noteID("r10"))
            record["number"] = 0
            try await database.save(record)
            try await database.save(note("new"))
            try await database.deleteRecord(withID: noteID("r11"))
            try await database.save(RecordZone(zoneName: "other"))
            try await database.deleteRecordZone(withID: RecordZone.ID(zoneName: "other"))
        }
        let (byTasks, byThreads) = waits.withLock { ($0.byTasks, $0.byThreads) }
        #expect(byTasks == 0)
        #expect(byThreads > 20)
        storage.hooks.withLock { $0.reading = nil }
        try await container.close()
    }

    /// Opens of a table wait at a gate once, so that a merge can come in between.
    private struct Gate {
        var isArmed = true
        var waiting: String?
        var isOpen = false
    }

    @Test func `a table stays while a reader is about to read it, though it was merged away`()
        async throws
    {
        let storage = WatchedStorage()
        let first = try container(storage, stepped: true)
        let alice = first.privateDatabase(for: "alice")
        try await alice.save(RecordZone(zoneID: notes))
        try await alice.save(note("old", ["number": 1]))
        try await first.checkpoint()
        try await first.close()
        let container = try container(storage, stepped: true)
        let gate = Mutex(Gate())
        storage.hooks.withLock {
            $0.opening = { name in
                let isFirst = gate.withLock { gate in
                    guard gate.isArmed, name.hasPrefix("index-") else { return false }
                    (gate.isArmed, gate.waiting) = (false, name)
                    return true
                }
                while isFirst, !gate.withLock({ $0.isOpen }) { Thread.pause(microseconds: 200) }
            }
        }
        let snapshot = container.snapshot()
        // On a thread of its own: those of tasks are few, and other tests may hold some, too.
        let found = Mutex<Result<Record, any Error>?>(nil)
        let reader = Task {
            try await onThreads(1) { _ in
                let read = Result {
                    try snapshot.privateDatabase(for: "alice").record(for: noteID("old"))
                }
                found.withLock { $0 = read }
            }
        }
        while gate.withLock({ $0.waiting == nil }) { try await Task.sleep(for: .milliseconds(1)) }
        let table = try #require(gate.withLock { $0.waiting })
        let database = container.privateDatabase(for: "alice")
        for number in 0..<6 {
            try await database.save(note("new\(number)"))
            try await container.checkpoint()
        }
        #expect(try await container.indexStatistics().tables < 6, "some were merged")
        #expect(try storage.list().contains(table))
        gate.withLock { $0.isOpen = true }
        try await reader.value
        #expect(try found.withLock { $0 }?.get()["number"] == 1)
        // It has no reader any more.
        for number in 0..<3 {
            try await database.save(note("later\(number)"))
            try await container.checkpoint()
        }
        #expect(try !storage.list().contains(table))
        try await container.close()
    }
}
