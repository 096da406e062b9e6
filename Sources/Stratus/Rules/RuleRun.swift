internal import StratusBytes
internal import StratusIndex
internal import StratusEngine

/// The rules of the host, run for the items of a batch that passed their checks: triggers until
/// nothing is left that they have not seen, then validators.
///
/// `Formats/README.md`, "Validators and triggers".
struct RuleRun {
    /// So deep triggers may call each other.
    static let depthLimit = 8
    /// So many items triggers may add to a commit.
    static let effectLimit = 100_000

    /// A record whose triggers are to run.
    private struct Step {
        let name: String
        /// How many triggers led to it.
        let depth: Int
    }

    /// What a trigger returned, and for which record.
    private struct Source {
        let trigger: String
        let name: String
        /// Of what it adds.
        let depth: Int
    }

    private let batch: RecordBatch
    private let rules: RecordRules
    private let reading: StoreReading
    private let reader: RuleReader
    private var cascade: RuleCascade
    /// The steps in the order in which they run, and the next one.
    private var queue: [Step] = []
    private var next = 0
    /// The records that are written and have validators.
    private var validated: [String] = []

    /// The caller's items, as triggers left them, and what triggers added.
    private(set) var items: [RecordItem]
    private(set) var hasEffects = false
    /// The caller's items that fail.
    private(set) var failures: [Int: StoreError] = [:]

    var readSet: [IndexKey] { reader.readSet }
    var causes: [Int: [Int: String]] { reader.causes }

    init(
        _ rules: RecordRules, of batch: RecordBatch, _ reader: RuleReader, _ cascade: RuleCascade,
        _ reading: StoreReading
    ) {
        self.rules = rules
        self.batch = batch
        self.reader = reader
        self.cascade = cascade
        self.reading = reading
        items = batch.items
    }

    /// Runs the rules for these items of the caller, whose records have any; `deletions` are all
    /// that delete something.
    mutating func run(
        _ concerned: [Int], _ deletions: [Int]
    ) throws(EngineError) {
        for index in concerned { try begin(index) }
        for index in deletions where failures[index] == nil {
            cascade.follow(items[index].recordID.recordName, depth: 0)
        }
        while true {
            while next < queue.count {
                let step = queue[next]
                next += 1
                try react(step)
            }
            if cascade.isAtEnd { break }
            try takeAlong()
        }
        // Validators would be asked about what is not going to be so.
        if !failures.isEmpty, !batch.isAtomic { return }
        for name in validated { try validate(name) }
    }

    private mutating func begin(_ index: Int) throws(EngineError) {
        let name = items[index].recordID.recordName
        do throws(EngineError) {
            guard let write = try reader.write(of: name) else { return }
            // What is wrong with the fields comes before what rules say of them.
            if case .save(let record, let rule) = items[index] {
                try NumberAssignment(reading, .readOnly, batch.environment).check(
                    record, rule.policy, isInsert: write.before == nil, of: batch)
            }
            note(write, of: name, isNew: true, depth: 0)
        } catch {
            if error.wouldBlock { throw error }
            put(StoreError(error), index)
        }
    }

    /// Puts down what the commit does to a record, and lets its rules run.
    private mutating func note(
        _ write: RuleReader.Write, of name: String, isNew: Bool, depth: Int
    ) {
        var write = write
        let own = rules.types[write.type]
        if isNew, own?.validators.isEmpty == false { validated.append(name) }
        if own?.triggers.isEmpty == false, !write.isQueued {
            write.isQueued = true
            queue.append(Step(name: name, depth: depth))
        }
        reader.put(write, of: name)
    }

    /// Finds what goes along with the next deletion, now that all is known that is saved.
    private mutating func takeAlong() throws(EngineError) {
        let reader = reader
        let found: [RuleCascade.Found]
        do throws(EngineError) {
            found = try cascade.next(rules, reading, batch.zoneID) { name throws(EngineError) in
                try reader.write(of: name) == nil
            }
        } catch {
            if error.wouldBlock { throw error }
            try fail(cascade.target, StoreError(error))
            cascade.end()
            return
        }
        guard let target = try reader.write(of: cascade.target) else { return }
        for record in found {
            let write = RuleReader.Write(
                type: record.type, before: record.record, requestedItem: target.requestedItem,
                causes: target.causes)
            note(write, of: record.name, isNew: true, depth: record.depth)
            cascade.follow(record.name, depth: record.depth)
        }
    }
}

