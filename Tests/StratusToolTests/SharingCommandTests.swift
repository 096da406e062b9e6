import Stratus
import StratusTool
import Testing

/// The commands about shares and users, on a store in which Alice shares the record `n1`, and with
/// it `i1`, with Bob, who has accepted and may read, and with Carol, who has not accepted.
@Suite struct SharingCommandTests {
    private let place: Place
    private let alice: String
    private let bob: String

    init() async throws {
        place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        (alice, bob) = (
            container.userRecordName(for: "alice"), container.userRecordName(for: "bob")
        )
        try await Self.fill(container)
        try await container.close()
    }

    private static func fill(_ container: Container) async throws {
        let database = container.privateDatabase(for: "alice")
        let notes = try await database.save(RecordZone(zoneName: "notes")).zoneID
        let other = try await database.save(RecordZone(zoneName: "other")).zoneID
        try await container.setUserProfile(
            UserProfile(
                name: PersonName(givenName: "Bob", familyName: "Baker"),
                emailAddresses: ["bob@example.com"], phoneNumbers: ["+15550100"],
                isDiscoverable: true), for: "bob")
        try await container.setUserProfile(UserProfile(accountStatus: .restricted), for: "carol")
        let root = Record(
            recordType: "Note", recordID: Record.ID(recordName: "n1", zoneID: notes))
        var item = Record(
            recordType: "Item", recordID: Record.ID(recordName: "i1", zoneID: notes))
        item.parent = Reference(recordID: root.recordID)
        var share = Share(
            rootRecord: root, shareID: Record.ID(recordName: "Share-1", zoneID: notes))
        share.title = "Notes"
        for user in ["bob", "carol"] {
            let id = container.userRecordID(for: user)
            try share.addParticipant(
                Share.Participant(UserIdentity.LookupInfo(userRecordID: id)))
        }
        let result = try await database.modifyRecords(saving: [root, item, share.record])
        if let failure = result.partialFailure { throw failure }
        try await database.save(
            Record(recordType: "Note", recordID: Record.ID(recordName: "x", zoneID: other)))
        let saved = Share(try await database.record(for: share.recordID))
        let link = try #require(saved?.shortGUID)
        try await container.acceptShare(link, as: "bob")
    }

    private func results(_ line: String, json: Bool = false) async throws -> String {
        let run = try await place.run(line, json: json)
        #expect(run.code == .ok, "\(line): \(run.messages)")
        return run.results
    }

    /// What the library decides, in whose words the commands tell it.
    private func decision(
        _ user: String?, _ action: AccessAction, _ name: String
    ) async throws -> AccessDecision {
        let container = try await Container.openReadOnly(at: place.path + "/store")
        let id = Record.ID(recordName: name, zoneID: RecordZone.ID(zoneName: "notes"))
        return try await container.access(
            of: user, to: action, on: id, in: .private(owner: "alice"))
    }

    @Test func `shares are listed with their owners, roots and participants`() async throws {
        let line = "alice  notes  n1  2 participants  none  1 accepted, 1 invited\n"
        #expect(try await results("shares @/store") == line)
        #expect(try await results("shares @/store --user alice --zone notes") == line)
        #expect(try await results("shares @/store --user \(alice)").hasPrefix(alice + "  notes"))
        #expect(try await results("shares @/store --zone other") == "")
        #expect(try await results("shares @/store --user bob") == "")
        let json = try await results("shares @/store", json: true)
        let start =
            #"{"type":"share","owner":"\#(alice)","ownerName":"alice","zone":"notes","#
            + #""recordName":"Share-1","root":"n1","zoneWide":false,"title":"Notes","#
            + #""publicPermission":"NONE","shortGUID":""#
        #expect(json.hasPrefix(start), "\(json)")
        #expect(
            json.contains(
                #""lookupInfo":{"userRecordName":"\#(bob)"}},"role":"USER","type":"USER","#
                    + #""permission":"READ_ONLY","acceptanceStatus":"ACCEPTED"}"#), "\(json)")
        #expect(json.contains(#""acceptanceStatus":"INVITED"}"#))
        let none = try await place.run("shares @/store --user nobody")
        #expect(none.code == .notFound && none.messages.contains("no user nobody"))
    }

    @Test func `a share of a whole zone has no root`() async throws {
        let container = try await Container.open(at: place.path + "/store")
        let other = RecordZone.ID(zoneName: "other")
        var share = Share(recordZoneID: other)
        share.publicPermission = .readWrite
        try await container.privateDatabase(for: "alice").save(share.record)
        try await container.close()
        #expect(
            try await results("shares @/store --zone other")
                == "alice  other  *  0 participants  readWrite  0 accepted, 0 invited\n")
        let tree = try await results("tree @/store --as alice --zone other")
        #expect(tree == "other  alice  shared: owner, 0 participants\n  x  Note\n")
    }

