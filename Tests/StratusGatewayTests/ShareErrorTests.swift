import Stratus
import StratusGateway
import Testing

/// What of sharing is refused, and how: semantics 8.2, 8.3, 8.6 and 8.7.
struct ShareErrorTests {
    /// The only item of an answer, which must have that code and stand for BAD_REQUEST.
    private func refused(_ item: Found, _ code: Int) {
        #expect(item["ckErrorCode"].number == code, "\(item.json)")
        #expect(item["serverErrorCode"].text == "BAD_REQUEST", "\(item.json)")
    }

    @Test(arguments: ["root", "a1", "above"])
    func `a record is in one share at most`(name: String) async throws {
        let shares = try await TestShares()
        _ = try await shares.gateway.modify(TestShares.new("above"))
        let root = try await shares.gateway.record("root")
        let tag = try #require(root["recordChangeTag"].text)
        _ = try await shares.gateway.modify(
            #"{"operationType":"update","record":{"recordName":"root","recordChangeTag":"\#(tag)","#
                + #""parent":{"recordName":"above"}}}"#)
        _ = try await shares.share("root")
        let before = try await shares.gateway.record("root")
        refused(
            try await shares.gateway.modify(TestShares.share(name)).body["records"][0], 30)
        let both = try await shares.gateway.modify(
            TestShares.set(name, 5) + "," + TestShares.share(name), #","atomic":true"#)
        #expect(
            Set(both.body["records"].texts("serverErrorCode")) == ["BAD_REQUEST", "ATOMIC_ERROR"],
            "\(both.text)")
        #expect(try await shares.gateway.record("root") == before)
    }

    @Test func `a share has as many participants as the profile allows`() async throws {
        let shares = try await TestShares(profile: .cloudKit)
        let list = (0..<101).map { TestShares.participant("user\($0)", "READ_ONLY") }
        refused(
            try await shares.gateway.modify(
                TestShares.share("root", #","participants":[\#(list.joined(separator: ","))]"#)
            ).body["records"][0], 29)
        let fewer = list.prefix(99).joined(separator: ",")
        let share = try await shares.share("root", #","participants":[\#(fewer)]"#)
        #expect(share.others.count == 99)
    }

    @Test func `a zone is shared as a whole or in hierarchies`() async throws {
        let shares = try await TestShares()
        let hierarchy = try await shares.share("root")
        refused(try await shares.gateway.modify(TestShares.share(nil)).body["records"][0], 12)
        let name = try #require(hierarchy["recordName"].text)
        _ = try await shares.gateway.modify(TestShares.delete(name))
        _ = try await shares.share(nil)
        refused(try await shares.gateway.modify(TestShares.share("root")).body["records"][0], 15)
    }

    // C94.
    @Test func `the default zone and the public database are not shared`() async throws {
        let shares = try await TestShares()
        for (database, code) in [(GatewayRequest.Database.private, 12), (.public, 24)] {
            for item in [TestShares.share("top"), TestShares.share(nil)] {
                let answer = try await shares.gateway.call(
                    "records/modify", #"{"operations":[\#(TestShares.new("top")),\#(item)]}"#,
                    database: database)
                refused(answer.body["records"][1], code)
                _ = try await shares.gateway.call(
                    "records/modify", #"{"operations":[\#(TestShares.delete("top"))]}"#,
                    database: database)
            }
        }
    }

    // C95.
    @Test(arguments: ["cloudkit.Share", "Cloudkit.share", "cloudkit.shares"])
    func `the type of a share is spelled in one way`(type: String) async throws {
        let shares = try await TestShares()
        let item = TestShares.share("root", #","recordName":"s""#)
            .replacing("cloudkit.share", with: type)
        let answer = try await shares.gateway.modify(item)
        refused(answer.body["records"][0], 12)
        #expect(try await shares.gateway.record("root")["share"].value == nil)
    }

    @Test func `a private share is for those who are invited`() async throws {
        let shares = try await TestShares()
        let share = try await shares.share(
            "root", TestShares.participants(TestShares.participant("bob")))
        let link = try #require(share["shortGUID"].text)
        for found in [
            try await shares.resolve(link, as: "carol"), try await shares.accept(link, as: "carol"),
        ] {
            #expect(found["serverErrorCode"].text == "ACCESS_DENIED" && found.error == 10)
            #expect(found["shortGUID"]["value"].text == link)
            #expect(found["share"].value == nil && found["zoneID"].value == nil)
        }
        for unknown in [String(repeating: "0", count: 32), "", "x", link.uppercased() + "0"] {
            for found in [
                try await shares.resolve(unknown, as: "bob"),
                try await shares.accept(unknown, as: "bob"),
            ] {
                #expect(found["serverErrorCode"].text == "NOT_FOUND" && found.error == 11)
                #expect(found["shortGUID"]["value"].text == unknown)
            }
        }
        for found in [
            try await shares.resolve(link, as: nil), try await shares.accept(link, as: nil),
        ] {
            #expect(found["serverErrorCode"].text == "AUTHENTICATION_FAILED")
        }
    }

    @Test func `who was invited by an address joins once it is the user's`() async throws {
        let shares = try await TestShares()
        let share = try await shares.share(
            "root",
            TestShares.participants(
                TestShares.participant("bob@example.com", by: "emailAddress")))
        let link = try #require(share["shortGUID"].text)
        refused(try await shares.resolve(link, as: "bob"), 33)
        refused(try await shares.accept(link, as: "bob"), 33)
        try await shares.container.setUserProfile(
            UserProfile(emailAddresses: ["bob@example.com"]), for: "bob")
        #expect(try await shares.resolve(link, as: "bob")["participantStatus"].text == "INVITED")
        #expect(try await shares.accept(link, as: "bob").error == nil)
        let stored = try await shares.gateway.record(try #require(share["recordName"].text))
        #expect(
            stored.onlyParticipant["userIdentity"]["userRecordName"].text
                == shares.container.userRecordName(for: "bob"))
        #expect(
            stored.onlyParticipant["userIdentity"]["lookupInfo"].json
                == #"{"emailAddress":"bob@example.com"}"#)
        // Sent back, it is the same participant.
        let edited = try await shares.edit(stored, [:])
        #expect(
            edited.body["records"][0].onlyParticipant == stored.onlyParticipant, "\(edited.text)")
    }

    @Test(arguments: [
        ("{}", "body.shortGUIDs is missing"), (#"{"shortGUIDs":{}}"#, "body.shortGUIDs must be "),
        (#"{"shortGUIDs":["x"]}"#, "body.shortGUIDs[0] must be "),
        (#"{"shortGUIDs":[{}]}"#, "body.shortGUIDs[0].value is missing"),
        (
            #"{"shortGUIDs":[{"value":"x","shouldFetchRootRecord":1}]}"#,
            "body.shortGUIDs[0].shouldFetchRootRecord must be "
        ),
        (#"{"shortGUIDs":[{"value":"x","url":"y"}]}"#, "body.shortGUIDs[0].url is no key "),
        (#"{"shortGUIDs":[],"zoneID":{"zoneName":"notes"}}"#, "body.zoneID is no key "),
    ])
    func `what is no list of links is refused by its place`(
        body: String, reason: String
    ) async throws {
        let gateway = try await TestGateway()
        for call in ["records/resolve", "records/accept"] {
            let answer = try await gateway.call(call, body, database: .public)
            #expect(answer.status == 400 && answer.reason.hasPrefix(reason), "\(answer.text)")
        }
    }

    @Test func `each link of a request is answered by itself`() async throws {
        let shares = try await TestShares()
        let share = try await shares.share(
            "root", TestShares.participants(TestShares.participant("bob", "READ_ONLY")))
        let link = try #require(share["shortGUID"].text)
        let body =
            #"{"shortGUIDs":[{"value":"0"},{"value":"\#(link)","shouldFetchRootRecord":true,"#
            + #""rootRecordDesiredKeys":["x"]},{"value":"\#(link)"}]}"#
        for (call, status) in [("records/resolve", "INVITED"), ("records/accept", "ACCEPTED")] {
            let answer = try await shares.gateway.call(call, body, as: "bob", database: .public)
            let results = answer.body["results"]
            #expect(answer.status == 200 && results.count == 3)
            #expect(results[0].error == 11)
            #expect(
                results[1].names == [
                    "shortGUID", "containerIdentifier", "environment", "databaseScope", "zoneID",
                    "share", "rootRecordName", "rootRecord", "participantType",
                    "participantStatus", "participantPermission", "ownerIdentity",
                    "potentialMatchList",
                ])
            #expect(
                results[1]["shortGUID"].json
                    == #"{"value":"\#(link)","shouldFetchRootRecord":true}"#)
            #expect(
                results[1]["containerIdentifier"].text == shares.container.information.storeID)
            #expect(results[1]["environment"].text == "DEVELOPMENT")
            #expect(results[1]["databaseScope"].text == "PRIVATE")
            let owner = shares.container.userRecordName(for: "alice")
            #expect(results[1]["zoneID"]["ownerRecordName"].text == owner)
            #expect(results[1]["ownerIdentity"]["userRecordName"].text == owner)
            #expect(results[1]["share"]["recordName"] == share["recordName"])
            #expect(results[1]["share"]["zoneID"] == results[1]["zoneID"])
            #expect(results[1]["rootRecord"]["recordName"].text == "root")
            #expect(results[1]["rootRecord"]["fields"].names == [])
            #expect(results[1]["participantType"].text == "USER")
            #expect(results[1]["participantStatus"].text == status)
            #expect(results[1]["participantPermission"].text == "READ_ONLY")
            #expect(results[1]["potentialMatchList"].json == "[]")
            #expect(results[2]["rootRecord"].value == nil)
            #expect(results[2]["shortGUID"]["shouldFetchRootRecord"].value == false)
            #expect(results[2]["participantStatus"].text == status)
        }
        let own = try await shares.resolve(link, as: "alice")
        #expect(own["participantType"].text == "OWNER")
        #expect(own["participantStatus"].text == "ACCEPTED")
        #expect(own["participantPermission"].text == "READ_WRITE")
        #expect(
            own["zoneID"]["ownerRecordName"].text == shares.container.userRecordName(for: "alice"))
    }
}
