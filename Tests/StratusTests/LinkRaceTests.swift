import Stratus
import StratusFiles
import Support
import StratusJournal
import Testing

/// Checks of parents and references, each against the write that would make it wrong: prepared at
/// once against the same state, and committed one behind the other.
@Suite struct LinkRaceTests {
    private typealias Call = @Sendable (Database) async throws -> Void

    /// The codes of two calls, in the order in which they were committed, and the names of what is
    /// left.
    private struct Outcome: Equatable {
        var first: StoreError.Code?
        var second: StoreError.Code?
        var names: [String]

        init(_ first: StoreError.Code?, _ second: StoreError.Code?, _ names: [String]) {
            self.first = first
            self.second = second
            self.names = names
        }
    }

    /// What became of two calls that were prepared before either was committed, in either order.
    private func race(
        _ records: [Record], _ one: @escaping Call, _ other: @escaping Call
    ) async throws -> [Outcome] {
        var outcomes: [Outcome] = []
        for calls in [[one, other], [other, one]] {
            let storage = GatedStorage()
            let (container, database) = try await makeDatabase(on: storage)
            try await database.saveAll(records + [note("blocking", ["target": link("x", .none)])])
            storage.shut()
            let blocking = Task {
                try await database.save(note("blocking", ["n": 1]), savePolicy: .changedKeys)
            }
            while !storage.isWaiting { await Task.yield() }
            var tasks: [Task<StoreError.Code?, any Error>] = []
            for call in calls {
                tasks.append(
                    Task {
                        do {
                            try await call(database)
                            return nil
                        } catch let error as StoreError {
                            return error.code
                        }
                    })
                try await Task.sleep(for: .milliseconds(20))
            }
            storage.open()
            _ = try await blocking.value
            let codes = [try await tasks[0].value, try await tasks[1].value]
            let names = try await database.names().filter { $0 != "blocking" }
            outcomes.append(Outcome(codes[0], codes[1], names))
            try await container.close()
        }
        return outcomes
    }

    private static func delete(_ names: String...) -> Call {
        { database in
            let result = try await database.modifyRecords(
                saving: [], deleting: names.map { noteID($0) })
            if let error = result.deleteResults[noteID(names[0])] { try error.get() }
        }
    }

    private static func save(_ record: Record) -> Call {
        { try await $0.save(record, savePolicy: .changedKeys) }
    }

    private func dependent(_ name: String, of target: String) -> Record {
        note(name, ["target": link(target, .deleteSelf)])
    }

    @Test func `a child and the deletion of its parent: the first wins`() async throws {
        let outcomes = try await race(
            [note("p")], Self.save(child("c", of: "p")), Self.delete("p"))
        #expect(outcomes[0] == Outcome(nil, .referenceViolation, ["c", "p"]))
        #expect(outcomes[1] == Outcome(nil, .referenceViolation, []))
    }

    @Test func `a record moved under a parent, and the deletion of that: the first wins`()
        async throws
    {
        let outcomes = try await race(
            [note("p"), note("q"), child("c", of: "q")], Self.save(child("c", of: "p")),
            Self.delete("p"))
        #expect(outcomes[0] == Outcome(nil, .referenceViolation, ["c", "p", "q"]))
        #expect(outcomes[1] == Outcome(nil, .referenceViolation, ["c", "q"]))
    }

    @Test func `a source and the deletion of its target: it goes along, or comes later`()
        async throws
    {
        let outcomes = try await race(
            [note("t")], Self.save(dependent("s", of: "t")), Self.delete("t"))
        #expect(outcomes[0] == Outcome(nil, nil, []))
        #expect(outcomes[1] == Outcome(nil, nil, ["s"]))
    }

    @Test func `a source that lets go of its target, and the deletion of that`() async throws {
        var free = note("s")
        free["target"] = link("t", .none)
        let outcomes = try await race(
            [note("t"), dependent("s", of: "t")], Self.save(free), Self.delete("t"))
        #expect(outcomes[0] == Outcome(nil, nil, ["s"]))
        // Under this policy a record that is gone is made again.
        #expect(outcomes[1] == Outcome(nil, nil, ["s"]))
    }

    @Test func `a source of a source, and a cascade`() async throws {
        let outcomes = try await race(
            [note("t"), dependent("a", of: "t"), dependent("b", of: "a")],
            Self.save(dependent("c", of: "b")), Self.delete("t"))
        #expect(outcomes[0] == Outcome(nil, nil, []))
        #expect(outcomes[1] == Outcome(nil, nil, ["c"]))
    }

    @Test func `a child of what a cascade would take: the first wins`() async throws {
        let outcomes = try await race(
            [note("t"), dependent("s", of: "t")], Self.save(child("c", of: "s")), Self.delete("t"))
        #expect(outcomes[0] == Outcome(nil, .referenceViolation, ["c", "s", "t"]))
        #expect(outcomes[1] == Outcome(nil, .referenceViolation, []))
    }

    @Test func `two records that would each be under the other: one wins`() async throws {
        let outcomes = try await race(
            [note("a"), note("b"), child("m", of: "b")], Self.save(child("a", of: "m")),
            Self.save(child("b", of: "a")))
        for outcome in outcomes {
            #expect(outcome == Outcome(nil, .invalidArguments, ["a", "b", "m"]))
        }
    }

    @Test func `a reference to be validated, and the deletion of its target`() async throws {
        let outcomes = try await race(
            [note("t")], Self.save(note("s", ["link": link("t", .validate)])), Self.delete("t"))
        #expect(outcomes[0] == Outcome(nil, nil, ["s"]))
        #expect(outcomes[1] == Outcome(nil, .referenceViolation, []))
    }

    @Test func `a parent and its children deleted together, and another child`() async throws {
        let outcomes = try await race(
            [note("p"), child("c", of: "p")], Self.save(child("d", of: "p")),
            Self.delete("p", "c"))
        #expect(outcomes[0] == Outcome(nil, .referenceViolation, ["c", "d", "p"]))
        #expect(outcomes[1] == Outcome(nil, .referenceViolation, []))
    }

    @Test func `many tasks that add and delete leave no child without its parent`() async throws {
        let (_, database) = try await makeDatabase()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<60 {
                        let parent = "p\(number % 3)"
                        let calls: [Call] = [
                            Self.save(note(parent)),
                            Self.save(child("c\(task)", of: parent)),
                            Self.save(child("p\((number + 1) % 3)", of: parent)),
                            Self.delete(parent), Self.delete("c\(task)"),
                            Self.save(child("d\(task)", of: "c\(number % 8)")),
                            Self.delete("d\(task)"),
                        ]
                        do {
                            try await calls[(task + number * 5) % calls.count](database)
                        } catch let error as StoreError {
                            #expect(
                                [.referenceViolation, .invalidArguments].contains(error.code))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let records = try await database.allRecords()
        let parents = Dictionary(
            uniqueKeysWithValues: records.map { ($0.recordID, $0.parent?.recordID) })
        for record in records {
            var seen: Set<Record.ID> = []
            var next: Record.ID? = record.recordID
            while let id = next {
                guard seen.insert(id).inserted else {
                    Issue.record("a circle at \(id.recordName)")
                    break
                }
                #expect(parents[id] != nil, "\(id.recordName) is not there")
                next = parents[id] ?? nil
            }
        }
    }
}
