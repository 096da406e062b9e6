internal import StratusBytes
internal import StratusIndex
internal import StratusEngine

/// Checks that the parents that saves name are there.
struct ParentCheck {
    private let batch: RecordBatch
    private let reading: StoreReading
    private let zone: UInt32
    let sight: RecordSight
    /// The saves of records that others of the batch name as parent.
    private var saves: [String: Int] = [:]
    /// The parent that was found last: many records of a batch often have the same.
    private var lastFound: String?
    /// The saves whose parent is there only if it is saved, too, by the save of the parent.
    private var dependents: [Int: [Int]] = [:]

    init(
        _ batch: RecordBatch, _ reading: StoreReading, zone: UInt32, _ access: SharedZone?
    ) throws(EngineError) {
        sight = try RecordSight(of: batch, in: zone, access, reading)
        self.batch = batch
        self.reading = reading
        self.zone = zone
        var names: Set<String> = []
        // By their places, since items are dear to copy.
        for index in batch.items.indices {
            if let parent = batch.items[index].parentName { names.insert(parent) }
        }
        if names.isEmpty { return }
        for index in batch.items.indices where !batch.items[index].isDeletion {
            let name = batch.items[index].recordID.recordName
            if names.contains(name) { saves[name] = index }
        }
    }

    /// A parent must be there, or be saved in the same batch.
    mutating func failure(
        of record: Record, at item: Int, _ rule: SaveRule, isInsert: Bool,
        _ draft: inout Draft
    ) throws(EngineError) -> StoreError? {
        guard let parent = record.parent?.recordID,
            batch.sendsParent(of: record, rule, isInsert: isInsert),
            parent.recordName != lastFound
        else { return nil }
        let name = reading.hash(parent.recordName)
        let key = IndexKey.record(zone, name)
        draft.readSet.append(key)
        if let place = try reading.value(key).map({ EntryLocation($0) }), !place.isDeleted,
            try sight.sees(name, at: place, reading, &draft.readSet)
        {
            lastFound = parent.recordName
        } else if let index = saves[parent.recordName] {
            dependents[index, default: []].append(item)
        } else {
            return StoreError.parentMissing
        }
        return nil
    }

    /// The saves that fail since their parents were to be saved and failed, after all that is wrong
    /// with them alone. Each error says why its parent failed, and where all of it began.
    func failures(after draft: Draft) throws(EngineError) -> [Int: StoreError] {
        var failures: [Int: StoreError] = [:]
        for start in dependents.keys.sorted() {
            guard let error = draft.results[start].error else { continue }
            var failed = [(item: start, reason: error, cause: error)]
            while let (parent, reason, cause) = failed.popLast() {
                for item in dependents[parent] ?? []
                where failures[item] == nil && !draft.results[item].hasFailed {
                    let own = try contentFailure(of: item, draft.results[item])
                    let error = (own ?? StoreError.afterFailure(of: reason, begunBy: cause))
                        .with(batch.items[item].recordID)
                    failures[item] = error
                    failed.append((item, error, own == nil ? cause : error))
                }
            }
        }
        return failures
    }

    /// What is wrong with type and fields of a save that was not encoded yet.
    private func contentFailure(
        of item: Int, _ result: ItemResult
    ) throws(EngineError) -> StoreError? {
        guard case .save(let record, let rule) = batch.items[item],
            case .planned(let plan) = result
        else { return nil }
        let isInsert = if case .insert = plan { true } else { false }
        do throws(EngineError) {
            try NumberAssignment(reading, .readOnly).check(
                record, rule.policy, isInsert: isInsert, of: batch)
            return nil
        } catch {
            if error.wouldBlock { throw error }
            return StoreError(error)
        }
    }
}

extension RecordBatch {
    /// Adds to the failures of saves whose parents were not saved why that was, out of the other
    /// failures of the batch.
    func explainFailures(in results: inout [ItemResult]) {
        var failed: [String: Int] = [:]
        for index in items.indices where results[index].hasFailed {
            failed[items[index].recordID.recordName] = index
        }
        func parent(of index: Int) -> Int? {
            guard results[index].error?.isOfParent == true else { return nil }
            return items[index].parentName.flatMap { failed[$0] }
        }
        var roots: [Int: Int] = [:]
        for index in failed.values {
            var path: [Int] = []
            var next = index
            while roots[next] == nil, let parent = parent(of: next), path.count < items.count {
                path.append(next)
                next = parent
            }
            let root = roots[next] ?? next
            for step in path { roots[step] = root }
        }
        for (index, root) in roots {
            guard let parent = parent(of: index), let reason = results[parent].error,
                let cause = results[root].error
            else { continue }
            results[index] = .failed(
                StoreError.afterFailure(of: reason, begunBy: cause)
                    .with(items[index].recordID))
        }
    }
}

extension StoreError {
    /// The error of a save whose parent failed with `reason`; the failures began with `cause`.
    fileprivate static func afterFailure(
        of reason: StoreError, begunBy cause: StoreError
    ) -> StoreError {
        var error = parentNotSaved
        for var failure in [reason, cause] {
            failure.partialErrors = [:]
            if let item = failure.item { error.partialErrors[item] = failure }
        }
        return error
    }

    fileprivate var isOfParent: Bool {
        code == Self.parentNotSaved.code && reason == Self.parentNotSaved.reason
    }
}

extension RecordBatch.Item {
    fileprivate var parentName: String? {
        if case .save(let record, _) = self { record.parent?.recordID.recordName } else { nil }
    }
}