    @Test func `the users of a store are listed with what their host has said`() async throws {
        let lines = try await results("users @/store").split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("1  \(alice) (alice)  3 zones  "))
        #expect(
            lines[1]
                == "2  \(bob) (bob)  1 zone  0 records  Bob Baker  bob@example.com, +15550100  "
                + "discoverable")
        #expect(lines[2].hasSuffix(" (carol)  1 zone  0 records  account restricted"))
        let json = try await results("users @/store", json: true)
        #expect(
            json.contains(
                #""nameComponents":{"givenName":"Bob","familyName":"Baker"},"firstName":"Bob","#
                    + #""lastName":"Baker","lookupInfos":[{"emailAddress":"bob@example.com"},"#
                    + #"{"phoneNumber":"+15550100"}],"isDiscoverable":true,"#
                    + #""accountStatus":"available"}"#), "\(json)")
    }

    @Test func `a tree shows what its user sees`() async throws {
        let own = """
            _defaultZone  alice
            notes  alice
              n1  Note  shared: owner, 2 participants
                i1  Item
            other  alice
              x  Note

            """
        #expect(try await results("tree @/store --as alice") == own)
        let foreign = """
            _defaultZone  bob
            \(alice)/notes  bob
              n1  Note  shared: readOnly, 2 participants
                i1  Item

            """
        #expect(try await results("tree @/store --as bob") == foreign)
        let shared = foreign.split(separator: "\n").dropFirst().map { $0 + "\n" }.joined()
        for zone in ["", " --zone notes", " --zone alice/notes", " --zone \(alice)/notes"] {
            let tree = try await results("tree @/store --as bob --database shared" + zone)
            #expect(tree == shared, "\(zone)")
        }
        // An account that is restricted sees nothing.
        #expect(try await place.run("tree @/store --as carol").code == .permission)
        let all = try await results("tree @/store")
        #expect(
            all == "_defaultZone  public\n" + own + "_defaultZone  bob\n_defaultZone  carol\n")
        #expect(
            try await results("tree @/store --as bob --zone notes", json: true)
                == #"{"type":"zone","zoneName":"notes","ownerName":"\#(alice)","#
                + #""database":"shared","user":"\#(bob)","userName":"bob"}"# + "\n"
                + #"{"type":"record","recordName":"n1","recordType":"Note","depth":1,"#
                + #""share":"Share-1","rights":"readOnly","participants":2}"# + "\n"
                + #"{"type":"record","recordName":"i1","recordType":"Item","depth":2,"#
                + #""parent":"n1"}"# + "\n")
        for line in ["tree @/store --as nobody", "tree @/store --as bob --zone other"] {
            #expect(try await place.run(line).code == .notFound, "\(line)")
        }
    }

    @Test func `the reason of a right is shown`() async throws {
        let read = try await decision("bob", .read, "i1")
        #expect(read.isAllowed && read.share?.recordName == "Share-1")
        #expect(
            try await results("why @/store bob read i1 --zone notes --as alice")
                == "allowed  yes\nrule     \(read.rule)\nshare    Share-1\n")
        let write = try await decision("bob", .write, "i1")
        #expect(!write.isAllowed)
        let refused = try await results("why @/store bob write i1 --zone notes --as alice")
        #expect(refused.hasPrefix("allowed  no\nrule     \(write.rule)\n"))
        let json = try await results(
            "why @/store bob read i1 --zone notes --as alice", json: true)
        #expect(
            json
                == #"{"type":"access","user":"\#(bob)","action":"read","recordName":"i1","#
                + #""zone":"notes","database":"private","owner":"\#(alice)","allowed":true,"#
                + #""rule":"\#(read.rule)","share":"Share-1"}"# + "\n")
        let shared = try await results(
            "why @/store bob read i1 --zone alice/notes --database shared --as bob", json: true)
        #expect(shared == json)
        let anonymous = try await results("why @/store - read i1 --zone notes --as alice")
        #expect(anonymous.hasPrefix("allowed  no\n"))
        let unknown = try #require(throws: ToolError.self) { try parse("why s bob fly n1") }
        #expect(unknown.code == .usage)
    }

    @Test func `those who have a right are listed`() async throws {
        let own = try await decision("alice", .read, "n1").rule
        let others = try await decision("bob", .read, "n1").rule
        #expect(
            try await results("who-can @/store read n1 --zone notes --as alice")
                == "alice  \(own)\nbob  \(others)\n")
        let writing = try await decision("alice", .write, "n1").rule
        #expect(
            try await results("who-can @/store write n1 --zone notes --as alice")
                == "alice  \(writing)\n")
        let json = try await results(
            "who-can @/store read n1 --zone notes --as alice", json: true)
        #expect(json.split(separator: "\n").count == 2)
        #expect(json.contains(#""user":"\#(bob)","userName":"bob","action":"read","#), "\(json)")
        let container = try await Container.open(at: place.path + "/store")
        try await container.publicDatabase(as: "alice").save(
            Record(recordType: "Boat", recordID: Record.ID(recordName: "boat")))
        try await container.close()
        let all = try await results("who-can @/store read boat --database public")
        #expect(all.hasPrefix("-  "))
        let one = try await results("who-can @/store delete boat --database public")
        #expect(one.hasPrefix("alice  ") && one.split(separator: "\n").count == 1)
    }

    @Test func `a change token is explained`() async throws {
        let container = try await Container.open(at: place.path + "/store")
        let id = RecordZone.ID(zoneName: "notes", ownerName: alice)
        let token = try await container.sharedDatabase(for: "bob")
            .recordZoneChanges(inZoneWith: id).changeToken
        let other = try await container.privateDatabase(for: "alice")
            .recordZoneChanges(inZoneWith: RecordZone.ID(zoneName: "other")).changeToken
        let offset = try await container.info(of: token).offset
        try await container.privateDatabase(for: "alice")
            .deleteRecordZone(withID: RecordZone.ID(zoneName: "other"))
        try await container.close()
        #expect(
            try await results("token @/store \(token)") == """
                of     a zone of another user
                user   bob
                zone   \(alice)/notes
                seen   up to offset \(offset)
                fetch  at its end
                taken  yes

                """)
        let json = try await results("token @/store \(token)", json: true)
        #expect(
            json.hasPrefix(
                #"{"type":"token","feed":"sharedZone","user":"\#(bob)","userName":"bob","#)
                && json.hasSuffix(#""amidFetch":false,"taken":true}"# + "\n"), "\(json)")
        let refused = try await place.run("token @/store \(other)")
        #expect(refused.code == .tokenExpired)
        #expect(refused.results.contains("zone    other\n"), "\(refused.results)")
        #expect(refused.results.contains("taken   no\nerror   zoneNotFound\nreason  "))
        for text in ["no-token", "AQLH7Q0A"] {
            #expect(try await place.run("token @/store \(text)").code == .usage)
        }
    }

    @Test func `the rights of a user are listed`() async throws {
        let general = """
            private  *  *  read, write  owner
            public  *  *  by role  _world, _icloud, _creator

            """
        #expect(try await results("what-can @/store alice") == general)
        #expect(
            try await results("what-can @/store bob")
                == general + "shared  \(alice)/notes  n1  read  privateUser, accepted\n")
        // Her account is restricted, and she has not accepted.
        #expect(
            try await results("what-can @/store carol") == """
                private  *  *  nothing  owner
                public  *  *  read by role  _world
                shared  \(alice)/notes  n1  nothing  privateUser, pending

                """)
        let json = try await results("what-can @/store bob", json: true).split(separator: "\n")
        #expect(
            json.last.map { String($0) }
                == #"{"type":"grant","database":"shared","zone":"\#(alice)/notes","root":"n1","#
                + #""rights":"read","as":["privateUser","accepted"],"share":"Share-1"}"#)
        #expect(try await place.run("what-can @/store nobody").code == .notFound)
    }

    @Test func `commands that read show the shared database`() async throws {
        let options = "--database shared --as bob"
        #expect(
            try await results("zones @/store \(options)") == "-  \(alice)/notes  bob\n")
        let changes = try await results("changes @/store \(options)")
        #expect(changes.hasPrefix("~ \(alice)/notes\ntoken "))
        for owner in ["alice", alice] {
            let zone = "--zone \(owner)/notes \(options)"
            let records = try await results("records @/store --type Item \(zone)")
            #expect(records.hasPrefix("i1  Item  "))
            let shown = try await results("show @/store n1 \(zone)")
            #expect(shown.contains("\(alice)/notes\n") && shown.contains("Share-1\n"))
            let page = try await results("changes @/store \(zone)")
            #expect(page.split(separator: "\n").filter { $0.hasPrefix("~ ") }.count == 3)
            let found = try await results("query @/store Note --count \(zone)")
            #expect(found == "1\n")
        }
        let json = try await results(
            "records @/store --type Note --zone alice/notes \(options)", json: true)
        #expect(
            json.contains(
                #""zoneID":{"zoneName":"notes","ownerRecordName":"\#(alice)","#), "\(json)")
        let unnamed = try await place.run("records @/store --zone notes \(options)")
        #expect(unnamed.code == .usage && unnamed.messages.contains("OWNER/ZONE"))
        let foreign = "records @/store --zone alice/other \(options)"
        #expect(try await place.run(foreign).code == .notFound)
    }

    /// Ends the share, takes back a role and adds a user, a zone and a record of a type that is there.
    private func change() async throws {
        let container = try await Container.open(at: place.path + "/store")
        let database = container.privateDatabase(for: "alice")
        try await database.deleteRecord(
            withID: Record.ID(recordName: "Share-1", zoneID: RecordZone.ID(zoneName: "notes")))
        try await container.setUserProfile(UserProfile(isDiscoverable: false), for: "bob")
        let daves = container.privateDatabase(for: "dave")
        let zone = try await daves.save(RecordZone(zoneName: "boats")).zoneID
        try await daves.save(
            Record(recordType: "Note", recordID: Record.ID(recordName: "y", zoneID: zone)))
        try await container.close()
    }

    @Test func `listings of an earlier state show what there was then`() async throws {
        let lines = [
            "users @/store", "zones @/store", "types @/store", "shares @/store",
            "shares @/store --user alice", "tree @/store", "tree @/store --as bob",
            "why @/store bob read n1 --zone notes --as alice",
            "who-can @/store read i1 --zone notes --as alice", "what-can @/store bob",
        ]
        _ = try await results("mark @/store before")
        var before: [String] = []
        for line in lines { before.append(try await results(line)) }
        try await change()
        for (line, old) in zip(lines, before) {
            #expect(try await results(line) != old, "\(line)")
            #expect(try await results(line + " --at mark:before") == old, "\(line)")
        }
    }

    @Test func `the page of a store shows what it held at an earlier state`() async throws {
        /// The lines about what the store holds, with single spaces.
        func held(_ text: String) -> [String] {
            let lines = text.split(separator: "\n").map {
                $0.split(separator: " ").joined(separator: " ")
            }
            return Array(lines.drop { !$0.hasPrefix("users ") })
        }
        _ = try await results("mark @/store before")
        let before = held(try await results("info @/store"))
        try await change()
        #expect(held(try await results("info @/store")) != before)
        let then = try await results("info @/store --at mark:before")
        #expect(held(then) == before)
        #expect(then.contains("as of    offset ") && !then.contains("checkpoint"), "\(then)")
        let json = try await results("info @/store --at mark:before", json: true)
        #expect(json.contains(#","users":3,"zones":6,"#), "\(json)")
    }

    @Test func `listings are cut, turned around and counted`() async throws {
        let container = try await Container.open(at: place.path + "/store")
        try await container.privateDatabase(for: "alice").save(
            Share(recordZoneID: RecordZone.ID(zoneName: "other")).record)
        try await container.close()
        for line in ["users @/store", "zones @/store", "types @/store", "shares @/store"] {
            let all = try await results(line)
            let lines = all.split(separator: "\n")
            func text(_ lines: some Sequence<Substring>) -> String {
                lines.map { $0 + "\n" }.joined()
            }
            #expect(lines.count > 1, "\(line)")
            #expect(try await results("\(line) --reverse") == text(lines.reversed()), "\(line)")
            #expect(try await results("\(line) -n 1") == text(lines.prefix(1)), "\(line)")
            #expect(try await results("\(line) -n 1 --reverse") == text(lines.suffix(1)), "\(line)")
            #expect(try await results("\(line) -n 99") == all, "\(line)")
            #expect(try await results("\(line) --count --header") == "\(lines.count)\n", "\(line)")
            let json = try await results("\(line) --count", json: true)
            #expect(json == #"{"type":"count","count":\#(lines.count)}"# + "\n")
            for option in ["--count -n 1", "--count --reverse", "-n 0"] {
                #expect(
                    try await place.run("\(line) \(option)").code == .usage, "\(line) \(option)")
            }
        }
    }

    @Test func `a tree is cut and counted by its records`() async throws {
        let first = "_defaultZone  alice\nnotes  alice\n  n1  Note  shared: owner, 2 participants\n"
        #expect(try await results("tree @/store --as alice -n 1") == first)
        let two = first + "    i1  Item\n"
        #expect(try await results("tree @/store --as alice -n 2") == two)
        #expect(try await results("tree @/store --count") == "3\n")
        #expect(try await results("tree @/store --as bob --zone notes --count") == "2\n")
        #expect(try await place.run("tree @/store --count -n 1").code == .usage)
    }
}
