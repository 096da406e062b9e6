internal import Stratus

// What Web Services calls permissions, roles and states of participants: semantics 8.5.

enum PermissionWord: String, JSONWord {
    case none = "NONE"
    case readOnly = "READ_ONLY"
    case readWrite = "READ_WRITE"

    init(_ permission: Share.Permission) {
        switch permission {
        case .none: self = .none
        case .readOnly: self = .readOnly
        case .readWrite: self = .readWrite
        }
    }

    var permission: Share.Permission {
        switch self {
        case .none: Share.Permission.none
        case .readOnly: .readOnly
        case .readWrite: .readWrite
        }
    }
}

enum RoleWord: String, JSONWord {
    case owner = "OWNER"
    case administrator = "ADMINISTRATOR"
    case privateUser = "USER"
    case publicUser = "PUBLIC_USER"

    init(_ role: Share.Role) {
        switch role {
        case .owner: self = .owner
        case .administrator: self = .administrator
        case .privateUser: self = .privateUser
        case .publicUser: self = .publicUser
        }
    }

    var role: Share.Role {
        switch self {
        case .owner: .owner
        case .administrator: .administrator
        case .privateUser: .privateUser
        case .publicUser: .publicUser
        }
    }
}

enum AcceptanceWord: String, JSONWord {
    case pending = "INVITED"
    case accepted = "ACCEPTED"
    case removed = "REMOVED"

    init(_ status: Share.AcceptanceStatus) {
        switch status {
        case .pending: self = .pending
        case .accepted: self = .accepted
        case .removed: self = .removed
        }
    }
}
