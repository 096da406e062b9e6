internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// What a user may want to do with a record.
public enum AccessAction: String, Hashable, Sendable, CaseIterable {
    case read
    /// Make a record below this one or, in the public database, another one of its type.
    case create
    /// Change it.
    case write
    case delete
}

/// Where a record lies.
public enum AccessDatabase: Hashable, Sendable {
    case `public`
    /// In the private database of a user, who may share it.
    case `private`(owner: String)

    fileprivate func owner(in container: Container) -> UserID? {
        if case .private(let owner) = self { container.userID(owner) } else { nil }
    }
}

/// Whether a user may do something, and why. Beyond CloudKit.
public struct AccessDecision: Hashable, Sendable {
    /// Whether the user may.
    public var isAllowed: Bool
    /// What decides.
    public var rule: String
    /// Why not; nil where the user may.
    public var reason: String?
    /// The record of the share that decides, where one does.
    public var share: Record.ID?
}

/// What a user may do, and why.
public struct UserAccess: Hashable, Sendable {
    /// Of the user.
    public var userRecordID: Record.ID
    /// By which rule.
    public var decision: AccessDecision
}

extension Container {
    /// Whether a user may do something with a record, and by which rule: the decision that every call
    /// asks for.
    ///
    /// - Parameter user: nil is an anonymous caller.
    /// - Throws: ``StoreError`` with `unknownItem` or `zoneNotFound`.
    public nonisolated(nonsending) func access(
        of user: String?, to action: AccessAction, on id: Record.ID, in database: AccessDatabase
    ) async throws(StoreError) -> AccessDecision {
        try await answer { () async throws(EngineError) -> AccessDecision in
            let (principal, owner) = (principal(user), database.owner(in: self))
            return try await read { reading throws(EngineError) in
                try AccessCheck(principal, action, id, owner: owner, reading).decision()
            }
        }
    }

    /// Those who may do something with a record of a private database: its owner, and participants.
    ///
    /// - Throws: as ``access(of:to:on:in:)``.
    public nonisolated(nonsending) func users(
        allowedTo action: AccessAction, on id: Record.ID, ownedBy owner: String
    ) async throws(StoreError) -> [UserAccess] {
        try await answer { () async throws(EngineError) -> [UserAccess] in
            let ownerID = userID(owner)
            return try await read { reading throws(EngineError) in
                try reading.users(allowedTo: action, on: id, ownedBy: ownerID)
            }
        }
    }

    /// The living shares of a user's private database, by zones and names of roots.
    public nonisolated(nonsending) func shares(
        ownedBy user: String
    ) async throws(StoreError) -> [Share] {
        try await answer { () async throws(EngineError) -> [Share] in
            let owner = userID(user)
            return try await read { reading throws(EngineError) in
                try reading.shares(ownedBy: owner)
            }
        }
    }
}

// What was shared and granted at one moment; accounts count as they are now.
extension Snapshot {
    /// Whether a user might do something with a record then: as of ``Container/access(of:to:on:in:)``.
    public func access(
        of user: String?, to action: AccessAction, on id: Record.ID, in database: AccessDatabase
    ) throws(StoreError) -> AccessDecision {
        try answering { () throws(EngineError) -> AccessDecision in
            try AccessCheck(
                container.principal(user), action, id, owner: database.owner(in: container),
                reading()
            ).decision()
        }
    }

    /// Those who might do something with a record of a private database then: as of
    /// ``Container/users(allowedTo:on:ownedBy:)``.
    public func users(
        allowedTo action: AccessAction, on id: Record.ID, ownedBy owner: String
    ) throws(StoreError) -> [UserAccess] {
        try answering { () throws(EngineError) -> [UserAccess] in
            try reading().users(allowedTo: action, on: id, ownedBy: container.userID(owner))
        }
    }

    /// The shares of a user's private database that lived then: as of ``Container/shares(ownedBy:)``.
    package func shares(ownedBy user: String) throws(StoreError) -> [Share] {
        try answering { () throws(EngineError) -> [Share] in
            try reading().shares(ownedBy: container.userID(user))
        }
    }
}

/// Asks the decider on behalf of someone else.
private struct AccessCheck {
    private let principal: Principal
    private let action: AccessAction
    private let id: Record.ID
    private let owner: UserID?
    private let reading: StoreReading

    init(
        _ principal: Principal, _ action: AccessAction, _ id: Record.ID, owner: UserID?,
        _ reading: StoreReading
    ) {
        self.principal = principal
        self.action = action
        self.id = id
        self.owner = owner
        self.reading = reading
    }

    func decision() throws(EngineError) -> AccessDecision {
        if let decision = userRecordDecision() { return decision }
        guard let owner else { return try publicDecision() }
        let scope = DatabaseScope.private(owner: owner)
        let (zone, entry) = try place(in: scope)
        if let refusal = Permission.refusal(of: call, by: principal, in: scope) {
            return decision("a call needs a user", refusal)
        }
        guard let user = principal.user, user != owner else {
            return decision("the zone is the user's own", try accountRefusal(scope))
        }
        return try sharedDecision(user, zone, entry)
    }

    /// Where the record is a user's, which has rules of its own; nil where these allow the action, or it
    /// is none.
    private func userRecordDecision() -> AccessDecision? {
        let scope: DatabaseScope = owner.map { .private(owner: $0) } ?? .public
        guard let user = UserID(recordName: id.recordName),
            scope.hasRecord(of: user, in: RecordZone.ID(zoneName: id.zoneID.zoneName)),
            let refusal = Permission.refusal(
                of: action.asked, on: .userRecord, by: principal, in: scope)
        else { return nil }
        return decision("the records of users", refusal)
    }

