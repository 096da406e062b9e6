internal import StratusBytes
internal import StratusFiles

/// The file of a compacted segment: `Formats/Compacted.md`.
///
/// Of each a few hundred bytes stay in memory; the directory is read in pieces, which the cache
/// keeps.
final class CompactedFile: Sendable {
    let file: any StorageFile
    let header: CompactedHeader
    let blockCount: Int
    let entryCount: Int
    /// How many of them rows of the index named when the file was written.
    let namedCount: Int
    /// What the frames of its entries had together, in bytes.
    let frameBytes: Int
    let directoryPlace: Int
    /// The first offset of each piece of the directory.
    let top: [UInt64]
    private let cache: BlockCache?

    /// Of the directory, in bytes; a piece ends with its checksum.
    static let rowLength = 16
    static let rowsInPiece = 255
    static let footerLength = 40

    static func pieceCount(ofBlocks count: Int) -> Int {
        (count + rowsInPiece - 1) / rowsInPiece
    }

    /// The directory of so many blocks, in bytes.
    static func directoryLength(ofBlocks count: Int) -> Int {
        count * rowLength + pieceCount(ofBlocks: count) * 8
    }

    /// Opens the file that a manifest lists as `listed`, and checks its header and its footer.
    init(
        _ listed: Manifest.Segment, in storage: any Storage, of storeID: StoreID,
        cache: BlockCache?
    ) throws(JournalError) {
        let name = listed.fileName
        func damage(_ field: StaticString, _ byte: Int) -> JournalError {
            JournalError(JournalDamage(.compacted(field), file: name, byte: byte))
        }
        let file = try storage.open(listed)
        let length = file.length
        guard length >= CompactedHeader.length + Self.footerLength else {
            throw JournalError(JournalDamage(.fileLength, file: name, byte: length))
        }
        let head = try Self.read(0..<CompactedHeader.length, of: file)
        let header = try Self.header(head, of: listed, in: storeID)
        let footerPlace = length - Self.footerLength
        let footer = try Self.read(footerPlace..<length, of: file)
        let blockCount = Int(footer.span.uint32(at: 0))
        let directoryPlace = Int(footer.span.uint32(at: 4))
        let pieces = Self.pieceCount(ofBlocks: blockCount)
        let topPlace = footerPlace - pieces * 8
        // What the footer says of itself decides what is read, and what its checksum is over.
        guard directoryPlace >= CompactedHeader.length,
            directoryPlace + Self.directoryLength(ofBlocks: blockCount) == topPlace
        else { throw damage("footer", footerPlace) }
        let bytes = try Self.read(topPlace..<length, of: file)
        let checked = bytes.count - 8
        let seed = CompactedHeader.seed(header.salt, topPlace)
        guard
            Checksum.xxh3(bytes.span, in: 0..<checked, seed: seed) == bytes.span.uint64(at: checked)
        else { throw damage("checksum", topPlace) }
        self.file = file
        self.header = header
        self.blockCount = blockCount
        self.directoryPlace = directoryPlace
        self.cache = cache
        entryCount = Int(clamping: footer.span.uint64(at: 8))
        namedCount = Int(clamping: footer.span.uint64(at: 16))
        frameBytes = Int(clamping: footer.span.uint64(at: 24))
        top = (0..<pieces).map { bytes.span.uint64(at: $0 * 8) }
    }

    private static func header(
        _ bytes: [UInt8], of listed: Manifest.Segment, in storeID: StoreID
    ) throws(JournalError) -> CompactedHeader {
        do throws(JournalDamage) {
            return try CompactedHeader(bytes.span, of: listed, in: storeID)
        } catch {
            throw JournalError(error)
        }
    }

    /// The name of the directory in the cache: those of the index have the highest bit, the entries
    /// of the journal are 0.
    private var cacheFile: UInt64 { 1 << 62 | header.number }

    /// The entry at `offset`, verified; nil where none is kept there.
    func entry(
        at offset: JournalOffset, _ mode: ReadMode
    ) throws(JournalError) -> JournalEntry? {
        try entries(at: CollectionOfOne(offset), mode)[0].get()
    }

    /// The entries at the first of `offsets`, which rise: at all that one block can have, and at one at
    /// least. Each is verified; nil where none is kept.
    func entries(
        at offsets: some Collection<JournalOffset>, _ mode: ReadMode
    ) throws(JournalError) -> [Result<JournalEntry?, JournalError>] {
        guard let first = offsets.first, let (_, row, end) = try block(holding: first, mode) else {
            return [.success(nil)]
        }
        let bytes = try read(row.place..<row.place + row.length, mode)
        let block = try CompactedBlock(bytes, from: 0, at: row, of: header)
        return try block.entries(at: offsets.prefix { $0 < max(end, first.next) })
    }

    /// What the directory says of the last block whose first entry does not lie behind `offset`: its
    /// number, its row, and what all its entries lie before. Nil where there is none.
    func block(
        holding offset: JournalOffset, _ mode: ReadMode
    ) throws(JournalError) -> (number: Int, row: CompactedBlock.Row, end: JournalOffset)? {
        let piece = Self.countNotAbove(offset.rawValue, of: top.count) { top[$0] } - 1
        guard piece >= 0 else { return nil }
        var number = 0
        var row = CompactedBlock.Row(firstOffset: .zero, place: 0, length: 0)
        var end = piece + 1 < top.count ? top[piece + 1] : .max
        try withPiece(piece, mode) { rows, count in
            let begun = Self.countNotAbove(offset.rawValue, of: count) {
                rows.uint64(at: $0 * Self.rowLength)
            }
            number = max(begun, 1) - 1
            row = CompactedBlock.Row(rows, at: number * Self.rowLength)
            if number + 1 < count { end = rows.uint64(at: (number + 1) * Self.rowLength) }
        }
        try check(row, ofPiece: piece)
        return (
            piece * Self.rowsInPiece + number, row,
            min(JournalOffset(rawValue: end), header.end)
        )
    }

