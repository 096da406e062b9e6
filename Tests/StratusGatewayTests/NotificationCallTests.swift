import FoundationEssentials
import Stratus
import StratusGateway
import Testing

/// Notifications on the wire: the collection, read marks and the badge (semantics 6.3 and 6.5).
struct NotificationCallTests {
    private func subscribe(
        _ gateway: TestGateway, _ subscription: String, as user: String = "alice",
        in database: GatewayRequest.Database = .private
    ) async throws {
        let answer = try await gateway.call(
            "subscriptions/modify",
            #"{"operations":[{"operationType":"create","subscription":{\#(subscription)}}]}"#,
            as: user, database: database)
        let made = answer.body["subscriptions"][0]["subscriptionType"].text
        try #require(made != nil, "\(answer.text)")
    }

    /// With a query subscription of alice, whose `more` begins with a comma.
    private func watched(
        _ predicate: String? = nil, firesOn: String = #"["create"]"#, _ more: String = ""
    ) async throws -> TestGateway {
        let gateway = try await TestGateway()
        let predicate = predicate.map { #","predicate":"\#($0)""# } ?? ""
        try await subscribe(
            gateway,
            #""subscriptionID":"q","subscriptionType":"query","#
                + #""query":{"recordType":"Boat"\#(predicate)},"firesOn":\#(firesOn)\#(more)"#)
        return gateway
    }

    private func save(
        _ name: String, berths: Int = 1, in gateway: TestGateway
    ) async throws {
        let answer = try await gateway.modify(
            #"{"operationType":"forceUpdate","record":{"recordName":"\#(name)","#
                + #""recordType":"Boat","fields":{"name":{"value":"\#(name)"},"#
                + #""berths":{"value":\#(berths)}}}}"#)
        try #require(answer.body["records"][0].error == nil, "\(answer.text)")
    }

    private func changes(
        _ gateway: TestGateway, since token: Found? = nil, limit: Int? = nil,
        as user: String = "alice"
    ) async throws -> Found {
        var parts: [String] = []
        if let token { parts.append(#""syncToken":\#(token["syncToken"].json)"#) }
        if let limit { parts.append(#""resultsLimit":\#(limit)"#) }
        let answer = try await gateway.call(
            "notifications/changes", "{\(parts.joined(separator: ","))}", as: user)
        try #require(answer.status == 200, "\(answer.text)")
        return answer.body
    }

    @Test func `a notification has its ID, its type, its payload, and whether it was read`()
        async throws
    {
        let gateway = try await watched(
            nil,
            #","notificationInfo":{"alertBody":"new","soundName":"default","#
                + #""additionalFields":["name","berths"]}"#)
        let empty = try await changes(gateway)
        #expect(empty.names == ["notifications", "syncToken", "moreComing"])
        #expect(empty["notifications"].json == "[]" && empty["moreComing"].value == false)
        try await save("oslo", berths: 4, in: gateway)
        let page = try await changes(gateway, since: empty)
        #expect(page["notifications"].count == 1 && page["moreComing"].value == false)
        let item = page["notifications"][0]
        #expect(item.names == ["notificationID", "type", "payload", "isRead", "created"])
        #expect(item["type"].number == 1 && item["isRead"].value == false)
        #expect(item["created"].number ?? 0 > 1_700_000_000_000)
        let id = try #require(item["notificationID"].text)
        let owner = gateway.container.userRecordName(for: "alice")
        #expect(
            item["payload"].json
                == #"{"aps":{"alert":{"body":"new"},"sound":"default"},"ck":{"ce":2,"#
                + #""cid":"\#(gateway.container.information.storeID)","nid":"\#(id)","p":0,"#
                + #""qry":{"af":{"berths":4,"name":"oslo"},"dbs":2,"fo":1,"rid":"oslo","#
                + #""sid":"q","zid":"notes","zoid":"\#(owner)"}}}"#)
        // The same bytes as on every other channel.
        let native = try await gateway.container.notificationChanges(for: "alice")
        let payloads = native.notifications.map { String(decoding: $0.payload(), as: UTF8.self) }
        #expect(payloads == [item["payload"].json])
        #expect(try await changes(gateway)["notifications"] == page["notifications"])
        #expect(try await changes(gateway, since: page)["notifications"].count == 0)
    }

    @Test func `a silent notification wakes the app, and says no more`() async throws {
        let gateway = try await watched()
        try await save("a", in: gateway)
        let item = try await changes(gateway)["notifications"][0]
        #expect(item["payload"]["aps"].json == #"{"content-available":1}"#)
        #expect(item["payload"]["ck"]["qry"]["af"].value == nil)
    }

    @Test func `a query notifies of each way of its changes`() async throws {
        let gateway = try await watched(
            "berths > 4", firesOn: #"["create","update","delete","unmatch"]"#)
        for (name, berths) in [("a", 5), ("b", 1), ("a", 6), ("a", 2), ("a", 3), ("b", 7)] {
            try await save(name, berths: berths, in: gateway)
        }
        for name in ["a", "b"] {
            _ = try await gateway.modify(
                #"{"operationType":"forceDelete","record":{"recordName":"\#(name)"}}"#)
        }
        let items = try await changes(gateway)["notifications"]
        let found = (0..<items.count).map { index -> String in
            let query = items[index]["payload"]["ck"]["qry"]
            return "\(query["rid"].text ?? "") \(query["fo"].number ?? 0)"
        }
        #expect(found == ["a 1", "a 2", "a 2", "b 2", "b 3"])
    }

    @Test func `a subscription that fires once is gone after that`() async throws {
        let gateway = try await watched(nil, #","firesOnce":true"#)
        for name in ["a", "b"] { try await save(name, in: gateway) }
        let items = try await changes(gateway)["notifications"]
        #expect(items.count == 1 && items[0]["payload"]["ck"]["qry"]["rid"].text == "a")
        let list = try await gateway.call("subscriptions/list")
        #expect(list.body["subscriptions"].json == "[]")
    }

    @Test(arguments: [
        ("zone", #","zoneID":{"zoneName":"notes"}"#, 2, "fet"), ("database", "", 4, "met"),
    ])
    func `the changes of a zone make one notification a page`(
        type: String, more: String, number: Int, part: String
    ) async throws {
        let gateway = try await TestGateway()
        try await save("old", in: gateway)
        try await subscribe(
            gateway, #""subscriptionID":"s","subscriptionType":"\#(type)"\#(more)"#)
        let start = try await changes(gateway)
        #expect(start["notifications"].count == 0)
        for name in ["a", "b"] { try await save(name, in: gateway) }
        let first = try await changes(gateway, since: start)
        #expect(first["notifications"].count == 1)
        let item = first["notifications"][0]
        #expect(item["type"].number == number)
        let owner = gateway.container.userRecordName(for: "alice")
        #expect(
            item["payload"]["ck"][part].json
                == #"{"dbs":2,"sid":"s","zid":"notes","zoid":"\#(owner)"}"#)
        #expect(try await changes(gateway, since: first)["notifications"].count == 0)
        try await save("c", in: gateway)
        let second = try await changes(gateway, since: first)["notifications"]
        #expect(second.count == 1)
        #expect(second[0]["notificationID"] != item["notificationID"])
    }

    @Test func `a participant hears of changes in what others share`() async throws {
        let shares = try await TestShares()
        _ = try await shares.shared()
        try await subscribe(
            shares.gateway, #""subscriptionID":"s","subscriptionType":"database""#, as: "bob",
            in: .shared)
        let start = try await changes(shares.gateway, as: "bob")
        #expect(start["notifications"].count == 0)
        _ = try await shares.gateway.modify(TestShares.set("out", 2))
        let unseen = try await changes(shares.gateway, since: start, as: "bob")
        #expect(unseen["notifications"].count == 0)
        _ = try await shares.gateway.modify(TestShares.set("a", 2))
        let items = try await changes(shares.gateway, since: unseen, as: "bob")["notifications"]
        #expect(items.count == 1 && items[0]["type"].number == 4)
        let part = items[0]["payload"]["ck"]["met"]
        #expect(part["dbs"].number == 3 && part["sid"].text == "s")
        #expect(part["zid"].text == "notes")
        #expect(
            part["zoid"].text == shares.gateway.container.userRecordName(for: "alice"))
        #expect(try await changes(shares.gateway)["notifications"].count == 0)
    }

    @Test func `pages end at their limit, and go on at their token`() async throws {
        let gateway = try await watched()
        for name in ["a", "b", "c"] { try await save(name, in: gateway) }
        let first = try await changes(gateway, limit: 2)
        #expect(first["notifications"].count == 2 && first["moreComing"].isTrue)
        let second = try await changes(gateway, since: first, limit: 2)
        #expect(second["notifications"].count == 1 && second["moreComing"].value == false)
        let all = try await changes(gateway)["notifications"]
        let paged = [first, second].flatMap { $0["notifications"].texts("notificationID") }
        #expect(Set(paged).count == 3 && all.texts("notificationID") == paged)
    }

    @Test func `the database and the device of a request make no difference`() async throws {
        let gateway = try await watched()
        let saved = try await gateway.call(
            "records/modify",
            #"{"zoneID":{"zoneName":"notes"},"operations":[{"operationType":"create","record":{"#
                + #""recordType":"Boat"}}]}"#, on: "phone")
        #expect(saved.body["records"][0].error == nil)
        let all = try await changes(gateway)["notifications"]
        #expect(all.count == 1)
        for database in GatewayRequest.Database.allCases {
            for device in [nil, "phone", "pad"] {
                let answer = try await gateway.call(
                    "notifications/changes", on: device, database: database)
                #expect(answer.body["notifications"] == all)
            }
        }
        #expect(try await changes(gateway, as: "bob")["notifications"].count == 0)
    }

    // MARK: Read marks

    @Test func `a notification that is marked is read, and other devices are told so`()
        async throws
    {
        let gateway = try await watched()
        for name in ["a", "b"] { try await save(name, in: gateway) }
        let page = try await changes(gateway)
        let ids = page["notifications"].texts("notificationID")
        let answer = try await gateway.call(
            "notifications/read", #"{"notificationIDs":["\#(ids[1])"]}"#)
        #expect(
            answer.body.json
                == #"{"notifications":[{"notificationID":"\#(ids[1])","isRead":true}]}"#)
        // As type 3, which names the notification that was marked.
        let marks = try await changes(gateway, since: page)["notifications"]
        #expect(marks.count == 1 && marks[0]["type"].number == 3)
        #expect(marks[0]["notificationID"].text == ids[1])
        #expect(marks[0]["payload"]["aps"].json == "{}")
        #expect(marks[0]["payload"]["ck"]["nid"].text == ids[1])
        let all = try await changes(gateway)["notifications"]
        #expect(all.count == 3)
        #expect((0..<2).map { all[$0]["isRead"].isTrue } == [false, true])
        // Once more is no error.
        let again = try await gateway.call(
            "notifications/read", #"{"notificationIDs":["\#(ids[1])","\#(ids[0])"]}"#)
        let read = again.body["notifications"]
        #expect(read.texts("notificationID") == [ids[1], ids[0]])
        #expect((0..<2).allSatisfy { read[$0]["isRead"].isTrue })
    }

    @Test func `a notification of another user is not there to be marked`() async throws {
        let gateway = try await watched()
        try await save("a", in: gateway)
        let id = try #require(
            try await changes(gateway)["notifications"][0]["notificationID"].text)
        let answer = try await gateway.call(
            "notifications/read", #"{"notificationIDs":["\#(id)"]}"#, as: "bob")
        let item = answer.body["notifications"][0]
        #expect(answer.status == 200 && item["notificationID"].text == id)
        #expect(item["serverErrorCode"].text == "NOT_FOUND" && item.error == 11)
        #expect(item["isRead"].value == nil)
        #expect(try await changes(gateway)["notifications"][0]["isRead"].value == false)
    }

    // MARK: The badge

    @Test func `the badge is what was set and one for each notification that badges`()
        async throws
    {
        let gateway = try await watched(nil, #","notificationInfo":{"shouldBadge":true}"#)
        func badges() async throws -> [Int?] {
            let items = try await changes(gateway)["notifications"]
            return (0..<items.count).map { items[$0]["payload"]["aps"]["badge"].number }
        }
        let set = try await gateway.call("badge/set", #"{"value":5}"#)
        #expect(set.status == 200 && set.body.json == #"{"value":5}"#)
        for name in ["a", "b"] { try await save(name, in: gateway) }
        #expect(try await badges() == [6, 7])
        _ = try await gateway.call("badge/set", #"{"value":0}"#, database: .shared)
        try await save("c", in: gateway)
        #expect(try await badges() == [6, 7, 1])
        #expect(try await gateway.container.badge(for: "alice") == 1)
        #expect(try await gateway.container.badge(for: "bob") == 0)
    }

    // MARK: Errors

    @Test(arguments: [
        ("notifications/changes", #"{"syncToken":"x"}"#, "body.syncToken is no token"),
        ("notifications/changes", #"{"syncToken":5}"#, "body.syncToken must be text"),
        ("notifications/changes", #"{"resultsLimit":0}"#, "body.resultsLimit must be above 0"),
        ("notifications/changes", #"{"zoneID":{}}"#, "body.zoneID is no key"),
        ("notifications/read", "{}", "body.notificationIDs is missing"),
        ("notifications/read", #"{"notificationIDs":["x"]}"#, "body.notificationIDs[0] is no ID"),
        ("notifications/read", #"{"notificationIDs":[1]}"#, "body.notificationIDs[0] must be"),
        ("badge/set", "{}", "body.value is missing"),
        ("badge/set", #"{"value":-1}"#, "body.value must be 0 to 4294967295"),
        ("badge/set", #"{"value":4294967296}"#, "body.value must be 0 to 4294967295"),
        ("badge/set", #"{"value":1.5}"#, "body.value must be an integer"),
        ("badge/set", #"{"value":1,"device":"phone"}"#, "body.device is no key"),
    ])
    func `a body that is none is refused by its place`(
        call: String, body: String, reason: String
    ) async throws {
        let answer = try await TestGateway().call(call, body)
        #expect(answer.status == 400 && answer.code == "BAD_REQUEST" && answer.body.error == 12)
        #expect(answer.reason.hasPrefix(reason), "\(answer.text)")
    }

    @Test func `a token of a feed or of another user is refused`() async throws {
        let gateway = try await watched()
        let feed = try await gateway.call("changes/database").body["syncToken"].json
        let wrong = try await gateway.call("notifications/changes", #"{"syncToken":\#(feed)}"#)
        #expect(wrong.code == "BAD_REQUEST")
        #expect(wrong.reason.hasPrefix("body.syncToken is no token of notifications"))
        try await save("a", in: gateway)
        let token = try await changes(gateway)["syncToken"].json
        _ = try await gateway.call(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneName":"own"}}]}"#, as: "bob")
        let foreign = try await gateway.call(
            "notifications/changes", #"{"syncToken":\#(token)}"#, as: "bob")
        #expect(foreign.status == 400 && foreign.body.error == 21, "\(foreign.text)")
        #expect(foreign.body["cause"].text == "changeToken.user")
    }

    @Test(arguments: GatewayRequest.Database.allCases)
    func `an anonymous caller has no notifications`(
        database: GatewayRequest.Database
    ) async throws {
        let gateway = try await TestGateway()
        for (call, body) in [
            ("notifications/changes", "{}"), ("notifications/read", #"{"notificationIDs":[]}"#),
            ("badge/set", #"{"value":1}"#),
        ] {
            let answer = try await gateway.call(call, body, as: nil, database: database)
            #expect(answer.status == 401 && answer.code == "AUTHENTICATION_FAILED", "\(call)")
        }
    }
}
