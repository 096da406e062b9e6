import Stratus
import Testing

/// Who may do what with the records of a zone that is shared, written after the table of semantics
/// 8.9 and the texts around it, and after nothing else.
///
/// The zone is alice's. In it are the tree of `root`, which is shared with bob as the situation
/// says, or all of the zone is; the tree of another root that is shared with dave; that of one
/// more, in which bob may have a part as well; and records that are in no share.
struct PermissionSituation: Sendable, CustomTestStringConvertible {
    enum Kind: String, CaseIterable { case hierarchy, zone }

    /// How far bob has got with the share.
    enum Standing: String, CaseIterable {
        case notInvited, pending, accepted, removed, left, ended, endedAndSharedAgain
    }

    var kind: Kind
    var role: Share.Role
    var permission: Share.Permission
    var standing: Standing
    /// Whether bob has a part, with readWrite, in one more share of the zone.
    var hasOtherShare: Bool

    var testDescription: String {
        "\(kind), \(role), \(permission), \(standing)" + (hasOtherShare ? ", another share" : "")
    }

    static let all: [PermissionSituation] = {
        var all: [PermissionSituation] = []
        for kind in Kind.allCases {
            for role in [Share.Role.administrator, .privateUser, .publicUser] {
                for permission in [Share.Permission.readOnly, .readWrite] {
                    for standing in Standing.allCases {
                        // By a link a user joins without being invited.
                        if role == .publicUser, standing == .pending { continue }
                        for hasOtherShare in kind == .hierarchy ? [false, true] : [false] {
                            all.append(
                                PermissionSituation(
                                    kind: kind, role: role, permission: permission,
                                    standing: standing, hasOtherShare: hasOtherShare))
                        }
                    }
                }
            }
        }
        return all
    }()
}

/// One question: may the caller do this with the record in this position?
struct PermissionCell: Hashable, CustomStringConvertible {
    /// A user and one of the user's databases; `stranger` has no part in anything.
    enum Caller: String, CaseIterable {
        case ownerPrivate, ownerShared, memberShared, memberPrivate, otherShared, strangerShared,
            strangerPrivate

        var user: String {
            switch self {
            case .ownerPrivate, .ownerShared: "alice"
            case .memberShared, .memberPrivate: "bob"
            case .otherShared: "dave"
            case .strangerShared, .strangerPrivate: "eve"
            }
        }

        var isPrivate: Bool {
            switch self {
            case .ownerPrivate, .memberPrivate, .strangerPrivate: true
            case .ownerShared, .memberShared, .otherShared, .strangerShared: false
            }
        }
    }

    enum Position: String, CaseIterable {
        /// The head of bob's share.
        case root
        /// Below it.
        case child, grandchild
        /// The record of the share.
        case share
        /// In the share that bob may have beside, and in dave's.
        case beside, other
        /// In no share, and no record at all.
        case outside, missing
        /// Of a new record: that it has no parent.
        case nowhere
    }

    enum Action: String, CaseIterable {
        case fetch, fetchMany, list, query, feed
        case saveByTag, saveChangedKeys, saveAllKeys, delete, createBelow, moveOut, moveToRoot
    }

    var caller: Caller
    var position: Position
    var action: Action

    var description: String { "\(caller) \(action) \(position)" }
}

/// What came of an action.
enum PermissionAnswer: Hashable, CustomStringConvertible {
    /// It was done, or found.
    case yes
    /// It failed not, and nothing was done or found.
    case no
    case fails(StoreError.Code)

    var description: String {
        switch self {
        case .yes: "yes"
        case .no: "no"
        case .fails(let code): code.name ?? "\(code.rawValue)"
        }
    }
}

/// What a caller may do with a record.
private enum Right: Comparable { case none, read, write }

extension PermissionSituation {
    /// All questions that there are in this situation.
    var cells: [PermissionCell] {
        var cells: [PermissionCell] = []
        for caller in PermissionCell.Caller.allCases {
            if kind == .zone, caller == .otherShared { continue }
            for position in PermissionCell.Position.allCases {
                for action in PermissionCell.Action.allCases
                where makesSense(action, position) {
                    cells.append(
                        PermissionCell(caller: caller, position: position, action: action))
                }
            }
        }
        return cells
    }

    private func makesSense(
        _ action: PermissionCell.Action, _ position: PermissionCell.Position
    ) -> Bool {
        if kind == .zone, position == .beside || position == .other { return false }
        switch action {
        case .createBelow: return position != .share
        case .query: return position != .share && position != .nowhere
        case .moveOut: return [.child, .grandchild, .beside, .other].contains(position)
        case .moveToRoot:
            return [.grandchild, .beside, .other, .outside].contains(position)
        case .fetch, .fetchMany, .list, .feed, .saveByTag, .saveChangedKeys, .saveAllKeys, .delete:
            return position != .nowhere
        }
    }

    /// Whether the share is there.
    private var isShared: Bool { standing != .ended }

    /// Whether there is a record in that position.
    private func exists(_ position: PermissionCell.Position) -> Bool {
        switch position {
        case .missing, .nowhere: false
        case .share: isShared
        case .root, .child, .grandchild, .beside, .other, .outside: true
        }
    }

