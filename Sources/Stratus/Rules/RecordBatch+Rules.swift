internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What the rules of the host do to a batch: `Formats/README.md`, "Validators and triggers".
extension RecordBatch {
    enum RuleOutcome {
        /// No item has to do with a rule.
        case notConcerned
        /// The rules let all items be as they are.
        case passed(RuledItems)
        /// With what triggers added and changed.
        case extended(RecordBatch)
        /// These items fail.
        /// With what the rules read.
        case refused([Int: StoreError], [IndexKey])
    }

    /// Runs the rules for the items that have passed their checks, which those of `failures` have
    /// not.
    func outcome(
        of rules: RecordRules, in zone: ZonePlace, _ access: SharedZone?, _ reading: StoreReading,
        _ context: PreparationContext, _ results: [ItemResult], _ failures: [Int: StoreError]
    ) throws(EngineError) -> RuleOutcome {
        var concerned: [Int] = []
        var deletions: [Int] = []
        for index in items.indices where failures[index] == nil {
            guard case .planned(let plan) = results[index] else { continue }
            if items[index].isDeletion { deletions.append(index) }
            if try hasRules(rules, items[index], plan, reading) { concerned.append(index) }
        }
        var takesAlong = false
        if !deletions.isEmpty {
            takesAlong = try reading.hasRecords(with: rules, in: zone.number)
        }
        guard !concerned.isEmpty || takesAlong else { return .notConcerned }
        var planned: [String: Int] = [:]
        var failedBefore: Set<Int> = []
        for index in items.indices {
            if results[index].hasFailed || failures[index] != nil {
                failedBefore.insert(index)
            } else if case .planned = results[index] {
                planned[items[index].recordID.recordName] = index
            }
        }
        let reader = RuleReader(
            self, results, planned, Set(concerned), in: zone, reading)
        let cascade = RuleCascade(
            zone: zone.number, access, limit: context.partLimit / 128, itemCount: items.count,
            isOfUse: deletions.isEmpty ? nil : takesAlong)
        var run = RuleRun(rules, of: self, reader, cascade, reading)
        try run.run(concerned, deletions)
        guard run.failures.isEmpty else {
            return .refused(run.failures, run.readSet)
        }
        let ruled = RuledItems(
            ownCount: items.count, readSet: run.readSet, causes: run.causes,
            failedBefore: failedBefore)
        guard run.hasEffects else { return .passed(ruled) }
        var batch = self
        batch.items = run.items
        batch.ruled = ruled
        return .extended(batch)
    }

    private func hasRules(
        _ rules: RecordRules, _ item: Item, _ plan: ItemPlan, _ reading: StoreReading
    ) throws(EngineError) -> Bool {
        switch (item, plan) {
        case (.save(let record, _), _): return rules.concern(record.recordType)
        case (.delete, .delete(let place, let held)):
            let entry: JournalEntry
            if let held { entry = held } else { entry = try reading.entry(place) }
            // What is damaged is treated as without rules.
            guard let head = try? entry.recordHead().head,
                let type = reading.schema.name(head.type)
            else { return false }
            return rules.concern(type)
        case (.delete, _): return false
        }
    }

    /// The same batch, as the host itself would make it: what triggers add is checked as that.
    var asHost: RecordBatch {
        var batch = self
        batch.principal = .host(caller)
        return batch
    }

    /// What becomes of a record by a save, over what it was; nil: it was not there.
    func result(of record: Record, _ rule: SaveRule, over old: Record?) -> Record {
        let id = Record.ID(recordName: record.recordID.recordName, zoneID: zoneID)
        var new = old ?? Record(recordType: record.recordType, recordID: id)
        let sent = record.sent(rule.policy, isInsert: old == nil)
        if rule.replaces, let old {
            let keys = Set(sent.map(\.key))
            for key in old.allKeys where !keys.contains(key) { new.removeValue(forKey: key) }
        }
        for edit in sent { new.set(edit.key, edit.value, isEncrypted: edit.isEncrypted) }
        if setsParent(of: record, rule, over: old) { new.parent = record.parent }
        return new
    }

