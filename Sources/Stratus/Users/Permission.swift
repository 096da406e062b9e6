internal import StratusEngine

/// Who makes a call, as the program that opened the container says.
enum Principal: Hashable, Sendable {
    case anonymous
    case user(UserID)
    /// The program itself; its changes bear the name of that user.
    case host(UserID)
    /// An empty name was given.
    case unnamed

    /// Nil where there is none.
    var user: UserID? {
        switch self {
        case .anonymous, .unnamed: nil
        case .user(let user), .host(let user): user
        }
    }
}

/// Decides what a caller may do: a function of its arguments alone, which every call asks. Rules:
/// `Formats/README.md`, "Permissions".
enum Permission {
    enum Action: CaseIterable, Sendable {
        case read
        case create
        /// Changing what is there.
        case write
        /// Changing what is there, and its parent.
        case move
        case delete
        /// Deleting it along with a record that it refers to.
        case cascade
        /// Becoming a participant of a share.
        case join
    }

    enum Object: Sendable {
        /// The database itself, before any record is looked at.
        case database
        /// A record of the public database: what its type grants, the caller's roles, and who created
        /// it, nil for one that is new.
        case publicRecord(Grants, type: String, roles: Set<String>, creator: UserID?)
        /// A record of another user's zone.
        case sharedRecord(SharedRecord)
        /// The record of a user.
        case userRecord
        /// A share, as one meets it who has its link.
        case share(isInvited: Bool, isPublic: Bool)
    }

    /// A record of another user's zone, as a participant meets it.
    struct SharedRecord: Hashable, Sendable {
        enum Position: CaseIterable, Sendable {
            case member, root, share
        }

        var position = Position.member
        /// What the caller may do in its share; nil where none of the caller's shares has it.
        var grant: SharedGrant?
    }

    /// Nil where the action is allowed, or why it is not.
    static func refusal(
        of action: Action, on object: Object = .database, by principal: Principal,
        in scope: DatabaseScope
    ) -> StoreError? {
        if case .unnamed = principal { return .emptyUserName }
        switch object {
        case .database:
            guard case .anonymous = principal else { return nil }
            return scope == .public && action == .read ? nil : .noUser
        case .publicRecord(let grants, let type, let roles, let creator):
            let isAllowed = grants.allows(
                action.granted, ofType: type, to: principal, roles: roles, creator: creator)
            if isAllowed { return nil }
            if case .anonymous = principal, action != .read { return .noUser }
            return action == .read ? .mayNotRead : .mayNotWrite
        case .sharedRecord(let record):
            guard let grant = record.grant else {
                return action == .read ? .mayNotRead : .mayNotWrite
            }
            return grant.allows(action, record.position) ? nil : .mayNotWrite
        case .userRecord: return action == .delete ? .userRecordStays : nil
        case .share(let isInvited, let isPublic):
            return isInvited || isPublic ? nil : .notInvited
        }
    }

    /// Throws what ``refusal(of:on:by:in:)`` returns.
    static func check(
        _ action: Action, on object: Object = .database, by principal: Principal,
        in scope: DatabaseScope
    ) throws(EngineError) {
        if let refusal = refusal(of: action, on: object, by: principal, in: scope) {
            throw .refused(refusal)
        }
    }
}

/// What a participant may do in a share.
struct SharedGrant: Hashable, Sendable {
    var mayWrite: Bool
    /// Whether the participant may change the share's participants and permissions.
    var isAdministrator: Bool

    /// `Formats/README.md`, "Sharing": who may do what. Deleting the share's record is leaving it.
    func allows(
        _ action: Permission.Action, _ position: Permission.SharedRecord.Position
    ) -> Bool {
        switch (action, position) {
        case (.read, _), (.delete, .share), (.cascade, .member): true
        case (.write, .share), (.move, .share): isAdministrator
        case (.write, _), (.create, .member), (.move, .member), (.delete, .member): mayWrite
        // A root's parent lies outside of the share.
        case (.move, .root), (.create, _), (.delete, .root), (.cascade, _), (.join, _): false
        }
    }
}

extension Permission.Action {
    /// What a grant of the schema calls it.
    fileprivate var granted: Grants.Permission {
        switch self {
        case .read: .read
        case .create: .create
        case .write, .move, .delete, .cascade, .join: .write
        }
    }
}

extension StoreError {
    static let userRecordStays = StoreError(
        .permissionFailure, "a user's record cannot be deleted")
    static let emptyUserName = StoreError(
        .invalidArguments, "expected the name of a user, found an empty one")
    static let noUser = StoreError(
        .notAuthenticated,
        "expected a call by a user, found one without: only reading "
            + "the public database needs none")
    static let mayNotRead = StoreError(
        .permissionFailure, "READ operation not permitted")
    static let mayNotWrite = StoreError(
        .permissionFailure, "WRITE operation not permitted")
}
