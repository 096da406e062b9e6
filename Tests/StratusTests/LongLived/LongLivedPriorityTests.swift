import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// The priorities of long-lived operations: `Formats/README.md`, "Long-lived operations".
@Suite struct LongLivedPriorityTests {
    /// A validator of notes that records the tasks which call it.
    private final class Asked: Sendable {
        private let content = Mutex<[String]>([])

        /// The names of records with the base priorities of the tasks that save them. The current
        /// priority of a task rises while others wait for it, the base priority does not.
        var lines: [String] { content.withLock { $0 } }

        var rules: RecordRules {
            var rules = RecordRules()
            rules.validate("Note", named: "watch") { [self] change, _ throws(RuleRefusal) in
                // The committer's thread may call it again, and runs no task.
                guard let priority = Task.basePriority else { return }
                let line = "\(change.recordID.recordName) \(priority.rawValue)"
                content.withLock { lines in
                    if lines.last != line { lines.append(line) }
                }
            }
            return rules
        }
    }

    private static func begin(
        _ asked: Asked
    ) async throws -> (container: Container, database: Database) {
        let container = try Container.inMemory(rules: asked.rules)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        // The committer prepares commits that bring new names of types and fields.
        try await database.save(note("first", ["n": 0]))
        return (container, database)
    }

    @Test(arguments: OperationPriority.allCases)
    func `an operation runs with its own priority, not that of the task that asks for it`(
        priority: OperationPriority
    ) async throws {
        let asked = Asked()
        let (_, database) = try await Self.begin(asked)
        let operation = try await database.submit(
            .saving([note("a", ["n": 1])]), operationID: "one", priority: priority)
        let asking = Task.detached(priority: .background) { try await operation.outcome() }
        _ = try await asking.value
        #expect(asked.lines.last == "a \(priority.ofTask.rawValue)")
        #expect(asked.lines.count { $0.hasPrefix("a ") } == 1)
    }

    @Test func `pending operations run by priority, and of one in the order of submission`()
        async throws
    {
        let asked = Asked()
        let (container, database) = try await Self.begin(asked)
        let first = asked.lines.count
        let priorities: [OperationPriority] = [.low, .high, .normal, .low]
        for (number, priority) in priorities.enumerated() {
            try await database.submit(
                .saving([note("r\(number)", ["n": 1])]), operationID: "o\(number)",
                priority: priority)
        }
        try await container.continueLongLivedOperations()
        let expected = [1, 2, 0, 3].map { "r\($0) \(priorities[$0].ofTask.rawValue)" }
        #expect(Array(asked.lines.dropFirst(first)) == expected)
    }

    @Test func `an operation is normal unless it says otherwise, and stays so over a restart`()
        async throws
    {
        let store = DiskStore()
        var container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let operation = try await database.submit(.saving([note("a")]), operationID: "one")
        #expect(operation.priority == .normal)
        try await database.submit(
            .saving([note("b")]), operationID: "two", priority: .high)
        try await container.close()
        container = try store.open(creating: false)
        for (id, priority) in [("one", OperationPriority.normal), ("two", .high)] {
            let found = try #require(try await container.longLivedOperation(id, for: "alice"))
            #expect(found.priority == priority)
            // The run itself reports progress.
            let seen = Mutex<[UInt8]>([])
            _ = try await found.outcome { _, _ in
                seen.withLock { $0.append(Task.basePriority?.rawValue ?? 0) }
            }
            #expect(seen.withLock { $0 } == [priority.ofTask.rawValue])
        }
        try await container.close()
    }
}

extension OperationPriority {
    /// That of the task that runs it.
    fileprivate var ofTask: TaskPriority {
        switch self {
        case .low: .low
        case .normal: .medium
        case .high: .high
        }
    }
}

extension LongLivedRequest {
    fileprivate static func saving(_ records: [Record]) -> LongLivedRequest {
        .modify(Modification(saving: records))
    }
}

// Cancellations. The tests of that suite run one at a time, since each holds a thread of the tasks.
extension LongLivedCancellationTests {
    /// A pending operation that saves a record in each of two zones.
    private struct Run {
        let container: Container
        let database: Database
        let operation: LongLivedOperation
        let second = RecordZone.ID(zoneName: "second")

        init() async throws {
            (container, database) = try await makeDatabase()
            try await database.save(RecordZone(zoneID: second))
            operation = try await database.submit(
                .saving([note("a"), note("b", in: second)]), operationID: "one")
        }
    }

