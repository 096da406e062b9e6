import Stratus
import StratusFiles
import Support

// Stores with shares, profiles and roles. Both have a checkpoint that readers can use, so that a
// verification compares its rows with the journal.
extension SampleMaker {
    /// Shared hierarchies and zones; members and participants that enter, change and leave; behind
    /// the checkpoint some more.
    static func shares() async throws -> StoreFiles {
        let story = try SharingStory(seed: 90)
        try await story.begin()
        try await story.shareTrees()
        try await story.changeMembers()
        try await story.changeParticipants()
        try await story.endShares()
        try await story.shareZones()
        try await story.container.checkpoint()
        try await story.goOn()
        try await story.container.close()
        return story.maker.files
    }

    /// The same with compacted segments: a mark, a horizon that forgets departures and drops a
    /// share that had ended, and later departures that are remembered.
    static func compactedShares() async throws -> StoreFiles {
        let story = try SharingStory(seed: 91)
        let (maker, container, alice) = (story.maker, story.container, story.alice)
        try await story.declareRoles()
        try await maker.fill(alice, saves: 14, length: 600)
        try await story.shareNotes()
        try await maker.replaceAll(alice, text: "first ")
        try await container.mark("shared")
        try await story.leaveNotes()
        try await container.setDeletionPolicy(.none)
        for text in ["second ", "third ", "fourth "] {
            try await maker.replaceAll(alice, text: text)
        }
        try await container.maintenance.compact()
        try await story.shareNotesAgain()
        try await container.setDeletionPolicy(.age(seconds: 3600))
        for text in ["fifth ", "sixth "] { try await maker.replaceAll(alice, text: text) }
        try await container.maintenance.compact()
        try await container.checkpoint()
        try await story.update("note-3", "behind the checkpoint")
        try await container.close()
        return maker.files
    }

    /// A process ended while a share grew: all that lies below its root was taken in.
    static func growingShare() async throws -> StoreFiles {
        let story = try SharingStory(seed: 96)
        let (maker, container) = (story.maker, story.container)
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: zone))
        // Each eighth lies below the one before it.
        let records = (1...1025).map { number in
            story.note("r\(number)", of: number % 8 == 0 ? "r\(number - 1)" : "root")
        }
        try await story.save([story.note("root")] + records)
        maker.disk.keepsCrashPoints = true
        try await story.share("root", as: "Share-1")
        maker.disk.keepsCrashPoints = false
        for point in maker.disk.crashPoints.reversed() {
            let disk = SimulatedDisk(point.snapshot)
            let then = try Container(
                reading: LocalStorage(at: storePath, .reading, on: disk.process()))
            let root = try await then.privateDatabase(for: "alice").record(for: story.id("root"))
            if root.share == nil { return disk.storeFiles }
        }
        return [:]
    }
}

// What happens in the first store.
extension SharingStory {
    func declareRoles() async throws {
        try await container.importSchema(
            "DEFINE SCHEMA CREATE ROLE Curator; CREATE ROLE Editor;")
    }

    func begin() async throws {
        try await declareRoles()
        for id in [Self.zone, Self.whole, Self.gone] {
            try await alice.save(RecordZone(zoneID: id))
        }
        try await save([
            note("root"), note("a", of: "root"), note("a1", of: "a"), note("a2", of: "a1"),
            note("b", of: "root"), note("out"), note("out1", of: "out"), note("lone"),
        ])
        try await introduceUsers()
    }

