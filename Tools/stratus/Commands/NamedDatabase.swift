import Stratus
import StratusGateway

/// A database at one moment, by a name under which another store may have it too.
struct NamedDatabase {
    /// So many records are read, and in memory, at once.
    static let batch = 32

    /// What the host calls the owner or, where it never said that, the user record name; nil: the
    /// public one.
    let user: String?
    let database: DatabaseSnapshot
    /// Those of its store.
    let users: UserNames

    /// Whether it is that user's, or the public one. Names are told apart by their bytes.
    func isOf(_ other: String?) -> Bool { user.isSame(as: other) }

    /// Its zones, or the one of that name, in the order of their names.
    func zones(named name: String?) throws -> [RecordZone.ID] {
        try database.allRecordZones().map(\.zoneID)
            .filter { name == nil || $0.zoneName == name }
            .sorted { $0.zoneName.precedes($1.zoneName) }
    }

    /// Gives `body` the keys of the records of a zone, in no order; not of those of shares.
    ///
    /// - Parameter skipped: what is done with what is damaged; nil: it ends the command.
    func forEachKey(
        in zone: RecordZone.ID, skipped: (([StoreError]) -> Void)? = nil,
        _ body: (String) throws -> Void
    ) throws {
        var cursor: RecordPage.Cursor?
        repeat {
            let page = try database.records(
                inZoneWith: zone, desiredKeys: [], from: cursor, skippingDamaged: skipped != nil)
            if let skipped, !page.skipped.isEmpty { skipped(page.skipped) }
            for record in page.records where record.recordType != Record.shareType {
                try body(users.key(of: record.recordID.recordName))
            }
            cursor = page.cursor
        } while cursor != nil
    }

    /// Those of the records that there are, by their keys.
    func records(_ keys: [String], in zone: RecordZone.ID) throws -> [String: Record] {
        var keysByName: [String: String] = [:]
        for key in keys { if let name = users.recordName(key) { keysByName[name] = key } }
        let ids = keysByName.keys.map { Record.ID(recordName: $0, zoneID: zone) }
        var found: [String: Record] = [:]
        for (id, result) in try database.records(for: ids) {
            do throws(StoreError) {
                let record = try result.get()
                found[keysByName[id.recordName] ?? ""] =
                    record.recordType == Record.shareType ? nil : record
            } catch {
                guard error.code == .unknownItem else { throw error }
            }
        }
        return found
    }

    /// What a dump says of a record.
    func line(_ record: Record) -> DumpLine {
        DumpLine(
            .record(record), of: user,
            userOfRecord: users.userName(ofRecord: record.recordID.recordName))
    }
}

/// What the users of a store are called. The records of users bear names that each store makes for
/// itself; a key is the same in all stores: the record's name, or of a user's a space and what the
/// host calls the user.
struct UserNames {
    private let userNames: [String: String]
    private let recordNames: [String: String]

    init(_ users: [StoreUser]) {
        let named = users.filter { $0.userName != nil }
        userNames = Dictionary(
            named.map { ($0.recordName, $0.userName ?? "") },
            uniquingKeysWith: { first, _ in first })
        recordNames = Dictionary(
            named.map { (" " + ($0.userName ?? ""), $0.recordName) },
            uniquingKeysWith: { first, _ in first })
    }

    /// What the host calls the user of that record; nil where it has none, or it is no user's.
    func userName(ofRecord name: String) -> String? { name.hasPrefix("_") ? userNames[name] : nil }

    func key(of name: String) -> String { userName(ofRecord: name).map { " " + $0 } ?? name }

    /// Nil where the store has no such user.
    func recordName(_ key: String) -> String? { key.hasPrefix(" ") ? recordNames[key] : key }
}

extension String {
    /// Whether it comes first by the order of bytes.
    func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}

extension JSONObject {
    /// Says whose database it is; nil: the public one.
    mutating func append(databaseOf user: String?) {
        append("database", .string(user == nil ? "public" : "private"))
        append("user", user.map(JSONValue.string))
    }
}

extension Invocation {
    /// Of commands that go through all there is.
    func refuseShared() throws(ToolError) {
        guard database == .shared else { return }
        throw .usage("shared", "what others share with a user is in the databases of its owners")
    }

    /// All databases, or the one that the command line chooses: the public one first, then those of
    /// users in the order of their names.
    func namedDatabases(
        of snapshot: Snapshot, in container: Container
    ) throws -> [NamedDatabase] {
        try refuseShared()
        let names = UserNames(try container.allUsers())
        // No user's name is empty.
        return try databases(of: container, at: snapshot)
            .map { NamedDatabase(user: $0.name, database: $0.database, users: names) }
            .sorted { ($0.user ?? "").precedes($1.user ?? "") }
    }
}
