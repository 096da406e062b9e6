internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What sharing asks of a batch: `Formats/README.md`, "Sharing".
extension RecordBatch {
    /// Whose zone it is; nil: that of all.
    var owner: UserID? {
        switch scope {
        case .public: nil
        case .private(let owner): owner
        case .shared: UserID(recordName: zoneID.ownerName)
        }
    }

    /// What the caller sees of a zone that is another user's.
    func access(
        to zone: ZonePlace, without failed: [Int: StoreError], _ reading: StoreReading,
        _ draft: inout Draft
    ) throws(EngineError) -> SharedZone? {
        guard case .shared(let user) = scope else { return nil }
        guard var access = try reading.sharedZone(zone, for: user) else {
            throw .refused(.zoneNotFound(zoneID))
        }
        // What counts is the permission that the batch leaves.
        for (index, item) in items.enumerated() where failed[index] == nil {
            guard case .save(let record, _) = item, let edit = record.shareEdit,
                let share = try reading.share(
                    ofRecord: record.recordID.recordName, in: zone.number)
            else { continue }
            access.edit(share, edit, by: caller)
        }
        draft.readRanges.append(IndexKey.participations(of: access.user, in: zone.number))
        draft.readSet += access.shares.map { .share($0) }
        return access
    }

    /// What became of a zone of which nothing is shared is nothing to the caller.
    func checkThatItIsShared(_ reading: StoreReading) throws(EngineError) {
        guard case .shared(let user) = scope else { return }
        guard let database = try reading.database(of: zoneID, in: scope),
            let zone = try ZonePlace.decoded(
                reading.value(.zone(database, reading.hash(zoneID.zoneName)))),
            zone.isAlive, try reading.sharedZone(zone, for: user) != nil
        else { throw .refused(.zoneNotFound(zoneID)) }
    }

    /// The saves of shares that failed by themselves, where what they allow counted for others; nil
    /// where there is none.
    func lostShares(_ draft: Draft, _ access: SharedZone?) -> [Int: StoreError]? {
        guard access != nil, !isAtomic else { return nil }
        var lost: [Int: StoreError] = [:]
        for index in items.indices where items[index].isShare {
            lost[index] = draft.results[index].error
        }
        return lost.isEmpty ? nil : lost
    }

    /// What the batch does to shares; nil where the zone never had any and gets none.
    ///
    /// - Parameter hasFailed: whether it is known by now that an item fails, and the others with it.
    func sharing(
        in zone: ZonePlace, _ access: SharedZone?, _ reading: StoreReading,
        _ context: PreparationContext, hasFailed: Bool, _ numbers: inout NumberAssignment,
        _ draft: inout Draft
    ) throws(EngineError) -> SharingPlan? {
        guard zone.capabilities.contains(.sharing) else { return nil }
        draft.readSet.append(KeySpace.shareRoots.key(zone: zone.number))
        guard try reading.everShared(zone) || items.contains(where: \.isShare) else { return nil }
        var plan = SharingPlan(
            self, reading, zone, access, context)
        try plan.run(draft.results, hasFailed: hasFailed, &numbers)
        if !context.isSerial {
            draft.readSet += plan.readSet
            draft.readRanges += plan.readRanges
        }
        return plan
    }

    /// A participant leaves the parent of a root as it is, which the participant does not see.
    func mayChangeParent(of head: RecordHead) -> Bool {
        if case .shared = scope { head.shareRecord == nil } else { true }
    }

    /// Whether the caller may do to a record of another user's zone what the item says. False where it
    /// is to be taken for missing.
    func mayReach(
        _ entry: JournalEntry, _ name: Hash128, _ item: Item, _ access: SharedZone,
        _ reading: StoreReading, _ draft: inout Draft
    ) throws(EngineError) -> Bool {
        draft.readSet.append(.member(access.zone.number, name))
        let object = try access.object(entry, named: name, reading)
        // Only a save tells that the name is taken.
        if object.grant == nil, item.isDeletion { return false }
        let action: Permission.Action =
            switch item {
            case .delete: .delete
            case .save(let record, _): record.changesParent && record.parent != nil ? .move : .write
            }
        try Permission.check(action, on: .sharedRecord(object), by: principal, in: scope)
        return true
    }

    /// Whether the caller sees the record of that name now, be it there or not.
    func sees(_ name: String, _ reading: StoreReading) throws(EngineError) -> Bool {
        guard case .shared(let user) = scope else { return true }
        guard let number = try reading.livingZone(zoneID, in: scope),
            let zone = try reading.zone(number),
            let access = try reading.sharedZone(zone, for: user)
        else { return false }
        return try access.grant(of: reading.hash(name), reading) != nil
    }

