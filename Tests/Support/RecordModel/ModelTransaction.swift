/// The saves and deletes of one call in one zone: which of them fail, and what is there after.
struct ModelTransaction {
    let zone: ModelZone
    let batch: ModelBatch
    let caller: Int
    let history: [Int: ModelRecord]
    let departures: Set<RecordModel.Departure>
    private(set) var failures: [String: ModelFailure] = [:]
    private var judged: Set<String> = []
    private var failsLate: Set<String> = []
    /// The first moment that is free.
    private let start: Int

    init(
        _ zone: ModelZone, _ batch: ModelBatch, by caller: Int, at time: Int,
        history: [Int: ModelRecord], departures: Set<RecordModel.Departure>
    ) {
        self.zone = zone
        var batch = batch
        for index in batch.saves.indices { batch.saves[index].depart(departures, zone) }
        self.batch = batch
        self.caller = caller
        self.history = history
        self.departures = departures
        start = time + 1
    }

    private var saves: [ModelSave] { batch.saves.filter { failures[$0.copy.id.name] == nil } }
    private var deletes: [ModelDelete] { batch.deletes.filter { failures[$0.id.name] == nil } }
    private var isAtomic: Bool { batch.isAtomic && zone.hasCapabilities }

    /// Finds out what fails.
    mutating func decide() {
        let skips = departures.contains(.laterChecksSkipped) && isAtomic
        for save in batch.saves { judge(save) }
        for delete in batch.deletes { failures[delete.id.name] = failure(of: delete) }
        if skips, !failures.isEmpty { return }
        for save in batch.saves where failures[save.copy.id.name] == nil {
            if departures.contains(.typeAfterTag) {
                failures[save.copy.id.name] = referenceFailure(of: save)
            }
        }
        if departures.contains(.childrenFailWithParents) { failChildren() }
        if skips, !failures.isEmpty { return }
        if isAtomic {
            // Nothing is stored if anything fails; each item is judged by the batch as asked.
            let asked = ModelState(zone, batch.saves, batch.deletes, by: caller)
            failures.merge(asked.violations) { first, _ in first }
            if departures.contains(.childrenFailWithParents) { failChildren() }
            return
        }
        // Each item for itself, but what relied on a failed one fails too.
        while true {
            let found = ModelState(zone, saves, deletes, by: caller).violations
            if found.isEmpty { return }
            failures.merge(found) { first, _ in first }
            if departures.contains(.childrenFailWithParents) { failChildren() }
        }
    }

    /// Judges a save, and before it the one of its parent if that matters.
    private mutating func judge(_ save: ModelSave) {
        guard judged.insert(save.copy.id.name).inserted else { return }
        let isThere = zone.records[save.copy.id.name] != nil
        let parent = sentParent(of: save, isThere: isThere)
        if departures.contains(.childrenFailWithParents), let parent,
            let other = batch.saves.first(where: { $0.copy.id.name == parent.name })
        {
            judge(other)
        }
        failures[save.copy.id.name] = failure(of: save)
        // What is found after the parent was looked for.
        let late: Set<ModelCode?> = [.unknownItem, .serverRecordChanged]
        let isLate =
            late.contains(failures[save.copy.id.name]?.code)
            || typeFailure(of: save, zone.records[save.copy.id.name]) != nil
        if isLate { failsLate.insert(save.copy.id.name) }
    }

    private func sentParent(of save: ModelSave, isThere: Bool) -> ModelID? {
        if !isThere, departures.contains(.unsentParentsAreChecked) { return save.copy.shownParent }
        return save.content(over: zone.records[save.copy.id.name]).parent?.value
    }

    /// Children whose new parent is refused.
    private mutating func failChildren() {
        while true {
            let found = batch.saves.filter { save in
                let name = save.copy.id.name
                guard failures[name] == nil || failsLate.contains(name) else { return false }
                let isThere = zone.records[save.copy.id.name] != nil
                guard let parent = sentParent(of: save, isThere: isThere) else { return false }
                return parent.name != name && zone.records[parent.name] == nil
                    && failures[parent.name] != nil
            }
            if found.isEmpty { return }
            for save in found {
                failsLate.remove(save.copy.id.name)
                failures[save.copy.id.name] = ModelFailure(.referenceViolation)
            }
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
        let copy = save.copy
        let existing = zone.records[copy.id.name]
        guard RecordModel.isName(copy.id.name) else { return ModelFailure(.invalidArguments) }
        let sent = save.content(over: existing)
        if let parent = sent.parent?.value,
            parent.zone != zone.name || !RecordModel.isName(parent.name)
        {
            return ModelFailure(.invalidArguments)
        }
        // 7, and semantics 16, row 7, and 3.4.
        let isLate = departures.contains(.typeAfterTag)
        if !isLate, let failure = typeFailure(of: save, existing) ?? referenceFailure(of: save) {
            return failure
        }
        // 9.
        if let parent = sentParent(of: save, isThere: existing != nil), !isStoredOrSaved(parent) {
            return ModelFailure(.referenceViolation)
        }
        if let failure = tagFailure(of: save, existing) { return failure }
        return isLate ? typeFailure(of: save, existing) : nil
    }

    private func typeFailure(of save: ModelSave, _ existing: ModelRecord?) -> ModelFailure? {
        guard let existing, existing.type != save.copy.type else { return nil }
        return ModelFailure(.invalidArguments)
    }

    private func referenceFailure(of save: ModelSave) -> ModelFailure? {
        let sent = save.sentReferences(over: zone.records[save.copy.id.name])
        guard sent.contains(where: { $0.target.zone != zone.name }) else { return nil }
        return ModelFailure(.invalidArguments)
    }

    private func isStoredOrSaved(_ id: ModelID) -> Bool {
        if zone.records[id.name] != nil { return true }
        let isSaved = batch.saves.contains { $0.copy.id.name == id.name }
        return isSaved
            && !(departures.contains(.childrenFailWithParents) && failures[id.name] != nil)
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
        guard case .revision(let revision) = delete.condition else { return nil }
        guard let existing = zone.records[delete.id.name] else {
            return ModelFailure(.unknownItem)
        }
        guard existing.revision == revision else {
            var failure = ModelFailure(.serverRecordChanged)
            failure.server = existing
            return failure
        }
        return nil
    }
}

extension ModelSave {
    /// As an engine takes it that departs from the semantics.
    fileprivate mutating func depart(_ departures: Set<RecordModel.Departure>, _ zone: ModelZone) {
        if departures.contains(.sameParentIsNotSent), copy.revision != nil,
            let edit = copy.parentEdit, edit.value == copy.loadedParent
        {
            copy.parentEdit = nil
        }
        if departures.contains(.allKeysClearsParent), rule == .allKeys,
            zone.records[copy.id.name] != nil, copy.shownParent == nil
        {
            copy.parentEdit = .removed
        }
    }

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
