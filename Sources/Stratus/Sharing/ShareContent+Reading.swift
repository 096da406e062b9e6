internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What callers see of shares beside the fields of their records.
extension StoreReading {
    /// The record as a caller sees it: that of a share with its participants and, in another user's
    /// zone, a root without its parent.
    func shown(
        _ record: consuming Record, to principal: Principal, in scope: DatabaseScope
    ) throws(EngineError) -> Record {
        if record.isShare, let share = try share(of: record.recordID, in: scope) {
            record = record.holding(
                try content(of: share, in: record.recordID.zoneID, for: principal.user))
        }
        return record.shown(to: principal, in: scope)
    }

    /// The share of which a record is the record; nil where it has ended.
    private func share(
        of id: Record.ID, in scope: DatabaseScope
    ) throws(EngineError) -> SharePlace? {
        guard let database = try database(of: id.zoneID, in: scope),
            let zone = try ZonePlace.decoded(value(.zone(database, hash(id.zoneID.zoneName)))),
            zone.isAlive
        else { return nil }
        return try share(ofRecord: id.recordName, in: zone.number)
    }

    /// What a caller sees of a share. Who joined by the link sees only the owner and no others who did.
    func content(
        of place: SharePlace, in zoneID: RecordZone.ID, for caller: UserID?
    ) throws(EngineError) -> ShareContent {
        let entry = try shareEntry(place)
        guard let database = try zone(place.zone)?.database,
            let owner = try user(database)
        else { throw damaged(at: place.offset) }
        let entries = try participants(of: place.number)
        var all: [Share.Participant] = []
        var own: Share.Participant?
        for entry in entries {
            var participant = try participant(entry, for: caller)
            if participant.role == .publicUser {
                participant.permission = Share.Permission(rawValue: Int(place.permission)) ?? .none
            }
            if let caller, participant.userIdentity.userID == caller { own = participant }
            all.append(participant)
        }
        let ownerParticipant = Share.Participant(
            owner.bits, try identity(of: owner, database), .owner, .readWrite, .accepted,
            added: nil)
        if caller == owner { own = ownerParticipant }
        let seesAddresses = caller == owner || own?.role == .administrator
        let seesAll =
            caller == owner
            || own.map { $0.role != .publicUser && $0.acceptanceStatus == .accepted } ?? false
        if !seesAddresses {
            for place in all.indices where all[place].participantID != own?.participantID {
                all[place] = all[place].withoutAddress
            }
        }
        return ShareContent(
            root: place.isZoneWide
                ? nil : Record.ID(recordName: entry.rootName, zoneID: zoneID),
            link: entry.link,
            publicPermission: Share.Permission(rawValue: Int(entry.permission)) ?? .none,
            owner: ownerParticipant,
            participants: seesAll ? all : [own].compactMap(\.self), currentUser: own)
    }

    /// A participant as a caller may know one: of whom was invited by an address, and has not accepted,
    /// no more than others find.
    func participant(
        _ entry: ParticipantEntry, for caller: UserID?
    ) throws(EngineError) -> Share.Participant {
        var identity = UserIdentity()
        if entry.user != 0, let user = try user(entry.user) {
            let stated = try self.identity(of: entry.user)
            let isKnown =
                entry.status == .accepted || user == caller || stated?.isDiscoverable == true
            if isKnown {
                identity = try self.identity(of: user, entry.user)
            } else if entry.lookupKind == 3 {
                identity.userRecordID = Record.ID(recordName: user.recordName)
            }
        }
        identity.lookupInfo = UserIdentity.LookupInfo(
            storedKind: entry.lookupKind, entry.lookup)
        return Share.Participant(
            entry.id, identity, Share.Role(rawValue: Int(entry.role)) ?? .privateUser,
            Share.Permission(rawValue: Int(entry.permission)) ?? .none,
            Share.AcceptanceStatus(rawValue: Int(entry.status.rawValue)) ?? .pending,
            added: Date(milliseconds: entry.added))
    }

    /// Who a user is, to those who share something with the user.
    func identity(of user: UserID, _ number: UInt32) throws(EngineError) -> UserIdentity {
        var identity = UserIdentity(
            userRecordID: Record.ID(recordName: user.recordName))
        identity.nameComponents = try self.identity(of: number)?.personName
        identity.hasAccount = true
        return identity
    }
}
