internal import StratusEngine

/// What a caller may read of the public database: `Formats/README.md`, "Permissions". What counts are
/// grants and roles as they are in the newest state, whatever state is read.
struct PublicReader {
    private let grants: Grants
    private let roles: Set<String>
    private let principal: Principal

    /// Nil where the caller may read everything.
    init?(_ view: DatabaseView, _ reading: StoreReading) throws(EngineError) {
        guard view.scope == .public else { return nil }
        if case .host = view.principal { return nil }
        let now = reading.newest
        let grants = try now.grants()
        if grants.isOpen { return nil }
        self.grants = grants
        principal = try now.publicReader(view.principal)
        roles =
            try view.user.map { user throws(EngineError) in
                try now.roles(of: user)
            } ?? []
    }

    /// The same of a user whose account is not looked at.
    init?(_ user: UserID, _ grants: Grants, _ reading: StoreReading) throws(EngineError) {
        if grants.isOpen { return nil }
        self.grants = grants
        principal = .user(user)
        roles = try reading.newest.roles(of: user)
    }

    /// Why the caller may not read a record; nil where that is allowed.
    func refusal(of record: Record) -> StoreError? {
        refusal(ofType: record.recordType, creator: record.system?.creator)
    }

    func refusal(ofType type: String, creator: UserID?) -> StoreError? {
        Permission.refusal(
            of: .read,
            on: .publicRecord(grants, type: type, roles: roles, creator: creator),
            by: principal, in: .public)
    }

    func check(_ record: Record) throws(EngineError) {
        if let refusal = refusal(of: record) { throw .refused(refusal.with(record.recordID)) }
    }

    /// Whether the caller may read the record at a place.
    func mayRead(_ place: EntryLocation, _ reading: StoreReading) throws(EngineError) -> Bool {
        let entry = try reading.entry(place)
        let head = try entry.recordHead().head
        guard let type = reading.schema.name(head.type),
            let creator = try reading.user(head.creator)
        else { throw .damaged(entry) }
        return refusal(ofType: type, creator: creator) == nil
    }

    /// Fails where the caller may read no record of a type but perhaps its own.
    func check(type: String) throws(EngineError) {
        if let refusal = refusal(ofType: type, creator: principal.user) {
            throw .refused(refusal)
        }
    }
}
