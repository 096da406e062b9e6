import FoundationEssentials
import Stratus
import StratusGateway
import Testing

/// The calls in the database `shared`.
struct SharedDatabaseTests {
    @Test func `zones of others are listed, looked up and never changed`() async throws {
        let shares = try await TestShares()
        _ = try await shares.shared()
        let listed = try await shares.call("zones/list", as: "bob").body["zones"]
        #expect(listed.count == 1 && listed[0]["syncToken"].text != nil)
        let zone = try await shares.call(
            "zones/lookup",
            #"{"zones":[\#(listed[0].json),{"zoneName":"notes"},{"zoneName":"_defaultZone"}]}"#,
            as: "bob"
        ).body["zones"]
        #expect(zone[0]["zoneID"] == listed[0]["zoneID"])
        #expect(zone[1]["serverErrorCode"].text == "ZONE_NOT_FOUND")
        #expect(zone[2]["serverErrorCode"].text == "ZONE_NOT_FOUND")
        for zone in [#"{"zoneName":"new"}"#, shares.zone] {
            let made = try await shares.call(
                "zones/modify",
                #"{"operations":[{"operationType":"create","zone":\#(zone)}]}"#, as: "bob")
            #expect(made.body["zones"][0].error == 24, "\(made.text)")
            #expect(made.body["zones"][0]["serverErrorCode"].text == "BAD_REQUEST")
        }
        let gone = try await shares.call(
            "zones/modify",
            #"{"operations":[{"operationType":"delete","zone":\#(shares.zone)}]}"#, as: "bob")
        #expect(gone.body["zones"][0].error != nil)
        #expect(try await shares.gateway.record("root").error == nil)
        // Of the token in the list nothing is left to read.
        let page = try await shares.changes(
            since: listed[0]["syncToken"].text, as: "bob")
        #expect(page["records"].count == 0 && page.error == nil)
    }

    // C92.
    @Test func `a zone of another user is not in the private database`() async throws {
        let shares = try await TestShares()
        _ = try await shares.shared()
        let answer = try await shares.gateway.call(
            "records/lookup",
            #"{"zoneID":\#(shares.zone),"records":[{"recordName":"root"}]}"#, as: "bob")
        let item = answer.status == 200 ? answer.body["records"][0] : answer.body
        #expect(item.error == 24 && item["serverErrorCode"].text == "BAD_REQUEST")
    }

    @Test func `an anonymous caller has no shared database`() async throws {
        let gateway = try await TestGateway()
        for call in ["zones/list", "changes/database"] {
            let answer = try await gateway.call(call, as: nil, database: .shared)
            #expect(answer.status == 401 && answer.code == "AUTHENTICATION_FAILED")
        }
    }

    @Test func `the feed of a zone goes page by page and on from its token`() async throws {
        let shares = try await TestShares()
        let share = try await shares.shared()
        var names: Set<String> = []
        var token: String?
        var count = 0
        while true {
            let more = token.map { #","syncToken":"\#($0)""# } ?? ""
            let page = try await shares.call(
                "changes/zone",
                #"{"zones":[{"zoneID":\#(shares.zone),"resultsLimit":2\#(more)}]}"#, as: "bob"
            ).body["zones"][0]
            #expect(page["zoneID"]["ownerRecordName"].text != nil, "\(page.json)")
            #expect((page["fullSnapshot"].value != nil) == (token == nil))
            names.formUnion(page["records"].texts("recordName"))
            token = page["syncToken"].text
            count += 1
            if page["moreComing"].value == false { break }
            try #require(count < 10)
        }
        #expect(names == Set(TestShares.members + [share["recordName"].text ?? ""]))
        _ = try await shares.gateway.modify(
            TestShares.set("a", 2) + "," + TestShares.set("out", 2) + ","
                + TestShares.delete("b"))
        let next = try await shares.changes(since: token, as: "bob")
        #expect(next["records"].texts("recordName") == ["a", "b"])
        let zone = try await shares.zones(of: "bob")[0]
        #expect(next["records"][0]["zoneID"] == zone)
        #expect(next["records"][1]["zoneID"] == zone && next["records"][1]["deleted"].isTrue)
        #expect(next["records"][1]["recordType"].text == "Note")
        // A token of the owner is none of a participant.
        let own = try await shares.gateway.call(
            "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"notes"}}]}"#)
        let foreign = try await shares.changes(
            since: own.body["zones"][0]["syncToken"].text, as: "bob")
        #expect(foreign.error != nil && foreign["records"].value == nil)
    }

    @Test func `reverse is refused, and false is not`() async throws {
        let shares = try await TestShares()
        _ = try await shares.shared()
        for (zone, all) in [(#","reverse":true"#, ""), ("", #","reverse":true"#)] {
            let answer = try await shares.call(
                "changes/zone", #"{"zones":[{"zoneID":\#(shares.zone)\#(zone)}]\#(all)}"#,
                as: "bob")
            let item = answer.body["zones"][0]
            #expect(item["serverErrorCode"].text == "BAD_REQUEST" && item.error == 12)
            #expect(item["reason"].text == "Reverse sync of share db is unsupported")
            #expect(item["zoneID"]["zoneName"].text == "notes")
        }
        let allowed = try await shares.call(
            "changes/zone",
            #"{"zones":[{"zoneID":\#(shares.zone),"reverse":false}],"reverse":true}"#, as: "bob")
        #expect(allowed.body["zones"][0]["records"].count == 5, "\(allowed.text)")
    }

    @Test func `a query names its zone and finds what is shared`() async throws {
        let shares = try await TestShares()
        _ = try await shares.shared()
        func query(_ more: String) async throws -> Answer {
            try await shares.call(
                "records/query",
                #"{"query":{"recordType":"Note"}\#(more)}"#, as: "bob")
        }
        let found = try await query(#","zoneID":\#(shares.zone)"#)
        #expect(found.recordNames?.sorted() == TestShares.members, "\(found.text)")
        #expect(found.body["records"][0]["zoneID"]["ownerRecordName"].text != nil)
        for more in ["", #","zoneWide":true"#] {
            let refused = try await query(more)
            #expect(refused.status == 400 && refused.body.error == 12)
            #expect(refused.reason.hasPrefix("body.zoneID is missing"))
        }
        #expect(try await query(#","zoneID":{"zoneName":"notes"}"#).code == "ZONE_NOT_FOUND")
    }

    @Test func `a record that a participant was given can be sent back`() async throws {
        let shares = try await TestShares()
        _ = try await shares.shared()
        for name in TestShares.members {
            let found = try await shares.record(name, as: "bob")
            let saved = try await shares.modify(
                #"{"operationType":"update","record":\#(found.json)}"#, as: "bob")
            #expect(saved.error == nil, "\(saved.json)")
            #expect(saved["fields"] == found["fields"] && saved["parent"] == found["parent"])
            #expect(saved["zoneID"] == found["zoneID"] && saved["share"] == found["share"])
        }
    }

    @Test func `a reference of a participant points into the zone of its record`() async throws {
        let shares = try await TestShares()
        _ = try await shares.shared()
        let made = try await shares.modify(
            TestShares.new("new", under: "a").replacing(
                #""n":{"value":1}"#, with: #""to":{"value":{"recordName":"b"}}"#), as: "bob")
        let zone = try await shares.zones(of: "bob")[0]
        #expect(made["fields"]["to"]["value"]["zoneID"] == zone, "\(made.json)")
        let own = try await shares.gateway.record("new")["fields"]["to"]["value"]
        #expect(own["recordName"].text == "b" && own["zoneID"]["zoneName"].text == "notes")
    }

    // C78, C79.
    @Test func `a participant who may only read changes nothing`() async throws {
        let shares = try await TestShares()
        let share = try await shares.shared("READ_ONLY")
        for item in [
            TestShares.new("new", under: "a"), TestShares.set("root", 2), TestShares.set("a", 2),
            TestShares.delete("b"), TestShares.delete("root"),
        ] {
            let refused = try await shares.modify(item, as: "bob")
            #expect(refused["serverErrorCode"].text == "ACCESS_DENIED", "\(item)")
            #expect(refused["serverRecord"].value == nil)
        }
        #expect(try await shares.gateway.record("a")["fields"]["n"]["value"].number == 1)
        // Leaving is open to all.
        let name = try #require(share["recordName"].text)
        #expect(try await shares.modify(TestShares.delete(name), as: "bob")["deleted"].isTrue)
    }

    @Test func `who is no administrator changes nothing of a share`() async throws {
        let shares = try await TestShares()
        let share = try await shares.shared(with: ["bob", "carol"])
        let name = try #require(share["recordName"].text)
        func save(_ more: String, as user: String) async throws -> Found {
            let tag = try await shares.record(name, as: user)["recordChangeTag"].text ?? ""
            return try await shares.modify(
                #"{"operationType":"update","record":{"recordName":"\#(name)","#
                    + #""recordType":"cloudkit.share","recordChangeTag":"\#(tag)"\#(more)}}"#,
                as: user)
        }
        let edits = [
            #","publicPermission":"READ_WRITE""#, #","participants":[]"#,
            #","fields":{"cloudkit.title":{"value":"Mine"}}"#,
        ]
        for edit in edits {
            #expect(try await save(edit, as: "bob").error == 10, "\(edit)")
        }
        let list = [
            TestShares.participant("bob", "READ_ONLY", role: "ADMINISTRATOR"),
            TestShares.participant("carol"),
        ]
        let raised = try await shares.edit(
            share, ["participants": "[\(list.joined(separator: ","))]"])
        #expect(raised.body["records"][0].others.count == 2, "\(raised.text)")
        let invited = list + [TestShares.participant("dave")]
        let saved = try await save(
            #","participants":[\#(invited.joined(separator: ","))]"#, as: "bob")
        #expect(saved.others.count == 3, "\(saved.json)")
        let link = try #require(share["shortGUID"].text)
        #expect(try await shares.accept(link, as: "dave").error == nil)
        // To records an administrator has the permission that was given, and no more.
        #expect(try await shares.modify(TestShares.set("a", 2), as: "bob").error == 10)
        // No participant makes a share of the zone.
        let second = try await shares.modify(TestShares.share("b"), as: "carol")
        #expect([10, 24].contains(second.error), "\(second.json)")
    }

    @Test func `a name that is taken by what a participant does not see is refused as it is`()
        async throws
    {
        let shares = try await TestShares()
        _ = try await shares.shared()
        for kind in ["create", "forceUpdate", "forceReplace", "save"] {
            let item = TestShares.new("out", under: "a").replacing("create", with: kind)
            let refused = try await shares.modify(item, as: "bob")
            #expect(refused.error == 10, "\(refused.json)")
            #expect(refused["serverRecord"].value == nil)
            #expect(refused["ancestorRecord"].value == nil)
        }
        let lost = try await shares.modify(TestShares.new("new", under: "out"), as: "bob")
        #expect(lost["serverErrorCode"].text == "VALIDATING_REFERENCE_ERROR")
        // A conflict over what is shared shows the record.
        let taken = try await shares.modify(TestShares.new("b", under: "a"), as: "bob")
        #expect(taken["serverErrorCode"].text == "EXISTS", "\(taken.json)")
        #expect(taken["serverRecord"]["recordName"].text == "b")
    }

    @Test func `assets go to and from a shared zone`() async throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.path + "/stratus-" + UUID().uuidString
        try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? files.removeItem(atPath: folder) }
        let data = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 * 7) })
        try data.write(to: URL(filePath: folder + "/in"))
        let shares = try await TestShares(grants: [.files(under: folder)])
        _ = try await shares.shared()
        let made = try await shares.modify(
            TestShares.new("photo", under: "a").replacing(
                #""n":{"value":1}"#, with: #""f":{"value":{"path":"in"}}"#), as: "bob")
        let checksum = try #require(made["fields"]["f"]["value"]["fileChecksum"].text)
        let written = try await shares.call(
            "assets/download",
            #"{"zoneID":\#(shares.zone),"recordName":"photo","fieldName":"f","path":"out"}"#,
            as: "bob")
        #expect(written.body["fileChecksum"].text == checksum, "\(written.text)")
        #expect(try Data(contentsOf: URL(filePath: folder + "/out")) == data)
        let own = try await shares.gateway.record("photo")
        #expect(own["fields"]["f"]["value"]["fileChecksum"].text == checksum)
        let unseen = try await shares.call(
            "assets/download",
            #"{"zoneID":\#(shares.zone),"recordName":"out","fieldName":"f","path":"no"}"#,
            as: "bob")
        #expect(unseen.code == "NOT_FOUND")
    }
}
