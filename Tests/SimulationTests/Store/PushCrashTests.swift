import FoundationEssentials
import Stratus
import StratusEngine
import StratusJournal
import Support
import Testing

/// Pushes and power cuts between the sender and the position; copies of a store with devices.
@Suite(.timeLimit(.minutes(240))) struct PushCrashTests {
    /// How many power cuts are tried in each history.
    private static let crashesPerHistory = 25

    /// Counts power cuts.
    private struct Tally {
        /// After them a device was sent again a push that it had received.
        var resent = 0
        /// After them a device received the latest of a subscription for the first time.
        var late = 0
    }

    /// Opens the store after a crash at `point` and delivers, first through a sender that fails,
    /// then all there is. Returns what is wrong.
    private static func problem(
        after point: CrashPoint, seed: UInt64, of history: PushHistory, _ tally: inout Tally
    ) async throws -> String? {
        var random = SeededGenerator(seed: seed)
        let disk = point.crashed(seed: random.next())
        let container = try PushHistory.store(on: disk).open(stepped: false)
        let found = try await PushHistory.collection(of: container)
        // A push that was sent directly after this call may have come after the power cut.
        let before = history.received.filter { $0.call < point.call }
        if let problem = Self.problem(with: found, before, at: point.call, of: history) {
            return problem
        }
        let count = history.states.count { $0.call <= point.call }
        let positions = try await PushHistory.positions(of: container)
        for (device, position) in history.states[count - 1].positions
        where positions[device] ?? 0 < position {
            return "\(device) is at \(positions[device] ?? 0), behind which was \(position)"
        }
        var after: [ReceivedPush] = []
        for isReliable in [false, true] {
            let start = try await PushHistory.positions(of: container)
            let sender = SimulatedSender(disk, seed: isReliable ? nil : random.next())
            let delivery = Task { try await container.deliverPushes(through: sender) }
            if isReliable {
                // In the order of commits it comes behind the others.
                try await PushHistory.saveEnd(in: container)
                for device in PushHistory.devices { await sender.wait(for: "end", on: device) }
            } else {
                for _ in 0..<random.below(40) { await Task.yield() }
            }
            delivery.cancel()
            try await delivery.value
            if let disorder = PushHistory.disorder(of: sender.received, behind: start) {
                return "sent out of order: \(disorder)"
            }
            after += sender.received
        }
        let all = try await PushHistory.collection(of: container)
        try await container.close()
        return Self.problem(with: all, after, beside: found, before, &tally)
    }

    /// What is wrong with a collection after a crash at a call, before which these pushes were
    /// received.
    private static func problem(
        with found: [StoreNotification], _ received: [ReceivedPush], at call: Int,
        of history: PushHistory
    ) -> String? {
        // What was acknowledged, or one commit more.
        let count = history.states.count { $0.call <= call }
        let possible = history.states[(count - 1)..<min(count + 1, history.states.count)]
        let told = found.filter { $0.kind == .query }.map { PushHistory.line($0) }
        if !possible.contains(where: { $0.told == told }) {
            return "tells \(told), not \(possible.map { $0.told })"
        }
        let zones = found.filter { $0.kind != .query }.map { $0.subscriptionID }
        if zones != (told.isEmpty ? [] : ["zone"]) { return "tells of the zone as \(zones)" }
        // The zone is told of at its last change.
        let ids = Set(found.map { $0.id })
        let lost = received.first { $0.subscription != "zone" && !ids.contains($0.id) }
        return lost.map { "\($0.subscription) \($0.record) was sent and is lost" }
    }

    /// What is wrong with all that was sent: `before` the crash, after which the collection was
    /// `found`, and `after` it, when it became `all`.
    private static func problem(
        with all: [StoreNotification], _ after: [ReceivedPush],
        beside found: [StoreNotification], _ before: [ReceivedPush], _ tally: inout Tally
    ) -> String? {
        let lines = (found + all.suffix(1)).map { PushHistory.line($0) }
        if all.map({ PushHistory.line($0) }) != lines || all.last?.subscriptionID != "end" {
            return "pushes changed the collection: \(all.map { PushHistory.line($0) })"
        }
        let ids = Set(all.map { $0.id })
        if let stranger = after.first(where: { !ids.contains($0.id) }) {
            return "\(stranger.subscription) \(stranger.record) was sent and is not there"
        }
        let (had, got) = (Set(before.map { $0.key }), Set(after.map { $0.key }))
        var latest: [Subscription.ID: StoreNotification] = [:]
        for notification in found { latest[notification.subscriptionID] = notification }
        var isLate = false
        for device in PushHistory.devices {
            for notification in latest.values {
                let key = "\(device) \(notification.id)"
                if had.contains(key) { continue }
                guard got.contains(key) else {
                    return "\(device) was never sent \(PushHistory.line(notification))"
                }
                isLate = true
            }
        }
        if isLate { tally.late += 1 }
        if !had.isDisjoint(with: got) { tally.resent += 1 }
        return nil
    }

    // Issue 20, "To be shown".
    @Test func `after a power cut each match is there once and each device has the latest`()
        async throws
    {
        var problems: [String] = []
        var tally = Tally()
        var behaviours: Set<SimulatedSender.Behaviour> = []
        var random = SeededGenerator(seed: Campaign.seed)
        var left = Campaign.subscriptionCrashes
        while left > 0, problems.count < 5 {
            let history = try await PushHistory(seed: random.next())
            let place = "history \(history.seed)"
            if let disorder = history.disorder { problems.append("\(place): \(disorder)") }
            behaviours.formUnion(history.behaviours)
            try #require(history.points.count > history.states.count, "\(place)")
            for _ in 0..<min(left, Self.crashesPerHistory) where problems.count < 5 {
                let point = history.points[random.below(history.points.count)]
                let seed = random.next()
                let cut = "\(place), call \(point.call), seed \(seed)"
                do {
                    let problem = try await Self.problem(
                        after: point, seed: seed, of: history, &tally)
                    if let problem { problems.append("\(cut): \(problem)") }
                } catch {
                    problems.append("\(cut): \(error)")
                }
            }
            left -= Self.crashesPerHistory
        }
        #expect(problems == [])
        // A few need not see everything.
        if Campaign.subscriptionCrashes >= 100, problems.isEmpty {
            #expect(behaviours == Set(SimulatedSender.Behaviour.allCases))
            #expect(tally.resent > 0 && tally.late > 0)
        }
    }
}

