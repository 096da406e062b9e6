import FoundationEssentials
import Stratus
import Support
import Synchronization
import Testing

/// Pushes and power cuts between the sender and the position; copies of a store with devices.
@Suite(.timeLimit(.minutes(60))) struct PushCrashTests {
    private static let zone = RecordZone.ID(zoneName: "notes")
    private static let stepCount = 12

    /// Notes the names of the records that it was asked to tell of, and how many calls of the disk
    /// had been made.
    private final class Sender: PushSender {
        private let disk: SimulatedDisk
        private let log = Mutex<[(name: String, call: Int)]>([])

        init(_ disk: SimulatedDisk) { self.disk = disk }

        var sent: [(name: String, call: Int)] { log.withLock { $0 } }

        func send(_ push: Push) async -> PushOutcome {
            let name = push.notification.recordID?.recordName ?? ""
            let call = disk.callCount
            log.withLock { $0.append((name: name, call: call)) }
            return .delivered
        }

        func wait(for name: String) async {
            while !sent.contains(where: { $0.name == name }) { await Task.yield() }
        }
    }

    /// A save, and what became of its push, by how many calls of the disk were made by then.
    private struct Step {
        var name: String
        var sent: Int
        /// Later than that the position behind it was durable.
        var noted = Int.max
    }

    private static func store(on disk: SimulatedDisk) -> SmallStore {
        SmallStore(on: disk, seed: Campaign.seed)
    }

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

    private static func position(of container: Container) async throws -> UInt64? {
        try await container.deviceStates(for: "alice").first?.position
    }

    /// Saves, and waits until each was pushed and its position is written.
    private static func work(
        _ container: Container, _ disk: SimulatedDisk
    ) async throws -> [Step] {
        let sender = Sender(disk)
        let delivery = Task { try await container.deliverPushes(through: sender) }
        var steps: [Step] = []
        for number in 0..<stepCount {
            let name = "r\(number)"
            let before = try await position(of: container)
            try await save(name, in: container)
            // This save is durable, and so is all that was committed before it.
            if number > 0 { steps[number - 1].noted = disk.callCount }
            await sender.wait(for: name)
            while try await position(of: container) == before { await Task.yield() }
            let call = sender.sent.first { $0.name == name }?.call
            steps.append(Step(name: name, sent: try #require(call)))
            if number == stepCount / 2 { try await container.checkpoint() }
        }
        delivery.cancel()
        try await delivery.value
        return steps
    }

    /// Opens the store after a crash at `point` and delivers. Returns what is wrong.
    private static func problem(
        after point: CrashPoint, seed: UInt64, of steps: [Step]
    ) async throws -> String? {
        let disk = point.crashed(seed: seed)
        let container = try store(on: disk).open(stepped: false)
        let told = try await container.notificationChanges(for: "alice").notifications
        let sender = Sender(disk)
        let delivery = Task { try await container.deliverPushes(through: sender) }
        // In the order of commits it comes behind the others.
        try await save("page", "Page", in: container)
        await sender.wait(for: "page")
        delivery.cancel()
        try await delivery.value
        try await container.close()
        guard let last = told.last?.recordID?.recordName,
            let step = steps.first(where: { $0.name == last })
        else { return sender.sent.count == 1 ? nil : "sent \(sender.sent) of nothing" }
        let again = sender.sent.contains { $0.name == last }
        if step.sent > point.call, !again { return "\(last) was never sent" }
        if step.noted <= point.call, again { return "\(last) came again" }
        return nil
    }

    @Test func `wherever the power goes, a push was sent or comes, and not behind its position`()
        async throws
    {
        let disk = SimulatedDisk()
        let first = try Self.store(on: disk).open()
        try await Self.begin(first)
        try await first.close()
        disk.killProcesses()
        disk.keepsCrashPoints = true
        let container = try Self.store(on: disk).open(stepped: false)
        let steps = try await Self.work(container, disk)
        let points = disk.crashPoints
        try await container.close()
        #expect(points.count > Self.stepCount)
        var problems: [String] = []
        var random = SeededGenerator(seed: Campaign.seed)
        for _ in 0..<Campaign.subscriptionCrashes where problems.count < 5 {
            let point = points[random.below(points.count)]
            let seed = random.next()
            do {
                let problem = try await Self.problem(after: point, seed: seed, of: steps)
                if let problem { problems.append("call \(point.call), seed \(seed): \(problem)") }
            } catch {
                problems.append("call \(point.call), seed \(seed): \(error)")
            }
        }
        #expect(problems == [])
    }
}

// Copies, and what is left of the journal.
extension PushCrashTests {
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
        let store = Self.store(on: SimulatedDisk())
        let container = try store.open(stepped: false)
        try await Self.begin(container)
        try await Self.save("before", in: container)
        try await container.copy(to: "copy", cloning: isClone)
        #expect(try await Self.devices(container).count == 1)
        try await container.close()
        let copy = try store.opening("copy").open(stepped: false)
        #expect(try await copy.devices(for: "alice") == [])
        let sender = Sender(store.disk)
        let delivery = Task { try await copy.deliverPushes(through: sender) }
        try await Self.save("unsent", in: copy)
        // The same token is no reason to go on with the registration of the original.
        try await copy.registerDevice(Self.phone(), for: "alice")
        try await Self.save("page", "Page", in: copy)
        await sender.wait(for: "page")
        delivery.cancel()
        try await delivery.value
        #expect(sender.sent.map { $0.name } == ["page"])
        #expect(try await copy.devices(for: "alice") == [Self.phone()])
        try await copy.close()
    }

    @Test func `an index that is made anew of a compacted journal has the same devices`()
        async throws
    {
        let store = Self.store(on: SimulatedDisk())
        var container = try store.open(stepped: false)
        try await Self.begin(container)
        for name in ["pad", "watch"] {
            try await container.registerDevice(Self.phone(name), for: "alice")
        }
        let sender = Sender(store.disk)
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
        store.disk.killProcesses()
        store.settle()
        try store.loseCheckpoint()
        store.deleteIndexFiles()
        container = try store.open(stepped: false)
        #expect(try await Self.devices(container) == devices)
        try await container.close()
    }
}
