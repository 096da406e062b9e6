import Stratus
import StratusGateway

/// A database of a store, as a listing names it.
struct ListedDatabase {
    let database: DatabaseSnapshot
    /// Of the owner, from 1 on; 0: the public database.
    let number: Int
    /// Nil: the public database.
    let recordName: String?
    /// What the host calls the owner; nil where it only ever gave the record name.
    let userName: String?
    /// Whether it is what others share with that user.
    var isShared = false

    /// What the host calls the owner, or the record name; nil: the public one.
    var name: String? { userName ?? recordName }

    /// For people: `public`, or the owner.
    var text: String { name ?? "public" }

    /// Whose it is, for every object of a listing.
    func append(to object: inout JSONObject) {
        object.append(
            recordName == nil ? .public : isShared ? .shared : .private, of: recordName, userName)
    }
}

extension JSONObject {
    /// Says which database is meant and whose: by the user record name and by what the host calls the
    /// user, as far as they are known.
    mutating func append(
        _ database: DatabaseChoice, of recordName: String?, _ userName: String?
    ) {
        append("database", .string(database.rawValue))
        append("user", recordName.map(JSONValue.string))
        append("userName", userName.map(JSONValue.string))
    }
}

extension Invocation {
    /// Whether the command line says which database is meant.
    var choosesDatabase: Bool { has("as") || has("database") }

    /// The database that the command line chooses or, where it says nothing, all of them, in the
    /// state that the command reads: the public one first, then those of the users in the order in
    /// which they came.
    func databases(of container: Container) async throws -> [ListedDatabase] {
        try databases(of: container, at: await snapshot(of: container))
    }

    /// The same at one moment.
    func databases(
        of container: Container, at snapshot: Snapshot
    ) throws -> [ListedDatabase] {
        guard !choosesDatabase else { return [listed(database(of: snapshot), in: container)] }
        let users = try snapshot.allUsers().map { user in
            ListedDatabase(
                database: snapshot.privateDatabase(asHost: user.recordName), number: user.number,
                recordName: user.recordName, userName: user.userName)
        }
        let publicDatabase = ListedDatabase(
            database: snapshot.publicDatabase(asHost: user), number: 0, recordName: nil,
            userName: nil)
        return [publicDatabase] + users
    }

    private func listed(
        _ database: DatabaseSnapshot, in container: Container
    ) -> ListedDatabase {
        let isPublic = self.database == .public
        let recordName = container.userRecordName(for: user)
        return ListedDatabase(
            database: database, number: 0, recordName: isPublic ? nil : recordName,
            userName: isPublic || recordName == user ? nil : user,
            isShared: self.database == .shared)
    }

    /// The database that the command line chooses, at one moment; where it says nothing, that of the
    /// usual user, unless only others ever wrote to the store: what they have must not look like
    /// nothing.
    func readDatabase(of container: Container, at snapshot: Snapshot) throws -> DatabaseSnapshot {
        try demandUser(of: container)
        return database(of: snapshot)
    }

    /// The same, of which each call reads the newest state.
    func liveDatabase(of container: Container) throws -> Database {
        try demandUser(of: container)
        return database(of: container)
    }

    private func demandUser(of container: Container) throws {
        guard !choosesDatabase, container.information.userCount > 0,
            try !container.hasUser(Self.defaultUser)
        else { return }
        throw ToolError.usage(
            "user",
            "the user \(Self.defaultUser) never wrote to the store: name a user with --as, "
                + "or --database public",
            hint: "'stratus users STORE' lists the users")
    }
}

extension Show {
    static func users(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        var listing = try Listing(invocation)
        let container = try await invocation.openStore()
        let snapshot = try await invocation.snapshot(of: container)
        try listing.begin(
            output, schema: "stratus.users/1", columns: "user  record name  zones  records")
        for listed in listing.ordered(try invocation.databases(of: container, at: snapshot)) {
            guard let recordName = listed.recordName else { continue }
            try listing.take { try write(listed, named: recordName, at: snapshot, to: output) }
        }
        try listing.finish(output)
        return .ok
    }

    /// Writes what there is of a user.
    private static func write(
        _ listed: ListedDatabase, named recordName: String, at snapshot: Snapshot,
        to output: Output
    ) throws {
        let zones = try listed.database.zoneCount()
        let usage = try listed.database.usage()
        var object: JSONObject = ["number": .integer(listed.number)]
        object.append("recordName", .string(recordName))
        object.append("userName", listed.userName.map(JSONValue.string))
        object.append("zones", .integer(zones))
        object.append("records", .integer(usage.recordCount))
        object.append("bytes", .integer(usage.bytes))
        let profile = try snapshot.userProfile(for: recordName)
        let roles = try snapshot.roles(of: recordName).sorted()
        if let profile { object.append(profile) }
        if !roles.isEmpty { object.append("roles", .strings(roles)) }
        let name = listed.userName.map { " (\(Output.escaped($0)))" } ?? ""
        var columns = [
            "\(listed.number)", recordName + name, Quantities.count(zones, "zone"),
            Quantities.count(usage.recordCount, "record"),
        ]
        columns += profile?.columns ?? []
        if !roles.isEmpty {
            columns.append("roles " + Output.escaped(roles.joined(separator: ", ")))
        }
        try output.result("user", object, text: columns.joined(separator: "  "))
    }

    static func zones(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        var listing = try Listing(invocation)
        let container = try await invocation.openStore()
        try listing.begin(output, schema: "stratus.zones/1", columns: "records  zone  database")
        var hasSkipped = false
        for listed in listing.ordered(try await invocation.databases(of: container))
        where !listing.isFull {
            let zones = try zones(of: listed, invocation, output, &hasSkipped)
            for zone in listing.ordered(zones) {
                try listing.take { try write(zone, of: listed, to: output) }
            }
        }
        try listing.finish(output)
        return hasSkipped ? .partial : .ok
    }

    private static func write(
        _ zone: RecordZone, of listed: ListedDatabase, to output: Output
    ) throws {
        // The count of another user's zone would tell of what is not shared.
        let count =
            try listed.isShared ? nil : listed.database.recordCount(inZoneWith: zone.zoneID)
        var object = JSONObject()
        zone.zoneID.append(to: &object)
        listed.append(to: &object)
        object.append("records", count.map { .integer($0) })
        object.append("capabilities", .strings(zone.capabilities.names))
        let name = Output.escaped(zone.zoneID.text)
        let number = count.map { String($0) } ?? "-"
        try output.result(
            "zone", object, text: "\(number)  \(name)  \(Output.escaped(listed.text))")
    }

    /// The zones of a database; those that are damaged are named and left out where that was asked
    /// for.
    private static func zones(
        of listed: ListedDatabase, _ invocation: Invocation, _ output: Output,
        _ hasSkipped: inout Bool
    ) throws -> [RecordZone] {
        guard invocation.has("skip-damaged") else { return try listed.database.allRecordZones() }
        let (zones, skipped) = try listed.database.readableRecordZones()
        output.skipped(skipped)
        hasSkipped = hasSkipped || !skipped.isEmpty
        return zones
    }
}
