internal import Stratus

// Bringing records back in a store that a service has open: the commands `restore` and `revert` of the
// tool.

enum RestoreOrderKey: String {
    case archive, at, zoneID, toZone, toUser, records, fields, mode, dryRun, withAccess
}

/// What both are asked.
private struct RestoreOrder: Sendable {
    let at: String?
    let zone: RecordZone.ID
    let target: RecordZone.ID?
    let names: [String]?
    let fields: [String]?
    let mode: RestoreMode?
    let isDryRun: Bool
    let keepsAccess: Bool

    init(_ keys: JSONKeys<RestoreOrderKey>) throws(Mismatch) {
        at = try keys.optional(.at)
        zone = try keys.required(.zoneID, as: ZoneIDInput.self).id
        target = try keys.optional(.toZone, as: String.self).map { RecordZone.ID(zoneName: $0) }
        names = try keys.optional(.records)
        fields = try keys.optional(.fields)
        mode = try keys.optional(.mode)
        isDryRun = try keys.optional(.dryRun) ?? false
        keepsAccess = try keys.optional(.withAccess) ?? false
    }

    /// Brings records of `source` to `database`.
    func run(
        from source: Snapshot, to database: Database, _ usual: RestoreMode, in session: Session
    ) async throws(StoreError) -> JSONObject {
        let held =
            switch session.request.database {
            case .public: source.publicDatabase(asHost: try session.user())
            case .private: source.privateDatabase(asHost: try session.user())
            case .shared: source.sharedDatabase(asHost: try session.user())
            }
        return try await database.restore(
            zone, from: held, to: target, records: names, fields: fields, mode: mode ?? usual,
            dryRun: isDryRun, keepingAccess: keepsAccess
        ).json
    }
}

/// Brings a zone, or some of its records, back from an archive.
struct StoreRestore: Call {
    typealias Key = RestoreOrderKey

    private let archive: String
    private let user: String?
    private let order: RestoreOrder

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        archive = try keys.required(.archive)
        user = try keys.optional(.toUser)
        order = try RestoreOrder(keys)
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let own = try session.hostDatabase()
        try await session.checkFile(archive)
        let container = try await Archive.open(at: archive).container()
        let source =
            if let at = order.at {
                try await container.snapshot(at: container.point(at))
            } else {
                container.snapshot()
            }
        return try await order.run(
            from: source, to: user.map { session.container.privateDatabase(for: $0) } ?? own,
            .replace, in: session)
    }
}

/// Makes a zone, or some of its records, what they were at a moment.
struct StoreRevert: Call {
    typealias Key = RestoreOrderKey

    private let order: RestoreOrder
    private let at: String

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        for key in [Key.archive, .toZone, .toUser] where keys.given(key) != nil {
            try keys.refuse(key, "is no key here")
        }
        at = try keys.required(.at)
        order = try RestoreOrder(keys)
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let database = try session.hostDatabase()
        let point = try await session.container.point(at)
        return try await order.run(
            from: session.container.snapshot(at: point), to: database, .mirror, in: session)
    }
}
