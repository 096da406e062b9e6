import Stratus
import StratusGateway
import Testing

/// What the calls do beyond those of Web Services.
struct BeyondTests {
    private func page(_ gateway: TestGateway, _ more: String = "") async throws -> Found {
        try await gateway.call(
            "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"notes"}\#(more)}]}"#
        ).body["zones"][0]
    }

    private func save(_ name: String, _ value: Int) -> String {
        #"{"operationType":"forceUpdate","record":{"recordName":"\#(name)","recordType":"T","#
            + #""fields":{"n":{"value":\#(value)}}}}"#
    }

    @Test func `the feed reports a purged zone as purged, and saves fail until it is made again`()
        async throws
    {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(save("a", 1))
        let token = try #require(
            try await gateway.call("changes/database").body["syncToken"].text)
        let zones = { (type: String) in
            try await gateway.call(
                "zones/modify",
                #"{"operations":[{"operationType":"\#(type)","zone":{"zoneName":"notes"}}]}"#
            ).body["zones"][0]
        }
        #expect(try await zones("purge")["deleted"].isTrue)
        let changes = try await gateway.call(
            "changes/database", #"{"syncToken":"\#(token)"}"#)
        #expect(changes.body["zones"][0]["reason"].text == "purged")
        let refused = try await gateway.modify(save("a", 2)).body["records"][0]
        #expect(refused["serverErrorCode"].text == "NOT_FOUND")
        #expect(refused["ckErrorCode"].number == 28)
        #expect(try await zones("purge")["ckErrorCode"].number == 28)
        #expect(try await zones("create")["serverErrorCode"].value == nil)
        #expect(try await page(gateway)["records"].count == 0)
    }

