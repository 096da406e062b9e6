internal import StratusIndex
internal import StratusEngine

/// What rules made of a batch: which of its items triggers added, and who fails with them.
final class RuledItems: Sendable {
    /// The items before this one are the caller's.
    let ownCount: Int
    /// What the rules have read.
    let readSet: [IndexKey]
    /// By the numbers of items, the caller's items by whose triggers they were written, and the
    /// names of those triggers.
    private let causes: [Int: [Int: String]]
    /// The items that had failed before the rules ran.
    private let failedBefore: Set<Int>

    init(
        ownCount: Int, readSet: [IndexKey], causes: [Int: [Int: String]], failedBefore: Set<Int>
    ) {
        self.ownCount = ownCount
        self.readSet = readSet
        self.causes = causes
        self.failedBefore = failedBefore
    }

    /// The items that have failed since the rules ran, where others go on that were validated with
    /// them; nil where there are none. An atomic batch fails as a whole anyway.
    func lost(in draft: Draft, of batch: RecordBatch) -> [Int: StoreError]? {
        if batch.isAtomic { return nil }
        var lost: [Int: StoreError] = [:]
        for index in draft.results.indices where !failedBefore.contains(index) {
            lost[index] = draft.results[index].error
        }
        let isOver = causes.isEmpty && draft.results.allSatisfy(\.hasFailed)
        return lost.isEmpty || isOver ? nil : lost
    }

    /// The caller's items that fail since these do.
    ///
    /// Where a batch does what it can, an item is tried again without what the triggers of others
    /// have added to it.
    func blamed(
        for failures: [Int: StoreError], in batch: RecordBatch
    ) -> [Int: StoreError] {
        var blamed: [Int: StoreError] = [:]
        var others: [(item: Int, error: StoreError)] = []
        for (index, error) in failures.sorted(by: { $0.key < $1.key }) {
            let causes = (causes[index] ?? [:]).filter { $0.key != index }
            if index < ownCount, batch.isAtomic || causes.isEmpty { blamed[index] = error }
            let error = error.with(batch.items[index].recordID)
            for (item, trigger) in causes {
                others.append((item, .effectFailed(of: trigger, error)))
            }
        }
        for (item, error) in others where blamed[item] == nil { blamed[item] = error }
        return blamed
    }

    /// Leaves the results of the caller's items, which say why what they caused failed.
    func finish(_ draft: inout Draft, of batch: RecordBatch) {
        if batch.isAtomic {
            var failures: [Int: StoreError] = [:]
            for (index, result) in draft.results.enumerated() {
                if let error = result.error, error.code != .batchRequestFailed {
                    failures[index] = error
                }
            }
            for (item, error) in blamed(for: failures, in: batch) where failures[item] == nil {
                draft.results[item] = .failed(error.with(batch.items[item].recordID))
            }
        }
        draft.results.removeLast(draft.results.count - ownCount)
    }
}
