import Stratus
import Testing

/// Roles and grants of the public database: semantics 9.4.
@Suite struct GrantTests {
    /// A record type, what it grants, and what callers may do with a record that alice created:
    /// read, create, write, delete. Written by hand after 9.4.
    struct Row: Sendable, CustomTestStringConvertible {
        var type: String
        /// Nil: the schema does not declare the type.
        var grants: String?
        var anonymous: String
        /// The creator, without a role.
        var alice: String
        /// A user without a role.
        var bob: String
        /// With the role Curator.
        var carol: String
        /// With the roles Writer and Editor.
        var dave: String

        var testDescription: String { type }

        var callers: [(name: String?, allowed: String)] {
            [
                (nil, anonymous), ("alice", alice), ("bob", bob), ("carol", carol),
                ("dave", dave),
            ]
        }
    }

    private static let trio =
        #"GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world""#

    static let rows = [
        Row(
            type: "Standard", grants: trio, anonymous: "r", alice: "rcwd", bob: "rc",
            carol: "rc", dave: "rc"),
        Row(
            type: "Undeclared", grants: nil, anonymous: "r", alice: "rcwd", bob: "rc",
            carol: "rc", dave: "rc"),
        Row(type: "Closed", grants: "", anonymous: "", alice: "", bob: "", carol: "", dave: ""),
        Row(
            type: "Open", grants: #"GRANT READ, CREATE, WRITE TO "_world""#, anonymous: "r",
            alice: "rcwd", bob: "rcwd", carol: "rcwd", dave: "rcwd"),
        Row(
            type: "Members", grants: #"GRANT READ, CREATE, WRITE TO "_icloud""#, anonymous: "",
            alice: "rcwd", bob: "rcwd", carol: "rcwd", dave: "rcwd"),
        Row(
            type: "Own", grants: #"GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator""#,
            anonymous: "", alice: "rcwd", bob: "c", carol: "c", dave: "c"),
        Row(
            type: "Curated",
            grants: #"GRANT READ TO "_world", GRANT READ, CREATE, WRITE TO Curator"#,
            anonymous: "r", alice: "r", bob: "r", carol: "rcwd", dave: "r"),
        // A user with two roles has what either is granted.
        Row(
            type: "Split",
            grants: #"GRANT READ TO "_world", GRANT CREATE TO Writer, GRANT WRITE TO Editor"#,
            anonymous: "r", alice: "r", bob: "r", carol: "r", dave: "rcwd"),
        // What is not there yet has no creator.
        Row(
            type: "Kept", grants: #"GRANT READ TO "_world", GRANT CREATE, WRITE TO "_creator""#,
            anonymous: "r", alice: "rwd", bob: "r", carol: "r", dave: "r"),
        // Several grants to a role add up.
        Row(
            type: "Twice", grants: "GRANT READ TO Curator, GRANT CREATE TO Curator",
            anonymous: "", alice: "", bob: "", carol: "rc", dave: ""),
    ]

    private static let schema: String = {
        var text = "DEFINE SCHEMA CREATE ROLE Curator; CREATE ROLE Writer; CREATE ROLE Editor;"
        for row in rows {
            guard let grants = row.grants else { continue }
            text += "\nRECORD TYPE \(row.type) (n INT64\(grants.isEmpty ? "" : ", ")\(grants));"
        }
        return text
    }()

    private static func begin() async throws -> Container {
        let container = try Container.inMemory()
        try await container.importSchema(schema)
        try await container.setRoles(["Curator"], of: "carol")
        try await container.setRoles(["Writer", "Editor"], of: "dave")
        return container
    }

    /// What a caller could do, in the letters of the table.
    private static func done(
        as database: Database, _ type: String, in container: Container
    ) async throws -> (allowed: String, codes: Set<StoreError.Code>) {
        let owner = container.publicDatabase(asHost: "alice")
        var record = try await owner.save(
            note("old", ["n": 1], type: type, in: .default), savePolicy: .allKeys)
        record["n"] = 2
        let (edited, id) = (record, record.recordID)
        let calls: [(letter: String, call: () async throws -> Void)] = [
            ("r", { _ = try await database.record(for: id) }),
            ("c", { try await database.save(note("new", ["n": 1], type: type, in: .default)) }),
            ("w", { try await database.save(edited) }),
            ("d", { try await database.deleteRecord(withID: id) }),
        ]
        var allowed = ""
        var codes: Set<StoreError.Code> = []
        for (letter, call) in calls {
            do {
                try await call()
                allowed += letter
            } catch let error as StoreError {
                codes.insert(error.code)
            }
        }
        // For the next one.
        for name in ["old", "new"] {
            try await owner.deleteRecord(withID: noteID(name, in: .default))
        }
        return (allowed, codes)
    }

