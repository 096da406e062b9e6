import Stratus
import StratusJournal
import Support
import Testing

/// The power goes at every call of long-lived operations that run, and they go on.
@Suite(.timeLimit(.minutes(60))) struct LongLivedCrashTests {
    private static let zones = ["first", "second", "third"].map { RecordZone.ID(zoneName: $0) }
    /// So many change records, the next one a zone, and the last one a subscription.
    private static let recordCount = 4
    private static let count = recordCount + 2
    private static let made = RecordZone.ID(zoneName: "made")
    private static let subscription = Subscription(.zone(zones[0], recordType: nil), id: "first")

    private static func store(on disk: SimulatedDisk) -> SmallStore {
        SmallStore(on: disk, seed: Campaign.seed)
    }

    private static func id(_ number: Int, in zone: RecordZone.ID) -> Record.ID {
        Record.ID(recordName: "r\(number)", zoneID: zone)
    }

    /// A save in each zone that would make a new version each time that it is done; or what makes a
    /// zone or a subscription, which is taken away again once it was done.
    private static func request(_ number: Int) -> LongLivedRequest {
        switch number {
        case 0..<recordCount: break
        case recordCount:
            return .modifyZones(
                LongLivedRequest.ZoneModification(saving: [RecordZone(zoneID: made)]))
        default:
            return .modifySubscriptions(
                LongLivedRequest.SubscriptionModification(saving: [subscription]))
        }
        let records = zones.map { zone in
            var record = Record(recordType: "Note", recordID: id(number, in: zone))
            record["text"] = .string(String(repeating: "x", count: 600))
            return record
        }
        return .modify(
            LongLivedRequest.Modification(saving: records, savePolicy: .changedKeys))
    }

    /// The tags of the records that are there, by zone and name.
    private static func tags(_ container: Container) async throws -> [Record.ID: String] {
        let database = container.privateDatabase(for: "alice")
        let ids = zones.flatMap { zone in (0..<recordCount).map { id($0, in: zone) } }
        return try await database.records(for: ids).compactMapValues { result in
            try? result.get().recordChangeTag
        }
    }

    /// What there is besides records: the zone, and the subscription.
    private static func others(_ container: Container) async throws -> [Bool] {
        let database = container.privateDatabase(for: "alice")
        return [
            try await database.allRecordZones().map(\.zoneID).contains(made),
            try await database.allSubscriptions() == [subscription],
        ]
    }

    /// What was known at which call of the disk.
    private struct Work {
        var points: [CrashPoint] = []
        /// By operations: it was acknowledged by then.
        var submitted: [Int] = []
        /// From then on its outcome may be delivered, and by then it is.
        var delivering: [Int] = []
        var delivered: [Int] = []
    }

    private static func work() async throws -> Work {
        let disk = SimulatedDisk()
        let first = try store(on: disk).open()
        for zone in zones {
            try await first.privateDatabase(for: "alice").save(RecordZone(zoneID: zone))
        }
        try await first.close()
        disk.killProcesses()
        disk.keepsCrashPoints = true
        let container = try store(on: disk).open()
        let database = container.privateDatabase(for: "alice")
        var work = Work()
        for number in 0..<count {
            let operation = try await database.submit(request(number), operationID: "o\(number)")
            work.submitted.append(disk.callCount)
            if number == 1 { try await container.checkpoint() }
            _ = try await operation.answer()
            if number == recordCount { try await database.deleteRecordZone(withID: made) }
            if number > recordCount {
                try await database.deleteSubscription(withID: subscription.subscriptionID)
            }
            work.delivering.append(disk.callCount)
            _ = try await operation.outcome()
            work.delivered.append(disk.callCount)
        }
        work.points = disk.crashPoints
        try await container.close()
        return work
    }

    /// Opens the store after a crash at `point` and goes on. Returns what is wrong.
    private static func problem(
        after point: CrashPoint, seed: UInt64, _ work: Work
    ) async throws -> String? {
        let container = try store(on: point.crashed(seed: seed)).open()
        let before = try await tags(container)
        let othersBefore = try await others(container)
        let wasDone = try await container.longLivedOperations(for: "alice")
            .filter { $0.state == .finished }.map(\.operationID)
        try await container.continueLongLivedOperations()
        let after = try await tags(container)
        for (id, tag) in before where after[id] != tag { return "\(id) was saved again" }
        let othersAfter = try await others(container)
        for (place, isThere) in othersAfter.enumerated() where isThere != othersBefore[place] {
            if wasDone.contains("o\(recordCount + place)") { return "\(place) was made again" }
        }
        for number in 0..<count {
            let found = try await container.longLivedOperation("o\(number)", for: "alice")
            guard let found else {
                let isLost =
                    work.submitted[number] <= point.call && point.call < work.delivering[number]
                if isLost { return "operation \(number) is not found" }
                continue
            }
            if work.delivered[number] <= point.call { return "operation \(number) came back" }
            let result: ModifyRecordsResult
            switch (try await found.outcome(), number) {
            case (.modify(let saved), 0..<recordCount): result = saved
            case (.modifyZones(let saved), recordCount):
                if try saved.saveResults[made]?.get().zoneID != made { return "no zone was made" }
                continue
            case (.modifySubscriptions(let saved), recordCount + 1):
                if try saved.saveResults["first"]?.get() != subscription {
                    return "no subscription was saved"
                }
                continue
            default: return "operation \(number) is of another kind"
            }
            for zone in zones {
                let id = id(number, in: zone)
                let saved = try result.saveResults[id]?.get().recordChangeTag
                if saved == nil || saved != after[id] { return "\(id) has another outcome" }
            }
        }
        let last = try await tags(container)
        let othersLast = try await others(container)
        if last != after || othersLast != othersAfter { return "a repeat changed something" }
        try await container.close()
        return nil
    }

    @Test func `wherever the power goes, an operation is found by its ID and was done once`()
        async throws
    {
        let work = try await Self.work()
        #expect(work.points.count > Self.count * 4)
        var problems: [String] = []
        let stride = max(1, Campaign.crashStride / 5)
        for (place, point) in work.points.enumerated()
        where place % stride == 0 && problems.count < 5 {
            let seed = Campaign.seed &* 1_000 &+ UInt64(place)
            do {
                let problem = try await Self.problem(after: point, seed: seed, work)
                if let problem { problems.append("call \(point.call), seed \(seed): \(problem)") }
            } catch {
                problems.append("call \(point.call), seed \(seed): \(error)")
            }
        }
        #expect(problems == [])
    }
}
