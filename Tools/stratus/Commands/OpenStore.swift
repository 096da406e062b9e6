import Stratus
import StratusFiles
import StratusGateway

extension Invocation {
    /// The store that the command looks into; it is not changed.
    func openStore(
        on system: any FileSystem = LinuxFileSystem(), memoryLimit: Int = listingMemory
    ) async throws -> Container {
        let container = try await openStore(
            at: argument("STORE"), on: system, memoryLimit: memoryLimit)
        // A name that was mistyped must not look like a database without anything. The public database
        // may also be read under the name of a user whom the store does not know.
        if has("as"), database != .public { _ = try container.demandUser(user) }
        return container
    }

    /// The same of the store at a path.
    func openStore(
        at path: String, profile: Profile = .unlimited,
        on system: any FileSystem = LinuxFileSystem(), memoryLimit: Int = 64 << 20
    ) async throws -> Container {
        let container = try await Container.openReadOnly(
            at: path, on: system, profile: profile, refusingPossibleLoss: has("strict"),
            memoryLimit: memoryLimit)
        openings.note(container, at: path)
        return container
    }

    /// The store at a path, to be changed. Long-lived operations are left to the service whose store
    /// it is: the tool knows neither its rules nor its profile.
    func openForWriting(
        _ path: String, creating: Bool = false, on system: any FileSystem = LinuxFileSystem(),
        memoryLimit: Int = 64 << 20
    ) async throws(StoreError) -> Container {
        let container = try await Container.open(
            at: path, on: system, creating: creating, durability: durability,
            continuesOperations: false, refusingPossibleLoss: has("strict"),
            memoryLimit: memoryLimit)
        openings.note(container, at: path, forWriting: true)
        return container
    }

    /// The same of the store that the command names.
    func openForWriting() async throws(StoreError) -> Container {
        try await openForWriting(argument("STORE"))
    }

    /// The database that `--database` and `--as` choose. In the public one the operator of the
    /// store may change the records of all users.
    func database(of container: Container) -> Database {
        switch database {
        case .private: container.privateDatabase(for: user)
        case .public: container.publicDatabase(asHost: user)
        case .shared: container.sharedDatabase(for: user)
        }
    }

    /// The same of one moment, read by the operator of the store: whatever the state of the user's
    /// account.
    func database(of snapshot: Snapshot) -> DatabaseSnapshot {
        switch database {
        case .private: snapshot.privateDatabase(asHost: user)
        case .public: snapshot.publicDatabase(asHost: user)
        case .shared: snapshot.sharedDatabase(asHost: user)
        }
    }

    /// What the store may take of memory, in bytes, where a command reads: with its pages, and what
    /// lies outside of the store's budget, the process stays below 64 MiB.
    static let listingMemory = 32 << 20

    /// The same where a command goes through all of the store once and sorts or compares besides.
    static let streamingMemory = 24 << 20

    /// The zone of a user's own that `--zone` names.
    var zoneID: RecordZone.ID { RecordZone.ID(zoneName: requiredValue("zone")) }

    /// The zone that `--zone` names.
    func zoneID(in container: Container) throws(ToolError) -> RecordZone.ID {
        try zoneID(requiredValue("zone"), in: container)
    }

    /// The zone that a text names: in the shared database `OWNER/ZONE`, where the owner is named as
    /// `--as` names users.
    func zoneID(
        _ text: String, in container: Container
    ) throws(ToolError) -> RecordZone.ID {
        guard database == .shared else { return RecordZone.ID(zoneName: text) }
        let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2 else {
            throw .usage(
                "bad-value", "in the shared database --zone takes OWNER/ZONE, not '\(text)'",
                hint: "'stratus zones STORE --database shared --as USER' lists them")
        }
        return RecordZone.ID(
            zoneName: parts[1], ownerName: container.userRecordName(for: parts[0]))
    }

    /// The record that RECORD names, in that zone.
    func recordID(in container: Container) throws(ToolError) -> Record.ID {
        Record.ID(recordName: argument("RECORD"), zoneID: try zoneID(in: container))
    }

    /// What a commit waits for, as `--durability` says.
    var durability: Container.Durability {
        switch value("durability") {
        case "interval": .interval(milliseconds: 1000)
        case "none": .none
        default: .full
        }
    }

    /// The number that `--limit` gives.
    func limit() throws(ToolError) -> Int? {
        guard let limit = number("limit") else { return nil }
        guard limit > 0 else { throw .usage("bad-value", "--limit takes 1 or more, not 0") }
        return Int(clamping: limit)
    }

    /// The token that `--since` gives.
    func sinceToken() throws -> ChangeToken? {
        guard let text = value("since") else { return nil }
        guard let token = ChangeToken(text) else {
            throw ToolError.usage("token", "the value of --since is no change token")
        }
        return token
    }
}

