internal import StratusFiles
package import StratusIndex
package import StratusJournal

/// The time in which a user takes part in a share, as the index holds it: from the user's
/// acceptance to the end of that, if it came. It ends with the share and with the zone, too, which
/// the row does not say.
package struct Participation: Equatable, Sendable {
    /// The participant.
    package var user: UInt32
    /// Of the share.
    package var zone: UInt32
    package var share: UInt32
    /// The version of the entry with which it began.
    package var since: Version
    /// That of the entry that ended it; nil: none did.
    package var until: Version?
    /// As of ``ParticipantEntry``.
    package var permission: UInt8
    package var role: UInt8

    package init(
        user: UInt32, zone: UInt32, share: UInt32, since: Version, until: Version?,
        permission: UInt8, role: UInt8
    ) {
        self.user = user
        self.zone = zone
        self.share = share
        self.since = since
        self.until = until
        self.permission = permission
        self.role = role
    }

    package init?(_ key: IndexKey, _ value: IndexValue) {
        guard key.keyspace == KeySpace.participations.rawValue, key.count == 25 else { return nil }
        user = key.uint32(at: 5)
        zone = key.uint32(at: 9)
        share = key.uint32(at: 13)
        since = Version(rawValue: key.uint64(at: 17))
        until = value.first == 0 ? nil : Version(rawValue: value.first)
        permission = UInt8(truncatingIfNeeded: value.second)
        role = UInt8(truncatingIfNeeded: value.second >> 8)
    }

    package var key: IndexKey {
        .participation(user: user, zone: zone, share: share, since: since)
    }

    package func value(at stamp: UInt64) -> IndexValue {
        IndexValue(
            stamp: stamp, first: until?.rawValue ?? 0,
            second: UInt64(role) << 8 | UInt64(permission))
    }
}

extension Participation {
    /// Where it ended: with the entry that says so, with its share, with its zone; none: it lives. Of a
    /// zone or a share that is gone the entry is always kept.
    func ends(in index: OrderedIndex) throws(IndexError) -> [JournalOffset] {
        var ends = [until?.offset].compactMap(\.self)
        if let value = try index.value(of: .share(share), .blocking),
            let share = SharePlace(number: share, value), !share.hasMembers
        {
            ends.append(share.offset)
        }
        if let value = try index.value(of: .zoneNumber(zone), .blocking),
            let zone = ZonePlace(value), !zone.isAlive
        {
            ends.append(zone.offset)
        }
        return ends
    }
}
