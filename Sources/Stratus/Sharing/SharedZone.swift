internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// What a participant sees of another user's zone, in one state of the store.
struct SharedZone: Sendable {
    /// A participation and where it ended, at the latest with its share or its zone; nil: it lives.
    struct Part: Sendable {
        var participation: Participation
        var end: Version?
        var isWholeZone: Bool

        var share: UInt32 { participation.share }
        var since: Version { participation.since }
    }

    let zone: ZonePlace
    /// The participant's number.
    let user: UInt32
    /// All that the user ever had in the zone, by the numbers of their shares.
    private(set) var parts: [Part]
    /// What the user may do in each share that is visible.
    private var grants: [UInt32: SharedGrant]
    /// What the user may do in all of the zone, where all of it is shared.
    private(set) var wholeZone: SharedGrant?

    init(
        _ zone: ZonePlace, for user: UInt32, _ reading: StoreReading
    ) throws(EngineError) {
        self.zone = zone
        self.user = user
        var parts: [Part] = []
        var grants: [UInt32: SharedGrant] = [:]
        let zoneEnd = zone.isAlive ? nil : reading.identity.version(at: zone.offset)
        for participation in try reading.participations(of: user, in: zone.number) {
            guard let share = try reading.share(participation.share) else { continue }
            let shareEnd = share.hasMembers ? nil : reading.identity.version(at: share.offset)
            let end = [participation.until, shareEnd, zoneEnd].compactMap(\.self).min()
            parts.append(
                Part(participation: participation, end: end, isWholeZone: share.isZoneWide))
            guard end == nil else { continue }
            let grant = SharedGrant(
                mayWrite: share.mayWrite(participation),
                isAdministrator: participation.role == UInt8(Share.Role.administrator.rawValue))
            grants[share.number] = grant
            if share.isZoneWide { wholeZone = grant }
        }
        self.parts = parts
        self.grants = grants
        if reading.showsOnlyWhatIsShared {
            let newest = reading.newest
            let now = try newest.zone(zone.number).map { place throws(EngineError) in
                try SharedZone(place, for: user, newest)
            }
            keep(only: now?.shares ?? [])
        }
    }

    /// Leaves out what the user has of other shares.
    private mutating func keep(only shares: [UInt32]) {
        parts = parts.filter { $0.end != nil || shares.contains($0.share) }
        grants = grants.filter { shares.contains($0.key) }
        if !parts.contains(where: { $0.isWholeZone && $0.end == nil }) { wholeZone = nil }
    }

    /// Whether the user had a part in a share when a version was written.
    func hadPart(in share: UInt32, at version: Version) -> Bool {
        parts.contains { part in
            part.share == share && part.since <= version && part.end.map { $0 > version } ?? true
        }
    }

    /// What the user may do once the share is as an administrator says.
    mutating func edit(_ share: SharePlace, _ edit: ShareEdit, by caller: UserID) {
        guard grants[share.number]?.isAdministrator == true,
            var own = parts.first(where: { $0.share == share.number && $0.end == nil })?
                .participation
        else { return }
        var share = share
        if let permission = edit.publicPermission { share.permission = UInt8(permission.rawValue) }
        let listed = edit.participants?.last { $0.userIdentity.userID == caller }
        if let listed { own.permission = UInt8(listed.permission.rawValue) }
        grants[share.number]?.mayWrite = share.mayWrite(own)
        if share.isZoneWide { wholeZone = grants[share.number] }
    }

    /// Whether anything is shared with the user.
    var isVisible: Bool { !grants.isEmpty }

    /// The shares that the user has a part in.
    var shares: [UInt32] { grants.keys.sorted() }

    /// What the user may do with a record of a share; nil where it is not visible.
    func grant(of share: UInt32?) -> SharedGrant? {
        wholeZone ?? share.flatMap { grants[$0] }
    }

    /// What the user may do with the record of that name; nil where it is not visible.
    func grant(
        of name: Hash128, _ reading: StoreReading
    ) throws(EngineError) -> SharedGrant? {
        if let wholeZone { return wholeZone }
        return grant(of: try reading.member(name, in: zone.number)?.share)
    }

