internal import StratusBytes

/// Collects the extents of an asset: a short list is kept as it is, a longer one goes into chunks
/// while it grows, so that no more than a few thousand extents are held at a time.
///
/// A list is cut behind extents whose address says so: an edit in a large asset changes the lists it
/// touches and no others. `Formats/Assets.md`, "Lists".
struct ExtentTree {
    typealias Extent = AssetContent.Extent

    private struct Level {
        /// What is in no list yet.
        var extents: [Extent] = []
        var isTall = false
    }

    /// The least and the greatest number of extents in a list, but for the last one.
    static let least = 128
    static let most = 4096

    private var levels = [Level()]
    /// More extents than these go into chunks.
    private let limit: Int

    init(limit: Int) { self.limit = max(1, min(limit, AssetContent.extentLimit)) }

    /// Adds an extent of the asset; `store` makes a chunk of a list.
    mutating func add(
        _ extent: Extent, at depth: Int = 0, _ store: ([UInt8]) throws(ChunkError) -> ChunkAddress
    ) throws(ChunkError) {
        if depth == levels.count { levels.append(Level()) }
        levels[depth].extents.append(extent)
        if !levels[depth].isTall {
            guard levels[depth].extents.count > limit else { return }
            levels[depth].isTall = true
        }
        while let end = Self.firstCut(in: levels[depth].extents) {
            try emit(end, at: depth, store)
        }
    }

    /// The list at the top, and how many lists lie below each of its extents.
    mutating func finish(
        _ store: ([UInt8]) throws(ChunkError) -> ChunkAddress
    ) throws(ChunkError) -> (depth: Int, extents: [Extent]) {
        defer { levels = [Level()] }
        var depth = 0
        while levels[depth].isTall {
            let rest = levels[depth].extents.count
            if rest > 0 { try emit(rest, at: depth, store) }
            depth += 1
        }
        return (depth, levels[depth].extents)
    }

    private mutating func emit(
        _ end: Int, at depth: Int, _ store: ([UInt8]) throws(ChunkError) -> ChunkAddress
    ) throws(ChunkError) {
        let list = levels[depth].extents[..<end]
        let extent = Extent(
            address: try store(Extent.write(list)), length: list.reduce(0) { $0 + $1.length })
        levels[depth].extents.removeFirst(end)
        try add(extent, at: depth + 1, store)
    }

    /// How many extents make up the first list; nil where more must be known.
    private static func firstCut(in extents: [Extent]) -> Int? {
        var count = least
        while count <= extents.count {
            if count == most || extents[count - 1].address.low.low & 0x1ff == 0 { return count }
            count += 1
        }
        return nil
    }
}
