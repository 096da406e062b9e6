internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// A share of a zone of another store, or of a state of this one, as it can be made again.
struct PastShare: Sendable {
    struct Participant: Sendable {
        /// A user of this store; nil: none that is known has the address.
        var user: ZoneHistory.User?
        /// By which the participant was invited; nil: by name.
        var address: UserIdentity.LookupInfo?
        var role: Share.Role
        var permission: Share.Permission
        /// Whether the participant can be taken for one who has accepted here, too.
        var hasAccepted: Bool
    }

    /// Of the share, with the fields that it had.
    let record: Record
    /// The name of the root; nil: the whole zone was shared.
    let root: String?
    let publicPermission: Share.Permission
    /// But for the owner, and for those who had left.
    var participants: [Participant]
}

extension DatabaseSnapshot {
    /// What is shared of a zone of a private database, by users as they are in the store of `container`.
    func shares(
        of zoneID: RecordZone.ID, for container: Container
    ) throws(StoreError) -> [PastShare] {
        try answer { view throws(EngineError) in
            let reading = try view.reading
            guard let zone = try view.usedZone(zoneID, reading)?.place else { return [] }
            var users = PastUsers(reading, container.identity)
            var shares: [PastShare] = []
            for place in try reading.shares(of: zone) where place.isAlive {
                let share = try reading.pastShare(place, of: zone, zoneID, &users)
                if let share { shares.append(share) }
            }
            return shares
        }
    }
}

extension StoreReading {
    /// The shares of a zone that have not ended, also those that nobody sees yet.
    fileprivate func shares(of zone: ZonePlace) throws(EngineError) -> [SharePlace] {
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

    /// Nil where the record of the share is gone.
    fileprivate func pastShare(
        _ place: SharePlace, of zone: ZonePlace, _ zoneID: RecordZone.ID, _ users: inout PastUsers
    ) throws(EngineError) -> PastShare? {
        let entry = try shareEntry(place)
        guard let record = try record(named: entry.recordName, in: zone, as: zoneID) else {
            return nil
        }
        var participants: [PastShare.Participant] = []
        for entry in try self.participants(of: place.number) where entry.status != .removed {
            let lookup = UserIdentity.LookupInfo(storedKind: entry.lookupKind, entry.lookup)
            var user: ZoneHistory.User?
            if let id = try self.user(entry.user) ?? lookup?.userID { user = try users.user(id) }
            participants.append(
                PastShare.Participant(
                    user: user, address: lookup?.userRecordID == nil ? lookup : nil,
                    role: Share.Role(rawValue: Int(entry.role)) ?? .privateUser,
                    permission: Share.Permission(rawValue: Int(entry.permission)) ?? .none,
                    hasAccepted: entry.status == .accepted && user.map(users.isSure) == true))
        }
        return PastShare(
            record: record, root: place.isZoneWide ? nil : entry.rootName,
            publicPermission: Share.Permission(rawValue: Int(entry.permission)) ?? .none,
            participants: participants)
    }

    /// Whether nothing of a zone is shared that a share of the record `root`, or of all of it where that
    /// is nil, would have in it or lie in.
    fileprivate func canShare(_ root: String?, of zone: ZonePlace) throws(EngineError) -> Bool {
        let shares = try shares(of: zone)
        guard let root else { return shares.isEmpty }
        if shares.contains(where: \.isZoneWide) { return false }
        var roots: Set<String> = []
        for share in shares { roots.insert(try shareEntry(share).rootName) }
        if try path(from: root, in: zone).contains(where: roots.contains) { return false }
        for other in roots where try path(from: other, in: zone).contains(root) { return false }
        return true
    }

    /// The names of a record and of those above it.
    private func path(from name: String, in zone: ZonePlace) throws(EngineError) -> [String] {
        var path: [String] = []
        var next: String? = name
        while let name = next, !path.contains(name) {
            path.append(name)
            next = nil
            guard let value = try value(.record(zone.number, hash(name))),
                !EntryLocation(value).isDeleted
            else { break }
            let entry = try entry(EntryLocation(value))
            let head = try entry.recordHead().head
            do throws(FormatError) {
                next = try head.parent(in: entry.bytes.span)
            } catch {
                throw .damaged(entry)
            }
        }
        return path
    }
}

extension Database {
    /// Makes shares again, one after the other, in a zone that has their roots. What is shared by now
    /// stays as it is, and so does what it would share.
    ///
    /// - Returns: what was shared again, or would be, and why others were not, by their names.
    nonisolated(nonsending) func share(
        again shares: [PastShare], in zoneID: RecordZone.ID, dryRun: Bool
    ) async throws(StoreError) -> (made: [RestoredAccess], failures: [Record.ID: StoreError]) {
        var made: [RestoredAccess] = []
        var failures: [Record.ID: StoreError] = [:]
        for past in shares {
            guard let planned = try await plan(past, in: zoneID) else { continue }
            do throws(StoreError) {
                let joined = dryRun ? nil : try await share(again: planned.share, as: planned.id)
                made.append(
                    RestoredAccess(planned.share, joined: joined, of: userName, as: planned.id))
            } catch {
                guard error.code != .operationCancelled else { throw error }
                failures[planned.id] = error
            }
        }
        return (made, failures)
    }