    private var call: Permission.Action { action == .read ? .read : .write }

    private func accountRefusal(_ scope: DatabaseScope) throws(EngineError) -> StoreError? {
        try reading.accountRefusal(of: principal, in: scope, isWrite: action != .read)
    }

    private func decision(
        _ rule: String, _ refusal: StoreError?, share: Record.ID? = nil
    ) -> AccessDecision {
        AccessDecision(
            isAllowed: refusal == nil, rule: rule, reason: refusal?.reason, share: share)
    }

    private func place(
        in scope: DatabaseScope
    ) throws(EngineError) -> (zone: ZonePlace, entry: JournalEntry) {
        let zoneID = RecordZone.ID(zoneName: id.zoneID.zoneName)
        let view = DatabaseView(reading, scope, owner.map { .host($0) } ?? .anonymous)
        let zone = try view.zone(zoneID, reading)
        let value = try reading.value(.record(zone.number, reading.hash(id.recordName)))
        guard let place = value.map({ EntryLocation($0) }), !place.isDeleted else {
            throw .refused(.noRecord(id))
        }
        return (zone, try reading.entry(place))
    }

    private func publicDecision() throws(EngineError) -> AccessDecision {
        let (_, entry) = try place(in: .public)
        let head = try entry.recordHead().head
        guard let type = reading.schema.name(head.type),
            let creator = try reading.user(head.creator)
        else { throw .damaged(entry) }
        if let refusal = try accountRefusal(.public) {
            return decision("the user's account", refusal)
        }
        let roles = try principal.user.map { user throws(EngineError) in
            try reading.roles(of: user)
        }
        let refusal = Permission.refusal(
            of: action.asked,
            on: .publicRecord(
                try reading.grants(), type: type, roles: roles ?? [],
                creator: action == .create ? nil : creator),
            by: try reading.publicReader(principal), in: .public)
        return decision("the grants of the type \(type)", refusal)
    }

    private func sharedDecision(
        _ user: UserID, _ zone: ZonePlace, _ entry: JournalEntry
    ) throws(EngineError) -> AccessDecision {
        let scope = DatabaseScope.shared(user: user)
        if let refusal = try accountRefusal(scope) {
            return decision("the user's account", refusal)
        }
        guard let shared = try reading.sharedZone(zone, for: user) else {
            return decision("nothing of the zone is shared with the user", .mayNotRead)
        }
        let name = reading.hash(id.recordName)
        var object = try shared.object(entry, named: name, reading)
        // Something below the root.
        if action == .create, object.position == .root { object.position = .member }
        let refusal = Permission.refusal(
            of: action.asked, on: .sharedRecord(object), by: principal, in: scope)
        let member = try reading.member(name, in: zone.number)
        let place =
            shared.wholeZone != nil
            ? try reading.share(ofRoot: nil, in: zone.number)
            : try member.flatMap { member throws(EngineError) in
                try reading.share(member.share)
            }
        guard object.grant != nil, let place else {
            return decision("the record is in no share of the user's", refusal)
        }
        let share = Record.ID(
            recordName: try reading.shareEntry(place).recordName, zoneID: id.zoneID)
        return decision("the user has a part in the share of the record", refusal, share: share)
    }
}

extension StoreReading {
    fileprivate func users(
        allowedTo action: AccessAction, on id: Record.ID, ownedBy owner: UserID
    ) throws(EngineError) -> [UserAccess] {
        var found: [UserAccess] = []
        for user in try possibleReaders(of: id, ownedBy: owner) {
            let decision = try AccessCheck(.user(user), action, id, owner: owner, self)
                .decision()
            if decision.isAllowed {
                let id = Record.ID(recordName: user.recordName)
                found.append(UserAccess(userRecordID: id, decision: decision))
            }
        }
        return found
    }

    private func possibleReaders(
        of id: Record.ID, ownedBy owner: UserID
    ) throws(EngineError) -> [UserID] {
        let view = DatabaseView(self, .private(owner: owner), .host(owner))
        let zone = try view.zone(RecordZone.ID(zoneName: id.zoneID.zoneName), self)
        var users = [owner]
        let member = try member(hash(id.recordName), in: zone.number)
        let places = [
            try share(ofRoot: nil, in: zone.number),
            try member.flatMap { member throws(EngineError) in try share(member.share) },
        ]
        for place in places.compactMap(\.self) where place.isAlive {
            for participant in try participants(of: place.number)
            where participant.status == .accepted {
                if let user = try user(participant.user), !users.contains(user) {
                    users.append(user)
                }
            }
        }
        return users
    }

    fileprivate func shares(ownedBy owner: UserID) throws(EngineError) -> [Share] {
        let view = DatabaseView(self, .private(owner: owner), .host(owner))
        var shares: [Share] = []
        for (id, zone) in try view.livingZones(self).sorted(by: {
            $0.0.zoneName < $1.0.zoneName
        }) {
            var names: [String] = []
            try scan(IndexKey.shareRoots(zone.number)) { key, value throws(EngineError) in
                // The row of the zone itself names its last share once more.
                guard key.count > KeySpace.shareRoots.key().count else { return true }
                let number = UInt32(truncatingIfNeeded: value.first)
                guard let place = try share(number), place.isAlive else { return true }
                names.append(try shareEntry(place).recordName)
                return true
            }
            for name in names.sorted() {
                let record = try view.record(for: Record.ID(recordName: name, zoneID: id))
                if let share = Share(record) { shares.append(share) }
            }
        }
        return shares
    }
}
