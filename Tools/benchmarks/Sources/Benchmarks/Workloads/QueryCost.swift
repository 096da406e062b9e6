import FoundationEssentials
import Stratus

/// What queries take that declared indexes serve, beside LMDB with indexes kept by hand and beside
/// SQLite: of the same records, in turns, and each answer is held against those of the others.
enum QueryCost {
    enum Question: String, CaseIterable, Sendable {
        case feed = "a page of 1,000 changes"
        case equal = "equal, 1,000 records"
        case range = "between two numbers, 1,000 records"
        case firstInOrder = "equal, the first 20 in the order of an index"
        case firstSorted = "equal, the first 20 of 1,000 in an order without an index"
        case twoTenths = "equal in two fields, each of a tenth"
        case count = "the number of all records above a number"
        case word = "with a word that one of 1,000 has"
    }

    /// A store that answers: a sum over all fields of the records that were found, or their number.
    protocol Side {
        /// Nil: it is not asked that.
        func answer(_ question: Question, _ number: Int) async throws -> Int64?
        func close() async throws
    }

    private static let usage = "Benchmarks queries DIRECTORY RECORDS ROUNDS [QUESTION]"
    static let zone: UInt32 = 1
    static let pageLimit = 1000
    static let firstLimit = 20

    /// The records: 1,000 have the same rank, each has a count of its own, and a tenth has the same
    /// title or owner.
    static func item(_ index: Int, of count: Int) -> Item {
        var item = Items()[index]
        item.count = Int64(index * 7919 % count)
        item.rank = Int64(index % (count / pageLimit))
        item.title = title(index)
        item.owner = owner(index / 10)
        item.body += " rare\(index % 1000)"
        return item
    }

    static func title(_ number: Int) -> String { "title-\(number % 10)" }
    static func owner(_ number: Int) -> String { "owner-\(number % 10)" }
    static func word(_ number: Int) -> String { "rare\(number % 1000)" }
    static func rank(_ number: Int, of count: Int) -> Int64 {
        Int64(number % (count / pageLimit))
    }
    /// The first of as many counts as a page has records.
    static func firstCount(_ number: Int, of count: Int) -> Int64 {
        Int64(number * 31 % (count - pageLimit))
    }

    static func run(_ arguments: [String]) async throws {
        let questions =
            arguments.count < 4
            ? Question.allCases : Question.allCases.filter { "\($0)" == arguments[3] }
        guard 3...4 ~= arguments.count, !questions.isEmpty, let count = Int(arguments[1]),
            count >= 10_000,
            count % pageLimit == 0, count % 7919 != 0, let rounds = Int(arguments[2]), rounds > 0
        else { throw BenchmarkError(usage) }
        let path = arguments[0]
        for name in ["stratus", "mapped", "lmdb", "sqlite"] { Disk.remove(path + "/" + name) }
        var sides: [(name: String, side: any Side)] = [
            ("stratus", try await StratusSide(at: path + "/stratus", count, .calls)),
            ("mapped", try await StratusSide(at: path + "/mapped", count, .mapped)),
        ]
        sides += try QueryRivals.sides(at: path, count)
        var stream = RecordStream(seed: 3)
        for question in questions {
            var figures = sides.map { _ in [Double]() }
            var answer: Int64 = 0
            // The first round fills caches.
            for round in 0...rounds {
                let number = stream.next(below: count)
                var answers: Set<Int64> = []
                for place in stream.shuffled(sides.indices) {
                    let start = cpuTime()
                    guard let found = try await sides[place].side.answer(question, number) else {
                        continue
                    }
                    let time = cpuTime() - start
                    answers.insert(found)
                    if round > 0 { figures[place].append(time * 1000) }
                    answer = found
                }
                guard answers.count == 1 else {
                    throw BenchmarkError("\(question.rawValue), \(number): \(answers)")
                }
            }
            if answer == 0 { throw BenchmarkError("\(question.rawValue): nothing was found") }
            let medians = figures.map { Number.median($0) }
            var line = "\(question.rawValue): \(Number.short(medians[0] ?? 0)) ms CPU"
            for (side, median) in zip(sides, medians).dropFirst() {
                guard let median, let own = medians[0] else { continue }
                let ratio = Number.short(median / own)
                line += "; \(side.name) \(Number.short(median)), ratio \(ratio)"
            }
            print(line)
        }
        for (_, side) in sides { try await side.close() }
    }

