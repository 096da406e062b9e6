internal import StratusBytes

/// Collects the pieces of an asset: a short list is kept as it is, a longer one goes into chunks
/// while it grows, so that no more than a few thousand pieces are held at a time.
///
/// A list is cut behind pieces whose address says so: an edit in a large asset changes the lists it
/// touches and no others. `Formats/Assets.md`, "Lists".
struct PieceTree {
    typealias Piece = AssetContent.Piece

    private struct Level {
        /// What is in no list yet.
        var pieces: [Piece] = []
        var isTall = false
    }

    /// The least and the greatest number of pieces in a list, but for the last one.
    static let least = 128
    static let most = 4096

    private var levels = [Level()]
    /// More pieces than these go into chunks.
    private let limit: Int

    init(limit: Int) { self.limit = max(1, min(limit, AssetContent.pieceLimit)) }

    /// Adds a piece of the asset; `store` makes a chunk of a list.
    mutating func add(
        _ piece: Piece, at depth: Int = 0, _ store: ([UInt8]) throws(ChunkError) -> ChunkAddress
    ) throws(ChunkError) {
        if depth == levels.count { levels.append(Level()) }
        levels[depth].pieces.append(piece)
        if !levels[depth].isTall {
            guard levels[depth].pieces.count > limit else { return }
            levels[depth].isTall = true
        }
        while let end = Self.firstCut(in: levels[depth].pieces) {
            try emit(end, at: depth, store)
        }
    }

    /// The list at the top, and how many lists lie below each of its pieces.
    mutating func finish(
        _ store: ([UInt8]) throws(ChunkError) -> ChunkAddress
    ) throws(ChunkError) -> (depth: Int, pieces: [Piece]) {
        defer { levels = [Level()] }
        var depth = 0
        while levels[depth].isTall {
            let rest = levels[depth].pieces.count
            if rest > 0 { try emit(rest, at: depth, store) }
            depth += 1
        }
        return (depth, levels[depth].pieces)
    }

    private mutating func emit(
        _ end: Int, at depth: Int, _ store: ([UInt8]) throws(ChunkError) -> ChunkAddress
    ) throws(ChunkError) {
        let list = levels[depth].pieces[..<end]
        let piece = Piece(
            address: try store(Piece.write(list)), length: list.reduce(0) { $0 + $1.length })
        levels[depth].pieces.removeFirst(end)
        try add(piece, at: depth + 1, store)
    }

    /// How many pieces make up the first list; nil where more must be known.
    private static func firstCut(in pieces: [Piece]) -> Int? {
        var count = least
        while count <= pieces.count {
            if count == most || pieces[count - 1].address.low.low & 0x1ff == 0 { return count }
            count += 1
        }
        return nil
    }
}