    @Test(arguments: rows)
    func `callers do what their roles are granted, and no more`(row: Row) async throws {
        let container = try await Self.begin()
        for (name, allowed) in row.callers {
            let database = container.publicDatabase(as: name)
            let done = try await Self.done(as: database, row.type, in: container)
            #expect(done.allowed == allowed, "\(name ?? "anonymous")")
            let expected: Set<StoreError.Code> =
                name == nil ? [.notAuthenticated, .permissionFailure] : [.permissionFailure]
            #expect(done.codes.isSubset(of: expected), "\(name ?? "anonymous")")
        }
        let host = container.publicDatabase(asHost: "bob")
        #expect(try await Self.done(as: host, row.type, in: container).allowed == "rcwd")
    }

    @Test func `grants have no effect in a private database`() async throws {
        let container = try await Self.begin()
        let database = container.privateDatabase(for: "bob")
        var record = try await database.save(note("a", ["n": 1], type: "Closed", in: .default))
        record["n"] = 2
        try await database.save(record)
        #expect(try await database.record(for: record.recordID)["n"] == 2)
        try await database.deleteRecord(withID: record.recordID)
    }

    @Test func `other grants hold from the import on`() async throws {
        let container = try Container.inMemory()
        func declare(_ grants: String) async throws {
            try await container.importSchema(
                "DEFINE SCHEMA RECORD TYPE Note (n INT64\(grants));")
        }
        try await declare(", \(Self.trio)")
        let alice = container.publicDatabase(as: "alice")
        let record = try await alice.save(note("a", ["n": 1], in: .default))
        let bob = container.publicDatabase(as: "bob")
        for round in 0..<3 {
            #expect(try await bob.record(for: record.recordID) == record, "\(round)")
            try await declare("")
            let error = await failure { try await bob.record(for: record.recordID) }
            #expect(error.code == .permissionFailure, "\(round)")
            try await declare(", \(Self.trio)")
        }
    }

    @Test func `a user's record has its own rules, whatever the schema grants`() async throws {
        let container = try Container.inMemory()
        try await container.importSchema(
            #"DEFINE SCHEMA RECORD TYPE Users (nickname STRING, GRANT READ TO "_creator");"#)
        let database = container.publicDatabase(as: "alice")
        var record = try await database.record(for: container.userRecordID(for: "alice"))
        record["nickname"] = "Al"
        record = try await database.save(record)
        #expect(try await container.publicDatabase().record(for: record.recordID) == record)
    }

    @Test func `roles are those of the schema, and each setting replaces the last`() async throws {
        let container = try await Self.begin()
        #expect(try await container.roles(of: "carol") == ["Curator"])
        #expect(try await container.roles(of: "dave") == ["Editor", "Writer"])
        #expect(try await container.roles(of: "bob") == [])
        for roles: Set<String> in [["Curator", "Unknown"], ["_icloud"], ["curator"], [""]] {
            let error = await failure { try await container.setRoles(roles, of: "carol") }
            #expect(error.code == .invalidArguments)
        }
        #expect(try await container.roles(of: "carol") == ["Curator"])
        let head = container.information.head
        try await container.setRoles(["Curator"], of: "carol")
        #expect(container.information.head == head)
        try await container.setRoles(["Editor"], of: "carol")
        #expect(try await container.roles(of: "carol") == ["Editor"])
        try await container.setRoles([], of: "carol")
        #expect(try await container.roles(of: "carol") == [])
        let unnamed = await failure { try await container.setRoles([], of: "") }
        #expect(unnamed.code == .invalidArguments)
        let error = await failure {
            try await container.publicDatabase(as: "carol").save(
                note("a", ["n": 1], type: "Curated", in: .default))
        }
        #expect(error.code == .permissionFailure)
    }
}
