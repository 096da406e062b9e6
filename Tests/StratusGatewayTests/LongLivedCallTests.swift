import FoundationEssentials
import Stratus
import StratusGateway
import Synchronization
import Testing

/// Calls that are long-lived, and those about them: `Formats/Requests.md`.
@Suite struct LongLivedCallTests {
    private static func fetch(_ gateway: TestGateway, _ id: String) async throws -> Answer {
        try await gateway.call("operations/fetch", #"{"operationID":"\#(id)"}"#)
    }

    private static let create = """
        {"operationType":"create","record":{"recordName":"a","recordType":"Note",\
        "fields":{"key":{"value":1}}}}
        """

    @Test func `a long-lived change is made, listed, fetched once, and forgotten`() async throws {
        let gateway = try await TestGateway()
        let first = try await gateway.modify(
            Self.create, #","operationID":"one","isLongLived":true"#)
        #expect(first.status == 200)
        #expect(first.body["records"][0]["fields"]["key"]["value"].number == 1)
        let listed = try await gateway.call("operations/list").body["operations"]
        #expect(listed.count == 1)
        #expect(listed[0]["operationID"].text == "one")
        #expect(listed[0]["call"].text == "records/modify")
        #expect(listed[0]["database"].text == "private")
        #expect(listed[0]["state"].text == "finished")
        #expect(listed[0]["submitted"].number != nil)
        // The same request is answered as it was, and changes nothing.
        let again = try await gateway.modify(
            Self.create, #","operationID":"one","isLongLived":true"#)
        #expect(again.body == first.body)
        let fetched = try await Self.fetch(gateway, "one")
        #expect(fetched.body["operationID"].text == "one")
        #expect(fetched.body["call"].text == "records/modify")
        #expect(fetched.body["state"].text == "finished")
        #expect(fetched.body["records"] == first.body["records"])
        let gone = try await Self.fetch(gateway, "one")
        #expect(gone.status == 404 && gone.code == "NOT_FOUND")
        #expect(try await gateway.call("operations/list").body["operations"].count == 0)
    }

    @Test func `what the items were is answered again`() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(Self.create)
        let items = """
            \(Self.create),{"operationType":"forceDelete","record":{"recordName":"x",\
            "recordType":"Page"}},{"operationType":"forceUpdate","record":{"recordName":"b",\
            "recordType":"Note","fields":{"key":{"value":2},"more":{"value":3}}}}
            """
        let options =
            #","operationID":"one","isLongLived":true,"desiredKeys":["key"]"#
            + #","numbersAsStrings":true"#
        let first = try await gateway.modify(items, options)
        #expect(first.body["records"][0]["serverErrorCode"].text == "EXISTS")
        #expect(first.body["records"][1]["recordType"].text == "Page")
        #expect(first.body["records"][1]["deleted"].isTrue)
        #expect(first.body["records"][2]["fields"].names == ["key"])
        #expect(first.body["records"][2]["fields"]["key"]["value"].text == "2")
        let fetched = try await Self.fetch(gateway, "one")
        for place in [1, 2] {
            #expect(fetched.body["records"][place] == first.body["records"][place])
        }
        // Every answer of an error has an identifier of its own.
        #expect(fetched.body["records"][0]["serverErrorCode"].text == "EXISTS")
        #expect(fetched.body["records"][0]["recordName"].text == "a")
    }

    @Test(arguments: [
        ("records/lookup", #""zoneID":{"zoneName":"notes"},"records":[{"recordName":"a"}]"#),
        ("records/query", #""zoneID":{"zoneName":"notes"},"query":{"recordType":"Note"}"#),
        ("changes/zone", #""zones":[{"zoneID":{"zoneName":"notes"},"reverse":true}]"#),
        ("changes/database", #""resultsLimit":5"#),
    ])
    func `a long-lived read is answered again as it was`(call: String, body: String) async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(Self.create)
        let ordinary = try await gateway.call(call, "{\(body)}")
        #expect(ordinary.status == 200)
        let first = try await gateway.call(
            call, #"{\#(body),"operationID":"one","isLongLived":true}"#)
        #expect(first.body == ordinary.body)
        _ = try await gateway.modify(
            #"{"operationType":"forceDelete","record":{"recordName":"a"}}"#)
        let fetched = try await Self.fetch(gateway, "one")
        #expect(fetched.body["call"].text == call)
        for name in first.body.names {
            #expect(fetched.body[name] == first.body[name], "\(name)")
        }
    }

    @Test func `a long-lived move is made once`() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(Self.create)
        let database = gateway.container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneName: "other"))
        let body =
            #"{"zoneID":{"zoneName":"notes"},"toZoneID":{"zoneName":"other"},"#
            + #""records":[{"recordName":"a"}],"operationID":"one","isLongLived":true}"#
        let first = try await gateway.call("records/move", body)
        #expect(first.status == 200 && first.body["records"].count == 1)
        #expect(try await Self.fetch(gateway, "one").body["records"] == first.body["records"])
    }

    // Formats/Index.md, "Notifications", 2.
    @Test func `a purge takes along what is told of a zone that the same commit deletes before it`()
        async throws
    {
        let gateway = try await TestGateway()
        let database = gateway.container.privateDatabase(for: "alice")
        let zones = ["first", "deleted", "last", "kept"].map { RecordZone.ID(zoneName: $0) }
        for zone in zones { try await database.save(RecordZone(zoneID: zone)) }
        try await database.save(
            Subscription(
                .query(
                    .all, recordType: "Note", zoneID: nil, options: [.firesOnRecordCreation]),
                id: "s"))
        for zone in zones {
            try await database.save(
                Record(recordType: "Note", recordID: Record.ID(recordName: "a", zoneID: zone)))
        }
        let operations = zip(["purge", "delete", "purge"], zones).map { type, zone in
            #"{"operationType":"\#(type)","zone":{"zoneID":{"zoneName":"\#(zone.zoneName)"}}}"#
        }
        let body =
            #"{"operations":[\#(operations.joined(separator: ","))],"#
            + #""operationID":"one","isLongLived":true}"#
        let answer = try await gateway.call("zones/modify", body)
        #expect(answer.status == 200)
        let told = try await gateway.container.notificationChanges(for: "alice").notifications
        #expect(told.map { $0.zoneID?.zoneName } == ["kept"])
    }

    @Test func `a long-lived change of zones is made once, as one commit`() async throws {
        let gateway = try await TestGateway()
        func body(_ more: String) -> String {
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"made"}}},"#
                + #"{"operationType":"\#(more)","zone":{"zoneID":{"zoneName":"missing"}}}],"#
                + #""operationID":"one","isLongLived":true}"#
        }
        let first = try await gateway.call("zones/modify", body("purge"))
        let zones = first.body["zones"]
        #expect(first.status == 200 && zones.count == 2)
        #expect(zones[0]["zoneID"]["zoneName"].text == "made" && zones[0]["atomic"].isTrue)
        #expect(zones[0]["syncToken"].text == nil)
        #expect(zones[1]["serverErrorCode"].text == "ZONE_NOT_FOUND")
        let other = try await gateway.call("zones/modify", body("delete"))
        #expect(other.code == "BAD_REQUEST")
        let database = gateway.container.privateDatabase(for: "alice")
        try await database.deleteRecordZone(withID: RecordZone.ID(zoneName: "made"))
        let fetched = try await Self.fetch(gateway, "one")
        #expect(fetched.body["call"].text == "zones/modify")
        #expect(fetched.body["zones"][0] == zones[0])
        #expect(fetched.body["zones"][1]["zoneID"] == zones[1]["zoneID"])
        #expect(try await database.allRecordZones().count == 2)
    }

    @Test func `a long-lived change of subscriptions is made once, at the moment of the first`()
        async throws
    {
        let moment = Mutex(Date(timeIntervalSince1970: 1_767_225_600))
        let gateway = try await TestGateway(Container.inMemory()) { moment.withLock { $0 } }
        func item(_ type: String, _ id: String) -> String {
            #"{"operationType":"\#(type)","subscription":{"subscriptionID":"\#(id)","#
                + #""subscriptionType":"query","firesOn":["create"],"#
                + #""query":{"recordType":"Note","predicate":"due < now()"}}}"#
        }
        let body =
            #"{"operations":[\#(item("create", "a")),\#(item("update", "b")),"#
            + #"{"operationType":"delete","subscription":{"subscriptionID":"c"}}],"#
            + #""operationID":"one","isLongLived":true}"#
        let first = try await gateway.call("subscriptions/modify", body)
        let items = first.body["subscriptions"]
        #expect(first.status == 200 && items.count == 3)
        #expect(items[0]["subscriptionID"].text == "a" && items[0]["query"].names.count > 0)
        #expect(items[1]["serverErrorCode"].text == "NOT_FOUND")
        #expect(items[2]["deleted"].isTrue)
        moment.withLock { $0 += 60 }
        let again = try await gateway.call("subscriptions/modify", body)
        #expect(again.body["subscriptions"][0] == items[0])
        let fetched = try await Self.fetch(gateway, "one")
        #expect(fetched.body["call"].text == "subscriptions/modify")
        #expect(fetched.body["subscriptions"][0] == items[0])
        #expect(fetched.body["subscriptions"][2] == items[2])
    }

    @Test func `a subscription without an ID is nothing that could be found again`() async throws {
        let gateway = try await TestGateway()
        let body =
            #"{"operations":[{"operationType":"create","subscription":{"#
            + #""subscriptionType":"database"}}],"operationID":"one","isLongLived":true}"#
        let refused = try await gateway.call("subscriptions/modify", body)
        #expect(refused.code == "BAD_REQUEST")
        #expect(
            refused.body["reason"].text?.contains("operations[0].subscription.subscriptionID")
                == true)
        #expect(try await gateway.call("operations/list").body["operations"].count == 0)
    }

