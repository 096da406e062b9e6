internal import StratusBytes

/// The bytes of an asset that no chunk was made of yet.
struct UncutBytes {
    private var buffer: [UInt8] = []
    /// Where they lie in it.
    private var range = 0..<0
    private let chunker = Chunker()

    /// So many are held at once, at most.
    private static let limit = 4 * Chunker.most

    var isEmpty: Bool { range.isEmpty }
    /// Whether the next cut does not depend on what follows.
    var holdsChunk: Bool { range.count >= Chunker.most }

    /// Adds some bytes, at most `count`: `read` puts them at the beginning of what it is given, and
    /// returns how many.
    mutating func add<Failure>(
        upTo count: Int, _ read: (inout MutableSpan<UInt8>) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        if buffer.isEmpty { buffer = [UInt8](repeating: 0, count: Self.limit) }
        let (held, length) = (range, buffer.count)
        let start = length - held.upperBound < Chunker.most ? 0 : held.lowerBound
        let end = start + held.count
        var span = buffer.mutableSpan
        if start != held.lowerBound { span.move(held, to: start) }
        var room = span._mutatingExtracting(end..<min(length, end + count))
        let read = try read(&room)
        range = start..<end + read
        return read
    }

    /// Takes the first chunk.
    mutating func cut() -> [UInt8] {
        let first = firstChunk
        range = range.lowerBound + first.count..<range.upperBound
        return first
    }

    private var firstChunk: [UInt8] {
        let bytes = buffer.span.extracting(range)
        return bytes.array(in: 0..<chunker.firstCut(in: bytes))
    }

    mutating func removeAll() { range = 0..<0 }
}
