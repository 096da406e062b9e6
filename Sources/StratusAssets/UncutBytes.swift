internal import StratusBytes

/// Chunks of an asset that stand behind each other, and lie in the bytes that were read.
struct CutBytes: Sendable {
    let bytes: [UInt8]
    let cuts: [Range<Int>]
}

/// The bytes of an asset that were read and whose chunks were not taken yet.
struct UncutBytes {
    private var bytes: [UInt8] = []
    /// What was cut of them, from the beginning.
    private var cuts: [Range<Int>] = []
    private var chunker = Chunker()

    /// So many bytes are work enough for a thread to be woken.
    private static let groupLength = 192 << 10
    /// What is not cut is shorter than a chunk.
    private static let limit = groupLength + Chunker.most

    /// Adds some bytes, at most `count`, which `read` appends; returns how many.
    mutating func add<Failure>(
        upTo count: Int, _ read: (inout OutputSpan<UInt8>) throws(Failure) -> Void
    ) throws(Failure) -> Int {
        let before = bytes.count
        try bytes.append(addingCapacity: min(count, Self.limit - before), initializingWith: read)
        var chunker = chunker
        while let length = chunker.firstCut(in: bytes.span.extracting(cutEnd...)) {
            cuts.append(cutEnd..<cutEnd + length)
        }
        self.chunker = chunker
        return bytes.count - before
    }

    /// Whether so much was cut that it should be taken.
    var isReady: Bool { cutEnd >= Self.groupLength }

    /// Takes what was cut.
    mutating func takeCut() -> CutBytes {
        let rest = [UInt8](capacity: Self.limit) { [bytes, cutEnd] room in
            room.append(bytes.span.extracting(cutEnd...))
        }
        return take(leaving: rest)
    }

    /// Takes all: the asset ends here.
    mutating func takeAll() -> CutBytes {
        if cutEnd < bytes.count { cuts.append(cutEnd..<bytes.count) }
        chunker = Chunker()
        return take(leaving: [])
    }

    private mutating func take(leaving rest: [UInt8]) -> CutBytes {
        defer { (bytes, cuts) = (rest, []) }
        return CutBytes(bytes: bytes, cuts: cuts)
    }

    private var cutEnd: Int { cuts.last?.upperBound ?? 0 }
}
