internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// A part of a store, and what a user may do there. Beyond CloudKit.
public struct UserGrant: Sendable {
    /// Whose database it lies in.
    public var database: AccessDatabase
    /// The share that gives it to the user; nil in the public database and in the user's own.
    public var share: Share?
    /// What the user is in the share: a participant, or one who was invited.
    public var participant: Share.Participant?
    /// What the user may do with the records there, but for those with rules of their own: roots, the
    /// records of shares and of users. In the public database roles decide what of it, type by type.
    public var actions: Set<AccessAction>
}

extension Container {
    /// What a user may do: in the user's private database, in the public one, and in all that others
    /// share with the user or invite the user to.
    ///
    /// - Returns: in this order, shares by their numbers.
    /// - Throws: ``StoreError`` with `invalidArguments` where the name is empty.
    public nonisolated(nonsending) func grants(
        of user: String
    ) async throws(StoreError) -> [UserGrant] {
        try await answer { () async throws(EngineError) -> [UserGrant] in
            let id = try namedUser(user)
            return try await read { reading throws(EngineError) in
                try reading.grants(of: id)
            }
        }
    }
}

extension Snapshot {
    /// What a user might do then: as of ``Container/grants(of:)``. Accounts count as they are now.
    public func grants(of user: String) throws(StoreError) -> [UserGrant] {
        try answering { () throws(EngineError) -> [UserGrant] in
            try reading().grants(of: container.namedUser(user))
        }
    }
}

extension AccessAction {
    /// As the decider calls it.
    var asked: Permission.Action {
        switch self {
        case .read: .read
        case .create: .create
        case .write: .write
        case .delete: .delete
        }
    }
}

extension StoreReading {
    fileprivate func grants(of user: UserID) throws(EngineError) -> [UserGrant] {
        let own = DatabaseScope.private(owner: user)
        var grants = [
            UserGrant(
                database: .private(owner: user.recordName),
                actions: try actions(of: user, on: .database, in: own)),
            UserGrant(
                database: .public, actions: try actions(of: user, on: .database, in: .public)),
        ]
        var shares: [SharePlace] = []
        try scan(KeySpace.shares.range()) { key, value throws(EngineError) in
            let number = key.shareNumber
            guard let place = SharePlace(number: number, value) else {
                throw damaged(at: JournalOffset(rawValue: value.stamp))
            }
            if place.isAlive { shares.append(place) }
            return true
        }
        for place in shares {
            if let grant = try grant(of: user, in: place) { grants.append(grant) }
        }
        return grants
    }

    /// Nil where the share has no such participant, and did not invite the user.
    private func grant(
        of user: UserID, in place: SharePlace
    ) throws(EngineError) -> UserGrant? {
        guard let participant = try ShareInvitation(place, user, self).participant,
            let zone = try zone(place.zone), zone.isAlive, let owner = try self.user(zone.database)
        else { return nil }
        let view = DatabaseView(self, .private(owner: owner), .host(owner))
        let id = Record.ID(
            recordName: try shareEntry(place).recordName, zoneID: try view.sharedID(of: zone, self))
        guard let share = Share(try view.record(for: id)) else {
            throw damaged(at: place.offset)
        }
        let object = Permission.SharedRecord(
            grant: try sharedZone(zone, for: user)?.grant(of: place.number))
        return UserGrant(
            database: .private(owner: owner.recordName), share: share,
            participant: try self.participant(participant, for: user),
            actions: try actions(
                of: user, on: .sharedRecord(object), in: .shared(user: user)))
    }

    private func actions(
        of user: UserID, on object: Permission.Object, in scope: DatabaseScope
    ) throws(EngineError) -> Set<AccessAction> {
        var actions: Set<AccessAction> = []
        for action in AccessAction.allCases {
            let refusal = try accountRefusal(
                of: .user(user), in: scope, isWrite: action != .read)
            guard refusal == nil,
                Permission.refusal(of: action.asked, on: object, by: .user(user), in: scope) == nil
            else { continue }
            actions.insert(action)
        }
        return actions
    }
}
