import FoundationEssentials
import Stratus
import StratusEngine
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// Saving on threads that wait.
@Suite(.timeLimit(.minutes(20))) struct BlockingTests {
    private func open(
        _ storage: any Storage = MemoryStorage(), steppedByCaller: Bool = false
    ) throws -> Container {
        try Container(
            writing: storage, creating: true, durability: .full, options: JournalOptions(),
            steppedByCaller: steppedByCaller)
    }

    @Test(arguments: [true, false])
    func `a thread that waits saves as a task does`(steppedByCaller: Bool) async throws {
        let container = try open(steppedByCaller: steppedByCaller)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await onThreads(1) { _ in
            do {
                let first = try database.saveAndWait(note("a", ["count": 1]))
                #expect(first["count"] == 1)
                var second = first
                second["count"] = 2
                #expect(try database.saveAndWait(second).recordChangeTag != first.recordChangeTag)
                let error = #expect(throws: StoreError.self) { try database.saveAndWait(first) }
                #expect(error?.code == .serverRecordChanged)
                let both = try database.modifyRecordsAndWait(
                    saving: [note("b")], deleting: [noteID("a")])
                #expect(both.partialFailure == nil)
            } catch {
                Issue.record(error)
            }
        }
        #expect(try await database.allRecords().map(\.recordID) == [noteID("b")])
        try await container.close()
    }

    @Test func `a thread that waits may ask again, and is answered as it was`() async throws {
        let container = try open()
        let database = container.privateDatabase(for: "alice", device: "phone")
        try await database.save(RecordZone(zoneID: notes))
        try await onThreads(1) { _ in
            do {
                let first = try database.saveAndWait(note("a"), operationID: "one")
                #expect(try database.saveAndWait(note("a"), operationID: "one") == first)
                let modify = { (names: [String]) throws(StoreError) in
                    try database.modifyRecordsAndWait(
                        saving: names.map { note($0) }, deleting: [noteID("a")],
                        operationID: "two", clientChangeTokenData: Data([7]))
                }
                let saved = try modify(["b", "c"])
                let again = try modify(["b", "c"])
                for id in [noteID("b"), noteID("c")] {
                    #expect(try again.saveResults[id]?.get() == saved.saveResults[id]?.get())
                }
                let error = #expect(throws: StoreError.self) { try modify(["b"]) }
                #expect(error?.code == .invalidArguments)
                let other = #expect(throws: StoreError.self) {
                    try database.saveAndWait(note("d"), operationID: "one")
                }
                #expect(other?.code == .invalidArguments)
            } catch {
                Issue.record(error)
            }
        }
        #expect(try await database.names() == ["b", "c"])
        let page = try await database.recordZoneChanges(inZoneWith: notes)
        #expect(page.clientChangeTokenData == Data([7]))
        try await container.close()
    }

    @Test func `threads and tasks save side by side and nothing is lost`() async throws {
        let container = try open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let tasks = (0..<8).map { task in
            Task {
                for number in 0..<100 { try await database.save(note("t\(task)-\(number)")) }
            }
        }
        try await onThreads(8) { thread in
            for number in 0..<100 {
                #expect(throws: Never.self) {
                    try database.saveAndWait(note("w\(thread)-\(number)"))
                }
            }
        }
        for task in tasks { try await task.value }
        #expect(try await database.allRecords(resultsLimit: 2000).count == 1600)
        try await container.close()
    }

    @Test func `a thread that waits is told that the container was closed`() async throws {
        let container = try open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let saved = Atomic(0)
        async let closing: Void = {
            while saved.load(ordering: .relaxed) < 20 { await Task.yield() }
            try await container.close()
        }()
        try await onThreads(4) { thread in
            var number = 0
            while true {
                do throws(StoreError) {
                    try database.saveAndWait(note("r\(thread)-\(number)"))
                    number += 1
                    saved.add(1, ordering: .relaxed)
                } catch {
                    #expect(error.cause == .closed)
                    return
                }
            }
        }
        try await closing
        #expect(saved.load(ordering: .relaxed) >= 20)
    }

    @Test func `a thread that waits is bound by the limits of the profile`() async throws {
        let container = try Container.inMemory(
            profile: Profile(itemsPerRequest: 2, bytesPerRequest: 100))
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await onThreads(1) { _ in
            let tooMany = #expect(throws: StoreError.self) {
                try database.modifyRecordsAndWait(saving: ["a", "b", "c"].map { note($0) })
            }
            #expect(tooMany?.code == .limitExceeded)
            let text = RecordValue.string(String(repeating: "x", count: 200))
            let tooLong = #expect(throws: StoreError.self) {
                try database.saveAndWait(note("a", ["text": text]))
            }
            #expect(tooLong?.code == .limitExceeded)
        }
        #expect(try await database.allRecords() == [])
        try await container.close()
    }

    /// Nothing tells the engine's thread of a commit that it did not make, but for the first one.
    @Test func `a reader soon sees what a thread has saved, without another save`()
        async throws
    {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let reader = try store.openReadOnly()
        for round in 0..<3 {
            try await Task.sleep(for: .milliseconds(10))
            try await onThreads(1) { _ in
                for number in 0..<5 {
                    #expect(throws: Never.self) {
                        try database.saveAndWait(note("r\(round)-\(number)"))
                    }
                }
            }
            let last = noteID("r\(round)-4")
            var isSeen = false
            for _ in 0..<1000 where !isSeen {
                try await reader.refresh()
                let reading = reader.privateDatabase(for: "alice")
                isSeen = (try? await reading.record(for: last)) != nil
                if !isSeen { try await Task.sleep(for: .milliseconds(5)) }
            }
            #expect(isSeen)
        }
        try await container.close()
    }

    @Test func `threads that save while a group is being synced share the next sync`()
        async throws
    {
        let storage = GatedStorage()
        let container = try open(storage)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("there"))
        storage.shut()
        let before = storage.count
        let save = { @Sendable (name: String) in
            #expect(throws: Never.self) { try database.saveAndWait(note(name)) }
        }
        let first = Task { try await onThreads(1) { _ in save("first") } }
        while !storage.isWaiting { await Task.yield() }
        let others = Task { try await onThreads(15) { save("r\($0)") } }
        while container.queueDepth < 15 { await Task.yield() }
        // Readers do not wait for the sync, nor see what is not durable.
        #expect(try await database.record(for: noteID("there")).recordID == noteID("there"))
        #expect(try await database.names() == ["there"])
        #expect(storage.isWaiting)
        storage.open()
        try await first.value
        try await others.value
        #expect(storage.count - before == 2)
        #expect(try await database.allRecords().count == 17)
        try await container.close()
    }

    @Test func `a thread that waits is let in only when the queue has room, as a task is`()
        async throws
    {
        let storage = GatedStorage()
        let container = try open(storage)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        storage.shut()
        let first = Task { try await database.save(note("first")) }
        while !storage.isWaiting { await Task.yield() }
        let others = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1..<Engine.queueLimit {
                    group.addTask { try await database.save(note("r\(number)")) }
                }
                try await group.waitForAll()
            }
        }
        while container.queueDepth < Engine.queueLimit - 1 { await Task.yield() }
        let thread = Task {
            try await onThreads(1) { _ in
                #expect(throws: Never.self) { try database.saveAndWait(note("last")) }
            }
        }
        // Nothing tells of a thread that waits to be let in, only that none is let in meanwhile.
        for _ in 0..<20 {
            try await Task.sleep(for: .milliseconds(5))
            #expect(container.queueDepth == Engine.queueLimit - 1)
        }
        storage.open()
        _ = try await first.value
        try await others.value
        try await thread.value
        let names = try await database.allRecords(resultsLimit: Engine.queueLimit + 1)
        #expect(names.count == Engine.queueLimit + 1)
        try await container.close()
    }

    @Test func `threads and tasks that wait for room are let in one by one, and all are`()
        async throws
    {
        let queue = CommitQueue(limit: 2)
        let inside = Occupancy()
        let tasks = (0..<4).map { _ in
            Task {
                for _ in 0..<500 {
                    try await queue.admit()
                    #expect(inside.enter() <= 2)
                    await Task.yield()
                    inside.leave()
                    queue.release()
                }
            }
        }
        try await onThreads(4) { _ in
            for _ in 0..<500 {
                #expect(throws: Never.self) { try queue.admitBlocking() }
                #expect(inside.enter() <= 2)
                inside.leave()
                queue.release()
            }
        }
        for task in tasks { try await task.value }
        #expect(inside.enter() == 1)
    }

    @Test func `a thread that waits for room is told that the queue is closed`() async throws {
        let queue = CommitQueue(limit: 1)
        try await queue.admit()
        let refused = Atomic(0)
        let thread = Task {
            try await onThreads(2) { _ in
                do throws(EngineError) {
                    try queue.admitBlocking()
                } catch {
                    if case .journal(.closed) = error { refused.add(1, ordering: .relaxed) }
                }
            }
        }
        try await Task.sleep(for: .milliseconds(20))
        #expect(refused.load(ordering: .relaxed) == 0)
        queue.close()
        try await thread.value
        #expect(refused.load(ordering: .relaxed) == 2)
    }

    @Test func `commits go on while a checkpoint is written, and a backup waits for one alone`()
        async throws
    {
        let storage = GatedStorage(holding: .putTable)
        let container = try open(storage)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a"))
        storage.shut()
        let backup = Task {
            try await container.backup(marking: .none) { _ in }
        }
        while !storage.isWaiting { await Task.yield() }
        let checkpoint = Task { try await container.checkpoint() }
        for name in ["b", "c", "d"] { try await database.save(note(name)) }
        try await onThreads(1) { _ in
            #expect(throws: Never.self) { try database.saveAndWait(note("e")) }
        }
        #expect(try await container.indexStatistics().checkpoint == nil)
        // The checkpoint that is being written lacks what the second call has seen.
        storage.letOneThrough()
        try await backup.value
        while !storage.isWaiting { await Task.yield() }
        try await database.save(note("f"))
        storage.open()
        try await checkpoint.value
        #expect(try await database.names() == ["a", "b", "c", "d", "e", "f"])
        try await container.close()
    }

    @Test func `those who wait for a checkpoint are told that the store closes`() async throws {
        let storage = GatedStorage(holding: .putTable)
        let container = try open(storage)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        storage.shut()
        let first = Task { try await container.checkpoint() }
        while !storage.isWaiting { await Task.yield() }
        try await database.save(note("a"))
        let second = Task { try await container.checkpoint() }
        let closing = Task { try await container.close() }
        while (try? await database.save(note("b"))) != nil {}
        storage.open()
        try await first.value
        // Closing writes no checkpoint of what is read again sooner; one may have begun before.
        if case .failure(let error) = await second.result {
            #expect((error as? StoreError)?.cause == .closed)
        }
        try await closing.value
    }

    @Test func `while a checkpoint puts its manifest readers read and threads may queue`()
        async throws
    {
        let storage = GatedStorage(holding: .put)
        let container = try open(storage)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("there"))
        storage.shut()
        let checkpoint = Task { try await container.checkpoint() }
        while !storage.isWaiting { await Task.yield() }
        let saver = Task {
            try await onThreads(1) { _ in
                #expect(throws: Never.self) { try database.saveAndWait(note("new")) }
            }
        }
        while container.queueDepth < 1 { await Task.yield() }
        #expect(try await database.names() == ["there"])
        let snapshot = container.snapshot().privateDatabase(for: "alice")
        #expect(try snapshot.record(for: noteID("there")).recordID == noteID("there"))
        #expect(try await container.indexStatistics().checkpoint == nil)
        #expect(storage.isWaiting)
        storage.open()
        try await checkpoint.value
        try await saver.value
        #expect(try await container.indexStatistics().checkpoint != nil)
        #expect(try await database.names() == ["new", "there"])
        try await container.close()
    }
}

/// How many are between two calls.
private final class Occupancy: Sendable {
    private let count = Atomic(0)

    func enter() -> Int { count.add(1, ordering: .relaxed).newValue }
    func leave() { count.subtract(1, ordering: .relaxed) }
}
