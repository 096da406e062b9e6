internal import FoundationEssentials
internal import StratusEngine
internal import StratusJournal

/// A call that saves and deletes records: its steps in their order, for callers that await and for
/// threads that wait. The driver of the call does what a step asks for and says what came of it.
///
/// 1. Admission: the caller may write, and is within the limits of the profile.
/// 2. Checks of the call as a whole, before any byte of it is stored: no record is named twice, the
///    operationID has a valid length.
/// 3. What stands for assets is replaced by them, and what is not stored yet is uploaded.
/// 4. What lies in one zone is one commit, which prepares itself. Ahead of it a share of a long tree
///    grows, by commits of its own.
/// 5. Outcomes, in the order of the items.
struct RecordCall: Sendable {
    /// For each item the record as it is now, nil where it is gone, or why nothing was done.
    typealias Outcomes = [Result<Record?, StoreError>]

    enum Step: Sendable {
        /// Find the assets that are named by their checksums.
        case find([RecordItem])
        case upload([RecordItem])
        case grow(any Transaction)
        /// Done although the caller is cancelled.
        case drop(ShareDropping)
        case commit(RecordBatch)
        case done(Outcomes)
    }

    /// What the caller says of the call besides what is to be changed.
    struct Options: Sendable {
        var policy = SavePolicy.ifServerRecordUnchanged
        var isAtomic = false
        /// As ``RecordBatch/isRestore``.
        var isRestore = false
        /// As ``RecordBatch/history``.
        var history: ZoneHistory?
        var operationID: String?
        var clientChangeTokenData: Data?
        /// Whether the call is about one record, whose failure is its own.
        var isSingle = false
        /// Nil of a call that is made at once.
        var longLived: LongLivedRun?
        /// Is told of each item that is done.
        var progress: LongLivedOperation.Progress?
    }

    private enum Phase: Sendable {
        case finding, uploading, naming, committing
    }

    private let database: Database
    private let items: [RecordItem]
    private let options: Options
    private let label: OperationLabel?
    private let claims: ReceiptClaims
    private var phase = Phase.finding
    private var uploaded: UploadedCall
    private var request: OperationRequest?
    /// Nil where the call is about one record.
    private var zones: CallByZone?
    /// How many of the zones are done.
    private var count = 0
    private var growth = ShareGrowthPlan()
    /// Why the commit failed behind which something is still to be done.
    private var failure: EngineError?
    /// Of the one record.
    private var outcomes: Outcomes = []

    /// Admits and checks the call.
    init(
        _ items: [RecordItem], _ options: Options, of database: Database
    ) throws(EngineError) {
        try database.admit(items)
        let items = items.contains(where: \.isShare) ? items.map(\.comparingShares) : items
        self.database = database
        self.items = items
        self.options = options
        zones = options.isSingle ? nil : try CallByZone(items, of: database)
        label = try OperationLabel(
            options.operationID, options.clientChangeTokenData, device: database.device,
            longLived: options.longLived)
        let (claimed, claims) = try database.claimingReceipts(of: items)
        self.claims = claims
        uploaded = UploadedCall(items: claimed)
    }

    /// A call that saves one record.
    init(
        saving record: Record, _ policy: SavePolicy, _ operationID: String?, in database: Database
    ) throws(EngineError) {
        try self.init(
            [.save(record, SaveRule(policy))],
            Options(policy: policy, operationID: operationID, isSingle: true), of: database)
    }

    /// What is to be done now; its driver ends it by ``found(_:)``, ``take(_:)``, ``grew(_:)``,
    /// ``dropped(_:)`` or ``fail(_:)``.
    mutating func step() throws(EngineError) -> Step {
        switch phase {
        case .finding:
            phase = .uploading
            if uploaded.items.hasItem(where: { $0.namesHeldAssets }) {
                return .find(uploaded.items)
            }
            fallthrough
        case .uploading:
            phase = .naming
            if uploaded.items.hasItem(where: { $0.mayHaveAssets }) {
                return .upload(uploaded.items)
            }
            fallthrough
        case .naming:
            phase = .committing
            request = label?.request(
                uploaded.items, options.policy, atomically: options.isAtomic,
                in: database.scope, secret: database.container.reading.identity.secret)
            if uploaded.assets != nil { zones?.replace(with: uploaded.items) }
            growth.drop(database.container.leftShares.takeAll())
            fallthrough
        case .committing:
            if let step = growth.step(in: database.scope) { return step }
            if let failure = failure.take() { try end(failure) }
            while count < zones?.zones.count ?? 1 {
                do throws(EngineError) {
                    return .commit(try batch())
                } catch {
                    try end(error)
                }
            }
            return .done(uploaded.outcomes(zones?.results ?? outcomes, of: items))
        }
    }

    mutating func found(_ items: [RecordItem]) { uploaded.items = items }

    mutating func take(_ uploaded: UploadedCall) { self.uploaded = uploaded }

    /// What became of the items of a commit.
    mutating func take(_ results: Outcomes) {
        if let progress = options.progress {
            let items = zones?.zones[count].items ?? uploaded.items
            for (item, result) in zip(items, results) {
                if case .success = result { progress(item.recordID, 1) }
            }
        }
        if zones == nil { outcomes = results } else { zones?.put(results, ofZone: count) }
        count += 1
        growth.end()
    }

    /// A commit failed.
    mutating func fail(_ failure: EngineError) {
        if let tree = failure.longTree {
            growth.begin(tree)
        } else {
            self.failure = failure
            growth.end()
        }
    }

    /// What came of a commit by which a share grows.
    mutating func grew(_ result: Result<Committed, EngineError>) {
        if let failure = growth.take(result) { fail(failure) }
    }

    /// A share that grew was given up, or could not be.
    mutating func dropped(_ isDone: Bool) {
        let share = growth.endDrop()
        if !isDone { database.container.leftShares.add(share) }
    }

    /// The commit of a zone failed: the call goes on with the next zone, unless all of it failed.
    private mutating func end(_ failure: EngineError) throws(EngineError) {
        let error = StoreError(failure)
        guard zones != nil, error != .reusedOperationID else { throw failure }
        if let longLived = options.longLived {
            if error == .notRecorded {
                zones?.put(recorded: longLived.failures, ofZone: count)
                count += 1
                return
            }
            // It is tried again later.
            guard error.isOutcome else { throw failure }
        }
        zones?.fail(zone: count, error)
        count += 1
    }

    /// The call has ended with these outcomes, or with none.
    func end(_ outcomes: Outcomes) { claims.end(outcomes) }

    private func batch() throws(EngineError) -> RecordBatch {
        let items = zones?.zones[count].items ?? uploaded.items
        var batch = try database.batch(
            items, in: zones?.zones[count].id ?? items[0].recordID.zoneID,
            isAtomic: options.isAtomic, isRestore: options.isRestore, request, uploaded.assets)
        batch.history = options.history
        batch.grownShares = growth.grown
        return batch
    }
}
