import FoundationEssentials
import Stratus
import Support
import Synchronization

/// A push that reached its device, whatever the store came to know of it.
struct ReceivedPush: Sendable {
    var device: String
    var subscription: Subscription.ID
    /// The name of the record; empty where it tells of a zone.
    var record: String
    var id: NotificationIdentifier
    /// How many calls of the disk had been made.
    var call: Int

    init(_ push: Push, call: Int) {
        device = push.device.name
        subscription = push.notification.subscriptionID
        record = push.notification.recordID?.recordName ?? ""
        id = push.notification.id
        self.call = call
    }

    /// The same of every push of the notification to the device.
    var key: String { "\(device) \(id)" }

    /// Rises in the order of pages: the offset, the place and the number of
    /// `Formats/Notification.md`, "Identifiers".
    var order: [UInt64] {
        let bytes = [UInt8](Data(base64Encoded: id.description) ?? Data())
        guard bytes.count == 21 else { return [] }
        func number(_ range: Range<Int>) -> UInt64 {
            bytes[range].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        return [number(9..<17), number(17..<21), number(1..<9)]
    }
}

/// A sender of pushes that at random delivers, fails, hangs, or dies behind a delivery.
final class SimulatedSender: PushSender {
    enum Behaviour: CaseIterable, Sendable {
        case delivers
        /// Delivers nothing, and asks for another try.
        case fails
        /// Delivers nothing, and does not answer until it is cancelled.
        case hangs
        /// Delivers, and does not answer until it is cancelled.
        case dies
    }

    private struct State {
        /// Nil: it always delivers.
        var random: SeededGenerator?
        var received: [ReceivedPush] = []
        var behaviours: Set<Behaviour> = []
        /// The devices that have no answer until it is cancelled.
        var stuck: Set<String> = []

        mutating func next() -> (behaviour: Behaviour, delay: Int) {
            let delay = random?.below(8) ?? 0
            let choice = random?.below(16) ?? 15
            let behaviour: Behaviour =
                switch choice {
                case 0: .hangs
                case 1: .dies
                case 2...5: .fails
                default: .delivers
                }
            behaviours.insert(behaviour)
            return (behaviour, delay)
        }
    }

    private let disk: SimulatedDisk
    private let state: Mutex<State>

    /// - Parameter seed: of what it does; nil: it always delivers.
    init(_ disk: SimulatedDisk, seed: UInt64? = nil) {
        self.disk = disk
        state = Mutex(State(random: seed.map { SeededGenerator(seed: $0) }))
    }

    func send(_ push: Push) async -> PushOutcome {
        let (behaviour, delay) = state.withLock { $0.next() }
        for _ in 0..<delay { await Task.yield() }
        if behaviour == .delivers || behaviour == .dies {
            let received = ReceivedPush(push, call: disk.callCount)
            state.withLock { $0.received.append(received) }
        }
        if behaviour == .hangs || behaviour == .dies { await hang(at: push.device.name) }
        return behaviour == .delivers ? .delivered : .retry
    }

    private func hang(at device: String) async {
        state.withLock { _ = $0.stuck.insert(device) }
        // Nothing comes: it ends with the task.
        let (nothing, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in nothing {}
        continuation.finish()
    }

    /// In the order in which they reached their devices.
    var received: [ReceivedPush] { state.withLock { $0.received } }
    var behaviours: Set<Behaviour> { state.withLock { $0.behaviours } }

    /// Whether a device gets no answer any more.
    func isStuck(at device: String) -> Bool { state.withLock { $0.stuck.contains(device) } }

    /// Waits until a device was told of a record.
    func wait(for record: String, on device: String = "phone") async {
        while !received.contains(where: { $0.record == record && $0.device == device }) {
            await Task.yield()
        }
    }
}
