internal import StratusIndex
internal import StratusJournal

/// What the index says of a zone.
struct ZonePlace: Equatable, Sendable {
    var number: UInt32
    var database: UInt32
    var capabilities: ZoneCapabilities
    var state: ZoneState
    var incarnation: UInt16
    var offset: JournalOffset

    init(_ entry: ZoneEntry, at offset: JournalOffset) {
        number = entry.number
        database = entry.database
        capabilities = entry.capabilities
        state = entry.state
        incarnation = entry.incarnation
        self.offset = offset
    }

    init?(_ value: IndexValue) {
        guard let state = ZoneState(rawValue: UInt8(truncatingIfNeeded: value.second)) else {
            return nil
        }
        self.state = state
        number = UInt32(truncatingIfNeeded: value.first)
        database = UInt32(truncatingIfNeeded: value.first >> 32)
        capabilities = ZoneCapabilities(
            rawValue: UInt8(truncatingIfNeeded: value.second >> 8))
        incarnation = UInt16(truncatingIfNeeded: value.second >> 16)
        offset = JournalOffset(rawValue: value.stamp)
    }

    var value: IndexValue {
        IndexValue(
            stamp: offset.rawValue, first: UInt64(database) << 32 | UInt64(number),
            second: UInt64(incarnation) << 16 | UInt64(capabilities.rawValue) << 8
                | UInt64(state.rawValue))
    }

    var isAlive: Bool { state == .alive }
}
