internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

/// Saves and deletes in one zone: one commit.
struct RecordBatch: CommitRequest {
    typealias Item = RecordOperation

    let scope: DatabaseScope
    let caller: UserID
    let zoneID: RecordZone.ID
    let items: [Item]
    /// Whether one item's failure is that of all.
    let isAtomic: Bool
    /// Nil where nothing is limited.
    let limits: Limits?
    let environment: Container.Environment
    /// The items that an earlier attempt found to fail, in a batch that is not atomic.
    var refused: [Int: StoreError] = [:]
    /// What the caller says of the whole call.
    var operation: OperationRequest?

    /// Checks and encodes the items.
    func prepareItems(
        _ reading: StoreReading, _ role: PreparingRole, sink: PieceSink
    ) throws(StoreError) -> Preparation {
        var batch = self
        while true {
            let preparation = try batch.attempt(reading, role, sink: sink)
            guard let again = preparation.again, !preparation.hasPieces else { return preparation }
            batch = again
        }
    }

    private func attempt(
        _ reading: StoreReading, _ role: PreparingRole, sink: PieceSink
    ) throws(StoreError) -> Preparation {
        var preparation = Preparation(reading)
        // Surely longer than a piece: checking it here as well would be lost work.
        guard role.isCommitter || items.count <= role.pieceLimit / 128 else {
            preparation.needsCommitter = true
            return preparation
        }
        var numbers = NumberAssignment(reading, role, environment)
        let (user, database) = try numbers.caller(caller, in: scope, &preparation)
        let zone = try numbers.zone(zoneID, in: database, &preparation)
        guard let user, let zone, !preparation.needsCommitter else { return preparation }
        preparation.user = user
        preparation.zone = zone

        try plan(zone, reading, role, &numbers, &preparation)
        if isAtomic { failInnocents(&preparation) }
        // What was assigned for items that failed is not written either.
        if preparation.results.allSatisfy(\.writesNothing) { return preparation }
        var encoder = try RecordEncoder(
            reading: reading, role: role, zone: zone, user: user, batch: self, numbers: numbers)
        do {
            try encode(&encoder, &preparation, sink: sink)
        } catch {
            if error.mustWait { throw error }
            for index in preparation.results.indices where !preparation.results[index].hasFailed {
                preparation.results[index] = .failed(error.with(items[index].recordID))
            }
        }
        if preparation.needsCommitter || preparation.again != nil { return preparation }
        // What is too long shows only now; nothing of an atomic batch is kept.
        if isAtomic { failInnocents(&preparation) }
        // Names, users and zones are of no use without what they were assigned for, and must not
        // fix the type of a field that nobody saved.
        let writesNothing =
            preparation.hasPieces
            ? preparation.results.allSatisfy(\.hasFailed)
            : preparation.results.allSatisfy(\.writesNothing)
        if writesNothing { preparation.buffer = CommitBuffer() }
        return preparation
    }

    /// Checks the items, parents before their children, so that it is known of each whether its
    /// parent can be saved.
    private func plan(
        _ zone: ZonePlace, _ reading: StoreReading, _ role: PreparingRole,
        _ numbers: inout NumberAssignment, _ preparation: inout Preparation
    ) throws(StoreError) {
        preparation.results = [ItemResult](repeating: .unchanged, count: items.count)
        preparation.readSet.reserveCapacity(items.count + 1)
        var parents = ParentCheck(self, ParentOrder(items), reading, zone: zone.number)
        for place in items.indices {
            let index = parents.order[place]
            let item = items[index]
            if let error = refused[index] {
                preparation.results[index] = .failed(error)
                continue
            }
            do throws(StoreError) {
                let plan = try plan(
                    item, at: index, in: zone.number, reading, &parents, &preparation)
                if role.isCommitter, case .save(let record, let rule) = item {
                    let isInsert = if case .insert = plan { true } else { false }
                    try numbers.assign(
                        record, rule.policy, isInsert: isInsert, of: self, &preparation)
                }
                preparation.results[index] = plan.map { .planned($0) } ?? .unchanged
            } catch {
                if error.mustWait { throw error }
                preparation.results[index] = .failed(error.with(item.recordID))
            }
        }
        parents.failDependents(of: &preparation)
    }

    /// What became of each item of a commit that was acknowledged, with the records made in the
    /// caller's own task; nil for one that is as it was, or gone.
    func outcomes(
        of committed: borrowing Committed, _ reading: StoreReading
    ) throws(StoreError) -> [Result<Record?, StoreError>] {
        var outcomes: [Result<Record?, StoreError>] = []
        outcomes.reserveCapacity(items.count)
        for index in items.indices {
            switch committed.preparation.results[index] {
            case .saved(let record): outcomes.append(.success(record))
            case .failed(let error): outcomes.append(.failure(error))
            case .unchanged, .planned: outcomes.append(.success(nil))
            case .staged(let place):
                let start = committed.start ?? .zero
                outcomes.append(
                    .success(
                        try committed.preparation.record(
                            index, at: place, of: self, in: committed.preparation.buffer,
                            from: start, reading)))
            }
        }
        return outcomes
    }

    /// Whether a save says what the record's parent is, or leaves it as it is.
    func sendsParent(of record: Record, _ rule: SaveRule, isInsert: Bool) -> Bool {
        isInsert || rule.replaces || record.changesParent
            || (rule.policy == .allKeys && record.parent != nil)
    }

