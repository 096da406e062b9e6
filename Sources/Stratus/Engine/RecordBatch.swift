internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

/// Saves and deletes in one zone: one commit.
struct RecordBatch: RecordedRequest {
    typealias Item = RecordOperation

    let scope: DatabaseScope
    let principal: Principal
    /// The user whose name the changes bear.
    let caller: UserID
    let zoneID: RecordZone.ID
    let items: [Item]
    /// Whether one item's failure is that of all.
    let isAtomic: Bool
    /// Nil where nothing is limited.
    let limits: Limits?
    let environment: Container.Environment
    /// The items that an earlier attempt found to fail, in a batch that is not atomic.
    var refused: [Int: StoreError] = [:]
    /// What the caller says of the whole call.
    var operation: OperationRequest?
    /// The assets of the whole call; nil where there are none.
    var assets: SealedAssets?

    /// Checks and encodes the items.
    func prepareItems(
        _ reading: StoreReading, _ role: PreparingRole, sink: PartSink
    ) throws(StoreError) -> Preparation {
        var batch = self
        while true {
            let preparation = try batch.attempt(reading, role, sink: sink)
            guard let again = preparation.again, !preparation.hasParts else { return preparation }
            batch = again
        }
    }

    private func attempt(
        _ reading: StoreReading, _ role: PreparingRole, sink: PartSink
    ) throws(StoreError) -> Preparation {
        var preparation = Preparation(reading)
        // Surely longer than a part: checking it here as well would be lost work.
        guard role.isCommitter || items.count <= role.partLimit / 128 else {
            preparation.needsCommitter = true
            return preparation
        }
        var numbers = NumberAssignment(reading, role, environment)
        let (user, database) = try numbers.caller(caller, in: scope, &preparation)
        let zone = try numbers.zone(zoneID, in: database, &preparation)
        guard let user, let zone, !preparation.needsCommitter else { return preparation }
        preparation.user = user
        preparation.zone = zone

        var parents = ParentCheck(self, reading, zone: zone.number)
        let failures = try plan(zone, reading, role, &parents, &numbers, &preparation)
        // What was assigned for items that failed is not written either.
        if preparation.results.allSatisfy(\.writesNothing) {
            failTogether(failures, &preparation)
            return preparation
        }
        if !isAtomic, let again = again(without: try parents.failures(after: preparation)) {
            preparation.again = again
            return preparation
        }
        // What is refused already is encoded for its errors only. (Of a deletion, what goes along
        // with it may be found in what was written.)
        let isRefused = isAtomic && preparation.results.contains(where: \.hasFailed)
        let isDiscarded =
            (isRefused || !failures.isEmpty) && items.allSatisfy { !$0.isDeletion }
        var encoder = try RecordEncoder(
            reading: reading, role: role, zone: zone, user: user, batch: self, numbers: numbers)
        do {
            try encode(&encoder, parents, &preparation) { part throws(StoreError) in
                isDiscarded
                    ? StagedPart(start: reading.head, reading: reading) : try sink(part)
            }
        } catch {
            if error.wouldBlock { throw error }
            for index in preparation.results.indices where !preparation.results[index].hasFailed {
                preparation.results[index] = .failed(error.with(items[index].recordID))
            }
        }
        if preparation.needsCommitter || preparation.again != nil { return preparation }
        failTogether(failures, &preparation)
        // Names, users and zones are of no use without what they were assigned for, and must not
        // fix the type of a field that nobody saved.
        let writesNothing =
            preparation.hasParts
            ? preparation.results.allSatisfy(\.hasFailed)
            : preparation.results.allSatisfy(\.writesNothing)
        if writesNothing { preparation.buffer = CommitBuffer() }
        return preparation
    }

    /// The same batch with more items refused; nil where none is.
    func again(without failures: [Int: StoreError]) -> RecordBatch? {
        if failures.isEmpty { return nil }
        var again = self
        for (index, error) in failures { again.refused[index] = error.with(items[index].recordID) }
        return again
    }

    /// Checks the items. Returns what failed of an atomic batch and is still encoded: nothing
    /// of it is stored, but what an item is told does not depend on which others fail.
    private func plan(
        _ zone: ZonePlace, _ reading: StoreReading, _ role: PreparingRole,
        _ parents: inout ParentCheck, _ numbers: inout NumberAssignment,
        _ preparation: inout Preparation
    ) throws(StoreError) -> [Int: StoreError] {
        preparation.results = [ItemResult](repeating: .unchanged, count: items.count)
        preparation.readSet.reserveCapacity(items.count + 1)
        var failures: [Int: StoreError] = [:]
        for index in items.indices {
            let item = items[index]
            if let error = refused[index] {
                preparation.results[index] = .failed(error)
                continue
            }
            do throws(StoreError) {
                let (plan, failure) = try validate(
                    item, at: index, in: zone.number, reading, &parents, &preparation)
                if let failure, !isAtomic { throw failure }
                failures[index] = failure?.with(item.recordID)
                if role.isCommitter, case .save(let record, let rule) = item, failure == nil {
                    let isInsert = if case .insert = plan { true } else { false }
                    try numbers.assign(
                        record, rule.policy, isInsert: isInsert, of: self, &preparation)
                }
                preparation.results[index] = plan.map { .planned($0) } ?? .unchanged
            } catch {
                if error.wouldBlock { throw error }
                preparation.results[index] = .failed(error.with(item.recordID))
            }
        }
        return failures
    }

    /// What became of each item of a commit that was acknowledged, with the records made in the
    /// caller's own task; nil for one that is as it was, or gone.
    func outcomes(
        of committed: borrowing Committed, _ reading: StoreReading
    ) throws(StoreError) -> [Result<Record?, StoreError>] {
        var outcomes: [Result<Record?, StoreError>] = []
        outcomes.reserveCapacity(items.count)
        for index in items.indices {
            switch committed.preparation.results[index] {
            case .saved(let record): outcomes.append(.success(record))
            case .failed(let error): outcomes.append(.failure(error))
            case .unchanged, .planned: outcomes.append(.success(nil))
            case .staged(let place):
                let start = committed.start ?? .zero
                outcomes.append(
                    .success(
                        try committed.preparation.record(
                            index, at: place, of: self, in: committed.preparation.buffer,
                            from: start, reading)))
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
    private func failTogether(_ failures: [Int: StoreError], _ preparation: inout Preparation) {
        for (index, error) in failures { preparation.results[index] = .failed(error) }
        guard isAtomic, preparation.results.contains(where: \.hasFailed) else { return }
        for index in preparation.results.indices where !preparation.results[index].hasFailed {
            preparation.results[index] = .failed(
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
        zone.zoneName == zoneID.zoneName
            && (zone.ownerName == RecordZone.ID.currentUser || zone.ownerName == zoneID.ownerName
                || zone.ownerName == caller.recordName)
    }
}

extension StoreError {
    static let taggedRecordNotFound = StoreError(
        .unknownItem, "recordChangeTag specified, but record not found")
    static let batchRequestFailed = StoreError(
        .batchRequestFailed, "another item of the same atomic batch failed")
}
