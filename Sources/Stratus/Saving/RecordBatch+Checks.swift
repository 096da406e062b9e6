internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

// The checks of an item against what is there, each with its error: `Formats/README.md`, "Order of
// checks".
extension RecordBatch {
    /// What an item would do, and the first check that it fails. Throws where it says what can
    /// never be done.
    func validate(
        _ item: Item, at index: Int, in zone: ZonePlace, _ access: SharedZone?,
        _ reading: StoreReading, _ parents: inout ParentCheck, _ draft: inout Draft
    ) throws(EngineError) -> (plan: ItemPlan?, failure: StoreError?) {
        let name = reading.hash(item.recordID.recordName)
        let key = IndexKey.record(zone.number, name)
        let last = try reading.value(key).map { EntryLocation($0) }
        draft.readSet.append(key)
        var place = last.flatMap { $0.isDeleted ? nil : $0 }
        var entry: JournalEntry? = if let place { try reading.entry(place) } else { nil }
        if let access, let found = entry,
            try !mayReach(found, name, item, access, reading, &draft)
        {
            (place, entry) = (nil, nil)
        }
        switch item {
        case .delete(let id, let tag):
            try checkDeletion(of: id)
            if let entry { try checkGrant(to: .delete, over: entry, reading) }
            let failure = try tagFailure(of: id, tag, place, reading)
            return (place.map { .delete($0, held(entry)) }, failure)
        case .save(let record, let rule):
            let owner = try owner(of: record, reading)
            if let entry {
                try checkGrant(to: .write, over: entry, reading)
            } else if owner == nil {
                try checkGrant(to: .create, ofType: record.recordType, reading)
            }
            try checkNames(of: record, isUsers: owner != nil)
            if let entry { try checkType(of: record, over: entry, reading) }
            var unsaved: Record?
            if record.isShare || record.recordID.recordName == Share.zoneWideRecordName {
                let isNew = entry == nil && !isTagged(record, rule)
                try checkShare(record, isNew: isNew, in: zone, access, reading, &draft)
            }
            if place == nil, let owner {
                unsaved = try reading.unsavedRecord(of: owner, as: record.recordID)
            }
            // Of a record that is gone nothing but changes is sent under its old tag.
            let isGone = place == nil && unsaved == nil && isTagged(record, rule)
            let isInsert = place == nil && !isGone
            var failure = try parents.failure(
                of: record, at: index, rule, isInsert: isInsert, &draft)
            if failure == nil {
                failure =
                    if let unsaved {
                        tagFailure(of: record, rule, unsaved: unsaved)
                    } else {
                        try tagFailure(of: record, rule, place, reading)
                    }
            }
            // What is sent is encoded, and checked by that, after this; where it never will be,
            // it is checked here, since that error comes before these.
            if failure != nil {
                try NumberAssignment(reading, .readOnly).check(
                    record, rule.policy, isInsert: isInsert, of: self)
            }
            if isGone { return (nil, failure) }
            return (
                place.map { .update($0, held(entry)) }
                    ?? .insert(previous: last?.version ?? .none), failure
            )
        }
    }

    /// Whether the caller may change the record that is there. In a private database nothing depends
    /// on its creator and type, which then are not read.
    private func checkGrant(
        to action: Permission.Action, over entry: JournalEntry, _ reading: StoreReading
    ) throws(EngineError) {
        guard scope == .public else { return }
        let head = try entry.recordHead().head
        guard let creator = try reading.user(head.creator),
            let type = reading.schema.name(head.type)
        else { throw .damaged(entry) }
        try reading.checkGrant(to: action, ofType: type, creator: creator, principal, scope)
    }

    /// Whether the caller may make a record of that type.
    private func checkGrant(
        to action: Permission.Action, ofType type: String, _ reading: StoreReading
    ) throws(EngineError) {
        guard scope == .public else { return }
        try reading.checkGrant(to: action, ofType: type, creator: nil, principal, scope)
    }

    private func checkNames(of record: Record, isUsers: Bool) throws(EngineError) {
        guard isUsers || NameRules.isItemName(record.recordID.recordName) else {
            throw .refused(
                .invalidArguments,
                "a record name is 1 to 255 ASCII characters and does not begin with _")
        }
        if let parent = record.parent {
            guard isInside(parent.recordID.zoneID), parent.action == .none,
                NameRules.isItemName(parent.recordID.recordName)
            else {
                throw .refused(
                    .invalidArguments,
                    "a parent is a reference without action to a record of the same zone")
            }
        }
    }

    private func checkType(
        of record: Record, over entry: JournalEntry, _ reading: StoreReading
    ) throws(EngineError) {
        guard try entry.isRecord(named: record.recordID.recordName) else {
            throw .refused(.hashCollision)
        }
        guard let type = try reading.schema.name(entry.recordHead().head.type) else {
            throw .damaged(entry)
        }
        guard type == record.recordType else {
            throw .refused(
                .invalidArguments, "a record of this name has another record type")
        }
    }
}

// The logic of change tags: `Formats/README.md`, "Saving".
extension RecordBatch {
    private func isTagged(_ record: Record, _ rule: SaveRule) -> Bool {
        rule.policy == .ifServerRecordUnchanged && record.version != nil
    }

    private func tagFailure(
        of record: Record, _ rule: SaveRule, _ place: EntryLocation?, _ reading: StoreReading
    ) throws(EngineError) -> StoreError? {
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

    /// Of a user's record before its first save, which is there and has a tag. Without a tag it may
    /// be saved too: there is nothing yet that the save could overwrite.
    private func tagFailure(
        of record: Record, _ rule: SaveRule, unsaved: Record
    ) -> StoreError? {
        guard isTagged(record, rule), record.version != unsaved.version else { return nil }
        var error = StoreError(.serverRecordChanged, "client oplock error updating record")
        error.serverRecord = unsaved
        error.clientRecord = record
        error.ancestorRecord = record.ancestor
        return error
    }

    /// Of a deletion, which has a tag or none.
    private func tagFailure(
        of id: Record.ID, _ tag: String?, _ place: EntryLocation?, _ reading: StoreReading
    ) throws(EngineError) -> StoreError? {
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
        _ error: StoreError, of item: Item, _ place: EntryLocation?, _ reading: StoreReading
    ) throws(EngineError) -> StoreError {
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
        let record = try reading.record(place, as: id)
        // Of the public database a caller may write what it may not read.
        let reader = try publicReader(reading)
        if reader?.refusal(of: record) != nil { return error }
        error.serverRecord = try reading.shown(record, to: principal, in: scope)
        guard let base, error.ancestorRecord == nil,
            try mayRead(id.recordName, at: base, reading)
        else { return error }
        // Under the same name there may have been another's.
        if let ancestor = try reading.record(at: base, of: place, as: id),
            reader?.refusal(of: ancestor) == nil
        {
            error.ancestorRecord = try reading.shown(ancestor, to: principal, in: scope)
        }
        return error
    }

    /// What the caller may read of the public database; nil: everything, or it is not of that.
    func publicReader(_ reading: StoreReading) throws(EngineError) -> PublicReader? {
        try PublicReader(DatabaseView(reading, scope, principal), reading)
    }
}
