import Stratus
import Testing

/// Who is told of a change of a zone: not the device that made it. Semantics 6.1;
/// `Formats/Notification.md`, "A listener".
@Suite(.timeLimit(.minutes(20))) struct OwnChangeTests {
    /// Alice's phone and pad, which subscribe to her zone `notes`, to its notes, and to her database.
    struct Devices {
        let container: Container
        let phone: Database
        let pad: Database
        private let token: NotificationToken

        init() async throws {
            container = try Container.inMemory()
            phone = container.privateDatabase(for: "alice", device: "phone")
            pad = container.privateDatabase(for: "alice", device: "pad")
            try await pad.save(RecordZone(zoneID: notes))
            try await pad.save(Subscription(.zone(notes, recordType: nil), id: "z"))
            try await pad.save(Subscription(.zone(notes, recordType: "Note"), id: "n"))
            try await pad.save(Subscription(.database(recordType: nil), id: "d"))
            try await pad.save(querySubscription("q", type: "End"))
            token = try await container.notificationToken()
        }

        /// What each hears of what was changed until now; nil: the collection.
        func heard() async throws -> (phone: [String], pad: [String], collected: [String]) {
            // Of the default zone zone and database subscriptions say nothing.
            try await container.privateDatabase(for: "alice")
                .save(note("end", type: "End", in: .default))
            return (
                try await heard(on: "phone"), try await heard(on: "pad"),
                try await container.told(since: token).sorted()
            )
        }

        private func heard(on device: String) async throws -> [String] {
            let page = try await container.notifications(
                for: "alice", device: device, since: token
            ).first { _ in true }
            return (page?.notifications ?? []).map { $0.told }.sorted()
        }
    }

    struct Change: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// What the phone hears, and what the pad does, as the subscriptions that tell of it.
        let phone: String
        let pad: String
        let make: @Sendable (Devices) async throws -> Void

        init(
            _ name: String, phone: String, pad: String,
            _ make: @escaping @Sendable (Devices) async throws -> Void
        ) {
            testDescription = name
            self.phone = phone
            self.pad = pad
            self.make = make
        }
    }

    private static let other = RecordZone.ID(zoneName: "other")

    static let changes: [Change] = [
        Change("the phone saves a note", phone: "", pad: "dnz") { devices in
            try await devices.phone.save(note("a"))
        },
        Change("both save one", phone: "dnz", pad: "dnz") { devices in
            try await devices.phone.save(note("a"))
            try await devices.pad.save(note("b"))
            try await devices.phone.save(note("c"))
        },
        Change("a device without a name saves one", phone: "dnz", pad: "dnz") { devices in
            try await devices.container.privateDatabase(for: "alice").save(note("a"))
        },
        Change("the phone saves and deletes", phone: "", pad: "dnz") { devices in
            try await devices.phone.save(note("a"))
            try await devices.phone.deleteRecord(withID: noteID("a"))
        },
        Change("the pad deletes what the phone saved", phone: "dnz", pad: "dnz") { devices in
            try await devices.phone.save(note("a"))
            try await devices.pad.deleteRecord(withID: noteID("a"))
        },
        Change("the phone saves a note, the pad a page", phone: "dz", pad: "dnz") { devices in
            try await devices.phone.save(note("a"))
            try await devices.pad.save(note("p", type: "Page"))
        },
        Change("the phone saves over what the pad saved", phone: "dnz", pad: "dnz") { devices in
            try await devices.pad.save(note("a"))
            try await devices.phone.save(note("b"))
            for number: Int64 in 0..<3 {
                try await devices.phone.saveAll(
                    [note("a", ["n": .int64(number)])], savePolicy: .allKeys)
            }
        },
        Change("the phone saves over what it saved", phone: "", pad: "dnz") { devices in
            for number: Int64 in 0..<3 {
                try await devices.phone.saveAll(
                    [note("a", ["n": .int64(number)])], savePolicy: .allKeys)
            }
        },
        Change("the phone gives the name of the pad's note away", phone: "dnz", pad: "dz") {
            devices in
            try await devices.pad.save(note("a"))
            try await devices.pad.deleteRecord(withID: noteID("a"))
            try await devices.phone.save(note("a", type: "Page"))
        },
        Change("the phone makes a zone, and deletes it", phone: "", pad: "d") { devices in
            try await devices.phone.save(RecordZone(zoneID: other))
            try await devices.phone.deleteRecordZone(withID: other)
        },
        Change("the phone makes a zone, the pad deletes it", phone: "d", pad: "") { devices in
            try await devices.phone.save(RecordZone(zoneID: other))
            try await devices.pad.deleteRecordZone(withID: other)
        },
        Change("the phone makes a zone", phone: "", pad: "d") { devices in
            try await devices.phone.save(RecordZone(zoneID: other))
            try await devices.phone.save(note("a", in: other))
        },
        Change("the phone moves a note to a zone of the pad", phone: "d", pad: "dnz") { devices in
            try await devices.phone.save(note("a"))
            try await devices.pad.save(RecordZone(zoneID: other))
            try await devices.phone.moveRecords([noteID("a")], to: other)
        },
    ]

    @Test(arguments: changes)
    func `of a zone a device hears what it did not change itself`(change: Change) async throws {
        let devices = try await Devices()
        try await change.make(devices)
        let heard = try await devices.heard()
        func names(_ lines: [String]) -> String {
            String(Set(lines.map { $0.first ?? "?" }).sorted())
        }
        #expect(names(heard.phone) == String((change.phone + "q").sorted()))
        #expect(names(heard.pad) == String((change.pad + "q").sorted()))
        // The collection has the changes of both devices.
        let all = Set(heard.phone + heard.pad)
        #expect(Set(heard.collected).isSuperset(of: all))
        #expect(names(heard.collected) == String(Set(change.phone + change.pad + "q").sorted()))
    }
}

