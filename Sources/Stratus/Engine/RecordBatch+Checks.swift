internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

// The checks of an item against what is there, each with its error: `Formats/README.md`, "Order of
// checks".
extension RecordBatch {
    /// What an item would do, and the first check that it fails. Throws where it says what can
    /// never be done.
    func judge(
        _ item: Item, at index: Int, in zone: UInt32, _ reading: StoreReading,
        _ parents: inout ParentCheck, _ preparation: inout Preparation
    ) throws(StoreError) -> (plan: ItemPlan?, failure: StoreError?) {
        let key = IndexKey.record(zone, reading.hash(item.recordID.recordName))
        let last = try reading.value(key).map { EntryPlace($0) }
        preparation.readSet.append(key)
        let place = last.flatMap { $0.isDeleted ? nil : $0 }
        let entry: JournalEntry? = if let place { try reading.entry(place) } else { nil }
        switch item {
        case .delete(let id, let tag):
            try checkDeletion(of: id)
            let failure = try tagFailure(of: id, tag, place, reading)
            return (place.map { .delete($0, held(entry)) }, failure)
        case .save(let record, let rule):
            try checkNames(of: record)
            if let entry { try checkType(of: record, over: entry, reading) }
            // Of a record that is gone nothing but changes is sent under its old tag.
            let isGone = place == nil && isTagged(record, rule)
            let isInsert = place == nil && !isGone
            var failure = try parents.failure(
                of: record, at: index, rule, isInsert: isInsert, &preparation)
            if failure == nil { failure = try tagFailure(of: record, rule, place, reading) }
            // What is sent is encoded, and checked by that, after this; where it never will be,
            // it is checked here, since that error comes before these.
            if failure != nil {
                try NumberAssignment(reading, .nobody).check(
                    record, rule.policy, isInsert: isInsert, of: self)
            }
            if isGone { return (nil, failure) }
            return (
                place.map { .update($0, held(entry)) }
                    ?? .insert(previous: last?.version ?? .none), failure
            )
        }
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

    private func checkType(
        of record: Record, over entry: JournalEntry, _ reading: StoreReading
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

// The logic of change tags: `Formats/README.md`, "Saving".
extension RecordBatch {
    private func isTagged(_ record: Record, _ rule: SaveRule) -> Bool {
        // A user's record has a tag before anybody saved it.
        rule.policy == .ifServerRecordUnchanged && record.version != nil
            && record.recordType != Record.userRecordType
    }

    private func tagFailure(
        of record: Record, _ rule: SaveRule, _ place: EntryPlace?, _ reading: StoreReading
    ) throws(StoreError) -> StoreError? {
        guard let place else {
            return isTagged(record, rule) ? StoreError.taggedRecordNotFound : nil
        }
        guard rule.policy == .ifServerRecordUnchanged, record.version != place.version.rawValue
        else { return nil }
        let reason =
            record.version == nil
            ? "record to insert already exists" : "client oplock error updating record"
        return try conflict(
            StoreError(.serverRecordChanged, reason), of: .save(record, rule), place, reading)
    }

    /// Of a deletion, which has a tag or none.
    private func tagFailure(
        of id: Record.ID, _ tag: String?, _ place: EntryPlace?, _ reading: StoreReading
    ) throws(StoreError) -> StoreError? {
        guard let tag else { return nil }
        guard let place else { return StoreError.taggedRecordNotFound }
        if Version(changeTag: tag) == place.version { return nil }
        return try conflict(
            StoreError(.serverRecordChanged, "client oplock error deleting record"),
            of: .delete(id, recordChangeTag: tag), place, reading)
    }

    /// The error of an item in conflict with the version at `place`, with the records concerned;
    /// nil: that version is not kept any more.
    ///
    /// The ancestor is the record that the caller edited or, where that holds only a part of the
    /// fields, the version that the tag names, as long as it is kept.
    func conflict(
        _ error: StoreError, of item: Item, _ place: EntryPlace?, _ reading: StoreReading
    ) throws(StoreError) -> StoreError {
        let id = Record.ID(recordName: item.recordID.recordName, zoneID: zoneID)
        var error = error
        let base: Version?
        switch item {
        case .save(let record, _):
            error.clientRecord = record
            error.ancestorRecord = record.ancestor
            base = record.version.map { Version(rawValue: $0) }
        case .delete(_, let tag):
            base = tag.map { Version(changeTag: $0) }
        }
        guard let place else { return error }
        error.serverRecord = try reading.record(place, as: id)
        if let base, error.ancestorRecord == nil {
            error.ancestorRecord = try reading.record(at: base, of: place, as: id)
        }
        return error
    }
}
