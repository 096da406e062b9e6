package import StratusIndex
package import StratusJournal

/// What the index says of a zone.
package struct ZonePlace: Equatable, Sendable {
    package var number: UInt32
    package var database: UInt32
    package var capabilities: ZoneCapabilities
    package var state: ZoneState
    /// Whether the zone has its history from elsewhere, which its entry names.
    package var hasLineage: Bool
    package var offset: JournalOffset

    package init(_ entry: ZoneEntry, at offset: JournalOffset) {
        number = entry.number
        database = entry.database
        capabilities = entry.capabilities
        state = entry.state
        hasLineage = entry.lineage != nil
        self.offset = offset
    }

    package init?(_ value: IndexValue) {
        guard let state = ZoneState(rawValue: UInt8(truncatingIfNeeded: value.second)) else {
            return nil
        }
        self.state = state
        number = UInt32(truncatingIfNeeded: value.first)
        database = UInt32(truncatingIfNeeded: value.first >> 32)
        capabilities = ZoneCapabilities(
            rawValue: UInt8(truncatingIfNeeded: value.second >> 8))
        hasLineage = value.second >> 16 & 1 != 0
        offset = JournalOffset(rawValue: value.stamp)
    }

    package var value: IndexValue {
        IndexValue(
            stamp: offset.rawValue, first: UInt64(database) << 32 | UInt64(number),
            second: (hasLineage ? 1 << 16 : 0) | UInt64(capabilities.rawValue) << 8
                | UInt64(state.rawValue))
    }

    package var isAlive: Bool { state == .alive }
    /// Whether there was such a zone, and is none any more.
    package var isGone: Bool { state == .deleted || state == .purged }
}
