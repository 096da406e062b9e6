internal import StratusBytes
internal import StratusFiles
internal import Synchronization

/// One immutable file of a run. Layout: `Formats/Index.md`.
///
/// The file is opened when it is first read. Its directory and its filter then stay in memory as
/// far as there is room for them (``Run/withPinsMoved()``); data blocks go through the cache.
final class Table: Sendable {
    let info: TableInfo
    let store: TableStore
    private let opened = LazyReference<OpenTable>()
    /// Whether it was looked into since ``rest()``, and how often that was called without.
    private let isUsed = Atomic(false)
    private let rests = Atomic(0)
    private static let restLimit = 4

    init(_ info: TableInfo, in store: TableStore) {
        self.info = info
        self.store = store
    }

    /// Called from time to time, so that it shows what is not looked into any more.
    func rest() {
        if isUsed.exchange(false, ordering: .relaxed) {
            rests.store(0, ordering: .relaxed)
        } else {
            rests.add(1, ordering: .relaxed)
        }
    }

    /// What its directory and its filter take in memory.
    var pinSize: Int { directoryRange.count + filterPart.count }
    /// Whether both stay there; nil while it is not open.
    private var isPinned: Bool? { opened.load().map { $0.filter != nil } }
    /// Whether it is looked into, and there was no room for them.
    var lacksPin: Bool { isPinned == false && rests.load(ordering: .relaxed) == 0 }
    /// Whether they stay in memory though no key was looked up there for a while.
    var hasIdlePin: Bool {
        isPinned == true && rests.load(ordering: .relaxed) >= Self.restLimit
    }

    @inline(__always)
    private func noteUse() {
        if !isUsed.load(ordering: .relaxed) { isUsed.store(true, ordering: .relaxed) }
    }

    func damage(_ rule: IndexDamage.Rule, at byte: Int) -> IndexError {
        .damaged(IndexDamage(.table(rule), file: info.fileName, byte: byte))
    }

    func damage(_ fault: BlockLayout.Fault, inBlockAt place: Int) -> IndexError {
        damage(fault.rule, at: place + fault.byte)
    }

    func disorder(at block: Range<Int>) -> IndexError { damage(.order, at: block.lowerBound) }

    var dataPart: Range<Int> { TableFormat.headerLength..<info.footer.filterPlace }
    var filterPart: Range<Int> { info.footer.filterPlace..<info.footer.directoryPlace }
    var directoryRange: Range<Int> { info.footer.directoryPlace..<info.footer.footerPlace }

    /// The file, of which header and footer were looked at once.
    @inline(__always)
    func open(_ mode: ReadMode) throws(IndexError) -> OpenTable {
        if let table = opened.load() { return table }
        guard mode == .blocking else {
            throw .storage(StorageError(.notResident, file: info.fileName))
        }
        return try openNow()
    }

    private func openNow() throws(IndexError) -> OpenTable {
        let file = try checkedFile()
        let cache = store.cache
        let pinsDirectory = cache.pin(directoryRange.count)
        let pinsFilter = pinsDirectory && cache.pin(filterPart.count)
        do throws(IndexError) {
            let bytes = pinsDirectory ? try checkedBlock(directoryRange, of: file) : nil
            let directory = try bytes.map { bytes throws(IndexError) in
                try block(bytes, at: directoryRange)
            }
            let filter = pinsFilter ? try checkedFilter(of: file) : nil
            // Where two threads open it at once, the first stays.
            return opened.storeIfNil(
                OpenTable(file: file, directory: directory, filter: filter, cache))
        } catch {
            cache.unpin(
                (pinsDirectory ? directoryRange.count : 0) + (pinsFilter ? filterPart.count : 0))
            throw error
        }
    }

    /// Opens the file and checks its length, header and footer.
    func checkedFile() throws(IndexError) -> any StorageFile {
        let file: any StorageFile
        do {
            file = try store.storage.openUnchanging(info.fileName)
        } catch {
            if error.kind != .notFound { throw .storage(error) }
            throw .damaged(IndexDamage(.missingFile, file: info.fileName, byte: 0))
        }
        guard file.length == info.length else {
            throw .damaged(IndexDamage(.fileLength, file: info.fileName, byte: file.length))
        }
        try checkHeader(try read(file, 0..<TableFormat.headerLength, .blocking))
        try checkFooter(try read(file, info.footer.footerPlace..<info.length, .blocking))
        return file
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
        try check(bytes, at: place)
        let end = bytes.count - TableFormat.checksumLength
        let found = Hash128(high: bytes.span.uint64(at: 0), low: bytes.span.uint64(at: 8))
        var expected = ByteWriter()
        info.footer.append(to: &expected, number: info.number, storeID: found)
        guard bytes[..<end] == expected.bytes[..<end] else { throw damage(.footer, at: place) }
        guard found == store.storeID else { throw damage(.store, at: place) }
    }
}

/// A table whose file is open, and what of it stays in memory.
final class OpenTable: Sendable {
    let file: any StorageFile
    /// Nil where there was no room: then it goes through the cache.
    let directory: Block?
    /// All filter blocks, with their checksums, likewise.
    let filter: [UInt8]?
    private let cache: BlockCache

