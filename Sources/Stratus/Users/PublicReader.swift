internal import StratusEngine

/// What a caller may read of the public database: `Formats/README.md`, "Permissions".
struct PublicReader {
    private let grants: Grants
    private let roles: Set<String>
    private let principal: Principal
    private let scope: DatabaseScope

    /// Nil where the caller may read everything.
    init?(_ view: DatabaseView, _ reading: StoreReading) throws(EngineError) {
        guard view.scope == .public else { return nil }
        if case .host = view.principal { return nil }
        let grants = try reading.grants()
        if grants.isOpen { return nil }
        self.grants = grants
        principal = try reading.publicReader(view.principal)
        scope = view.scope
        roles =
            try view.user.map { user throws(EngineError) in
                try reading.roles(of: user)
            } ?? []
    }

    /// Why the caller may not read a record; nil where that is allowed.
    func refusal(of record: Record) -> StoreError? {
        Permission.refusal(
            of: .read,
            on: .publicRecord(
                grants, type: record.recordType, roles: roles, creator: record.system?.creator),
            by: principal, in: scope)
    }

    func check(_ record: Record) throws(EngineError) {
        if let refusal = refusal(of: record) { throw .refused(refusal.with(record.recordID)) }
    }

    /// Fails where the caller may read no record of a type but perhaps its own.
    func check(type: String) throws(EngineError) {
        let refusal = Permission.refusal(
            of: .read,
            on: .publicRecord(grants, type: type, roles: roles, creator: principal.user),
            by: principal, in: scope)
        if let refusal { throw .refused(refusal) }
    }
}
