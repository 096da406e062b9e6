import Stratus
import StratusFiles
import Support
import StratusJournal
import Testing

/// Two calls of which each may invalidate what the other was checked against.
struct RacePair: Sendable, CustomTestStringConvertible {
    typealias Call = @Sendable (Database, [Record]) async throws -> Void
    typealias Verdict =
        @Sendable (Database, _ leftFailed: Bool, _ rightFailed: Bool) async throws -> Void

    let testDescription: String
    var profile = Profile.unlimited
    /// What is there before; the calls hold what it returns.
    var prepare: @Sendable (Database) async throws -> [Record] = { _ in [] }
    let left: Call
    let right: Call
    /// What each is told if it loses; nil: it never does.
    let codes: (left: StoreError.Code?, right: StoreError.Code?)
    /// What must be true in the end.
    var settled: Verdict = { _, _, _ in }

    /// Whether exactly one loses, whatever the order.
    var oneLoses: Bool { codes.left != nil && codes.right != nil }
}

/// How two calls are made to meet.
enum Meeting: CaseIterable, Sendable {
    case leftFirst, rightFirst
    /// Both are checked against the same state, since a commit before them waits for the disk.
    case leftQueuedFirst, rightQueuedFirst
    case atOnce

    var rounds: Int { self == .atOnce ? 10 : 1 }
    var beginsLeft: Bool { self == .leftFirst || self == .leftQueuedFirst }
}

/// A store in which two calls meet.
struct Race {
    private let storage = GatedStorage()
    private let container: Container
    private let database: Database

    init(_ profile: Profile) async throws {
        (container, database) = try await makeDatabase(on: storage, profile)
    }

    func run(_ pair: RacePair, _ meeting: Meeting) async throws {
        let held = try await pair.prepare(database)
        let outcomes = try await outcomes(of: pair, held, meeting)
        for (outcome, code) in [
            (outcomes.left, pair.codes.left), (outcomes.right, pair.codes.right),
        ] {
            if let outcome { #expect(outcome.code == code, "\(outcome)") }
        }
        let failed = (left: outcomes.left != nil, right: outcomes.right != nil)
        if pair.oneLoses { #expect(failed.left != failed.right) }
        switch meeting {
        case .leftFirst: #expect(!failed.left)
        case .rightFirst: #expect(!failed.right)
        default: break
        }
        try await pair.settled(database, failed.left, failed.right)
        try await container.close()
    }

    private func outcomes(
        of pair: RacePair, _ held: [Record], _ meeting: Meeting
    ) async throws -> (left: StoreError?, right: StoreError?) {
        let left = { @Sendable [database] in await error { try await pair.left(database, held) } }
        let right = { @Sendable [database] in await error { try await pair.right(database, held) } }
        switch meeting {
        case .leftFirst: return (await left(), await right())
        case .rightFirst:
            let second = await right()
            return (await left(), second)
        case .atOnce:
            async let one = left()
            async let other = right()
            return (await one, await other)
        case .leftQueuedFirst, .rightQueuedFirst:
            storage.shut()
            let before = Task { [database] in
                await error { try await database.save(note("before", in: .default)) }
            }
            while !storage.isWaiting { await Task.yield() }
            let first = Task { await meeting.beginsLeft ? left() : right() }
            try await Task.sleep(for: .milliseconds(2))
            let second = Task { await meeting.beginsLeft ? right() : left() }
            try await Task.sleep(for: .milliseconds(2))
            storage.open()
            #expect(await before.value == nil)
            let (one, other) = (await first.value, await second.value)
            return meeting.beginsLeft ? (one, other) : (other, one)
        }
    }
}

private func error(_ body: () async throws -> Void) async -> StoreError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? StoreError ?? StoreError(.internalError, "\(error)")
    }
}
