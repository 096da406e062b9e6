public import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal

/// How urgent a long-lived operation is: with which priority its task runs.
public enum OperationPriority: Int, Hashable, Sendable, CaseIterable {
    /// After others.
    case low = 0
    /// As others.
    case normal = 1
    /// Before others.
    case high = 2
}

/// A call that the store keeps until its outcome was delivered, also over a restart.
///
/// ``Database/submit(_:operationID:priority:)`` makes one, and
/// ``Container/longLivedOperation(_:for:)`` finds it by its ID. Rules: `Formats/README.md`,
/// "Long-lived operations" (after CloudKit's `isLongLived`).
public struct LongLivedOperation: Sendable {
    /// How far it has come.
    public enum State: String, Hashable, Sendable {
        /// It was not run, or not to its end.
        case pending
        /// It was run, and its outcome is kept.
        case finished
    }

    /// Which database it is about, as its user sees it.
    public enum Scope: String, Hashable, Sendable {
        /// The public one.
        case `public`
        /// The user's own.
        case `private`
        /// What others share with the user.
        case shared
    }

    /// Is told of each item of a modification that was done, with the number 1. Called from any
    /// thread.
    public typealias Progress = @Sendable (Record.ID, Double) -> Void

    /// The name that its user gave it.
    public var operationID: String { stored.entry.id }
    /// Which database it is about.
    public let scope: Scope
    /// What it does.
    public let request: LongLivedRequest
    /// How urgent it is.
    public let priority: OperationPriority
    /// How far it had come when this value was made.
    public let state: State
    /// When it was submitted.
    public let submissionDate: Date
    /// Whether it changes records, and was not run.
    var isPendingChange: Bool { state == .pending && stored.entry.body.isChange }
    /// How a host wants it to be answered.
    package let form: AnswerForm

    private let container: Container
    private let stored: StoredRequest
    private let name: RequestName

    /// Fails where what is kept of the request is damaged.
    init(_ stored: StoredRequest, in container: Container) throws(EngineError) {
        let reading = container.reading
        do {
            request = try LongLivedRequest(
                stored.entry.body, reading.schema, container.foundation.assets)
        } catch {
            throw reading.damaged(at: stored.offset)
        }
        form = AnswerForm(stored.entry.body)
        scope =
            switch stored.entry.scope {
            case .public: .public
            case .private: .private
            case .shared: .shared
            }
        priority =
            switch stored.entry.priority {
            case .low: .low
            case .normal: .normal
            case .high: .high
            }
        state = stored.failures == nil ? .pending : .finished
        submissionDate = Date(timeIntervalSince1970: Double(stored.time) / 1_000_000)
        self.container = container
        self.stored = stored
        name = RequestName(
            of: UserID(bits: stored.entry.caller), stored.entry.id, reading.identity)
    }

    /// Gives the outcome, and forgets the operation: its outcome was delivered.
    ///
    /// An operation that is pending is run first. What changes records is done once, however often
    /// this is called and whenever the process dies; what reads them reads the state in which it
    /// was submitted, in the shared database the newest one. A run that is under way is waited for,
    /// and it goes on where the task that waits is cancelled.
    ///
    /// - Parameter progress: is told of items as they are done, by the run that this begins.
    /// - Throws: ``StoreError`` as the call that is made at once, and that is the outcome;
    ///   `operationCancelled` where the operation was cancelled, `unknownItem` where its outcome
    ///   was delivered or it is forgotten, `changeTokenExpired` with the cause
    ///   `changeToken(.compacted)` where the state that it reads is not kept any more. After
    ///   failures of the store itself, and refusals that pass, such as `requestRateLimited`, it
    ///   stays pending and may be asked again.
    public nonisolated(nonsending) func outcome(
        progress: Progress? = nil
    ) async throws(StoreError) -> LongLivedOutcome {
        LongLivedOutcome(try await deliver(progress: progress))
    }

    /// The same in the order of the request.
    package nonisolated(nonsending) func deliver(
        progress: Progress? = nil
    ) async throws(StoreError) -> LongLivedAnswer {
        let answer: LongLivedAnswer
        do throws(StoreError) {
            answer = try await self.answer(progress: progress)
        } catch {
            if error.isOutcome { try await end(.delivered) }
            throw error
        }
        try await end(.delivered)
        return answer
    }

    /// Ends the operation. One that is pending never runs after that, and the outcome of one that
    /// is finished is forgotten. What was committed before stays: of a modification that is run the
    /// zones that were done. Ending it again is no error.
    public nonisolated(nonsending) func cancel() async throws(StoreError) {
        try await end(.cancelled)
        container.longLivedRuns.cancel(stored.offset)
    }

