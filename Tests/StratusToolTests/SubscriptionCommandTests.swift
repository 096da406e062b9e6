import FoundationEssentials
import Stratus
import StratusGateway
import StratusTool
import Support
import Testing

/// The commands about subscriptions and notifications, on a store in which Alice was notified of
/// two boats, `a` and `c`; the second was saved on her phone.
@Suite struct SubscriptionCommandTests {
    private static let notes = RecordZone.ID(zoneName: "notes")

    private let place: Place
    private let alice: String

    init() async throws {
        place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        alice = container.userRecordName(for: "alice")
        try await Self.fill(container)
        try await container.close()
    }

    private static func fill(_ container: Container) async throws {
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        var info = Subscription.NotificationInfo()
        info.alertBody = "new"
        info.desiredKeys = ["berths"]
        try await database.save(
            Subscription(
                .query(
                    Query.Predicate("berths > 4"), recordType: "Boat", zoneID: notes,
                    options: .firesOnRecordCreation), id: "boats", notificationInfo: info))
        try await container.publicDatabase(as: "alice").save(
            Subscription(
                .query(
                    .all, recordType: "Boat", zoneID: nil,
                    options: [.firesOnRecordDeletion, .firesOnRecordUnmatched, .firesOnce]),
                id: "wide"))
        try await container.sharedDatabase(for: "bob").save(
            Subscription(.database(recordType: nil), id: "shares"))
        let carols = container.privateDatabase(for: "carol")
        try await carols.save(RecordZone(zoneID: notes))
        try await carols.save(Subscription(.zone(notes, recordType: "Boat"), id: "zone"))
        try await save("a", berths: 5, in: container)
        try await save("b", berths: 1, in: container)
        try await save("c", berths: 6, on: "phone", in: container)
    }

    private static func save(
        _ name: String, berths: Int64, on device: String? = nil, in container: Container
    ) async throws {
        var record = Record(
            recordType: "Boat", recordID: Record.ID(recordName: name, zoneID: notes))
        record["berths"] = .int64(berths)
        try await container.privateDatabase(for: "alice", device: device).save(record)
    }

    private func results(_ line: String, json: Bool = false) async throws -> String {
        let run = try await place.run(line, json: json)
        #expect(run.code == .ok, "\(line): \(run.messages)")
        return run.results
    }

    private static func object(_ line: some StringProtocol) throws -> JSONObject {
        let bytes = Array(line.utf8)
        guard case .object(let object) = try JSONReader.read(bytes.span) else {
            throw ToolError(.internal, id: "test", "no object: \(line)")
        }
        return object
    }

    /// The objects that the command writes for Alice.
    private func objects(_ options: String = "") async throws -> [JSONObject] {
        try await results("notifications @/store --user alice \(options)")
            .split(separator: "\n").map { try Self.object($0) }
    }

    private static func member(_ object: JSONObject, _ path: String...) -> JSONValue? {
        var value: JSONValue? = .object(object)
        for name in path {
            guard case .object(let inner)? = value else { return nil }
            value = inner[name]
        }
        return value
    }

    /// The records that notifications tell of.
    private static func records(_ objects: [JSONObject]) -> [JSONValue] {
        objects.compactMap { member($0, "payload", "ck", "qry", "rid") }
    }

    private static func text(_ object: JSONObject?, _ name: String) -> String? {
        if case .string(let text)? = object?[name] { text } else { nil }
    }

    // MARK: Subscriptions

    @Test func `subscriptions are listed with their users and databases`() async throws {
        let boats = "alice  private  boats  query  notes  Boat  create  berths > 4\n"
        let wide =
            "alice  public  wide  query  *  Boat  delete, unmatch, once  TRUEPREDICATE"
            + "  tested with every change\n"
        let shares = "bob  shared  shares  database  *  *\n"
        let zone = "carol  private  zone  zone  notes  Boat\n"
        #expect(try await results("subscriptions @/store") == boats + wide + shares + zone)
        #expect(try await results("subscriptions @/store --user alice") == boats + wide)
        #expect(try await results("subscriptions @/store --database private") == boats + zone)
        #expect(try await results("subscriptions @/store --user bob --database public") == "")
        let byRecordName = try await results("subscriptions @/store --user \(alice)")
        #expect(byRecordName.hasPrefix("\(alice)  private  boats  "))
        let none = try await place.run("subscriptions @/store --user nobody")
        #expect(none.code == .notFound && none.messages.contains("no user nobody"))
    }

