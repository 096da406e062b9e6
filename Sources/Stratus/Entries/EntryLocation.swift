internal import StratusIndex
internal import StratusJournal

/// Where an entry lies, as the index keeps it.
struct EntryLocation: Equatable, Sendable {
    var offset: JournalOffset
    var version: Version
    var frameLength: Int
    /// Of a record: the entry is its tombstone. Of a zone: it was deleted.
    var isDeleted: Bool

    init(_ header: FrameHeader, at offset: JournalOffset, isDeleted: Bool) {
        self.offset = offset
        version = header.version
        frameLength = header.frameLength
        self.isDeleted = isDeleted
    }

    init(_ value: IndexValue) {
        offset = JournalOffset(rawValue: value.stamp)
        version = Version(rawValue: value.first)
        frameLength = Int(value.second >> 1)
        isDeleted = value.second & 1 != 0
    }

    var value: IndexValue {
        IndexValue(
            stamp: offset.rawValue, first: version.rawValue,
            second: UInt64(frameLength) << 1 | (isDeleted ? 1 : 0))
    }
}