    /// In an atomic batch the items that could have been written fail with those that cannot.
    private func failInnocents(_ preparation: inout Preparation) {
        guard preparation.results.contains(where: \.hasFailed) else { return }
        for index in preparation.results.indices where !preparation.results[index].hasFailed {
            preparation.results[index] = .failed(
                StoreError.batchRequestFailed.with(items[index].recordID))
        }
    }

    /// The checks of an item, each with its error: `Formats/README.md`, "Order of checks".
    private func plan(
        _ item: Item, at index: Int, in zone: UInt32, _ reading: StoreReading,
        _ parents: inout ParentCheck, _ preparation: inout Preparation
    ) throws(StoreError) -> ItemPlan? {
        let key = IndexKey.record(zone, reading.hash(item.recordID.recordName))
        let place = try reading.value(key).map { EntryPlace($0) }
        preparation.readSet.append(key)
        switch item {
        case .delete(let id, let tag):
            try checkDeletion(of: id)
            guard let place, !place.isDeleted else {
                if tag == nil { return nil }
                throw StoreError.taggedRecordNotFound
            }
            if let tag, Version(changeTag: tag) != place.version {
                throw try conflict(
                    id, place, "client oplock error deleting record",
                    base: Version(changeTag: tag), reading)
            }
            return .delete(place, held(try reading.entry(place)))
        case .save(let record, let rule):
            try checkNames(of: record)
            do throws(StoreError) {
                // Of a record that is gone nothing but changes is sent under its old tag.
                let isTagged = rule.policy == .ifServerRecordUnchanged && record.version != nil
                let isInsert = (place?.isDeleted ?? true) && !isTagged
                try parents.check(record, at: index, rule, isInsert: isInsert, &preparation)
                return try plan(record, rule.policy, place, reading)
            } catch {
                // Bad names of types and fields are found when they get their numbers, which comes
                // after this; in the order of checks they stand before it.
                try NumberAssignment(reading, .nobody).checkNames(of: record)
                throw error
            }
        }
    }

    /// The logic of change tags: `Formats/README.md`, "Saving".
    private func plan(
        _ record: Record, _ policy: SavePolicy, _ place: EntryPlace?, _ reading: StoreReading
    ) throws(StoreError) -> ItemPlan {
        guard let place, !place.isDeleted else {
            // A user's record has a tag before anybody saved it.
            if policy == .ifServerRecordUnchanged, record.version != nil,
                record.recordType != Record.userRecordType
            {
                throw StoreError.taggedRecordNotFound
            }
            return .insert(previous: place?.version ?? .none)
        }
        if policy == .ifServerRecordUnchanged, record.version != place.version.rawValue {
            var error = try conflict(
                record.recordID, place,
                record.version == nil
                    ? "record to insert already exists" : "client oplock error updating record",
                base: record.system == nil ? record.version.map { Version(rawValue: $0) } : nil,
                reading)
            error.clientRecord = record
            if record.system != nil { error.ancestorRecord = record.ancestor }
            throw error
        }
        let entry = try reading.entry(place)
        try check(entry, against: record, reading)
        return .update(place, held(entry))
    }

    /// An entry that was read to check an item and is needed again to encode it; a long batch
    /// reads it again rather than hold them all.
    private func held(_ entry: JournalEntry) -> JournalEntry? {
        items.count <= 1000 ? entry : nil
    }

    /// An ancestor that the caller did not bring along is the version that its tag names, where
    /// that is still held.
    private func conflict(
        _ id: Record.ID, _ place: EntryPlace, _ reason: String, base: Version?,
        _ reading: StoreReading
    ) throws(StoreError) -> StoreError {
        let id = Record.ID(recordName: id.recordName, zoneID: zoneID)
        var error = StoreError(.serverRecordChanged, reason)
        error.serverRecord = try reading.record(place, as: id)
        if let base {
            error.ancestorRecord = try reading.record(at: base, of: place, as: id)
        }
        return error
    }

    private func checkNames(of record: Record) throws(StoreError) {
        let isUsers = try checkUserRecord(record)
        guard isUsers || NameRules.isItemName(record.recordID.recordName) else {
            throw StoreError(
                .invalidArguments,
                "a record name is 1 to 255 ASCII characters and does not begin with _")
        }
        if let parent = record.parent {
            guard isInside(parent.recordID.zoneID), parent.action == .none,
                NameRules.isItemName(parent.recordID.recordName)
            else {
                throw StoreError(
                    .invalidArguments,
                    "a parent is a reference without action to a record of the same zone")
            }
        }
    }

    /// Whether a zone that a caller names is the batch's own: the owner may be named in two ways.
    func isInside(_ zone: RecordZone.ID) -> Bool {
        zone.zoneName == zoneID.zoneName
            && (zone.ownerName == RecordZone.ID.currentUser || zone.ownerName == zoneID.ownerName
                || zone.ownerName == caller.recordName)
    }

    private func check(
        _ entry: JournalEntry, against record: Record, _ reading: StoreReading
    ) throws(StoreError) {
        guard try entry.isRecord(named: record.recordID.recordName) else {
            throw StoreError.hashCollision
        }
        let type = entry.withPayload { bytes -> UInt32? in
            var cursor = ByteCursor()
            return try? RecordHead(bytes, &cursor).type
        }
        guard type.flatMap({ reading.schema.name($0) }) == record.recordType else {
            throw StoreError(
                .invalidArguments, "a record of this name has another record type")
        }
    }
}

extension StoreError {
    static let taggedRecordNotFound = StoreError(
        .unknownItem, "recordChangeTag specified, but record not found")
    static let batchRequestFailed = StoreError(
        .batchRequestFailed, "another item of the same atomic batch failed")
}
