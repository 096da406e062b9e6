import FoundationEssentials
import Stratus
import Support
import Synchronization
import Testing

/// What devices are sent, and how far they were.
@Suite(.timeLimit(.minutes(20))) struct PushTests {
    /// Alice's phone, and subscriptions `s` to notes and `p` to pages.
    static func begin(
        _ container: Container, devices: [String] = ["phone"]
    ) async throws -> Database {
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(querySubscription("s"))
        try await database.save(querySubscription("p", type: "Page"))
        for name in devices { try await container.registerDevice(pushDevice(name), for: "alice") }
        return database
    }

    static func begin(
        devices: [String] = ["phone"]
    ) async throws -> (container: Container, database: Database) {
        let container = try Container.inMemory()
        return (container, try await begin(container, devices: devices))
    }

    static func page(_ name: String) -> Record { note(name, type: "Page") }

    @Test func `a device is sent what is committed behind its registration, in that order`()
        async throws
    {
        let (container, database) = try await Self.begin(devices: [])
        try await database.save(note("before"))
        let phone = pushDevice()
        try await container.registerDevice(phone, for: "alice")
        let sender = TestSender()
        try await delivering(container, through: sender) {
            for number in 0..<20 {
                try await database.save(note("r\(number)"))
                await sender.wait(for: "s created r\(number)")
            }
        }
        #expect(sender.lines() == (0..<20).map { "s created r\($0)" })
        let alice = Record.ID(recordName: container.userRecordName(for: "alice"))
        #expect(sender.sent.allSatisfy { $0.device == phone && $0.user == alice && !$0.hasMore })
        let told = try await FollowedNotifications(of: container).items.dropFirst()
        #expect(sender.sent.map { $0.payload } == told.map { $0.payload() })
    }

    @Test func `of what waits the latest of each subscription is sent, with a note of more`()
        async throws
    {
        let (container, database) = try await Self.begin()
        for number in 0..<5 { try await database.save(note("r\(number)")) }
        try await database.save(Self.page("page"))
        try await database.save(note("last"))
        let sender = TestSender()
        try await delivering(container, through: sender) {
            await sender.wait(for: "s created last")
        }
        #expect(sender.lines() == ["p created page", "s created last"])
        #expect(sender.sent.allSatisfy { $0.hasMore })
    }

    // Semantics 6.1: also of a change that another device made, for that one.
    @Test func `the device that made a change is not sent it`() async throws {
        let (container, _) = try await Self.begin(devices: ["phone", "pad"])
        let sender = TestSender()
        try await delivering(container, through: sender) {
            let phone = container.privateDatabase(for: "alice", device: "phone")
            let pad = container.privateDatabase(for: "alice", device: "pad")
            try await phone.save(note("by-phone"))
            await sender.wait(for: "s created by-phone", on: "pad")
            try await pad.save(note("by-pad"))
            await sender.wait(for: "s created by-pad")
            try await container.privateDatabase(for: "alice").save(Self.page("page"))
            for device in ["phone", "pad"] {
                await sender.wait(for: "p created page", on: device)
            }
        }
        #expect(sender.lines("phone") == ["s created by-pad", "p created page"])
        #expect(sender.lines("pad") == ["s created by-phone", "p created page"])
    }

    @Test func `nor what it changed in a zone`() async throws {
        let (container, database) = try await Self.begin(devices: ["phone", "pad"])
        try await database.save(Subscription(.zone(notes, recordType: nil), id: "z"))
        let sender = TestSender()
        try await delivering(container, through: sender) {
            let phone = container.privateDatabase(for: "alice", device: "phone")
            try await phone.save(note("by-phone"))
            await sender.wait(for: "z zone notes", on: "pad")
            try await database.save(Self.page("page"))
            await sender.wait(for: "p created page")
        }
        #expect(!sender.lines("phone").contains("s created by-phone"))
        #expect(sender.lines("phone").count { $0 == "z zone notes" } == 1)
    }

    @Test func `read marks and what others are told are not sent`() async throws {
        let (container, database) = try await Self.begin()
        let bob = container.privateDatabase(for: "bob")
        try await bob.save(querySubscription("b"))
        try await database.save(note("a"))
        let sender = TestSender()
        try await delivering(container, through: sender) {
            await sender.wait(for: "s created a")
            let items = try await FollowedNotifications(of: container).items
            try await container.markNotificationsRead(items.map { $0.id }, for: "alice")
            try await bob.save(note("b", in: .default))
            try await database.save(Self.page("page"))
            await sender.wait(for: "p created page")
        }
        #expect(sender.lines() == ["s created a", "p created page"])
    }

    @Test func `zones and databases are pushed, and what others share`() async throws {
        let (fixture, _) = try await SharingFixture.shared()
        let container = fixture.container
        try await fixture.bob.save(Subscription(.database(recordType: nil), id: "d"))
        try await container.registerDevice(pushDevice(), for: "bob")
        let sender = TestSender()
        try await delivering(container, through: sender) {
            try await fixture.alice.save(note("b", ["n": 10]), savePolicy: .changedKeys)
            await sender.wait(for: "d database notes")
        }
        #expect(sender.lines() == ["d database notes"])
    }
}