    /// A share as it is made here, with the name of its record; nil where it is not.
    private nonisolated(nonsending) func plan(
        _ past: PastShare, in zoneID: RecordZone.ID
    ) async throws(StoreError) -> (share: PastShare, id: Record.ID)? {
        try await read { view throws(EngineError) in
            let reading = try view.reading
            var zone: ZonePlace?
            if let number = try reading.livingZone(zoneID, in: view.scope) {
                zone = try reading.zone(number)
            }
            if let zone, try !reading.canShare(past.root, of: zone) { return nil }
            var share = past
            share.participants = []
            for var participant in past.participants {
                if participant.user == nil, let (kind, text) = participant.address?.stored,
                    let number = try reading.user(withAddress: kind, text),
                    let id = try reading.user(number)
                {
                    participant.user = ZoneHistory.User(id: id, name: "")
                }
                let isOwner = participant.user.map { view.scope == .private(owner: $0.id) }
                if isOwner != true { share.participants.append(participant) }
            }
            // Another record may have that name by now.
            var name = past.record.recordID.recordName
            while past.root != nil, let zone,
                try reading.record(named: name, in: zone, as: zoneID) != nil
            { name += "-2" }
            return (share, Record.ID(recordName: name, zoneID: zoneID))
        }
    }

    /// Returns who had joined it and has joined it again.
    private nonisolated(nonsending) func share(
        again past: PastShare, as id: Record.ID
    ) async throws(StoreError) -> [PastShare.Participant] {
        let root = past.root.map { Record.ID(recordName: $0, zoneID: id.zoneID) }
        var share = Share(sharing: root, as: id, recordChangeTag: nil)
        share.record = past.record.copied(over: share.record)
        let invited = past.participants.filter { $0.role != .publicUser }
        share.setParticipants(invited.map { Share.Participant($0) })
        // A share that anyone may join takes nobody who is invited: then it becomes so afterwards.
        if invited.isEmpty { share.publicPermission = past.publicPermission }
        share = try await saved(share)
        var joined = try await accept(share, invited)
        if share.publicPermission != past.publicPermission {
            let record = try await record(for: id)
            share = Share(record) ?? share
            share.publicPermission = past.publicPermission
            share = try await saved(share)
        }
        joined += try await accept(share, past.participants.filter { $0.role == .publicUser })
        return joined
    }

    private nonisolated(nonsending) func saved(_ share: Share) async throws(StoreError) -> Share {
        let result = try await modifyRecords(
            saving: [share.record], savePolicy: .ifServerRecordUnchanged)
        guard let record = try result.saveResults[share.recordID]?.get() else { return share }
        return Share(record) ?? share
    }

    /// Returns who has accepted: a user whom the status of the account or a limit refuses has not.
    private nonisolated(nonsending) func accept(
        _ share: Share, _ participants: [PastShare.Participant]
    ) async throws(StoreError) -> [PastShare.Participant] {
        guard let link = share.shortGUID.flatMap({ Hash128(hexDigits: $0) }) else { return [] }
        var joined: [PastShare.Participant] = []
        for participant in participants where participant.hasAccepted {
            guard let user = participant.user else { continue }
            let acceptance = ShareAcceptance(
                link: link, caller: user.id, userName: user.name,
                participantLimit: container.limits?.profile.participantsPerShare)
            let hasAccepted = try await container.answer { () async throws(EngineError) in
                do throws(EngineError) {
                    _ = try await container.engine().commit(acceptance)
                    return true
                } catch .other(is StoreError) {
                    return false
                }
            }
            if hasAccepted { joined.append(participant) }
        }
        return joined
    }
}

extension Share.Participant {
    fileprivate init(_ past: PastShare.Participant) {
        var identity = UserIdentity()
        identity.userRecordID = past.user.map { Record.ID(recordName: $0.id.recordName) }
        // By what the owner finds again who has not accepted.
        identity.lookupInfo =
            past.address ?? identity.userRecordID.map { UserIdentity.LookupInfo(userRecordID: $0) }
        self.init(identity, role: past.role, permission: past.permission)
    }
}

extension RestoredAccess {
    /// - Parameter joined: who has joined it again; nil: whoever had joined will.
    fileprivate init(
        _ past: PastShare, joined: [PastShare.Participant]?, of owner: String, as id: Record.ID
    ) {
        self.init(user: owner, share: id)
        publicPermission = past.publicPermission
        // A share that anyone may join keeps nobody who has not.
        let present =
            publicPermission == .none
            ? past.participants : joined ?? past.participants.filter(\.hasAccepted)
        participants = present.map { participant in
            if let user = participant.user {
                return user.name.isEmpty ? user.id.recordName : user.name
            }
            return participant.address?.emailAddress ?? participant.address?.phoneNumber ?? ""
        }
    }
}
