internal import StratusBytes

/// What a batch does to parents and owners, as its items were encoded.
struct BatchLinks: Sendable {
    /// A save of a record that has links, or had some.
    struct Save: Sendable {
        var item: Int
        var name: Hash128
        var isUpdate: Bool
        var parent: Hash128?
        /// Whether the record did not have this parent before.
        var changesParent: Bool
        /// What it goes with, and by how many references.
        var owners: [Hash128: Int]
        /// The same before the save.
        var formerOwners: [Hash128: Int]
        /// What must be there at the end.
        var validated: [Hash128]
    }

    var saves: [Save] = []
    /// The items that delete something.
    var deletes: [(item: Int, name: Hash128)] = []

    var isEmpty: Bool { saves.isEmpty && deletes.isEmpty }
}

/// The order in which the items of a batch are checked: parents before their children.
struct ParentOrder {
    /// Of the items; empty: as they stand.
    private var order: [Int] = []
    /// The saves of records that others of the batch name as parent.
    private(set) var parents: [String: Int] = [:]

    init(_ items: [RecordBatch.Item]) {
        var names: Set<String> = []
        for item in items { if let parent = item.parentName { names.insert(parent) } }
        if names.isEmpty { return }
        for (index, item) in items.enumerated() {
            let name = item.recordID.recordName
            if case .save = item, names.contains(name) { parents[name] = index }
        }
        if parents.isEmpty { return }
        var isPlaced = [Bool](repeating: false, count: items.count)
        for start in items.indices {
            var path: [Int] = []
            var next: Int? = start
            while let index = next, !isPlaced[index] {
                isPlaced[index] = true
                path.append(index)
                next = items[index].parentName.flatMap { parents[$0] }
            }
            order += path.reversed()
        }
    }

    subscript(place: Int) -> Int { order.isEmpty ? place : order[place] }
}

extension RecordBatch.Item {
    fileprivate var parentName: String? {
        if case .save(let record, _) = self { record.parent?.recordID.recordName } else { nil }
    }
}

extension StoreError {
    /// A parent that is not there, because of `cause` where that is known.
    static func parentMissing(
        _ parent: Record.ID, because cause: StoreError? = nil
    ) -> StoreError {
        guard let cause else {
            return StoreError(
                .referenceViolation, "the parent is neither there nor saved in the same batch")
        }
        var error = StoreError(
            .referenceViolation, "the parent could not be saved; the error says why")
        error.partialErrors[.record(parent)] = cause
        return error
    }

    static let parentOfOthers = StoreError(
        .referenceViolation, "it, or what goes with it, is the parent of records that stay")
    static let ownerGoes = StoreError(
        .referenceViolation, "the record goes with one that is deleted in the same batch")
    static let targetMissing = StoreError(
        .referenceViolation, "the target of a reference that is to be validated is not there")
    static let parentCycle = StoreError(
        .invalidArguments, "a record cannot be among its own ancestors")
    static func tooManyOwned(_ limit: Int) -> StoreError {
        StoreError(
            .invalidArguments,
            "at most \(limit) deleteSelf references may point to the same record")
    }
}
