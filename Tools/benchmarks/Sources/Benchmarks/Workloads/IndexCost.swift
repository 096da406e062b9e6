import FoundationEssentials
import Stratus

/// What a declared index adds to the CPU time of saves, a key: the same saves of W3's records into
/// stores with none and with one each, in turns; and beside them the same with SQLite's indexes.
enum IndexCost {
    /// An index, in both stores.
    struct Declaration: Sendable {
        var name: String
        /// Of a record of the type Item: nothing of none.
        var declare: @Sendable (Container) async throws -> Void
        /// Behind the zone of the records, as SQLite has it.
        var columns: String?
        var isUnique = false
    }

    /// A store into which batches are saved.
    protocol Side {
        func save(_ items: [Item]) async throws
        func close() async throws
    }

    private static let usage = "Benchmarks indexes DIRECTORY ROUNDS"
    private static let batch = 100
    private static let count = 20_000

    private static let declarations = [
        Declaration(name: "none", declare: { _ in }),
        Declaration(
            name: "number", declare: { try await $0.addIndex(on: "count", of: "Item", .queryable) },
            columns: "count"),
        Declaration(
            name: "equal strings",
            declare: { try await $0.addIndex(on: "title", of: "Item", .queryable) },
            columns: "title COLLATE NOCASE"),
        Declaration(
            name: "strings in order",
            declare: { try await $0.addIndex(on: "title", of: "Item", .sortable) },
            columns: "title COLLATE NOCASE"),
        Declaration(
            name: "reference",
            declare: { try await $0.addIndex(on: "owner", of: "Item", .queryable) },
            columns: "owner"),
        Declaration(
            name: "two columns",
            declare: { try await $0.addIndex(on: ["owner", "count"], of: "Item") },
            columns: "owner, count"),
        Declaration(
            name: "unique", declare: { try await $0.addUniqueIndex(on: ["owner"], of: "Item") },
            columns: "owner", isUnique: true),
    ]

    private struct Pair {
        var declaration: Declaration
        var ours: any Side
        var rival: (any Side)?
        /// In microseconds a record, a figure a round.
        var figures: [Double] = []
        var rivalFigures: [Double] = []
    }

    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 2, let rounds = Int(arguments[1]), rounds > 0 else {
            throw BenchmarkError(usage)
        }
        var pairs: [Pair] = []
        for declaration in declarations {
            let path = arguments[0] + "/" + declaration.name.split(separator: " ").joined()
            Disk.remove(path)
            pairs.append(
                Pair(
                    declaration: declaration,
                    ours: try await StratusSide(at: path, declaration),
                    rival: try IndexRival.side(at: path, declaration)))
        }
        var stream = RecordStream(seed: 2)
        for round in 0...rounds {
            for place in stream.shuffled(pairs.indices) {
                let figure = try await saves(pairs[place].ours, round)
                let other: Double? =
                    if let rival = pairs[place].rival { try await saves(rival, round) } else { nil }
                // The first round fills caches.
                if round == 0 { continue }
                pairs[place].figures.append(figure)
                if let other { pairs[place].rivalFigures.append(other) }
            }
        }
        let base = pairs[0]
        for pair in pairs {
            var line = "\(pair.declaration.name): "
            line += "\(Number.short(Number.median(pair.figures) ?? 0)) us CPU a record"
            if pair.declaration.columns != nil {
                line += ", \(Number.short(more(base.figures, pair.figures))) us more"
            }
            if pair.rival != nil {
                let median = Number.median(pair.rivalFigures) ?? 0
                line += "; SQLite \(Number.short(median))"
                if pair.declaration.columns != nil {
                    let more = more(base.rivalFigures, pair.rivalFigures)
                    line += ", \(Number.short(more)) more"
                }
            }
            print(line)
            try await pair.ours.close()
            try await pair.rival?.close()
        }
    }

    /// Of one round with one another: the machine is not equally fast in all.
    private static func more(_ base: [Double], _ figures: [Double]) -> Double {
        Number.median(zip(base, figures).map { $1 - $0 }) ?? 0
    }

    /// The CPU time of a record, in microseconds.
    private static func saves(_ side: any Side, _ round: Int) async throws -> Double {
        let items = Items()
        var batches: [[Item]] = []
        for first in stride(from: round * count, to: (round + 1) * count, by: batch) {
            batches.append((first..<first + batch).map { items[$0] })
        }
        let start = cpuTime()
        for batch in batches { try await side.save(batch) }
        return (cpuTime() - start) / Double(count) * 1e6
    }

    private struct StratusSide: Side {
        let container: Container
        let database: Database
        let zone = RecordZone.ID(zoneName: "items")

        init(at path: String, _ declaration: Declaration) async throws {
            container = try await Container.open(at: path, creating: true, durability: .none)
            database = container.privateDatabase(for: "bench")
            try await database.save(RecordZone(zoneID: zone))
            // The fields of a type are known once one was saved.
            try await save([Items()[0]])
            try await declaration.declare(container)
        }

        func save(_ items: [Item]) async throws {
            let result = try await database.modifyRecords(
                saving: items.map { Record($0, in: zone) }, savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
        }

        func close() async throws { try await container.close() }
    }
}