    private struct StratusSide: Side {
        private let container: Container
        private let database: Database
        private let zone = RecordZone.ID(zoneName: "items")
        private let count: Int
        /// Of every thousandth change.
        private var tokens: [ChangeToken?] = [nil]

        init(at path: String, _ count: Int, _ reading: ReadingMethod) async throws {
            let loading = try await Container.open(at: path, creating: true, durability: .none)
            let filled = loading.privateDatabase(for: "bench")
            let zone = zone
            try await filled.save(RecordZone(zoneID: zone))
            for first in stride(from: 0, to: count, by: pageLimit) {
                let records = (first..<first + pageLimit).map {
                    Record(QueryCost.item($0, of: count), in: zone)
                }
                let result = try await filled.modifyRecords(saving: records, savePolicy: .allKeys)
                if let failure = result.partialFailure { throw failure }
            }
            for field in ["rank", "title", "owner"] {
                try await loading.addIndex(on: field, of: "Item", .queryable)
            }
            try await loading.addIndex(on: "count", of: "Item", .sortable)
            try await loading.addIndex(on: ["title", "count"], of: "Item")
            try await loading.addIndex(on: "body", of: "Item", .searchable)
            try await loading.close()
            self.count = count
            container = try await Container.open(at: path, reading: reading)
            database = container.privateDatabase(for: "bench")
            for _ in 1..<count / pageLimit {
                let page = try await database.recordZoneChanges(
                    inZoneWith: zone, since: tokens.last ?? nil, resultsLimit: pageLimit)
                tokens.append(page.changeToken)
            }
        }

        func close() async throws { try await container.close() }

        func answer(_ question: Question, _ number: Int) async throws -> Int64? {
            switch question {
            case .feed:
                let page = try await database.recordZoneChanges(
                    inZoneWith: zone, since: tokens[number % tokens.count],
                    resultsLimit: pageLimit)
                return try weight(page.modifications)
            case .equal: return try await weight(rank(number))
            case .range:
                let low = firstCount(number, of: count)
                return try await weight(
                    Query.Predicate(
                        "count BETWEEN {%d, %d}",
                        arguments: [.int64(low), .int64(low + Int64(pageLimit) - 1)]))
            case .firstInOrder:
                let title = title(number)
                return try await first(
                    Query.Predicate("title = %@", arguments: [.string(title)]), by: "count")
            case .firstSorted: return try await first(rank(number), by: "when")
            case .twoTenths:
                let owner = Reference(
                    recordID: Record.ID(recordName: owner(number / 10), zoneID: zone))
                return try await weight(
                    Query.Predicate(
                        "title = %@ AND owner = %@",
                        arguments: [.string(title(number)), .reference(owner)]))
            case .count:
                let query = Query(
                    recordType: "Item",
                    predicate: try Query.Predicate(
                        "count > %d", arguments: [.int64(Int64(number % 10))]))
                return Int64(
                    try await database.totals(of: nil, matching: query, inZoneWith: zone).count)
            case .word:
                return try await weight(
                    Query.Predicate("body TOKENMATCHES %@", arguments: [.string(word(number))]))
            }
        }

        private func rank(_ number: Int) throws -> Query.Predicate {
            try Query.Predicate(
                "rank = %d", arguments: [.int64(QueryCost.rank(number, of: count))])
        }

        private func weight(_ records: [Record]) throws -> Int64 {
            try records.reduce(0) { try $0 &+ Item($1).weight }
        }

        private func weight(_ predicate: Query.Predicate) async throws -> Int64 {
            let query = Query(recordType: "Item", predicate: predicate)
            var sum: Int64 = 0
            var cursor: QueryPage.Cursor?
            repeat {
                let page = try await database.records(
                    matching: query, inZoneWith: zone, resultsLimit: pageLimit, from: cursor)
                sum &+= try weight(page.records)
                cursor = page.cursor
            } while cursor != nil
            return sum
        }

        private func first(_ predicate: Query.Predicate, by field: String) async throws -> Int64 {
            let query = Query(
                recordType: "Item", predicate: predicate,
                sortDescriptors: [Query.SortDescriptor(key: field, ascending: true)])
            return try weight(
                await database.records(
                    matching: query, inZoneWith: zone, resultsLimit: firstLimit
                ).records)
        }
    }
}
