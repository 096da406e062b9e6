internal import StratusFiles

/// A part of a segment that cannot be read as the journal says, and what a salvage needs to find what
/// is whole in it.
package struct JournalGap {
    let segment: Manifest.Segment
    /// Nothing in it was given; it may reach to where nothing was ever written.
    let range: Range<JournalOffset>
    let damage: JournalDamage
    /// Whether a group should begin where it does.
    let isWhereGroupBegins: Bool
    /// Whether an opening ends the journal where it begins: what was behind may never have been
    /// acknowledged.
    let isWhereJournalEnds: Bool
    /// Nil where there is nothing to look for in it.
    let file: (any StorageFile)?
    /// Of a compacted segment, the byte from which on its blocks lie.
    let blocksFrom: Int
    /// Where they end; nil where that is not known.
    let blocksTo: Int?

    /// From `start` on, to the end of what the manifest lists unless another end is given.
    init(
        _ segment: Manifest.Segment, from start: JournalOffset, to end: JournalOffset? = nil,
        _ damage: JournalDamage, isWhereGroupBegins: Bool = false,
        isWhereJournalEnds: Bool = false, file: (any StorageFile)? = nil, blocksFrom: Int = 0,
        blocksTo: Int? = nil
    ) {
        self.segment = segment
        range = start..<max(start, end ?? segment.end)
        self.damage = damage
        self.isWhereGroupBegins = isWhereGroupBegins
        self.isWhereJournalEnds = isWhereJournalEnds
        self.file = file
        self.blocksFrom = blocksFrom
        self.blocksTo = blocksTo
    }
}