    @Test func `cancelling an operation cancels the task that runs it`() async throws {
        let run = try await Run()
        let (reached, continuation) = AsyncStream<Void>.makeStream()
        let isCancelled = WakeUp()
        let seen = Mutex<[Bool]>([])
        let asking = Task {
            await failure {
                try await run.operation.answer { id, _ in
                    guard id.recordName == "a" else { return }
                    seen.withLock { $0.append(Task.isCancelled) }
                    continuation.yield()
                    isCancelled.wait()
                    seen.withLock { $0.append(Task.isCancelled) }
                }
            }
        }
        for await _ in reached { break }
        try await run.operation.cancel()
        isCancelled.signal()
        #expect(await asking.value.code == .operationCancelled)
        #expect(seen.withLock { $0 } == [false, true])
        #expect(try await run.database.names(in: run.second) == [])
    }

    @Test func `cancelling the task that waits for an operation does not stop it`()
        async throws
    {
        let run = try await Run()
        let (reached, continuation) = AsyncStream<Void>.makeStream()
        let mayGoOn = WakeUp()
        let seen = Mutex<[Bool]>([])
        let asking = Task {
            try await run.operation.answer { id, _ in
                if id.recordName == "a" {
                    continuation.yield()
                    mayGoOn.wait()
                }
                seen.withLock { $0.append(Task.isCancelled) }
            }
        }
        for await _ in reached { break }
        asking.cancel()
        mayGoOn.signal()
        guard case .items(_, let items) = try await asking.value else {
            Issue.record("it is no modification")
            return
        }
        #expect(items.count == 2 && items.allSatisfy { $0.code == nil })
        #expect(seen.withLock { $0 } == [false, false])
        #expect(try await run.database.names(in: run.second) == ["b"])
        let found = try await run.container.longLivedOperation("one", for: "alice")
        #expect(found?.state == .finished)
    }

    @Test func `a cancelled read stops after the step that is under way`() async throws {
        let storage = WatchedStorage()
        let container = try Container(
            writing: storage, creating: true, durability: .full, options: JournalOptions(),
            steppedByCaller: true, threadCount: 4)
        let database = container.privateDatabase(for: "alice")
        let zones = (0..<40).map { RecordZone.ID(zoneName: "zone\($0)") }
        for zone in zones {
            try await database.save(RecordZone(zoneID: zone))
            try await database.save(note("a", in: zone))
        }
        // Each zone is a step.
        let request = LongLivedRequest.zoneChanges(
            zones.map { LongLivedRequest.ZoneFetch(inZoneWith: $0) })
        let whole = try await database.submit(request, operationID: "whole")
        let cut = try await database.submit(request, operationID: "cut")
        let reads = Mutex(0)
        let isNextHeld = Atomic(false)
        let (reached, continuation) = AsyncStream<Void>.makeStream()
        let mayGoOn = WakeUp()
        storage.hooks.withLock {
            $0.reading = { mode throws(StorageError) in
                guard mode != .resident else { return }
                reads.withLock { $0 += 1 }
                guard isNextHeld.exchange(false, ordering: .relaxed) else { return }
                continuation.yield()
                mayGoOn.wait()
            }
        }
        _ = try await whole.answer()
        let wholeCount = reads.withLock { $0 }
        #expect(wholeCount >= zones.count)
        reads.withLock { $0 = 0 }
        isNextHeld.store(true, ordering: .relaxed)
        let run = Task {
            let error = await failure { try await cut.answer() }
            continuation.finish()
            return error
        }
        for await _ in reached { break }
        try await cut.cancel()
        mayGoOn.signal()
        #expect(await run.value.code == .operationCancelled)
        let count = reads.withLock { $0 }
        #expect(count >= 1 && count < wholeCount / 4)
        try await container.close()
    }

    @Test func `cancelling a read releases the state that it holds`() async throws {
        let container = try DiskStore().open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a", ["n": 1]))
        let operation = try await database.submit(
            .records([noteID("a")], desiredKeys: nil), operationID: "one")
        func rowCount() async throws -> Int? {
            // This drops the rows that no reader needs.
            try await container.maintenance.erase()
            return try await container.indexStatistics().keyspaces.first { $0.name == "records" }?
                .entries
        }
        try await database.saveAll([note("a", ["n": 2])], savePolicy: .allKeys)
        #expect(try await rowCount() == 2)
        try await operation.cancel()
        try await database.saveAll([note("a", ["n": 3])], savePolicy: .allKeys)
        #expect(try await rowCount() == 1)
        try await container.close()
    }
}