    /// What it came to, run where it was not; it may be asked again.
    package nonisolated(nonsending) func answer(
        progress: Progress? = nil
    ) async throws(StoreError) -> LongLivedAnswer {
        let priority: TaskPriority =
            switch self.priority {
            case .low: .low
            case .normal: .medium
            case .high: .high
            }
        let runs = container.longLivedRuns
        let outcome = await runs.outcome(of: stored.offset, priority) { [self] in
            do throws(EngineError) {
                return .success(try await run(progress))
            } catch {
                return .failure(StoreError(error))
            }
        }
        guard let outcome else { throw StoreError(JournalError.closed) }
        return try outcome.get()
    }

    private nonisolated(nonsending) func end(
        _ state: RequestStateEntry.State
    ) async throws(StoreError) {
        try await answering { () async throws(EngineError) in
            _ = try await note(state)
        }
        container.longLivedRuns.release(stored.offset)
    }

    /// Says what became of the request; false where it had ended.
    private nonisolated(nonsending) func note(
        _ state: RequestStateEntry.State
    ) async throws(EngineError) -> Bool {
        let change = RequestStateChange(
            name: name,
            entry: RequestStateEntry(
                caller: stored.entry.caller, id: stored.entry.id, request: stored.offset,
                submitted: stored.time, state: state))
        let committed = try await container.engine().commit(change)
        if case .unchanged? = committed.draft.results.first { return false }
        return true
    }
}

// Running.
extension LongLivedOperation {
    private var user: UserID { UserID(bits: stored.entry.caller) }

    /// As its user sees it.
    private var database: Database {
        let entry = stored.entry
        let scope: DatabaseScope =
            switch entry.scope {
            case .public: .public
            case .private: .private(owner: user)
            case .shared: .shared(user: user)
            }
        return Database(
            container: container, scope: scope, principal: .user(user),
            userName: entry.hostName.isEmpty ? user.recordName : entry.hostName,
            device: entry.device.isEmpty ? nil : entry.device)
    }

    private nonisolated(nonsending) func run(
        _ progress: Progress?
    ) async throws(EngineError) -> LongLivedAnswer {
        let known = try await current()
        if let failure = known.failures?.first, failure.count == 0 {
            throw .refused(StoreError(failure))
        }
        let answer: LongLivedAnswer
        do throws(EngineError) {
            answer = try await call(known.failures, progress)
        } catch {
            let refusal = StoreError(error)
            if known.failures == nil, refusal.isOutcome {
                let failure = RequestStateEntry.Failure(
                    start: 0, count: 0, code: refusal.code.rawValue, reason: refusal.reason)
                guard try await note(.finished([failure])) else { throw try await ended() }
            }
            throw error
        }
        if known.failures == nil {
            let failures = answer.failures(upTo: stored.reasonLimit)
            guard try await note(.finished(failures)) else { throw try await ended() }
        }
        return answer
    }

    /// What is known of the request by now.
    private nonisolated(nonsending) func current() async throws(EngineError) -> StoredRequest {
        let now = container.now
        let (name, offset) = (name, stored.offset)
        let known = try await container.read { reading throws(EngineError) -> StoredRequest? in
            try reading.request(name, now: now)
        }
        guard let known, known.offset == offset else { throw try await ended() }
        return known
    }

    /// Why there is no such request.
    private nonisolated(nonsending) func ended() async throws(EngineError) -> EngineError {
        let (name, offset) = (name, stored.offset)
        return try await container.read { reading throws(EngineError) -> EngineError in
            if let last = try reading.requestState(name), last.entry.request == offset,
                case .cancelled = last.entry.state
            {
                return .refused(.requestCancelled)
            }
            return .refused(.noRequest)
        }
    }

