package import StratusIndex
package import StratusJournal

/// Where an entry lies, as the index keeps it.
package struct EntryLocation: Equatable, Sendable {
    package var offset: JournalOffset
    package var version: Version
    package var frameLength: Int
    /// Of a record: the entry is its tombstone. Of a zone: it was deleted.
    package var isDeleted: Bool

    package init(
        offset: JournalOffset, version: Version, frameLength: Int, isDeleted: Bool = false
    ) {
        self.offset = offset
        self.version = version
        self.frameLength = frameLength
        self.isDeleted = isDeleted
    }

    package init(_ header: FrameHeader, at offset: JournalOffset, isDeleted: Bool) {
        self.offset = offset
        version = header.version
        frameLength = header.frameLength
        self.isDeleted = isDeleted
    }

    package init(_ value: IndexValue) {
        offset = JournalOffset(rawValue: value.stamp)
        version = Version(rawValue: value.first)
        frameLength = Int(value.second >> 1)
        isDeleted = value.second & 1 != 0
    }

    package var value: IndexValue {
        IndexValue(
            stamp: offset.rawValue, first: version.rawValue,
            second: UInt64(frameLength) << 1 | (isDeleted ? 1 : 0))
    }
}
