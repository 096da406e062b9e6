import Stratus
import Support
import Testing

/// The permission matrix: each cell is asked of a real store, and compared with a table that was
/// written by itself.
@Suite struct PermissionMatrixTests {
    @Test func `the matrix has all its cells`() {
        let cells = PermissionSituation.all.map { $0.cells.count }.reduce(0, +)
        #expect(PermissionSituation.all.count == 120)
        #expect(cells >= 7680, "\(cells)")
        // No answer is the same in all of them.
        let answers = PermissionSituation.all.flatMap { situation in
            situation.cells.map { situation.expected($0) }
        }
        let codes: [StoreError.Code] = [
            .permissionFailure, .unknownItem, .zoneNotFound, .badDatabase, .referenceViolation,
        ]
        let single: [PermissionAnswer] = [.yes, .no] + codes.map { .fails($0) }
        let kinds = Set(answers)
        #expect(kinds.isSuperset(of: single.map { Set([$0]) }))
        // Those where the law leaves it open which error comes first are few.
        let open = answers.count { $0.count > 1 }
        #expect(open * 20 < cells)
    }

    @Test(arguments: PermissionSituation.all)
    func `callers do what the table says in a zone that is shared`(
        situation: PermissionSituation
    ) async throws {
        let problems = try await PermissionWorld(situation).problems()
        #expect(problems == [])
    }

    @Test(arguments: PermissionSituation.all.filter { $0.permission == .readWrite })
    func `operators are told what callers meet`(situation: PermissionSituation) async throws {
        let problems = try await PermissionWorld(situation).problemsOfDecisions()
        #expect(problems == [])
    }
}

/// The public database with grants of all kinds, by semantics 9.4.
@Suite struct PublicPermissionMatrixTests {
    private enum Permission: String, CaseIterable {
        case read = "READ"
        case create = "CREATE"
        case write = "WRITE"
    }

    /// A record type with what it grants to each role.
    private struct GrantedType {
        var name: String
        var grants: [String: Set<Permission>]

        /// Whether a user with these roles may do that with a record.
        func allows(
            _ permission: Permission, _ roles: Set<String>, isSignedIn: Bool, isCreator: Bool
        ) -> Bool {
            var all = roles.union(["_world"])
            if isSignedIn { all.insert("_icloud") }
            if isCreator { all.insert("_creator") }
            return all.contains { grants[$0]?.contains(permission) ?? false }
        }

        var text: String {
            let grants = grants.sorted { $0.key < $1.key }.map { role, permissions in
                let words = permissions.map { $0.rawValue }.sorted().joined(separator: ", ")
                return "GRANT \(words) TO \"\(role)\""
            }
            return "RECORD TYPE \(name) (\((["n INT64"] + grants).joined(separator: ", ")));"
        }
    }

    private static let types: [GrantedType] = {
        var generator = SeededGenerator(seed: 18)
        return (0..<48).map { number in
            var grants: [String: Set<Permission>] = [:]
            for role in ["_world", "_icloud", "_creator", "Curator", "Editor"] {
                let bits = generator.below(8)
                var permissions = Set(
                    Permission.allCases.enumerated().filter { bits & 1 << $0.offset != 0 }
                        .map { $0.element })
                // A record that is not there yet has no creator.
                if role == "_creator" { permissions.remove(.create) }
                // Not all roles in all types, and in some no grant at all.
                if !permissions.isEmpty, number > 0, generator.below(3) > 0 {
                    grants[role] = permissions
                }
            }
            return GrantedType(name: "Type\(number)", grants: grants)
        }
    }()

    private struct Caller {
        var name: String?
        var roles: Set<String> = []
        var isHost = false
    }

    private static let callers = [
        Caller(name: nil), Caller(name: "carl"), Caller(name: "cora", roles: ["Curator"]),
        Caller(name: "emil", roles: ["Editor"]),
        Caller(name: "both", roles: ["Curator", "Editor"]), Caller(name: "host", isHost: true),
    ]

    private enum Action: CaseIterable {
        case fetch, create, saveByTag, saveChangedKeys, saveAllKeys, delete
    }

    private static func begin() async throws -> Container {
        let container = try Container.inMemory()
        let schema = types.map { $0.text }.joined(separator: "\n")
        try await container.importSchema(
            "DEFINE SCHEMA\nCREATE ROLE Curator;\nCREATE ROLE Editor;\n\(schema)")
        for caller in callers where !caller.roles.isEmpty {
            try await container.setRoles(caller.roles, of: try #require(caller.name))
        }
        return container
    }

    /// What a caller meets; nil where it is allowed.
    private static func expected(
        _ action: Action, _ caller: Caller, _ type: GrantedType, isCreator: Bool
    ) -> StoreError.Code? {
        if caller.isHost { return nil }
        let permission: Permission =
            switch action {
            case .fetch: .read
            case .create: .create
            case .saveByTag, .saveChangedKeys, .saveAllKeys, .delete: .write
            }
        guard caller.name != nil || action == .fetch else { return .notAuthenticated }
        let isAllowed = type.allows(
            permission, caller.roles, isSignedIn: caller.name != nil, isCreator: isCreator)
        return isAllowed ? nil : .permissionFailure
    }

    private static func code(
        _ action: Action, _ record: Record, _ database: Database
    ) async throws -> StoreError.Code? {
        var edited = record
        edited["n"] = 2
        do throws(StoreError) {
            switch action {
            case .fetch: _ = try await database.record(for: record.recordID)
            case .create:
                let name = "new-\(record.recordID.recordName)"
                try await database.save(
                    note(name, ["n": 1], type: record.recordType, in: .default))
            case .saveByTag: try await database.save(edited)
            case .saveChangedKeys: try await database.save(edited, savePolicy: .changedKeys)
            case .saveAllKeys: try await database.save(edited, savePolicy: .allKeys)
            case .delete: try await database.deleteRecord(withID: record.recordID)
            }
        } catch {
            return error.code
        }
        return nil
    }

    @Test func `callers do what the grants of a type say, by their roles and as creators`()
        async throws
    {
        let container = try await Self.begin()
        var problems: [String] = []
        var count = 0
        for type in Self.types {
            for caller in Self.callers {
                let name = caller.name ?? "none"
                let database =
                    caller.isHost
                    ? container.publicDatabase(asHost: name)
                    : container.publicDatabase(as: caller.name)
                for isCreator in [false, true] where caller.name != nil || !isCreator {
                    // The host makes it in the name of its creator.
                    let creator = container.publicDatabase(asHost: isCreator ? name : "zoe")
                    for action in Self.Action.allCases {
                        let recordName = "\(type.name)-\(name)-\(isCreator)-\(action)"
                        let record = try await creator.save(
                            note(recordName, ["n": 1], type: type.name, in: .default))
                        let code = try await Self.code(action, record, database)
                        let expected = Self.expected(
                            action, caller, type,
                            isCreator: isCreator && action != .create)
                        count += 1
                        if code != expected {
                            problems.append("\(recordName): \(type.text)")
                        }
                    }
                }
            }
        }
        #expect(problems.prefix(10) == [])
        #expect(count > 3000)
    }
}