    /// Whether the caller could read a record when that version of it was current.
    func mayRead(
        _ name: String, at version: Version, _ reading: StoreReading
    ) throws(EngineError) -> Bool {
        guard case .shared(let user) = scope else { return true }
        guard let database = try reading.database(of: zoneID, in: scope),
            let value = try reading.value(.zone(database, reading.hash(zoneID.zoneName))),
            let zone = try ZonePlace.decoded(value),
            let access = try reading.sharedZone(zone, for: user)
        else { return false }
        // In another zone, before it was moved here, it was the owner's alone.
        guard let entry = try reading.keptEntry(of: version, in: zone.number),
            entry.kind == .record, try entry.isRecord(named: name)
        else { return false }
        if try access.sawAlready(reading.hash(name), at: version, reading) { return true }
        // A version that the record was given in a share says so itself.
        guard let share = try entry.recordHead().head.membership?.share else { return false }
        return access.hadPart(in: share, at: version)
    }

    /// The checks of a share's record that need no more than what is there.
    func checkShare(
        _ record: Record, isNew: Bool, in zone: ZonePlace, _ access: SharedZone?,
        _ reading: StoreReading, _ draft: inout Draft
    ) throws(EngineError) {
        let isZoneWide = record.recordID.recordName == Share.zoneWideRecordName
        guard record.isShare else { throw .refused(.reservedForShares) }
        guard scope != .public else {
            throw .refused(.badDatabase, "the public database has no shares")
        }
        guard access == nil || !isNew else {
            throw .refused(.badDatabase, "only the owner of a zone shares it")
        }
        guard zone.capabilities.contains(.sharing) else {
            throw .refused(.invalidArguments, "only what lies in a custom zone can be shared")
        }
        guard record.parent == nil else {
            throw .refused(.invalidArguments, "a share has no parent")
        }
        let hasCascadeLink = record.edits.all.contains { edit in
            edit.value?.everyReference { $0.action != .deleteSelf } == false
        }
        if hasCascadeLink {
            throw .refused(.invalidArguments, "a share goes with its root and with nothing else")
        }
        guard isNew else { return }
        switch record.shareEdit?.creation {
        case nil: throw .refused(.noRoot)
        case .zone:
            guard isZoneWide else { throw .refused(.reservedForShares) }
            try checkThatNothingIsShared(in: zone, reading, &draft)
        case .root(let root, let isTouched):
            guard !isZoneWide, isInside(root.zoneID), root.recordName != record.recordID.recordName
            else { throw .refused(.reservedForShares) }
            let key = IndexKey.record(zone.number, reading.hash(root.recordName))
            draft.readSet.append(key)
            let place = try reading.value(key).map { EntryLocation($0) }
            let isThere = place?.isDeleted == false
            guard saves(root.recordName) || isTouched && isThere else { throw .refused(.noRoot) }
            if let place, isThere, try reading.isShareRecord(reading.entry(place)) {
                throw .refused(.shareAsParent)
            }
            draft.readSet.append(.shareRoot(zone.number, nil))
            if try reading.share(ofRoot: nil, in: zone.number)?.isAlive == true,
                !deletes(Share.zoneWideRecordName)
            {
                throw .refused(.zoneIsShared)
            }
        }
    }

    /// Whether an item deletes the record of that name.
    func deletes(_ name: String) -> Bool {
        items.contains { $0.isDeletion && $0.recordID.recordName == name }
    }

    /// Whether an item saves the record of that name.
    func saves(_ name: String) -> Bool {
        items.contains { item in
            if case .save(let record, _) = item {
                record.recordID.recordName == name
            } else {
                false
            }
        }
    }

    /// A zone is shared as a whole where none of its hierarchies is.
    private func checkThatNothingIsShared(
        in zone: ZonePlace, _ reading: StoreReading, _ draft: inout Draft
    ) throws(EngineError) {
        draft.readRanges.append(IndexKey.shareRoots(zone.number))
        for share in try reading.shares(of: zone) where !share.isZoneWide {
            let entry = try reading.shareEntry(share)
            if deletes(entry.recordName) || deletes(entry.rootName) { continue }
            throw .refused(.invalidArguments, "hierarchies of the zone are shared already")
        }
    }
}

extension RecordItem {
    /// Whether it is about the record of a share.
    var isShare: Bool {
        switch self {
        case .save(let record, _): record.isShare
        case .delete: false
        }
    }

    /// The same, with the tag compared: what a share is, is never overwritten blindly.
    var comparingShares: RecordItem {
        guard case .save(let record, let rule) = self, record.isShare else { return self }
        return .save(record, SaveRule(.ifServerRecordUnchanged, replaces: rule.replaces))
    }
}

extension Record {
    /// Whether it is the record of a share.
    var isShare: Bool { recordType == Record.shareType }
}

extension StoreReading {
    /// Throws where a caller may not do that to a record of the public database.
    func checkGrant(
        to action: Permission.Action, ofType type: String, creator: UserID?,
        _ principal: Principal, _ scope: DatabaseScope
    ) throws(EngineError) {
        let grants = try grants()
        var roles: Set<String> = []
        if grants.ofType(type).namesRoles, let user = principal.user {
            roles = try self.roles(of: user)
        }
        try Permission.check(
            action, on: .publicRecord(grants, type: type, roles: roles, creator: creator),
            by: principal, in: scope)
    }
}

extension StoreError {
    static let reservedForShares = StoreError(
        .invalidArguments,
        "cloudkit.zoneshare is the name of the share of a whole zone, and of nothing else")
}
