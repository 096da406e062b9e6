package import StratusIndex
package import StratusJournal

/// What the index says of a share.
package struct SharePlace: Equatable, Sendable {
    package var number: UInt32
    /// Of the records.
    package var zone: UInt32
    /// What anyone may do who has the link: as of ``ShareEntry/permission``.
    package var permission: UInt8
    package var state: ShareState
    package var isZoneWide: Bool
    /// Where the share's first entry lies.
    package var first: JournalOffset
    /// Where its last entry lies: the end of a share that has ended.
    package var offset: JournalOffset

    package init(
        _ entry: ShareEntry, zone: UInt32, first: JournalOffset, at offset: JournalOffset
    ) {
        number = entry.number
        self.zone = zone
        permission = entry.permission
        state = entry.state
        isZoneWide = entry.isZoneWide
        self.first = first
        self.offset = offset
    }

    package init?(number: UInt32, _ value: IndexValue) {
        let state = ShareState(rawValue: UInt8(truncatingIfNeeded: value.first >> 40))
        guard let state else { return nil }
        self.number = number
        self.state = state
        zone = UInt32(truncatingIfNeeded: value.first)
        permission = UInt8(truncatingIfNeeded: value.first >> 32)
        isZoneWide = value.first >> 48 & 1 != 0
        first = JournalOffset(rawValue: value.second)
        offset = JournalOffset(rawValue: value.stamp)
    }

    package var value: IndexValue {
        let flag: UInt64 = isZoneWide ? 1 : 0
        return IndexValue(
            stamp: offset.rawValue,
            first: flag << 48 | UInt64(state.rawValue) << 40 | UInt64(permission) << 32
                | UInt64(zone),
            second: first.rawValue)
    }

    package var isAlive: Bool { state == .alive }

    /// Whether records are its members: also before anybody sees the share.
    package var hasMembers: Bool { state != .ended }
}