// What a sender answers.
extension PushTests {
    @Test func `a retry takes the latest, and repeats nothing that was delivered`() async throws {
        let (container, database) = try await Self.begin()
        try await database.save(Self.page("page"))
        try await database.save(note("a"))
        let sender = TestSender { push, number in
            guard push.notification.told == "s created a", number < 3 else { return .delivered }
            // The first time there is a later one; then it is sent in the place of this one.
            _ = try? await database.save(note("b"))
            return .retry
        }
        try await delivering(container, through: sender) {
            await sender.wait(for: "s created b")
            try await database.save(note("c"))
            await sender.wait(for: "s created c")
        }
        #expect(
            sender.lines() == [
                "p created page", "s created a", "s created b", "s created c",
            ])
    }

    @Test func `what a user may not read any more is not sent, though the page has it`()
        async throws
    {
        let (container, _) = try await Self.begin()
        let open = #", GRANT CREATE TO "_icloud", GRANT READ TO "_world""#
        @Sendable func declare(_ grants: String) async throws {
            try await container.importSchema(
                "DEFINE SCHEMA RECORD TYPE Page (n INT64\(grants));")
        }
        try await declare(open)
        let alice = container.publicDatabase(as: "alice")
        for number in 0..<4 {
            try await alice.save(querySubscription("s\(number)", type: "Page"))
        }
        try await alice.save(querySubscription("t"))
        try await container.publicDatabase(as: "bob").save(note("p", type: "Page", in: .default))
        let sender = TestSender { _, number in
            if number == 1 {
                try? await declare(#", GRANT CREATE TO "_icloud", GRANT READ TO "_creator""#)
            }
            return .delivered
        }
        try await delivering(container, through: sender) {
            while sender.sent.count < 2 { await Task.yield() }
            try await alice.save(note("end", in: .default))
            await sender.wait(for: "t created end")
        }
        #expect(sender.lines() == ["s0 created p", "s1 created p", "t created end"])
    }

    @Test func `a push is urgent where it is for the user`() async throws {
        let (container, database) = try await Self.begin()
        var titled = Subscription.NotificationInfo()
        titled.title = "new"
        var waking = Subscription.NotificationInfo()
        waking.shouldSendContentAvailable = true
        waking.desiredKeys = ["n"]
        waking.collapseIDKey = "one"
        let infos: [Subscription.NotificationInfo?] = [titled, waking, nil, badging]
        for (number, info) in infos.enumerated() {
            try await database.save(querySubscription("s\(number)", info: info))
        }
        try await database.save(note("a"))
        let priorities = Mutex<[String: Push.Priority]>([:])
        let sender = TestSender { push, _ in
            priorities.withLock { $0[push.notification.subscriptionID] = push.priority }
            return .delivered
        }
        try await delivering(container, through: sender) {
            await sender.wait(for: "s3 created a")
        }
        #expect(
            priorities.withLock { $0 }
                == ["s": .medium, "s0": .high, "s1": .medium, "s2": .medium, "s3": .high])
        #expect(Push.Priority.high.rawValue == 10 && Push.Priority.medium.rawValue == 5)
    }

    @Test func `a device that is removed amid its pushes is sent no more of them`() async throws {
        let (container, database) = try await Self.begin()
        for number in 0..<10 { try await database.save(querySubscription("s\(number)")) }
        try await database.save(note("a"))
        let sender = TestSender { _, number in
            if number == 2 { try? await container.removeDevice(named: "phone", for: "alice") }
            return .delivered
        }
        try await delivering(container, through: sender) {
            while sender.sent.count < 3 { await Task.yield() }
            // What is registered behind it is looked at after it.
            try await container.registerDevice(pushDevice("pad"), for: "alice")
            try await database.save(note("b"))
            await sender.wait(for: "s created b", on: "pad")
        }
        #expect(sender.lines().count == 3)
    }

    @Test func `an account that cannot be used amid pushes is sent no more of them`()
        async throws
    {
        let (container, database) = try await Self.begin()
        for number in 0..<10 { try await database.save(querySubscription("s\(number)")) }
        try await database.save(note("a"))
        let sender = TestSender { _, number in
            if number == 2 {
                let profile = UserProfile(accountStatus: .restricted)
                try? await container.setUserProfile(profile, for: "alice")
            }
            return .delivered
        }
        try await delivering(container, through: sender) {
            while sender.sent.count < 3 { await Task.yield() }
            #expect(sender.lines().count == 3)
            try await container.setUserProfile(
                UserProfile(accountStatus: .available), for: "alice")
            while Set(sender.lines()).count < 11 { await Task.yield() }
        }
        // Each once, since nothing else was delivered meanwhile.
        #expect(sender.lines().count == 11)
    }

    @Test func `a sender is asked again until it delivers`() async throws {
        let (container, database) = try await Self.begin()
        try await database.save(note("a"))
        let sender = TestSender { _, number in number < 50 ? .retry : .delivered }
        try await delivering(container, through: sender) {
            while !sender.sent.contains(where: { $0.outcome == .delivered }) {
                await Task.yield()
            }
            try await database.save(note("b"))
            await sender.wait(for: "s created b")
        }
        #expect(sender.lines() == Array(repeating: "s created a", count: 51) + ["s created b"])
    }

    @Test func `a device whose token the provider knows no more is removed`() async throws {
        let (container, database) = try await Self.begin(devices: ["phone", "pad"])
        let sender = TestSender { push, _ in
            push.device.name == "phone" ? .unregistered : .delivered
        }
        try await database.save(note("a"))
        try await delivering(container, through: sender) {
            await sender.wait(for: "s created a", on: "pad")
            while try await container.devices(for: "alice").count > 1 { await Task.yield() }
            try await database.save(note("b"))
            await sender.wait(for: "s created b", on: "pad")
        }
        #expect(sender.lines("phone") == ["s created a"])
        #expect(try await container.devices(for: "alice") == [pushDevice("pad")])
    }

    @Test func `a token that came while the old one was refused stays, and is used`()
        async throws
    {
        let (container, database) = try await Self.begin()
        try await database.save(note("a"))
        let new = pushDevice(token: "new")
        let sender = TestSender { push, _ in
            if push.device == new { return .delivered }
            _ = try? await container.registerDevice(new, for: "alice")
            return .unregistered
        }
        try await delivering(container, through: sender) {
            var isDone = false
            while !isDone {
                await Task.yield()
                let devices = try await container.devices(for: "alice")
                isDone = devices.isEmpty || sender.sent.contains { $0.outcome == .delivered }
            }
        }
        #expect(sender.lines() == ["s created a", "s created a"])
        #expect(sender.sent.map { $0.device.token } == [Data("token".utf8), new.token])
        #expect(try await container.devices(for: "alice") == [new])
    }

    @Test func `a device whose sender hangs holds up no other, and is cancelled with the delivery`()
        async throws
    {
        let (container, database) = try await Self.begin(devices: ["phone", "pad"])
        let sender = TestSender { push, _ in
            guard push.device.name == "phone" else { return .delivered }
            while !Task.isCancelled { await Task.yield() }
            return .retry
        }
        try await delivering(container, through: sender) {
            for name in ["a", "b"] {
                try await database.save(note(name))
                await sender.wait(for: "s created \(name)", on: "pad")
            }
            #expect(sender.lines("phone") == [])
        }
        #expect(sender.lines("phone").count == 1)
    }
}

