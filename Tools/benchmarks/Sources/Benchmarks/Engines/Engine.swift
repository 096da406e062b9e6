/// What an engine is opened for.
enum Purpose: String, Sendable {
    /// As a service opens it.
    case usual
    /// Large batches: what an engine offers for them is set.
    case batches
    /// Commits that are not synced and never checkpointed, for a process that will be killed.
    case killed
}

/// A store that keeps records in zones and a change feed for each zone, as its users see it.
///
/// What a caller holds before a call (`Input`, `Key`, `Held`) is made untimed; what the call does
/// with it, encoding included, is timed.
protocol Engine: Sendable {
    associatedtype Input: Sendable
    associatedtype Held: Sendable
    associatedtype Reader: EngineReader

    /// Opens the store in a directory, which may be empty.
    init(at path: String, _ purpose: Purpose) async throws
    func input(_ item: Item, in zone: UInt32) -> Input
    /// The same record with other contents.
    func changed(_ input: Input, count: Int64, body: String) -> Input
    func key(_ name: String, in zone: UInt32) -> Reader.Key
    func makeZones(_ count: Int) async throws
    /// One record, durable by itself; for one caller.
    func save(_ input: Input) async throws
    /// The same without a task, on the calling thread.
    func saveAndWait(_ input: Input) throws
    /// One record, durable when it returns, together with those of others; for many callers.
    func saveInGroup(_ input: Input) async throws
    /// New records or new contents, all in one durable commit.
    func saveAll(_ inputs: [Input]) async throws
    /// What a caller holds who has read these records and changed their field `count`.
    func hold(_ keys: [Reader.Key], _ reader: Reader, count: Int64) async throws -> [Held]
    /// All in one durable commit, if each is still what was read.
    func saveHeld(_ held: [Held]) async throws
    /// Reads for one task.
    func reader() throws -> Reader
    func close() async throws
}

protocol EngineReader {
    associatedtype Key: Sendable
    associatedtype Token

    /// The record, all fields decoded.
    func get(_ key: Key) async throws -> Item
    /// What changed last in a zone since a token, oldest first, all fields decoded.
    func changes(
        in zone: UInt32, since token: Token?, limit: Int
    ) async throws -> ChangePage<Token>
}

extension Engine {
    func saveAndWait(_ input: Input) throws {
        throw BenchmarkError("this engine is measured with W1: it has no other way to save")
    }
}

struct ChangePage<Token> {
    var items: [Item] = []
    /// Where each change stands in the order of the feed.
    var places: [UInt64] = []
    var token: Token
    var moreComing: Bool
}

struct BenchmarkError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
