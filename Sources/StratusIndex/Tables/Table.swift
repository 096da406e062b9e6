internal import StratusBytes
internal import StratusFiles
internal import Synchronization

/// One immutable file of a run. Layout: `Formats/Index.md`.
///
/// Only what the description says of it stays in memory; the file is opened when it is first read,
/// and blocks go through the cache.
final class Table: Sendable {
    let info: TableInfo
    private let store: TableStore
    private let file = Mutex<(any StorageFile)?>(nil)

    init(_ info: TableInfo, in store: TableStore) {
        self.info = info
        self.store = store
    }

    func damage(_ rule: IndexDamage.Rule, at byte: Int) -> IndexError {
        .damaged(IndexDamage(.table(rule), file: info.fileName, byte: byte))
    }

    func disorder(at block: Range<Int>) -> IndexError { damage(.order, at: block.lowerBound) }

    /// The file, whose ends were looked at once.
    func open(_ mode: ReadMode) throws(IndexError) -> any StorageFile {
        if let file = file.withLock({ $0 }) { return file }
        guard mode == .blocking else {
            throw .storage(StorageError(.notResident, file: info.fileName))
        }
        let opened: any StorageFile
        do {
            opened = try store.storage.open(info.fileName)
        } catch {
            if error.kind != .notFound { throw .storage(error) }
            throw .damaged(IndexDamage(.missingFile, file: info.fileName, byte: 0))
        }
        guard opened.length == info.length else {
            throw .damaged(
                IndexDamage(.fileLength, file: info.fileName, byte: opened.length))
        }
        try check(ends: opened)
        // Two threads may both have opened it; the first stays.
        return file.withLock { file in
            if let file { return file }
            file = opened
            return opened
        }
    }

    /// Looks at the header and the footer.
    func check(ends file: any StorageFile) throws(IndexError) {
        try checkHeader(try read(file, 0..<TableFormat.headerLength, .blocking))
        try checkFooter(try read(file, info.footer.footerPlace..<info.length, .blocking))
    }

    private func read(
        _ file: any StorageFile, _ range: Range<Int>, _ mode: ReadMode
    ) throws(IndexError) -> [UInt8] {
        do {
            return try file.read(range, mode)
        } catch {
            throw .storage(error)
        }
    }

    private func checkHeader(_ bytes: [UInt8]) throws(IndexError) {
        let span = bytes.span
        guard span.uint64(at: 0) == TableFormat.magic else { throw damage(.magic, at: 0) }
        guard Checksum.xxh3(span, in: 0..<24, seed: info.number) == span.uint64(at: 24) else {
            throw damage(.checksum, at: 0)
        }
        let leastReader = span.uint16(at: 10)
        guard leastReader <= TableFormat.version else {
            throw .damaged(
                IndexDamage(.newerFormat(leastReader), file: info.fileName, byte: 10))
        }
        guard span.uint32(at: 12) == 0 else { throw damage(.reserved, at: 12) }
        guard span.uint64(at: 16) == info.number else { throw damage(.number, at: 16) }
    }

    /// The footer must say what the description says: writing it again shows any difference.
    private func checkFooter(_ bytes: [UInt8]) throws(IndexError) {
        let place = info.footer.footerPlace
        let end = bytes.count - TableFormat.checksumLength
        let seed = TableFormat.seed(info.number, at: place)
        guard Checksum.xxh3(bytes.span, in: 0..<end, seed: seed) == bytes.span.uint64(at: end)
        else { throw damage(.checksum, at: place) }
        let found = Hash128(high: bytes.span.uint64(at: 0), low: bytes.span.uint64(at: 8))
        var expected = ByteWriter()
        info.footer.append(to: &expected, number: info.number, storeID: found)
        guard bytes[..<end] == expected.bytes[..<end] else { throw damage(.footer, at: place) }
        guard found == store.storeID else { throw damage(.store, at: place) }
    }
}

// Blocks.
extension Table {
    /// What `body` makes of the bytes in `range`, whose checksum holds, checksum included. Where
    /// they are kept it runs in the cache: it is short.
    func withBytes<Result>(
        _ range: Range<Int>, _ reading: Reading, preferred: Bool,
        _ body: (Span<UInt8>) throws(IndexError) -> Result
    ) throws(IndexError) -> Result {
        let name = TableStore.cacheFile(info.number)
        let place = UInt64(range.lowerBound)
        let kept = try reading.cache?.withBlock(name, place) { bytes throws(IndexError) in
            guard bytes.count == range.count else { throw damage(.place, at: range.lowerBound) }
            return try body(bytes)
        }
        if let kept { return kept }
        let bytes = try read(try open(reading.mode), range, reading.mode)
        let end = bytes.count - TableFormat.checksumLength
        let seed = TableFormat.seed(info.number, at: range.lowerBound)
        guard Checksum.xxh3(bytes.span, in: 0..<end, seed: seed) == bytes.span.uint64(at: end)
        else { throw damage(.checksum, at: range.lowerBound) }
        reading.cache?.insert(name, place, bytes.span, preferred: preferred)
        return try body(bytes.span)
    }

    /// What `body` finds in the block in `range`; it runs as ``withBytes(_:_:preferred:_:)`` says.
    func withBlock<Result>(
        _ range: Range<Int>, _ reading: Reading, preferred: Bool,
        _ body: (BlockLayout, Span<UInt8>) throws(BlockLayout.Fault) -> Result
    ) throws(IndexError) -> Result {
        try withBytes(range, reading, preferred: preferred) { bytes throws(IndexError) in
            do throws(BlockLayout.Fault) {
                return try body(try BlockLayout(bytes), bytes)
            } catch {
                throw damage(error, inBlockAt: range.lowerBound)
            }
        }
    }

    func damage(_ fault: BlockLayout.Fault, inBlockAt place: Int) -> IndexError {
        damage(fault.rule, at: place + fault.byte)
    }

    /// Whether a key with this hash may be in the table.
    func mayHold(_ hash: UInt64, _ reading: Reading) throws(IndexError) -> Bool {
        let cells = info.footer.filterCells
        let cell = KeyFilter.cell(hash, of: cells)
        let start = info.footer.filterPlace + KeyFilter.place(ofCell: cell)
        let length = KeyFilter.length(ofBlockWithCell: cell, of: cells)
        return try withBytes(start..<start + length, reading, preferred: true) { block in
            KeyFilter.mayHold(hash, cell: cell, in: block)
        }
    }

    /// The range of the block that the value in an index block names, inside `part` of the file.
    func target(
        _ value: IndexValue, in part: Range<Int>, namedAt place: Int
    ) throws(IndexError) -> Range<Int> {
        let first = value.first
        let length = value.second
        guard first >= UInt64(part.lowerBound), length > UInt64(TableFormat.checksumLength),
            length <= UInt64(TableFormat.blockLimit), first <= UInt64(part.upperBound),
            length <= UInt64(part.upperBound) - first
        else { throw damage(.place, at: place) }
        return Int(first)..<Int(first + length)
    }
}