    private func right(
        of caller: PermissionCell.Caller, to position: PermissionCell.Position
    ) -> Right {
        guard exists(position) else { return .none }
        switch (caller, position) {
        case (.ownerPrivate, _): return .write
        case (.otherShared, .other): return .write
        case (.memberShared, .beside): return hasOtherShare ? .write : .none
        case (.memberShared, .root), (.memberShared, .child), (.memberShared, .grandchild):
            return own
        case (.memberShared, .outside): return kind == .zone ? own : .none
        case (.memberShared, .share):
            // To the participants and permissions; records are another matter.
            if standing != .accepted { return .none }
            return role == .administrator ? .write : .read
        default: return .none
        }
    }

    /// Bob's to the records of the share.
    private var own: Right {
        if standing != .accepted { return .none }
        return permission == .readWrite ? .write : .read
    }

    /// The answers that are right, of which there is one but where the law is silent.
    func expected(_ cell: PermissionCell) -> Set<PermissionAnswer> {
        switch cell.caller {
        case .ownerPrivate, .otherShared: break
        case .memberPrivate, .strangerPrivate: return [.fails(.badDatabase)]
        case .ownerShared, .strangerShared: return [.fails(.zoneNotFound)]
        case .memberShared:
            if standing != .accepted, !hasOtherShare { return [.fails(.zoneNotFound)] }
        }
        let right = right(of: cell.caller, to: cell.position)
        switch cell.action {
        case .fetch, .fetchMany: return right == .none ? [.fails(.unknownItem)] : [.yes]
        case .list, .query, .feed: return right == .none ? [.no] : [.yes]
        case .saveByTag, .saveChangedKeys, .saveAllKeys: return saving(cell, right)
        case .delete: return deleting(cell, right)
        case .createBelow: return creating(cell, right)
        case .moveOut, .moveToRoot: return moving(cell, right)
        }
    }

    /// Whether the caller needs no parent for a record, and may write where that is so.
    private func mayCreateAlone(_ caller: PermissionCell.Caller) -> Right {
        if caller == .ownerPrivate { return .write }
        return caller == .memberShared && kind == .zone ? own : .none
    }

    private func saving(_ cell: PermissionCell, _ right: Right) -> Set<PermissionAnswer> {
        if exists(cell.position) {
            return right == .write ? [.yes] : [.fails(.permissionFailure)]
        }
        // Shares are saved by their tag, whatever the policy.
        let isByTag = cell.action == .saveByTag || cell.position == .share
        switch mayCreateAlone(cell.caller) {
        case .write: return isByTag ? [.fails(.unknownItem)] : [.yes]
        case .read, .none:
            // Nothing says which of the two comes first of a record that is not there.
            return isByTag
                ? [.fails(.unknownItem), .fails(.permissionFailure)]
                : [.fails(.permissionFailure)]
        }
    }

    private func deleting(_ cell: PermissionCell, _ right: Right) -> Set<PermissionAnswer> {
        if right == .none { return [.no] }
        // By all but the owner that is leaving it.
        if cell.position == .share { return [.yes] }
        if right == .read { return [.fails(.permissionFailure)] }
        guard cell.position == .root else { return [.yes] }
        // It has children. To participants it is refused in any case, where it is a root.
        let isRoot = kind == .hierarchy && isShared
        return cell.caller != .ownerPrivate && isRoot
            ? [.fails(.permissionFailure)] : [.fails(.referenceViolation)]
    }

    private func creating(_ cell: PermissionCell, _ right: Right) -> Set<PermissionAnswer> {
        if cell.position == .nowhere {
            return mayCreateAlone(cell.caller) == .write ? [.yes] : [.fails(.permissionFailure)]
        }
        switch right {
        case .write: return [.yes]
        case .read: return [.fails(.permissionFailure)]
        case .none:
            let mayWrite = PermissionCell.Position.allCases.contains {
                $0 != .share && self.right(of: cell.caller, to: $0) == .write
            }
            // Who may write nowhere may be told that first.
            return mayWrite
                ? [.fails(.referenceViolation)]
                : [.fails(.referenceViolation), .fails(.permissionFailure)]
        }
    }

    private func moving(_ cell: PermissionCell, _ right: Right) -> Set<PermissionAnswer> {
        if right != .write { return [.fails(.permissionFailure)] }
        if cell.action == .moveOut {
            return mayCreateAlone(cell.caller) == .write ? [.yes] : [.fails(.permissionFailure)]
        }
        switch self.right(of: cell.caller, to: .root) {
        case .write: return [.yes]
        case .read: return [.fails(.permissionFailure)]
        case .none: return [.fails(.referenceViolation)]
        }
    }

    /// Whether a user may do something, as operators are told.
    func isAllowed(
        _ action: AccessAction, _ caller: PermissionCell.Caller,
        _ position: PermissionCell.Position
    ) -> Bool {
        let right = right(of: caller, to: position)
        let isOwner = caller == .ownerPrivate
        switch action {
        case .read: return right != .none
        case .write: return right == .write
        case .create: return right == .write && (isOwner || position != .share)
        case .delete:
            if position == .share { return right != .none }
            let isRoot = position == .root && kind == .hierarchy && isShared
            return right == .write && (isOwner || !isRoot)
        }
    }
}
