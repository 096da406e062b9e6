import FoundationEssentials
import Stratus
import Support
import Testing

/// What devices are sent: semantics 6.3.
@Suite struct NotificationPayloadTests {
    /// The first notification of a subscription for which a record was saved.
    private static func notification(
        of subscription: Subscription, _ fields: [String: RecordValue] = [:]
    ) async throws -> (notification: StoreNotification, container: Container) {
        let (container, database) = try await makeDatabase()
        try await database.save(subscription)
        try await database.save(note("a", fields))
        let items = try await FollowedNotifications(of: container).items
        return (try #require(items.first), container)
    }

    private static func text(_ notification: StoreNotification, limit: Int = 4096) -> String {
        String(decoding: notification.payload(limit: limit), as: UTF8.self)
    }

    @Test func `a silent notification of a query names record, zone, reason and subscription`()
        async throws
    {
        let (found, container) = try await Self.notification(of: querySubscription("s"))
        let owner = container.userRecordName(for: "alice")
        let expected =
            #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"\#(found.containerIdentifier)","#
            + #""nid":"\#(found.id)","p":0,"qry":{"dbs":2,"fo":1,"rid":"a","sid":"s","#
            + #""zid":"notes","zoid":"\#(owner)"}}}"#
        #expect(Self.text(found) == expected)
        #expect(!found.isPruned)
    }

    /// All that an info can say, but for the alert's text.
    private static var full: Subscription.NotificationInfo {
        var info = Subscription.NotificationInfo()
        info.title = "title"
        info.subtitle = "subtitle"
        info.alertActionLocalizationKey = "action"
        info.alertLaunchImage = "image"
        info.soundName = "sound"
        info.category = "category"
        info.collapseIDKey = "collapse"
        info.desiredKeys = ["n", "text"]
        info.shouldBadge = true
        info.shouldSendMutableContent = true
        return info
    }

    @Test func `an alert has all that the info says, and the values of the desired keys`()
        async throws
    {
        var info = Self.full
        info.alertBody = "body"
        info.shouldSendContentAvailable = true
        let sent = querySubscription("s", info: info)
        let (found, container) = try await Self.notification(of: sent, ["n": 7, "text": "x"])
        let owner = container.userRecordName(for: "alice")
        let expected =
            #"{"aps":{"alert":{"action-loc-key":"action","body":"body","#
            + #""launch-image":"image","subtitle":"subtitle","title":"title"},"badge":1,"#
            + #""category":"category","content-available":1,"mutable-content":1,"#
            + #""sound":"sound"},"ck":{"ce":2,"cid":"\#(found.containerIdentifier)","#
            + #""nid":"\#(found.id)","p":0,"qry":{"af":{"n":7,"text":"x"},"dbs":2,"fo":1,"#
            + #""rid":"a","sid":"s","zid":"notes","zoid":"\#(owner)"}}}"#
        #expect(Self.text(found) == expected)
        // A sender takes it from there: it is no part of the payload.
        #expect(found.collapseIDKey == "collapse")
    }

    // Semantics 6.2: the key wins over the literal; arguments are names of fields.
    @Test func `keys take the place of texts, with the values of their arguments`() async throws {
        var info = Subscription.NotificationInfo()
        (info.alertBody, info.title, info.subtitle) = ("body", "title", "subtitle")
        info.alertLocalizationKey = "A"
        info.alertLocalizationArgs = ["n", "text", "missing", "list"]
        info.titleLocalizationKey = "T"
        info.titleLocalizationArgs = ["size", "friend"]
        info.subtitleLocalizationKey = "S"
        info.subtitleLocalizationArgs = []
        let long = String(repeating: "é", count: 101)
        let (found, _) = try await Self.notification(
            of: querySubscription("s", info: info),
            [
                "n": -1, "text": .string(long), "list": ["x"], "size": 0.5,
                "friend": .reference(Reference(recordID: noteID("b"))),
            ])
        let aps = try Self.json(found)["aps"]
        let cut = JSON.text(String(long.dropLast()))
        #expect(
            aps
                == .object([
                    "alert": .object([
                        "loc-key": .text("A"),
                        "loc-args": .list([.text("-1"), cut, .text(""), .text("")]),
                        "title-loc-key": .text("T"),
                        "title-loc-args": .list([.text("0.5"), .text("b")]),
                        "subtitle-loc-key": .text("S"), "subtitle-loc-args": .list([]),
                    ])
                ]))
        #expect(found.recordFields.isEmpty)
    }

    @Test func `values are written by their kinds`() async throws {
        let fields: [(value: RecordValue, written: JSON)] = [
            (.string("\"\\\n\u{1}\u{202E}é"), .text("\"\\\n\u{1}\u{202E}é")),
            (.int64(.max), .number("9223372036854775807")),
            (.double(0.5), .number("0.5")), (.double(.infinity), .text("inf")),
            (.date(Date(timeIntervalSince1970: 1.5)), .number("1500")),
            (.reference(Reference(recordID: noteID("b"))), .text("b")),
            (
                .location(Location(latitude: 1.5, longitude: -2.5)),
                .object(["latitude": .number("1.5"), "longitude": .number("-2.5")])
            ),
        ]
        for (value, written) in fields {
            let (found, _) = try await Self.notification(
                of: querySubscription("s", info: bringing(["f"])), ["f": value])
            #expect(try Self.json(found)["ck"]?["qry"]?["af"]?["f"] == written)
        }
    }

