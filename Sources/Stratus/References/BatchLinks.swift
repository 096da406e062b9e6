internal import StratusBytes
internal import StratusEngine

/// What a batch does to parents and cascade targets, as its items were encoded.
struct BatchLinks: Sendable {
    /// A save of a record that has links, or had some.
    struct Save: Sendable {
        var item: Int
        var name: Hash128
        var isUpdate: Bool
        var parent: Hash128?
        /// Whether the record did not have this parent before.
        var changesParent: Bool
        /// The targets it is deleted with, and by how many references.
        var cascadeTargets: [Hash128: Int]
        /// The same before the save.
        var formerCascadeTargets: [Hash128: Int]
        /// What must be there at the end.
        var validated: [Hash128]
    }

    var saves: [Save] = []
    /// The items that delete something.
    var deletes: [(item: Int, name: Hash128)] = []

    var isEmpty: Bool { saves.isEmpty && deletes.isEmpty }
}

extension StoreError {
    static let parentMissing = StoreError(
        .referenceViolation, "the parent is neither there nor saved in the same batch")
    static let parentNotSaved = StoreError(
        .referenceViolation, "the parent could not be saved; the error says why")
    static let parentOfOthers = StoreError(
        .referenceViolation, "it, or what goes with it, is the parent of records that stay")
    static let targetGoes = StoreError(
        .referenceViolation, "the record goes with one that is deleted in the same batch")
    static let targetMissing = StoreError(
        .referenceViolation, "the target of a reference that is to be validated is not there")
    static let parentCycle = StoreError(
        .invalidArguments, "a record cannot be among its own ancestors")
    static func tooManyReferences(_ limit: Int) -> StoreError {
        StoreError(
            .limitExceeded,
            "at most \(limit) deleteSelf references may point to the same record")
    }
}