// Triggers.
extension RuleRun {
    private mutating func react(_ step: Step) throws(EngineError) {
        guard var write = try reader.write(of: step.name) else { return }
        write.isQueued = false
        reader.put(write, of: step.name)
        let triggers = rules.types[write.type]?.triggers ?? []
        for (place, trigger) in triggers.enumerated() {
            // Another trigger, or itself, may have changed the record.
            guard var write = try reader.write(of: step.name) else { return }
            let seen = write.seen[place]
            if seen?.revision == write.revision { continue }
            write.seen[place] = RuleReader.Write.Seen(
                record: write.now, revision: write.revision)
            reader.put(write, of: step.name)
            let old = if let seen { seen.record } else { write.before }
            let change = change(of: step.name, write, old: old)
            var effects: [RuleEffect] = []
            var refusal: RuleRefusal?
            do throws(RuleRefusal) {
                effects = try trigger.body(change, reader)
            } catch {
                refusal = error
            }
            if let failure = try reader.takeFailure() {
                try fail(step.name, failure)
            } else if let refusal {
                try fail(step.name, .refused(byTrigger: trigger.name, refusal))
            } else {
                let source = Source(
                    trigger: trigger.name, name: step.name, depth: step.depth + 1)
                for effect in effects { try apply(effect, of: source) }
            }
        }
    }

    private mutating func apply(_ effect: RuleEffect, of source: Source) throws(EngineError) {
        let id: Record.ID
        switch effect {
        case .save(let record, _): id = record.recordID
        case .delete(let deleted): id = deleted
        }
        var failure: StoreError?
        do throws(EngineError) {
            switch effect {
            case .save(let record, let policy): failure = try save(record, policy, source)
            case .delete: failure = try delete(id, source)
            }
        } catch {
            if error.wouldBlock { throw error }
            failure = StoreError(error)
        }
        guard let failure = failure?.with(id) else { return }
        for (item, _) in try blamed(for: source.name) {
            put(.effectFailed(of: source.trigger, failure), item)
        }
    }

    /// Returns why a record cannot be saved along.
    private mutating func save(
        _ record: Record, _ policy: SavePolicy, _ source: Source
    ) throws(EngineError) -> StoreError? {
        let name = record.recordID.recordName
        let rule = SaveRule(policy)
        guard batch.isInside(record.recordID.zoneID) else { return .effectElsewhere }
        guard !record.isShare else { return .effectOnShare }
        var write: RuleReader.Write
        var item = RecordItem.save(record, rule)
        let former = try reader.write(of: name)
        if let former {
            guard let now = former.now, let place = former.item,
                case .save(let saved, let savedRule) = items[place]
            else { return .savedAndDeleted }
            guard now.recordType == record.recordType else { return .effectOfOtherType }
            write = former
            guard let edited = batch.adding(record, rule, over: now, to: saved) else {
                // What is so already needs no trigger to run again.
                try blame(source, for: &write)
                reader.put(write, of: name)
                return nil
            }
            item = .save(edited, savedRule)
            write.now = batch.result(of: record, rule, over: now)
            write.revision += 1
        } else {
            let before = try reader.stored(name)
            if let before, before.recordType != record.recordType { return .effectOfOtherType }
            write = RuleReader.Write(
                type: record.recordType, before: before,
                now: batch.result(of: record, rule, over: before), item: items.count)
        }
        if let error = limitError(of: record.recordID, source) { return error }
        if let place = write.item, place < items.count {
            items[place] = item
        } else {
            items.append(item)
        }
        try add(write, of: name, isNew: former == nil, source)
        return nil
    }

