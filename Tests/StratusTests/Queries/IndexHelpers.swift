import Stratus
import Synchronization

/// A query for records of type Note.
func noteQuery(
    _ text: String, sort: (key: String, ascending: Bool)? = nil
) throws -> Query {
    Query(
        recordType: "Note", predicate: try Query.Predicate(text),
        sortDescriptors: sort.map { [.init(key: $0.key, ascending: $0.ascending)] } ?? [])
}

/// The sorted names of what a query finds.
func recordNames(_ query: Query, in database: Database) async throws -> [String] {
    try await database.allRecords(matching: query).map(\.recordID.recordName).sorted()
}

/// Declares the first index of a container in a task that is cancelled while the index is built, unless
/// that has ended by then.
///
/// - Parameters:
///   - pause: how often others may run before that.
///   - stop: what happens then.
func interruptedIndex(
    of container: Container, pause: Int = 0, stop: () -> Void = {},
    _ declare: @escaping @Sendable () async throws -> RecordIndex
) async throws -> Result<RecordIndex, any Error> {
    let hasEnded = Atomic(false)
    let task = Task {
        defer { hasEnded.store(true, ordering: .releasing) }
        return try await declare()
    }
    while try await container.indexes().isEmpty, !hasEnded.load(ordering: .acquiring) {
        await Task.yield()
    }
    for _ in 0..<pause { await Task.yield() }
    task.cancel()
    stop()
    return await task.result
}
