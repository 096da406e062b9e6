import Stratus
import StratusBytes

/// All records that a query finds, in its order, in bounded memory.
struct QueryListing {
    let database: DatabaseSnapshot
    let query: Query
    /// Nil: all zones.
    let zone: RecordZone.ID?
    /// Those of each record that are given; nil: all.
    let fields: [String]?
    /// The most records.
    let limit: Int
    /// Of a query without an order of its own: whether the last ones come first.
    let isReversed: Bool
    let skipsDamaged: Bool

    private static let pageLimit = 1000

    /// Gives `body` one record after the other; returns why others are missing, where damaged ones are
    /// skipped.
    func forEach(_ body: (Record) throws -> Void) throws -> [StoreError] {
        if isReversed, query.sortDescriptors.isEmpty { return try forEachBackward(body) }
        let isInOrder = try database.explanation(of: query, inZoneWith: zone).isInOrder
        // Out of order, each page looks at all that the query finds.
        return isInOrder || limit <= Self.pageLimit
            ? try forEachInPages(body) : try forEachSorted(body)
    }

    private func forEachInPages(_ body: (Record) throws -> Void) throws -> [StoreError] {
        var skipped: [StoreError] = []
        var left = limit
        var cursor: QueryPage.Cursor?
        while left > 0 {
            let page = try page(min(left, Self.pageLimit), from: cursor)
            skipped += page.skipped
            for record in page.records { try body(record) }
            left -= page.records.count
            cursor = page.cursor
            if cursor == nil { break }
        }
        return skipped
    }

    private func page(_ limit: Int, from cursor: QueryPage.Cursor?) throws -> QueryPage {
        try database.records(
            matching: query, inZoneWith: zone, desiredKeys: fields, resultsLimit: limit,
            from: cursor, skippingDamaged: skipsDamaged)
    }

    /// The store's own order has one direction: where pages begin is kept, and they are read once more.
    private func forEachBackward(_ body: (Record) throws -> Void) throws -> [StoreError] {
        var starts: [QueryPage.Cursor?] = [nil]
        while let next = try page(Self.pageLimit, from: starts.last ?? nil).cursor {
            starts.append(next)
        }
        var skipped: [StoreError] = []
        var left = limit
        for start in starts.reversed() where left > 0 {
            let page = try page(Self.pageLimit, from: start)
            skipped += page.skipped
            for record in page.records.reversed().prefix(left) { try body(record) }
            left -= min(left, page.records.count)
        }
        return skipped
    }

    private func forEachSorted(_ body: (Record) throws -> Void) throws -> [StoreError] {
        var walk = try database.walk(
            matching: query, inZoneWith: zone, skippingDamaged: skipsDamaged)
        var sorter = NameSorter()
        var zones: [String: RecordZone.ID] = [:]
        while let part = try walk.next() {
            for found in part {
                zones[found.recordID.zoneID.zoneName] = found.recordID.zoneID
                try sorter.insert(QueryRow(found).bytes)
            }
        }
        var rows = try sorter.sorted()
        var left = limit
        while left > 0 {
            var ids: [Record.ID] = []
            while ids.count < min(left, Self.pageLimit), let bytes = try rows.nextBytes() {
                guard let row = QueryRow(bytes), let zone = zones[row.zoneName] else { continue }
                ids.append(Record.ID(recordName: row.recordName, zoneID: zone))
            }
            if ids.isEmpty { break }
            let found = try database.records(for: ids, desiredKeys: fields)
            for id in ids { if let record = try found[id]?.get() { try body(record) } }
            left -= ids.count
        }
        return walk.skipped
    }
}

/// A record that was found, as bytes in the order of the query: its place there, the names of record
/// and zone, and their lengths.
private struct QueryRow {
    let bytes: [UInt8]
    let recordName: String
    let zoneName: String

    /// Of both lengths, in bytes.
    private static let endLength = 4

    init(_ found: QueryWalk.Found) {
        recordName = found.recordID.recordName
        zoneName = found.recordID.zoneID.zoneName
        var writer = ByteWriter(capacity: found.order.count + recordName.utf8.count + 64)
        writer.append(found.order)
        writer.append(Array(recordName.utf8))
        writer.append(Array(zoneName.utf8))
        writer.uint16(UInt16(clamping: recordName.utf8.count))
        writer.uint16(UInt16(clamping: zoneName.utf8.count))
        bytes = writer.bytes
    }

    /// Nil of bytes that are none of a row.
    init?(_ row: ArraySlice<UInt8>) {
        let bytes = Array(row)
        let end = bytes.count - Self.endLength
        guard end >= 0 else { return nil }
        let recordLength = Int(bytes.span.uint16(at: end))
        let zoneLength = Int(bytes.span.uint16(at: end + 2))
        let (recordEnd, start) = (end - zoneLength, end - zoneLength - recordLength)
        guard start >= 0 else { return nil }
        self.bytes = bytes
        recordName = String(decoding: bytes[start..<recordEnd], as: UTF8.self)
        zoneName = String(decoding: bytes[recordEnd..<end], as: UTF8.self)
    }
}
