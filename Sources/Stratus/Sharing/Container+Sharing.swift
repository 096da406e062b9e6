internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

extension Container {
    /// What others share with `user`, on one of the user's devices: zones of others, of which there is
    /// what is shared. A zone is named with its owner's user record name.
    ///
    /// Names as of ``privateDatabase(for:device:)``. Rules: `Formats/README.md`, "The shared database".
    public func sharedDatabase(for user: String, device: String? = nil) -> Database {
        Database(
            container: self, scope: .shared(user: userID(user)), principal: principal(user),
            userName: user, device: device)
    }

    /// What the link of a share tells a user.
    ///
    /// - Parameters:
    ///   - shortGUID: ``Share/shortGUID``.
    ///   - includingRootRecord: whether the root is to be given along.
    /// - Throws: ``StoreError`` with `unknownItem` where no living share has the link,
    ///   `permissionFailure` where it is private and the user was not invited,
    ///   `participantMayNeedVerification` where the user may have been, by an address that belongs to no
    ///   user yet.
    public nonisolated(nonsending) func shareMetadata(
        for shortGUID: String, as user: String, includingRootRecord: Bool = false
    ) async throws(StoreError) -> Share.Metadata {
        try await answer { () async throws(EngineError) -> Share.Metadata in
            try checkSharing(user)
            let caller = userID(user)
            guard let link = Hash128(hexDigits: shortGUID) else { throw .refused(.noSuchLink) }
            return try await read { reading throws(EngineError) in
                try reading.metadata(link, for: caller, includingRootRecord: includingRootRecord)
            }
        }
    }

    /// Accepts a share, of which the user then finds the records in the shared database. Accepting it
    /// again changes nothing.
    ///
    /// - Throws: as ``shareMetadata(for:as:includingRootRecord:)``.
    @discardableResult
    public nonisolated(nonsending) func acceptShare(
        _ shortGUID: String, as user: String
    ) async throws(StoreError) -> Share.Metadata {
        try await answer { () async throws(EngineError) in
            try checkSharing(user)
            guard let link = Hash128(hexDigits: shortGUID) else { throw .refused(.noSuchLink) }
            try await accept(link, as: userID(user), named: user)
        }
        return try await shareMetadata(for: shortGUID, as: user)
    }

    /// Accepts a share for a user whom the host calls by that name.
    nonisolated(nonsending) func accept(
        _ link: Hash128, as user: UserID, named name: String
    ) async throws(EngineError) {
        _ = try await engine().commit(
            ShareAcceptance(
                link: link, caller: user, userName: name,
                participantLimit: limits?.profile.participantsPerShare))
    }

    private func checkSharing(_ user: String) throws(EngineError) {
        let caller = userID(user)
        try Permission.check(.write, by: principal(user), in: .shared(user: caller))
        try limits?.admit(caller)
    }
}

extension Snapshot {
    /// What others share with `user`. Of an empty name every read is `invalidArguments`.
    public func sharedDatabase(for user: String) -> DatabaseSnapshot {
        DatabaseSnapshot(
            self, .shared(user: container.userID(user)), container.principal(user))
    }
}

extension StoreReading {
    fileprivate func metadata(
        _ link: Hash128, for caller: UserID, includingRootRecord: Bool
    ) throws(EngineError) -> Share.Metadata {
        let refusal = try accountRefusal(
            of: .user(caller), in: .shared(user: caller), isWrite: false)
        if let refusal { throw .refused(refusal) }
        guard let place = try share(withLink: link), let zone = try zone(place.zone),
            let owner = try user(zone.database)
        else { throw .refused(.noSuchLink) }
        let isOwner = owner == caller
        let invitation = try ShareInvitation(place, caller, self)
        if !isOwner { try invitation.check() }
        let entry = try shareEntry(place)
        let zoneID = RecordZone.ID(
            zoneName: try zoneEntry(zone).name,
            ownerName: isOwner ? RecordZone.ID.currentUser : owner.recordName)
        var content = try content(of: place, in: zoneID, for: caller)
        var own: Share.Participant?
        if let entry = invitation.participant { own = try participant(entry, for: caller) }
        if content.currentUser == nil { content.currentUser = own }
        let scope: DatabaseScope = isOwner ? .private(owner: caller) : .shared(user: caller)
        guard let record = try record(named: entry.recordName, in: zone, as: zoneID),
            let share = Share(record.holding(content).shown(to: .user(caller), in: scope))
        else { throw damaged(at: place.offset) }
        let shown = isOwner ? content.owner : own
        var root: Record?
        if includingRootRecord, let id = content.root {
            root = try self.record(named: id.recordName, in: zone, as: zoneID)?
                .shown(to: .user(caller), in: scope)
        }
        return Share.Metadata(
            shortGUID: content.shortGUID, share: share, zoneID: zoneID,
            hierarchicalRootRecordID: content.root, rootRecord: root,
            ownerIdentity: content.owner.userIdentity,
            participantRole: shown?.role ?? .publicUser,
            participantStatus: shown?.acceptanceStatus ?? .pending,
            participantPermission: shown?.permission ?? content.publicPermission)
    }

    /// The record of that name, where it is there.
    func record(
        named name: String, in zone: ZonePlace, as zoneID: RecordZone.ID
    ) throws(EngineError) -> Record? {
        let value = try value(.record(zone.number, hash(name)))
        guard let place = value.map({ EntryLocation($0) }), !place.isDeleted else { return nil }
        return try record(place, as: Record.ID(recordName: name, zoneID: zoneID))
    }
}
