import CLMDB
import Synchronization

/// An LMDB environment with three tables.
///
/// Safe: LMDB itself lets one transaction write at a time and any number read; a reader here
/// belongs to one task, and no transaction to a thread (`MDB_NOTLS`).
final class LMDBEnvironment: @unchecked Sendable {
    private var handle: OpaquePointer?
    private(set) var records: MDB_dbi = 0
    private(set) var feed: MDB_dbi = 0
    private(set) var indexes: MDB_dbi = 0
    /// Counts the engine and each reader: LMDB must not be closed under a transaction.
    private let users = Mutex(1)

    init(at path: String, _ purpose: Purpose) throws {
        try check(mdb_env_create(&handle))
        try check(mdb_env_set_maxdbs(handle, 3))
        try check(mdb_env_set_mapsize(handle, 64 << 30))
        let unsynced = purpose == .killed ? MDB_NOSYNC : 0
        try check(mdb_env_open(handle, path, UInt32(MDB_NOTLS | unsynced), 0o600))
        try write { transaction in
            try check(mdb_dbi_open(transaction, "records", UInt32(MDB_CREATE), &records))
            try check(mdb_dbi_open(transaction, "feed", UInt32(MDB_CREATE), &feed))
            try check(mdb_dbi_open(transaction, "indexes", UInt32(MDB_CREATE), &indexes))
        }
    }

    func write<Result>(_ body: (OpaquePointer?) throws -> Result) throws -> Result {
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(handle, nil, 0, &transaction))
        let result: Result
        do {
            result = try body(transaction)
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        try check(mdb_txn_commit(transaction))
        return result
    }

    func readTransaction() throws -> OpaquePointer? {
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction))
        users.withLock { $0 += 1 }
        return transaction
    }

    func end(_ readTransaction: OpaquePointer?) {
        mdb_txn_abort(readTransaction)
        close()
    }

    func close() {
        let isLast = users.withLock { users in
            users -= 1
            return users == 0
        }
        if isLast { mdb_env_close(handle) }
    }
}

private func check(_ result: Int32) throws {
    guard result == MDB_SUCCESS else {
        throw BenchmarkError("lmdb: \(String(cString: mdb_strerror(result)))")
    }
}

enum LMDB {
    /// The value, good until the transaction ends or writes.
    static func get(
        _ transaction: OpaquePointer?, _ table: MDB_dbi, _ key: [UInt8]
    ) throws -> UnsafeRawBufferPointer? {
        var value = MDB_val()
        let result = withValue(key) { mdb_get(transaction, table, &$0, &value) }
        if result == MDB_NOTFOUND { return nil }
        try check(result)
        return UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
    }

    /// Stores what `fill` puts into `length` bytes.
    static func put(
        _ transaction: OpaquePointer?, _ table: MDB_dbi, _ key: [UInt8], length: Int,
        _ fill: (UnsafeMutableRawBufferPointer) -> Void
    ) throws {
        var value = MDB_val(mv_size: length, mv_data: nil)
        try check(
            withValue(key) { mdb_put(transaction, table, &$0, &value, UInt32(MDB_RESERVE)) })
        fill(UnsafeMutableRawBufferPointer(start: value.mv_data, count: length))
    }

    static func delete(_ transaction: OpaquePointer?, _ table: MDB_dbi, _ key: [UInt8]) throws {
        try check(withValue(key) { mdb_del(transaction, table, &$0, nil) })
    }

    private static func withValue(_ key: [UInt8], _ body: (inout MDB_val) -> Int32) -> Int32 {
        key.withUnsafeBytes { bytes in
            var value = MDB_val(
                mv_size: bytes.count,
                mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return body(&value)
        }
    }

    /// Hands out keys and values from `key` on until `body` says no.
    static func scan(
        _ transaction: OpaquePointer?, _ table: MDB_dbi, from key: [UInt8],
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        var cursor: OpaquePointer?
        try check(mdb_cursor_open(transaction, table, &cursor))
        defer { mdb_cursor_close(cursor) }
        var found = MDB_val()
        var value = MDB_val()
        var result = withValue(key) { start in
            let result = mdb_cursor_get(cursor, &start, &value, MDB_SET_RANGE)
            found = start
            return result
        }
        while result == MDB_SUCCESS {
            let goesOn = try body(
                UnsafeRawBufferPointer(start: found.mv_data, count: found.mv_size),
                UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
            if !goesOn { return }
            result = mdb_cursor_get(cursor, &found, &value, MDB_NEXT)
        }
        if result != MDB_NOTFOUND { try check(result) }
    }

    /// The last number of a zone's feed.
    static func lastSequence(
        _ transaction: OpaquePointer?, _ table: MDB_dbi, in zone: UInt32
    ) throws -> UInt64? {
        var cursor: OpaquePointer?
        try check(mdb_cursor_open(transaction, table, &cursor))
        defer { mdb_cursor_close(cursor) }
        var found = MDB_val()
        var value = MDB_val()
        let next = withValue(KeyBytes.sequence(zone + 1, 0)) { start in
            mdb_cursor_get(cursor, &start, &value, MDB_SET_RANGE)
        }
        let step = next == MDB_SUCCESS ? MDB_PREV : MDB_LAST
        guard mdb_cursor_get(cursor, &found, &value, step) == MDB_SUCCESS else { return nil }
        let key = UnsafeRawBufferPointer(start: found.mv_data, count: found.mv_size)
        return KeyBytes.zone(of: key) == zone ? KeyBytes.sequence(of: key) : nil
    }
}