// The end of a delivery.
extension PushTests {
    @Test func `a delivery ends with the container`() async throws {
        let (container, database) = try await Self.begin()
        let sender = TestSender()
        let delivery = Task { try await container.deliverPushes(through: sender) }
        try await database.save(note("a"))
        await sender.wait(for: "s created a")
        try await container.close()
        try await delivery.value
        #expect(sender.lines() == ["s created a"])
    }

    @Test func `a store that is opened for reading only delivers nothing`() async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = try await Self.begin(container)
        try await database.save(note("a"))
        try await container.close()
        let reader = try store.openReadOnly()
        let sender = TestSender()
        let error = await failure { try await reader.deliverPushes(through: sender) }
        #expect(error.code == .permissionFailure && sender.sent.isEmpty)
        #expect(try await reader.devices(for: "alice") == [pushDevice()])
    }

    @Test func `where nothing is to be sent no position is written`() async throws {
        let (container, _) = try await Self.begin(devices: ["phone", "pad"])
        let start = try await container.pushPosition()
        let padStart = try await container.pushPosition(of: "pad")
        let phone = container.privateDatabase(for: "alice", device: "phone")
        let sender = TestSender()
        try await delivering(container, through: sender) {
            for number in 0..<20 {
                try await phone.save(note("r\(number)"))
                await sender.wait(for: "s created r\(number)", on: "pad")
            }
            while try await container.pushPosition(of: "pad") == padStart { await Task.yield() }
            // Time enough for the phone's turn.
            for _ in 0..<200 { await Task.yield() }
            #expect(try await container.pushPosition() == start)
            // What the phone was passed over is behind it all the same.
            try await container.privateDatabase(for: "alice").save(Self.page("page"))
            await sender.wait(for: "p created page")
            while try await container.pushPosition() == start { await Task.yield() }
        }
        #expect(sender.lines() == ["p created page"])
    }
}
