/// A table of SQLite with an index as `IndexCost` has it.
enum IndexRival {
    static func side(
        at path: String, _ declaration: IndexCost.Declaration
    ) throws -> (any IndexCost.Side)? {
        let rival = try SQLiteRival<SQLiteColumns>(at: path, .batches)
        if let columns = declaration.columns {
            let connection = try SQLiteConnection(at: path + "/records.sqlite")
            let unique = declaration.isUnique ? "UNIQUE " : ""
            try connection.execute("CREATE \(unique)INDEX declared ON records (zone, \(columns))")
            try connection.close()
        }
        return Side(rival: rival)
    }

    private struct Side: IndexCost.Side {
        let rival: SQLiteRival<SQLiteColumns>

        func save(_ items: [Item]) throws {
            var changes = items.map { Change(zone: 1, item: $0) }
            try rival.commit(&changes)
        }

        func close() throws { try rival.close() }
    }
}