    @Test func `a payload is JSON whatever the texts in it, and readable as it stands`()
        async throws
    {
        let hostile = "\"}]\\\n\t\u{0}\u{7F}\u{2028}\u{202E}/'é\u{1F600}"
        var info = Subscription.NotificationInfo()
        (info.alertBody, info.title, info.category) = (hostile, hostile, hostile)
        let sent = querySubscription(hostile, info: info)
        let (found, _) = try await Self.notification(of: sent)
        let json = try Self.json(found)
        #expect(json["aps"]?["alert"]?["body"] == .text(hostile))
        #expect(json["aps"]?["category"] == .text(hostile))
        #expect(json["ck"]?["qry"]?["sid"] == .text(hostile))
        let isReadable = Self.text(found).unicodeScalars.allSatisfy {
            $0.value >= 0x20 && $0.value != 0x7F && $0.value != 0x2028 && $0.value != 0x202E
        }
        #expect(isReadable)
    }

    @Test func `zones, databases and read marks have parts of their own, or none`() async throws {
        let (container, database) = try await makeDatabase()
        let owner = container.userRecordName(for: "alice")
        try await database.save(Subscription(.zone(notes, recordType: nil), id: "z"))
        try await database.save(Subscription(.database(recordType: nil), id: "d"))
        try await database.save(querySubscription("q", type: "None"))
        try await database.save(note("a"))
        var items = try await FollowedNotifications(of: container).items
        let zone = try #require(items.first { $0.kind == .zone })
        #expect(
            try Self.json(zone)["ck"]?["fet"]
                == .object([
                    "sid": .text("z"), "zid": .text("notes"), "zoid": .text(owner),
                    "dbs": .number("2"),
                ]))
        let all = try #require(items.first { $0.kind == .database })
        let met = try Self.json(all)["ck"]?["met"]
        #expect(met?["sid"] == .text("d") && met?["dbs"] == .number("2"))
        _ = try await container.markNotificationsRead([zone.id], for: "alice")
        items = try await FollowedNotifications(of: container).items
        let mark = try #require(items.first { $0.kind == .readMark })
        let expected =
            #"{"aps":{},"ck":{"ce":2,"cid":"\#(mark.containerIdentifier)","#
            + #""nid":"\#(zone.id)","p":0}}"#
        #expect(Self.text(mark) == expected)
        let isRead = items.first { $0.kind == .zone }?.isRead
        #expect(isRead == true)
    }

    @Test func `the public database and production have numbers of their own`() async throws {
        let container = try Container.inMemory(environment: .production)
        try await container.deploySchema(
            #"DEFINE SCHEMA RECORD TYPE Note (n INT64, GRANT READ TO "_world");"#)
        try await container.publicDatabase(as: "alice").save(querySubscription("s"))
        try await container.publicDatabase(asHost: "bob").save(note("a", ["n": 1], in: .default))
        try await container.privateDatabase(for: "alice").save(querySubscription("t"))
        try await container.privateDatabase(for: "alice").save(note("b", ["n": 1], in: .default))
        let items = try await FollowedNotifications(of: container).items
        #expect(items.map { $0.told } == ["s created a", "t created b"])
        for found in items {
            let cloud = try Self.json(found)["ck"]
            #expect(cloud?["ce"] == .number("1"))
            let isPublic = found.databaseScope == .public
            #expect(cloud?["qry"]?["dbs"] == .number(isPublic ? "1" : "2"))
            #expect(cloud?["qry"]?["zid"] == .text(RecordZone.ID.default.zoneName))
        }
    }

    private static func json(_ notification: StoreNotification, limit: Int = 4096) throws -> JSON {
        try JSONDecoder().decode(JSON.self, from: notification.payload(limit: limit))
    }
}

// Pruning: semantics 6.3.
extension NotificationPayloadTests {
    /// What is left out, in this order: after CloudKit's list what it does not speak of.
    private static let order: [(name: String, path: [String])] = [
        ("desiredKeys", ["ck", "qry", "af"]), ("containerIdentifier", ["ck", "cid"]),
        ("keys of the kind", ["ck", "qry", "rid"]), ("soundName", ["aps", "sound"]),
        ("alertLaunchImage", ["aps", "alert", "launch-image"]),
        ("alertActionLocalizationKey", ["aps", "alert", "action-loc-key"]),
        ("alertBody", ["aps", "alert", "body"]),
        ("alertLocalizationArgs", ["aps", "alert", "loc-args"]),
        ("alertLocalizationKey", ["aps", "alert", "loc-key"]), ("badge", ["aps", "badge"]),
        ("notificationID", ["ck", "nid"]),
        ("subtitle key", ["aps", "alert", "subtitle-loc-key"]),
        ("title key", ["aps", "alert", "title-loc-key"]), ("category", ["aps", "category"]),
    ]

