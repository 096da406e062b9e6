import Stratus
import Support
import Testing

/// The state at a token, with the feed since that token applied to it, is the state now.
struct ConvergenceTests {
    /// A tenth of the campaign's.
    private static let seeds = max(1, Campaign.storeSeeds / 5)

    @Test func `from every token ever given the feeds lead to what there is`() async throws {
        var tally = ConvergenceRun.Tally()
        for seed in Campaign.seed..<Campaign.seed + UInt64(Self.seeds) {
            var run = try ConvergenceRun(seed: seed)
            do {
                try await run.run(60)
            } catch {
                Issue.record("seed \(seed), step \(run.step): \(error)")
            }
            for problem in run.problems.prefix(5) { Issue.record("seed \(seed): \(problem)") }
            tally = tally + run.tally
        }
        CampaignReport.add("Feeds from every token, \(Self.seeds) seeds:\n")
        CampaignReport.add(
            Campaign.table(
                ["what", "count"],
                [
                    ["mirrors brought up to date", "\(tally.followed)"],
                    ["pages read", "\(tally.pages)"], ["deletions", "\(tally.deletions)"],
                    ["zones dropped or begun anew", "\(tally.zonesDropped)"],
                    ["records moved to another zone", "\(tally.moved)"],
                ]))
        #expect(tally.followed >= Self.seeds * 60 * 59 / 2)
        #expect(tally.deletions > Self.seeds * 100 && tally.zonesDropped > Self.seeds * 20)
        #expect(tally.moved >= Self.seeds)
    }
}

/// The copy of a database that a reader of its feeds holds.
private struct Mirror {
    struct Zone {
        var token: ChangeToken?
        var records: [Record.ID: Record] = [:]
    }

    /// The types of records that it asks for; nil: all.
    var types: [String]?
    var token: ChangeToken?
    var zones: [RecordZone.ID: Zone] = [:]
    /// What is wrong with the pages themselves.
    var problems: [String] = []

    /// Reads on, at most so many pages, and not beyond what these say: it may stop in the middle of
    /// anything. Returns whether it came to the end.
    mutating func follow(
        _ database: Database, limit: Int, pages: inout Int, _ tally: inout ConvergenceRun.Tally
    ) async throws -> Bool {
        while pages > 0 {
            pages -= 1
            tally.pages += 1
            let page = try await database.databaseChanges(since: token, resultsLimit: limit)
            // Here no zone that is gone is told of: what was held before counts no more.
            if page.isFullSnapshot { zones = [:] }
            for deletion in page.deletions where zones[deletion.zoneID] != nil {
                tally.zonesDropped += 1
                zones[deletion.zoneID] = nil
            }
            for zone in page.modifications {
                guard
                    try await follow(zone, of: database, limit: limit, pages: &pages, &tally)
                else { return false }
            }
            // Only now: what was read of the zones is kept with it.
            token = page.changeToken
            if !page.moreComing { return true }
        }
        return false
    }

    private mutating func follow(
        _ id: RecordZone.ID, of database: Database, limit: Int, pages: inout Int,
        _ tally: inout ConvergenceRun.Tally
    ) async throws -> Bool {
        var zone = zones[id] ?? Zone()
        defer { zones[id] = zone }
        var seen: Set<Record.ID> = []
        var isFirstFetch = false
        while pages > 0 {
            pages -= 1
            tally.pages += 1
            let page: RecordZoneChanges
            do throws(StoreError) {
                page = try await database.recordZoneChanges(
                    inZoneWith: id, since: zone.token, desiredRecordTypes: types,
                    resultsLimit: limit)
            } catch {
                guard error.cause == .changeToken(.zone) else { throw error }
                tally.zonesDropped += 1
                zone = Zone()
                continue
            }
            if page.isFullSnapshot != (zone.token == nil) { problems.append("full snapshot") }
            // Nothing changes between the pages that are read here.
            if page.isFullSnapshot { isFirstFetch = true }
            if isFirstFetch, !page.deletions.isEmpty {
                problems.append("a deletion in a fetch without a token")
            }
            for record in page.modifications {
                if !seen.insert(record.recordID).inserted { problems.append("a record twice") }
                zone.records[record.recordID] = record
            }
            for deletion in page.deletions {
                tally.deletions += 1
                if !seen.insert(deletion.recordID).inserted { problems.append("a record twice") }
                zone.records[deletion.recordID] = nil
            }
            zone.token = page.changeToken
            if !page.moreComing { return true }
        }
        return false
    }

    /// In what it is not the database; nil: in nothing.
    func difference(from truth: [RecordZone.ID: [Record.ID: Record]]) -> String? {
        if let problem = problems.first { return problem }
        let held = zones.keys.map(\.zoneName).sorted()
        let there = truth.keys.map(\.zoneName).sorted()
        guard held == there else { return "zones \(held) instead of \(there)" }
        for (id, all) in truth {
            let records = all.filter { types?.contains($0.value.recordType) ?? true }
            if zones[id]?.records == records { continue }
            return "zone \(id.zoneName) holds \(zones[id]?.records.count ?? 0) records "
                + "instead of \(records.count), or others"
        }
        return nil
    }
}