    @Test func `subscriptions are cut, turned around, counted and listed as they were`()
        async throws
    {
        let all = try await results("subscriptions @/store")
        let lines = all.split(separator: "\n").map { $0 + "\n" }
        #expect(
            try await results("subscriptions @/store --reverse") == lines.reversed().joined())
        #expect(try await results("subscriptions @/store -n 3") == lines.prefix(3).joined())
        #expect(try await results("subscriptions @/store --count") == "4\n")
        #expect(try await results("subscriptions @/store --user alice --count") == "2\n")
        _ = try await results("mark @/store before")
        let container = try await Container.open(at: place.path + "/store")
        let database = container.privateDatabase(for: "alice")
        try await database.deleteSubscription(withID: "boats")
        try await container.privateDatabase(for: "dave").save(
            Subscription(.database(recordType: nil), id: "all"))
        try await container.close()
        let now = try await results("subscriptions @/store")
        #expect(now.contains("dave  private  all") && !now.contains("boats"))
        #expect(try await results("subscriptions @/store --at mark:before") == all)
    }

    @Test func `as JSON a subscription is as the gateway answers it`() async throws {
        let json = try await results(
            "subscriptions @/store --user alice --database private", json: true)
        #expect(
            json
                == #"{"type":"subscription","user":"\#(alice)","userName":"alice","#
                + #""database":"private","subscriptionID":"boats","subscriptionType":"query","#
                + #""query":{"recordType":"Boat","predicate":"berths > 4"},"#
                + #""firesOn":["create"],"firesOnce":false,"#
                + #""zoneID":{"zoneName":"notes","ownerRecordName":"\#(alice)","#
                + #""zoneType":"REGULAR_CUSTOM_ZONE"},"notificationInfo":{"alertBody":"new","#
                + #""additionalFields":["berths"],"shouldBadge":false,"#
                + #""shouldSendContentAvailable":false,"shouldSendMutableContent":false},"#
                + #""isAlwaysTested":false}"# + "\n")
    }

    @Test func `a user whose account cannot be used is left out and named`() async throws {
        let container = try await Container.open(at: place.path + "/store")
        try await container.setUserProfile(UserProfile(accountStatus: .restricted), for: "alice")
        try await container.close()
        let run = try await place.run("subscriptions @/store")
        #expect(run.code == .partial && run.messages.contains("account of alice"))
        #expect(run.results.hasPrefix("bob  shared  ") && run.results.contains("carol  private  "))
    }

    // MARK: Notifications

    @Test func `notifications are objects on lines of their own, with their payloads`()
        async throws
    {
        let lines = try await objects()
        #expect(lines.map { $0["type"] } == ["notification", "notification", "summary"])
        #expect(Self.records(lines) == ["a", "c"])
        let first = try #require(lines.first)
        #expect(
            first.members.map { $0.name } == [
                "type", "notificationID", "notificationType", "created", "isRead",
                "subscriptionID", "payload",
            ])
        #expect(first["notificationType"] == 1 && first["isRead"] == false)
        #expect(first["subscriptionID"] == "boats")
        #expect(Self.member(first, "payload", "aps", "alert", "body") == "new")
        #expect(Self.member(first, "payload", "ck", "qry", "af", "berths") == 5)
        #expect(Self.member(first, "payload", "ck", "nid") == first["notificationID"])
        let last = try #require(lines.last)
        #expect(last["moreComing"] == false && Self.text(last, "token") != nil)
        let line = "notifications @/store --user alice"
        #expect(try await results(line, json: true) == results(line))
        let bob = try await results("notifications @/store --user bob")
        #expect(bob.hasPrefix(#"{"type":"summary","token":""#))
    }

    @Test func `a page goes on at its token`() async throws {
        let first = try await objects("--limit 1")
        #expect(Self.records(first) == ["a"] && first.last?["moreComing"] == true)
        let token = try #require(Self.text(first.last, "token"))
        let second = try await objects("--since=\(token)")
        #expect(Self.records(second) == ["c"] && second.last?["moreComing"] == false)
        let end = try #require(Self.text(second.last, "token"))
        #expect(try await objects("--since=\(end)").count == 1)
        let foreign = try await place.run("notifications @/store --user bob --since=\(end)")
        #expect(foreign.code == .tokenExpired, "\(foreign.messages)")
        let changes = try await results("changes @/store --as alice")
        let feed = try #require(changes.split(separator: " ").last).filter { $0 != "\n" }
        for wrong in [feed, "x"] {
            let run = try await place.run("notifications @/store --user alice --since=\(wrong)")
            #expect(run.code == .usage && run.messages.contains("no token of notifications"))
        }
        let nobody = try await place.run("notifications @/store --user nobody")
        #expect(nobody.code == .notFound)
    }

    @Test func `what a device changed itself is left out for it`() async throws {
        #expect(Self.records(try await objects("--device phone")) == ["a"])
        #expect(Self.records(try await objects("--device pad")) == ["a", "c"])
    }

    @Test func `a read mark names the notification that was marked, and has no payload`()
        async throws
    {
        let container = try await Container.open(at: place.path + "/store")
        let page = try await container.notificationChanges(for: "alice")
        let id = try #require(page.notifications.first).id
        _ = try await container.markNotificationsRead([id], for: "alice")
        try await container.close()
        let lines = try await objects("--payloads @/outbox")
        #expect(lines.count == 4 && lines[0]["isRead"] == true && lines[1]["isRead"] == false)
        #expect(lines[2]["notificationType"] == 3)
        #expect(lines[2]["markedID"] == .string(id.description))
        #expect(lines[2]["payload"] == nil && lines[2]["file"] == nil)
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path + "/outbox")
        #expect(names.count == 2)
    }

    @Test func `payloads are written to files, whose names are the same each time`()
        async throws
    {
        let container = try await Container.openReadOnly(at: place.path + "/store")
        let page = try await container.notificationChanges(for: "alice")
        let payloads = page.notifications.map { $0.payload() }
        for _ in 0..<2 {
            let lines = try await objects("--payloads @/outbox")
            let files = lines.compactMap { Self.text($0, "file") }
            let manager = FileManager.default
            let names = try manager.contentsOfDirectory(atPath: place.path + "/outbox")
            #expect(files == names.sorted().map { place.path + "/outbox/" + $0 })
            #expect(files.compactMap { manager.contents(atPath: $0) } == payloads)
            #expect(names.allSatisfy { $0.hasSuffix(".json") })
        }
        let store = try await place.run("notifications @/store --user alice --payloads @/store")
        #expect(store.code == .permission, "\(store.messages)")
        let file = try await place.run(
            "notifications @/store --user alice --payloads @/tree/a.txt")
        #expect(file.code != .ok)
    }

    @Test(arguments: [2, 15] as [Int32])
    func `following shows what another process commits, until it is stopped`(
        signal: Int32
    ) async throws {
        let container = try await Container.open(at: place.path + "/store")
        let process = try ToolProcess([
            "notifications", place.path + "/store", "--user", "alice", "--follow", "--payloads",
            place.path + "/outbox",
        ])
        var lines = try (0..<3).map { _ in try Self.object(process.readLine()) }
        #expect(lines.map { $0["type"] } == ["notification", "notification", "token"])
        #expect(Self.records(lines) == ["a", "c"])
        for name in ["d", "e"] {
            try await Self.save(name, berths: 9, in: container)
            lines = try (0..<2).map { _ in try Self.object(process.readLine()) }
            #expect(lines.map { $0["type"] } == ["notification", "token"])
            #expect(Self.records(lines) == [.string(name)])
            let file = try #require(Self.text(lines[0], "file"))
            #expect(FileManager.default.contents(atPath: file) != nil)
        }
        let token = try #require(Self.text(lines.last, "token"))
        process.send(signal)
        let last = try Self.object(process.readLine())
        #expect(last["type"] == "summary" && Self.text(last, "token") != nil)
        #expect(process.wait() == 128 + signal)
        try await container.close()
        #expect(try await objects("--since=\(token)").count == 1)
    }

    @Test func `following ends at its limit`() async throws {
        let lines = try await objects("--follow --limit 2")
        #expect(Self.records(lines) == ["a", "c"] && lines.last?["type"] == "summary")
    }
}
