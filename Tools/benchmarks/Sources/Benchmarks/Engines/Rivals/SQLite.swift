import CSQLite
import FoundationEssentials

/// A connection to SQLite and its prepared statements.
///
/// Safe: one thread at a time uses a connection; the engine sees to that.
final class SQLiteConnection: @unchecked Sendable {
    private var handle: OpaquePointer?
    /// Those that were prepared here: modules of SQLite have others on the same connection.
    private var statements: [OpaquePointer?] = []

    init(at path: String) throws {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        try check(sqlite3_open_v2(path, &handle, flags, nil))
    }

    func check(_ result: Int32) throws {
        guard result == SQLITE_OK || result == SQLITE_DONE || result == SQLITE_ROW else {
            throw BenchmarkError("sqlite: \(String(cString: sqlite3_errmsg(handle)))")
        }
    }

    func execute(_ text: String) throws {
        try check(sqlite3_exec(handle, text, nil, nil, nil))
    }

    func prepare(_ text: String) throws -> SQLiteStatement {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v3(handle, text, -1, 1, &statement, nil))
        statements.append(statement)
        return SQLiteStatement(handle: statement, connection: self)
    }

    func close() throws {
        for statement in statements { sqlite3_finalize(statement) }
        statements = []
        try check(sqlite3_close(handle))
        handle = nil
    }
}

/// A prepared statement. Parameters count from 1, columns from 0.
struct SQLiteStatement {
    let handle: OpaquePointer?
    unowned let connection: SQLiteConnection

    func bind(_ place: Int32, _ text: String) {
        _ = benchmark_bind_text(handle, place, text, Int32(text.utf8.count))
    }
    func bind(_ place: Int32, _ bytes: some ContiguousBytes) {
        bytes.withUnsafeBytes { part in
            _ = benchmark_bind_blob(handle, place, part.baseAddress, Int32(part.count))
        }
    }
    func bind(_ place: Int32, _ number: Int64) { sqlite3_bind_int64(handle, place, number) }
    func bind(_ place: Int32, _ number: Double) { sqlite3_bind_double(handle, place, number) }

    /// Whether there is a row.
    func step() throws -> Bool {
        let result = sqlite3_step(handle)
        if result == SQLITE_ROW { return true }
        try connection.check(result)
        return false
    }
    func reset() { sqlite3_reset(handle) }
    /// For statements that give no rows.
    func run() throws {
        _ = try step()
        reset()
    }

    func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }
    func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(
            start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }
}

/// How the 8 fields lie in a table of SQLite.
protocol SQLiteLayout: Sendable {
    static var keepsBytes: Bool { get }
    /// Names and types of the columns that hold the fields.
    static var columns: [(name: String, type: String)] { get }
    static func bind(_ change: Change, to statement: SQLiteStatement, from place: Int32)
    static func item(_ statement: SQLiteStatement, from column: Int32, name: String) -> Item
}

enum SQLiteColumns: SQLiteLayout {
    static let keepsBytes = false
    static let columns = [
        ("title", "TEXT"), ("body", "TEXT"), ("count", "INTEGER"), ("rank", "INTEGER"),
        ("score", "REAL"), ("moment", "REAL"), ("owner", "TEXT"), ("data", "BLOB"),
    ].map { (name: $0.0, type: $0.1) }

    static func bind(_ change: Change, to statement: SQLiteStatement, from place: Int32) {
        let item = change.item
        statement.bind(place, item.title)
        statement.bind(place + 1, item.body)
        statement.bind(place + 2, item.count)
        statement.bind(place + 3, item.rank)
        statement.bind(place + 4, item.score)
        statement.bind(place + 5, item.when)
        statement.bind(place + 6, item.owner)
        statement.bind(place + 7, item.data)
    }

    static func item(_ statement: SQLiteStatement, from column: Int32, name: String) -> Item {
        Item(
            name: name, title: statement.text(column), body: statement.text(column + 1),
            count: statement.int64(column + 2), rank: statement.int64(column + 3),
            score: statement.double(column + 4), when: statement.double(column + 5),
            owner: statement.text(column + 6), data: Data(copying: statement.bytes(column + 7)))
    }
}

enum SQLiteBlob: SQLiteLayout {
    static let keepsBytes = true
    static let columns = [(name: "value", type: "BLOB")]

    static func bind(_ change: Change, to statement: SQLiteStatement, from place: Int32) {
        statement.bind(place, change.value)
    }

    static func item(_ statement: SQLiteStatement, from column: Int32, name: String) -> Item {
        ItemCoding.decode(statement.bytes(column), name: name)
    }
}
