import FoundationEssentials
import Stratus
import Synchronization

/// Notes what it is asked to send, and answers as a test says.
final class TestSender: PushSender {
    struct Sent: Sendable {
        var device: PushDevice
        var user: Record.ID
        var told: String
        var hasMore: Bool
        var payload: Data
        var outcome: PushOutcome
    }

    private let log = Mutex<[Sent]>([])
    private let askedCount = Atomic(0)
    private let answer: @Sendable (Push, Int) async -> PushOutcome

    /// - Parameter answer: of a push, and how many were asked for before.
    init(
        _ answer: @escaping @Sendable (Push, Int) async -> PushOutcome = { _, _ in .delivered }
    ) {
        self.answer = answer
    }

    func send(_ push: Push) async -> PushOutcome {
        let number = askedCount.add(1, ordering: .relaxed).oldValue
        let outcome = await answer(push, number)
        let sent = Sent(
            device: push.device, user: push.user, told: push.notification.told,
            hasMore: push.hasMore, payload: push.payload, outcome: outcome)
        log.withLock { $0.append(sent) }
        return outcome
    }

    /// In the order of the answers.
    var sent: [Sent] { log.withLock { $0 } }

    /// What a device was asked to be sent.
    func lines(_ device: String = "phone") -> [String] {
        sent.filter { $0.device.name == device }.map { $0.told }
    }

    /// Waits until a device was asked to be sent that.
    func wait(for line: String, on device: String = "phone") async {
        while !lines(device).contains(line) { await Task.yield() }
    }
}

func pushDevice(_ name: String = "phone", token: String = "token") -> PushDevice {
    PushDevice(name: name, token: Data(token.utf8), environment: .development)
}

/// Delivers pushes while `body` runs.
func delivering(
    _ container: Container, through sender: TestSender, _ body: () async throws -> Void
) async throws {
    let delivery = Task { try await container.deliverPushes(through: sender) }
    do {
        try await body()
    } catch {
        delivery.cancel()
        throw error
    }
    delivery.cancel()
    try await delivery.value
}

extension Container {
    /// How far a device of alice was sent its pushes.
    func pushPosition(of device: String = "phone") async throws -> UInt64? {
        try await deviceStates(for: "alice").first { $0.device.name == device }?.position
    }
}