    /// Returns why a record cannot be deleted along.
    private mutating func delete(
        _ id: Record.ID, _ source: Source
    ) throws(EngineError) -> StoreError? {
        guard batch.isInside(id.zoneID) else { return .effectElsewhere }
        let name = id.recordName
        if var write = try reader.write(of: name) {
            guard write.now == nil else { return .savedAndDeleted }
            // It is done already; where that fails, the trigger was of no effect either.
            try blame(source, for: &write)
            reader.put(write, of: name)
            return nil
        }
        guard let before = try reader.stored(name) else { return nil }
        guard !before.isShare else { return .effectOnShare }
        if let error = limitError(of: id, source) { return error }
        let write = RuleReader.Write(type: before.recordType, before: before, item: items.count)
        items.append(.delete(reader.id(name)))
        try add(write, of: name, isNew: true, source)
        cascade.follow(name, depth: source.depth)
        return nil
    }

    private func limitError(of id: Record.ID, _ source: Source) -> StoreError? {
        if source.depth > Self.depthLimit { return .tooDeep(source.trigger, id) }
        guard items.count - batch.items.count < Self.effectLimit else { return .tooManyEffects }
        return nil
    }

    private mutating func add(
        _ write: RuleReader.Write, of name: String, isNew: Bool, _ source: Source
    ) throws(EngineError) {
        var write = write
        try blame(source, for: &write)
        hasEffects = true
        note(write, of: name, isNew: isNew, depth: source.depth)
    }

    /// Puts down who is to fail with what a trigger has written.
    private func blame(
        _ source: Source, for write: inout RuleReader.Write
    ) throws(EngineError) {
        guard let origin = try reader.write(of: source.name) else { return }
        var items = Array(origin.causes.keys)
        if let item = origin.requestedItem { items.append(item) }
        for item in items where write.causes[item] == nil {
            write.causes[item] = source.trigger
        }
    }
}

// Validators.
extension RuleRun {
    private mutating func validate(_ name: String) throws(EngineError) {
        guard let write = try reader.write(of: name) else { return }
        let change = change(of: name, write, old: write.before)
        for validator in rules.types[write.type]?.validators ?? [] {
            var refusal: RuleRefusal?
            do throws(RuleRefusal) {
                try validator.body(change, reader)
            } catch {
                refusal = error
            }
            if let failure = try reader.takeFailure() { return try fail(name, failure) }
            if let refusal {
                return try fail(name, .refused(byValidator: validator.name, refusal))
            }
        }
    }

    private func change(
        of name: String, _ write: RuleReader.Write, old: Record?
    ) -> RuleChange {
        RuleChange(
            recordID: reader.id(name), recordType: write.type, old: old, new: write.now,
            userRecordID: Record.ID(recordName: batch.caller.recordName))
    }
}

// What fails.
extension RuleRun {
    /// The caller's items that fail where the write of a record does, each with the trigger by
    /// which it wrote the record; nil: the item does so itself.
    ///
    /// Where a batch does what it can, an item is tried again without what the triggers of others
    /// have added to it.
    private func blamed(for name: String) throws(EngineError) -> [(item: Int, trigger: String?)] {
        guard let write = try reader.write(of: name) else { return [] }
        var blamed = write.causes.filter { $0.key != write.requestedItem }.sorted {
            $0.key < $1.key
        }
        .map { (item: $0.key, trigger: String?.some($0.value)) }
        if let item = write.requestedItem, batch.isAtomic || blamed.isEmpty {
            blamed.append((item, nil))
        }
        return blamed
    }

    /// The write of a record fails.
    private mutating func fail(_ name: String, _ error: StoreError) throws(EngineError) {
        let error = error.with(reader.id(name))
        for (item, trigger) in try blamed(for: name) {
            if let trigger {
                put(.effectFailed(of: trigger, error), item)
            } else if items[item].recordID.recordName == name {
                put(error, item)
            } else {
                put(.goesAlong(error), item)
            }
        }
    }

    private mutating func put(_ error: StoreError, _ item: Int) {
        if failures[item] == nil {
            failures[item] = error.with(items[item].recordID)
        }
    }
}