    /// Users give up addresses, which others take; an account is restricted for a while.
    private func introduceUsers() async throws {
        let profiles: [(String, UserProfile)] = [
            (
                "alice",
                UserProfile(
                    name: PersonName(givenName: "Alice", familyName: "Adams"),
                    emailAddresses: ["Alice@Example.com"], isDiscoverable: true)
            ),
            (
                "bob",
                UserProfile(
                    emailAddresses: ["bob@example.com", "Straße@example.com"],
                    phoneNumbers: ["+1 555 0100"])
            ),
            ("dave", UserProfile(accountStatus: .restricted)),
            (
                "bob",
                UserProfile(
                    name: PersonName(givenName: "Bob"), emailAddresses: ["Bob@example.org"])
            ),
            ("carol", UserProfile(emailAddresses: ["BOB@example.com"])),
            ("bob", UserProfile(emailAddresses: ["STRASSE@example.com"])),
            ("dave", UserProfile(isDiscoverable: true)),
        ]
        for (name, profile) in profiles {
            try await container.setUserProfile(profile, for: name)
        }
        let roles: [(String, Set<String>)] = [
            ("bob", ["Curator"]), ("bob", ["Curator", "Editor"]), ("carol", ["Editor"]),
            ("carol", []),
        ]
        for (name, names) in roles { try await container.setRoles(names, of: name) }
    }

    /// Existing trees are shared: one with invited users, one with all who have the link.
    func shareTrees() async throws {
        let guests = [
            try guest(1, user("bob"), role: .administrator),
            try guest(2, UserIdentity.LookupInfo(emailAddress: "Eve@example.com")),
            try guest(3, UserIdentity.LookupInfo(phoneNumber: "+1 555 0199")),
            try guest(4, user("dave"), .readOnly),
        ]
        try await share("root", as: "Share-1", with: guests)
        try await accept("Share-1", as: "bob", "dave")
        // The address of this invitation had no user before.
        try await container.setUserProfile(
            UserProfile(emailAddresses: ["eve@example.com"]), for: "eve")
        try await accept("Share-1", as: "eve")
        try await share("out", as: "Share-2", publicPermission: .readWrite)
        try await accept("Share-2", as: "carol", "bob")
    }

    /// Changes members that entered with a members entry, and moves trees into a share, from one
    /// share to the other, and out.
    func changeMembers() async throws {
        let bob = container.sharedDatabase(for: "bob")
        try await update("a1", "changed by alice")
        try await update("b", "changed by bob", in: shared(), by: bob)
        try await update("root", "changed by bob", in: shared(), by: bob)
        for name in ["b1", "b2"] { try await bob.save(note(name, of: "b", in: shared())) }
        try await bob.deleteRecord(withID: id("b1", in: shared()))
        try await save([
            note("x"), note("x1", of: "x"), note("x2", of: "x"), note("x3", of: "x2"),
            note("x4", of: "x"),
        ])
        try await move("x", under: "b")
        try await update("x1", "changed inside")
        try await move("a1", under: "out1")
        try await move("x", under: nil)
        // A members entry took these out; x2 and x4 have no entry of their own since.
        try await update("x1", "changed outside")
        try await delete("x3")
        // Deleted as a member, and created again outside of the share.
        try await delete("b2")
        try await save([note("b2")])
    }

    func changeParticipants() async throws {
        try await edit("Share-1") { share in
            try share.addParticipant(try guest(4, user("dave"), .readWrite))
        }
        try await leave("Share-2", as: "bob")
        try await accept("Share-2", as: "bob")
        // The first has accepted, the second has not.
        try await remove(2, from: "Share-1")
        try await remove(3, from: "Share-1")
        try await edit("Share-2") { $0.publicPermission = .readOnly }
        try await leave("Share-1", as: "dave")
        try await edit("Share-1") { share in
            try share.addParticipant(try guest(4, user("dave"), .readOnly))
        }
        try await accept("Share-1", as: "dave")
    }

    /// Ends a share and shares its root again; another share ends with its root.
    func endShares() async throws {
        try await delete("Share-1")
        // This member leaves the share that has ended; b goes from that to the next one.
        try await update("a", "changed after the end")
        try await share("root", as: "Share-3", with: [try guest(1, user("bob"))])
        try await accept("Share-3", as: "bob")
        try await share("lone", as: "Share-4", with: [try guest(5, user("dave"))])
        try await accept("Share-4", as: "dave")
        try await delete("lone")
        // `below` stays a member of a share that has ended.
        try await save([note("top"), note("below", of: "top")])
        try await share("top", as: "Share-5")
        try await delete("Share-5")
    }

