internal import StratusBytes

/// What a table says of itself. Layout: `Formats/Index.md`, "Layout".
struct TableFooter: Equatable, Sendable {
    var leastStamp: UInt64 = .max
    var greatestStamp: UInt64 = 0
    var entryCount = 0
    var removedCount = 0
    var dropCount = 0
    /// Where data blocks, filter blocks and the directory end.
    var filterPlace = 0
    var directoryPlace = 0
    var footerPlace = 0
    var filterCells = 0
    /// In their order.
    var keyspaces: [Keyspace] = []

    struct Keyspace: Equatable, Sendable {
        var number: UInt8
        var entries: Int
        var bytes: Int
    }

    static let fixedLength = 68
    static let keyspaceLength = 12
    static let tailLength = 16

    /// The whole table's length.
    var length: Int {
        footerPlace + Self.fixedLength + keyspaces.count * Self.keyspaceLength + Self.tailLength
    }

    /// Counts the entries of a data block of `length` bytes.
    mutating func count(_ entries: [IndexEntry], ofBlockWith length: Int) {
        entryCount += entries.count
        for entry in entries {
            if entry.flags.contains(.removed) { removedCount += 1 }
            if entry.key.isPartition { dropCount += 1 }
            leastStamp = min(leastStamp, entry.stamp)
            greatestStamp = max(greatestStamp, entry.stamp)
        }
        var counts: [UInt8: Int] = [:]
        var place = 0
        while place < entries.count {
            let number = entries[place].key.keyspace
            let end = entries[place...].firstIndex { $0.key.keyspace != number } ?? entries.count
            counts[number, default: 0] += end - place
            place = end
        }
        for (number, count) in counts {
            let place = keyspaces.firstIndex { $0.number >= number } ?? keyspaces.count
            if place == keyspaces.count || keyspaces[place].number != number {
                keyspaces.insert(Keyspace(number: number, entries: 0, bytes: 0), at: place)
            }
            keyspaces[place].entries += count
            keyspaces[place].bytes += length * count / entries.count
        }
    }

    func append(to file: inout ByteWriter, number: UInt64, storeID: Hash128) {
        let start = file.count
        file.hash(storeID)
        file.uint64(number)
        file.uint64(leastStamp)
        file.uint64(greatestStamp)
        for count in [
            entryCount, removedCount, dropCount, filterPlace, filterCells, directoryPlace,
            keyspaces.count,
        ] { file.uint32(UInt32(count)) }
        for keyspace in keyspaces {
            file.uint32(UInt32(keyspace.number))
            file.uint32(UInt32(keyspace.entries))
            file.uint32(UInt32(keyspace.bytes))
        }
        file.uint32(UInt32(footerPlace))
        file.uint32(0)
        file.checksum(from: start, number: number)
    }

    /// Whether numbers are within their limits and the parts of the file in their order.
    var isValid: Bool {
        let parts = [TableFormat.headerLength, filterPlace, directoryPlace, footerPlace]
        guard zip(parts, parts.dropFirst()).allSatisfy({ $0 < $1 }),
            length < TableFormat.lengthLimit,
            TableFormat.leastBlock...TableFormat.directoryLimit ~= footerPlace - directoryPlace,
            filterCells > 0, filterCells <= TableFormat.lengthLimit / KeyFilter.cellLength,
            KeyFilter.length(ofCells: filterCells) == directoryPlace - filterPlace,
            leastStamp <= greatestStamp, greatestStamp < IndexEntry.stampLimit,
            entryCount > 0, removedCount <= entryCount, dropCount <= entryCount,
            1...256 ~= keyspaces.count
        else { return false }
        return zip(keyspaces, keyspaces.dropFirst()).allSatisfy { $0.number < $1.number }
            && keyspaces.allSatisfy { $0.entries > 0 && $0.bytes > 0 }
            && keyspaces.reduce(0) { $0 + $1.entries } == entryCount
    }
}