    /// The record of an entry, as the user meets it.
    func object(
        _ entry: JournalEntry, named name: Hash128, _ reading: StoreReading
    ) throws(EngineError) -> Permission.SharedRecord {
        var object = Permission.SharedRecord(grant: try grant(of: name, reading))
        let head = try entry.recordHead().head
        if reading.schema.name(head.type) == Record.shareType {
            object.position = .share
        } else if head.shareRecord != nil {
            object.position = .root
        }
        return object
    }

    /// Whether the user saw the record already when `version` was current: since then both have been
    /// in the share without a break.
    func sawAlready(
        _ name: Hash128, at version: Version, _ reading: StoreReading
    ) throws(EngineError) -> Bool {
        if wholeZone != nil {
            return parts.contains { part in
                part.isWholeZone && part.since <= version
                    && part.end.map { $0 > version } ?? true
            }
        }
        guard let member = try reading.member(name, in: zone.number) else { return false }
        return member.since <= version
            && parts.contains {
                $0.share == member.share && $0.end == nil && $0.since <= version
            }
    }
}

extension SharePlace {
    /// A participant may do at least what anyone may who has the link and, after joining by it, no more.
    func mayWrite(_ participation: Participation) -> Bool {
        let joined = participation.role == UInt8(Share.Role.publicUser.rawValue)
        let greatest = joined ? permission : max(permission, participation.permission)
        return greatest == UInt8(Share.Permission.readWrite.rawValue)
    }
}

extension SharedZone {
    /// Whether a caller may read the record of that name.
    func mayRead(
        _ name: Hash128, _ view: DatabaseView, _ reading: StoreReading
    ) throws(EngineError) -> Bool {
        let record = Permission.SharedRecord(grant: try grant(of: name, reading))
        return Permission.refusal(
            of: .read, on: .sharedRecord(record), by: view.principal, in: view.scope) == nil
    }
}

/// As it is kept for the next reader.
private final class KeptSharedZone: DerivedState {
    let shared: SharedZone

    init(_ shared: SharedZone) { self.shared = shared }
}

extension StoreReading {
    /// The zones of others of which a user sees anything, by their numbers.
    func sharedZones(of user: UserID) throws(EngineError) -> [ZonePlace] {
        guard let number = try self.user(user) else { return [] }
        var zones: [ZonePlace] = []
        var last: UInt32?
        for participation in try participations(of: number, in: nil)
        where participation.until == nil && participation.zone != last {
            guard let zone = try zone(participation.zone), zone.isAlive,
                try sharedZone(zone, for: user) != nil
            else { continue }
            last = zone.number
            zones.append(zone)
        }
        return zones
    }

    /// What changes where anything does that others share with a user, by number, in a zone or, where
    /// that is nil, in all; the user's database changes where something is shared, or is no more.
    func sharedSubjects(
        of user: UInt32, in zone: UInt32?
    ) throws(EngineError) -> [ChangeSubject] {
        var subjects: [ChangeSubject] = [.database(user)]
        for participation in try participations(of: user, in: zone) {
            guard participation.until == nil, let share = try share(participation.share) else {
                continue
            }
            subjects.append(share.isZoneWide ? .zone(participation.zone) : .share(share.number))
        }
        return subjects
    }

    /// What a user sees of a living zone; nil where that is nothing.
    func sharedZone(
        _ zone: ZonePlace, for user: UserID
    ) throws(EngineError) -> SharedZone? {
        // What depends on two states is not kept.
        let change = showsOnlyWhatIsShared ? nil : sharingChange
        if let change,
            let known = derived(of: user.bits, zone.number, from: change) as? KeptSharedZone,
            known.shared.zone == zone
        {
            return known.shared.isVisible ? known.shared : nil
        }
        guard let number = try self.user(user), number != zone.database else { return nil }
        let shared = try SharedZone(zone, for: number, self)
        if let change {
            keep(KeptSharedZone(shared), of: user.bits, zone.number, derivedFrom: change)
        }
        return shared.isVisible ? shared : nil
    }
}
