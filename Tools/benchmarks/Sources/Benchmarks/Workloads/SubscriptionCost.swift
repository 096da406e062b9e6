import FoundationEssentials
import Stratus

/// What subscriptions add to the CPU time of saves: the same saves of W3's records into stores with
/// none, with few and with many, in turns. A store with as many records of another zone in place of
/// subscriptions says what of that is the size of its index, and records of a type to which no
/// subscription is, in the same store, what of it is matching. What the threads take that merge tables
/// comes in lumps and is left out.
enum SubscriptionCost {
    /// One store and its subscriptions.
    private struct Side {
        let name: String
        let container: Container
        let database: Database
        let zone: RecordZone.ID
        /// Of the value that saved records have in the field that subscriptions wait for.
        let value: String
        /// In microseconds a record, a figure a round.
        var figures: [Double] = []
        /// The same of records of a type to which no subscription is.
        var otherFigures: [Double] = []
    }

    private static let usage = "Benchmarks subscriptions DIRECTORY MANY ROUNDS"
    private static let batch = 100
    /// So many records are saved before it is another store's turn, and in a round a store has so many turns:
    /// short ones, since the machine is now faster, now slower.
    private static let turnCount = 1000
    private static let turns = 20
    /// What no subscription waits for.
    private static let unmatched = "nobody"

    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3, let many = Int(arguments[1]), let rounds = Int(arguments[2]),
            many >= 10, rounds > 0
        else { throw BenchmarkError(usage) }
        let directory = arguments[0]
        var sides = [
            try await side("none", in: directory),
            try await side("none, but \(many) other records", in: directory),
            try await side("10 of equality, none matching", in: directory) { number in
                number < 10 ? equality(number) : nil
            },
            try await side("\(many) of equality, none matching", in: directory) { number in
                number < many ? equality(number) : nil
            },
            try await side("1 of equality, matching", in: directory, value: "title 0") { number in
                number < 1 ? equality(number) : nil
            },
            try await side("\(many) of zones, 1 of the database", in: directory) { number in
                if number > many { return nil }
                let zone = RecordZone.ID(zoneName: "items")
                return Subscription(
                    number == 0 ? .database(recordType: nil) : .zone(zone, recordType: nil),
                    id: "s\(number)")
            },
        ]
        try await fill(sides[1], many)
        var stream = RecordStream(seed: 1)
        for round in 0...rounds {
            let background = BackgroundThreads()
            // Of each side, and behind it of its records of the other type.
            var times = [Double](repeating: 0, count: sides.count * 2)
            for turn in 0..<turns {
                let first = (round * turns + turn) * turnCount
                for place in stream.shuffled(times.indices) {
                    let (type, all) =
                        place % 2 == 0 ? ("Item", Items()) : ("Other", Items(seed: 2))
                    let items = (first..<first + turnCount).map { all[$0] }
                    times[place] += try await saves(items, type, sides[place / 2], background)
                }
            }
            // The first round fills caches.
            if round == 0 { continue }
            let figures = times.map { $0 / Double(turns * turnCount) * 1e6 }
            for place in sides.indices {
                sides[place].figures.append(figures[place * 2])
                sides[place].otherFigures.append(figures[place * 2 + 1])
            }
        }
        for side in sides {
            print(
                "\(side.name): \(Number.short(Number.median(side.figures) ?? 0)) us CPU a record,"
                    + " \(comparison(sides[0].figures, side.figures)) the speed without;"
                    + " \(comparison(side.otherFigures, side.figures)) that of another type")
            let told = try await side.container.notificationChanges(for: "bench")
                .notifications.contains { $0.kind == .query }
            guard told == (side.value != Self.unmatched) else {
                throw BenchmarkError("\(side.name): matches are \(told ? "there" : "missing")")
            }
            try await side.container.close()
        }
    }

    /// A ratio, the interval in which it lies, and a difference: of one round with one another, since the
    /// machine is not equally fast in all.
    private static func comparison(_ base: [Double], _ figures: [Double]) -> String {
        let ratios = zip(base, figures).map { $0 / $1 }
        let more = Number.median(zip(base, figures).map { $1 - $0 }) ?? 0
        let (low, high) = Number.interval(ratios)
        return "\(Number.short(more)) us more, \(Number.short(Number.median(ratios) ?? 0))"
            + " (\(Number.short(low)) to \(Number.short(high))) of"
    }

    private static func equality(_ number: Int) -> Subscription {
        Subscription(
            .query(
                Query.Predicate { $0.title == "title \(number)" }, recordType: "Item",
                zoneID: nil, options: [.firesOnRecordCreation, .firesOnRecordUpdate]),
            id: "s\(number)")
    }

    private static func side(
        _ name: String, in directory: String, value: String = unmatched,
        _ subscription: (Int) -> Subscription? = { _ in nil }
    ) async throws -> Side {
        let path = directory + "/" + name.split(separator: " ").joined(separator: "-")
        Disk.remove(path)
        let container = try await Container.open(at: path, creating: true, durability: .none)
        let database = container.privateDatabase(for: "bench")
        let zone = RecordZone.ID(zoneName: "items")
        try await database.save(RecordZone(zoneID: zone))
        var number = 0
        while let next = subscription(number) {
            var group = [next]
            number += 1
            while group.count < 200, let next = subscription(number) {
                group.append(next)
                number += 1
            }
            let result = try await database.modifySubscriptions(saving: group, deleting: [])
            for result in result.saveResults.values { _ = try result.get() }
        }
        return Side(
            name: name, container: container, database: database, zone: zone, value: value)
    }

    private static func fill(_ side: Side, _ count: Int) async throws {
        let zone = RecordZone.ID(zoneName: "others")
        try await side.database.save(RecordZone(zoneID: zone))
        for first in stride(from: 0, to: count, by: 1000) {
            _ = try await side.database.modifyRecords(
                saving: (first..<min(first + 1000, count)).map { number in
                    Record(
                        recordType: "Other",
                        recordID: Record.ID(recordName: "r\(number)", zoneID: zone))
                })
        }
    }

    /// The CPU time in seconds, without that of threads in the background.
    private static func saves(
        _ items: [Item], _ type: String, _ side: Side, _ background: BackgroundThreads
    ) async throws -> Double {
        let batches = stride(from: 0, to: items.count, by: batch).map { first in
            items[first..<first + batch].map { item in
                var item = item
                item.title = side.value
                return Record(item, ofType: type, in: side.zone)
            }
        }
        let start = cpuTime() - background.cpuTime
        for records in batches {
            let result = try await side.database.modifyRecords(
                saving: records, savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
        }
        return cpuTime() - background.cpuTime - start
    }
}

extension FieldKeys {
    fileprivate var title: FieldKey<String> { FieldKey("title") }
}
