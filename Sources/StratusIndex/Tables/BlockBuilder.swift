internal import StratusBytes

/// A block of entries under construction. Layout: `Formats/Index.md`, "Layout".
struct BlockBuilder {
    private(set) var count = 0
    private let base: UInt64
    private var bytes = [UInt8](
        repeating: 0, count: TableFormat.fullBlock + TableFormat.longestEntry + 16)
    private var end = 8
    private var restarts: [UInt16] = []
    private var last = IndexKey()

    /// No entry's stamp may be below `base`.
    init(base: UInt64) {
        self.base = base
        restarts.reserveCapacity(128)
        store(base, at: 0)
    }

    /// Whether the block should be ended.
    var isFull: Bool { end >= TableFormat.fullBlock }

    /// Adds the entry that comes next in order; returns how many bytes it takes.
    mutating func append(_ entry: IndexEntry) -> Int {
        let start = end
        let isRestart = count % TableFormat.entriesPerRestart == 0
        if isRestart { restarts.append(UInt16(end)) }
        let length = entry.key.count
        let shared = isRestart ? 0 : entry.key.sharedCount(with: last)
        let keepsLength = !isRestart && length == last.count
        let head = EntryHead(entry, base: base, keepsLength: keepsLength)
        store(UInt64(head.bits) | UInt64(shared) << 16 | UInt64(length - shared) << 24, size: 4)
        if keepsLength { end -= 1 }
        for place in stride(from: shared, to: length, by: 8) {
            store(entry.key.fileWord(at: place), size: min(8, length - place))
        }
        store(entry.value.stamp - base, size: head.stampSize)
        storeWord(entry.value.first, head.firstCode)
        storeWord(entry.value.second, head.secondCode)
        last = entry.key
        count += 1
        return end - start
    }

    /// Ends the block, appends it to `file` with its checksum, and begins the next.
    mutating func finish(into file: inout ByteWriter, number: UInt64) {
        let place = file.count
        file.append(bytes.span.extracting(0..<end))
        for restart in restarts { file.uint16(restart) }
        file.uint16(UInt16(restarts.count))
        file.checksum(from: place, number: number)
        count = 0
        end = 8
        restarts.removeAll(keepingCapacity: true)
    }

    private mutating func storeWord(_ word: UInt64, _ code: Int) {
        if code < EntryHead.wordIsStamp { store(word, size: code) }
    }

    private mutating func store(_ value: UInt64, size: Int) {
        // All eight bytes are written, of which `size` count.
        store(value, at: end)
        end += size
    }

    private mutating func store(_ value: UInt64, at place: Int) {
        var span = bytes.mutableSpan
        span.set(value, at: place)
    }
}

extension ByteWriter {
    /// The checksum of a table's block that began at `place`.
    mutating func checksum(from place: Int, number: UInt64) {
        let seed = TableFormat.seed(number, at: place)
        uint64(Checksum.xxh3(bytes.span, in: place..<count, seed: seed))
    }
}
