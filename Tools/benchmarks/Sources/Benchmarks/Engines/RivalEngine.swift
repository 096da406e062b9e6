import Dispatch
import Synchronization

/// A record on its way into a rival.
struct Change: Sendable {
    var zone: UInt32
    var item: Item
    /// The encoded fields, behind room for the sequence number; empty where columns are bound.
    var value: [UInt8] = []
    /// The sequence number that the record must still have.
    var expected: UInt64?
}

struct RivalKey: Sendable {
    var zone: UInt32
    var name: String
}

/// An embedded engine on which a record and a feed for each zone are kept by hand.
///
/// Within a zone every change gets the next sequence number, in the transaction that stores it.
protocol Rival: AnyObject, Sendable {
    associatedtype Reader: EngineReader
    where Reader.Key == RivalKey, Reader.Token == UInt64

    /// Whether it wants the fields encoded.
    static var keepsBytes: Bool { get }
    init(at path: String, _ purpose: Purpose) throws
    /// Record and feed of all changes in one transaction. Durable when it returns.
    func commit(_ changes: inout [Change]) throws
    /// The sequence number of a record.
    func sequence(of key: RivalKey, _ reader: Reader) throws -> UInt64
    func reader() throws -> Reader
    func close() throws
}

/// The numbers of the feeds, for the one who writes.
struct Sequences {
    private var last: [UInt32: UInt64] = [:]

    mutating func next(in zone: UInt32, stored: () throws -> UInt64?) rethrows -> UInt64 {
        let before = try last[zone] ?? (stored() ?? 0)
        last[zone] = before + 1
        return before + 1
    }
}

struct RivalEngine<R: Rival>: Engine {
    typealias Input = RivalInput
    typealias Held = RivalHeld
    typealias Reader = R.Reader

    let rival: R
    private let committer: GroupCommitter<R>

    init(at path: String, _ purpose: Purpose) throws {
        rival = try R(at: path, purpose)
        committer = GroupCommitter(rival)
    }

    func input(_ item: Item, in zone: UInt32) -> RivalInput { RivalInput(zone: zone, item: item) }

    func changed(_ input: RivalInput, count: Int64, body: String) -> RivalInput {
        var input = input
        input.item.count = count
        input.item.body = body
        return input
    }

    func key(_ name: String, in zone: UInt32) -> RivalKey { RivalKey(zone: zone, name: name) }

    func makeZones(_ count: Int) {}

    func change(_ input: RivalInput, expecting expected: UInt64? = nil) -> Change {
        let value = R.keepsBytes ? ItemCoding.encode(input.item) : []
        return Change(zone: input.zone, item: input.item, value: value, expected: expected)
    }

    func save(_ input: RivalInput) throws {
        var changes = [change(input)]
        try rival.commit(&changes)
    }

    func saveInGroup(_ input: RivalInput) async throws {
        try await committer.save(change(input))
    }

    func saveAll(_ inputs: [RivalInput]) throws {
        var changes = inputs.map { change($0) }
        try rival.commit(&changes)
    }

    func hold(_ keys: [RivalKey], _ reader: Reader, count: Int64) async throws -> [RivalHeld] {
        var held: [RivalHeld] = []
        for key in keys {
            var item = try await reader.get(key)
            item.count = count
            let tag = try rival.sequence(of: key, reader)
            held.append(RivalHeld(input: input(item, in: key.zone), tag: tag))
        }
        return held
    }

    func saveHeld(_ held: [RivalHeld]) throws {
        var changes = held.map { change($0.input, expecting: $0.tag) }
        try rival.commit(&changes)
    }

    func reader() throws -> Reader { try rival.reader() }

    func close() throws { try rival.close() }
}

struct RivalInput: Sendable {
    var zone: UInt32
    var item: Item
}

struct RivalHeld: Sendable {
    var input: RivalInput
    var tag: UInt64
}

/// Group commit as an application writes it: unless one is running, a caller starts a thread that
/// commits all that waits, in one transaction, until nothing waits.
final class GroupCommitter<R: Rival>: Sendable {
    private struct Waiting: ~Copyable {
        var changes: [Change] = []
        var callers: [CheckedContinuation<Void, any Error>] = []
        var isCommitting = false
    }

    private let rival: R
    private let waiting = Mutex(Waiting())
    private let queue = DispatchQueue(label: "committer")

    init(_ rival: R) { self.rival = rival }

    func save(_ change: Change) async throws {
        try await withCheckedThrowingContinuation { caller in
            let mustStart = waiting.withLock { waiting in
                waiting.changes.append(change)
                waiting.callers.append(caller)
                defer { waiting.isCommitting = true }
                return !waiting.isCommitting
            }
            if mustStart { queue.async { self.commitAll() } }
        }
    }

    private func commitAll() {
        while true {
            var (changes, callers) = waiting.withLock { waiting in
                let taken = (waiting.changes, waiting.callers)
                waiting.changes = []
                waiting.callers = []
                waiting.isCommitting = !taken.0.isEmpty
                return taken
            }
            if changes.isEmpty { return }
            let result = Result { try rival.commit(&changes) }
            for caller in callers { caller.resume(with: result) }
            callers = []
        }
    }
}