    /// The record that a save of this batch sends, with what another save changes of what the first
    /// one leaves; nil where that is nothing.
    func adding(
        _ record: Record, _ rule: SaveRule, over now: Record, to saved: Record
    ) -> Record? {
        var edited = saved
        var isEdited = false
        for edit in record.sent(rule.policy, isInsert: false) {
            let isEncrypted = edit.isEncrypted || now.isEncrypted(edit.key)
            guard now[edit.key] != edit.value || now.isEncrypted(edit.key) != isEncrypted else {
                continue
            }
            isEdited = true
            if edit.value == nil {
                edited.removeValue(forKey: edit.key)
            } else {
                edited.set(edit.key, edit.value, isEncrypted: isEncrypted)
            }
        }
        if setsParent(of: record, rule, over: now), record.parent != now.parent {
            isEdited = true
            edited.parent = record.parent
        }
        return isEdited ? edited : nil
    }

    private func setsParent(
        of record: Record, _ rule: SaveRule, over old: Record?
    ) -> Bool {
        // A participant leaves the parent of a root as it is.
        if case .shared = scope, old?.share != nil { return false }
        return sendsParent(of: record, rule, isInsert: old == nil)
    }
}

extension StoreError {
    static func refused(byValidator name: String, _ refusal: RuleRefusal) -> StoreError {
        var error = StoreError(
            .serverRejectedRequest, "the validator \(name) refuses it: \(refusal.description)")
        error.cause = .validator(name: name, refusal)
        return error
    }

    static func refused(byTrigger name: String, _ refusal: RuleRefusal) -> StoreError {
        var error = StoreError(
            .serverRejectedRequest, "the trigger \(name) refuses it: \(refusal.description)")
        error.cause = .trigger(name: name, refusal)
        return error
    }

    /// Of an item whose trigger wrote something that failed with `error`.
    static func effectFailed(of trigger: String, _ error: StoreError) -> StoreError {
        if case .triggerDepth = error.cause { return error }
        // What the caller has no room for is the caller's own matter.
        var failure = StoreError(
            error.code == .quotaExceeded ? .quotaExceeded : .serverRejectedRequest,
            "the trigger \(trigger) adds what cannot be done: \(error.reason)")
        failure.cause = .triggerEffect(name: trigger)
        failure.nest(error)
        return failure
    }

    /// Of a deletion that would take along a record that may not go for the reason of `error`.
    static func goesAlong(_ error: StoreError) -> StoreError {
        var failure = StoreError(
            error.code, "a record that goes along with it may not: \(error.reason)")
        failure.cause = error.cause
        failure.nest(error)
        return failure
    }

    static func tooDeep(_ trigger: String, _ id: Record.ID) -> StoreError {
        var error = StoreError(
            .serverRejectedRequest,
            """
            triggers call each other more than \(RuleRun.depthLimit) deep, last the trigger \
            \(trigger) for the record \(id.recordName)
            """)
        error.cause = .triggerDepth(name: trigger, id)
        return error
    }

    static func cascadeTooLongForRules(_ limit: Int) -> StoreError {
        StoreError(
            .limitExceeded,
            """
            expected at most \(limit) records that go along, since the zone has records with \
            rules: delete them in steps
            """)
    }

    /// Of a record of a type with rules that is to be moved.
    static let rulesStay = StoreError(
        .serverRejectedRequest, "a record of a type that has rules stays in its zone")
    static let tooManyEffects = StoreError(
        .limitExceeded, "triggers add more than \(RuleRun.effectLimit) items to a commit")
    static let effectElsewhere = StoreError(
        .invalidArguments, "a trigger writes in the zone of the change and nowhere else")
    static let effectOnShare = StoreError(
        .invalidArguments, "a trigger neither saves nor deletes shares")
    static let effectOfOtherType = StoreError(
        .invalidArguments, "a record of this name has another record type")
    static let savedAndDeleted = StoreError(
        .invalidArguments, "one commit would save the record and delete it")

    /// Adds the error of a record that the caller did not name, and may not read.
    private mutating func nest(_ error: StoreError) {
        guard let item = error.item else { return }
        var error = error
        error.clientRecord = nil
        error.serverRecord = nil
        error.ancestorRecord = nil
        partialErrors[item] = error
    }
}
