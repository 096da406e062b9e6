import Stratus
import StratusBytes
import StratusFiles

/// Puts names in the order of their bytes, in bounded memory: what does not fit lies in a file
/// without a name, as ordered runs that are merged when they are read.
package struct NameSorter {
    /// What names take in memory before they become a run, in bytes.
    package static let usualLimit = 6 << 20

    private let limit: Int
    private let scratch: ScratchStorage
    private var names = NameList()
    private var runs: [any StorageFile] = []

    /// - Parameter scratch: the directory for what does not fit.
    package init(limit: Int = usualLimit, scratch: String = StoreVerification.scratchDirectory) {
        self.limit = limit
        self.scratch = ScratchStorage(over: MemoryStorage(), in: scratch)
    }

    /// Adds a name, which may have 65,535 bytes at most, as none of a record exceeds.
    package mutating func insert(_ name: String) throws { try insert(name.utf8) }

    /// Adds bytes, 65,535 at most.
    mutating func insert(_ name: some Collection<UInt8>) throws {
        names.append(name)
        guard names.size >= limit else { return }
        let file = "run-\(runs.count)"
        try scratch.put(file, names.sorted())
        runs.append(try scratch.open(file))
        names = NameList()
    }

    /// All that were added.
    package consuming func sorted() throws -> SortedNames {
        var cursors = try runs.map { try RunCursor($0) }
        cursors.append(try RunCursor(names.sorted()))
        return SortedNames(cursors)
    }
}

/// The names that a ``NameSorter`` was given, in order, each once.
package struct SortedNames {
    /// Each at a name; those at their end are gone.
    private var runs: [RunCursor]
    private var last: ArraySlice<UInt8>?

    fileprivate init(_ runs: [RunCursor]) { self.runs = runs.filter { $0.name != nil } }

    package mutating func next() throws -> String? {
        try nextBytes().map { String(decoding: $0, as: UTF8.self) }
    }

    /// The same of what was added as bytes.
    mutating func nextBytes() throws -> ArraySlice<UInt8>? {
        while var least = runs.indices.first {
            for index in runs.indices.dropFirst() where runs[index].precedes(runs[least]) {
                least = index
            }
            let name = runs[least].name
            try runs[least].advance()
            if runs[least].name == nil { runs.remove(at: least) }
            if name == last { continue }
            last = name
            return name
        }
        return nil
    }

    /// The next ones, at most `count`; none at the end.
    package mutating func next(_ count: Int) throws -> [String] {
        var names: [String] = []
        while names.count < count, let name = try next() { names.append(name) }
        return names
    }
}

extension NameList {
    /// In order, each behind its length in two bytes.
    fileprivate consuming func sorted() -> [UInt8] {
        sort()
        var writer = ByteWriter(capacity: size)
        for name in self {
            writer.uint16(UInt16(clamping: name.count))
            writer.append(name)
        }
        return writer.bytes
    }
}

/// Goes through one ordered run.
private struct RunCursor {
    /// So many bytes are read at a time; no name is longer.
    private static let bufferLength = 1 << 16 + 2

    /// Nil where all of the run is in memory.
    private let file: (any StorageFile)?
    private var buffer: [UInt8] = []
    /// Of the file, where that ends which the buffer has.
    private var end = 0
    private var position = 0
    /// The name it is at; nil at the end.
    private(set) var name: ArraySlice<UInt8>?

    init(_ file: any StorageFile) throws {
        self.file = file
        try advance()
    }

    init(_ run: [UInt8]) throws {
        file = nil
        buffer = run
        try take()
    }

    mutating func advance() throws {
        if let file, needsMore {
            let next = min(file.length, end + Self.bufferLength)
            buffer = try Array(buffer[position...]) + file.read(end..<next)
            (position, end) = (0, next)
        }
        try take()
    }

    /// Whether the next name may go on in the file.
    private var needsMore: Bool {
        guard let file, end < file.length else { return false }
        return buffer.count - position < Self.bufferLength
    }

    private mutating func take() throws {
        guard position < buffer.count else {
            name = nil
            return
        }
        do throws(FormatError) {
            var cursor = ByteCursor(at: position)
            let length = Int(try cursor.uint16(buffer.span))
            let place = try cursor.range(buffer.span, count: length)
            (position, name) = (place.upperBound, buffer[place])
        } catch {
            throw StorageError(.inputOutput, file: file?.name ?? "names")
        }
    }

    func precedes(_ other: RunCursor) -> Bool {
        (name ?? []).lexicographicallyPrecedes(other.name ?? [])
    }
}
