import FoundationEssentials
import Stratus
import StratusGateway
import Testing

/// The calls beside records/modify, and what every request has in common.
struct CallTests {
    @Test func `zones are made, listed, looked up and deleted`() async throws {
        let gateway = try await TestGateway()
        let made = try await gateway.call(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"new"}}},"#
                + #"{"operationType":"create","zone":{"zoneID":{"zoneName":"_bad"}}},"#
                + #"{"operationType":"delete","zone":{"zoneID":{"zoneName":"none"}}}]}"#)
        #expect(made.body["zones"][0]["zoneID"]["zoneName"].text == "new")
        #expect(made.body["zones"][1]["serverErrorCode"].text == "BAD_REQUEST")
        #expect(made.body["zones"][2]["serverErrorCode"].text == "ZONE_NOT_FOUND")
        let all = try await gateway.call("zones/list").body["zones"]
        #expect(
            (0..<all.count).map { all[$0]["zoneID"]["zoneName"].text }
                == ["_defaultZone", "new", "notes"])
        #expect(all[0]["syncToken"].value == nil && all[0]["atomic"].value == false)
        #expect(all[0]["zoneID"]["zoneType"].text == "DEFAULT_ZONE")
        #expect(all[1]["atomic"].isTrue && all[1]["syncToken"].text != nil)
        #expect(
            all[1]["capabilities"].json
                == #"["fetchChanges","atomic","sharing","zoneWideSharing"]"#)
        #expect(
            all[1]["zoneID"]["ownerRecordName"].text
                == gateway.container.userRecordName(for: "alice"))
        // What a response says of a zone may be given back.
        let found = try await gateway.call(
            "zones/lookup", #"{"zones":[\#(all[1].json),{"zoneName":"none"}]}"#)
        #expect(found.body["zones"][0]["zoneID"] == all[1]["zoneID"])
        #expect(found.body["zones"][1]["serverErrorCode"].text == "ZONE_NOT_FOUND")
        let gone = try await gateway.call(
            "zones/modify",
            #"{"operations":[{"operationType":"delete","zone":\#(all[1].json)}]}"#)
        #expect(gone.body["zones"][0]["deleted"].isTrue)
        #expect(try await gateway.call("zones/list").body["zones"].count == 2)
    }

    @Test func `records are looked up in order, with the fields that are asked for`()
        async throws
    {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(
            #"{"operationType":"create","record":{"recordName":"a","recordType":"T","#
                + #""fields":{"x":{"value":1},"y":{"value":2}}}}"#)
        let answer = try await gateway.call(
            "records/lookup",
            #"{"records":[{"recordName":"a","zoneID":{"zoneName":"notes"}},{"recordName":"a"}],"#
                + #""desiredKeys":["y","z"]}"#)
        let record = answer.body["records"][0]
        #expect(record["fields"].names == ["y"] && record["recordType"].text == "T")
        #expect(record["created"]["userRecordName"] == record["modified"]["userRecordName"])
        #expect(record["modified"]["timestamp"].number ?? 0 > 1_700_000_000_000)
        #expect(answer.body["records"][1]["serverErrorCode"].text == "NOT_FOUND")
        #expect(answer.body["records"][1]["recordName"].text == "a")
    }

    @Test func `a client that follows the feeds holds what is there`() async throws {
        let gateway = try await TestGateway()
        for name in ["a", "b", "c"] {
            _ = try await gateway.modify(
                #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"T"}}"#)
        }
        let first = try await gateway.call("changes/database")
        #expect(first.body["fullSnapshot"].isTrue && first.body["zones"].count == 1)
        let page = { (more: String) in
            try await gateway.call(
                "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"notes"}\#(more)}]}"#
            ).body["zones"][0]
        }
        let start = try await page(#","resultsLimit":2"#)
        #expect(start["fullSnapshot"].isTrue && start["moreComing"].isTrue)
        #expect(start["records"].count == 2)
        let token = try #require(start["syncToken"].text)
        _ = try await gateway.modify(
            #"{"operationType":"forceDelete","record":{"recordName":"a"}}"#)
        let rest = try await page(#","syncToken":"\#(token)","desiredRecordTypes":["T"]"#)
        #expect(rest["fullSnapshot"].value == nil && rest["moreComing"].value == false)
        #expect(rest["records"][0]["recordName"].text == "c")
        #expect(
            rest["records"][1].json.hasPrefix(#"{"recordName":"a","recordType":"T","zoneID":{"#)
                && rest["records"][1]["deleted"].isTrue)
        #expect(
            try await page(#","syncToken":"\#(token)","desiredRecordTypes":["U"]"#)["records"].count
                == 0)
        let since = try await gateway.call(
            "changes/database", #"{"syncToken":"\#(first.body["syncToken"].text ?? "")"}"#)
        #expect(since.body["zones"].count == 1 && since.body["fullSnapshot"].value == nil)
        let wrong = try await page(#","syncToken":"\#(first.body["syncToken"].text ?? "")""#)
        #expect(wrong["serverErrorCode"].text == "BAD_REQUEST")
        let none = try await gateway.call(
            "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"none"}}]}"#)
        #expect(none.body["zones"][0]["serverErrorCode"].text == "ZONE_NOT_FOUND")
    }

    @Test func `records move to another zone with what hangs on them`() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.call(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneName":"to"}}]}"#)
        _ = try await gateway.modify(
            #"{"operationType":"create","record":{"recordName":"p","recordType":"T"}},"#
                + #"{"operationType":"create","record":{"recordName":"c","recordType":"T","#
                + #""parent":{"recordName":"p"}}}"#)
        let body =
            #"{"zoneID":{"zoneName":"notes"},"toZoneID":{"zoneName":"to"},"records":["#
            + #"{"recordName":"p"}]}"#
        let moved = try await gateway.call("records/move", body)
        #expect(moved.body["records"][0]["zoneID"]["zoneName"].text == "to")
        #expect(try await gateway.record("c")["serverErrorCode"].text == "NOT_FOUND")
        let again = try await gateway.call("records/move", body)
        #expect(again.status == 404 && again.code == "NOT_FOUND")
    }

    @Test func `an operation that is repeated is answered as it was, and a device sees its data`()
        async throws
    {
        let gateway = try await TestGateway()
        let create = #"{"operationType":"create","record":{"recordName":"r","recordType":"T"}}"#
        let more = #","operationID":"o","clientChangeTokenData":"AAEC""#
        let first = try await gateway.modify(create, more)
        #expect(first.body["records"][0]["recordName"].text == "r")
        #expect(try await gateway.modify(create, more).body == first.body)
        let other = create.replacing("create", with: "forceReplace")
        #expect(try await gateway.modify(other, more).code == "BAD_REQUEST")
        let unnamed = create.replacing(#""recordName":"r","#, with: "")
        #expect(try await gateway.modify(unnamed, more).code == "BAD_REQUEST")
        let page = try await gateway.call(
            "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"notes"}}]}"#)
        #expect(page.body["zones"][0]["clientChangeTokenData"].text == "AAEC")
    }

    @Test func `a zone's token in the list has seen all of it`() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(#"{"operationType":"create","record":{"recordType":"T"}}"#)
        let zone = try await gateway.call("zones/list").body["zones"][1]
        let token = try #require(zone["syncToken"].text)
        let page = try await gateway.call(
            "changes/zone",
            #"{"zones":[{"zoneID":{"zoneName":"notes"},"syncToken":"\#(token)"}]}"#
        )
        #expect(page.body["zones"][0]["records"].count == 0)
        #expect(page.body["zones"][0]["serverErrorCode"].value == nil)
    }

    @Test func `an anonymous caller may read the public database and nothing else`() async throws {
        let gateway = try await TestGateway()
        let saving = #"{"operations":[{"operationType":"create","record":{"recordType":"T"}}]}"#
        for (call, body) in [
            ("zones/list", "{}"), ("records/modify", saving), ("users/caller", "{}"),
        ] {
            let answer = try await gateway.call(call, body, as: nil)
            #expect(answer.status == 401 && answer.code == "AUTHENTICATION_FAILED")
        }
        let write = try await gateway.call(
            "records/modify", saving, as: nil, database: .public)
        #expect(write.status == 401)
        let made = try await gateway.call("records/modify", saving, database: .public)
        let name = try #require(made.body["records"][0]["recordName"].text)
        let read = try await gateway.call(
            "records/lookup", #"{"records":[{"recordName":"\#(name)"}]}"#, as: nil,
            database: .public)
        #expect(read.body["records"][0]["recordType"].text == "T")
        #expect(read.body["records"][0]["zoneID"]["ownerRecordName"].value == nil)
        #expect(
            try await gateway.call("users/caller").body["userRecordName"].text
                == gateway.container.userRecordName(for: "alice"))
    }

    @Test func `users are known who ever used the store`() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.call(
            "users/lookup", #"{"users":[{"userRecordName":"alice"},{"userRecordName":"bob"}]}"#)
        let users = answer.body["users"]
        #expect(users[0].names == ["userRecordName"])
        #expect(
            users[0]["userRecordName"].text == gateway.container.userRecordName(for: "alice"))
        #expect(users[1]["serverErrorCode"].text == "NOT_FOUND")
    }

    @Test(arguments: [
        "store/info", "store/verify", "store/checkpoint", "store/compact", "users/list",
    ])
    func `maintenance needs a grant`(call: String) async throws {
        let refused = try await TestGateway().call(call)
        #expect(refused.status == 403 && refused.code == "ACCESS_DENIED")
        let answer = try await TestGateway(grants: [.maintenance]).call(call)
        #expect(answer.status == 200)
        let keys = [
            "store/info": "storeID", "store/verify": "found", "users/list": "users",
            "store/compact": "freedBytes",
        ]
        let key = keys[call] ?? "replayedCommits"
        #expect(answer.body[key].value != nil)
    }

    @Test func `marks are made and removed with a grant`() async throws {
        let refused = try await TestGateway().call("store/mark", #"{"name":"noon"}"#)
        #expect(refused.code == "ACCESS_DENIED")
        let gateway = try await TestGateway(grants: [.maintenance])
        let first = try await gateway.call("store/mark", #"{"name":"noon"}"#).body
        _ = try await gateway.call("store/mark", #"{"name":"noon"}"#)
        let last = try await gateway.call("store/mark", #"{"name":"noon"}"#).body
        #expect(first["name"].text == "noon" && first["date"].text != nil)
        let offset = try #require(first["offset"].text)
        let removed = try await gateway.call("store/unmark", #"{"name":"noon"}"#).body
        #expect(removed["offset"].text == last["offset"].text)
        let chosen = #"{"name":"noon","offset":"\#(offset)"}"#
        #expect(try await gateway.call("store/unmark", chosen).body["offset"].text == offset)
        #expect(try await gateway.call("store/unmark", chosen).code == "NOT_FOUND")
        #expect(try await gateway.container.marks().count == 1)
        #expect(try await gateway.call("store/mark", #"{"name":""}"#).code == "BAD_REQUEST")
    }

    @Test func `a backup leaves the mark that is asked for`() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/backup-\(UUID())"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let gateway = try await TestGateway(grants: [.maintenance, .files(under: folder)])
        for (mark, names) in [
            ("", ["backup"]), (#","mark":"""#, ["backup"]),
            (#","mark":"noon""#, ["backup", "noon"]),
        ] {
            let answer = try await gateway.call(
                "store/backup", #"{"path":"\#(folder)/\#(UUID())"\#(mark)}"#)
            #expect(answer.status == 200, "\(mark): \(answer.body["reason"].text ?? "")")
            #expect(try await gateway.container.marks().map(\.name) == names, "\(mark)")
        }
        // A directory gets it under a name; what leads elsewhere is refused.
        try FileManager.default.createDirectory(
            atPath: folder + "/all", withIntermediateDirectories: true)
        let named = try await gateway.call("store/backup", #"{"path":"\#(folder)/all"}"#)
        #expect(
            named.body["file"].text?.hasPrefix(folder + "/all/stratus-") == true, "\(named.text)")
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/link", withDestinationPath: "/var/tmp")
        for path in ["/var/tmp/\(UUID())", folder + "/link", folder + "/../\(UUID())"] {
            let refused = try await gateway.call("store/backup", #"{"path":"\#(path)"}"#)
            #expect(refused.code == "ACCESS_DENIED", "\(path)")
        }
    }

    @Test func `a call that is not built yet says so, one that never was is refused`()
        async throws
    {
        let gateway = try await TestGateway()
        let calls = [
            "records/changes", "zones/changes", "assets/rereference", "users/lookup/contacts",
        ]
        for call in calls {
            let answer = try await gateway.call(call)
            #expect(answer.status == 501 && answer.code == "NOT_IMPLEMENTED")
            #expect(answer.body["reason"].text?.hasPrefix(call) == true)
        }
        for call in ["", "records", "zones/list ", "Zones/list"] {
            #expect(try await gateway.call(call).code == "BAD_REQUEST")
        }
    }

    @Test(arguments: [
        ("zones/list", #"{"zone":1}"#, "body.zone "), ("zones/lookup", "{}", "body.zones "),
        ("zones/lookup", #"{"zones":{}}"#, "body.zones "),
        ("zones/lookup", #"{"zones":[{"zoneName":"a","x":1}]}"#, "body.zones[0].x "),
        (
            "zones/lookup", #"{"zones":[{"zoneName":"a","zoneType":"DEFAULT_ZONE"}]}"#,
            "body.zones[0].zoneType "
        ),
        ("records/lookup", #"{"records":[{"recordName":"a"},{}]}"#, "body.records[1].recordName "),
        ("records/lookup", #"{"recordz":[]}"#, "body.recordz "),
        ("records/lookup", #"{"records":[],"numbersAsStrings":1}"#, "body.numbersAsStrings "),
        ("records/modify", #"{"operations":[],"zoneWide":true}"#, "body.zoneWide "),
        ("records/lookup", #"{"records":[],"zoneWide":true}"#, "body.zoneWide "),
        ("assets/upload", #"{"path":"a","name":"b"}"#, "body.name "),
        ("assets/download", #"{"recordName":"a","fieldName":"f"}"#, "body.path "),
        (
            "assets/download", #"{"recordName":"a","fieldName":"f","path":"b","offset":-1}"#,
            "body.offset "
        ),
        ("changes/database", #"{"syncToken":"x"}"#, "body.syncToken "),
        ("changes/database", #"{"resultsLimit":0}"#, "body.resultsLimit "),
        (
            "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"a"},"reversed":true}]}"#,
            "body.zones[0].reversed "
        ),
        ("records/modify", #"{"operations":[],"atomic":1}"#, "body.atomic "),
        ("records/modify", #"{"operations":[],"savePolicy":"all"}"#, "body.savePolicy "),
        ("records/modify", #"{"operations":[],"\u212A":"all"}"#, "body.\u{212A} "),
    ])
    func `an unknown key and a wrong type are refused by their place`(
        call: String, body: String, place: String
    ) async throws {
        let answer = try await TestGateway().call(call, body)
        #expect(answer.status == 400 && answer.code == "BAD_REQUEST")
        #expect(answer.body["ckErrorCode"].number == 12)
        #expect(answer.body["reason"].text?.hasPrefix(place) == true, "\(answer.text)")
    }

    @Test func `a user record name as the caller needs a grant, and a plain name does not`()
        async throws
    {
        let closed = try await TestGateway()
        let name = closed.container.userRecordName(for: "alice")
        for (call, body) in [
            ("users/caller", "{}"), ("zones/list", "{}"),
            ("records/lookup", #"{"records":[{"recordName":"a"}]}"#),
        ] {
            for database in [GatewayRequest.Database.private, .public] {
                let answer = try await closed.call(call, body, as: name, database: database)
                #expect(answer.status == 403 && answer.code == "ACCESS_DENIED")
                let empty = try await closed.call(call, body, as: "", database: database)
                #expect(empty.status == 400 && empty.code == "BAD_REQUEST")
                #expect(empty.body["reason"].text?.contains("expected the name of a user") == true)
            }
        }
        let open = try await TestGateway(closed.container, grants: [.userRecordNames])
        let caller = try await open.call("users/caller", as: name)
        #expect(caller.body["userRecordName"].text == name)
        // What is not quite one is a plain name, of another user.
        for near in [name.uppercased(), String(name.dropLast()), name + "0", name + " "] {
            let answer = try await closed.call("users/caller", as: near)
            #expect(answer.status == 200 && answer.body["userRecordName"].text != name)
        }
    }

    @Test func `only the creator changes and deletes a record of the public database`() async throws
    {
        let gateway = try await TestGateway(grants: [.maintenance])
        func modify(_ itemJSON: String, as user: String?) async throws -> Answer {
            try await gateway.call(
                "records/modify", #"{"operations":[\#(itemJSON)]}"#, as: user, database: .public)
        }
        func itemJSON(_ type: String, tag: String? = nil) -> String {
            let tag = tag.map { #""recordChangeTag":"\#($0)","# } ?? ""
            return #"{"operationType":"\#(type)","record":{\#(tag)"recordName":"a","#
                + #""recordType":"Note","fields":{"f":{"value":"\#(type)"}}}}"#
        }
        let made = try await modify(itemJSON("create"), as: "alice")
        let tag = try #require(made.body["records"][0]["recordChangeTag"].text)
        let kinds = ["create", "update", "forceUpdate", "replace", "forceReplace", "save"]
        for kind in kinds + ["delete", "forceDelete"] {
            let itemJSON = itemJSON(kind, tag: kind == "create" ? nil : tag)
            let foreign = try await modify(itemJSON, as: "bob").body["records"][0]
            #expect(foreign["serverErrorCode"].text == "ACCESS_DENIED", "\(kind)")
            #expect(foreign["ckErrorCode"].number == 10)
            let anonymous = try await modify(itemJSON, as: nil)
            #expect(anonymous.status == 401, "\(kind)")
        }
        let read = try await gateway.call(
            "records/lookup", #"{"records":[{"recordName":"a"}]}"#, as: nil, database: .public)
        #expect(read.body["records"][0]["recordChangeTag"].text == tag)
        let changed = try await modify(itemJSON("update", tag: tag), as: "alice")
        #expect(changed.body["records"][0]["fields"]["f"]["value"].text == "update")
        let deleted = try await modify(itemJSON("forceDelete"), as: "alice")
        #expect(deleted.body["records"][0]["deleted"].isTrue, "\(deleted.text)")
    }
}