    private static func isThere(_ path: [String], in json: JSON) -> Bool {
        var part: JSON? = json
        for name in path { part = part?[name] }
        return part != nil
    }

    enum Alert: CaseIterable { case texts, keys }

    @Test(arguments: Alert.allCases)
    func `parts are left out one after the other, in the order of the rule`(
        alert: Alert
    ) async throws {
        var info = Self.full
        switch alert {
        case .texts: info.alertBody = "body"
        case .keys:
            info.alertLocalizationKey = "alert"
            info.alertLocalizationArgs = ["n"]
            info.titleLocalizationKey = "title"
            info.subtitleLocalizationKey = "subtitle"
        }
        let sent = querySubscription("s", info: info)
        let (found, _) = try await Self.notification(of: sent, ["n": 7, "text": "x"])
        let full = found.payload(limit: .max)
        let whole = try Self.json(found, limit: .max)
        let steps = Self.order.filter { Self.isThere($0.path, in: whole) }
        #expect(steps.count == (alert == .texts ? 10 : 13))
        var fewest = steps.count
        for limit in (0...full.count).reversed() {
            let payload = found.payload(limit: limit)
            let json = try Self.json(found, limit: limit)
            let isLeft = steps.map { Self.isThere($0.path, in: json) }
            let missing = isLeft.firstIndex(of: true) ?? steps.count
            #expect(isLeft.dropFirst(missing).allSatisfy { $0 }, "limit \(limit): \(isLeft)")
            // No more than had to be.
            #expect(payload.count <= limit || missing == steps.count, "limit \(limit)")
            #expect(json["ck"]?["p"] == .number(limit == full.count ? "0" : "1"))
            #expect(json["ck"]?["qry"]?["sid"] == .text("s"))
            if limit == full.count { #expect(payload == full) }
            fewest = min(fewest, steps.count - missing)
        }
        #expect(fewest == 0)
    }

    @Test func `with longer and longer texts a payload stays within its limit, and says so`()
        async throws
    {
        for length in stride(from: 0, through: 4096, by: 512) {
            var info = Self.full
            let text = String(repeating: "x", count: length)
            (info.alertBody, info.title, info.subtitle) = (text, text, text)
            info.alertLaunchImage = text
            let sent = querySubscription("s", info: info)
            let (found, _) = try await Self.notification(of: sent, ["n": 7, "text": "x"])
            let payload = found.payload()
            let isWhole = found.payload(limit: .max).count <= 4096
            #expect(payload.count <= 4096, "\(length)")
            #expect(isWhole == (payload == found.payload(limit: .max)), "\(length)")
            #expect(found.isPruned == !isWhole, "\(length)")
            let json = try Self.json(found)
            #expect(json["ck"]?["p"] == .number(isWhole ? "0" : "1"), "\(length)")
            // Of a title that is too long the beginning stays.
            if case .text(let title)? = json["aps"]?["alert"]?["title"] {
                #expect(text.hasPrefix(title), "\(length)")
            } else {
                Issue.record("\(length): no title")
            }
            // What was left out of the payload is in the notification.
            #expect(found.alertBody == text && found.recordFields["n"] == 7)
        }
    }

    @Test func `the same notification has the same bytes, however and whenever it is read`()
        async throws
    {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let start = try await container.notificationToken()
        try await database.save(querySubscription("s", info: Self.full))
        try await database.save(Subscription(.zone(notes, recordType: nil), id: "z"))
        try await database.saveAll((0..<10).map { note("r\($0)", ["n": .int64(Int64($0))]) })
        let first = try await FollowedNotifications(of: container)
        let payloads = first.items.map { $0.payload() }
        #expect(Set(payloads).count == payloads.count && payloads.count == 11)
        for limit in [1, 3, 100] {
            let again = try await FollowedNotifications(of: container, resultsLimit: limit)
            #expect(again.items.map { $0.payload() } == payloads)
        }
        // By the live sequence.
        let page = try await container.notifications(for: "alice", since: start).first { _ in
            true
        }
        let told = try #require(page?.notifications)
        for item in told { #expect(payloads.contains(item.payload()), "\(item.told)") }
        // After the index was made anew, and with what else happened meanwhile.
        try await database.deleteSubscription(withID: "s")
        try await container.maintenance.compact()
        try await container.close()
        try store.deleteIndex()
        let opened = try store.open()
        let later = try await FollowedNotifications(of: opened).items
        #expect(later.map { $0.payload() } == payloads)
        try await opened.close()
    }
}

/// Any JSON; a number as it is written by Swift.
indirect enum JSON: Decodable, Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(String)
    case text(String)
    case list([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .number("\(value)")
        } else if let value = try? container.decode(Double.self) {
            self = .number("\(value)")
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let values = try? container.decode([JSON].self) {
            self = .list(values)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    subscript(name: String) -> JSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }
}
