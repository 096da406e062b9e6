internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What the index says of shares.
extension StoreReading {
    /// Whether a hierarchy of the zone is shared, or ever was, or all of the zone.
    func everShared(_ zone: ZonePlace) throws(EngineError) -> Bool {
        guard zone.capabilities.contains(.sharing) else { return false }
        return try value(KeySpace.shareRoots.key(zone: zone.number)) != nil
    }

    /// The share of that number; nil where there is none.
    func share(_ number: UInt32) throws(EngineError) -> SharePlace? {
        guard let value = try value(.share(number)) else { return nil }
        guard let place = SharePlace(number: number, value) else {
            throw damaged(at: JournalOffset(rawValue: value.stamp))
        }
        return place
    }

    /// The last share of a root, living or not; nil as root stands for the whole zone.
    func share(ofRoot root: Hash128?, in zone: UInt32) throws(EngineError) -> SharePlace? {
        guard let value = try value(.shareRoot(zone, root)) else { return nil }
        return try share(UInt32(truncatingIfNeeded: value.first))
    }

    /// The shares of a zone that have not ended, also those that still grow.
    func shares(of zone: ZonePlace) throws(EngineError) -> [SharePlace] {
        var numbers: Set<UInt32> = []
        try scan(IndexKey.shareRoots(zone.number)) { _, value in
            // The row of the zone itself names its last share once more.
            numbers.insert(UInt32(truncatingIfNeeded: value.first))
            return true
        }
        var shares: [SharePlace] = []
        for number in numbers.sorted() {
            if let share = try share(number), share.hasMembers { shares.append(share) }
        }
        return shares
    }

    /// The living share whose record has that name.
    func share(ofRecord name: String, in zone: UInt32) throws(EngineError) -> SharePlace? {
        let place: SharePlace?
        if name == Share.zoneWideRecordName {
            place = try share(ofRoot: nil, in: zone)
        } else {
            place = try member(hash(name), in: zone).flatMap { member throws(EngineError) in
                try share(member.share)
            }
        }
        return place.flatMap { $0.isAlive ? $0 : nil }
    }

    /// Whether an entry of a record is that of a share's.
    func isShareRecord(_ entry: JournalEntry) throws(EngineError) -> Bool {
        schema.name(try entry.recordHead().head.type) == Record.shareType
    }

    /// The living share with that link.
    func share(withLink link: Hash128) throws(EngineError) -> SharePlace? {
        guard let value = try value(.shareLink(link)),
            let place = try share(UInt32(truncatingIfNeeded: value.first)), place.isAlive,
            try zone(place.zone)?.isAlive == true
        else { return nil }
        return place
    }

    /// What the last entry of a share says, with the version of the first one, as the next one is to
    /// state it.
    func shareEntry(_ place: SharePlace) throws(EngineError) -> ShareEntry {
        let entry = try storedEntry(at: place.offset)
        guard entry.kind == .share, var share = entry.withPayload({ try? ShareEntry($0) }) else {
            throw .damaged(entry)
        }
        share.began = identity.version(at: place.first)
        return share
    }

    /// The share that a record is in, as the index says: one that ended is left by the record's next
    /// entry.
    func member(_ name: Hash128, in zone: UInt32) throws(EngineError) -> ShareMembership? {
        try value(.member(zone, name)).map { ShareMembership($0) }
    }

    /// The participants of a share, in the order of their IDs.
    func participants(of share: UInt32) throws(EngineError) -> [ParticipantEntry] {
        var places: [EntryLocation] = []
        try scan(IndexKey.participants(share)) { _, value in
            places.append(EntryLocation(value))
            return true
        }
        var participants: [ParticipantEntry] = []
        for entry in try entries(places) {
            guard entry.kind == .participant,
                let participant = entry.withPayload({ try? ParticipantEntry($0) })
            else { throw .damaged(entry) }
            participants.append(participant.continued(from: entry.version))
        }
        return participants
    }

    /// The participations of a user that the index holds, in the zone or, where that is nil, in all.
    func participations(
        of user: UInt32, in zone: UInt32?
    ) throws(EngineError) -> [Participation] {
        let range =
            zone.map { IndexKey.participations(of: user, in: $0) }
            ?? IndexKey.participations(of: user)
        var found: [Participation] = []
        try scan(range) { key, value throws(EngineError) in
            guard let participation = Participation(key, value) else {
                throw damaged(at: JournalOffset(rawValue: value.stamp))
            }
            found.append(participation)
            return true
        }
        return found
    }

    /// The entry at an offset that the index names.
    private func storedEntry(at offset: JournalOffset) throws(EngineError) -> JournalEntry {
        guard let entry = try keptEntry(at: offset) else { throw damaged(at: offset) }
        return entry
    }

    /// The number of the database that a zone of a scope lies in; nil where its owner has never
    /// written.
    func database(
        of zone: RecordZone.ID, in scope: DatabaseScope
    ) throws(EngineError) -> UInt32? {
        guard case .shared(let caller) = scope else { return try database(scope) }
        guard let owner = UserID(recordName: zone.ownerName), owner != caller else { return nil }
        return try user(owner)
    }
}
