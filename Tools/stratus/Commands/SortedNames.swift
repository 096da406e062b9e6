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
    package mutating func insert(_ name: String) throws {
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
        cursors.append(RunCursor(names.sorted()))
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
        while var least = runs.indices.first {
            for index in runs.indices.dropFirst() where runs[index].precedes(runs[least]) {
                least = index
            }
            let name = runs[least].name
            try runs[least].advance()
            if runs[least].name == nil { runs.remove(at: least) }
            if name == last { continue }
            last = name
            return name.map { String(decoding: $0, as: UTF8.self) }
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

/// Names one behind the other.
private struct NameList {
    private var bytes: [UInt8] = []
    private var places: [Range<UInt32>] = []

    /// What they take, in bytes.
    var size: Int { bytes.count + places.count * MemoryLayout<Range<UInt32>>.stride }

    mutating func append(_ name: String) {
        let start = UInt32(bytes.count)
        bytes += name.utf8
        places.append(start..<UInt32(bytes.count))
    }

    /// In order, each behind its length in two bytes.
    func sorted() -> [UInt8] {
        let sorted = places.sorted { left, right in
            bytes[left].lexicographicallyPrecedes(bytes[right])
        }
        var writer = ByteWriter(capacity: bytes.count + 2 * places.count)
        for place in sorted {
            writer.uint16(UInt16(clamping: place.count))
            writer.append(bytes.span.extracting(Int(place.lowerBound)..<Int(place.upperBound)))
        }
        return writer.bytes
    }
}

extension [UInt8] {
    fileprivate subscript(place: Range<UInt32>) -> ArraySlice<UInt8> {
        self[Int(place.lowerBound)..<Int(place.upperBound)]
    }
}

/// Goes through one ordered run.
private struct RunCursor {
    /// So many bytes are read at a time; no name is longer.
    private static let pieceLength = 1 << 16 + 2

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

    init(_ run: [UInt8]) {
        file = nil
        buffer = run
        take()
    }

    mutating func advance() throws {
        if let file, needsMore {
            let next = min(file.length, end + Self.pieceLength)
            buffer = try Array(buffer[position...]) + file.read(end..<next)
            (position, end) = (0, next)
        }
        take()
    }

    /// Whether the next name may go on in the file.
    private var needsMore: Bool {
        guard let file, end < file.length else { return false }
        return buffer.count - position < Self.pieceLength
    }

    private mutating func take() {
        guard position + 2 <= buffer.count else {
            name = nil
            return
        }
        let start = position + 2
        position = start + Int(buffer.span.uint16(at: start - 2))
        name = buffer[start..<position]
    }

    func precedes(_ other: RunCursor) -> Bool {
        (name ?? []).lexicographicallyPrecedes(other.name ?? [])
    }
}
