internal import StratusBytes

/// What is known of a table without looking at it: a part of the index's description.
struct TableInfo: Equatable, Sendable {
    var number: UInt64
    var first: IndexPosition
    var last: IndexPosition
    var footer: TableFooter

    var fileName: String { TableFormat.fileName(number) }
    var length: Int { footer.length }
}

// As it stands in a description: `Formats/Index.md`, "Description".
extension TableInfo {
    func append(to writer: inout ByteWriter) {
        writer.varint(number)
        writer.varint(length)
        writer.varint(footer.footerPlace)
        first.append(to: &writer)
        last.append(to: &writer)
        writer.varint(footer.leastStamp)
        writer.varint(footer.greatestStamp - footer.leastStamp)
        for count in [
            footer.entryCount, footer.removedCount, footer.dropCount, footer.filterPlace,
            footer.filterCells, footer.directoryPlace, footer.keyspaces.count,
        ] { writer.varint(count) }
        for keyspace in footer.keyspaces {
            writer.varint(Int(keyspace.number))
            writer.varint(keyspace.entries)
            writer.varint(keyspace.bytes)
        }
    }

    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let limit = TableFormat.lengthLimit
        number = try cursor.varint(bytes)
        let length = try cursor.count(bytes, upTo: limit)
        footer = TableFooter()
        footer.footerPlace = try cursor.count(bytes, upTo: limit)
        first = try IndexPosition(bytes, &cursor)
        last = try IndexPosition(bytes, &cursor)
        footer.leastStamp = try cursor.varint(bytes)
        let span = try cursor.varint(bytes)
        guard footer.leastStamp < IndexEntry.stampLimit, span < IndexEntry.stampLimit else {
            throw .value("stamp")
        }
        footer.greatestStamp = footer.leastStamp + span
        footer.entryCount = try cursor.count(bytes, upTo: limit)
        footer.removedCount = try cursor.count(bytes, upTo: limit)
        footer.dropCount = try cursor.count(bytes, upTo: limit)
        footer.filterPlace = try cursor.count(bytes, upTo: limit)
        footer.filterCells = try cursor.count(bytes, upTo: limit)
        footer.directoryPlace = try cursor.count(bytes, upTo: limit)
        for _ in 0..<(try cursor.count(bytes, upTo: 256)) {
            footer.keyspaces.append(
                TableFooter.Keyspace(
                    number: UInt8(try cursor.count(bytes, upTo: 255)),
                    entries: try cursor.count(bytes, upTo: limit),
                    bytes: try cursor.count(bytes, upTo: limit)))
        }
        guard footer.isValid, length == self.length, !(last < first) else {
            throw .value("table")
        }
    }
}

extension IndexPosition {
    fileprivate func append(to writer: inout ByteWriter) {
        writer.varint(key.count)
        for place in 0..<key.count { writer.uint8(key.byte(at: place)) }
        writer.varint(stamp)
    }

    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let count = try cursor.count(bytes, upTo: IndexKey.limit)
        var key = IndexKey()
        for _ in 0..<count { key = key.appending(try cursor.uint8(bytes)) }
        let stamp = try cursor.varint(bytes)
        guard count > 0, stamp < IndexEntry.stampLimit else { throw .value("key") }
        self.init(key, stamp: stamp)
    }
}
