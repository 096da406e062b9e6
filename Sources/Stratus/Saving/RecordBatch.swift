internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// Saves and deletes in one zone: one commit.
struct RecordBatch: RecordedTransaction {
    typealias Item = RecordItem

    let scope: DatabaseScope
    var principal: Principal
    /// The user whose name the changes bear.
    let caller: UserID
    /// That user's name as the host gave it.
    let userName: String
    let zoneID: RecordZone.ID
    var items: [Item]
    /// Whether one item's failure is that of all.
    let isAtomic: Bool
    /// Whether it brings an earlier state back, which is what the items say and nothing else: the zone
    /// is made where it is not there, deletions take nothing along, and targets may be missing.
    let isRestore: Bool
    /// Of a restore of a zone that is not there: what it was, item by item.
    var history: ZoneHistory?
    /// Nil where nothing is limited.
    let limits: Limits?
    let environment: Container.Environment
    /// What the caller says of the whole call.
    var operation: OperationRequest?
    /// The assets of the whole call; nil where there are none.
    var assets: SealedAssets?
    /// Nil where the host has none.
    var rules: RecordRules?
    /// What the rules made of it; nil: they are still to run.
    var ruled: RuledItems?
    /// Which of the caller's devices asks; nil: the one without a name.
    var device: String?
    /// By the names of their roots.
    var grownShares: [String: ShareGrowthPlan.Grown] = [:]

    private enum Attempt {
        case draft(Draft)
        case needsSerial
        /// These items fail, which was found when others had been encoded that rely on them: what
        /// is left is checked again without them.
        case retry(without: [Int: StoreError])
        /// The host's rules refuse these items, because of what these keys say.
        case refused([Int: StoreError], [IndexKey])
    }

    /// Checks and encodes the items; nil where that needs a serial context.
    func draftItems(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var (reading, context) = (reading, context)
        var failed: [Int: StoreError] = [:]
        var relied: [IndexKey] = []
        while true {
            var hasParts = false
            let attempt = try attempt(reading, context, without: failed) {
                step throws(EngineError) in
                hasParts = true
                return try sink(step)
            }
            switch attempt {
            case .draft(var draft):
                draft.readSet += relied
                return draft
            case .needsSerial: return nil
            case .retry(let late): failed.merge(late) { first, _ in first }
            case .refused(let refused, let keys):
                failed.merge(refused) { first, _ in first }
                relied += keys
            }
            guard hasParts else { continue }
            reading = try sink(.takeBack).reading
            // What the group held was written ahead of the first part.
            context.staged = [:]
        }
    }

