internal import StratusBytes

/// A block of entries under construction. Layout: `Formats/Index.md`, "Layout".
///
/// The entries are kept until the block ends, since only then it is known how wide its columns are.
struct BlockBuilder {
    private(set) var entries: [IndexEntry] = []
    private var ranges = ColumnRanges()
    /// In bytes, with the checksum.
    private let limit: Int
    /// As many entries of the greatest length fit.
    private let sureCount: Int
    private var bytes: [UInt8]

    init(limit: Int) {
        self.limit = limit
        sureCount = TableFormat.leastEntries(ofBlock: limit)
        // Words are stored whole, of which a part counts.
        bytes = [UInt8](repeating: 0, count: limit + 8)
    }

    /// Adds the entry that comes next in order; returns false, and adds nothing, where the block
    /// would become too long. The first entry always fits.
    mutating func append(_ entry: borrowing IndexEntry) -> Bool {
        if entries.count < sureCount {
            ranges.take(entry, isFirst: entries.isEmpty)
        } else {
            var wider = ranges
            wider.take(entry, isFirst: entries.isEmpty)
            guard wider.length(ofBlockWith: entries.count + 1) <= limit else { return false }
            ranges = wider
        }
        entries.append(copy entry)
        return true
    }

    /// Begins the next block.
    mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    /// Appends the block to `file`, with its checksum.
    mutating func finish(into file: inout ByteWriter, number: UInt64) {
        let form = ranges.form
        var end = 0
        func store(_ value: UInt64, _ width: Int) {
            var span = bytes.mutableSpan
            span.set(value, at: end)
            end += width
        }
        store(ranges.stamp.least, 8)
        store(form.first.base, 8)
        store(form.second.base, 8)
        store(UInt64(entries.count), 2)
        store(UInt64(form.prefixLength), 1)
        store(UInt64(form.keyLength), 1)
        store(UInt64(form.keyWidth), 1)
        store(UInt64(form.stampWidth), 1)
        store(UInt64(form.first.width | form.second.width << 4), 1)
        let flags = form.commonFlags.map { UInt64($0.rawValue) << 3 } ?? 4
        store(
            (form.first.isRelative ? 1 : 0) | (form.second.isRelative ? 2 : 0) | flags, 1)
        let (prefix, width) = (form.prefixLength, form.keyWidth)
        let first = entries[0].key
        for place in stride(from: 0, to: prefix, by: 8) {
            store(first.fileWord(at: place), min(8, prefix - place))
        }
        for entry in entries {
            for place in stride(from: 0, to: width, by: 8) {
                store(entry.key.fileWord(at: prefix + place), min(8, width - place))
            }
        }
        if form.keyLength == 0 { for entry in entries { store(UInt64(entry.key.count), 1) } }
        if form.stampWidth > 0 {
            for entry in entries { store(entry.stamp - ranges.stamp.least, form.stampWidth) }
        }
        if form.first.width > 0 {
            for entry in entries {
                store(form.first.stored(entry.value.first, entry.stamp), form.first.width)
            }
        }
        if form.second.width > 0 {
            for entry in entries {
                store(form.second.stored(entry.value.second, entry.stamp), form.second.width)
            }
        }
        if form.commonFlags == nil {
            for entry in entries { store(UInt64(entry.flags.rawValue), 1) }
        }
        let place = file.count
        file.append(bytes.span.extracting(0..<end))
        file.checksum(from: place, number: number)
    }
}

/// How the columns of a block are written.
private struct BlockForm {
    struct Word {
        var base: UInt64
        var width: Int
        /// Whether the stamp is subtracted first.
        var isRelative: Bool

        func stored(_ word: UInt64, _ stamp: UInt64) -> UInt64 {
            (isRelative ? word &- stamp : word) &- base
        }
    }

    var prefixLength: Int
    /// 0 where keys differ in their lengths.
    var keyLength: Int
    var keyWidth: Int
    var stampWidth: Int
    var first: Word
    var second: Word
    /// Nil where entries differ in them.
    var commonFlags: IndexEntry.Flags?

    var entryLength: Int {
        keyWidth + (keyLength == 0 ? 1 : 0) + stampWidth + first.width + second.width
            + (commonFlags == nil ? 1 : 0)
    }
}

/// The least and the greatest value of each column, and what follows from them.
private struct ColumnRanges {
    struct Bounds {
        var least: UInt64 = .max
        var greatest: UInt64 = 0

        @inline(__always)
        mutating func take(_ value: UInt64) {
            least = min(least, value)
            greatest = max(greatest, value)
        }

        /// How many bytes hold what is above the least.
        var width: Int { (71 - (greatest - least).leadingZeroBitCount) >> 3 }
    }

    private var firstKey = IndexKey()
    private var prefixLength = 0
    private var keyLengths = Bounds()
    private(set) var stamp = Bounds()
    private var first = Bounds()
    private var relativeFirst = Bounds()
    private var second = Bounds()
    private var relativeSecond = Bounds()
    private var flags = Bounds()

    @inline(__always)
    mutating func take(_ entry: borrowing IndexEntry, isFirst: Bool) {
        if isFirst {
            self = ColumnRanges()
            firstKey = entry.key
            prefixLength = entry.key.count
        } else {
            // In an order by bytes, what first and last begin with all between begin with.
            prefixLength = firstKey.sharedCount(with: entry.key)
        }
        keyLengths.take(UInt64(entry.key.count))
        let value = entry.value
        stamp.take(value.stamp)
        first.take(value.first)
        relativeFirst.take(value.first &- value.stamp)
        second.take(value.second)
        relativeSecond.take(value.second &- value.stamp)
        flags.take(UInt64(entry.flags.rawValue))
    }

    @inline(__always)
    var form: BlockForm {
        BlockForm(
            prefixLength: prefixLength,
            keyLength: keyLengths.width == 0 ? Int(keyLengths.greatest) : 0,
            keyWidth: Int(keyLengths.greatest) - prefixLength, stampWidth: stamp.width,
            first: Self.word(first, relativeFirst), second: Self.word(second, relativeSecond),
            commonFlags: flags.width == 0
                ? IndexEntry.Flags(rawValue: UInt8(flags.greatest)) : nil)
    }

    @inline(__always)
    func length(ofBlockWith count: Int) -> Int {
        let form = form
        return BlockLayout.headLength + form.prefixLength + count * form.entryLength
            + TableFormat.checksumLength
    }

    @inline(__always)
    private static func word(_ words: Bounds, _ relative: Bounds) -> BlockForm.Word {
        relative.width < words.width
            ? BlockForm.Word(base: relative.least, width: relative.width, isRelative: true)
            : BlockForm.Word(base: words.least, width: words.width, isRelative: false)
    }
}
