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
}

/// What of a zone is shared, so that the same is not shared twice.
private struct SharedParts {
    private let zone: ZonePlace?
    private let zoneID: RecordZone.ID
    private let reading: StoreReading
    private var hasWhole = false
    private var roots: Set<String> = []
    /// The roots, and all records above them.
    private var above: Set<String> = []

    /// - Parameter zone: nil: the zone is still to be made.
    init(
        of zone: ZonePlace?, _ zoneID: RecordZone.ID, _ reading: StoreReading
    ) throws(EngineError) {
        self.zone = zone
        self.zoneID = zoneID
        self.reading = reading
        guard let zone else { return }
        for share in try reading.shares(of: zone) {
            if share.isZoneWide {
                hasWhole = true
            } else {
                note(try path(from: reading.shareEntry(share).rootName))
            }
        }
    }

    /// Adds a share of the record `root`, or of the whole zone where that is nil; returns false, and adds
    /// none, where that or something above or below it is shared.
    mutating func add(_ root: String?) throws(EngineError) -> Bool {
        if hasWhole { return false }
        guard let root else {
            hasWhole = roots.isEmpty
            return hasWhole
        }
        if above.contains(root) { return false }
        let path = try path(from: root)
        if path.contains(where: roots.contains) { return false }
        note(path)
        return true
    }

    private mutating func note(_ path: [String]) {
        roots.insert(path[0])
        above.formUnion(path)
    }

    /// The name of a record, and then of those above it.
    private func path(from name: String) throws(EngineError) -> [String] {
        var path = [name]
        guard let zone else { return path }
        while let record = try reading.record(named: path[path.count - 1], in: zone, as: zoneID),
            let parent = record.parent?.recordID.recordName, !path.contains(parent)
        { path.append(parent) }
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
        for (share, id) in try await plan(shares, in: zoneID) {
            do throws(StoreError) {
                let joined = dryRun ? nil : try await self.share(again: share, as: id)
                made.append(RestoredAccess(share, joined: joined, of: userName, as: id))
            } catch {
                guard error.code != .operationCancelled else { throw error }
                failures[id] = error
            }
        }
        return (made, failures)
    }

    /// The shares that are made, as they are made here, and the names of their records.
    private nonisolated(nonsending) func plan(
        _ shares: [PastShare], in zoneID: RecordZone.ID
    ) async throws(StoreError) -> [(PastShare, Record.ID)] {
        try await read { view throws(EngineError) in
            let reading = try view.reading
            var zone: ZonePlace?
            if let number = try reading.livingZone(zoneID, in: view.scope) {
                zone = try reading.zone(number)
            }
            var shared = try SharedParts(of: zone, zoneID, reading)
            var plans: [(PastShare, Record.ID)] = []
            for past in shares {
                guard try shared.add(past.root) else { continue }
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
                plans.append((share, Record.ID(recordName: name, zoneID: zoneID)))
            }
            return plans
        }
    }

    /// Returns the participants who have accepted it again.
    private nonisolated(nonsending) func share(
        again past: PastShare, as id: Record.ID
    ) async throws(StoreError) -> [PastShare.Participant] {
        let root = past.root.map { Record.ID(recordName: $0, zoneID: id.zoneID) }
        var share = Share(sharing: root, as: id, recordChangeTag: nil)
        share.record = past.record.copied(over: share.record)
        let invited = past.participants.filter { $0.role != .publicUser }
        share.setParticipants(invited.map { Share.Participant($0) })
        // A public share takes no invitations: it becomes public once the invited have accepted.
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
            let hasAccepted = try await container.answer { () async throws(EngineError) in
                do throws(EngineError) {
                    try await container.accept(link, as: user.id, named: user.name)
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
        // The owner sees a participant who has not accepted by this alone.
        identity.lookupInfo =
            past.address ?? identity.userRecordID.map { UserIdentity.LookupInfo(userRecordID: $0) }
        self.init(identity, role: past.role, permission: past.permission)
    }
}

extension RestoredAccess {
    /// - Parameter joined: the participants who have accepted again; nil: a dry run, in which all that had
    ///   accepted count.
    fileprivate init(
        _ past: PastShare, joined: [PastShare.Participant]?, of owner: String, as id: Record.ID
    ) {
        self.init(user: owner, share: id)
        publicPermission = past.publicPermission
        // A share that becomes public drops participants who have not accepted.
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
