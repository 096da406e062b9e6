/// The saves and deletes of one call in one zone: which of them fail, and what is there after.
struct ModelTransaction {
    let zone: ModelZone
    let batch: ModelBatch
    let caller: Int
    /// Whether a record is changed and deleted by its creator alone.
    let isPublic: Bool
    let history: [Int: ModelRecord]
    private(set) var failures: [String: ModelFailure] = [:]
    /// The first moment that is free.
    private let start: Int

    init(
        _ zone: ModelZone, _ batch: ModelBatch, by caller: Int, isPublic: Bool, at time: Int,
        history: [Int: ModelRecord]
    ) {
        self.zone = zone
        self.batch = batch
        self.caller = caller
        self.isPublic = isPublic
        self.history = history
        start = time + 1
    }

    private var saves: [ModelSave] { batch.saves.filter { failures[$0.copy.id.name] == nil } }
    private var deletes: [ModelDelete] { batch.deletes.filter { failures[$0.id.name] == nil } }
    private var isAtomic: Bool { batch.isAtomic && zone.hasCapabilities }

    /// Finds out what fails.
    mutating func decide() {
        for save in batch.saves { failures[save.copy.id.name] = failure(of: save) }
        for delete in batch.deletes { failures[delete.id.name] = failure(of: delete) }
        if isAtomic {
            // Nothing is stored if anything fails. The semantics do not say in what state the other
            // items are judged then. The model judges them in the state that was asked for, so that
            // no item fails because another does. An item that is impossible by itself, or changes
            // a missing record, changes nothing in that state; items that need it find it saved.
            let asked = ModelState(
                zone, batch.saves.filter(canBeDone), batch.deletes, by: caller,
                promised: Set(batch.saves.map(\.copy.id.name)))
            failures.merge(asked.violations) { first, _ in first }
            return
        }
        // Each item for itself, but what relied on a failed one fails too.
        while true {
            let found = ModelState(zone, saves, deletes, by: caller).violations
            if found.isEmpty { return }
            failures.merge(found) { first, _ in first }
        }
    }

    /// An atomic zone's answer where something failed.
    var refused: ModelBatchAnswer {
        var answer = ModelBatchAnswer(failing: batch, with: ModelFailure(.batchRequestFailed))
        for save in batch.saves {
            guard let failure = failures[save.copy.id.name] else { continue }
            answer.saves[save.copy.id] = .failure(failure)
        }
        for delete in batch.deletes {
            guard let failure = failures[delete.id.name] else { continue }
            answer.deletes[delete.id] = .some(failure)
        }
        return answer
    }

    /// The zone after what did not fail, the moment of the last change in it, and the answer.
    var applied: (changed: (zone: ModelZone, time: Int), answer: ModelBatchAnswer) {
        var answer = refused
        var zone = zone
        var time = start - 1
        let state = ModelState(self.zone, saves, deletes, by: caller)
        for save in saves {
            time += 1
            var record = state.saved[save.copy.id.name, default: save.bare(by: caller)]
            record.revision = time
            if self.zone.records[record.id.name] == nil { record.creation = time }
            answer.saves[save.copy.id] = .success(record)
            zone.put(record, at: time)
        }
        for delete in deletes { answer.deletes[delete.id] = .some(nil) }
        for name in self.zone.records.keys where state.records[name] == nil {
            time += 1
            zone.remove(name, at: time)
        }
        return ((zone, time), answer)
    }
}

// The checks of one item: semantics 2.4, in that order.
extension ModelTransaction {
    private func failure(of save: ModelSave) -> ModelFailure? {
        let existing = zone.records[save.copy.id.name]
        if isForeign(existing) { return ModelFailure(.permissionFailure) }
        if isMalformed(save) { return ModelFailure(.invalidArguments) }
        // 9.
        if let parent = save.content(over: existing).parent?.value, !isStoredOrSaved(parent) {
            return ModelFailure(.referenceViolation)
        }
        return tagFailure(of: save, existing)
    }

    /// Check 6, and semantics 9.4.
    private func isForeign(_ record: ModelRecord?) -> Bool {
        isPublic && record.map { $0.creator != caller } ?? false
    }