    /// All of one zone, and a hierarchy of one that is deleted.
    func shareZones() async throws {
        let whole = Self.whole
        let name = Share.zoneWideRecordName
        let invited = try guest(6, user("bob"))
        try await save([note("p", in: whole), note("p1", of: "p", in: whole)])
        var share = Share(recordZoneID: whole)
        try share.addParticipant(invited)
        try await save([share.record])
        try await accept(name, in: whole, as: "bob")
        let bob = container.sharedDatabase(for: "bob")
        try await bob.save(note("of bob", in: shared(whole)))
        try await update("p1", "changed by bob", in: shared(whole), by: bob)
        try await remove(6, from: name, in: whole)
        try await edit(name, in: whole) { $0.title = "all of it" }
        try await edit(name, in: whole) { try $0.addParticipant(invited) }
        try await accept(name, in: whole, as: "bob")
        try await save([note("root", in: Self.gone), note("a", of: "root", in: Self.gone)])
        try await self.share(
            "root", as: "Share-6", in: Self.gone, with: [try guest(7, user("carol"))])
        try await accept("Share-6", in: Self.gone, as: "carol")
        try await alice.deleteRecordZone(withID: Self.gone)
    }

    /// Behind the checkpoint.
    func goOn() async throws {
        try await update("a2", "went along, and changed since")
        try await update("x2", "taken out by a members entry")
        try await move("a1", under: "root")
        try await leave("Share-2", as: "carol")
        try await container.setUserProfile(
            UserProfile(emailAddresses: ["bob@example.net"]), for: "bob")
        try await container.setRoles([], of: "bob")
    }
}

// What happens in the second store, to the records of ``SampleMaker/fill(_:saves:from:length:)``.
extension SharingStory {
    func shareNotes() async throws {
        let parents = [(1, 0), (3, 1), (4, 1), (9, 4), (11, 4), (6, 5), (8, 6), (10, 5)]
        for (child, parent) in parents {
            try await move("note-\(child)", under: "note-\(parent)")
        }
        for (name, address) in [("bob", "bob@example.com"), ("carol", "carol@example.com")] {
            try await container.setUserProfile(
                UserProfile(emailAddresses: [address]), for: name)
            try await container.setRoles(["Curator"], of: name)
        }
        try await share(
            "note-0", as: "Share-A",
            with: [
                try guest(1, user("bob")), try guest(2, user("carol"), .readOnly),
                try guest(3, UserIdentity.LookupInfo(emailAddress: "eve@example.com")),
            ])
        try await accept("Share-A", as: "bob", "carol")
        try await remove(3, from: "Share-A")
        try await share("note-5", as: "Share-B", publicPermission: .readWrite)
        try await accept("Share-B", as: "dave")
        try await delete("note-12")
    }

    /// Records and participants leave. A share ends, and `note-10` stays a member of it.
    func leaveNotes() async throws {
        try await move("note-4", under: nil)
        try await move("note-6", under: "note-3")
        try await leave("Share-A", as: "bob")
        try await edit("Share-A") { share in
            try share.addParticipant(try guest(1, user("bob")))
        }
        try await accept("Share-A", as: "bob")
        try await remove(2, from: "Share-A")
        try await delete("Share-B")
        try await container.setUserProfile(
            UserProfile(emailAddresses: ["bob@example.org"]), for: "bob")
        try await container.setUserProfile(
            UserProfile(emailAddresses: ["BOB@example.com"]), for: "carol")
        try await container.setRoles(["Editor"], of: "bob")
        // The mark needs the record, so the tombstone must be remembered.
        try await delete("note-13")
    }

    func shareNotesAgain() async throws {
        // The horizon has dropped the partition of its share.
        try await update("note-10", "left a share that is forgotten")
        try await update("note-9", "taken out by a members entry")
        try await share("note-5", as: "Share-C", with: [try guest(1, user("bob"))])
        try await accept("Share-C", as: "bob")
        try await move("note-8", under: nil)
        try await update("note-10", "in a share again")
    }
}
