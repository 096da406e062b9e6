internal import StratusEngine
internal import StratusJournal
internal import Synchronization

/// Sends the devices of a store their pushes, each in a task of its own.
final class PushDelivery: Sendable {
    private struct State {
        /// Of the devices that have a task: the last entry that is known to register them.
        var registrations: [DeviceKey: JournalOffset] = [:]
        /// The first one.
        var failure: EngineError?
    }

    private let container: Container
    private let engine: Engine
    private let sender: any PushSender
    private let state = Mutex(State())

    init(container: Container, engine: Engine, sender: some PushSender) {
        self.container = container
        self.engine = engine
        self.sender = sender
    }

    /// Runs until the task is cancelled, the container closed, or a device fails.
    nonisolated(nonsending) func run() async throws(EngineError) {
        let (changes, signal) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withDiscardingTaskGroup { group in
            group.addTask { await self.watch(signal) }
            for await _ in changes {
                for device in await newDevices(signal) {
                    group.addTask { await self.deliver(to: device, signal) }
                }
            }
            group.cancelAll()
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Signals now, and each time that devices have changed. The signals end with the store.
    private nonisolated(nonsending) func watch(_ signal: AsyncStream<Void>.Continuation) async {
        defer { signal.finish() }
        while !Task.isCancelled {
            let head = container.state.head
            signal.yield()
            guard await container.published.change(of: [.devices], since: head) else { return }
        }
    }

    /// The devices that have no task yet.
    private nonisolated(nonsending) func newDevices(
        _ signal: AsyncStream<Void>.Continuation
    ) async -> [DeviceKey] {
        do throws(EngineError) {
            let registered = try await container.read {
                reading throws(EngineError) -> [(key: DeviceKey, offset: JournalOffset)] in
                try reading.deviceKeys()
            }
            return state.withLock { state in
                var new: [DeviceKey] = []
                for (key, offset) in registered {
                    let known = state.registrations[key]
                    state.registrations[key] = max(known ?? offset, offset)
                    if known == nil { new.append(key) }
                }
                return new
            }
        } catch {
            fail(error, signal)
            return []
        }
    }

    /// Whether the task of a device may end, which is not registered in a state that ended at
    /// `head`. Where it was registered behind that, the task goes on.
    private func mayEnd(_ device: DeviceKey, at head: JournalOffset) -> Bool {
        state.withLock { state in
            if let known = state.registrations[device], known >= head { return false }
            state.registrations[device] = nil
            return true
        }
    }

    private func fail(_ error: EngineError, _ signal: AsyncStream<Void>.Continuation) {
        // That the task is cancelled or the container closed is the usual end.
        if StoreError(error).code != .operationCancelled {
            state.withLock { $0.failure = $0.failure ?? error }
        }
        signal.finish()
    }
}

// A device.
extension PushDelivery {
    private nonisolated(nonsending) func deliver(
        to device: DeviceKey, _ signal: AsyncStream<Void>.Continuation
    ) async {
        var known: PushPosition?
        // What was sent behind that.
        var sent: Set<NotificationIdentifier> = []
        do throws(EngineError) {
            while !Task.isCancelled {
                let (page, head) = try await read(device, behind: known)
                guard let page else {
                    if mayEnd(device, at: head) { return }
                    continue
                }
                if known?.start != page.device.start {
                    known = page.start
                    sent = []
                }
                guard let position = page.position, !(page.pushes.isEmpty && sent.isEmpty) else {
                    known = page.position ?? known
                    let published = container.published
                    guard await published.change(of: page.watched, since: page.head) else {
                        return
                    }
                    continue
                }
                switch try await send(page, device, &sent) {
                case .delivered:
                    try await commit(PushProgress(key: device, position: position))
                    known = position
                    sent = []
                case .retry:
                    // A sender that answers without waiting leaves the thread to others.
                    await Task.yield()
                case .unregistered:
                    _ = try await engine.commit(
                        DeviceRemoval(
                            user: page.user, name: page.device.name,
                            registration: page.device.offset))
                }
            }
        } catch {
            // Damage of one device's, or one user's, entries is no reason to leave out the others.
            if error.isDamage {
                state.withLock { $0.failure = $0.failure ?? error }
            } else {
                fail(error, signal)
            }
        }
    }

    /// Commits what was done, also where the task was cancelled since.
    private nonisolated(nonsending) func commit(
        _ progress: PushProgress
    ) async throws(EngineError) {
        let engine = engine
        let result = await Task { () -> Result<Void, EngineError> in
            do throws(EngineError) {
                _ = try await engine.commit(progress)
                return .success(())
            } catch {
                return .failure(error)
            }
        }.value
        try result.get()
    }

    /// What the device has to be sent, and where the journal ended.
    private nonisolated(nonsending) func read(
        _ device: DeviceKey, behind known: PushPosition?
    ) async throws(EngineError) -> (page: PushPage?, head: JournalOffset) {
        try await container.read {
            reading throws(EngineError) -> (page: PushPage?, head: JournalOffset) in
            (try reading.pushPage(for: device, behind: known), reading.head)
        }
    }

    /// Sends what was not sent, up to the first that is not delivered, as long as the device is
    /// registered as it was, its user's account can be used, and the user may be told.
    private nonisolated(nonsending) func send(
        _ page: PushPage, _ device: DeviceKey, _ sent: inout Set<NotificationIdentifier>
    ) async throws(EngineError) -> PushOutcome {
        for push in page.pushes where !sent.contains(push.notification.id) {
            // Nothing of the page is lost: no position was written.
            if Task.isCancelled { return .retry }
            if container.state.head != page.head {
                let maySend = try await container.read { reading throws(EngineError) -> Bool in
                    try reading.maySend(push, of: page, to: device)
                }
                if !maySend { return .retry }
            }
            let outcome = await sender.send(push)
            guard outcome == .delivered else { return outcome }
            sent.insert(push.notification.id)
        }
        return .delivered
    }
}
