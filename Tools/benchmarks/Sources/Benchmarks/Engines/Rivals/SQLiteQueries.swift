/// SQLite with a column for each field, indexes, and FTS5 for words.
struct SQLiteQueries: QueryCost.Side {
    private let rival: SQLiteRival<SQLiteColumns>
    private let connection: SQLiteConnection
    private let statements: [QueryCost.Question: SQLiteStatement]
    private let count: Int

    init(at path: String, _ count: Int) throws {
        self.count = count
        rival = try SQLiteRival<SQLiteColumns>(at: path, .batches)
        for first in stride(from: 0, to: count, by: QueryCost.pageLimit) {
            var changes = (first..<first + QueryCost.pageLimit).map {
                Change(zone: QueryCost.zone, item: QueryCost.item($0, of: count))
            }
            try rival.commit(&changes)
        }
        connection = try SQLiteConnection(at: path + "/records.sqlite")
        try connection.execute(
            """
            PRAGMA cache_size=-65536;
            CREATE INDEX by_rank ON records (zone, rank);
            CREATE INDEX by_count ON records (zone, count);
            CREATE INDEX by_title ON records (zone, title COLLATE NOCASE);
            CREATE INDEX by_owner ON records (zone, owner);
            CREATE INDEX by_title_and_count ON records (zone, title COLLATE NOCASE, count);
            CREATE VIRTUAL TABLE words USING fts5(body, content='records', detail=none);
            INSERT INTO words (words) VALUES ('rebuild');
            ANALYZE;
            """)
        let columns = SQLiteColumns.columns.map { "records.\($0.name)" }.joined(separator: ", ")
        let all = "SELECT records.name, \(columns) FROM records WHERE zone = \(QueryCost.zone)"
        let first = "LIMIT \(QueryCost.firstLimit)"
        let title = "AND title = ? COLLATE NOCASE"
        statements = try [
            .feed: "\(all) AND seq > ? ORDER BY seq LIMIT \(QueryCost.pageLimit)",
            .equal: "\(all) AND rank = ?", .range: "\(all) AND count BETWEEN ? AND ?",
            .firstInOrder: "\(all) \(title) ORDER BY count \(first)",
            .firstSorted: "\(all) AND rank = ? ORDER BY moment \(first)",
            .twoTenths: "\(all) \(title) AND owner = ?",
            .count: "SELECT count(*) FROM records WHERE zone = \(QueryCost.zone) AND count > ?",
            .word: """
            SELECT records.name, \(columns) FROM words
            JOIN records ON records.rowid = words.rowid WHERE words MATCH ?
            """,
        ].mapValues { [connection] in try connection.prepare($0) }
    }

    func close() throws {
        try connection.close()
        try rival.close()
    }

    func answer(_ question: QueryCost.Question, _ number: Int) throws -> Int64? {
        guard let statement = statements[question] else { return nil }
        defer { statement.reset() }
        switch question {
        case .feed:
            let page = number % (count / QueryCost.pageLimit)
            statement.bind(1, Int64(page * QueryCost.pageLimit))
        case .equal, .firstSorted: statement.bind(1, QueryCost.rank(number, of: count))
        case .range:
            let low = QueryCost.firstCount(number, of: count)
            statement.bind(1, low)
            statement.bind(2, low + Int64(QueryCost.pageLimit) - 1)
        case .firstInOrder: statement.bind(1, QueryCost.title(number))
        case .twoTenths:
            statement.bind(1, QueryCost.title(number))
            statement.bind(2, QueryCost.owner(number / 10))
        case .count:
            statement.bind(1, Int64(number % 10))
            guard try statement.step() else { return nil }
            return statement.int64(0)
        case .word: statement.bind(1, QueryCost.word(number))
        }
        var sum: Int64 = 0
        while try statement.step() {
            sum &+= SQLiteColumns.item(statement, from: 1, name: statement.text(0)).weight
        }
        return sum
    }
}

/// The stores that are asked beside ours.
enum QueryRivals {
    static func sides(
        at path: String, _ count: Int
    ) throws -> [(name: String, side: any QueryCost.Side)] {
        try Disk.make(path + "/lmdb")
        try Disk.make(path + "/sqlite")
        return [
            ("lmdb", try LMDBQueries(at: path + "/lmdb", count)),
            ("sqlite", try SQLiteQueries(at: path + "/sqlite", count)),
        ]
    }
}
