import Stratus
import StratusGateway
import Testing

/// Subscriptions on the wire: semantics 6.1, 6.2 and 12.6, cases C134 to C137.
struct SubscriptionCallTests {
    private func modify(
        _ gateway: TestGateway, _ items: String..., as user: String? = "alice",
        in database: GatewayRequest.Database = .private
    ) async throws -> Answer {
        try await gateway.call(
            "subscriptions/modify", #"{"operations":[\#(items.joined(separator: ","))]}"#,
            as: user, database: database)
    }

    /// What became of one item.
    private func change(
        _ gateway: TestGateway, _ item: String, in database: GatewayRequest.Database = .private
    ) async throws -> Found {
        try await modify(gateway, item, in: database).body["subscriptions"][0]
    }

    private func lookUp(_ gateway: TestGateway, _ ids: String...) async throws -> Found {
        let list = ids.map { #"{"subscriptionID":"\#($0)"}"# }.joined(separator: ",")
        return try await gateway.call("subscriptions/lookup", #"{"subscriptions":[\#(list)]}"#)
            .body["subscriptions"]
    }

    private func list(
        _ gateway: TestGateway, as user: String = "alice",
        in database: GatewayRequest.Database = .private
    ) async throws -> [String] {
        try await gateway.call("subscriptions/list", as: user, database: database)
            .body["subscriptions"].texts("subscriptionID")
    }

    // MARK: Items, whose parts begin with a comma where they are added.

    private static func item(_ kind: String, _ subscription: String) -> String {
        #"{"operationType":"\#(kind)","subscription":\#(subscription)}"#
    }

    private static func create(_ parts: String) -> String { item("create", "{\(parts)}") }

    private static func query(
        _ id: String, _ query: String = "", _ more: String = "", type: String = "Boat",
        firesOn: String = #"["create"]"#
    ) -> String {
        #""subscriptionID":"\#(id)","subscriptionType":"query","#
            + #""query":{"recordType":"\#(type)"\#(query)},"firesOn":\#(firesOn)\#(more)"#
    }

    private static let notes = #""zoneID":{"zoneName":"notes"}"#

    private static func zone(_ id: String, _ more: String = ",\(notes)") -> String {
        #""subscriptionID":"\#(id)","subscriptionType":"zone"\#(more)"#
    }

    private static func database(_ id: String, _ more: String = "") -> String {
        #""subscriptionID":"\#(id)","subscriptionType":"database"\#(more)"#
    }

    private static let info =
        #"{"alertBody":"b","alertLocalizationKey":"k","alertLocalizationArgs":["name","berths"],"#
        + #""title":"t","titleLocalizationKey":"tk","titleLocalizationArgs":["name"],"#
        + #""subtitle":"s","subtitleLocalizationKey":"sk","subtitleLocalizationArgs":[],"#
        + #""alertActionLocalizationKey":"a","alertLaunchImage":"i","soundName":"default","#
        + #""category":"c","collapseIDKey":"x","additionalFields":["name","berths","length"],"#
        + #""shouldBadge":true,"shouldSendContentAvailable":true,"#
        + #""shouldSendMutableContent":true}"#

    // MARK: What is saved and given back

    @Test func `a query subscription has its names in Web Services`() async throws {
        let gateway = try await TestGateway()
        let owner = gateway.container.userRecordName(for: "alice")
        let made = try await change(
            gateway,
            Self.create(
                Self.query(
                    "q", #","predicate":"berths > 4""#, ",\(Self.notes)",
                    firesOn: #"["delete","create","create"]"#)))
        let expected =
            #"{"subscriptionID":"q","subscriptionType":"query","#
            + #""query":{"recordType":"Boat","predicate":"berths > 4"},"#
            + #""firesOn":["create","delete"],"firesOnce":false,"#
            + #""zoneID":{"zoneName":"notes","ownerRecordName":"\#(owner)","#
            + #""zoneType":"REGULAR_CUSTOM_ZONE"}}"#
        #expect(made.json == expected)
        let listed = try await gateway.call("subscriptions/list")
        #expect(listed.body.json == #"{"subscriptions":[\#(expected)]}"#)
        #expect(try await lookUp(gateway, "q").json == "[\(expected)]")
        let wide = try await change(
            gateway,
            Self.create(
                Self.query(
                    "w", "", #","firesOnce":true,"notificationInfo":{}"#,
                    firesOn: #"["update","unmatch"]"#)))
        #expect(
            wide.json
                == #"{"subscriptionID":"w","subscriptionType":"query","#
                + #""query":{"recordType":"Boat","predicate":"TRUEPREDICATE"},"#
                + #""firesOn":["update","unmatch"],"firesOnce":true,"zoneWide":true,"#
                + #""notificationInfo":{"shouldBadge":false,"#
                + #""shouldSendContentAvailable":false,"shouldSendMutableContent":false}}"#)
        let saved = try await gateway.container.privateDatabase(for: "alice").subscription(
            for: "w")
        #expect(
            saved.kind
                == .query(
                    .all, recordType: "Boat", zoneID: nil,
                    options: [.firesOnRecordUpdate, .firesOnRecordUnmatched, .firesOnce]))
        #expect(saved.notificationInfo == Subscription.NotificationInfo())
    }

    @Test func `zone and database subscriptions may be of one type of records`() async throws {
        let gateway = try await TestGateway()
        let owner = gateway.container.userRecordName(for: "alice")
        let zoneID =
            #""zoneID":{"zoneName":"notes","ownerRecordName":"\#(owner)","#
            + #""zoneType":"REGULAR_CUSTOM_ZONE"}"#
        let type = #","recordType":"Boat""#
        let items: [(String, String)] = [
            (Self.zone("z"), #"{"subscriptionID":"z","subscriptionType":"zone",\#(zoneID)}"#),
            (
                Self.zone("t", ",\(Self.notes)\(type)"),
                #"{"subscriptionID":"t","subscriptionType":"zone"\#(type),\#(zoneID)}"#
            ),
            (
                Self.database("d"),
                #"{"subscriptionID":"d","subscriptionType":"database","zoneWide":true}"#
            ),
            (
                Self.database("e", type),
                #"{"subscriptionID":"e","subscriptionType":"database"\#(type),"zoneWide":true}"#
            ),
        ]
        for (given, expected) in items {
            #expect(try await change(gateway, Self.create(given)).json == expected)
        }
        #expect(try await list(gateway) == ["d", "e", "t", "z"])
    }

    @Test func `every field of the notifications is kept, and can be given back`() async throws {
        let gateway = try await TestGateway()
        let made = try await change(
            gateway, Self.create(Self.query("q", "", #","notificationInfo":\#(Self.info)"#)))
        #expect(made["notificationInfo"].json == Self.info)
        var info = Subscription.NotificationInfo()
        info.alertBody = "b"
        info.alertLocalizationKey = "k"
        info.alertLocalizationArgs = ["name", "berths"]
        info.title = "t"
        info.titleLocalizationKey = "tk"
        info.titleLocalizationArgs = ["name"]
        info.subtitle = "s"
        info.subtitleLocalizationKey = "sk"
        info.subtitleLocalizationArgs = []
        info.alertActionLocalizationKey = "a"
        info.alertLaunchImage = "i"
        info.soundName = "default"
        info.category = "c"
        info.collapseIDKey = "x"
        info.desiredKeys = ["name", "berths", "length"]
        info.shouldBadge = true
        info.shouldSendContentAvailable = true
        info.shouldSendMutableContent = true
        let saved = try await gateway.container.privateDatabase(for: "alice").subscription(
            for: "q")
        #expect(saved.notificationInfo == info)
        #expect(try await lookUp(gateway, "q")[0] == made)
        for kind in ["create", "update"] {
            #expect(try await change(gateway, Self.item(kind, made.json)) == made)
        }
        let found = try await gateway.call(
            "subscriptions/lookup", #"{"subscriptions":[\#(made.json)]}"#)
        #expect(found.body["subscriptions"][0] == made)
        // What is not sent is not kept.
        let bare = try await change(gateway, Self.item("update", "{\(Self.query("q"))}"))
        #expect(bare["subscriptionID"].text == "q" && bare["notificationInfo"].value == nil)
        let gone = try await change(gateway, Self.item("delete", made.json))
        #expect(gone.json == #"{"subscriptionID":"q","deleted":true}"#)
        #expect(try await list(gateway) == [])
    }

    @Test(arguments: [
        (
            #","filterBy":[{"comparator":"EQUALS","fieldName":"name","fieldValue":{"#
                + #""value":"Oslo"}},{"comparator":"LESS_THAN","fieldName":"berths","#
                + #""fieldValue":{"value":4}}]"#, "name = 'Oslo' AND berths < 4"
        ),
        (#","filterBy":[]"#, "TRUEPREDICATE"),
        (
            #","predicate":"%K IN %@","arguments":[{"value":"name"},{"value":["a","b"]}]"#,
            "name IN {'a', 'b'}"
        ),
        (#","predicate":"berths > 1","sortBy":[{"fieldName":"name"}]"#, "berths > 1"),
    ])
    func `the query of a subscription is given as filters or as text`(
        query: String, predicate: String
    ) async throws {
        let gateway = try await TestGateway()
        let made = try await change(gateway, Self.create(Self.query("q", query)))
        #expect(
            made["query"].json == #"{"recordType":"Boat","predicate":"\#(predicate)"}"#,
            "\(made.json)")
        #expect(try await change(gateway, Self.item("update", made.json)) == made)
    }

    @Test func `a value without a type is read as its field's`() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(
            #"{"operationType":"create","record":{"recordType":"Boat","#
                + #""fields":{"length":{"value":1.5}}}}"#)
        let filter = #"{"comparator":"EQUALS","fieldName":"length","fieldValue":{"value":2}}"#
        let made = try await change(
            gateway, Self.create(Self.query("q", #","filterBy":[\#(filter)]"#)))
        #expect(made["query"]["predicate"].text == "length = 2.0", "\(made.json)")
    }

    @Test func `a subscription belongs to one user and one database`() async throws {
        let gateway = try await TestGateway()
        for (user, database) in [
            ("alice", GatewayRequest.Database.public), ("alice", .private), ("bob", .private),
        ] {
            let made = try await modify(
                gateway, Self.create(Self.query("same", #","predicate":"name = '\#(user)'""#)),
                as: user, in: database)
            #expect(made.body["subscriptions"][0].error == nil, "\(made.text)")
        }
        _ = try await modify(
            gateway, Self.create(Self.database("shared")), as: "bob", in: .shared)
        #expect(try await list(gateway) == ["same"])
        #expect(try await list(gateway, in: .public) == ["same"])
        #expect(try await list(gateway, in: .shared) == [])
        #expect(try await list(gateway, as: "bob", in: .shared) == ["shared"])
        #expect(try await list(gateway, as: "bob", in: .public) == [])
        _ = try await change(gateway, Self.item("delete", #"{"subscriptionID":"same"}"#))
        #expect(try await list(gateway) == [])
        #expect(try await list(gateway, in: .public) == ["same"])
        #expect(try await list(gateway, as: "bob") == ["same"])
    }

    @Test func `a new subscription without an ID gets one`() async throws {
        let gateway = try await TestGateway()
        let parts = #""subscriptionType":"database""#
        let first = try await change(gateway, Self.create(parts))
        let second = try await change(gateway, Self.create(parts))
        let ids = [first, second].compactMap { $0["subscriptionID"].text }
        #expect(Set(ids).count == 2)
        #expect(try await list(gateway) == ids.sorted())
    }

    // MARK: Cases

    // C137: Web Services refuses none by its ID.
    @Test func `creating a subscription of an ID that is there replaces it`() async throws {
        let gateway = try await TestGateway()
        _ = try await change(gateway, Self.create(Self.query("q", #","predicate":"berths > 1""#)))
        let again = try await change(gateway, Self.create(Self.database("q")))
        #expect(again.error == nil && again["subscriptionType"].text == "database")
        #expect(try await change(gateway, Self.create(Self.database("q"))) == again)
        #expect(try await lookUp(gateway, "q").json == "[\(again.json)]")
        // In one request the items are done in their order.
        let order = try await modify(
            gateway, Self.create(Self.zone("q")),
            Self.item("delete", #"{"subscriptionID":"q"}"#), Self.create(Self.query("q")))
        let types = (0..<3).map { order.body["subscriptions"][$0]["subscriptionType"].text }
        #expect(types == ["zone", nil, "query"])
        #expect(try await lookUp(gateway, "q")[0]["subscriptionType"].text == "query")
    }

    // C135.
    @Test func `deleting a subscription that is not there succeeds`() async throws {
        let gateway = try await TestGateway()
        let gone = try await change(gateway, Self.item("delete", #"{"subscriptionID":"none"}"#))
        #expect(gone.json == #"{"subscriptionID":"none","deleted":true}"#)
    }

    // C136.
    @Test func `looking up a subscription that is not there is the error of that item`()
        async throws
    {
        let gateway = try await TestGateway()
        _ = try await change(gateway, Self.create(Self.database("d")))
        let found = try await lookUp(gateway, "none", "d", "d")
        #expect(found.count == 3 && found.texts("subscriptionID") == ["none", "d", "d"])
        #expect(found[0]["serverErrorCode"].text == "NOT_FOUND" && found[0].error == 11)
        #expect(found[1].error == nil && found[1] == found[2])
    }

    @Test func `updating a subscription that is not there fails`() async throws {
        let gateway = try await TestGateway()
        let answer = try await modify(
            gateway, Self.item("update", "{\(Self.database("none"))}"),
            Self.create(Self.database("d")))
        let items = answer.body["subscriptions"]
        #expect(answer.status == 200 && items.texts("subscriptionID") == ["none", "d"])
        #expect(items[0]["serverErrorCode"].text == "NOT_FOUND" && items[0].error == 11)
        #expect(items[1].error == nil)
        #expect(try await list(gateway) == ["d"])
    }

    // C134.
    @Test func `a subscription of a zone that is not there fails with when to try again`()
        async throws
    {
        let gateway = try await TestGateway()
        let none = #","zoneID":{"zoneName":"none"}"#
        let answer = try await modify(
            gateway, Self.create(Self.zone("z", none)), Self.create(Self.query("q", "", none)),
            Self.create(Self.zone("good")))
        let items = answer.body["subscriptions"]
        #expect(answer.status == 200 && items.texts("subscriptionID") == ["z", "q", "good"])
        for index in 0..<2 {
            #expect(items[index]["serverErrorCode"].text == "ZONE_NOT_FOUND")
            #expect(items[index].error == 26)
            #expect(items[index]["zoneID"]["zoneName"].text == "none")
            // 0.2 seconds, in whole ones.
            #expect(items[index]["retryAfter"].number == 1)
        }
        #expect(try await list(gateway) == ["good"])
    }

    // MARK: Errors

    private static let kinds: [(String, GatewayRequest.Database, Int?)] = [
        ("query", .public, nil), ("query", .private, nil), ("query", .shared, 24),
        ("zone", .public, 24), ("zone", .private, nil),
        ("zone", .shared, 24), ("database", .public, 24), ("database", .private, nil),
        ("database", .shared, nil), ("default zone", .private, 12),
    ]

    @Test(arguments: kinds)
    func `each database has the subscriptions of its kinds`(
        type: String, database: GatewayRequest.Database, error: Int?
    ) async throws {
        let gateway = try await TestGateway()
        let item =
            switch type {
            case "query": Self.query("s")
            case "zone": Self.zone("s")
            case "default zone": Self.zone("s", #","zoneID":{"zoneName":"_defaultZone"}"#)
            default: Self.database("s")
            }
        let made = try await change(gateway, Self.create(item), in: database)
        #expect(made["subscriptionID"].text == "s" && made.error == error, "\(made.json)")
        #expect(made["serverErrorCode"].text == error.map { _ in "BAD_REQUEST" })
        #expect(try await list(gateway, in: database) == (error == nil ? ["s"] : []))
    }

    private static let failingItems: [(String, String)] = [
        (query("q", firesOn: "[]"), ""), (query("q", "", #","firesOnce":true"#, firesOn: "[]"), ""),
        (query("", ""), ""), (query(String(repeating: "i", count: 256)), ""),
        (query("q", type: ""), ""),
        (query("q", #","predicate":"a >""#), "subscription.query.predicate cannot be read: "),
        (
            query("q", #","predicate":"a = %@","arguments":[{"value":{}}]"#),
            "subscription.query.arguments[0].value "
        ),
        (
            query(
                "q", #","predicate":"a = %@","arguments":[{"value":{"recordName":"b"}}]"#),
            "subscription.query.arguments[0].value needs a zoneID"
        ),
        (
            query(
                "q",
                #","filterBy":[{"comparator":"IN","fieldName":"a","fieldValue":{"value":1}}]"#),
            "subscription.query.filterBy[0].fieldValue.value must be a list"
        ),
        (
            query(
                "q", "", #","notificationInfo":{"additionalFields":["a","b","c","d"]}"#), ""
        ),
    ]

    @Test(arguments: failingItems)
    func `an item that cannot be saved fails alone`(
        item: String, reason: String
    ) async throws {
        let gateway = try await TestGateway()
        let answer = try await modify(
            gateway, Self.create(item), Self.create(Self.database("good")))
        let items = answer.body["subscriptions"]
        #expect(answer.status == 200, "\(answer.text)")
        #expect(items[0]["serverErrorCode"].text == "BAD_REQUEST" && items[0].error == 12)
        #expect(items[0]["reason"].text?.hasPrefix(reason) == true, "\(answer.text)")
        #expect(items[0]["subscriptionID"].text != nil)
        #expect(items[1]["subscriptionID"].text == "good" && items[1].error == nil)
        #expect(try await list(gateway) == ["good"])
    }

    private static let inItem = "body.operations[1]."

    private static let wrongItems: [(String, String)] = [
        (#"{"subscription":{}}"#, "operationType is missing"),
        (item("save", "{}"), "operationType must be one of create, update, delete"),
        (#"{"operationType":"delete"}"#, "subscription is missing"),
        (item("delete", "{}"), "subscription.subscriptionID is missing"),
        (
            item("update", #"{"subscriptionType":"database"}"#),
            "subscription.subscriptionID is missing"
        ),
        (create(#""subscriptionID":"s""#), "subscription.subscriptionType is missing"),
        (create(#""subscriptionType":"record""#), "subscription.subscriptionType must be one of"),
        (create(database("s", #","name":1"#)), "subscription.name is no key"),
        (create(database("s", ",\(notes)")), "subscription.zoneID is for"),
        (create(database("s", #","query":{"recordType":"T"}"#)), "subscription.query is for"),
        (create(database("s", #","firesOn":["create"]"#)), "subscription.firesOn is for"),
        (create(zone("s", ",\(notes)" + #","firesOnce":false"#)), "subscription.firesOnce is for"),
        (create(zone("s", "")), "subscription.zoneID is missing"),
        (create(zone("s", ",\(notes)" + #","zoneWide":true"#)), "subscription.zoneWide is true"),
        (create(query("s", "", #","zoneWide":false"#)), "subscription.zoneWide is false"),
        (create(query("s", "", #","recordType":"T""#)), "subscription.recordType is part"),
        (create(query("s", firesOn: "null")), "subscription.firesOn is missing"),
        (create(query("s", firesOn: #"["made"]"#)), "subscription.firesOn[0] must be one of"),
        (create(query("s", #","filter":[]"#)), "subscription.query.filter is no key"),
        (
            create(query("s", #","predicate":"a = 1","filterBy":[]"#)),
            "subscription.query has either"
        ),
        (
            create(
                query(
                    "s", #","predicate":"a = %@","arguments":[{"value":{"recordName":"a","b":1}}]"#
                )), "subscription.query.arguments[0].value.b is no key"
        ),
        (
            create(query("s", "", #","notificationInfo":{"desiredKeys":[]}"#)),
            "subscription.notificationInfo.desiredKeys is no key"
        ),
        (
            create(query("s", "", #","notificationInfo":{"shouldBadge":1}"#)),
            "subscription.notificationInfo.shouldBadge must be true or false"
        ),
        (
            create(query("s", "", #","notificationInfo":{"titleLocalizationArgs":[1]}"#)),
            "subscription.notificationInfo.titleLocalizationArgs[0] must be text"
        ),
    ]

    @Test(arguments: wrongItems)
    func `what is no item refuses the request by its place, and nothing of it is done`(
        item: String, reason: String
    ) async throws {
        let gateway = try await TestGateway()
        let answer = try await modify(gateway, Self.create(Self.database("d")), item)
        #expect(answer.code == "BAD_REQUEST" && answer.body.error == 12)
        #expect(answer.reason.hasPrefix(Self.inItem + reason), "\(answer.text)")
        #expect(try await list(gateway) == [])
    }

    @Test(arguments: [
        ("subscriptions/list", #"{"zoneID":{}}"#, "body.zoneID "),
        ("subscriptions/lookup", "{}", "body.subscriptions is missing"),
        ("subscriptions/lookup", #"{"subscriptions":["s"]}"#, "body.subscriptions[0] must be"),
        (
            "subscriptions/lookup", #"{"subscriptions":[{}]}"#,
            "body.subscriptions[0].subscriptionID is missing"
        ),
        ("subscriptions/modify", "{}", "body.operations is missing"),
    ])
    func `a body that is none is refused by its place`(
        call: String, body: String, reason: String
    ) async throws {
        let answer = try await TestGateway().call(call, body)
        #expect(answer.code == "BAD_REQUEST" && answer.reason.hasPrefix(reason), "\(answer.text)")
    }

    @Test(arguments: [GatewayRequest.Database.public, .private, .shared])
    func `an anonymous caller has no subscriptions`(
        database: GatewayRequest.Database
    ) async throws {
        let gateway = try await TestGateway()
        for (call, body) in [
            ("subscriptions/list", "{}"),
            ("subscriptions/lookup", #"{"subscriptions":[{"subscriptionID":"s"}]}"#),
            ("subscriptions/modify", #"{"operations":[\#(Self.create(Self.query("s")))]}"#),
        ] {
            let answer = try await gateway.call(call, body, as: nil, database: database)
            #expect(answer.status == 401 && answer.code == "AUTHENTICATION_FAILED", "\(call)")
        }
    }

    @Test func `the profile of CloudKit refuses what CloudKit does`() async throws {
        let first = Self.create(Self.query("a", #","predicate":"berths > 1""#))
        let second = Self.create(Self.query("b", #","predicate":"berths > 1""#))
        let either = Self.create(Self.query("c", #","predicate":"berths > 1 OR berths < 0""#))
        let mixed = Self.create(
            Self.database(
                "d", #","notificationInfo":{"alertBody":"b","shouldSendContentAvailable":true}"#))
        let expected: [(Profile, [Int?])] = [
            (.cloudKit, [nil, 15, 12, 12, nil]), (.unlimited, [nil, nil, nil, nil, nil]),
        ]
        for (profile, errors) in expected {
            let gateway = try await TestGateway(Container.inMemory(profile: profile))
            let answer = try await modify(gateway, first, second, either, mixed, first)
            let items = answer.body["subscriptions"]
            #expect((0..<5).map { items[$0].error } == errors, "\(answer.text)")
            guard profile == .cloudKit else { continue }
            #expect(items[1]["serverErrorCode"].text == "BAD_REQUEST")
            #expect(items[1]["reason"].text?.contains("duplicate of 'a'") == true)
        }
    }
}