    @Test func `a move that is sent again is answered as it was`() async throws {
        let gateway = try await TestGateway()
        for zone in ["to", "other"] {
            _ = try await gateway.call(
                "zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneName":"\#(zone)"}}]}"#)
        }
        _ = try await gateway.modify(save("a", 1))
        let move = { (zone: String, more: String) in
            try await gateway.call(
                "records/move",
                #"{"zoneID":{"zoneName":"notes"},"toZoneID":{"zoneName":"\#(zone)"},"records":["#
                    + #"{"recordName":"a"}]\#(more)}"#)
        }
        let first = try await move("to", #","operationID":"m""#)
        #expect(first.body["records"][0]["zoneID"]["zoneName"].text == "to")
        #expect(try await move("to", #","operationID":"m""#).body == first.body)
        #expect(try await move("to", "").code == "NOT_FOUND")
        #expect(try await move("other", #","operationID":"m""#).code == "BAD_REQUEST")
        #expect(try await move("to", #","operationID":"""#).code == "BAD_REQUEST")
    }

    @Test func `a zone is read as it was at an older token`() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(save("a", 1) + "," + save("b", 1))
        let first = try #require(try await page(gateway)["syncToken"].text)
        _ = try await gateway.modify(
            save("a", 2) + "," + save("c", 1)
                + #",{"operationType":"forceDelete","record":{"recordName":"b"}}"#)
        let then = try await page(gateway, #","atToken":"\#(first)""#)
        #expect(then["fullSnapshot"].isTrue && then["moreComing"].value == false)
        let names = (0..<then["records"].count).map { then["records"][$0]["recordName"].text }
        #expect(names == ["a", "b"])
        #expect(then["records"][0]["fields"]["n"]["value"].number == 1)
        let nothing = try await page(
            gateway, #","syncToken":"\#(first)","atToken":"\#(first)""#)
        #expect(nothing["records"].count == 0 && nothing["syncToken"].text == first)
        #expect(try await page(gateway, #","syncToken":"\#(first)""#)["records"].count == 3)
        let wrong = try #require(
            try await gateway.call("changes/database").body["syncToken"].text)
        #expect(
            try await page(gateway, #","atToken":"\#(wrong)""#)["serverErrorCode"].text
                == "BAD_REQUEST")
        let unread = try await gateway.call(
            "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"notes"},"atToken":"x"}]}"#)
        #expect(unread.body["reason"].text?.hasPrefix("body.zones[0].atToken ") == true)
    }

    @Test func `users are discovered by their names, and by addresses that they have`()
        async throws
    {
        let gateway = try await TestGateway()
        let answer = try await gateway.call(
            "users/discover",
            #"{"lookupInfos":[{"emailAddress":"a@b.c"},{"userRecordName":"alice"},"#
                + #"{"phoneNumber":"1"},{"userRecordName":"bob"}]}"#)
        let users = answer.body["users"]
        let codes = (0..<users.count).map { users[$0]["serverErrorCode"].text }
        #expect(codes == ["NOT_FOUND", nil, "NOT_FOUND", "NOT_FOUND"])
        #expect(
            users[1]["userRecordName"].text == gateway.container.userRecordName(for: "alice"))
        #expect(users[1]["lookupInfo"].json == #"{"userRecordName":"alice"}"#)
        #expect(users[0]["lookupInfo"].json == #"{"emailAddress":"a@b.c"}"#)
        for info in ["{}", #"{"emailAddress":"a","phoneNumber":"1"}"#, #"{"name":"a"}"#] {
            let refused = try await gateway.call("users/discover", #"{"lookupInfos":[\#(info)]}"#)
            #expect(refused.body["reason"].text?.hasPrefix("body.lookupInfos[0]") == true)
        }
        #expect(
            try await gateway.call("users/discover", #"{"lookupInfos":[]}"#, as: nil).status == 401)
    }

    @Test func `each device hears what it said last, and no other`() async throws {
        let gateway = try await TestGateway()
        let zone = #"{"zones":[{"zoneID":{"zoneName":"notes"}}]}"#
        for (device, data) in [("phone", "AA=="), ("pad", "AQ=="), ("phone", "Ag==")] {
            _ = try await gateway.call(
                "records/modify",
                #"{"zoneID":{"zoneName":"notes"},"operations":[\#(save("a", 1))],"#
                    + #""clientChangeTokenData":"\#(data)"}"#, on: device)
        }
        for (device, data) in [("phone", "Ag=="), ("pad", "AQ=="), (nil, nil)] {
            let heard = try await gateway.call("changes/zone", zone, on: device)
            #expect(heard.body["zones"][0]["clientChangeTokenData"].text == data)
        }
        let strange = try await gateway.call(
            "records/modify", #"{"operations":[],"clientChangeTokenData":"no base64"}"#)
        #expect(strange.body["reason"].text?.hasPrefix("body.clientChangeTokenData ") == true)
    }

    @Test func `an encrypted field stays so, and is sent with its flag`() async throws {
        let gateway = try await TestGateway()
        let itemJSON = { (type: String, field: String) in
            #"{"operationType":"\#(type)","record":{"recordName":"a","recordType":"T","#
                + #""fields":{"secret":\#(field)}}}"#
        }
        _ = try await gateway.modify(itemJSON("create", #"{"value":"s","isEncrypted":true}"#))
        let plain = try await gateway.modify(itemJSON("forceUpdate", #"{"value":"t"}"#))
        #expect(plain.body["records"][0]["serverErrorCode"].text == "BAD_REQUEST")
        let field = try await gateway.record("a")["fields"]["secret"]
        #expect(field["isEncrypted"].isTrue && field["value"].text == "s")
        let same = try await gateway.modify(itemJSON("forceReplace", field.json))
        #expect(same.body["records"][0]["fields"]["secret"] == field)
        let reference = #"{"value":{"recordName":"b"},"isEncrypted":true}"#
        let refused = try await gateway.modify(
            itemJSON("forceUpdate", reference).replacing("secret", with: "link"))
        #expect(refused.body["records"][0]["serverErrorCode"].text == "BAD_REQUEST")
        let removed = try await gateway.modify(itemJSON("forceUpdate", "null"))
        #expect(removed.body["records"][0]["fields"].names == [])
    }

    @Test func `in production nothing new comes into the schema`() async throws {
        let gateway = try await TestGateway(Container.inMemory(environment: .production))
        let answer = try await gateway.modify(save("a", 1)).body["records"][0]
        #expect(answer["serverErrorCode"].text == "BAD_REQUEST")
        #expect(answer["ckErrorCode"].number == 12)
        #expect(answer["reason"].text == "cannot create new type 'T' in production schema")
        #expect(try await gateway.record("a")["serverErrorCode"].text == "NOT_FOUND")
    }
}
