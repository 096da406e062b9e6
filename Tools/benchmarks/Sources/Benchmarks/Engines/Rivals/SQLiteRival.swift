import Synchronization

/// SQLite: a table with rowids, unique by zone and name, and an index by zone and sequence number.
final class SQLiteRival<Layout: SQLiteLayout>: Rival {
    static var keepsBytes: Bool { Layout.keepsBytes }

    private struct Writer: @unchecked Sendable {
        let connection: SQLiteConnection
        let begin, commit, rollback, upsert, current, last: SQLiteStatement
        var sequences = Sequences()
    }

    private let path: String
    private let purpose: Purpose
    private let writer: Mutex<Writer>

    init(at path: String, _ purpose: Purpose) throws {
        let file = path + "/records.sqlite"
        self.path = file
        self.purpose = purpose
        writer = Mutex(try Self.writer(try Self.open(file, purpose)))
    }

    private static func open(_ path: String, _ purpose: Purpose) throws -> SQLiteConnection {
        let connection = try SQLiteConnection(at: path)
        try connection.execute("PRAGMA journal_mode=WAL")
        try connection.execute("PRAGMA busy_timeout=10000")
        try connection.execute("PRAGMA synchronous=\(purpose == .killed ? "OFF" : "FULL")")
        let cache = purpose == .batches ? 512 << 10 : 64 << 10
        try connection.execute("PRAGMA cache_size=-\(cache)")
        switch purpose {
        case .usual: break
        case .batches: try connection.execute("PRAGMA wal_autocheckpoint=16384")
        case .killed: try connection.execute("PRAGMA wal_autocheckpoint=0")
        }
        return connection
    }

    private static func writer(_ connection: SQLiteConnection) throws -> Writer {
        let columns = Layout.columns
        let definitions = columns.map { "\($0.name) \($0.type) NOT NULL" }.joined(separator: ", ")
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS records (zone INTEGER NOT NULL, name TEXT NOT NULL,
            seq INTEGER NOT NULL, \(definitions), UNIQUE (zone, name));
            CREATE INDEX IF NOT EXISTS feed ON records (zone, seq);
            """)
        let names = columns.map(\.name)
        let placeholders = Array(repeating: "?", count: names.count + 3).joined(separator: ", ")
        let updates = (["seq"] + names).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        return Writer(
            connection: connection, begin: try connection.prepare("BEGIN IMMEDIATE"),
            commit: try connection.prepare("COMMIT"),
            rollback: try connection.prepare("ROLLBACK"),
            upsert: try connection.prepare(
                """
                INSERT INTO records (zone, name, seq, \(names.joined(separator: ", ")))
                VALUES (\(placeholders)) ON CONFLICT (zone, name) DO UPDATE SET \(updates)
                """),
            current: try connection.prepare("SELECT seq FROM records WHERE zone = ? AND name = ?"),
            last: try connection.prepare("SELECT max(seq) FROM records WHERE zone = ?"))
    }

    func commit(_ changes: inout [Change]) throws {
        try writer.withLock { writer in
            try writer.begin.run()
            do {
                for change in changes { try Self.store(change, &writer) }
            } catch {
                try? writer.rollback.run()
                throw error
            }
            try writer.commit.run()
        }
    }

    private static func store(_ change: Change, _ writer: inout Writer) throws {
        if let expected = change.expected {
            writer.current.bind(1, Int64(change.zone))
            writer.current.bind(2, change.item.name)
            let isThere = try writer.current.step()
            let found = writer.current.int64(0)
            writer.current.reset()
            guard isThere, UInt64(found) == expected else {
                throw BenchmarkError("changed by another writer")
            }
        }
        let last = writer.last
        let sequence = try writer.sequences.next(in: change.zone) {
            last.bind(1, Int64(change.zone))
            defer { last.reset() }
            return try last.step() ? UInt64(last.int64(0)) : nil
        }
        writer.upsert.bind(1, Int64(change.zone))
        writer.upsert.bind(2, change.item.name)
        writer.upsert.bind(3, Int64(sequence))
        Layout.bind(change, to: writer.upsert, from: 4)
        try writer.upsert.run()
    }

    func sequence(of key: RivalKey, _ reader: Reader) throws -> UInt64 {
        try reader.sequence(of: key)
    }

    func reader() throws -> Reader { try Reader(try Self.open(path, purpose)) }

    func close() throws { try writer.withLock { try $0.connection.close() } }

    final class Reader: EngineReader {
        private let connection: SQLiteConnection
        private let get, feed, current: SQLiteStatement

        init(_ connection: SQLiteConnection) throws {
            self.connection = connection
            let names = Layout.columns.map(\.name).joined(separator: ", ")
            get = try connection.prepare(
                "SELECT \(names) FROM records WHERE zone = ? AND name = ?")
            feed = try connection.prepare(
                """
                SELECT seq, name, \(names) FROM records WHERE zone = ? AND seq > ?
                ORDER BY seq LIMIT ?
                """)
            current = try connection.prepare(
                "SELECT seq FROM records WHERE zone = ? AND name = ?")
        }

        deinit { try? connection.close() }

        func get(_ key: RivalKey) throws -> Item {
            get.bind(1, Int64(key.zone))
            get.bind(2, key.name)
            defer { get.reset() }
            guard try get.step() else { throw BenchmarkError("no record \(key.name)") }
            return Layout.item(get, from: 0, name: key.name)
        }

        func sequence(of key: RivalKey) throws -> UInt64 {
            current.bind(1, Int64(key.zone))
            current.bind(2, key.name)
            defer { current.reset() }
            guard try current.step() else { throw BenchmarkError("no record \(key.name)") }
            return UInt64(current.int64(0))
        }

        func changes(
            in zone: UInt32, since token: UInt64?, limit: Int
        ) throws -> ChangePage<UInt64> {
            feed.bind(1, Int64(zone))
            feed.bind(2, Int64(token ?? 0))
            feed.bind(3, Int64(limit))
            defer { feed.reset() }
            var page = ChangePage<UInt64>(token: token ?? 0, moreComing: false)
            page.items.reserveCapacity(limit)
            page.places.reserveCapacity(limit)
            while try feed.step() {
                page.places.append(UInt64(feed.int64(0)))
                page.items.append(Layout.item(feed, from: 2, name: feed.text(1)))
            }
            page.token = page.places.last ?? page.token
            page.moreComing = page.items.count == limit
            return page
        }
    }
}