    /// Check 7, and semantics 16, row 7, and 3.4.
    private func isMalformed(_ save: ModelSave) -> Bool {
        let copy = save.copy
        let existing = zone.records[copy.id.name]
        if !RecordModel.isName(copy.id.name) { return true }
        if let parent = save.content(over: existing).parent?.value,
            parent.zone != zone.name || !RecordModel.isName(parent.name)
        {
            return true
        }
        if let existing, existing.type != copy.type { return true }
        return save.sentReferences(over: existing).contains { $0.target.zone != zone.name }
    }

    private func canBeDone(_ save: ModelSave) -> Bool {
        let existing = zone.records[save.copy.id.name]
        return !isMalformed(save) && tagFailure(of: save, existing)?.code != .unknownItem
    }

    private func isStoredOrSaved(_ id: ModelID) -> Bool {
        zone.records[id.name] != nil || batch.saves.contains { $0.copy.id.name == id.name }
    }

    /// Check 11: semantics 2.2 and 12.4.
    private func tagFailure(of save: ModelSave, _ existing: ModelRecord?) -> ModelFailure? {
        switch (save.rule, existing) {
        case (.create, nil): return nil
        case (.create, .some(let existing)): return conflict(save, existing)
        case (_, .some(let existing)) where save.rule.comparesTags:
            return save.copy.revision == existing.revision ? nil : conflict(save, existing)
        case (.update, nil), (.replace, nil): return ModelFailure(.unknownItem)
        case (.unchanged, nil) where save.copy.revision != nil: return ModelFailure(.unknownItem)
        default: return nil
        }
    }

    private func conflict(_ save: ModelSave, _ existing: ModelRecord) -> ModelFailure {
        var failure = ModelFailure(.serverRecordChanged)
        failure.server = existing
        failure.base = save.copy.revision.flatMap { history[$0] }
        failure.needsBase = save.copy.isWhole
        return failure
    }

    private func failure(of delete: ModelDelete) -> ModelFailure? {
        if isForeign(zone.records[delete.id.name]) { return ModelFailure(.permissionFailure) }
        guard case .revision(let revision) = delete.condition else { return nil }
        guard let existing = zone.records[delete.id.name] else {
            return ModelFailure(.unknownItem)
        }
        guard existing.revision == revision else {
            var failure = ModelFailure(.serverRecordChanged)
            failure.server = existing
            failure.base = history[revision]
            return failure
        }
        return nil
    }
}

extension ModelSave {
    /// What it says of fields and parent: the changed ones, or all that are here.
    func content(
        over existing: ModelRecord?
    ) -> (fields: [String: ModelEdit<ModelValue>], parent: ModelEdit<ModelID>?) {
        let isNew = existing == nil && !rule.comparesTags
        return rule.sendsAll || isNew ? all : (copy.edits, copy.parentEdit)
    }

    /// What a client that is not asked again sends.
    package var sent: (fields: [String: ModelEdit<ModelValue>], parent: ModelEdit<ModelID>?) {
        rule.sendsAll ? all : (copy.edits, copy.parentEdit)
    }

    private var all: (fields: [String: ModelEdit<ModelValue>], parent: ModelEdit<ModelID>?) {
        var fields = copy.edits
        for (key, value) in copy.shown { fields[key] = .set(value) }
        return (fields, copy.shownParent.map { .set($0) } ?? copy.parentEdit)
    }

    func sentReferences(over existing: ModelRecord?) -> [ModelReference] {
        content(over: existing).fields.values.flatMap { $0.value?.references ?? [] }
    }

    func bare(by caller: Int) -> ModelRecord {
        ModelRecord(
            id: copy.id, type: copy.type, revision: 0, creation: 0, creator: caller,
            modifier: caller)
    }

    /// The record that it makes.
    func record(over existing: ModelRecord?, by caller: Int) -> ModelRecord {
        var record = existing ?? bare(by: caller)
        record.modifier = caller
        let content = content(over: existing)
        if rule.replaces {
            record.fields = [:]
            record.parent = nil
        }
        for (key, edit) in content.fields { record.fields[key] = edit.value }
        if let parent = content.parent { record.parent = parent.value }
        return record
    }
}
