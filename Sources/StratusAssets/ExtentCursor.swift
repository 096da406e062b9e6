/// A way through the extents of an asset, or of a part of it, in order. A value: what it holds is a
/// list for each depth.
package struct ExtentCursor: Sendable {
    /// A chunk on the way.
    package struct Step: Sendable {
        package var address: ChunkAddress
        /// Of the chunk's own bytes, those that belong to the asset's part; of a list, none.
        package var range: Range<Int>
        package var isList: Bool
        /// How many bytes a chunk of the asset must have.
        fileprivate var length: Int
        fileprivate var depth: Int

        fileprivate var list: AssetContent.List {
            AssetContent.List(
                extent: AssetContent.Extent(address: address, length: length), depth: depth)
        }
    }

    private struct Level {
        var extents: [AssetContent.Extent]
        var next = 0
        var depth: Int
    }

    private var levels: [Level]
    /// Bytes before the part, and bytes of it, that are still to come.
    private var skipped: Int
    private var rest: Int

    /// Through the bytes `range` of the asset, which must be inside it.
    package init(_ content: AssetContent, _ range: Range<Int>? = nil) {
        let range = range ?? 0..<content.length
        levels = [Level(extents: content.extents, depth: content.depth)]
        skipped = range.lowerBound
        rest = range.count
    }

    /// The next chunk that has to be read; nil at the end. Where it is a list, ``enter(_:_:)`` has
    /// to follow.
    package mutating func next() -> Step? {
        while rest > 0, let level = levels.last {
            guard level.next < level.extents.count else {
                levels.removeLast()
                continue
            }
            let extent = level.extents[level.next]
            levels[levels.count - 1].next += 1
            if skipped >= extent.length {
                skipped -= extent.length
                continue
            }
            guard level.depth == 0 else {
                return Step(
                    address: extent.address, range: 0..<0, isList: true, length: extent.length,
                    depth: level.depth - 1)
            }
            let range = skipped..<min(extent.length, skipped + rest)
            skipped = 0
            rest -= range.count
            return Step(
                address: extent.address, range: range, isList: false, length: extent.length,
                depth: 0)
        }
        return nil
    }

    /// The same, but for lists that are among `lists`, which are passed over with all that is in
    /// them; the others are added.
    ///
    /// Lists may name each other so often that a tiny asset has more extents than can ever be
    /// visited. Finding which chunks it consists of takes each list only once.
    package mutating func next(once lists: inout Set<AssetContent.List>) -> Step? {
        while let step = next() {
            if !step.isList || lists.insert(step.list).inserted { return step }
        }
        return nil
    }

    /// Goes on inside a list, whose bytes were read; false where they are none of that length.
    package mutating func enter(_ list: Step, _ bytes: Span<UInt8>) -> Bool {
        guard let extents = list.list.extents(bytes) else { return false }
        levels.append(Level(extents: extents, depth: list.depth))
        return true
    }
}

extension ExtentCursor.Step {
    /// Whether a chunk of that many bytes is what the asset says.
    package func fits(_ count: Int) -> Bool { isList || count == length }
}