    /// How many of `count` rising numbers are not above a value.
    private static func countNotAbove(
        _ value: UInt64, of count: Int, _ number: (Int) -> UInt64
    ) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if number(middle) <= value { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// All rows of a piece.
    func rows(ofPiece piece: Int) throws(JournalError) -> [CompactedBlock.Row] {
        var found: [CompactedBlock.Row] = []
        try withPiece(piece, .blocking) { rows, count in
            found = (0..<count).map { CompactedBlock.Row(rows, at: $0 * Self.rowLength) }
        }
        return found
    }

    /// The checksum holds, so this is what was written; it is believed no further than that.
    func check(_ row: CompactedBlock.Row, ofPiece piece: Int) throws(JournalError) {
        guard row.place >= CompactedHeader.length, row.length > CompactedBlock.headerLength,
            row.place + row.length <= directoryPlace, row.firstOffset >= header.base,
            row.firstOffset < header.end
        else { throw JournalError(damage("directory", piecePlace(piece))) }
    }

    func read(_ range: Range<Int>, _ mode: ReadMode) throws(JournalError) -> [UInt8] {
        try Self.read(range, of: file, mode)
    }

    private static func read(
        _ range: Range<Int>, of file: any StorageFile, _ mode: ReadMode = .blocking
    ) throws(JournalError) -> [UInt8] {
        do throws(StorageError) {
            return try file.read(range, mode)
        } catch {
            throw .storage(error)
        }
    }

    /// Gives `body` the rows of a piece of the directory, and how many there are.
    private func withPiece(
        _ piece: Int, _ mode: ReadMode, _ body: (Span<UInt8>, Int) -> Void
    ) throws(JournalError) {
        let count = min(Self.rowsInPiece, blockCount - piece * Self.rowsInPiece)
        let place = piecePlace(piece)
        var isFound = false
        cache?.withBlock(cacheFile, UInt64(place)) { span in
            isFound = true
            body(span, count)
        }
        if isFound { return }
        let length = count * Self.rowLength
        let bytes = try read(place..<place + length + 8, mode)
        guard
            Checksum.xxh3(
                bytes.span, in: 0..<length, seed: CompactedHeader.seed(header.salt, place))
                == bytes.span.uint64(at: length)
        else { throw JournalError(damage("checksum", place)) }
        cache?.insert(cacheFile, UInt64(place), bytes.span, preferred: true)
        body(bytes.span, count)
    }

    /// Forgets what the cache has of the file.
    func forget() { cache?.remove(file: cacheFile) }

    private func piecePlace(_ piece: Int) -> Int {
        directoryPlace + piece * (Self.rowsInPiece * Self.rowLength + 8)
    }

    func damage(_ field: StaticString, _ byte: Int) -> JournalDamage {
        JournalDamage(.compacted(field), file: file.name, byte: byte)
    }
}

/// Reads the blocks of a compacted segment in order, 1 MiB at a time.
struct CompactedReader {
    let compacted: CompactedFile
    /// The number of the block that is next.
    private(set) var next = 0
    /// The piece of the directory that was read last.
    private var piece: (number: Int, rows: [CompactedBlock.Row])?
    private var window: [UInt8] = []
    private var windowStart = 0
    private static let windowLength = 1 << 20

    init(_ compacted: CompactedFile) { self.compacted = compacted }

    /// Goes to the block that holds `offset`, or to the first behind it.
    mutating func skip(to offset: JournalOffset) throws(JournalError) {
        next = try compacted.block(holding: offset, .blocking)?.number ?? 0
    }

    /// What the directory says of the next block, which there is.
    mutating func nextRow() throws(JournalError) -> CompactedBlock.Row {
        let number = next / CompactedFile.rowsInPiece
        if piece?.number != number { piece = (number, try compacted.rows(ofPiece: number)) }
        guard let row = piece?.rows[next % CompactedFile.rowsInPiece] else {
            preconditionFailure("the piece was read")
        }
        try compacted.check(row, ofPiece: number)
        return row
    }

    /// What the directory says of the next block, which is passed over; nil behind the last one.
    mutating func skipBlock() throws(JournalError) -> CompactedBlock.Row? {
        guard next < compacted.blockCount else { return nil }
        defer { next += 1 }
        return try nextRow()
    }

    /// The entries of the next block, each verified; nil behind the last one. After damage the next
    /// call goes on behind the block.
    mutating func nextBlock() throws(JournalError) -> [JournalEntry]? {
        guard next < compacted.blockCount else { return nil }
        defer { next += 1 }
        let row = try nextRow()
        if row.place < windowStart || row.place + row.length > windowStart + window.count {
            let end = max(
                row.place + row.length,
                min(row.place + Self.windowLength, compacted.file.length))
            window = try compacted.read(row.place..<end, .blocking)
            windowStart = row.place
        }
        let block = try CompactedBlock(
            window, from: row.place - windowStart, at: row, of: compacted.header)
        return try block.entries()
    }
}
