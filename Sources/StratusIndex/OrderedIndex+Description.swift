internal import StratusBytes

// What a manifest keeps of an index: `Formats/Index.md`, "Description".
extension OrderedIndex {
    /// Of the description's form.
    private static let descriptionVersion: UInt32 = 1

    /// The runs; what is in memtables only is not part of it.
    package var description: [UInt8] {
        var writer = ByteWriter()
        writer.varint(Self.descriptionVersion)
        writer.varint(nextNumber)
        writer.varint(runs.count)
        for run in runs {
            writer.varint(run.tables.count)
            for table in run.tables { table.info.append(to: &writer) }
        }
        return writer.bytes
    }

    /// The index that a description tells of; `file` is where it was read, for messages. No table
    /// is looked at yet.
    package init(
        description: Span<UInt8>, file: String, in store: TableStore
    ) throws(IndexError) {
        self.init(in: store)
        var cursor = ByteCursor()
        do {
            try read(description, &cursor, store)
        } catch {
            throw .damaged(IndexDamage(.description, file: file, byte: cursor.position))
        }
    }

    private mutating func read(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor, _ store: TableStore
    ) throws(FormatError) {
        guard try cursor.varint32(bytes) == Self.descriptionVersion else {
            throw .newer("version")
        }
        nextNumber = try cursor.varint(bytes)
        guard 1...TableFormat.numberLimit ~= nextNumber else { throw .value("number") }
        var numbers: Set<UInt64> = []
        // Each run and each table take more than a byte.
        for _ in 0..<(try cursor.count(bytes, upTo: bytes.count)) {
            var tables: [Table] = []
            for _ in 0..<(try cursor.count(bytes, upTo: bytes.count)) {
                let info = try TableInfo(bytes, &cursor)
                guard info.number < nextNumber, numbers.insert(info.number).inserted,
                    tables.last.map({ $0.info.last < info.first }) ?? true
                else { throw .value("table") }
                tables.append(Table(info, in: store))
            }
            guard !tables.isEmpty else { throw .value("run") }
            runs.append(Run(tables))
        }
        try cursor.end(bytes)
    }
}

// What an index consists of.
extension OrderedIndex {
    package struct Statistics: Equatable, Sendable {
        package struct Run: Equatable, Sendable {
            package var tables: Int
            package var bytes: Int
            package var entries: Int
        }

        package struct Keyspace: Equatable, Sendable {
            package var entries = 0
            package var bytes = 0
        }

        /// The newest first.
        package var runs: [Run] = []
        /// By their numbers; what is in memtables is not counted.
        package var keyspaces: [UInt8: Keyspace] = [:]
        package var memtables = 0
        package var memtableEntries = 0
    }

    package var statistics: Statistics {
        var statistics = Statistics()
        for run in runs {
            statistics.runs.append(
                Statistics.Run(
                    tables: run.tables.count, bytes: run.bytes, entries: run.entryCount))
            for keyspace in run.tables.flatMap(\.info.footer.keyspaces) {
                statistics.keyspaces[keyspace.number, default: .init()].entries +=
                    keyspace.entries
                statistics.keyspaces[keyspace.number, default: .init()].bytes += keyspace.bytes
            }
        }
        statistics.memtables = frozen.count + 1
        statistics.memtableEntries = frozen.reduce(active.count) { $0 + $1.memtable.count }
        return statistics
    }

    /// Whether a keyspace may have rows; nothing is read to find that out.
    package func mayHaveRows(of keyspace: UInt8) -> Bool {
        active.count > 0 || !frozen.isEmpty
            || runs.contains { run in
                run.tables.contains { table in
                    table.info.footer.keyspaces.contains { $0.number == keyspace }
                }
            }
    }

    /// The numbers of all tables, which name their files.
    package var tableNumbers: [UInt64] { runs.flatMap(\.tables).map(\.info.number) }

    /// The number of the table in the file `name`, where that is the name of one.
    package static func number(ofFile name: String) -> UInt64? {
        // A stray file with a number from the upper half must not use up the numbers below it.
        TableFormat.number(ofFile: name).flatMap { $0 < TableFormat.numberLimit / 2 ? $0 : nil }
    }

    /// The names of all files that the description names.
    package var fileNames: [String] { runs.flatMap(\.tables).map(\.info.fileName) }
}
