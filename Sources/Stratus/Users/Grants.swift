internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import StratusLanguage

/// What the schema lets callers do with the records of the public database: `Formats/README.md`,
/// "Permissions".
///
/// A type that the schema does not declare, and the type `Users`, have the standard grants: users
/// create, creators write, everybody reads. A type that is declared has what it is granted.
final class Grants: DerivedState {
    enum Permission: UInt8, CaseIterable, Sendable {
        case read = 1
        case create = 2
        /// Changing and deleting.
        case write = 4
    }

    /// Of a schema that declares nothing.
    static let standard = Grants(SchemaDocument())

    private let types: [String: OfType]
    /// The roles that the schema declares.
    let roles: Set<String>
    /// Whether everybody reads records of every type.
    let isOpen: Bool

    init(_ document: SchemaDocument) {
        var types: [String: OfType] = [:]
        for type in document.types where type.name.text != Record.userRecordType {
            types[type.name.text, default: OfType()].add(type.grants)
        }
        self.types = types
        isOpen = types.values.allSatisfy { $0.isOpen }
        roles = Set(document.roles.map(\.text))
    }

    func ofType(_ type: String) -> OfType { types[type] ?? .standard }

    /// Whether a caller may do that with a record of a type.
    ///
    /// - Parameters:
    ///   - roles: those that the host gave the caller; needed only where the type has
    ///     ``OfType/namesRoles``.
    ///   - creator: nil of a record that is not there yet.
    func allows(
        _ permission: Permission, ofType type: String, to principal: Principal,
        roles: Set<String>, creator: UserID?
    ) -> Bool {
        ofType(type).allows(permission, to: principal, roles: roles, creator: creator)
    }
}

extension Grants {
    /// What is granted of one type: for each role the sum of permissions.
    struct OfType: Hashable, Sendable {
        private var world: UInt8 = 0
        private var icloud: UInt8 = 0
        private var creator: UInt8 = 0
        /// To roles that the schema declares.
        private var roles: [String: UInt8] = [:]

        static let standard: OfType = {
            var trio = OfType()
            trio.creator = Permission.write.rawValue
            trio.icloud = Permission.create.rawValue
            trio.world = Permission.read.rawValue
            return trio
        }()

        init() {}

        /// Whether what a caller may do depends on the roles that the host gave.
        var namesRoles: Bool { !roles.isEmpty }

        /// Whether everybody reads its records.
        var isOpen: Bool { world & Permission.read.rawValue != 0 }

        /// The host may do everything, and an anonymous caller nothing but read.
        func allows(
            _ permission: Permission, to principal: Principal, roles held: Set<String>,
            creator author: UserID?
        ) -> Bool {
            let wanted = permission.rawValue
            switch principal {
            case .host: return true
            case .unnamed: return false
            case .anonymous: return permission == .read && world & wanted != 0
            case .user(let user):
                if (world | icloud) & wanted != 0 { return true }
                // What is not there yet has no creator.
                if permission != .create, author == user, creator & wanted != 0 { return true }
                return roles.contains { $0.value & wanted != 0 && held.contains($0.key) }
            }
        }

        fileprivate mutating func add(_ grants: [SchemaDocument.Grant]) {
            for grant in grants {
                let added = grant.permissions.reduce(UInt8(0)) { $0 | Permission($1).rawValue }
                switch grant.role.text {
                case "_world": world |= added
                case "_icloud": icloud |= added
                case "_creator": creator |= added
                default: roles[grant.role.text, default: 0] |= added
                }
            }
        }
    }
}

extension Grants.Permission {
    fileprivate init(_ stated: SchemaDocument.Permission) {
        switch stated {
        case .read: self = .read
        case .create: self = .create
        case .write: self = .write
        }
    }
}

extension StoreReading {
    /// Those of the schema that was declared last before the point that this looks from. They are
    /// derived from its text once.
    func grants() throws(EngineError) -> Grants {
        guard let value = try value(KeySpace.schemaText.key()) else { return .standard }
        let place = EntryLocation(value)
        if let known = derived(from: place.offset) as? Grants { return known }
        let entry = try entry(place)
        let document = entry.withPayload { bytes in
            (try? SchemaTextEntry(bytes)).flatMap { try? SchemaDocument(parsing: $0.text) }
        }
        guard let document else { throw .damaged(entry) }
        let grants = Grants(document)
        keep(grants, derivedFrom: place.offset)
        return grants
    }
}
