import Stratus
import StratusGateway
import Testing

/// Alice's zone `notes`, whose records she shares through a gateway:
///
///     root       out
///       a   b
///         a1
struct TestShares {
    let gateway: TestGateway

    init(profile: Profile = .unlimited, grants: Set<Gateway.Grant> = []) async throws {
        gateway = try await TestGateway(Container.inMemory(profile: profile), grants: grants)
        let made = try await gateway.modify(
            [
                Self.new("root"), Self.new("a", under: "root"), Self.new("a1", under: "a"),
                Self.new("b", under: "root"), Self.new("out"),
            ].joined(separator: ","), #","atomic":true"#)
        try #require(made.body["records"][4]["recordChangeTag"].text != nil, "\(made.text)")
    }

    var container: Container { gateway.container }

    /// The zone as participants name it.
    var zone: String {
        #"{"zoneName":"notes","ownerRecordName":"\#(container.userRecordName(for: "alice"))"}"#
    }

    /// What participants see of `root`, but for the record of the share.
    static let members = ["a", "a1", "b", "root"]
}

// Items of records/modify.
extension TestShares {
    static func new(_ name: String, under parent: String? = nil, _ more: String = "") -> String {
        let parent = parent.map { #","parent":{"recordName":"\#($0)"}"# } ?? ""
        return #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"Note","#
            + #""fields":{"n":{"value":1}}\#(parent)\#(more)}}"#
    }

    static func set(_ name: String, _ value: Int) -> String {
        #"{"operationType":"forceUpdate","record":{"recordName":"\#(name)","recordType":"Note","#
            + #""fields":{"n":{"value":\#(value)}}}}"#
    }

    static func delete(_ name: String) -> String {
        #"{"operationType":"forceDelete","record":{"recordName":"\#(name)"}}"#
    }

    /// A new share; `more` begins with a comma.
    static func share(
        _ root: String?, _ more: String = "", kind: String = "create"
    ) -> String {
        let what =
            root.map { #""forRecord":{"recordName":"\#($0)"}"# }
            ?? #""recordName":"cloudkit.zoneshare""#
        return #"{"operationType":"\#(kind)","record":{"recordType":"cloudkit.share","#
            + #"\#(what)\#(more)}}"#
    }

    /// A list of participants as a key of a share, with a comma before it.
    static func participants(_ list: String...) -> String {
        #","participants":[\#(list.joined(separator: ","))]"#
    }

    /// A participant by user name, or by what `by` says.
    static func participant(
        _ name: String, _ permission: String = "READ_WRITE", by key: String = "userRecordName",
        role: String = "USER"
    ) -> String {
        #"{"userIdentity":{"lookupInfo":{"\#(key)":"\#(name)"}},"role":"\#(role)","#
            + #""permission":"\#(permission)"}"#
    }
}

// Calls.
extension TestShares {
    /// Makes a share and gives its record, with the participants that `more` names.
    func share(_ root: String?, _ more: String = "") async throws -> Found {
        let answer = try await gateway.modify(Self.share(root, more))
        let share = answer.body["records"][0]
        try #require(share["shortGUID"].text != nil, "\(answer.text)")
        return share
    }

    /// Shares `root` with users who have all accepted, and gives the record of the share.
    func shared(
        with users: [String] = ["bob"], _ permission: String = "READ_WRITE"
    ) async throws -> Found {
        let list = users.map { Self.participant($0, permission) }.joined(separator: ",")
        let share = try await share("root", #","participants":[\#(list)]"#)
        for user in users {
            let accepted = try await accept(try #require(share["shortGUID"].text), as: user)
            #expect(accepted["participantStatus"].text == "ACCEPTED", "\(accepted.json)")
        }
        return try await gateway.record(try #require(share["recordName"].text))
    }

    /// Saves a share with some of its keys in place of those that it was given with.
    func edit(
        _ share: Found, kind: String = "update", _ changes: [String: String]
    ) async throws -> Answer {
        guard case .object(let object) = share.value else { throw JSONObject.NoObject() }
        var members = object.members.filter { changes[$0.name] == nil }
            .map { #""\#($0.name)":\#(Found($0.value).json)"# }
        members += changes.sorted { $0.key < $1.key }.map { #""\#($0.key)":\#($0.value)"# }
        return try await gateway.modify(
            #"{"operationType":"\#(kind)","record":{\#(members.joined(separator: ","))}}"#)
    }

    func resolve(
        _ link: String, as user: String?, _ more: String = ""
    ) async throws -> Found {
        try await follow("records/resolve", link, as: user, more)
    }

    func accept(_ link: String, as user: String?, _ more: String = "") async throws -> Found {
        try await follow("records/accept", link, as: user, more)
    }

    private func follow(
        _ call: String, _ link: String, as user: String?, _ more: String
    ) async throws -> Found {
        let answer = try await gateway.call(
            call, #"{"shortGUIDs":[{"value":"\#(link)"\#(more)}]}"#, as: user, database: .public)
        return answer.status == 200 ? answer.body["results"][0] : answer.body
    }

    /// A call in the shared database of a user.
    func call(_ call: String, _ body: String = "{}", as user: String) async throws -> Answer {
        try await gateway.call(call, body, as: user, database: .shared)
    }

    /// What became of an item in the zone, as a participant.
    func modify(_ item: String, as user: String) async throws -> Found {
        let answer = try await call(
            "records/modify", #"{"zoneID":\#(zone),"operations":[\#(item)]}"#, as: user)
        return answer.status == 200 ? answer.body["records"][0] : answer.body
    }

    /// A record of the zone, as a participant finds it.
    func record(_ name: String, as user: String) async throws -> Found {
        try await call(
            "records/lookup", #"{"zoneID":\#(zone),"records":[{"recordName":"\#(name)"}]}"#,
            as: user
        ).body["records"][0]
    }

    /// The zones that a user finds in the shared database.
    func zones(of user: String) async throws -> [Found] {
        let zones = try await call("zones/list", as: user).body["zones"]
        return (0..<zones.count).map { zones[$0]["zoneID"] }
    }

    /// The answer of `changes/zone` to a participant.
    func changes(since token: String? = nil, as user: String) async throws -> Found {
        let token = token.map { #","syncToken":"\#($0)""# } ?? ""
        return try await call(
            "changes/zone", #"{"zones":[{"zoneID":\#(zone)\#(token)}]}"#, as: user
        ).body["zones"][0]
    }

    /// The names of the records that a participant finds, but for those of shares.
    func names(seenBy user: String) async throws -> [String] {
        let found = try await changes(as: user)["records"]
        return (0..<found.count).filter { found[$0]["recordType"].text != "cloudkit.share" }
            .compactMap { found[$0]["recordName"].text }.sorted()
    }
}

extension Found {
    /// Of an item: its error, nil of one that succeeded.
    var error: Int? { self["ckErrorCode"].number }

    /// Of a share: the participants who have not gone, without the owner.
    var others: [Found] {
        (0..<self["participants"].count).map { self["participants"][$0] }
            .filter { $0["role"].text != "OWNER" && $0["acceptanceStatus"].text != "REMOVED" }
    }

    /// The same, where it is one.
    var onlyParticipant: Found { others.count == 1 ? others[0] : Found(nil) }

    /// Of a list: the texts under a key of its elements.
    func texts(_ key: String) -> [String] {
        (0..<count).compactMap { self[$0][key].text }
    }
}
