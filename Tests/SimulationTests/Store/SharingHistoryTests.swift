import FoundationEssentials
import Stratus
import Support
import Testing

/// Fold and feed alone: whatever entries say what is in which share, a participant who reads the feed
/// ends with what is visible, and is given nothing else.
struct SharingHistoryTests {
    /// What the participant holds, and how far that is.
    private struct Mirror {
        var token: ChangeToken?
        /// The revision of each record, 0 of those that it has not.
        var held = Array(repeating: 0, count: SharingHistory.recordCount)
    }

    private struct Tally {
        var entries = 0
        var pages = 0
        var rounds = 0
        var deletions = 0
        var problems: [String] = []

        static func + (left: Tally, right: Tally) -> Tally {
            Tally(
                entries: left.entries + right.entries, pages: left.pages + right.pages,
                rounds: left.rounds + right.rounds, deletions: left.deletions + right.deletions,
                problems: left.problems + right.problems)
        }
    }

    /// One history, in a zone of its own, and the participant who follows it.
    private struct Run {
        /// Of changes and pages; then the participant reads to the end.
        static let steps = 80

        private var generator: SeededGenerator
        private var history: SharingHistory
        private var entries: SharingEntries
        private let database: Database
        private let zone: RecordZone.ID
        private var mirror = Mirror()
        /// At the ends of rounds; the first is of one who has read nothing.
        private var earlier = [Mirror()]
        /// A deletion names nothing else.
        private var everVisible = Array(repeating: false, count: SharingHistory.recordCount)
        private(set) var tally = Tally()

        init(seed: UInt64, in container: Container) throws {
            generator = SeededGenerator(seed: seed)
            history = SharingHistory(SeededGenerator(seed: seed &* 7 &+ 1))
            entries = try SharingEntries("z\(seed)", in: container)
            database = container.sharedDatabase(for: SharingEntries.participant)
            let owner = container.userRecordName(for: SharingEntries.owner)
            zone = RecordZone.ID(zoneName: "z\(seed)", ownerName: owner)
        }

        mutating func run() async throws {
            for change in history.begin() { try write(change) }
            for _ in 0..<Self.steps where tally.problems.isEmpty {
                if generator.below(100) < 72 {
                    if let change = history.change() { try write(change) }
                    continue
                }
                if generator.oneIn(16), let last = earlier.randomElement(using: &generator) {
                    mirror = last
                }
                try await read()
            }
            var pages = 0
            while try await read(), tally.problems.isEmpty {
                pages += 1
                if pages > 400 { tally.problems.append("no end") }
            }
            tally.entries = entries.count
        }

        private mutating func write(_ change: [SharingHistory.Statement]) throws {
            try entries.write(change, of: history)
            for (number, revision) in history.visible.enumerated() where revision > 0 {
                everVisible[number] = true
            }
        }

        /// A page. Returns whether more are coming.
        @discardableResult
        private mutating func read() async throws -> Bool {
            let visible = history.visible
            let limit = [1, 1, 2, 3, 50, 1000][generator.below(6)]
            let changes: RecordZoneChanges
            do throws(StoreError) {
                changes = try await database.recordZoneChanges(
                    inZoneWith: zone, since: mirror.token, resultsLimit: limit)
            } catch {
                guard error.code == .zoneNotFound, visible.allSatisfy({ $0 == 0 }) else {
                    throw error
                }
                // The reader keeps what it has until something of the zone is shared.
                return false
            }
            tally.pages += 1
            for record in changes.modifications {
                let number = SharingEntries.number(ofRecord: record.recordID.recordName)
                let milliseconds = (record.modificationDate?.timeIntervalSince1970 ?? 0) * 1000
                mirror.held[number] = Int(milliseconds.rounded())
                if mirror.held[number] != visible[number] {
                    tally.problems.append("record \(number) is given, and not so visible")
                }
            }
            for deletion in changes.deletions {
                let number = SharingEntries.number(ofRecord: deletion.recordID.recordName)
                mirror.held[number] = 0
                if !everVisible[number] {
                    tally.problems.append("record \(number) is told of, and never was visible")
                }
            }
            tally.deletions += changes.deletions.count
            mirror.token = changes.changeToken
            if changes.moreComing { return true }
            tally.rounds += 1
            if mirror.held != visible {
                tally.problems.append("\(mirror.held) are held, \(visible) are visible")
            }
            if earlier.count > 3 { earlier.remove(at: 1 + generator.below(3)) }
            earlier.append(mirror)
            return false
        }
    }

    /// How many zones are made in a store.
    private static let historiesPerStore = 200

    /// Up to the first that goes wrong.
    private static func run(_ histories: Range<Int>) async throws -> Tally {
        var tally = Tally()
        for first in stride(
            from: histories.lowerBound, to: histories.upperBound, by: historiesPerStore)
        {
            let container = try await SharingEntries.makeStore()
            for number in first..<min(first + historiesPerStore, histories.upperBound) {
                let seed = Campaign.seed &+ UInt64(number)
                var run = try Run(seed: seed, in: container)
                try await run.run()
                tally = tally + run.tally
                if let problem = run.tally.problems.first {
                    tally.problems = ["seed \(seed): \(problem)"]
                    return tally
                }
            }
            try await container.close()
        }
        return tally
    }

    @Test func `a participant ends with what is visible, and is given nothing else`() async throws {
        let count = SharingCampaign.histories
        // Side by side, since one of them keeps one core busy.
        async let first = Self.run(0..<count / 2)
        async let second = Self.run(count / 2..<count)
        let tally = try await first + second
        CampaignReport.add(
            "Fold and feed alone: \(count) histories, \(tally.entries) entries, \(tally.pages) pages,"
                + " \(tally.rounds) rounds completed, \(tally.deletions) deletions told.\n")
        #expect(tally.problems == [])
        #expect(tally.entries > 30 * count && tally.rounds > 5 * count)
        #expect(tally.deletions > 2 * count)
    }
}