/// A random history of a database, and mirrors of it from every moment.
struct ConvergenceRun {
    /// What happened, for the report.
    struct Tally {
        var followed = 0
        var pages = 0
        var deletions = 0
        var zonesDropped = 0
        var moved = 0

        static func + (left: Tally, right: Tally) -> Tally {
            Tally(
                followed: left.followed + right.followed, pages: left.pages + right.pages,
                deletions: left.deletions + right.deletions,
                zonesDropped: left.zonesDropped + right.zonesDropped,
                moved: left.moved + right.moved)
        }
    }

    private(set) var step = 0
    private(set) var problems: [String] = []
    private(set) var tally = Tally()
    private let store: SmallStore
    private var container: Container
    private var generator: SeededGenerator
    private var mirrors = [Mirror(), Mirror(types: ["Note"]), Mirror(types: ["Again"])]

    private static let zones = (0..<3).map { RecordZone.ID(zoneName: "z\($0)") }

    init(seed: UInt64) throws {
        generator = SeededGenerator(seed: seed)
        store = SmallStore(seed: seed, maps: seed % 2 == 1)
        container = try store.open()
    }

    private var database: Database { container.privateDatabase(for: "alice") }

    mutating func run(_ steps: Int) async throws {
        for number in 0..<steps where problems.isEmpty {
            step = number
            try await change()
            try await compare()
        }
    }

    private mutating func change() async throws {
        let zone = Self.zones[generator.below(Self.zones.count)]
        let isThere = try await database.allRecordZones().contains { $0.zoneID == zone }
        switch generator.below(20) {
        case _ where !isThere: try await database.save(RecordZone(zoneID: zone))
        case ..<2: try await database.deleteRecordZone(withID: zone)
        case 2:
            if generator.oneIn(2) {
                try await container.close()
            } else {
                store.disk.killProcesses()
            }
            container = try store.open()
        case 3: try await container.checkpoint()
        case 4:
            // Gone and made anew, under another type, between two looks.
            let id = Record.ID(recordName: "r\(generator.below(30))", zoneID: zone)
            try await database.deleteRecord(withID: id)
            try await database.save(Record(recordType: "Again", recordID: id))
        case ..<7: try await move(from: zone)
        default: try await modify(zone)
        }
    }

    /// To a zone that may not be there, of a record that may be bound to stay.
    private mutating func move(from zone: RecordZone.ID) async throws {
        let to = Self.zones.filter { $0 != zone }[generator.below(Self.zones.count - 1)]
        let records = try await database.records(inZoneWith: zone).records
        if records.isEmpty { return }
        let ids = [records[generator.below(records.count)].recordID]
        do throws(StoreError) {
            tally.moved += try await database.moveRecords(ids, to: to).count
        } catch {
            let expected: [StoreError.Code] = [
                .zoneNotFound, .invalidArguments, .referenceViolation, .serverRecordChanged,
            ]
            guard expected.contains(error.code) else { throw error }
        }
    }

    private mutating func modify(_ zone: RecordZone.ID) async throws {
        // Some names are those of one zone alone, so that moves find their target free.
        var names = Set(
            (0..<1 + generator.below(12)).map { _ in
                "\(generator.oneIn(2) ? zone.zoneName : "r")\(generator.below(30))"
            }
        ).sorted().map { Record.ID(recordName: $0, zoneID: zone) }
        let deleted = Array(names.prefix(generator.below(5)))
        names.removeFirst(min(deleted.count, names.count))
        let there = try await database.records(for: names)
        let saved = names.map { id in
            var record =
                (try? there[id]?.get()) ?? Record(recordType: "Note", recordID: id)
            record["step"] = .int64(Int64(step))
            if generator.oneIn(8) {
                let target = Record.ID(recordName: "r\(generator.below(30))", zoneID: zone)
                record["target"] = .reference(Reference(recordID: target, action: .deleteSelf))
            }
            return record
        }
        // What is saved may belong to what is deleted; then nothing is done.
        let result = try await database.modifyRecords(saving: saved, deleting: deleted)
        let refused: [StoreError.Code] = [.batchRequestFailed, .referenceViolation]
        for case .failure(let error) in result.saveResults.values
        where !refused.contains(error.code) { throw error }
    }

    private mutating func compare() async throws {
        var truth: [RecordZone.ID: [Record.ID: Record]] = [:]
        for zone in try await database.allRecordZones() where !zone.zoneID.isDefault {
            let page = try await database.records(inZoneWith: zone.zoneID)
            truth[zone.zoneID] = Dictionary(
                uniqueKeysWithValues: page.records.map { ($0.recordID, $0) })
        }
        for (number, mirror) in mirrors.enumerated() {
            var mirror = mirror
            var pages = Int.max
            let limit = 1 + generator.below(generator.oneIn(2) ? 4 : 100)
            _ = try await mirror.follow(database, limit: limit, pages: &pages, &tally)
            tally.followed += 1
            if let difference = mirror.difference(from: truth) {
                problems.append("step \(step), from what mirror \(number) held: \(difference)")
            }
        }
        // One more begins here, from an older one, and may stop anywhere.
        var next = mirrors[generator.below(mirrors.count)]
        var pages = generator.oneIn(3) ? .max : generator.below(12)
        let limit = 1 + generator.below(5)
        _ = try await next.follow(database, limit: limit, pages: &pages, &tally)
        mirrors.append(next)
    }
}