    /// `failed` are the items that an earlier attempt found to fail.
    private func attempt(
        _ reading: StoreReading, _ context: PreparationContext, without failed: [Int: StoreError],
        sink: PartSink
    ) throws(EngineError) -> Attempt {
        var draft = Draft(reading)
        draft.readSet.reserveCapacity(items.count + 2)
        // What is said of declared indexes depends on which there are.
        draft.readSet.append(KeySpace.indexes.key())
        // Surely longer than a part: checking it here as well would be lost work.
        guard context.isSerial || items.count <= context.partLimit / 128 else {
            return .needsSerial
        }
        try reading.checkAccount(of: principal, in: scope)
        var numbers = NumberAssignment(
            reading, context, environment, limits?.profile.indexing ?? .declared)
        let (user, database) = try numbers.caller(caller, name: userName, in: scope, zoneID)
        try checkThatItIsShared(reading)
        let zone = try numbers.zone(
            zoneID, in: database, orMade: isRestore, of: history?.lineage, &draft)
        guard let user, let zone else { return .needsSerial }
        draft.user = user
        draft.zone = zone
        draft.readSet.append(.identity(user))
        if scope == .public {
            draft.readSet += [.roles(user), KeySpace.schemaText.key()]
        }
        let access = try access(to: zone, without: failed, reading, &draft)

        var parents = try ParentCheck(self, reading, zone: zone.number, access)
        var failures = try plan(
            zone, access, reading, context, without: failed, &parents, &numbers, &draft)
        var ruled = ruled
        if let rules, ruled == nil, !isRestore {
            switch try outcome(
                of: rules, in: zone, access, reading, context, draft.results, failures)
            {
            case .notConcerned: break
            case .passed(let items): ruled = items
            case .extended(let batch):
                return try batch.extendedAttempt(reading, context, without: failed, sink: sink)
            case .refused(let refused, let keys):
                guard isAtomic else { return .refused(refused, keys) }
                draft.readSet += keys
                failures.merge(refused) { first, _ in first }
            }
        }
        if let ruled {
            draft.readSet += ruled.readSet
            if let lost = ruled.lost(in: draft, of: self) { return .retry(without: lost) }
        }
        if let lost = lostShares(draft, access), failed.isEmpty {
            return .retry(without: lost)
        }
        // What was assigned for items that failed is not written either.
        if draft.results.allSatisfy(\.writesNothing) {
            failTogether(failures, &draft)
            return .draft(draft)
        }
        if !isAtomic {
            let orphans = try parents.failures(after: draft)
            if !orphans.isEmpty { return .retry(without: orphans) }
        }
        let sharing = try sharing(
            in: zone, access, reading, context, hasFailed: !failures.isEmpty, &numbers, &draft)
        if numbers.isIncomplete || sharing?.needsSerial == true { return .needsSerial }
        if let late = sharing?.failures, !late.isEmpty {
            guard isAtomic else { return .retry(without: late) }
            failures.merge(late.mapValues { $0 }) { first, _ in first }
        }
        // What is refused already is encoded for its errors only. (Of a deletion, what goes along
        // with it may be found in what was written.)
        let isRefused = isAtomic && draft.results.contains(where: \.hasFailed)
        let isDiscarded =
            (isRefused || !failures.isEmpty) && items.allSatisfy { !$0.isDeletion }
        let author = Author(user, onDevice: device, seed: reading.identity.secret)
        let quota = try QuotaRoom(scope, zone.database, limits, reading, context)
        var encoder = RecordEncoder(
            reading: reading, context: context, zone: zone, by: author, batch: self,
            numbers: numbers, sharing: sharing, quota: quota)
        var hasParts = false
        var late: [Int: StoreError] = [:]
        do throws(EngineError) {
            late = try encode(&encoder, parents, &draft) { step throws(EngineError) in
                hasParts = true
                return isDiscarded
                    ? StagedPart(start: reading.head, reading: reading) : try sink(step)
            }
        } catch {
            if error.wouldBlock { throw error }
            // All fail together, and no item because of another.
            ruled = nil
            for index in draft.results.indices where !draft.results[index].hasFailed {
                draft.results[index] = .failed(StoreError(error).with(items[index].recordID))
            }
        }
        if encoder.needsSerial { return .needsSerial }
        if !late.isEmpty { return .retry(without: late) }
        if let lost = ruled?.lost(in: draft, of: self) { return .retry(without: lost) }
        failTogether(failures, &draft)
        // Names, users and zones are of no use without what they were assigned for, and must not
        // fix the type of a field that was not saved.
        let writesNothing =
            hasParts
            ? draft.results.allSatisfy(\.hasFailed)
            : draft.results.allSatisfy(\.writesNothing)
        if writesNothing { draft.buffer = CommitBuffer() }
        return .draft(draft)
    }

    /// The attempt of a batch with what triggers added, as that of the caller's items.
    private func extendedAttempt(
        _ reading: StoreReading, _ context: PreparationContext, without failed: [Int: StoreError],
        sink: PartSink
    ) throws(EngineError) -> Attempt {
        switch try attempt(reading, context, without: failed, sink: sink) {
        case .needsSerial: return .needsSerial
        case .draft(var draft):
            ruled?.finish(&draft, of: self)
            return .draft(draft)
        case .refused(let refused, let keys): return .refused(refused, keys)
        case .retry(let late):
            return .retry(without: ruled?.blamed(for: late, in: self) ?? late)
        }
    }