    /// - Parameter failures: of a request that was run what failed.
    private nonisolated(nonsending) func call(
        _ failures: [RequestStateEntry.Failure]?, _ progress: Progress?
    ) async throws(EngineError) -> LongLivedAnswer {
        let run = LongLivedRun(
            name: name, request: stored.offset, submitted: stored.time, isReplay: failures != nil,
            failures: failures ?? [])
        switch request {
        case .modify(let modification):
            let options = RecordCall.Options(
                policy: modification.policy, isAtomic: modification.atomically,
                operationID: stored.entry.id,
                clientChangeTokenData: modification.clientChangeTokenData, longLived: run,
                progress: progress)
            let caller = database
            let call = try RecordCall(modification.items, options, of: caller)
            return .items(modification.items, try await caller.run(call, nil))
        case .move(let ids, let zone):
            do throws(EngineError) {
                return .moved(try await database.move(ids, to: zone, stored.entry.id, run))
            } catch {
                guard case .other(let refusal as StoreError) = error, refusal == .notRecorded
                else { throw error }
                throw .refused(.unknownItem, "what was moved then is not kept any more")
            }
        case .records(let ids, let keys):
            try container.limits?.check(itemCount: ids.count)
            let state = try await readState()
            var results: [Record.ID: Result<Record, StoreError>] = [:]
            for begin in stride(from: 0, to: ids.count, by: Self.stepLength) {
                let some = Array(ids[begin..<min(begin + Self.stepLength, ids.count)])
                let found = try await step(state) { view throws(EngineError) in
                    try view.records(for: some, desiredKeys: keys)
                }
                results.merge(found) { _, last in last }
            }
            return .records(ids, results)
        case .query(let fetch):
            let profile = container.limits?.profile
            let state = try await readState()
            var progress = try await step(state) { view throws(EngineError) in
                QueryProgress(
                    try QueryRun(
                        fetch.query, in: fetch.zoneID, of: view, profile,
                        desiredKeys: fetch.desiredKeys, resultsLimit: fetch.resultsLimit,
                        from: fetch.cursor, skippingDamaged: false))
            }
            while !progress.isDone {
                let last = progress
                progress = try await step(state) { view throws(EngineError) in
                    try last.after(QueryStep.long, of: view)
                }
            }
            let done = progress.work
            return .query(
                try await step(state) { view throws(EngineError) -> QueryPage in
                    var work = done
                    return try work.finish(view)
                })
        case .zoneChanges(let zones):
            let state = try await readState()
            var pages: [Result<RecordZoneChanges, StoreError>] = []
            for zone in zones {
                pages.append(
                    try await step(state) { view throws(EngineError) in
                        try view.changes(in: zone)
                    })
            }
            return .zones(zones, pages)
        case .databaseChanges(let token, let limit):
            let page = try await step(try await readState()) {
                view throws(EngineError) -> DatabaseChanges in
                try view.databaseChanges(since: token, resultsLimit: limit)
            }
            return .database(page, isFirst: token == nil)
        }
    }

    /// So many records are looked up before it is asked whether the request was cancelled.
    private static let stepLength = 256

    /// The state that the request reads.
    private nonisolated(nonsending) func readState() async throws(EngineError) -> HeldState {
        let (store, point) = (container, stored.entry.point)
        try store.limits?.admit(user)
        // What a participant may read, the shares say as they are now.
        if stored.entry.scope == .shared { return HeldState(store.published) }
        if let held = store.longLivedRuns.heldState(of: stored.offset, now: store.now) {
            return held
        }
        return try await store.threads.run { () throws(EngineError) in
            try store.state(before: point)
        }
    }

    /// Reads a part on a thread that may wait for the disk, which others use between the parts.
    private nonisolated(nonsending) func step<Answer: Sendable>(
        _ state: HeldState,
        _ body: @escaping @Sendable (DatabaseView) throws(EngineError) -> Answer
    ) async throws(EngineError) -> Answer {
        if container.longLivedRuns.isClosed { throw .closed }
        if Task.isCancelled { throw .refused(.requestCancelled) }
        let caller = database
        return try await container.threads.run { () throws(EngineError) in
            try body(DatabaseView(state.reading, caller.scope, caller.principal, caller.device))
        }
    }
}

extension Container {
    /// In microseconds since 1970: by the clock of the committer or, without one, of the last
    /// commit.
    var now: Int64 {
        switch access {
        case .writing(let engine): engine.clock.now()
        case .reading: state.fold.lastTime
        }
    }

    /// The state of all that lies before `point`. Waits for the disk.
    fileprivate func state(before point: JournalOffset) throws(EngineError) -> HeldState {
        let reading = reading.waiting
        let state = try reading.state(beginningBy: point.previous)
        guard reading.keeps(state), let held = HeldState(published, state) else {
            throw .refused(.expired(.compacted, "the state of that moment is not kept"))
        }
        return held
    }
}

extension DatabaseView {
    /// A page of the changes of a zone, or why it cannot be had.
    fileprivate func changes(
        in zone: LongLivedRequest.ZoneFetch
    ) throws(EngineError) -> Result<RecordZoneChanges, StoreError> {
        do throws(EngineError) {
            return .success(
                try recordZoneChanges(
                    inZoneWith: zone.zoneID, since: zone.token, asOf: zone.point,
                    desiredKeys: zone.desiredKeys, desiredRecordTypes: zone.desiredRecordTypes,
                    resultsLimit: zone.resultsLimit))
        } catch {
            if error.wouldBlock { throw error }
            return .failure(StoreError(error))
        }
    }
}
