import Stratus
import StratusGateway

/// Lists shares.
enum Shares {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        var listing = try Listing(invocation)
        let container = try await invocation.openStore()
        let snapshot = try await invocation.snapshot(of: container)
        let zone = invocation.value("zone")
        try listing.begin(
            output, schema: "stratus.shares/1",
            columns: "owner  zone  root  participants  permission  state")
        for owner in listing.ordered(try invocation.listedUsers(of: container, at: snapshot))
        where !listing.isFull {
            for share in listing.ordered(try snapshot.sortedShares(ownedBy: owner.recordName)) {
                let zoneName = share.recordID.zoneID.zoneName
                if let zone, zone != zoneName { continue }
                try listing.take { try write(share, of: owner, to: output) }
            }
        }
        try listing.finish(output)
        return .ok
    }

    private static func write(_ share: Share, of owner: StoreUser, to output: Output) throws {
        let columns = [
            owner.text, share.recordID.zoneID.zoneName, share.rootText,
            Quantities.count(share.others.count, "participant"), "\(share.publicPermission)",
            "\(share.count(of: .accepted)) accepted, \(share.count(of: .pending)) invited",
        ]
        try output.result(
            "share", share.json(of: owner),
            text: columns.map { Output.escaped($0) }.joined(separator: "  "))
    }
}

extension Invocation {
    /// The users that a listing is of: the one that `--user` names, or all whom the store knew then.
    func listedUsers(of container: Container, at snapshot: Snapshot) throws -> [StoreUser] {
        guard let name = value("user") else { return try snapshot.allUsers() }
        return [try container.demandUser(name)]
    }
}

/// A user of a store.
struct StoreUser {
    let recordName: String
    /// What the host calls the user; nil where it only ever gave the record name.
    let userName: String?
    /// The place in the order in which the store came to know its users, from 1 on; 0: not known.
    var number = 0

    /// For people.
    var text: String { userName ?? recordName }
}

extension Container {
    /// All users who were ever used, in the order in which they came.
    func allUsers() throws -> [StoreUser] { try snapshot().allUsers() }

    /// The user of that name, who must be known.
    func demandUser(_ name: String) throws -> StoreUser {
        guard try hasUser(name) else {
            throw ToolError(
                .notFound, id: "user.none", "the store has no user \(name)",
                hint: "'stratus users STORE' lists the users")
        }
        let recordName = userRecordName(for: name)
        return StoreUser(recordName: recordName, userName: recordName == name ? nil : name)
    }
}

extension Snapshot {
    /// All users who were ever used by then, in the order in which they came.
    func allUsers() throws -> [StoreUser] {
        var users: [StoreUser] = []
        var cursor: UserPage.Cursor?
        repeat {
            let page = try self.users(from: cursor)
            users += page.users.map {
                StoreUser(
                    recordName: $0.userRecordID.recordName, userName: $0.userName,
                    number: Int($0.number))
            }
            cursor = page.cursor
        } while cursor != nil
        return users
    }

    /// The shares of a user, by their zones and names.
    fileprivate func sortedShares(ownedBy user: String) throws -> [Share] {
        func place(_ share: Share) -> (String, String) {
            (share.recordID.zoneID.zoneName, share.recordID.recordName)
        }
        return try shares(ownedBy: user).sorted { place($0) < place($1) }
    }
}

extension Share {
    /// The participants beside the owner, but for those who have gone.
    var others: [Participant] {
        participants.filter { $0.role != .owner && $0.acceptanceStatus != .removed }
    }

    /// The root, or `*` for the whole zone.
    var rootText: String { rootRecordID?.recordName ?? "*" }

    func count(of status: AcceptanceStatus) -> Int {
        others.count { $0.acceptanceStatus == status }
    }

    fileprivate func json(of owner: StoreUser) -> JSONObject {
        var object: JSONObject = ["owner": .string(owner.recordName)]
        object.append("ownerName", owner.userName.map(JSONValue.string))
        object.append("zone", .string(recordID.zoneID.zoneName))
        object.append("recordName", .string(recordID.recordName))
        object.append("root", (rootRecordID?.recordName).map(JSONValue.string))
        object.append("zoneWide", .boolean(isZoneWide))
        object.append("title", title.map(JSONValue.string))
        object.append("publicPermission", .string(publicPermission.word))
        object.append("shortGUID", shortGUID.map(JSONValue.string))
        object.append("participants", .array(others.map { .object($0.json) }))
        return object
    }
}

/// What the host has said of a user.
extension UserProfile {
    /// For people, each part that there is.
    var columns: [String] {
        let person = [name?.givenName, name?.familyName].compactMap(\.self)
            .joined(separator: " ")
        let places = (emailAddresses + phoneNumbers).joined(separator: ", ")
        var columns = [person, places].filter { !$0.isEmpty }.map { Output.escaped($0) }
        if isDiscoverable { columns.append("discoverable") }
        if accountStatus != .available { columns.append("account \(accountStatus)") }
        return columns
    }
}