// Copies, and what is left of the journal.
extension PushCrashTests {
    private static let zone = RecordZone.ID(zoneName: "notes")

    private static func phone(_ name: String = "phone", token: String = "token") -> PushDevice {
        PushDevice(name: name, token: Data(token.utf8), environment: .production)
    }

    private static func save(
        _ name: String, _ type: String = "Note", in container: Container
    ) async throws {
        var record = Record(
            recordType: type, recordID: Record.ID(recordName: name, zoneID: zone))
        record["text"] = .string(String(repeating: "x", count: 400))
        try await container.privateDatabase(for: "alice").save(record)
    }

    private static func begin(_ container: Container) async throws {
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        for type in ["Note", "Page"] {
            try await database.save(
                Subscription(
                    .query(
                        .all, recordType: type, zoneID: nil, options: .firesOnRecordCreation),
                    id: type))
        }
        try await container.registerDevice(phone(), for: "alice")
    }

    /// Those of all entries of the journal.
    private static func kinds(_ container: Container) throws -> Set<EntryKind> {
        var log = container.log()
        var kinds: Set<EntryKind> = []
        while let line = try log.nextLine() { kinds.insert(line.entry.kind) }
        return kinds
    }

    private static func devices(_ container: Container) async throws -> [String] {
        try await container.deviceStates(for: "alice").map {
            let token = String(decoding: $0.device.token, as: UTF8.self)
            return "\($0.device.name) \(token) \($0.position)"
        }
    }

    @Test(arguments: [true, false])
    func `a copy has no devices, and one that registers with it begins there`(
        isClone: Bool
    ) async throws {
        let store = PushHistory.store(on: SimulatedDisk())
        let container = try store.open(stepped: false)
        try await Self.begin(container)
        try await Self.save("before", in: container)
        #expect(try Self.kinds(container).contains(.device))
        try await container.copy(to: "copy", cloning: isClone)
        #expect(try await Self.devices(container).count == 1)
        try await container.close()
        let copy = try store.opening("copy").open(stepped: false)
        #expect(try await copy.devices(for: "alice") == [])
        // Its files say nothing of them either.
        #expect(try Self.kinds(copy).isDisjoint(with: [.device, .pushPosition]))
        let sender = SimulatedSender(store.disk)
        let delivery = Task { try await copy.deliverPushes(through: sender) }
        try await Self.save("unsent", in: copy)
        // The same token is no reason to go on with the registration of the original.
        try await copy.registerDevice(Self.phone(), for: "alice")
        try await Self.save("page", "Page", in: copy)
        await sender.wait(for: "page")
        delivery.cancel()
        try await delivery.value
        #expect(sender.received.map { $0.record } == ["page"])
        #expect(try await copy.devices(for: "alice") == [Self.phone()])
        try await copy.close()
    }

    @Test func `an index that is made anew of a compacted journal has the same devices`()
        async throws
    {
        let store = PushHistory.store(on: SimulatedDisk())
        var container = try store.open(stepped: false)
        try await Self.begin(container)
        for name in ["pad", "watch"] {
            try await container.registerDevice(Self.phone(name), for: "alice")
        }
        let sender = SimulatedSender(store.disk)
        let delivery = Task { [container] in try await container.deliverPushes(through: sender) }
        for number in 0..<60 {
            let before = try await Self.devices(container)
            try await Self.save("r\(number)", in: container)
            // Every device has a position behind it.
            while try await zip(before, Self.devices(container)).contains(where: { $0 == $1 }) {
                await Task.yield()
            }
            if number == 20 {
                try await container.removeDevice(named: "pad", for: "alice")
                try await container.removeDevice(named: "watch", for: "alice")
            }
            if number == 30 { try await container.registerDevice(Self.phone("pad"), for: "alice") }
            if number == 40 {
                try await container.registerDevice(
                    Self.phone("pad", token: "new"), for: "alice")
            }
        }
        delivery.cancel()
        try await delivery.value
        let devices = try await Self.devices(container)
        #expect(devices.map { $0.prefix(4) } == ["pad ", "phon"])
        try await container.maintenance.compact()
        try await container.checkpoint()
        #expect(try await Self.devices(container) == devices)
        try await container.close()
        let findings = try store.verification().findings.filter { $0.severity == .damage }
        #expect(findings.isEmpty, "\(findings)")
        try store.loseIndex()
        container = try store.open(stepped: false)
        #expect(try await Self.devices(container) == devices)
        try await container.close()
    }
}