    @Test func `a share is made by a long-lived call`() async throws {
        let gateway = try await TestGateway()
        let share =
            #"{"operationType":"create","record":{"recordName":"s","recordType":"cloudkit.share","#
            + #""forRecord":{"recordName":"a"},"publicPermission":"READ_ONLY"}}"#
        let options = #","operationID":"one","isLongLived":true"#
        let first = try await gateway.modify("\(Self.create),\(share)", options)
        #expect(first.status == 200)
        #expect(first.body["records"][1]["publicPermission"].text == "READ_ONLY")
        #expect(first.body["records"][1]["shortGUID"].text?.count == 32)
        let again = try await gateway.modify("\(Self.create),\(share)", options)
        #expect(again.body == first.body)
        #expect(try await Self.fetch(gateway, "one").body["records"] == first.body["records"])
    }

    @Test func `an operation that was cancelled is not there any more`() async throws {
        let gateway = try await TestGateway()
        let database = gateway.container.privateDatabase(for: "alice")
        try await database.submit(
            .records([], desiredKeys: nil), operationID: "one")
        let listed = try await gateway.call("operations/list").body["operations"]
        #expect(listed[0]["state"].text == "pending")
        let answer = try await gateway.call("operations/cancel", #"{"operationID":"one"}"#)
        #expect(answer.status == 200 && answer.body["operationID"].text == "one")
        for call in ["operations/fetch", "operations/cancel"] {
            let gone = try await gateway.call(call, #"{"operationID":"one"}"#)
            #expect(gone.body["ckErrorCode"].number == 20)
        }
        let never = try await gateway.call("operations/fetch", #"{"operationID":"none"}"#)
        #expect(never.status == 404 && never.code == "NOT_FOUND")
        // Others' operations are not to be had.
        try await database.submit(.records([], desiredKeys: nil), operationID: "two")
        let others = try await gateway.call(
            "operations/fetch", #"{"operationID":"two"}"#, as: "bob")
        #expect(others.status == 404)
    }

    @Test func `the answer of a fetch is of the database of the call`() async throws {
        let gateway = try await TestGateway()
        let body = #"{"operations":[\#(Self.create)],"operationID":"one","isLongLived":true}"#
        let first = try await gateway.call("records/modify", body, database: .public)
        #expect(first.status == 200)
        let fetched = try await Self.fetch(gateway, "one")
        #expect(fetched.body["records"] == first.body["records"])
    }

    @Test func `a call that failed as a whole is fetched with its error`() async throws {
        let gateway = try await TestGateway()
        let body =
            #"{"zoneID":{"zoneName":"no"},"query":{"recordType":"Note"},"#
            + #""operationID":"one","isLongLived":true}"#
        let first = try await gateway.call("records/query", body)
        #expect(first.status == 404 && first.code == "ZONE_NOT_FOUND")
        let fetched = try await Self.fetch(gateway, "one")
        #expect(fetched.status == 404 && fetched.code == "ZONE_NOT_FOUND")
        #expect(try await Self.fetch(gateway, "one").code == "NOT_FOUND")
    }

    @Test func `a long-lived call without a name, and a name without need, are refused`()
        async throws
    {
        let gateway = try await TestGateway()
        let unnamed = try await gateway.modify(Self.create, #","isLongLived":true"#)
        #expect(unnamed.status == 400 && unnamed.code == "BAD_REQUEST")
        #expect(unnamed.body["reason"].text?.contains("operationID") == true)
        let needless = try await gateway.call(
            "records/lookup", #"{"records":[],"operationID":"one"}"#)
        #expect(needless.code == "BAD_REQUEST")
        let asset =
            #"{"operationType":"create","record":{"recordName":"z","recordType":"Note","#
            + #""fields":{"file":{"value":{"fileChecksum":"AQ","size":1}}}}}"#
        // No version of the record has such an asset.
        let refused = try await gateway.modify(
            asset, #","operationID":"two","isLongLived":true"#)
        #expect(refused.status != 200 && refused.body["recordName"].text == "z")
        #expect(try await gateway.call("operations/list").body["operations"].count == 0)
    }

    @Test func `a query that is repeated has the moment of the first one`() async throws {
        let moment = Mutex(Date(timeIntervalSince1970: 1_767_225_600))
        let gateway = try await TestGateway(Container.inMemory()) { moment.withLock { $0 } }
        let body = """
            {"zoneID":{"zoneName":"notes"},"query":{"recordType":"Note",\
            "predicate":"due < now()"},"operationID":"one","isLongLived":true}
            """
        let first = try await gateway.call("records/query", body)
        moment.withLock { $0 += 60 }
        let again = try await gateway.call("records/query", body)
        #expect(first.status == 200 && again.text == first.text)
    }

    @Test func `a change that names no type is the same when it is repeated`() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(Self.create)
        let tag = try #require(try await gateway.record("a")["recordChangeTag"].text)
        let update = """
            {"operationType":"update","record":{"recordName":"a","recordChangeTag":"\(tag)",\
            "fields":{"key":{"value":2}}}}
            """
        let options = #","operationID":"one","isLongLived":true"#
        let first = try await gateway.modify(update, options)
        #expect(first.body["records"][0]["fields"]["key"]["value"].number == 2)
        _ = try await gateway.modify(
            #"{"operationType":"forceDelete","record":{"recordName":"a"}}"#)
        let again = try await gateway.modify(update, options)
        #expect(again.status == 200)
        #expect(again.body["records"][0]["recordChangeTag"].text != nil)
        #expect(again.body["records"][0] == first.body["records"][0])
    }
}