extension Container {
    /// What `body` makes of the open store, which is closed then; the error of `body` comes before
    /// that of closing.
    func closing<Result>(_ body: () async throws -> Result) async throws -> Result {
        let result: Result
        do {
            result = try await body()
        } catch {
            try? await close()
            throw error
        }
        try await close()
        return result
    }
}

extension RecordZone.ID {
    /// The name and, of another user's zone, the owner's before it.
    var text: String {
        ownerName == RecordZone.ID.currentUser ? zoneName : "\(ownerName)/\(zoneName)"
    }

    /// The same for an object.
    func append(to object: inout JSONObject) {
        object.append("zoneName", .string(zoneName))
        guard ownerName != RecordZone.ID.currentUser else { return }
        object.append("ownerName", .string(ownerName))
    }
}

extension Output {
    /// Names what was left out since it is damaged.
    ///
    /// - Parameter record: the name of the record that was, where the error does not tell.
    func skipped(_ errors: [StoreError], of record: String? = nil) {
        let record = record.map { $0 + ": " } ?? ""
        for error in errors {
            let error = ToolError(error)
            warning("damage.skipped", "skipped: \(record)\(error.message)\(error.place)")
        }
    }
}

extension ToolError {
    /// What an error of the store means to the tool's user. Of several records that failed it is the
    /// first one, by name, that did not fail with others.
    init(_ error: StoreError) {
        let error = error.firstCause ?? error
        let (code, id) = Self.meaning(of: error)
        self.init(code, id: id, error.reason)
        if let place = error.place {
            // Of what an index names only the offset may be known.
            if !place.file.isEmpty {
                file = place.file
                byte = UInt64(place.byte)
            }
            offset = place.offset
            message += ": " + place.kind
        }
        switch error.item {
        case .record(let id): message += ": " + id.recordName
        case .zone(let id): message += ": " + id.zoneName
        case .subscription(let id): message += ": " + id
        case nil: break
        }
        if case .inputOutput(let text) = error.cause { message += ": " + text }
        if case .notPermitted(let text) = error.cause { message += ": " + text }
        hint =
            error.cause == .changeToken(.compacted)
            ? "'stratus retention STORE' and 'stratus mark STORE' say what of the past is kept"
            : Self.hint(for: code)
    }

    private static func meaning(of error: StoreError) -> (ExitCode, String) {
        switch (error.code, error.cause) {
        case (_, .locked): (.locked, "store.locked")
        case (_, .fencedOut): (.locked, "store.fenced-out")
        case (_, .newerFormat): (.newerFormat, "store.newer-format")
        case (_, .damaged) where error.place?.kind.hasPrefix("archive.") == true:
            (.invalidBackup, "backup." + (error.place?.kind.dropFirst(8) ?? ""))
        case (.invalidArguments, _) where error.place?.kind == "archive.base":
            (.invalidBackup, "backup.base")
        case (.invalidArguments, _) where error.needsFullBackup: (.invalidBackup, "backup.base")
        case (_, .damaged): (.damaged, error.place.map { "damage." + $0.kind } ?? "damage")
        case (_, .notPermitted): (.permission, "store.permission")
        case (.invalidArguments, .inputOutput): (.exists, "system.exists")
        case (.badContainer, _): (.noStore, noStore)
        case (.unknownItem, .inputOutput): (.notFound, "system.not-found")
        case (.unknownItem, _): (.notFound, "record.none")
        case (.zoneNotFound, _): (.notFound, "zone.none")
        case (.assetFileNotFound, _): (.notFound, "asset.file")
        case (.assetNotAvailable, _): (.notFound, "asset.none")
        case (.changeTokenExpired, _): (.tokenExpired, "token.expired")
        case (.quotaExceeded, _): (.noSpace, "store.no-space")
        case (.permissionFailure, _): (.permission, "store.permission")
        // What a record holds is not what the command line says.
        case (.invalidArguments, _) where error.recordID != nil: (.internal, "store.refused")
        case (.invalidArguments, _), (.badDatabase, _): (.usage, "usage.request")
        case (.notAuthenticated, _): (.permission, "store.permission")
        default: (.internal, "store.error-\(error.code.rawValue)")
        }
    }

    private static func hint(for code: ExitCode) -> String? {
        switch code {
        case .damaged:
            "'stratus verify STORE' names every damaged place, 'stratus repair STORE' what can be "
                + "rebuilt"
        case .tokenExpired: "begin again without --since"
        case .newerFormat: "use the version of stratus that wrote the store, or a newer one"
        case .noStore:
            "'stratus import DIR STORE --zone NAME' and 'stratus exec STORE --create' make one"
        default: nil
        }
    }
}

extension StoreError {
    /// Of an error of several records.
    var firstCause: StoreError? {
        var causes: [(name: String, error: StoreError)] = []
        for (item, error) in partialErrors where error.code != .batchRequestFailed {
            var error = error
            error.item = item
            causes.append((error.recordID?.recordName ?? "", error))
        }
        return causes.min { $0.name < $1.name }?.error
    }
}
