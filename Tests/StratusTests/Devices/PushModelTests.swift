import FoundationEssentials
import Stratus
import Support
import Synchronization
import Testing

/// Pushes by senders that fail, hang and end at random, beside random saves.
@Suite(.timeLimit(.minutes(240))) struct PushModelTests {
    /// How many histories are run: STRATUS_PUSH_SEEDS.
    private static let seeds =
        ProcessInfo.processInfo.environment["STRATUS_PUSH_SEEDS"].flatMap { Int($0) } ?? 20
    private static let rounds = 12
    private static let devices = ["phone", "pad", "watch"]
    private static let types = ["A", "B", "C"]

    /// A push that was delivered.
    private struct Delivered: Hashable, Sendable {
        var device: String
        /// Named as the type of its records.
        var subscription: String
        /// Of the record: each save has the next one.
        var number: Int
    }

    /// Answers at random, and notes what it delivered in each run.
    private final class RandomSender: PushSender {
        private let random: Mutex<SeededGenerator>
        private let isReliable: Bool
        private let log = Mutex<[Delivered]>([])

        init(_ random: inout SeededGenerator, isReliable: Bool) {
            self.random = Mutex(SeededGenerator(seed: random.next()))
            self.isReliable = isReliable
        }

        var delivered: [Delivered] { log.withLock { $0 } }

        func send(_ push: Push) async -> PushOutcome {
            let choice = isReliable ? 0 : random.withLock { $0.below(10) }
            for _ in 0..<choice { await Task.yield() }
            if choice == 9 {
                while !Task.isCancelled { await Task.yield() }
                return .retry
            }
            if choice > 5 { return .retry }
            let name = push.notification.recordID?.recordName ?? ""
            log.withLock {
                $0.append(
                    Delivered(
                        device: push.device.name, subscription: push.notification.subscriptionID,
                        number: Int(name.dropFirst()) ?? -1))
            }
            return .delivered
        }
    }

    /// The latest that each device is to be sent of each subscription.
    private struct Expected {
        private(set) var latest: [[String]: Delivered] = [:]

        mutating func note(_ number: Int, _ type: String, by device: String?) {
            for other in PushModelTests.devices where other != device {
                latest[[other, type]] = Delivered(
                    device: other, subscription: type, number: number)
            }
        }
    }

    private static func begin(_ container: Container) async throws {
        let database = container.privateDatabase(for: "alice")
        for type in types { try await database.save(querySubscription(type, type: type)) }
        for name in devices { try await container.registerDevice(pushDevice(name), for: "alice") }
    }

    /// Of each device the numbers of what it was sent in a run, in their order.
    private static func order(_ delivered: [Delivered]) -> [String: [Int]] {
        Dictionary(grouping: delivered) { $0.device }.mapValues { $0.map { $0.number } }
    }

    @Test(arguments: 0..<seeds)
    func `the latest of each subscription comes at least once, and in a run all is in order`(
        seed: Int
    ) async throws {
        var random = SeededGenerator(seed: UInt64(seed) + 9000)
        let store = DiskStore()
        var container = try store.open()
        try await Self.begin(container)
        var expected = Expected()
        var delivered: Set<Delivered> = []
        // Which device made each save.
        var devices: [String?] = []
        for round in 0...Self.rounds {
            let isLast = round == Self.rounds
            let sender = RandomSender(&random, isReliable: isLast)
            let running = container
            let delivery = Task { try await running.deliverPushes(through: sender) }
            for _ in 0..<random.below(5) {
                let device = random.oneIn(2) ? Self.devices[random.below(3)] : nil
                let (type, count) = (Self.types[random.below(3)], devices.count)
                try await container.privateDatabase(for: "alice", device: device).save(
                    note("r\(count)", type: type, in: .default))
                expected.note(count, type, by: device)
                devices.append(device)
                for _ in 0..<random.below(60) { await Task.yield() }
            }
            if isLast {
                let due = Set(expected.latest.values)
                while !due.isSubset(of: delivered.union(sender.delivered)) { await Task.yield() }
            }
            delivery.cancel()
            try await delivery.value
            for (device, numbers) in Self.order(sender.delivered) {
                let isRising = zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
                #expect(isRising, "seed \(seed), round \(round), \(device): \(numbers)")
            }
            delivered.formUnion(sender.delivered)
            if random.oneIn(3), !isLast {
                try await container.close()
                container = try store.open()
            }
        }
        let isAnyOwn = delivered.contains { devices[$0.number] == $0.device }
        #expect(!isAnyOwn, "seed \(seed)")
        try await container.close()
    }
}
