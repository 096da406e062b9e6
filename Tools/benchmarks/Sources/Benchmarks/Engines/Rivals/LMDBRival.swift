import CLMDB
import Synchronization

/// Where the contents lie in LMDB.
protocol LMDBLayout: Sendable {
    /// In the feed, so that a feed is read in one pass; else with the name, so that a record is.
    static var keepsContentsInFeed: Bool { get }
}
enum LMDBByName: LMDBLayout { static let keepsContentsInFeed = false }
enum LMDBByFeed: LMDBLayout { static let keepsContentsInFeed = true }

/// LMDB, as (zone, name) -> value and (zone, number) -> name, or, with the contents in the feed,
/// (zone, name) -> number and (zone, number) -> name and value.
final class LMDBRival<Layout: LMDBLayout>: Rival {
    static var keepsBytes: Bool { true }

    private let environment: LMDBEnvironment
    private let sequences = Mutex(Sequences())

    init(at path: String, _ purpose: Purpose) throws {
        environment = try LMDBEnvironment(at: path, purpose)
    }

    func commit(_ changes: inout [Change]) throws {
        try sequences.withLock { sequences in
            try environment.write { transaction in
                for change in changes { try store(change, &sequences, transaction) }
            }
        }
    }

    private func store(
        _ change: Change, _ sequences: inout Sequences, _ transaction: OpaquePointer?
    ) throws {
        let (records, feed) = (environment.records, environment.feed)
        let key = KeyBytes.name(change.zone, change.item.name)
        let before = try LMDB.get(transaction, records, key).map { ItemCoding.sequence($0) }
        if let expected = change.expected, expected != before {
            throw BenchmarkError("changed by another writer")
        }
        let sequence = try sequences.next(in: change.zone) {
            try LMDB.lastSequence(transaction, feed, in: change.zone)
        }
        if let before {
            try LMDB.delete(transaction, feed, KeyBytes.sequence(change.zone, before))
        }
        let name = change.item.name.utf8
        let value = change.value
        let length = Layout.keepsContentsInFeed ? 8 : value.count
        try LMDB.put(transaction, records, key, length: length) { bytes in
            if !Layout.keepsContentsInFeed { bytes.copyBytes(from: value) }
            bytes.storeBytes(of: sequence, as: UInt64.self)
        }
        let entry = KeyBytes.sequence(change.zone, sequence)
        let rest = Layout.keepsContentsInFeed ? value.count : 0
        try LMDB.put(transaction, feed, entry, length: 36 + rest) { bytes in
            bytes.copyBytes(from: name)
            if rest > 0 {
                UnsafeMutableRawBufferPointer(rebasing: bytes[36...]).copyBytes(from: value)
            }
        }
    }

    func sequence(of key: RivalKey, _ reader: Reader) throws -> UInt64 {
        try reader.sequence(of: key)
    }

    func reader() throws -> Reader { try Reader(environment) }

    func close() { environment.close() }

    final class Reader: EngineReader {
        private let environment: LMDBEnvironment
        private let transaction: OpaquePointer?

        init(_ environment: LMDBEnvironment) throws {
            self.environment = environment
            transaction = try environment.readTransaction()
            mdb_txn_reset(transaction)
        }

        deinit { environment.end(transaction) }

        private func read<Result>(_ body: () throws -> Result) throws -> Result {
            guard mdb_txn_renew(transaction) == MDB_SUCCESS else {
                throw BenchmarkError("lmdb: no read transaction")
            }
            defer { mdb_txn_reset(transaction) }
            return try body()
        }

        private func value(_ zone: UInt32, _ name: String) throws -> UnsafeRawBufferPointer {
            let key = KeyBytes.name(zone, name)
            guard let value = try LMDB.get(transaction, environment.records, key) else {
                throw BenchmarkError("no record \(name)")
            }
            return value
        }

        func get(_ key: RivalKey) throws -> Item {
            try read {
                let value = try value(key.zone, key.name)
                guard Layout.keepsContentsInFeed else {
                    return ItemCoding.decode(value, name: key.name)
                }
                let place = KeyBytes.sequence(key.zone, ItemCoding.sequence(value))
                guard let entry = try LMDB.get(transaction, environment.feed, place) else {
                    throw BenchmarkError("no change of \(key.name)")
                }
                return ItemCoding.decode(
                    UnsafeRawBufferPointer(rebasing: entry[36...]), name: key.name)
            }
        }

        func sequence(of key: RivalKey) throws -> UInt64 {
            try read { ItemCoding.sequence(try value(key.zone, key.name)) }
        }

        func changes(
            in zone: UInt32, since token: UInt64?, limit: Int
        ) throws -> ChangePage<UInt64> {
            var page = ChangePage<UInt64>(token: token ?? 0, moreComing: false)
            page.items.reserveCapacity(limit)
            page.places.reserveCapacity(limit)
            try read {
                let first = KeyBytes.sequence(zone, page.token + 1)
                try LMDB.scan(transaction, environment.feed, from: first) { key, entry in
                    guard KeyBytes.zone(of: key) == zone, page.items.count < limit else {
                        return false
                    }
                    let name = String(decoding: entry[..<36], as: UTF8.self)
                    page.places.append(KeyBytes.sequence(of: key))
                    if Layout.keepsContentsInFeed {
                        let value = UnsafeRawBufferPointer(rebasing: entry[36...])
                        page.items.append(ItemCoding.decode(value, name: name))
                    } else {
                        page.items.append(ItemCoding.decode(try value(zone, name), name: name))
                    }
                    return true
                }
            }
            page.token = page.places.last ?? page.token
            page.moreComing = page.items.count == limit
            return page
        }
    }
}
