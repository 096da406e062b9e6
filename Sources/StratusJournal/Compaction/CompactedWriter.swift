internal import StratusBytes

/// Writes a compacted segment: `Formats/Compacted.md`.
package struct CompactedWriter {
    private let salt: UInt64
    private var file: ByteWriter
    /// Of the block being filled.
    private var raw = ByteWriter(capacity: CompactedBlock.usualLength * 2)
    private var firstOffset = JournalOffset.zero
    private var lastOffset = JournalOffset.zero
    private var rows: [CompactedBlock.Row] = []
    private var entryCount = 0
    private var namedCount = 0
    private var frameBytes = 0

    /// The header is written last, since it says where the segment ends.
    ///
    /// - Parameter usualLength: at which length the file is ended, in bytes. There is room for it from
    ///   the beginning: while a file moves to a larger place it takes three times as much.
    init(salt: UInt64, usualLength: Int) {
        self.salt = salt
        // The rest of a group and the directory come on top.
        file = ByteWriter(capacity: usualLength + usualLength / 8)
        file.zeros(CompactedHeader.length)
    }

    /// What the file has by now, in bytes.
    var count: Int { file.count + raw.count }

    /// Adds an entry, which lies behind all others; whether a row of the index names it.
    mutating func append(_ entry: JournalEntry, isNamed: Bool) {
        let length = entry.header.payloadLength + 32
        if raw.count > 0, raw.count + length > CompactedBlock.usualLength { endBlock() }
        if raw.count == 0 {
            firstOffset = entry.offset
            lastOffset = entry.offset
        }
        CompactedBlock.append(entry, behind: lastOffset, to: &raw)
        lastOffset = entry.offset
        entryCount += 1
        if isNamed { namedCount += 1 }
        frameBytes += entry.header.frameLength
    }

    private mutating func endBlock() {
        let place = file.count
        CompactedBlock.write(raw, firstOffset: firstOffset, salt: salt, to: &file)
        rows.append(
            CompactedBlock.Row(
                firstOffset: firstOffset, place: place, length: file.count - place))
        raw.removeAll()
    }

    /// The whole file, with this header.
    consuming func finish(_ header: CompactedHeader) -> [UInt8] {
        if raw.count > 0 { endBlock() }
        let directoryPlace = file.count
        for start in stride(from: 0, to: rows.count, by: CompactedFile.rowsInPiece) {
            let place = file.count
            for row in rows[start..<min(rows.count, start + CompactedFile.rowsInPiece)] {
                file.uint64(row.firstOffset.rawValue)
                file.uint32(UInt32(row.place))
                file.uint32(UInt32(row.length))
            }
            seal(from: place)
        }
        let topPlace = file.count
        for start in stride(from: 0, to: rows.count, by: CompactedFile.rowsInPiece) {
            file.uint64(rows[start].firstOffset.rawValue)
        }
        file.uint32(UInt32(rows.count))
        file.uint32(UInt32(directoryPlace))
        file.uint64(UInt64(entryCount))
        file.uint64(UInt64(namedCount))
        file.uint64(UInt64(frameBytes))
        seal(from: topPlace)
        file.set(header.encoded(), at: 0)
        return file.bytes
    }

    private mutating func seal(from place: Int) {
        let seed = CompactedHeader.seed(salt, place)
        let checksum = Checksum.xxh3(file.bytes.span, in: place..<file.count, seed: seed)
        file.uint64(checksum)
    }
}
