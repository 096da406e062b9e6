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

/// Decides what a caller may do in a database: a function of its arguments alone, which every call
/// asks. Rules: `Formats/README.md`, "Permissions".
enum Permission {
    enum Action: Sendable {
        /// Reading anything.
        case read
        /// Changing anything, asked before records are looked at.
        case write
        /// Changing or deleting a record that this user created.
        case change(creator: UserID)
    }

    /// Nil where the action is allowed, or why it is not.
    static func refusal(
        of action: Action, by principal: Principal, in scope: DatabaseScope
    ) -> StoreError? {
        switch (principal, action) {
        case (.unnamed, _): return .emptyUserName
        case (.anonymous, .read) where scope == .public: return nil
        case (.anonymous, _):
            return StoreError(
                .notAuthenticated,
                "expected a call by a user, found one without: only reading "
                    + "the public database needs none")
        case (.user(let user), .change(let creator)):
            return scope == .public && user != creator ? .notTheCreator : nil
        case (.user, .read), (.user, .write), (.host, _): return nil
        }
    }

    /// Throws what ``refusal(of:by:in:)`` returns.
    static func check(
        _ action: Action, by principal: Principal, in scope: DatabaseScope
    ) throws(EngineError) {
        if let refusal = refusal(of: action, by: principal, in: scope) { throw .refused(refusal) }
    }
}

extension StoreError {
    static let emptyUserName = StoreError(
        .invalidArguments, "expected the name of a user, found an empty one")
    fileprivate static let notTheCreator = StoreError(
        .permissionFailure,
        "WRITE operation not permitted: expected the user who created the record, found another")
}
