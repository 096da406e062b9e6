import FoundationEssentials
import Stratus
import Synchronization

/// What waiting feeds cost a save that concerns none of them, and how long after a save is
/// acknowledged a listener has it.
enum ListenerCost {
    /// What several tasks use.
    private final class Shared<Value: Sendable>: Sendable {
        let value: Mutex<Value>

        init(_ value: Value) { self.value = Mutex(value) }
    }

    /// When the change of a record was heard of, by its name.
    private struct Heard {
        var feed: [String: UInt64] = [:]
        var notifications: [String: UInt64] = [:]
    }

    private static let usage = "Benchmarks listeners DIRECTORY FEEDS COMMITS"
    private static let watched = RecordZone.ID(zoneName: "items")

    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3, let many = Int(arguments[1]), let count = Int(arguments[2]),
            many >= 10, count >= 100
        else { throw BenchmarkError(usage) }
        try await waiting(arguments[0], many, count)
        try await latency(arguments[0], count)
    }
}

// Feeds that wait for other zones.
extension ListenerCost {
    /// A store in which feeds wait, each for a zone of its own.
    private struct Side {
        let feeds: Int
        let container: Container
        let database: Database
        let waiting: Task<Void, Never>
        /// In microseconds a save, a figure a round.
        var figures: [Double] = []
    }

    private static func waiting(_ directory: String, _ many: Int, _ count: Int) async throws {
        var sides = [try await side(directory, feeds: 10), try await side(directory, feeds: many)]
        let rounds = 20
        for round in 0...rounds {
            for place in [round % 2, (round + 1) % 2] {
                let start = cpuTime()
                for number in 0..<count / rounds {
                    try await sides[place].database.save(item(round * count + number))
                }
                let figure = (cpuTime() - start) / Double(count / rounds) * 1e6
                // The first round fills caches.
                if round > 0 { sides[place].figures.append(figure) }
            }
        }
        let ratios = zip(sides[0].figures, sides[1].figures).map { $1 / $0 }
        for side in sides {
            let cost = Number.short(Number.median(side.figures) ?? 0)
            print("\(side.feeds) waiting feeds: \(cost) us CPU a save into another zone")
        }
        print("\(many) of 10: \(Number.short(Number.median(ratios) ?? 0)) (aim 1.03)")
        for side in sides {
            side.waiting.cancel()
            await side.waiting.value
            try await side.container.close()
        }
    }

    private static func side(_ directory: String, feeds: Int) async throws -> Side {
        let (container, database) = try await store("\(directory)/waiting-\(feeds)", .none)
        for number in 0..<feeds {
            try await database.save(RecordZone(zoneID: RecordZone.ID(zoneName: "zone-\(number)")))
        }
        let begun = Shared(0)
        let waiting = Task {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<feeds {
                    group.addTask {
                        let zone = RecordZone.ID(zoneName: "zone-\(number)")
                        var pages = database.liveRecordZoneChanges(inZoneWith: zone)
                            .makeAsyncIterator()
                        // The first page is that of an empty zone; the next never comes.
                        _ = try? await pages.next()
                        begun.value.withLock { $0 += 1 }
                        _ = try? await pages.next()
                    }
                }
            }
        }
        while begun.value.withLock({ $0 < feeds }) { try await Task.sleep(for: .milliseconds(10)) }
        return Side(feeds: feeds, container: container, database: database, waiting: waiting)
    }

    private static func store(
        _ path: String, _ durability: Container.Durability
    ) async throws -> (container: Container, database: Database) {
        Disk.remove(path)
        let container = try await Container.open(at: path, creating: true, durability: durability)
        let database = container.privateDatabase(for: "bench")
        try await database.save(RecordZone(zoneID: watched))
        return (container, database)
    }

    private static func item(_ number: Int) -> Record { Record(Items()[number], in: watched) }
}

// From the acknowledgement of a save to those who listen.
extension ListenerCost {
    private static func latency(_ directory: String, _ count: Int) async throws {
        let (container, database) = try await store("\(directory)/heard", .full)
        try await database.save(
            Subscription(
                .query(
                    .all, recordType: "Item", zoneID: nil, options: .firesOnRecordCreation),
                id: "items"))
        let heard = Shared(Heard())
        let feed = Task {
            for try await page in database.liveRecordZoneChanges(inZoneWith: watched) {
                let time = nanoseconds()
                for record in page.modifications {
                    heard.value.withLock { $0.feed[record.recordID.recordName] = time }
                }
            }
        }
        let listener = Task {
            for try await page in container.notifications(for: "bench") {
                let time = nanoseconds()
                for case let id? in page.notifications.map(\.recordID) {
                    heard.value.withLock { $0.notifications[id.recordName] = time }
                }
            }
        }
        var acknowledged: [(name: String, time: UInt64)] = []
        var saves = Latencies(capacity: count)
        for number in 0..<count {
            let record = item(number)
            let start = nanoseconds()
            try await database.save(record)
            let end = nanoseconds()
            saves.add(end - start)
            let name = record.recordID.recordName
            acknowledged.append((name, end))
            // One at a time, as W1 has them: the next one does not hide how late this one is heard.
            while heard.value.withLock({ $0.feed[name] == nil || $0.notifications[name] == nil }) {
                try await Task.sleep(for: .microseconds(200))
            }
        }
        feed.cancel()
        listener.cancel()
        let times = heard.value.withLock { $0 }
        print("\(count) saves, one at a time: \(saves.text)")
        for (what, heard) in [
            ("a feed of the zone", times.feed),
            ("a listener to a subscription", times.notifications),
        ] {
            var delays = Latencies(capacity: count)
            for (name, time) in acknowledged {
                // Who is woken first is heard of before the caller goes on.
                guard let end = heard[name] else { continue }
                delays.add(end > time ? end - time : 0)
            }
            print("\(what), from then on: \(delays.text) (aim: at most the p99 of saves)")
        }
        try await container.close()
    }
}
