internal import StratusBytes
internal import StratusIndex

/// Checks that the parents that saves name are there.
struct ParentCheck {
    let order: ParentOrder
    private let batch: RecordBatch
    private let reading: StoreReading
    private let zone: UInt32
    /// The parent that was found last: many records of a batch often have the same.
    private var lastFound: String?
    /// The saves whose parents are there only if they are saved, too.
    private var dependents: [(item: Int, parent: Int)] = []

    init(
        _ batch: RecordBatch, _ order: ParentOrder, _ reading: StoreReading, zone: UInt32
    ) {
        self.batch = batch
        self.order = order
        self.reading = reading
        self.zone = zone
    }

    /// A parent must be there, or be saved in the same batch.
    mutating func check(
        _ record: Record, at item: Int, _ rule: SaveRule, isInsert: Bool,
        _ preparation: inout Preparation
    ) throws(StoreError) {
        guard let parent = record.parent?.recordID,
            batch.sendsParent(of: record, rule, isInsert: isInsert),
            parent.recordName != lastFound
        else { return }
        let key = IndexKey.record(zone, reading.hash(parent.recordName))
        preparation.readSet.append(key)
        if let value = try reading.value(key), !EntryPlace(value).isDeleted {
            lastFound = parent.recordName
            return
        }
        guard let index = order.parents[parent.recordName] else {
            throw StoreError.parentMissing(parent)
        }
        if case .failed(let error) = preparation.results[index] {
            throw StoreError.parentMissing(parent, because: error)
        }
        dependents.append((item, index))
    }

    /// Fails the saves whose parents were to be saved and failed later, as in a circle.
    func failDependents(of preparation: inout Preparation) {
        var isSettled = false
        while !isSettled {
            isSettled = true
            for (item, parent) in dependents where !preparation.results[item].hasFailed {
                guard case .failed(let error) = preparation.results[parent] else { continue }
                let missing = StoreError.parentMissing(
                    batch.items[parent].recordID, because: error)
                preparation.results[item] = .failed(missing.with(batch.items[item].recordID))
                isSettled = false
            }
        }
    }
}
