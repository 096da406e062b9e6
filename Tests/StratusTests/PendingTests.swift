import Stratus
import StratusFiles
import Support
import StratusJournal
import Testing

/// What becomes of saves that are cancelled, that wait, and that come after the end.
@Suite struct PendingTests {
    private let storage = GatedStorage()

    private func openDatabase() async throws -> (Container, Database) {
        try await makeDatabase(on: storage)
    }

    /// Lets a save of `name` get as far as its sync, which waits.
    private func saveUntilSync(_ name: String, _ database: Database) async -> Task<
        Record, any Error
    > {
        storage.shut()
        let task = Task { try await database.save(note(name)) }
        while !storage.isWaiting { await Task.yield() }
        return task
    }

    @Test(arguments: [true, false])
    func `a task that is cancelled already saves nothing`(steppedByCaller: Bool) async throws {
        let container = try Container(
            writing: MemoryStorage(), creating: true, durability: .full,
            options: JournalOptions(), steppedByCaller: steppedByCaller)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await failure { try await database.save(note("a")) }
        }
        task.cancel()
        let error = await task.value
        #expect(error.code == .operationCancelled)
        #expect(error.cause == nil)
        #expect(try await database.allRecords() == [])
        try await database.save(note("b"))
        try await container.close()
    }

    @Test func `a save cancelled while it is being committed is committed and says so`()
        async throws
    {
        let (container, database) = try await openDatabase()
        let first = await saveUntilSync("first", database)
        first.cancel()
        let second = Task { await failure { try await database.save(note("second")) } }
        try await Task.sleep(for: .milliseconds(20))
        second.cancel()
        // It need not wait for the disk to hear that.
        #expect(await second.value.code == .operationCancelled)
        #expect(storage.isWaiting)
        storage.open()
        #expect(try await first.value.recordID == noteID("first"))
        #expect(try await database.allRecords().map(\.recordID) == [noteID("first")])
        try await container.close()
    }

    @Test func `a cancelled save is stored exactly if it did not fail`() async throws {
        let (container, database) = try await openDatabase()
        for round in 0..<20 {
            let tasks = (0..<50).map { number in
                Task { try await database.save(note("r\(round)-\(number)")) }
            }
            for task in tasks {
                await Task.yield()
                task.cancel()
            }
            var saved: Set<Record.ID> = []
            for task in tasks {
                switch await task.result {
                case .success(let record): saved.insert(record.recordID)
                case .failure(let error):
                    #expect((error as? StoreError)?.code == .operationCancelled)
                }
            }
            let stored = try await database.allRecords().map(\.recordID)
            let ofRound = stored.filter { $0.recordName.hasPrefix("r\(round)-") }
            #expect(Set(ofRound) == saved)
        }
        try await container.close()
    }

    @Test func `five thousand callers at once wait for their turn and all are served`()
        async throws
    {
        let (container, database) = try await openDatabase()
        let first = await saveUntilSync("first", database)
        let callers = (0..<5000).map { number in
            Task { try await database.save(note("r\(number)")) }
        }
        // Those behind the bound can be cancelled too.
        let late = Task { await failure { try await database.save(note("late")) } }
        try await Task.sleep(for: .milliseconds(100))
        late.cancel()
        #expect(await late.value.code == .operationCancelled)
        #expect(storage.isWaiting)
        storage.open()
        _ = try await first.value
        for caller in callers { _ = try await caller.value }
        #expect(try await database.allRecords(resultsLimit: 10_000).count == 5001)
        try await container.close()
    }

    @Test func `closing commits what is pending and refuses what comes later`() async throws {
        let (container, database) = try await openDatabase()
        let first = await saveUntilSync("first", database)
        let pending = (0..<20).map { number in
            Task { try await database.save(note("r\(number)")) }
        }
        try await Task.sleep(for: .milliseconds(50))
        let closing = Task { try await container.close() }
        // A delete of nothing needs no disk: it tells when the container is closed.
        var refusal: StoreError?
        while refusal == nil {
            do throws(StoreError) {
                try await database.deleteRecord(withID: noteID("nothing"))
            } catch {
                refusal = error
            }
            await Task.yield()
        }
        #expect(refusal?.code == .operationCancelled)
        #expect(refusal?.cause == .closed)
        let late = await failure { try await database.save(note("late")) }
        #expect(late.cause == .closed)
        storage.open()
        _ = try await first.value
        var count = 1
        for task in pending {
            switch await task.result {
            case .success: count += 1
            case .failure(let error): #expect((error as? StoreError)?.cause == .closed)
            }
        }
        try await closing.value
        let again = try Container(
            writing: storage, creating: false, durability: .full, options: JournalOptions(),
            steppedByCaller: true)
        #expect(again.recoveryReport.wasClean)
        let stored = try await again.privateDatabase(for: "alice").allRecords()
        #expect(stored.count == count)
        #expect(count > 1, "what was submitted before is pending")
    }

    @Test(arguments: [true, false])
    func `closing twice, or from many tasks, is closing once`(steppedByCaller: Bool) async throws {
        let container = try Container(
            writing: storage, creating: true, durability: .full, options: JournalOptions(),
            steppedByCaller: steppedByCaller)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 { group.addTask { try await container.close() } }
            try await group.waitForAll()
        }
        try await container.close()
        for error in [
            await failure { try await database.save(note("a")) },
            await failure { try await database.save(RecordZone(zoneName: "other")) },
            await failure { try await database.deleteRecord(withID: noteID("a")) },
        ] {
            #expect(error.code == .operationCancelled)
            #expect(error.cause == .closed)
        }
        let batch = try await database.modifyRecords(saving: [note("a")])
        #expect(batch.saveResults[noteID("a")]?.code == .operationCancelled)
    }
}
