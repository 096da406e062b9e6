internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// What someone may do in a restored store or zone, beside the owners of zones, since it was so in the
/// original. Users have the names that the host gave them first, or their user record names where
/// these are not known.
public struct RestoredAccess: Hashable, Sendable {
    /// The owner of what is shared, or the user who has roles.
    public var user: String
    /// The record of a share; nil: the user has roles.
    public var share: Record.ID?
    /// What anyone may do who has the link of the share.
    public var publicPermission = Share.Permission.none
    /// Those who have joined the share or are invited to it.
    public var participants: [String] = []
    /// In alphabetical order.
    public var roles: [String] = []

    package init(user: String, share: Record.ID? = nil, roles: [String] = []) {
        self.user = user
        self.share = share
        self.roles = roles
    }
}

extension Container {
    /// All that is shared, by the numbers of the shares, and then the users with roles.
    nonisolated(nonsending) func restoredAccess() async throws(EngineError) -> [RestoredAccess] {
        try await threads.run { [self] in
            try reading.waiting.access()
        }
    }

    /// Ends all that is shared, and takes all roles back. Returns how many records went: those of the
    /// shares.
    nonisolated(nonsending) func removeAccess(
        _ access: [RestoredAccess]
    ) async throws(EngineError) -> Int {
        var zones: [RecordZone.ID: [Record.ID]] = [:]
        for item in access {
            if let share = item.share {
                zones[share.zoneID, default: []].append(share)
            } else {
                let user = userID(item.user)
                let change = RolesChange(user: user, userName: item.user, roles: [])
                _ = try await engine().commit(change)
            }
        }
        var count = 0
        for (zone, shares) in zones {
            let database = Database(
                container: self, scope: .private(owner: userID(zone.ownerName)),
                principal: host(zone.ownerName), userName: zone.ownerName)
            for start in stride(from: 0, to: shares.count, by: Page.usual) {
                let part = shares[start..<min(start + Page.usual, shares.count)]
                let items = Database.items(saving: [], deleting: Array(part), .allKeys)
                let options = RecordCall.Options(isAtomic: true)
                let outcomes = try await database.run(RecordCall(items, options, of: database), nil)
                for outcome in outcomes {
                    if case .failure(let error) = outcome { throw .refused(error) }
                }
                count += part.count
            }
        }
        return count
    }
}

extension StoreReading {
    /// The same of one state.
    func access() throws(EngineError) -> [RestoredAccess] { try sharedAccess() + roleAccess() }

    fileprivate func sharedAccess() throws(EngineError) -> [RestoredAccess] {
        var numbers: [UInt32] = []
        try scan(KeySpace.shares.range()) { key, _ in
            numbers.append(key.shareNumber)
            return true
        }
        var found: [RestoredAccess] = []
        for number in numbers {
            guard let share = try share(number), share.isAlive, let zone = try zone(share.zone),
                zone.isAlive, let owner = try userEntry(zone.database)
            else { continue }
            let id = RecordZone.ID(
                zoneName: try zoneEntry(zone).name,
                ownerName: UserID(bits: owner.bits).recordName)
            var item = RestoredAccess(
                user: owner.name,
                share: Record.ID(recordName: try shareEntry(share).recordName, zoneID: id))
            item.publicPermission =
                Share.Permission(rawValue: Int(share.permission)) ?? .none
            for participant in try participants(of: number) where participant.status != .removed {
                if let user = try userEntry(participant.user) {
                    item.participants.append(user.name)
                }
            }
            found.append(item)
        }
        return found
    }

    fileprivate func roleAccess() throws(EngineError) -> [RestoredAccess] {
        var users: [UInt32] = []
        try scan(KeySpace.roles.range()) { key, _ in
            users.append(key.uint32(at: 5))
            return true
        }
        var found: [RestoredAccess] = []
        for number in users {
            guard let user = try userEntry(number) else { continue }
            let roles = try roles(of: UserID(bits: user.bits))
            if roles.isEmpty { continue }
            found.append(RestoredAccess(user: user.name, roles: roles.sorted()))
        }
        return found
    }
}
