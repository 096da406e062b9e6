/// How a save treats what is there: the policies of semantics 2.2, the web types of 12.4.
package enum ModelRule: Hashable, Sendable, CaseIterable {
    case unchanged, changedKeys, allKeys
    case create, update, forceUpdate, replace, forceReplace

    package static let native: [Self] = [.unchanged, .changedKeys, .allKeys]

    var comparesTags: Bool { [.unchanged, .update, .replace].contains(self) }
    /// Whether what is not sent is removed.
    var replaces: Bool { self == .replace || self == .forceReplace }
    /// Whether the fields that were not touched are sent too.
    var sendsAll: Bool { self == .allKeys || replaces }
}

package struct ModelSave: Hashable, Sendable {
    package var copy: ModelCopy
    package var rule: ModelRule

    package init(_ copy: ModelCopy, _ rule: ModelRule) {
        self.copy = copy
        self.rule = rule
    }
}

package struct ModelDelete: Hashable, Sendable {
    package enum Condition: Hashable, Sendable {
        case none
        /// The record must be there as this revision.
        case revision(Int)
    }

    package var id: ModelID
    package var condition = Condition.none

    package init(_ id: ModelID, _ condition: Condition = .none) {
        self.id = id
        self.condition = condition
    }
}

/// One call of `modifyRecords`.
package struct ModelBatch: Hashable, Sendable {
    package var saves: [ModelSave] = []
    package var deletes: [ModelDelete] = []
    package var isAtomic = true
    /// A call that is repeated under its name is done once.
    package var operationID: String?

    package init() {}

    /// Whether another call asks for the same, in whatever order.
    func isSame(as other: Self) -> Bool {
        isAtomic == other.isAtomic && Set(saves) == Set(other.saves)
            && Set(deletes) == Set(other.deletes)
    }

    var ids: [ModelID] { saves.map(\.copy.id) + deletes.map(\.id) }
    var zones: [String] { Set(ids.map(\.zone)).sorted() }

    func part(in zone: String) -> Self {
        var part = self
        part.saves.removeAll { $0.copy.id.zone != zone }
        part.deletes.removeAll { $0.id.zone != zone }
        return part
    }
}

/// What such a call is answered, item by item.
package struct ModelBatchAnswer: Sendable {
    package var saves: [ModelID: ModelResult] = [:]
    /// nil is a success.
    package var deletes: [ModelID: ModelFailure?] = [:]

    package init() {}

    package var failures: [ModelID: ModelFailure] {
        var failures = deletes.compactMapValues { $0 }
        for (id, result) in saves {
            if case .failure(let failure) = result { failures[id] = failure }
        }
        return failures
    }
}
