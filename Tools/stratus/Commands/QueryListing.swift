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
    /// What the entries take that are read at a time, in bytes.
    private static let lengthLimit = 4 << 20

    /// Gives `body` one record after the other, and `skipped` why others are missing, where damaged ones
    /// are skipped.
    func forEach(
        skipped: ([StoreError]) -> Void, _ body: (Record) throws -> Void
    ) throws {
        let walk = try database.walk(
            matching: query, inZoneWith: zone, skippingDamaged: skipsDamaged)
        let isBackward = isReversed && query.sortDescriptors.isEmpty
        // Out of order, each page looks at all that the query finds.
        if !walk.isInOrder, isBackward || limit > Self.pageLimit {
            try forEachSorted(walk, isBackward: isBackward, skipped, body)
        } else if isBackward {
            try forEachBackward(skipped, body)
        } else {
            try forEachInPages(skipped, body)
        }
    }

    private func page(
        _ limit: Int, from cursor: QueryPage.Cursor?, _ keys: [String]?
    ) throws -> QueryPage {
        try database.records(
            matching: query, inZoneWith: zone, desiredKeys: keys, resultsLimit: limit, from: cursor,
            skippingDamaged: skipsDamaged)
    }

    private func forEachInPages(
        _ skipped: ([StoreError]) -> Void, _ body: (Record) throws -> Void
    ) throws {
        var left = limit
        var cursor: QueryPage.Cursor?
        while left > 0 {
            let page = try page(min(left, Self.pageLimit), from: cursor, fields)
            skipped(page.skipped)
            for record in page.records { try body(record) }
            left -= page.records.count
            cursor = page.cursor
            if cursor == nil { break }
        }
    }

    /// The store's own order has one direction: where pages begin is kept, and they are read once more.
    private func forEachBackward(
        _ skipped: ([StoreError]) -> Void, _ body: (Record) throws -> Void
    ) throws {
        var starts: [QueryPage.Cursor?] = [nil]
        while let next = try page(Self.pageLimit, from: starts.last ?? nil, []).cursor {
            starts.append(next)
        }
        var left = limit
        for start in starts.reversed() where left > 0 {
            let page = try page(Self.pageLimit, from: start, fields)
            skipped(page.skipped)
            for record in page.records.reversed().prefix(left) { try body(record) }
            left -= min(left, page.records.count)
        }
    }

    private func forEachSorted(
        _ walk: QueryWalk, isBackward: Bool, _ skipped: ([StoreError]) -> Void,
        _ body: (Record) throws -> Void
    ) throws {
        var walk = walk
        var sorter = NameSorter()
        var zones: [String: RecordZone.ID] = [:]
        var skippedCount = 0
        while let part = try walk.next() {
            skipped(Array(walk.skipped.dropFirst(skippedCount)))
            skippedCount = walk.skipped.count
            for found in part {
                zones[found.recordID.zoneID.zoneName] = found.recordID.zoneID
                try sorter.insert(QueryRow(found).bytes(after: found.order, isBackward: isBackward))
            }
        }
        var rows = try sorter.sorted()
        var left = limit
        while left > 0 {
            var ids: [Record.ID] = []
            var length = 0
            while ids.count < min(left, Self.pageLimit), length < Self.lengthLimit,
                let bytes = try rows.nextBytes()
            {
                guard let row = QueryRow(bytes), let zone = zones[row.zoneName] else { continue }
                ids.append(Record.ID(recordName: row.recordName, zoneID: zone))
                length += row.length
            }
            if ids.isEmpty { break }
            let found = try database.records(for: ids, desiredKeys: fields)
            for id in ids { if let record = try found[id]?.get() { try body(record) } }
            left -= ids.count
        }
    }
}

/// A record that was found, as bytes behind its place in the order of the query: the names of record and
/// zone, their lengths, and that of the entry.
private struct QueryRow {
    let recordName: String
    let zoneName: String
    /// Of the entry, in bytes.
    let length: Int

    /// Of the three lengths, in bytes.
    private static let endLength = 8

    init(_ found: QueryWalk.Found) {
        recordName = found.recordID.recordName
        zoneName = found.recordID.zoneID.zoneName
        length = found.length
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
        recordName = String(decoding: bytes[start..<recordEnd], as: UTF8.self)
        zoneName = String(decoding: bytes[recordEnd..<end], as: UTF8.self)
        length = Int(bytes.span.uint32(at: end + 4))
    }

    /// - Parameter isBackward: whether rows come in the opposite order.
    func bytes(after order: [UInt8], isBackward: Bool) -> [UInt8] {
        var writer = ByteWriter(capacity: order.count + recordName.utf8.count + 64)
        writer.append(isBackward ? order.map { ~$0 } : order)
        writer.append(Array(recordName.utf8))
        writer.append(Array(zoneName.utf8))
        writer.uint16(UInt16(clamping: recordName.utf8.count))
        writer.uint16(UInt16(clamping: zoneName.utf8.count))
        writer.uint32(UInt32(clamping: length))
        return writer.bytes
    }
}
