import CLMDB
import Glibc

/// LMDB with indexes kept by hand: (index, value, name) -> nothing. What is found is read by its name.
struct LMDBQueries: QueryCost.Side {
    private enum Index: UInt8 {
        case rank = 1
        case count
        case title
        case owner
        case titleAndCount
    }

    private let environment: LMDBEnvironment
    private let transaction: OpaquePointer?
    private let count: Int
    private static let nameLength = 36

    init(at path: String, _ count: Int) throws {
        self.count = count
        let environment = try LMDBEnvironment(at: path, .killed)
        for first in stride(from: 0, to: count, by: QueryCost.pageLimit) {
            try environment.write { transaction in
                for index in first..<first + QueryCost.pageLimit {
                    let item = QueryCost.item(index, of: count)
                    let value = ItemCoding.encode(item)
                    let key = KeyBytes.name(QueryCost.zone, item.name)
                    try LMDB.put(
                        transaction, environment.records, key, length: value.count
                    ) { $0.copyBytes(from: value) }
                    for row in Self.rows(item) {
                        try LMDB.put(transaction, environment.indexes, row, length: 0) { _ in }
                    }
                }
            }
        }
        self.environment = environment
        transaction = try environment.readTransaction()
    }

    private static func rows(_ item: Item) -> [[UInt8]] {
        [
            key(.rank, number(item.rank)), key(.count, number(item.count)),
            key(.title, text(item.title)), key(.owner, text(item.owner)),
            key(.titleAndCount, text(item.title) + number(item.count)),
        ].map { $0 + Array(item.name.utf8) }
    }

    private static func key(_ index: Index, _ value: [UInt8]) -> [UInt8] {
        [index.rawValue] + value
    }

    private static func number(_ number: Int64) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

    func close() {
        environment.end(transaction)
        environment.close()
    }

    func answer(_ question: QueryCost.Question, _ number: Int) throws -> Int64? {
        switch question {
        case .feed, .word: return nil
        case .equal: return try weight(rank(number), .max)
        case .range:
            let low = QueryCost.firstCount(number, of: count)
            let end = Self.key(.count, Self.number(low + Int64(QueryCost.pageLimit)))
            var sum: Int64 = 0
            try LMDB.scan(
                transaction, environment.indexes, from: Self.key(.count, Self.number(low))
            ) { key, _ in
                if !key.lexicographicallyPrecedes(end) { return false }
                sum &+= try item(key).weight
                return true
            }
            return sum
        case .firstInOrder:
            return try weight(
                Self.key(.titleAndCount, Self.text(QueryCost.title(number))),
                QueryCost.firstLimit)
        case .firstSorted:
            var items: [Item] = []
            try scan(rank(number)) { key in
                items.append(try item(key))
                return true
            }
            items.sort { $0.when < $1.when }
            return items.prefix(QueryCost.firstLimit).reduce(0) { $0 &+ $1.weight }
        case .twoTenths:
            // The names of the first tenth, in order, and beside them those of the second.
            var names: [UInt8] = []
            try scan(Self.key(.title, Self.text(QueryCost.title(number)))) { key in
                names.append(contentsOf: key.suffix(Self.nameLength))
                return true
            }
            var sum: Int64 = 0
            var place = 0
            try scan(Self.key(.owner, Self.text(QueryCost.owner(number / 10)))) { key in
                while place < names.count {
                    let order = names.withUnsafeBytes { names -> Int32 in
                        guard let names = names.baseAddress, let row = key.baseAddress else {
                            return 1
                        }
                        return memcmp(
                            names + place, row + key.count - Self.nameLength, Self.nameLength)
                    }
                    if order > 0 { break }
                    place += Self.nameLength
                    if order == 0 {
                        sum &+= try item(key).weight
                        break
                    }
                }
                return place < names.count
            }
            return sum
        case .count:
            let start = Self.key(.count, Self.number(Int64(number % 10) + 1))
            var found: Int64 = 0
            try LMDB.scan(transaction, environment.indexes, from: start) { key, _ in
                guard key[0] == Index.count.rawValue else { return false }
                found += 1
                return true
            }
            return found
        }
    }

    private func rank(_ number: Int) -> [UInt8] {
        Self.key(.rank, Self.number(QueryCost.rank(number, of: count)))
    }

    /// The rows that begin so.
    private func scan(
        _ prefix: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try LMDB.scan(transaction, environment.indexes, from: prefix) { key, _ in
            try key.starts(with: prefix) && body(key)
        }
    }

    private func weight(_ prefix: [UInt8], _ limit: Int) throws -> Int64 {
        var sum: Int64 = 0
        var left = limit
        try scan(prefix) { key in
            sum &+= try item(key).weight
            left -= 1
            return left > 0
        }
        return sum
    }

    /// The record of a row.
    private func item(_ key: UnsafeRawBufferPointer) throws -> Item {
        let name = String(decoding: key.suffix(Self.nameLength), as: UTF8.self)
        let key = KeyBytes.name(QueryCost.zone, name)
        guard let value = try LMDB.get(transaction, environment.records, key) else {
            throw BenchmarkError("no record \(name)")
        }
        return ItemCoding.decode(value, name: name)
    }
}
