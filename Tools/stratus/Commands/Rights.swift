import Stratus
import StratusGateway

/// Who may do what, and why.
enum Rights {
    /// One who may do something.
    private struct Allowed {
        /// Nil: an anonymous caller.
        let user: StoreUser?
        let decision: AccessDecision
    }

    /// A record, and what is to be done to it.
    private struct Question {
        let action: AccessAction
        let id: Record.ID
        let database: AccessDatabase
        /// Of a private database.
        let owner: String?

        init(_ invocation: Invocation, _ container: Container) throws {
            action =
                switch invocation.argument("ACTION") {
                case "read": .read
                case "create": .create
                case "write": .write
                default: .delete
                }
            let zone =
                try invocation.value("zone").map { try invocation.zoneID($0, in: container) }
                ?? RecordZone.ID.default
            // What others share with a user lies in their private databases.
            let isOwn = zone.ownerName == RecordZone.ID.currentUser
            let owner = isOwn ? invocation.user : zone.ownerName
            id = Record.ID(
                recordName: invocation.argument("RECORD"),
                zoneID: RecordZone.ID(zoneName: zone.zoneName))
            let isPublic = invocation.database == .public
            self.owner = isPublic ? nil : container.userRecordName(for: owner)
            database = isPublic ? .public : .private(owner: owner)
        }

        func decision(for user: String?, in snapshot: Snapshot) throws -> AccessDecision {
            try snapshot.access(of: user, to: action, on: id, in: database)
        }

        /// Those who may.
        func allowed(in snapshot: Snapshot) throws -> [Allowed] {
            let users = try snapshot.allUsers()
            var found: [Allowed] = []
            if let owner {
                let accesses = try snapshot.users(allowedTo: action, on: id, ownedBy: owner)
                for access in accesses {
                    let name = access.userRecordID.recordName
                    let user = users.first { $0.recordName == name }
                    found.append(
                        Allowed(
                            user: user ?? StoreUser(recordName: name, userName: nil),
                            decision: access.decision))
                }
                return found
            }
            var callers: [StoreUser?] = users
            callers.insert(nil, at: 0)
            for user in callers {
                let decision = try self.decision(for: user?.recordName, in: snapshot)
                if decision.isAllowed { found.append(Allowed(user: user, decision: decision)) }
            }
            return found
        }

        func append(to object: inout JSONObject) {
            object.append("action", .string("\(action)"))
            object.append("recordName", .string(id.recordName))
            object.append("zone", .string(id.zoneID.zoneName))
            object.append("database", .string(owner == nil ? "public" : "private"))
            object.append("owner", owner.map(JSONValue.string))
        }
    }

    static func why(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let question = try Question(invocation, container)
        let name = invocation.argument("USER")
        let user = name == "-" ? nil : name
        let decision = try question.decision(
            for: user, in: await invocation.snapshot(of: container))
        var object = JSONObject()
        object.append("user", user.map { .string(container.userRecordName(for: $0)) })
        question.append(to: &object)
        object.append("allowed", .boolean(decision.isAllowed))
        object.append("rule", .string(decision.rule))
        object.append("reason", decision.reason.map(JSONValue.string))
        object.append("share", decision.share.map { .string($0.recordName) })
        try output.object("access", object)
        var lines = [("allowed", decision.isAllowed ? "yes" : "no"), ("rule", decision.rule)]
        if let reason = decision.reason { lines.append(("reason", reason)) }
        if let share = decision.share { lines.append(("share", share.recordName)) }
        try Show.write(lines, to: output)
        return .ok
    }

    static func whoCan(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let question = try Question(invocation, container)
        let snapshot = try await invocation.snapshot(of: container)
        try output.header(schema: "stratus.who-can/1", columns: "user  rule")
        for allowed in try question.allowed(in: snapshot) {
            let (user, decision) = (allowed.user, allowed.decision)
            var object = JSONObject()
            object.append("user", (user?.recordName).map(JSONValue.string))
            object.append("userName", (user?.userName).map(JSONValue.string))
            question.append(to: &object)
            object.append("rule", .string(decision.rule))
            object.append("share", decision.share.map { .string($0.recordName) })
            let columns = [user?.text ?? "-", decision.rule].map { Output.escaped($0) }
            try output.result("access", object, text: columns.joined(separator: "  "))
        }
        return .ok
    }

    static func whatCan(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let user = try container.demandUser(invocation.argument("USER"))
        let snapshot = try await invocation.snapshot(of: container)
        try output.header(schema: "stratus.what-can/1", columns: "database  zone  root  rights  as")
        let roles =
            ["_world", "_icloud", "_creator"]
            + (try snapshot.roles(of: user.recordName).sorted())
        for grant in try snapshot.grants(of: user.recordName) {
            switch (grant.database, grant.share, grant.participant) {
            case (.private(let owner), let share?, let participant?):
                let zone = "\(owner)/\(share.recordID.zoneID.zoneName)"
                try write(
                    Grant(
                        "shared", zone, share.rootText, grant.actions.text,
                        ["\(participant.role)", "\(participant.acceptanceStatus)"],
                        share: share.recordID.recordName), to: output)
            case (.private, _, _):
                try write(Grant("private", "*", "*", grant.actions.text, ["owner"]), to: output)
            case (.public, _, _):
                // A user whose account cannot be used reads as an anonymous caller.
                let mayWrite = grant.actions.contains(.write)
                try write(
                    Grant(
                        "public", "*", "*", mayWrite ? "by role" : "read by role",
                        mayWrite ? roles : ["_world"]), to: output)
            }
        }
        return .ok
    }

    /// Something that a user may do.
    private struct Grant {
        let database: String
        let zone: String
        let root: String
        let rights: String
        let roles: [String]
        let share: String?

        init(
            _ database: String, _ zone: String, _ root: String, _ rights: String,
            _ roles: [String], share: String? = nil
        ) {
            self.database = database
            self.zone = zone
            self.root = root
            self.rights = rights
            self.roles = roles
            self.share = share
        }
    }

    private static func write(_ grant: Grant, to output: Output) throws {
        var object: JSONObject = [
            "database": .string(grant.database), "zone": .string(grant.zone),
            "root": .string(grant.root), "rights": .string(grant.rights),
            "as": .strings(grant.roles),
        ]
        object.append("share", grant.share.map(JSONValue.string))
        let columns = [
            grant.database, grant.zone, grant.root, grant.rights,
            grant.roles.joined(separator: ", "),
        ]
        try output.result(
            "grant", object, text: columns.map { Output.escaped($0) }.joined(separator: "  "))
    }
}

extension Set<AccessAction> {
    /// In words: a user who may write may create and delete, too.
    fileprivate var text: String {
        contains(.write) ? "read, write" : contains(.read) ? "read" : "nothing"
    }
}
