import Stratus
import StratusFiles
import Testing

/// Long-lived operations that are cancelled while they run. One test at a time: each holds a thread of
/// the tasks until another task has come so far.
@Suite(.serialized) struct LongLivedCancellationTests {
    private static let other = RecordZone.ID(zoneName: "other")

    private func saving(_ records: [Record]) -> LongLivedRequest {
        .modify(LongLivedRequest.Modification(saving: records))
    }

    @Test func `what a cancellation finds done stays, and nothing is added`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: Self.other))
        let operation = try await database.submit(
            saving([note("a"), note("b", in: Self.other)]), operationID: "one")
        let (reached, continuation) = AsyncStream<String>.makeStream()
        let isCancelled = WakeUp()
        // Between the commits of two zones the run waits until the cancellation is acknowledged.
        let run = Task {
            await failure {
                try await operation.answer { id, _ in
                    guard id.recordName == "a" else { return }
                    continuation.yield(id.recordName)
                    isCancelled.wait()
                }
            }
        }
        for await name in reached where name == "a" { break }
        try await operation.cancel()
        isCancelled.signal()
        #expect(await run.value.code == .operationCancelled)
        #expect(try await database.names() == ["a"])
        #expect(try await database.names(in: Self.other) == [])
        #expect(await failure { try await operation.outcome() }.code == .operationCancelled)
    }

    @Test func `an ID that is free again names another operation, whatever still runs`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.save(RecordZone(zoneID: Self.other))
        let first = try await database.submit(
            saving([note("a"), note("b", in: Self.other)]), operationID: "one")
        let (reached, continuation) = AsyncStream<Void>.makeStream()
        let mayGoOn = WakeUp()
        let run = Task {
            await failure {
                try await first.answer { id, _ in
                    guard id.recordName == "a" else { return }
                    continuation.yield()
                    mayGoOn.wait()
                }
            }
        }
        for await _ in reached { break }
        try await first.cancel()
        // The run of the first one has not ended yet.
        let second = try await database.submit(
            .records([noteID("a")], desiredKeys: nil), operationID: "one")
        guard case .records(let found) = try await second.outcome() else {
            Issue.record("it gave what the first one came to")
            return
        }
        #expect(try found[noteID("a")]?.get().recordType == "Note")
        mayGoOn.signal()
        #expect(await run.value.code == .operationCancelled)
        #expect(try await container.longLivedOperations(for: "alice").isEmpty)
    }
}
