package import StratusBytes
package import StratusJournal

/// The rows of an index for records of a zone that were there before it: `Formats/Record.md`,
/// "Built rows".
package struct BuiltRowsEntry: Equatable, Sendable {
    package struct Record: Equatable, Sendable {
        package var name: Hash128
        /// The version whose values they are.
        package var version: Version
        package var values: [IndexedValue]

        package init(name: Hash128, version: Version, values: [IndexedValue]) {
            self.name = name
            self.version = version
            self.values = values
        }

        /// At most.
        package var lengthInBytes: Int {
            16 + 10 + 10 + values.reduce(0) { $0 + 1 + $1.count }
        }
    }

    package var index: UInt32
    package var records: [Record]

    package init(index: UInt32, records: [Record]) {
        self.index = index
        self.records = records
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(index)
        writer.varint(records.count)
        for record in records {
            writer.hash(record.name)
            writer.varint(record.version.rawValue)
            writer.varint(record.values.count)
            for value in record.values {
                writer.uint8(UInt8(value.count))
                value.write(to: &writer)
            }
        }
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        index = try cursor.varint32(bytes)
        guard index < IndexTable.limit else { throw .value("index number") }
        let count = try cursor.count(bytes, upTo: cursor.remaining(bytes) / 18)
        records = []
        records.reserveCapacity(count)
        for _ in 0..<count {
            let name = try cursor.hash(bytes)
            let version = Version(rawValue: try cursor.varint(bytes))
            guard version != .none else { throw .value("version") }
            let valueCount = try cursor.count(bytes, upTo: cursor.remaining(bytes) / 9)
            var values: [IndexedValue] = []
            for _ in 0..<valueCount {
                values.append(try IndexStatement.indexedValue(bytes, &cursor))
            }
            records.append(Record(name: name, version: version, values: values))
        }
        try cursor.end(bytes)
    }
}