    fileprivate init(
        file: any StorageFile, directory: Block?, filter: [UInt8]?, _ cache: BlockCache
    ) {
        self.file = file
        self.directory = directory
        self.filter = filter
        self.cache = cache
    }

    deinit { cache.unpin((directory?.bytes.count ?? 0) + (filter?.count ?? 0)) }
}

// Blocks.
extension Table {
    /// The bytes in `range` of the file, whose checksum holds, with it.
    func checkedBlock(
        _ range: Range<Int>, of file: any StorageFile, _ mode: ReadMode = .blocking
    ) throws(IndexError) -> [UInt8] {
        let bytes = try read(file, range, mode)
        try check(bytes, at: range.lowerBound)
        return bytes
    }

    /// All filter blocks, whose checksums hold.
    func checkedFilter(of file: any StorageFile) throws(IndexError) -> [UInt8] {
        var filter: [UInt8] = []
        filter.reserveCapacity(filterPart.count)
        for cell in stride(from: 0, to: info.footer.filterCells, by: KeyFilter.cellsPerBlock) {
            filter += try checkedBlock(filterBlock(ofCell: cell), of: file)
        }
        return filter
    }

    private func check(_ bytes: [UInt8], at place: Int) throws(IndexError) {
        let end = bytes.count - TableFormat.checksumLength
        let seed = TableFormat.seed(info.number, at: place)
        guard Checksum.xxh3(bytes.span, in: 0..<end, seed: seed) == bytes.span.uint64(at: end)
        else { throw damage(.checksum, at: place) }
    }

    /// What `body` makes of the bytes in `range`, whose checksum holds, checksum included. Where
    /// they are kept it runs in the cache: it is short.
    private func withBytes<Result>(
        _ range: Range<Int>, _ reading: Reading, preferred: Bool,
        _ body: (Span<UInt8>) throws(IndexError) -> Result
    ) throws(IndexError) -> Result {
        let name = TableStore.cacheFile(info.number)
        let place = UInt64(range.lowerBound)
        var kept: Swift.Result<Result, IndexError>?
        reading.cache?.withBlock(name, place) { bytes in
            guard bytes.count == range.count else {
                kept = .failure(damage(.place, at: range.lowerBound))
                return
            }
            do throws(IndexError) {
                kept = .success(try body(bytes))
            } catch {
                kept = .failure(error)
            }
        }
        if let kept { return try kept.get() }
        let bytes = try checkedBlock(range, of: try open(reading.mode).file, reading.mode)
        reading.cache?.insert(name, place, bytes.span, preferred: preferred)
        return try body(bytes.span)
    }

    /// What `body` finds in the block in `range`; it runs as ``withBytes(_:_:preferred:_:)`` says.
    func withBlock<Result>(
        _ range: Range<Int>, _ reading: Reading, preferred: Bool = false,
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

    /// What `body` finds in the directory.
    func withDirectory<Result>(
        of table: OpenTable, _ reading: Reading,
        _ body: (BlockLayout, Span<UInt8>) throws(BlockLayout.Fault) -> Result
    ) throws(IndexError) -> Result {
        noteUse()
        guard let directory = table.directory else {
            return try withBlock(directoryRange, reading, preferred: true, body)
        }
        do throws(BlockLayout.Fault) {
            return try body(directory.layout, directory.bytes.span)
        } catch {
            throw damage(error, inBlockAt: directoryRange.lowerBound)
        }
    }

    /// A data block that the caller keeps.
    func data(_ range: Range<Int>, _ reading: Reading) throws(IndexError) -> Block {
        try block(try withBytes(range, reading, preferred: false) { $0.array }, at: range)
    }

    func block(_ bytes: [UInt8], at range: Range<Int>) throws(IndexError) -> Block {
        do {
            return try Block(bytes)
        } catch {
            throw damage(error, inBlockAt: range.lowerBound)
        }
    }

    /// Whether a key with this hash may be in the table.
    func mayHold(
        _ hash: UInt64, in table: OpenTable, _ reading: Reading
    ) throws(IndexError) -> Bool {
        noteUse()
        let cell = KeyFilter.cell(hash, of: info.footer.filterCells)
        if let filter = table.filter {
            return KeyFilter.mayHold(
                hash, cell: cell, in: filter.span, at: KeyFilter.place(ofCell: cell))
        }
        return try withBytes(filterBlock(ofCell: cell), reading, preferred: true) { block in
            KeyFilter.mayHold(hash, cell: cell, in: block)
        }
    }

    private func filterBlock(ofCell cell: Int) -> Range<Int> {
        let start = info.footer.filterPlace + KeyFilter.place(ofCell: cell)
        return start..<start
            + KeyFilter.length(ofBlockWithCell: cell, of: info.footer.filterCells)
    }

    /// The range of the data block that the directory says at `number`.
    func target(_ value: IndexValue) throws(IndexError) -> Range<Int> {
        let (first, length) = (value.first, value.second)
        guard first >= UInt64(dataPart.lowerBound), length >= UInt64(TableFormat.leastBlock),
            length <= UInt64(TableFormat.blockLimit), first <= UInt64(dataPart.upperBound),
            length <= UInt64(dataPart.upperBound) - first
        else { throw damage(.place, at: directoryRange.lowerBound) }
        return Int(first)..<Int(first + length)
    }
}
