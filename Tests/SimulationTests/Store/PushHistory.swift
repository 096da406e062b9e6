import FoundationEssentials
import Stratus
import Support

/// What a store did whose devices are sent pushes by senders that fail, hang and die, and where the
/// power may go in it.
struct PushHistory {
    /// What was acknowledged.
    struct State {
        /// How many calls of the disk were made by then.
        var call: Int
        /// What the query subscriptions tell, in the order of commits.
        var told: [String]
        /// How far each device was sent its pushes, at least.
        var positions: [String: UInt64]
    }

    static let devices = ["phone", "pad"]
    private static let zone = RecordZone.ID(zoneName: "notes")
    /// Deliveries, one after the other, and saves in each of them.
    private static let roundCount = 3
    private static let stepCount = 5

    let seed: UInt64
    private(set) var states = [State(call: 0, told: [], positions: [:])]
    private(set) var received: [ReceivedPush] = []
    private(set) var points: [CrashPoint] = []
    private(set) var behaviours: Set<SimulatedSender.Behaviour> = []
    /// What was sent out of order.
    private(set) var disorder: String?
    private var random: SeededGenerator
    private var recordCount = 0
    private var told: [String] = []

    init(seed: UInt64) async throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        try await run()
    }

    static func store(on disk: SimulatedDisk) -> SmallStore {
        SmallStore(on: disk, seed: Campaign.seed)
    }
}

// What is in the store.
extension PushHistory {
    private static func begin(_ container: Container) async throws {
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        var badging = Subscription.NotificationInfo()
        badging.shouldBadge = true
        let half = try Query.Predicate("half = 1")
        let kinds: [(id: String, predicate: Query.Predicate, type: String)] = [
            ("all", .all, "Note"), ("half", half, "Note"), ("end", .all, "Page"),
        ]
        for (id, predicate, type) in kinds {
            try await database.save(
                Subscription(
                    .query(
                        predicate, recordType: type, zoneID: nil,
                        options: .firesOnRecordCreation),
                    id: id, notificationInfo: id == "all" ? badging : nil))
        }
        try await database.save(Subscription(.zone(zone, recordType: nil), id: "zone"))
        for name in devices {
            try await container.registerDevice(
                PushDevice(name: name, token: Data(name.utf8), environment: .production),
                for: "alice")
        }
    }

    /// Saves a record of which only the subscription `end` tells.
    static func saveEnd(in container: Container) async throws {
        try await container.privateDatabase(for: "alice").save(
            Record(
                recordType: "Page", recordID: Record.ID(recordName: "end", zoneID: .default)))
    }

    static func line(_ notification: StoreNotification) -> String {
        let name = notification.recordID?.recordName ?? ""
        return "\(notification.subscriptionID) \(name) \(notification.badge ?? 0)"
    }

    /// The collection.
    static func collection(of container: Container) async throws -> [StoreNotification] {
        try await container.notificationChanges(for: "alice").notifications
    }

    static func positions(of container: Container) async throws -> [String: UInt64] {
        var positions: [String: UInt64] = [:]
        for state in try await container.deviceStates(for: "alice") {
            positions[state.device.name] = state.position
        }
        return positions
    }

    /// Of what one delivery sent, behind these positions, the first push out of order: each lies
    /// behind the position, and behind the push before it. Nil where there is none.
    static func disorder(
        of received: [ReceivedPush], behind positions: [String: UInt64]
    ) -> String? {
        var last = positions.mapValues { [$0, .max, .max] }
        for push in received {
            let order = push.order
            guard let before = last[push.device], before.lexicographicallyPrecedes(order) else {
                return "\(push.device): \(push.subscription) \(push.record) at \(order)"
            }
            last[push.device] = order
        }
        return nil
    }
}

// What is done.
extension PushHistory {
    private mutating func run() async throws {
        let disk = SimulatedDisk()
        let first = try Self.store(on: disk).open()
        try await Self.begin(first)
        try await first.close()
        disk.killProcesses()
        disk.keepsCrashPoints = true
        let container = try Self.store(on: disk).open(stepped: false)
        for round in 0..<Self.roundCount {
            let start = try await Self.positions(of: container)
            let sender = SimulatedSender(disk, seed: random.next())
            let delivery = Task { try await container.deliverPushes(through: sender) }
            for _ in 0..<Self.stepCount { try await save(container, disk, sender) }
            if round == 1 { try await container.checkpoint() }
            // Whatever hangs is answered now.
            delivery.cancel()
            try await delivery.value
            disorder = disorder ?? Self.disorder(of: sender.received, behind: start)
            received += sender.received
            behaviours.formUnion(sender.behaviours)
        }
        points = disk.crashPoints
        try await container.close()
    }

    /// One commit of new records. It waits for their pushes at random: otherwise more records
    /// follow before these are delivered.
    private mutating func save(
        _ container: Container, _ disk: SimulatedDisk, _ sender: SimulatedSender
    ) async throws {
        let before = try await Self.positions(of: container)
        var records: [Record] = []
        for _ in 0...random.below(3) {
            let id = Record.ID(recordName: "r\(recordCount)", zoneID: Self.zone)
            var record = Record(recordType: "Note", recordID: id)
            record["text"] = .string(String(repeating: "x", count: 400))
            record["half"] = .int64(Int64(random.below(2)))
            records.append(record)
            recordCount += 1
            told.append("all \(id.recordName) \(recordCount)")
            if record["half"] == 1 { told.append("half \(id.recordName) 0") }
        }
        let result = try await container.privateDatabase(for: "alice").modifyRecords(
            saving: records)
        if let failure = result.partialFailure { throw failure }
        // This save is durable, and so is all that was committed before it.
        states.append(State(call: disk.callCount, told: told, positions: before))
        if random.oneIn(2) {
            for _ in 0..<random.below(20) { await Task.yield() }
            return
        }
        for device in Self.devices {
            while !sender.isStuck(at: device),
                try await Self.positions(of: container)[device] == before[device]
            {
                await Task.yield()
            }
        }
    }
}
