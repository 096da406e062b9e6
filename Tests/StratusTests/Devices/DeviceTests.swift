import FoundationEssentials
import Stratus
import Support
import Testing

/// Devices that come and go, and what each is sent then.
@Suite(.timeLimit(.minutes(20))) struct DeviceTests {
    @Test func `devices are listed by name, with the last token`() async throws {
        let container = try Container.inMemory()
        #expect(try await container.devices(for: "alice") == [])
        for name in ["b", "a", "c"] {
            try await container.registerDevice(pushDevice(name), for: "alice")
        }
        try await container.registerDevice(pushDevice("a"), for: "bob")
        let new = PushDevice(name: "b", token: Data([0, 255]), environment: .production)
        try await container.registerDevice(new, for: "alice")
        try await container.removeDevice(named: "c", for: "alice")
        #expect(try await container.devices(for: "alice") == [pushDevice("a"), new])
        #expect(try await container.devices(for: "bob") == [pushDevice("a")])
    }

    @Test func `what changes nothing writes nothing`() async throws {
        let container = try Container.inMemory()
        try await container.registerDevice(pushDevice(), for: "alice")
        // It names the last commit.
        let registered = try await container.notificationToken()
        try await container.registerDevice(pushDevice(), for: "alice")
        try await container.removeDevice(named: "pad", for: "alice")
        try await container.removeDevice(named: "phone", for: "bob")
        #expect(try await container.notificationToken() == registered)
        try await container.removeDevice(named: "phone", for: "alice")
        let removed = try await container.notificationToken()
        try await container.removeDevice(named: "phone", for: "alice")
        let last = try await container.notificationToken()
        #expect(removed != registered && last == removed)
    }

    @Test func `a device without a name or a token, or with too long a one, is refused`()
        async throws
    {
        let container = try Container.inMemory()
        for (name, count) in [("", 1), (String(repeating: "é", count: 128), 1), ("a", 0)] {
            let device = PushDevice(
                name: name, token: Data(repeating: 1, count: count), environment: .production)
            let error = await failure {
                try await container.registerDevice(device, for: "alice")
            }
            #expect(error.code == .invalidArguments)
        }
        let longest = PushDevice(
            name: String(repeating: "é", count: 127) + "a", token: Data(repeating: 1, count: 4096),
            environment: .production)
        var longer = longest
        longer.token.append(1)
        let error = await failure { try await container.registerDevice(longer, for: "alice") }
        #expect(error.code == .invalidArguments)
        try await container.registerDevice(longest, for: "alice")
        #expect(try await container.devices(for: "alice") == [longest])
    }

    @Test func `a user has so many devices and no more`() async throws {
        let container = try Container.inMemory()
        for number in 0..<256 {
            try await container.registerDevice(pushDevice("d\(number)"), for: "alice")
        }
        let refused = await failure {
            try await container.registerDevice(pushDevice("more"), for: "alice")
        }
        #expect(refused.code == .limitExceeded)
        // One of them with another token, one of another user, and one in the place of another.
        try await container.registerDevice(pushDevice("d7", token: "new"), for: "alice")
        try await container.registerDevice(pushDevice("more"), for: "bob")
        try await container.removeDevice(named: "d8", for: "alice")
        try await container.registerDevice(pushDevice("more"), for: "alice")
    }

    @Test func `a removed device is sent nothing, and registered again it begins there`()
        async throws
    {
        let (container, database) = try await PushTests.begin(devices: ["phone", "pad"])
        let sender = TestSender()
        try await delivering(container, through: sender) {
            try await database.save(note("a"))
            for device in ["phone", "pad"] {
                await sender.wait(for: "s created a", on: device)
            }
            try await container.removeDevice(named: "phone", for: "alice")
            try await database.save(note("b"))
            await sender.wait(for: "s created b", on: "pad")
            try await container.registerDevice(pushDevice(), for: "alice")
            try await database.save(PushTests.page("page"))
            await sender.wait(for: "p created page")
        }
        #expect(sender.lines() == ["s created a", "p created page"])
    }

    @Test func `with another token a device goes on where it was`() async throws {
        let (container, database) = try await PushTests.begin()
        try await database.save(note("a"))
        try await container.registerDevice(pushDevice(token: "new"), for: "alice")
        try await database.save(PushTests.page("page"))
        let sender = TestSender()
        try await delivering(container, through: sender) {
            await sender.wait(for: "p created page")
        }
        #expect(sender.lines() == ["s created a", "p created page"])
        #expect(sender.sent.allSatisfy { $0.device.token == Data("new".utf8) })
    }

    @Test func `a position is kept, goes on with a new token, and ends with the registration`()
        async throws
    {
        let store = DiskStore()
        var container = try store.open()
        var database = try await PushTests.begin(container)
        let start = try #require(try await container.pushPosition())
        try await database.save(note("a"))
        let first = TestSender()
        try await delivering(container, through: first) {
            while try await container.pushPosition() == start { await Task.yield() }
        }
        #expect(first.lines() == ["s created a"])
        let position = try #require(try await container.pushPosition())
        #expect(position > start)
        try await container.registerDevice(pushDevice(token: "new"), for: "alice")
        #expect(try await container.pushPosition() == position)
        try await container.close()
        container = try store.open()
        database = container.privateDatabase(for: "alice")
        #expect(try await container.pushPosition() == position)
        try await database.save(PushTests.page("page"))
        let second = TestSender()
        try await delivering(container, through: second) {
            await second.wait(for: "p created page")
        }
        #expect(second.lines() == ["p created page"])
        try await container.removeDevice(named: "phone", for: "alice")
        #expect(try await container.pushPosition() == nil)
        try await container.registerDevice(pushDevice(), for: "alice")
        // That of the registration, behind all that was sent before.
        let next = try #require(try await container.pushPosition())
        #expect(next > position)
        try await container.close()
    }

    @Test func `while an account cannot be used its devices are sent nothing, and then the rest`()
        async throws
    {
        let container = try Container.inMemory()
        for user in ["alice", "bob"] {
            try await container.publicDatabase(as: user).save(querySubscription("s"))
            try await container.registerDevice(pushDevice("of-\(user)"), for: user)
        }
        try await container.setUserProfile(UserProfile(accountStatus: .restricted), for: "alice")
        let carols = container.publicDatabase(as: "carol")
        let sender = TestSender()
        try await delivering(container, through: sender) {
            try await carols.save(note("a", in: .default))
            await sender.wait(for: "s created a", on: "of-bob")
            #expect(sender.lines("of-alice") == [])
            let refused = await failure {
                try await container.registerDevice(pushDevice(), for: "alice")
            }
            #expect(refused.code == .notAuthenticated)
            try await container.setUserProfile(
                UserProfile(accountStatus: .available), for: "alice")
            await sender.wait(for: "s created a", on: "of-alice")
        }
        #expect(sender.lines("of-alice") == ["s created a"])
    }
}
