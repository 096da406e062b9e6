/// Reads what the table of an archive says of its zones, one after the other.
package struct ArchiveZones: Sendable {
    private var reader: TableReader
    /// How many follow.
    private var count: Int

    init(_ reader: TableReader, count: Int) {
        self.reader = reader
        self.count = count
    }

    /// The next zone; nil behind the last one.
    package mutating func next() throws -> ArchiveTable.Zone? {
        if count == 0 { return nil }
        count -= 1
        return try reader.next(ArchiveTable.Zone.init)
    }
}
