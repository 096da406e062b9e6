import Stratus
import StratusGateway
import Testing

/// Sharing from the first invitation to its end, as two clients see it in JSON.
struct SharingStoryTests {
    // C75, C82, C83, C84, C89, C91.
    @Test func `an invited user joins, reads, writes below what is shared, and leaves`()
        async throws
    {
        let shares = try await TestShares()
        let owner = shares.container.userRecordName(for: "alice")
        let bob = shares.container.userRecordName(for: "bob")
        let share = try await shares.share(
            "root",
            #","fields":{"cloudkit.title":{"value":"Our notes"}}"#
                + TestShares.participants(TestShares.participant("bob")))
        let link = try #require(share["shortGUID"].text)
        let name = try #require(share["recordName"].text)
        #expect(name.hasPrefix("Share-") && share["recordType"].text == "cloudkit.share")
        #expect(share["fields"]["cloudkit.title"]["value"].text == "Our notes")
        let root = try await shares.gateway.record("root")
        #expect(root["share"]["recordName"].text == name)
        #expect(root["share"]["zoneID"]["zoneName"].text == "notes")

        #expect(try await shares.zones(of: "bob") == [])
        let invited = try await shares.resolve(link, as: "bob")
        #expect(invited["participantStatus"].text == "INVITED")
        #expect(invited["rootRecordName"].text == "root" && invited["rootRecord"].value == nil)
        let joined = try await shares.accept(link, as: "bob")
        #expect(joined["participantStatus"].text == "ACCEPTED")

        let zones = try await shares.zones(of: "bob")
        #expect(zones.map { $0["zoneName"].text } == ["notes"])
        #expect(zones.map { $0["ownerRecordName"].text } == [owner])
        let feed = try await shares.call("changes/database", as: "bob")
        #expect(feed.body["zones"][0]["zoneID"] == zones[0] && feed.body["zones"].count == 1)
        #expect(try await shares.names(seenBy: "bob") == TestShares.members)
        #expect(try await shares.record("root", as: "bob")["fields"]["n"]["value"].number == 1)
        #expect(try await shares.record("out", as: "bob").error == 11)

        let made = try await shares.modify(TestShares.new("new", under: "a"), as: "bob")
        #expect(made["parent"]["recordName"].text == "a", "\(made.json)")
        #expect(made["zoneID"] == zones[0])
        let own = try await shares.gateway.record("new")
        #expect(own["created"]["userRecordName"].text == bob)
        #expect(own["recordChangeTag"] == made["recordChangeTag"])
        let changed = try await shares.modify(TestShares.set("root", 2), as: "bob")
        #expect(changed["fields"]["n"]["value"].number == 2)
        // C77.
        let alone = try await shares.modify(TestShares.new("alone"), as: "bob")
        #expect(alone["serverErrorCode"].text == "ACCESS_DENIED" && alone.error == 10)
        let top = try await shares.modify(TestShares.delete("root"), as: "bob")
        #expect(top["serverErrorCode"].text == "ACCESS_DENIED")

        let left = try await shares.modify(TestShares.delete(name), as: "bob")
        #expect(left["deleted"].isTrue, "\(left.json)")
        #expect(try await shares.zones(of: "bob") == [])
        let token = try #require(feed.body["syncToken"].text)
        let gone = try await shares.call(
            "changes/database", #"{"syncToken":"\#(token)"}"#, as: "bob")
        #expect(gone.body["zones"][0]["zoneID"] == zones[0])
        #expect(gone.body["zones"][0]["deleted"].isTrue)
        for item in [TestShares.delete("new"), TestShares.set("new", 3)] {
            let late = try await shares.modify(item, as: "bob")
            #expect(late["serverErrorCode"].text == "ZONE_NOT_FOUND", "\(late.json)")
        }
        // What was shared stays with its owner, and so does the share.
        #expect(try await shares.gateway.record("new")["fields"]["n"]["value"].number == 1)
        #expect(try await shares.gateway.record(name)["shortGUID"].text == link)
    }

    @Test func `a whole zone is shared under a fixed name`() async throws {
        let shares = try await TestShares()
        let share = try await shares.share(
            nil, TestShares.participants(TestShares.participant("bob")))
        #expect(share["recordName"].text == "cloudkit.zoneshare")
        let link = try #require(share["shortGUID"].text)
        let joined = try await shares.accept(link, as: "bob", #","shouldFetchRootRecord":true"#)
        #expect(joined["rootRecordName"].value == nil && joined["rootRecord"].value == nil)
        #expect(
            try await shares.names(seenBy: "bob") == (TestShares.members + ["out"]).sorted())
        #expect(try await shares.modify(TestShares.new("alone"), as: "bob").error == nil)
        #expect(try await shares.modify(TestShares.delete("out"), as: "bob")["deleted"].isTrue)
        // C93.
        let again = try await shares.gateway.modify(TestShares.share(nil)).body["records"][0]
        #expect(again["serverErrorCode"].text == "EXISTS" && again.error == 14)
        #expect(again["serverRecord"]["shortGUID"].text == link)
        let ended = try await shares.gateway.modify(TestShares.delete("cloudkit.zoneshare"))
        #expect(ended.body["records"][0]["deleted"].isTrue)
        #expect(try await shares.zones(of: "bob") == [])
    }

    @Test func `who has the link of a public share joins it`() async throws {
        let shares = try await TestShares()
        let share = try await shares.share("root", #","publicPermission":"READ_ONLY""#)
        #expect(share["publicPermission"].text == "READ_ONLY")
        let link = try #require(share["shortGUID"].text)
        let before = try await shares.resolve(link, as: "carol")
        #expect(before["participantType"].text == "PUBLIC_USER")
        #expect(before["participantStatus"].text == "INVITED")
        #expect(before["participantPermission"].text == "READ_ONLY")
        #expect(try await shares.accept(link, as: "carol").error == nil)
        #expect(try await shares.names(seenBy: "carol") == TestShares.members)
        let refused = try await shares.modify(TestShares.set("a", 2), as: "carol")
        #expect(refused["serverErrorCode"].text == "ACCESS_DENIED")
        let stored = try await shares.gateway.record(try #require(share["recordName"].text))
        #expect(stored.onlyParticipant["role"].text == "PUBLIC_USER")
        let open = try await shares.edit(stored, ["publicPermission": #""READ_WRITE""#])
        #expect(open.body["records"][0]["publicPermission"].text == "READ_WRITE", "\(open.text)")
        #expect(try await shares.modify(TestShares.set("a", 2), as: "carol").error == nil)
        let closed = try await shares.edit(
            open.body["records"][0], ["publicPermission": #""NONE""#])
        #expect(closed.body["records"][0]["publicPermission"].text == "NONE", "\(closed.text)")
        #expect(closed.body["records"][0].others == [])
        #expect(try await shares.zones(of: "carol") == [])
        #expect(try await shares.accept(link, as: "carol").error == 10)
    }

    // C85, C86, C87.
    @Test func `a share ends with its root, and a root that is shared again has the same link`()
        async throws
    {
        let shares = try await TestShares()
        let first = try await shares.shared()
        let name = try #require(first["recordName"].text)
        let link = try #require(first["shortGUID"].text)
        let token = try #require(
            try await shares.call("changes/database", as: "bob").body["syncToken"].text)
        _ = try await shares.gateway.modify(TestShares.delete(name))
        #expect(try await shares.gateway.record("root")["share"].value == nil)
        #expect(try await shares.gateway.record("a1").error == nil)
        let gone = try await shares.call(
            "changes/database", #"{"syncToken":"\#(token)"}"#, as: "bob")
        #expect(gone.body["zones"][0]["deleted"].isTrue && gone.body["zones"].count == 1)
        #expect(try await shares.resolve(link, as: "bob").error == 11)
        let second = try await shares.share("root")
        #expect(second["shortGUID"].text == link && second["recordName"].text != name)
        #expect(try await shares.resolve(link, as: "bob").error == 10)
        for child in ["a1", "a", "b", "root"] {
            let answer = try await shares.gateway.modify(TestShares.delete(child))
            #expect(answer.body["records"][0]["deleted"].isTrue, "\(answer.text)")
        }
        #expect(
            try await shares.gateway.record(try #require(second["recordName"].text)).error == 11)
    }

    // C80, C81.
    @Test func `a participant whose permission is lowered changes nothing any more`() async throws {
        let shares = try await TestShares()
        let share = try await shares.shared()
        let list = "[" + TestShares.participant("bob", "READ_ONLY") + "]"
        let edited = try await shares.edit(share, ["participants": list])
        let participant = edited.body["records"][0].onlyParticipant
        #expect(participant["permission"].text == "READ_ONLY", "\(edited.text)")
        #expect(participant["acceptanceStatus"].text == "ACCEPTED")
        #expect(participant["participantId"] == share.onlyParticipant["participantId"])
        for item in [
            TestShares.new("new", under: "a"), TestShares.set("a", 2), TestShares.delete("b"),
        ] {
            #expect(try await shares.modify(item, as: "bob").error == 10, "\(item)")
        }
        #expect(try await shares.names(seenBy: "bob") == TestShares.members)
    }
}
