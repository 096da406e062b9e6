package import StratusBytes
package import StratusIndex
package import StratusJournal

extension KeySpace {
    /// The share that a record is in: ``ShareMembership``. A record that a members entry took out of a
    /// share has a row until its next entry: otherwise nothing would keep that members entry, and
    /// an index that is made anew would find the record in the share that its own entry states.
    package static var members: KeySpace {
        KeySpace(8, "members", names: .memberships, isRestated: true)
    }
    /// The last share of each root; its first word is the number. The key of the keyspace alone
    /// has a row, too, where the zone ever had a share.
    package static var shareRoots: KeySpace { KeySpace(9, "shareRoots", names: .elsewhere) }
    /// The feed of a share: ``ShareRow``.
    package static var shareRows: KeySpace {
        KeySpace(10, "shareRows", names: .shareRows, isRestated: true)
    }
    /// The last entry of each participant of a share.
    package static var participants: KeySpace { KeySpace(11, "participants") }
    /// The shares of a zone whose feeds are kept; the first word is the state.
    package static var zoneShares: KeySpace { KeySpace(13, "zoneShares", names: .elsewhere) }
    /// The entry that removed a participant. It is kept as long as the share has rows: otherwise an
    /// earlier entry, which a mark may keep, would bring the participant back where the index is
    /// made anew.
    package static var formerParticipants: KeySpace { KeySpace(14, "formerParticipants") }

    /// Shares that grow, by number; the first word is the zone.
    package static var growingShares: KeySpace {
        KeySpace(52, "growingShares", names: .elsewhere)
    }

    /// Shares by number: ``SharePlace``.
    package static var shares: KeySpace { KeySpace(32, "shares", names: .elsewhere) }
    /// The last share of each link; its first word is the number.
    package static var shareLinks: KeySpace { KeySpace(33, "shareLinks", names: .elsewhere) }
    /// ``Participation``.
    package static var participations: KeySpace {
        KeySpace(34, "participations", names: .parts)
    }
    /// Up to where the ends of a user's participations are forgotten: the first word.
    package static var participationHorizons: KeySpace {
        KeySpace(53, "participationHorizons")
    }
}

extension IndexKey {
    /// Of a record that is in a share.
    package static func member(_ zone: UInt32, _ name: Hash128) -> IndexKey {
        IndexKey(
            partition: zone, keyspace: KeySpace.members.rawValue, high: name.high, low: name.low)
    }
    /// Of a root, or of the whole zone.
    package static func shareRoot(_ zone: UInt32, _ root: Hash128?) -> IndexKey {
        KeySpace.shareRoots.key(zone: zone).appending(root ?? Hash128(high: 0, low: 0))
    }
    /// All keys of ``shareRoot(_:_:)`` in a zone, and the key of the keyspace.
    package static func shareRoots(_ zone: UInt32) -> Range<IndexKey> {
        KeySpace.shareRoots.range(zone: zone)
    }
    package static func zoneShare(_ zone: UInt32, _ share: UInt32) -> IndexKey {
        KeySpace.zoneShares.key(zone: zone).appending(share)
    }
    package static func zoneShares(_ zone: UInt32) -> Range<IndexKey> {
        KeySpace.zoneShares.range(zone: zone)
    }
    package static func shareRow(_ share: UInt32, _ place: ShareRow.Place) -> IndexKey {
        KeySpace.shareRows.key(zone: share).appending(place.version.rawValue)
            .appending(place.ordinal)
    }
    package static func shareRows(_ share: UInt32) -> Range<IndexKey> {
        KeySpace.shareRows.range(zone: share)
    }
    package static func participant(_ share: UInt32, _ id: Hash128) -> IndexKey {
        KeySpace.participants.key(zone: share).appending(id)
    }
    package static func participants(_ share: UInt32) -> Range<IndexKey> {
        KeySpace.participants.range(zone: share)
    }
    package static func formerParticipant(_ share: UInt32, _ id: Hash128) -> IndexKey {
        KeySpace.formerParticipants.key(zone: share).appending(id)
    }
    package static func share(_ number: UInt32) -> IndexKey {
        KeySpace.shares.key().appending(number)
    }
    package static func growingShare(_ number: UInt32) -> IndexKey {
        KeySpace.growingShares.key().appending(number)
    }
    package static func shareLink(_ link: Hash128) -> IndexKey {
        KeySpace.shareLinks.key().appending(link)
    }
    package static func participation(
        user: UInt32, zone: UInt32, share: UInt32, since: Version
    ) -> IndexKey {
        KeySpace.participations.key().appending(user).appending(zone).appending(share)
            .appending(since.rawValue)
    }
    package static func participationHorizon(_ user: UInt32) -> IndexKey {
        KeySpace.participationHorizons.key().appending(user)
    }
    /// All participations that a user has or had.
    package static func participations(of user: UInt32) -> Range<IndexKey> {
        KeySpace.participations.key().appending(user).asPrefix
    }
    package static func participations(of user: UInt32, in zone: UInt32) -> Range<IndexKey> {
        KeySpace.participations.key().appending(user).appending(zone).asPrefix
    }

    /// Of a key of ``KeySpace/shares`` or ``KeySpace/growingShares`` the number of the share.
    package var shareNumber: UInt32 { uint32(at: 5) }

    /// Whether its partition is that of a share, by the keyspace.
    var isOfShare: Bool {
        switch keyspace {
        case KeySpace.shareRows.rawValue, KeySpace.participants.rawValue,
            KeySpace.formerParticipants.rawValue:
            true
        default: false
        }
    }
}

extension ShareRow {
    /// Nil where the key is none of a share's feed.
    package init?(_ key: IndexKey, _ value: IndexValue) {
        guard key.keyspace == KeySpace.shareRows.rawValue, key.count == 14 else { return nil }
        let version = Version(rawValue: key.uint64(at: 5))
        self.init(value, at: Place(version: version, ordinal: key.byte(at: 13)))
    }
}
