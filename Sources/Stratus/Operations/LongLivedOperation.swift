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

    /// Is told of each record that was saved, deleted or moved, then under its new ID, or of those that
    /// were asked for by name read, with the number 1; of one that failed it is not told. Called from
    /// any thread.
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
    /// Whether it changes the store, and was not run.
    var isPendingChange: Bool { state == .pending && stored.entry.body.isChange }
    /// How a host wants it to be answered.
    package let form: AnswerForm

    let container: Container
    let stored: StoredRequest
    let name: RequestName

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
    /// An operation that is pending is run first. What changes the store is done once, however often
    /// this is called and whenever the process dies; what reads it reads the state in which it was
    /// submitted, as far as its user may read it by then. A run that is under way is waited for,
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
    nonisolated(nonsending) func note(
        _ state: RequestStateEntry.State
    ) async throws(EngineError) -> Bool {
        let change = RequestStateChange(name: name, entry: stored.entry(state))
        let committed = try await container.engine().commit(change)
        if case .unchanged? = committed.draft.results.first { return false }
        return true
    }
}
