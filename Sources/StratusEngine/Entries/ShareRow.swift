package import StratusIndex
package import StratusJournal

/// A row of a share's feed: that a record is in the share, or that it left: `Formats/Index.md`,
/// "Keys".
package struct ShareRow: Equatable, Sendable {
    /// Where a row stands in the feed of its share.
    package struct Place: Hashable, Comparable, Sendable {
        /// Of the entry that the row came with.
        package var version: Version
        /// The record's place in a members entry, otherwise 0.
        package var ordinal: UInt8

        package init(version: Version, ordinal: UInt8) {
            self.version = version
            self.ordinal = ordinal
        }

        package static func < (left: Place, right: Place) -> Bool {
            if left.version != right.version { return left.version < right.version }
            return left.ordinal < right.ordinal
        }
    }

    package var place: Place
    /// The record left the share.
    package var isGone: Bool
    /// The row came with a members entry, whose item ``Place/ordinal`` has the record's name and
    /// type.
    package var isFromMembers: Bool
    /// The version with which the record had entered.
    package var since: Version
    /// Where the entry lies that the row came with.
    package var entry: JournalOffset
    /// Of the frame of that entry, in bytes; of a living row of a members entry that of the
    /// record's own.
    package var length: Int
    /// The record's own entry; nil where it is gone.
    package var record: EntryLocation?

    private enum Flag {
        static let isGone: UInt64 = 1
        static let isFromMembers: UInt64 = 2
    }

    package init(_ value: IndexValue, at place: Place) {
        self.place = place
        isGone = value.second & Flag.isGone != 0
        isFromMembers = value.second & Flag.isFromMembers != 0
        entry = JournalOffset(rawValue: value.stamp)
        length = Int(truncatingIfNeeded: value.second >> 2)
        let stated = Version(rawValue: value.first)
        since = stated
        if isGone { return }
        guard isFromMembers else {
            record = EntryLocation(offset: entry, version: place.version, frameLength: length)
            return
        }
        // It entered with the members entry, and has had its version before.
        since = place.version
        record = EntryLocation(offset: stated.offset, version: stated, frameLength: length)
    }

    /// Of a record that is in the share, with its own entry.
    static func living(since: Version, length: Int, at stamp: UInt64) -> IndexValue {
        IndexValue(stamp: stamp, first: since.rawValue, second: UInt64(length) << 2)
    }

    /// Of a record that is in the share, with a members entry.
    static func living(_ item: MembersEntry.Item, at stamp: UInt64) -> IndexValue {
        IndexValue(
            stamp: stamp, first: item.version.rawValue,
            second: UInt64(item.length) << 2 | Flag.isFromMembers)
    }

    /// Of a record that left.
    ///
    /// - Parameter length: of the frame of the entry at `stamp`.
    static func gone(
        since: Version, length: Int, isFromMembers: Bool = false, at stamp: UInt64
    ) -> IndexValue {
        IndexValue(
            stamp: stamp, first: since.rawValue,
            second: UInt64(length) << 2 | (isFromMembers ? Flag.isFromMembers : 0) | Flag.isGone)
    }

    /// For how many bytes of the entry at the stamp a row stands, `part` being the share of one of many
    /// rows; nil: it needs none. The own entry of a record that is in the share has a row in the feed of
    /// the zone.
    static func bytesNamed(_ value: IndexValue, part: Int) -> Int? {
        if value.second & Flag.isFromMembers != 0 { return part }
        return value.second & Flag.isGone != 0 ? Int(truncatingIfNeeded: value.second >> 2) : nil
    }
}