    /// Checks the items. Returns what failed of an atomic batch and is still encoded: nothing
    /// of it is stored, but what an item is told does not depend on which others fail.
    private func plan(
        _ zone: ZonePlace, _ access: SharedZone?, _ reading: StoreReading,
        _ context: PreparationContext, without failed: [Int: StoreError],
        _ parents: inout ParentCheck,
        _ numbers: inout NumberAssignment,
        _ draft: inout Draft
    ) throws(EngineError) -> [Int: StoreError] {
        draft.results = [ItemResult](repeating: .unchanged, count: items.count)
        var failures: [Int: StoreError] = [:]
        let host: RecordBatch? = ruled == nil ? nil : asHost
        for index in items.indices {
            let item = items[index]
            if let error = failed[index] {
                draft.results[index] = .failed(error.with(item.recordID))
                continue
            }
            do throws(EngineError) {
                let plan: ItemPlan?
                let failure: StoreError?
                if item.isDeletion, history != nil {
                    (plan, failure) = (.restoreDeletion, nil)
                } else if let host, let ruled, index >= ruled.ownCount {
                    (plan, failure) = try host.validate(
                        item, at: index, in: zone, access, reading, &parents, &draft)
                } else {
                    (plan, failure) = try validate(
                        item, at: index, in: zone, access, reading, &parents, &draft)
                }
                if let failure, !isAtomic { throw .refused(failure) }
                failures[index] = failure?.with(item.recordID)
                if context.isSerial, let history { try numbers.assign(history.items[index]) }
                if context.isSerial, case .save(let record, let rule) = item, failure == nil {
                    let isInsert = if case .insert = plan { true } else { false }
                    try numbers.assign(record, rule.policy, isInsert: isInsert, of: self)
                }
                draft.results[index] = plan.map { .planned($0) } ?? .unchanged
            } catch {
                if error.wouldBlock { throw error }
                draft.results[index] = .failed(StoreError(error).with(item.recordID))
            }
        }
        return failures
    }

    /// What became of each item of a commit that was acknowledged, with the records made in the
    /// caller's own task; nil for one that is as it was, or gone.
    func outcomes(
        of committed: borrowing Committed, _ reading: StoreReading
    ) throws(EngineError) -> [Result<Record?, StoreError>] {
        var outcomes: [Result<Record?, StoreError>] = []
        outcomes.reserveCapacity(items.count)
        let reader = try publicReader(reading)
        func shown(_ record: Record?, _ index: Int) throws(EngineError) -> Record? {
            guard let record else { return nil }
            // Who may write but not read is told no fields but those that it sent.
            if reader?.refusal(of: record) != nil, case .save(let sent, _) = items[index],
                let system = record.system
            {
                return sent.saved(as: record.recordID, system)
            }
            return try reading.shown(record, to: principal, in: scope)
        }
        for index in items.indices {
            switch committed.draft.results[index] {
            case .done(let record):
                outcomes.append(.success(try shown(record as? Record, index)))
            case .refused(let error): outcomes.append(.failure(StoreError(translating: error)))
            case .unchanged, .planned: outcomes.append(.success(nil))
            case .staged(let place):
                let start = committed.start ?? .zero
                let record = try committed.draft.record(
                    index, at: place, of: self, in: committed.draft.buffer, from: start, reading)
                outcomes.append(.success(try shown(record, index)))
            }
        }
        return outcomes
    }

    /// Whether a save says what the record's parent is, or leaves it as it is.
    func sendsParent(of record: Record, _ rule: SaveRule, isInsert: Bool) -> Bool {
        isInsert || rule.replaces || record.changesParent
            || (rule.policy == .allKeys && record.parent != nil)
    }

    /// Gives each item of an atomic batch that failed its own error, and the others theirs.
    private func failTogether(_ failures: [Int: StoreError], _ draft: inout Draft) {
        for (index, error) in failures { draft.results[index] = .failed(error) }
        guard isAtomic, draft.results.contains(where: \.hasFailed) else { return }
        for index in draft.results.indices where !draft.results[index].hasFailed {
            draft.results[index] = .failed(
                StoreError.batchRequestFailed.with(items[index].recordID))
        }
    }

    /// An entry that was read to check an item and is needed again to encode it; a long batch
    /// reads it again rather than hold them all.
    func held(_ entry: JournalEntry?) -> JournalEntry? {
        items.count <= 1000 ? entry : nil
    }

    /// Whether a zone that a caller names is the batch's own: the owner may be named in two ways.
    func isInside(_ zone: RecordZone.ID) -> Bool {
        zone.zoneName == zoneID.zoneName && isOfSameOwner(zone)
    }

    /// Whether a zone that a caller names is in the database of the batch's own.
    func isOfSameOwner(_ zone: RecordZone.ID) -> Bool {
        if zone.ownerName == zoneID.ownerName { return true }
        if case .shared = scope { return false }
        return zone.ownerName == RecordZone.ID.currentUser || zone.ownerName == caller.recordName
    }
}

extension StoreError {
    static let taggedRecordNotFound = StoreError(
        .unknownItem, "recordChangeTag specified, but record not found")
    static let batchRequestFailed = StoreError(
        .batchRequestFailed, "another item of the same atomic batch failed")
}
