internal import StratusBytes
internal import StratusFiles

/// Writes a compacted segment: `Formats/Compacted.md`. It is there once it is finished.
struct CompactedWriter {
    private let salt: UInt64
    private let draft: any FileDraft
    /// What was not given to the draft, and before it so many bytes that were.
    private var rest = ByteWriter(capacity: writeLength + writeLength / 4)
    private var written = 0
    /// Of the block being filled.
    private var raw = ByteWriter(capacity: CompactedBlock.usualLength * 2)
    private var firstOffset = JournalOffset.zero
    private var lastOffset = JournalOffset.zero
    private var rows: [CompactedBlock.Row] = []
    private var entryCount = 0
    private var namedCount = 0
    private var frameBytes = 0

    /// So much is written at once, in bytes.
    private static let writeLength = 256 << 10

    /// Begins the file of that number. The header is written last, since it says where the segment ends.
    ///
    /// - Parameter usualLength: at which length the file is ended, in bytes.
    init(
        number: UInt64, salt: UInt64, usualLength: Int, begin: SegmentCopier.Begin
    ) throws(JournalError) {
        self.salt = salt
        do throws(StorageError) {
            // The rest of a group and the directory come on top.
            draft = try begin(
                CompactedHeader.fileName(number: number), usualLength + usualLength / 8)
        } catch {
            throw .storage(error)
        }
        rest.zeros(CompactedHeader.length)
    }

    /// What the file has by now, in bytes.
    var count: Int { place + raw.count }

    /// Of the next byte.
    private var place: Int { written + rest.count }

    /// Adds an entry, which lies behind all others; whether a row of the index names it.
    mutating func append(_ entry: JournalEntry, isNamed: Bool) throws(JournalError) {
        let length = entry.header.payloadLength + 32
        if raw.count > 0, raw.count + length > CompactedBlock.usualLength {
            try endBlock()
        }
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

    private mutating func endBlock() throws(JournalError) {
        let begin = place
        CompactedBlock.write(
            raw, firstOffset: firstOffset, salt: salt, behind: written, to: &rest)
        rows.append(
            CompactedBlock.Row(firstOffset: firstOffset, place: begin, length: place - begin))
        raw.removeAll()
        if rest.count >= Self.writeLength { try writeRest() }
    }

    private mutating func writeRest() throws(JournalError) {
        do throws(StorageError) {
            try draft.write(rest.bytes.span, at: written)
        } catch {
            throw .storage(error)
        }
        written += rest.count
        rest.removeAll()
    }

    /// Writes what is left, and this header. Returns what is to be listed.
    consuming func finish(
        _ header: CompactedHeader, isEnded: Bool
    ) throws(JournalError) -> Manifest.Segment {
        if raw.count > 0 { try endBlock() }
        let directoryPlace = place
        for start in stride(from: 0, to: rows.count, by: CompactedFile.rowsInPiece) {
            let begin = rest.count
            for row in rows[start..<min(rows.count, start + CompactedFile.rowsInPiece)] {
                rest.uint64(row.firstOffset.rawValue)
                rest.uint32(UInt32(row.place))
                rest.uint32(UInt32(row.length))
            }
            seal(from: begin)
        }
        let begin = rest.count
        for start in stride(from: 0, to: rows.count, by: CompactedFile.rowsInPiece) {
            rest.uint64(rows[start].firstOffset.rawValue)
        }
        rest.uint32(UInt32(rows.count))
        rest.uint32(UInt32(directoryPlace))
        rest.uint64(UInt64(entryCount))
        rest.uint64(UInt64(namedCount))
        rest.uint64(UInt64(frameBytes))
        seal(from: begin)
        try writeRest()
        do throws(StorageError) {
            try draft.write(header.encoded().span, at: 0)
            try draft.finish()
        } catch {
            throw .storage(error)
        }
        return header.listed(lengthInBytes: written, isEnded: isEnded)
    }

    private mutating func seal(from begin: Int) {
        let seed = CompactedHeader.seed(salt, written + begin)
        rest.uint64(Checksum.xxh3(rest.bytes.span, in: begin..<rest.count, seed: seed))
    }
}
