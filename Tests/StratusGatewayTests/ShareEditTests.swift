import Stratus
import StratusGateway
import Testing

/// Shares as records in JSON: what an answer says of one, and what a request changes.
struct ShareEditTests {
    @Test func `the record of a share says who has a part in it`() async throws {
        let shares = try await TestShares()
        try await shares.container.setUserProfile(
            UserProfile(name: PersonName(givenName: "Alice", familyName: "Ames")), for: "alice")
        let share = try await shares.share(
            "root",
            TestShares.participants(
                TestShares.participant("bob"),
                TestShares.participant("c@example.com", "READ_ONLY", by: "emailAddress"),
                TestShares.participant("+15550100", by: "phoneNumber", role: "ADMINISTRATOR")))
        #expect(
            share.names == [
                "recordName", "recordType", "recordChangeTag", "zoneID", "fields", "created",
                "modified", "publicPermission", "participants", "owner", "currentUserParticipant",
                "shortGUID",
            ])
        #expect(share["publicPermission"].text == "NONE")
        #expect(share["shortGUID"].text?.utf8.count == 32)
        #expect(share["participants"].count == 4)
        #expect(share["participants"][0] == share["owner"])
        #expect(share["currentUserParticipant"] == share["owner"])
        let owner = share["owner"]
        #expect(
            owner.names == [
                "participantId", "userIdentity", "role", "type", "permission", "acceptanceStatus",
            ])
        #expect(owner["role"].text == "OWNER" && owner["type"].text == "OWNER")
        #expect(owner["permission"].text == "READ_WRITE")
        #expect(owner["acceptanceStatus"].text == "ACCEPTED")
        #expect(
            owner["userIdentity"]["userRecordName"].text
                == shares.container.userRecordName(for: "alice"))
        #expect(
            owner["userIdentity"]["nameComponents"].json
                == #"{"givenName":"Alice","familyName":"Ames"}"#)
        let infos = share.others.map { $0["userIdentity"]["lookupInfo"].json }.sorted()
        let bob = shares.container.userRecordName(for: "bob")
        #expect(
            infos == [
                #"{"emailAddress":"c@example.com"}"#, #"{"phoneNumber":"+15550100"}"#,
                #"{"userRecordName":"\#(bob)"}"#,
            ])
        #expect(share.others.allSatisfy { $0["acceptanceStatus"].text == "INVITED" })
        #expect(Set(share.others.compactMap { $0["role"].text }) == ["USER", "ADMINISTRATOR"])
        #expect(
            share.others.compactMap { $0["permission"].text }.sorted()
                == ["READ_ONLY", "READ_WRITE", "READ_WRITE"])
    }

    // C76, C88.
    @Test func `a share that is sent back as it was given stays what it is`() async throws {
        let shares = try await TestShares()
        let share = try await shares.shared(with: ["bob", "carol"])
        let root = try await shares.gateway.record("root")
        var tag = try #require(share["recordChangeTag"].text)
        for kind in ["update", "forceUpdate", "replace", "forceReplace", "save"] {
            let answer = try await shares.edit(share, kind: kind, ["recordChangeTag": "\"\(tag)\""])
            let saved = answer.body["records"][0]
            #expect(saved["participants"] == share["participants"], "\(answer.text)")
            #expect(saved["publicPermission"] == share["publicPermission"])
            #expect(saved["shortGUID"] == share["shortGUID"])
            let next = try #require(saved["recordChangeTag"].text)
            #expect(next != tag)
            tag = next
        }
        #expect(try await shares.gateway.record("root") == root)
        #expect(try await shares.names(seenBy: "carol") == TestShares.members)
    }

    @Test func `a list of participants is the whole list, and no list leaves it`() async throws {
        let shares = try await TestShares()
        let share = try await shares.shared(with: ["bob", "carol"])
        let name = try #require(share["recordName"].text)
        let tag = try #require(share["recordChangeTag"].text)
        let titled = try await shares.gateway.modify(
            #"{"operationType":"update","record":{"recordName":"\#(name)","#
                + #""recordChangeTag":"\#(tag)","fields":{"cloudkit.title":{"value":"T"}}}}"#)
        let first = titled.body["records"][0]
        #expect(first["fields"]["cloudkit.title"]["value"].text == "T", "\(titled.text)")
        #expect(first.others.count == 2)
        let carol = shares.container.userRecordName(for: "carol")
        let kept = first.others.filter {
            $0["userIdentity"]["userRecordName"].text != carol
        }.map(\.json)
        let invited = TestShares.participant("dave", "READ_ONLY")
        let list = (kept + [invited]).joined(separator: ",")
        let edited = try await shares.edit(first, ["participants": "[\(list)]"])
        let second = edited.body["records"][0]
        #expect(second.others.count == 2, "\(edited.text)")
        #expect(try await shares.zones(of: "carol") == [])
        #expect(try await shares.names(seenBy: "bob") == TestShares.members)
        let link = try #require(share["shortGUID"].text)
        #expect(try await shares.accept(link, as: "carol").error == 10)
        #expect(try await shares.accept(link, as: "dave").error == nil)
        let third = try await shares.edit(
            try await shares.gateway.record(name), ["participants": "[]"])
        #expect(third.body["records"][0].others == [], "\(third.text)")
        #expect(third.body["records"][0]["owner"]["role"].text == "OWNER")
        #expect(try await shares.zones(of: "bob") == [])
    }

    @Test func `a participant that a request calls removed is out`() async throws {
        let shares = try await TestShares()
        let share = try await shares.shared()
        let removed = share.onlyParticipant.json.replacing("ACCEPTED", with: "REMOVED")
        let edited = try await shares.edit(share, ["participants": "[\(removed)]"])
        #expect(edited.body["records"][0].others == [], "\(edited.text)")
        #expect(try await shares.zones(of: "bob") == [])
    }

    @Test func `a share is always compared by its tag`() async throws {
        let shares = try await TestShares()
        let share = try await shares.share("root")
        let stale = try #require(share["recordChangeTag"].text)
        _ = try await shares.edit(share, ["fields": #"{"cloudkit.title":{"value":"1"}}"#])
        for kind in ["update", "forceUpdate", "replace", "forceReplace", "save"] {
            let answer = try await shares.edit(
                share, kind: kind,
                [
                    "recordChangeTag": "\"\(stale)\"",
                    "fields": #"{"cloudkit.title":{"value":"2"}}"#,
                ])
            let item = answer.body["records"][0]
            #expect(item["serverErrorCode"].text == "CONFLICT", "\(kind): \(answer.text)")
            #expect(item["serverRecord"]["fields"]["cloudkit.title"]["value"].text == "1")
            #expect(item["serverRecord"]["shortGUID"] == share["shortGUID"])
        }
        guard case .object(let object) = share.value else { throw JSONObject.NoObject() }
        for kind in ["update", "forceUpdate", "replace", "forceReplace"] {
            let members = object.members.filter { $0.name != "recordChangeTag" }
                .map { #""\#($0.name)":\#(Found($0.value).json)"# }.joined(separator: ",")
            let answer = try await shares.gateway.modify(
                #"{"operationType":"\#(kind)","record":{\#(members)}}"#)
            #expect(
                answer.reason == "body.operations[0].record.recordChangeTag is missing", "\(kind)")
        }
    }

    // C75.
    @Test(arguments: ["create", "forceUpdate", "forceReplace", "save"])
    func `a share is made in one request with a save of its root`(kind: String) async throws {
        let shares = try await TestShares()
        let root = TestShares.new("other", under: nil).replacing("create", with: kind)
        for items in [
            [root, TestShares.share("other")],
            [
                TestShares.share("second"),
                TestShares.new("second").replacing("create", with: kind),
            ],
        ] {
            let answer = try await shares.gateway.modify(
                items.joined(separator: ","), #","atomic":true"#)
            let records = (0..<2).map { answer.body["records"][$0] }
            let saved = try #require(records.first { $0["recordType"].text == "Note" })
            let share = try #require(
                records.first { $0["recordType"].text == "cloudkit.share" }, "\(answer.text)")
            #expect(saved["share"]["recordName"] == share["recordName"])
            #expect(share["shortGUID"].text != nil)
        }
    }

    @Test func `the tag of a root that a new share names must be its tag`() async throws {
        let shares = try await TestShares()
        let stale = try #require(
            try await shares.gateway.record("root")["recordChangeTag"].text)
        _ = try await shares.gateway.modify(TestShares.set("root", 2))
        let root = try await shares.gateway.record("root")
        func share(_ name: String, _ tag: String, _ kind: String = "create") -> String {
            #"{"operationType":"\#(kind)","record":{"recordType":"cloudkit.share","#
                + #""recordName":"Share-1","#
                + #""forRecord":{"recordName":"\#(name)","recordChangeTag":"\#(tag)"}}}"#
        }
        for more in ["", #","atomic":true"#] {
            let refused = try await shares.gateway.modify(share("root", stale), more)
            #expect(refused.body["records"].count == 1)
            let item = refused.body["records"][0]
            #expect(item["serverErrorCode"].text == "CONFLICT", "\(refused.text)")
            #expect(item["recordName"].text == "Share-1")
            #expect(item["serverRecord"]["recordName"].text == "root")
            let missing = try await shares.gateway.modify(share("none", stale), more)
            #expect(missing.body["records"][0].error == 11, "\(missing.text)")
            #expect(try await shares.gateway.record("Share-1").error == 11)
            #expect(try await shares.gateway.record("root") == root)
        }
        let tag = try #require(root["recordChangeTag"].text)
        let made = try await shares.gateway.modify(share("root", tag, "save"))
        #expect(made.body["records"].count == 1)
        #expect(made.body["records"][0]["shortGUID"].text != nil, "\(made.text)")
        let shared = try await shares.gateway.record("root")
        #expect(shared["share"]["recordName"].text == "Share-1")
        #expect(shared["fields"] == root["fields"])
    }

    @Test func `a request to make a share can be repeated`() async throws {
        let shares = try await TestShares()
        let tag = try #require(
            try await shares.gateway.record("root")["recordChangeTag"].text)
        let item =
            #"{"operationType":"create","record":{"recordType":"cloudkit.share","recordName":"S","#
            + #""forRecord":{"recordName":"root","recordChangeTag":"\#(tag)"}}}"#
        let first = try await shares.gateway.modify(item, #","operationID":"o""#)
        #expect(first.body["records"][0]["shortGUID"].text != nil, "\(first.text)")
        let again = try await shares.gateway.modify(item, #","operationID":"o""#)
        #expect(again.body["records"].count == 1)
        #expect(again.body["records"][0]["recordName"].text == "S", "\(again.text)")
        let unnamed = try await shares.gateway.modify(
            TestShares.share("a"), #","operationID":"p""#)
        #expect(unnamed.reason == "body.operations[0].record.recordName is missing")
    }

    @Test func `what only shares have is without effect on any other record`() async throws {
        let shares = try await TestShares()
        let made = try await shares.gateway.modify(
            TestShares.new(
                "plain", under: nil,
                #","publicPermission":"READ_WRITE","participants":[],"share":{"recordName":"s"},"#
                    + #""forRecord":{"recordName":"root"},"createShortGUID":true"#))
        let record = made.body["records"][0]
        #expect(record["recordName"].text == "plain", "\(made.text)")
        for key in ["publicPermission", "participants", "share", "shortGUID", "owner"] {
            #expect(record[key].value == nil, "\(key)")
        }
    }

    @Test(arguments: [
        (#","publicPermission":"none""#, "publicPermission "),
        (#","publicPermission":1"#, "publicPermission "),
        (#","participants":{}"#, "participants "),
        (#","participants":[{}]"#, "participants[0].userIdentity "),
        (#","participants":[{"userIdentity":{}}]"#, "participants[0].userIdentity "),
        (
            #","participants":[{"userIdentity":{"lookupInfo":{}}}]"#,
            "participants[0].userIdentity.lookupInfo "
        ),
        (
            #","participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"a","#
                + #""phoneNumber":"1"}}}]"#,
            "participants[0].userIdentity.lookupInfo "
        ),
        (
            #","participants":[{"userIdentity":{"userRecordName":"bob"},"role":"GUEST"}]"#,
            "participants[0].role "
        ),
        (
            #","participants":[{"userIdentity":{"userRecordName":"bob"},"role":"OWNER"}]"#,
            "participants[0].role "
        ),
        (
            #","participants":[{"userIdentity":{"userRecordName":"bob"},"role":"USER","#
                + #""type":"ADMINISTRATOR"}]"#,
            "participants[0].type "
        ),
        (
            #","participants":[{"userIdentity":{"userRecordName":"bob"},"permission":"WRITE"}]"#,
            "participants[0].permission "
        ),
        (
            #","participants":[{"userIdentity":{"userRecordName":"bob"},"#
                + #""acceptanceStatus":"PENDING"}]"#,
            "participants[0].acceptanceStatus "
        ),
        (
            #","participants":[{"userIdentity":{"userRecordName":"bob"},"name":"Bob"}]"#,
            "participants[0].name "
        ),
    ])
    func `a wrong word in a share is refused by its key`(more: String, place: String) async throws {
        let shares = try await TestShares()
        let answer = try await shares.gateway.modify(TestShares.share("root", more))
        #expect(answer.status == 400 && answer.code == "BAD_REQUEST")
        #expect(answer.reason.hasPrefix("body.operations[0].record.\(place)"), "\(answer.text)")
        #expect(try await shares.gateway.record("root")["share"].value == nil)
    }

    @Test(arguments: [
        (#""recordName":"s""#, "forRecord is missing"), ("", "forRecord is missing"),
        (#""forRecord":{}"#, "forRecord.recordName is missing"),
        (#""forRecord":{"recordName":"root","zone":"z"}"#, "forRecord.zone is no key here"),
        (
            #""recordName":"cloudkit.zoneshare","forRecord":{"recordName":"root"}"#,
            "forRecord is for the share of a record"
        ),
    ])
    func `a new share is one of a record or of a whole zone`(
        keys: String, reason: String
    ) async throws {
        let shares = try await TestShares()
        let more = keys.isEmpty ? "" : "," + keys
        let answer = try await shares.gateway.modify(
            #"{"operationType":"create","record":{"recordType":"cloudkit.share"\#(more)}}"#)
        #expect(answer.status == 400)
        #expect(answer.reason == "body.operations[0].record.\(reason)")
    }
}
