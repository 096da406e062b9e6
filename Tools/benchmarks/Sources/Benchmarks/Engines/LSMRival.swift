import Synchronization

/// What LevelDB and RocksDB have in common.
protocol LSMTree: AnyObject, Sendable {
    init(at path: String, _ purpose: Purpose) throws
    func get<Result>(
        _ key: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result?
    /// All in one write; synced, unless opened for a process that will be killed.
    func write(_ batch: borrowing LSMBatch) throws
    /// Hands out keys and values from `key` on until `body` says no.
    func scan(
        from key: [UInt8], _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws
    /// The last key before `key`.
    func last<Result>(
        before key: [UInt8], _ body: (UnsafeRawBufferPointer) -> Result
    ) throws -> Result?
    func close()
    static func emptyBatch() -> LSMBatch
}

/// A batch of writes, of the engine whose functions it holds.
struct LSMBatch: ~Copyable {
    typealias Bytes = UnsafePointer<CChar>?
    let handle: OpaquePointer?
    let put: (OpaquePointer?, Bytes, Int, Bytes, Int) -> Void
    let remove: (OpaquePointer?, Bytes, Int) -> Void
    let destroy: (OpaquePointer?) -> Void

    deinit { destroy(handle) }

    func put(_ key: [UInt8], _ value: some Collection<UInt8>) {
        key.withUnsafeBytes { key in
            _ = value.withContiguousStorageIfAvailable { value in
                let value = UnsafeRawBufferPointer(value)
                put(handle, chars(key), key.count, chars(value), value.count)
            }
        }
    }

    func remove(_ key: [UInt8]) {
        key.withUnsafeBytes { remove(handle, chars($0), $0.count) }
    }
}

/// Bytes as C's `char`.
func chars(_ bytes: UnsafeRawBufferPointer) -> UnsafePointer<CChar>? {
    bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
}

/// A log-structured merge tree with two prefixes in one batch: "r", zone, name -> value and
/// "c", zone, number -> name.
final class LSMRival<Tree: LSMTree>: Rival {
    static var keepsBytes: Bool { true }
    private static var records: UInt8 { UInt8(ascii: "r") }
    private static var feed: UInt8 { UInt8(ascii: "c") }

    private let tree: Tree
    private let sequences = Mutex(Sequences())

    init(at path: String, _ purpose: Purpose) throws { tree = try Tree(at: path, purpose) }

    func commit(_ changes: inout [Change]) throws {
        try sequences.withLock { sequences in
            let prepared = try batch(&changes) { zone in
                try sequences.next(in: zone) { try last(in: zone) }
            }
            try tree.write(prepared)
        }
    }

    /// Many threads at once: the engine makes groups of them by itself. The numbers are given before
    /// the write, so a reader of the feed may see a later one before an earlier one.
    func commitNatively(_ changes: inout [Change]) throws {
        let prepared = try batch(&changes) { zone in
            try sequences.withLock { try $0.next(in: zone) { try last(in: zone) } }
        }
        try tree.write(prepared)
    }

    /// The changes, each with its number. One record is changed once in them.
    private func batch(
        _ changes: inout [Change], _ number: (UInt32) throws -> UInt64
    ) throws -> LSMBatch {
        let batch = Tree.emptyBatch()
        for index in changes.indices {
            let change = changes[index]
            let key = KeyBytes.name(change.zone, change.item.name, prefix: Self.records)
            let before = try tree.get(key) { ItemCoding.sequence($0) }
            if let expected = change.expected, expected != before {
                throw BenchmarkError("changed by another writer")
            }
            if let before {
                batch.remove(KeyBytes.sequence(change.zone, before, prefix: Self.feed))
            }
            let sequence = try number(change.zone)
            ItemCoding.setSequence(sequence, in: &changes[index].value)
            batch.put(key, changes[index].value)
            batch.put(
                KeyBytes.sequence(change.zone, sequence, prefix: Self.feed), change.item.name.utf8)
        }
        return batch
    }

    private func last(in zone: UInt32) throws -> UInt64? {
        let end = KeyBytes.sequence(zone + 1, 0, prefix: Self.feed)
        return try tree.last(before: end) { key -> UInt64? in
            guard key.first == Self.feed, KeyBytes.zone(of: key) == zone else { return nil }
            return KeyBytes.sequence(of: key)
        }.flatMap { $0 }
    }

    func sequence(of key: RivalKey, _ reader: Reader) throws -> UInt64 {
        let bytes = KeyBytes.name(key.zone, key.name, prefix: Self.records)
        guard let sequence = try tree.get(bytes, { ItemCoding.sequence($0) }) else {
            throw BenchmarkError("no record \(key.name)")
        }
        return sequence
    }

    func reader() -> Reader { Reader(tree) }

    func close() { tree.close() }

    final class Reader: EngineReader {
        private let tree: Tree

        init(_ tree: Tree) { self.tree = tree }

        func get(_ key: RivalKey) throws -> Item { try item(key.zone, key.name) }

        private func item(_ zone: UInt32, _ name: String) throws -> Item {
            let key = KeyBytes.name(zone, name, prefix: LSMRival.records)
            let item = try tree.get(key) { ItemCoding.decode($0, name: name) }
            guard let item else { throw BenchmarkError("no record \(name)") }
            return item
        }

        func changes(
            in zone: UInt32, since token: UInt64?, limit: Int
        ) throws -> ChangePage<UInt64> {
            var page = ChangePage<UInt64>(token: token ?? 0, moreComing: false)
            page.items.reserveCapacity(limit)
            page.places.reserveCapacity(limit)
            let first = KeyBytes.sequence(zone, page.token + 1, prefix: LSMRival.feed)
            try tree.scan(from: first) { key, name in
                guard key.first == LSMRival.feed, KeyBytes.zone(of: key) == zone,
                    page.items.count < limit
                else { return false }
                page.places.append(KeyBytes.sequence(of: key))
                page.items.append(try item(zone, String(decoding: name, as: UTF8.self)))
                return true
            }
            page.token = page.places.last ?? page.token
            page.moreComing = page.items.count == limit
            return page
        }
    }
}
