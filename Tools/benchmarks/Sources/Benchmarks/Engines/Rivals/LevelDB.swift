import CLevelDB

/// Safe: a LevelDB may be used by any number of threads; options are not changed after the opening.
final class LevelDB: LSMTree, @unchecked Sendable {
    private var handle: OpaquePointer?
    private let options = leveldb_options_create()
    private let cache = leveldb_cache_create_lru(64 << 20)
    private let filter = leveldb_filterpolicy_create_bloom(10)
    private let reading = leveldb_readoptions_create()
    private let writing = leveldb_writeoptions_create()

    init(at path: String, _ purpose: Purpose) throws {
        leveldb_options_set_create_if_missing(options, 1)
        leveldb_options_set_cache(options, cache)
        leveldb_options_set_filter_policy(options, filter)
        leveldb_options_set_write_buffer_size(options, 64 << 20)
        leveldb_writeoptions_set_sync(writing, purpose == .killed ? 0 : 1)
        handle = try attempt { leveldb_open(options, path, &$0) }
    }

    private func attempt<Result>(
        _ body: (inout UnsafeMutablePointer<CChar>?) throws -> Result
    ) throws -> Result {
        var message: UnsafeMutablePointer<CChar>?
        let result = try body(&message)
        guard let message else { return result }
        defer { leveldb_free(message) }
        throw BenchmarkError("leveldb: \(String(cString: message))")
    }

    func get<Result>(
        _ key: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result? {
        var length = 0
        let found = try key.withUnsafeBytes { key in
            try attempt { leveldb_get(handle, reading, chars(key), key.count, &length, &$0) }
        }
        guard let found else { return nil }
        defer { leveldb_free(found) }
        return try body(UnsafeRawBufferPointer(start: found, count: length))
    }

    static func emptyBatch() -> LSMBatch {
        LSMBatch(
            handle: leveldb_writebatch_create(),
            put: { leveldb_writebatch_put($0, $1, $2, $3, $4) },
            remove: { leveldb_writebatch_delete($0, $1, $2) },
            destroy: { leveldb_writebatch_destroy($0) })
    }

    func write(_ batch: borrowing LSMBatch) throws {
        let contents = batch.handle
        try attempt { leveldb_write(handle, writing, contents, &$0) }
    }

    func scan(
        from key: [UInt8], _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let iterator = leveldb_create_iterator(handle, reading)
        defer { leveldb_iter_destroy(iterator) }
        key.withUnsafeBytes { leveldb_iter_seek(iterator, chars($0), $0.count) }
        while leveldb_iter_valid(iterator) != 0 {
            var length = 0
            let value = leveldb_iter_value(iterator, &length)
            let goesOn = try body(
                Self.key(iterator), UnsafeRawBufferPointer(start: value, count: length))
            if !goesOn { return }
            leveldb_iter_next(iterator)
        }
        try attempt { leveldb_iter_get_error(iterator, &$0) }
    }

    private static func key(_ iterator: OpaquePointer?) -> UnsafeRawBufferPointer {
        var length = 0
        let start = leveldb_iter_key(iterator, &length)
        return UnsafeRawBufferPointer(start: start, count: length)
    }

    func last<Result>(
        before key: [UInt8], _ body: (UnsafeRawBufferPointer) -> Result
    ) throws -> Result? {
        let iterator = leveldb_create_iterator(handle, reading)
        defer { leveldb_iter_destroy(iterator) }
        key.withUnsafeBytes { leveldb_iter_seek(iterator, chars($0), $0.count) }
        if leveldb_iter_valid(iterator) != 0 {
            leveldb_iter_prev(iterator)
        } else {
            leveldb_iter_seek_to_last(iterator)
        }
        return leveldb_iter_valid(iterator) == 0 ? nil : body(Self.key(iterator))
    }

    func close() {
        leveldb_close(handle)
        handle = nil
        leveldb_readoptions_destroy(reading)
        leveldb_writeoptions_destroy(writing)
        leveldb_options_destroy(options)
        leveldb_cache_destroy(cache)
        leveldb_filterpolicy_destroy(filter)
    }
}
