package import StratusIndex
package import StratusJournal

/// What the index says of the share that a record is in. The share may have ended: the record
/// leaves it with its next entry.
package struct MemberPlace: Equatable, Sendable {
    /// 0: a members entry took the record out of a share, and it is in none since. The record's
    /// next entry states that as its former membership.
    package var share: UInt32
    /// The version of the entry with which the record entered.
    package var since: Version
    /// As of ``ShareMembership/place``.
    package var place: UInt32

    package init(share: UInt32, since: Version, place: UInt32) {
        self.share = share
        self.since = since
        self.place = place
    }

    package init(_ value: IndexValue) {
        share = UInt32(truncatingIfNeeded: value.first)
        place = UInt32(truncatingIfNeeded: value.first >> 32)
        since = Version(rawValue: value.second)
    }

    package func value(at stamp: UInt64) -> IndexValue {
        IndexValue(
            stamp: stamp, first: UInt64(place) << 32 | UInt64(share), second: since.rawValue)
    }

    /// Whether the entry at the stamp is the members entry with which the membership began. Where
    /// an index is made anew of a part of the journal, it may be a later one of the record.
    static func isOfMembersEntry(_ value: IndexValue) -> Bool {
        let member = MemberPlace(value)
        return member.place > 0 && member.since.offset.rawValue == value.stamp
    }

    /// As the record's next entry states it.
    package var membership: ShareMembership {
        ShareMembership(share: share, since: since, place: place)
    }
}