// What others share.
extension OwnChangeTests {
    /// What Bob's phone and his pad hear once `change` was made.
    private static func heard(
        _ fixture: SharingFixture, by change: (_ phone: Database) async throws -> Void
    ) async throws -> [String] {
        let container = fixture.container
        try await fixture.bob.save(Subscription(.database(recordType: nil), id: "d"))
        try await fixture.bob.save(Subscription(.database(recordType: "Note"), id: "n"))
        let bobs = container.privateDatabase(for: "bob")
        try await bobs.save(querySubscription("q", type: "End"))
        let token = try await container.notificationToken(of: "bob")
        try await change(container.sharedDatabase(for: "bob", device: "phone"))
        try await bobs.save(note("end", type: "End", in: .default))
        var lines: [String] = []
        for device in ["phone", "pad"] {
            let page = try await container.notifications(for: "bob", device: device, since: token)
                .first { _ in true }
            let names = Set((page?.notifications ?? []).map { $0.subscriptionID }).sorted()
            lines.append(names.joined())
        }
        return lines
    }

    @Test func `a participant's device does not hear of what it changed in a shared tree`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        let lines = try await Self.heard(fixture) { phone in
            try await phone.save(fixture.newNote("new", under: "a"))
            try await phone.deleteRecord(withID: fixture.id("b"))
        }
        #expect(lines == ["q", "dnq"])
    }

    @Test func `what the owner changes beside it the participant's device hears of`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let lines = try await Self.heard(fixture) { phone in
            try await phone.save(fixture.newNote("new", under: "a"))
            try await fixture.alice.save(note("b", ["n": 7]), savePolicy: .changedKeys)
        }
        #expect(lines == ["dnq", "dnq"])
    }

    @Test func `of what the owner changes elsewhere it does not`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let lines = try await Self.heard(fixture) { phone in
            try await phone.save(fixture.newNote("new", under: "a"))
            try await fixture.alice.save(note("out", ["n": 7]), savePolicy: .changedKeys)
        }
        #expect(lines == ["q", "dnq"])
    }

    @Test func `in a zone that is shared as a whole it is as in the owner's`() async throws {
        let (fixture, _) = try await SharingFixture.zoneWide()
        let lines = try await Self.heard(fixture) { phone in
            try await phone.save(fixture.newNote("new", type: "Page"))
        }
        #expect(lines == ["q", "dq"])
    }

    @Test func `a subtree that its device moves to another share is its own change`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let second = try await fixture.share("out", with: ["bob"])
        try await fixture.accept(second, ["bob"])
        let lines = try await Self.heard(fixture) { phone in
            var moved = try await phone.record(for: fixture.id("a"))
            moved.parent = Reference(recordID: fixture.id("out1"))
            try await phone.save(moved)
        }
        #expect(lines == ["q", "dnq"])
    }

    @Test(arguments: [false, true])
    func `a device is told that a share ended, or its user's part, though it changed the records`(
        isRemoved: Bool
    ) async throws {
        let (fixture, share) = try await SharingFixture.shared()
        let second = try await fixture.share("out", with: ["bob"])
        try await fixture.accept(second, ["bob"])
        let lines = try await Self.heard(fixture) { phone in
            for name in SharingFixture.members {
                let record = fixture.newNote(name, ["n": 9])
                try await phone.save(record, savePolicy: .changedKeys)
            }
            if isRemoved {
                try await fixture.remove("bob", from: share)
            } else {
                try await fixture.end(share)
            }
        }
        #expect(lines == ["dnq", "dnq"])
    }
}
