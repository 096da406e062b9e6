import FoundationEssentials
import Stratus

// A store with devices. Its checkpoint can be used by readers, so that a verification compares its
// rows with the journal.
extension SampleMaker {
    private struct Sender: PushSender {
        func send(_ push: Push) async -> PushOutcome { .delivered }
    }

    /// Sends the devices what waits for them, until the user's first one has another position.
    private static func deliver(_ container: Container, to user: String) async throws {
        let before = try await container.deviceStates(for: user).first?.position
        let delivery = Task { try await container.deliverPushes(through: Sender()) }
        while try await container.deviceStates(for: user).first?.position == before {
            await Task.yield()
        }
        delivery.cancel()
        try await delivery.value
    }

    private static func device(
        _ name: String, _ token: String, _ environment: PushEnvironment = .development
    ) -> PushDevice {
        PushDevice(name: name, token: Data(token.utf8), environment: environment)
    }

    /// Devices of two users: registered, with another token, removed, and registered again;
    /// positions of a registration that goes on and of one that has ended; behind the checkpoint
    /// some more.
    static func devices() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 94)
        let container = try maker.open()
        let alice = container.privateDatabase(for: "alice")
        try await maker.fill(alice, saves: 2)
        try await alice.save(
            Subscription(
                .query(.all, recordType: "Note", zoneID: nil, options: .firesOnRecordCreation),
                id: "notes"))
        try await container.registerDevice(device("phone", "first"), for: "alice")
        try await alice.save(maker.record("ended"))
        try await deliver(container, to: "alice")
        try await container.removeDevice(named: "phone", for: "alice")
        try await container.registerDevice(
            device("phone", "second", .production), for: "alice")
        try await alice.save(maker.record("sent"))
        try await deliver(container, to: "alice")
        try await container.registerDevice(device("phone", "third", .production), for: "alice")
        try await container.registerDevice(device("tæblet", "removed"), for: "alice")
        try await container.removeDevice(named: "tæblet", for: "alice")
        try await container.registerDevice(device("phone", "of bob"), for: "bob")
        try await container.checkpoint()
        try await alice.save(maker.record("last"))
        try await deliver(container, to: "alice")
        try await container.registerDevice(device("tæblet", "again"), for: "alice")
        try await container.removeDevice(named: "phone", for: "bob")
        try await container.close()
        return maker.files
    }
}
