import CRocksDB

/// Safe: a RocksDB may be used by any number of threads; options are not changed after the opening.
final class RocksDB: LSMTree, @unchecked Sendable {
    private var handle: OpaquePointer?
    private let options = rocksdb_options_create()
    private let reading = rocksdb_readoptions_create()
    private let writing = rocksdb_writeoptions_create()

    init(at path: String, _ purpose: Purpose) throws {
        rocksdb_options_set_create_if_missing(options, 1)
        let cache = rocksdb_cache_create_lru(64 << 20)
        defer { rocksdb_cache_destroy(cache) }
        let table = rocksdb_block_based_options_create()
        defer { rocksdb_block_based_options_destroy(table) }
        rocksdb_block_based_options_set_block_cache(table, cache)
        rocksdb_block_based_options_set_filter_policy(
            table, rocksdb_filterpolicy_create_bloom_full(10))
        rocksdb_options_set_block_based_table_factory(options, table)
        rocksdb_options_set_recycle_log_file_num(options, 4)
        rocksdb_writeoptions_set_sync(writing, purpose == .killed ? 0 : 1)
        handle = try attempt { rocksdb_open(options, path, &$0) }
    }

    private func attempt<Result>(
        _ body: (inout UnsafeMutablePointer<CChar>?) throws -> Result
    ) throws -> Result {
        var message: UnsafeMutablePointer<CChar>?
        let result = try body(&message)
        guard let message else { return result }
        defer { rocksdb_free(message) }
        throw BenchmarkError("rocksdb: \(String(cString: message))")
    }

    func get<Result>(
        _ key: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result? {
        let found = try key.withUnsafeBytes { key in
            try attempt { rocksdb_get_pinned(handle, reading, chars(key), key.count, &$0) }
        }
        guard let found else { return nil }
        defer { rocksdb_pinnableslice_destroy(found) }
        var length = 0
        let start = rocksdb_pinnableslice_value(found, &length)
        return try body(UnsafeRawBufferPointer(start: start, count: length))
    }

    static func emptyBatch() -> LSMBatch {
        LSMBatch(
            handle: rocksdb_writebatch_create(),
            put: { rocksdb_writebatch_put($0, $1, $2, $3, $4) },
            remove: { rocksdb_writebatch_delete($0, $1, $2) },
            destroy: { rocksdb_writebatch_destroy($0) })
    }

    func write(_ batch: borrowing LSMBatch) throws {
        let contents = batch.handle
        try attempt { rocksdb_write(handle, writing, contents, &$0) }
    }

    func scan(
        from key: [UInt8], _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let iterator = rocksdb_create_iterator(handle, reading)
        defer { rocksdb_iter_destroy(iterator) }
        key.withUnsafeBytes { rocksdb_iter_seek(iterator, chars($0), $0.count) }
        while rocksdb_iter_valid(iterator) != 0 {
            var length = 0
            let value = rocksdb_iter_value(iterator, &length)
            let goesOn = try body(
                Self.key(iterator), UnsafeRawBufferPointer(start: value, count: length))
            if !goesOn { return }
            rocksdb_iter_next(iterator)
        }
        try attempt { rocksdb_iter_get_error(iterator, &$0) }
    }

    private static func key(_ iterator: OpaquePointer?) -> UnsafeRawBufferPointer {
        var length = 0
        let start = rocksdb_iter_key(iterator, &length)
        return UnsafeRawBufferPointer(start: start, count: length)
    }

    func last<Result>(
        before key: [UInt8], _ body: (UnsafeRawBufferPointer) -> Result
    ) throws -> Result? {
        let iterator = rocksdb_create_iterator(handle, reading)
        defer { rocksdb_iter_destroy(iterator) }
        key.withUnsafeBytes { rocksdb_iter_seek_for_prev(iterator, chars($0), $0.count) }
        return rocksdb_iter_valid(iterator) == 0 ? nil : body(Self.key(iterator))
    }

    func close() {
        rocksdb_close(handle)
        handle = nil
        rocksdb_readoptions_destroy(reading)
        rocksdb_writeoptions_destroy(writing)
        rocksdb_options_destroy(options)
    }
}
