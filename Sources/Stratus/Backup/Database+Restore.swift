internal import FoundationEssentials
internal import StratusEngine
internal import StratusJournal

/// What becomes of the records that a zone has, where others are brought back into it.
public enum RestoreMode: String, CaseIterable, Hashable, Sendable {
    /// Only records that are gone come back.
    case skip
    /// Records that were changed since stay as they are; all others become what they were.
    case keep
    /// All records that were there become what they were; newer ones stay.
    case replace
    /// The zone becomes what it was: records that were not there go.
    case mirror
}

/// What a restore of records does or, where it was only to say so, would do.
public struct RestoredRecords: Equatable, Sendable {
    /// The names of those that come back, in no order.
    public var added: [String] = []
    /// Of those that are there and become what they were.
    public var replaced: [String] = []
    /// Of those that go.
    public var deleted: [String] = []
    /// Of those that are there with another content, and stay.
    public var kept: [String] = []
    /// How many are what they were.
    public var unchangedCount = 0
    /// Whether the zone was compared with what it was, by its content hash, and is the same.
    public var isProved = false
    /// Whether the zone was not there and has come back with its history: change tags, dates, users,
    /// deletions and tokens.
    public var keepsHistory = false
    /// What is shared again.
    public var access: [RestoredAccess] = []
    /// Why shares were not made again, by their records; the records of the zone are there.
    public var sharingFailures: [Record.ID: StoreError] = [:]

    package init() {}

    /// Whether nothing has to be changed.
    public var isEmpty: Bool {
        added.isEmpty && replaced.isEmpty && deleted.isEmpty && access.isEmpty
    }

    /// Adds what was done in another commit, after this one.
    fileprivate mutating func add(_ later: RestoredRecords) {
        added += later.added
        replaced += later.replaced
        deleted += later.deleted
        kept = later.kept
        unchangedCount = later.unchangedCount
        isProved = later.isProved
        keepsHistory = keepsHistory || later.keepsHistory
    }
}

extension Database {
    /// Brings records of an earlier state back, of this store or of an archive, in one commit: as
    /// changes like any other, so that change tokens stay good and followers of the feed hear of them.
    ///
    /// Names, types, fields, parents and assets come back; change tags, dates and users are those of
    /// this save. All the records are in memory meanwhile, without their assets.
    ///
    /// A zone that is not there comes back with its history: change tags, dates and users are what
    /// they were, and tokens of the zone are good that were handed out up to the state it is taken
    /// from, in the other store, too. That holds for all of the zone, under its name, in the database
    /// of the same user. Users are those whom the host calls by the same names. Shares count as deleted.
    ///
    /// With `keepingAccess` the call then saves each share again whose root, or whose whole zone, is
    /// meant and of which nothing is shared now, with a link of this store, and one after the other
    /// accepts it for those who had accepted. So records below the root are shared, too, that were not
    /// there then. Where a user's name was never known to the other store, the user is invited. What was
    /// done when the call ends amid this stays: the next call leaves that share as it is, and makes
    /// those that are missing.
    ///
    /// - Parameters:
    ///   - zoneID: the zone in `source`.
    ///   - source: one database at one moment: of a ``Snapshot`` of this container, or of
    ///     ``Archive/container(memoryLimit:)``.
    ///   - target: the zone of this database; nil: the one of the same name. It is made where it is
    ///     not there.
    ///   - names: the records that are meant, each with all below it; nil: all.
    ///   - fields: what of these records is meant, such as an asset, and nothing below them; nil: all
    ///     of them. Everything else of the records stays as it is, their parents, too.
    ///   - mode: what becomes of what the zone has. With `names`, `mirror` does the same as `replace`.
    ///     With `fields` it says what becomes of these: with `skip` only those come back that the record
    ///     has no more; with `keep` no other changes in a record that was changed since; with `replace`
    ///     all those become what they were that it had; with `mirror` those go that it did not have.
    ///   - dryRun: only says what would be done.
    ///   - keepingAccess: whether shares come back, too: with title, permissions and participants;
    ///     ``RestoredRecords/access`` lists them.
    ///   - progress: as of a save of the records.
    ///   - reading: is told how many records of `source` were read.
    ///   - proving: at last, how many records were read to be compared, where a whole zone was brought
    ///     back.
    /// - Throws: ``StoreError`` with `zoneNotFound` where `source` has no such zone, `unknownItem` where
    ///   it has no record of one of the names or, with `fields`, the zone has none, or the record had
    ///   and has no such field, `serverRecordChanged` where others change the records time and again,
    ///   `invalidArguments` where a record has another type by now, or there are `fields` and no
    ///   `names`, or `keepingAccess` with `fields` or for others than private databases, and whatever a save of the records says.
    @discardableResult
    public nonisolated(nonsending) func restore(
        _ zoneID: RecordZone.ID, from source: DatabaseSnapshot, to target: RecordZone.ID? = nil,
        records names: [String]? = nil, fields: [String]? = nil, mode: RestoreMode = .replace,
        dryRun: Bool = false, keepingAccess: Bool = false, progress: UploadProgress? = nil,
        reading: @escaping Container.RecordProgress = { _, _ in },
        proving: @escaping Container.RecordProgress = { _, _ in }
    ) async throws(StoreError) -> RestoredRecords {
        if fields != nil, names == nil {
            throw StoreError(
                .invalidArguments, "expected the names of records, found only those of fields")
        }
        if keepingAccess {
            guard fields == nil else {
                throw StoreError(
                    .invalidArguments, "a share comes back with its root, not with fields of it")
            }
            guard case .private = scope, case .private = source.scope else {
                throw StoreError(
                    .invalidArguments, "only zones of private databases come back with their shares"
                )
            }
        }
        let target = target ?? RecordZone.ID(zoneName: zoneID.zoneName)
        var order = RestoreOrder(
            zone: target, mode: mode,
            source: RestoreOrder.Source(
                snapshot: source, zone: zoneID, names: names, fields: fields, reading: reading,
                proving: proving))
        var done = try await bring(&order, dryRun: dryRun, progress)
        if keepingAccess {
            let shares = try source.shares(of: zoneID, for: container).filter {
                order.brings(back: $0)
            }
            (done.access, done.sharingFailures) = try await share(
                again: shares, in: target, dryRun: dryRun)
        }
        return done
    }

    /// Gives records of a zone the fields and the parents that `records` have, in one commit: as of
    /// ``restore(_:from:to:records:fields:mode:dryRun:keepingAccess:progress:reading:proving:)``, with
    /// records from anywhere.
    ///
    /// - Parameters:
    ///   - records: as they are to be, each with all its fields. Where they have assets, these are of
    ///     this container, or new. Records of shares are left out.
    ///   - deleted: the names of records that go, where they are there.
    ///   - zoneID: the zone, which is made where it is not there.
    ///   - mode: as there; `keep` does the same as `skip` for records without a modification date.
    /// - Throws: as there.
    @discardableResult
    public nonisolated(nonsending) func restore(
        _ records: [Record], deleting deleted: [String] = [], in zoneID: RecordZone.ID,
        mode: RestoreMode = .replace, dryRun: Bool = false, progress: UploadProgress? = nil
    ) async throws(StoreError) -> RestoredRecords {
        var order = RestoreOrder(
            wanted: records.filter { !$0.isShare }, deleted: deleted, zone: zoneID, mode: mode)
        return try await bring(&order, dryRun: dryRun, progress)
    }

    private nonisolated(nonsending) func bring(
        _ order: inout RestoreOrder, dryRun: Bool, _ progress: UploadProgress?
    ) async throws(StoreError) -> RestoredRecords {
        var done = RestoredRecords()
        var tries = 0
        while true {
            let plan = try await plan(&order)
            if dryRun { return plan.result }
            if plan.result.isEmpty, !done.isEmpty { return done }
            let isProvable = order.mode == .mirror || plan.makesZone
            let source = order.isOfWholeZone && isProvable ? order.source : nil
            tries += 1
            do throws(StoreError) {
                done.add(try await commit(plan, order, from: source, progress))
                if done.isProved || source == nil || tries >= 5 { return done }
            } catch {
                guard error.isConflict, tries < 5 else { throw error }
            }
            // Others have saved meanwhile: what is to be done is found out anew.
        }
    }

    /// - Parameter source: what the zone is to be equal to as a whole; nil: it need not be.
    private nonisolated(nonsending) func commit(
        _ plan: RestorePlan, _ order: RestoreOrder, from source: RestoreOrder.Source?,
        _ progress: UploadProgress?
    ) async throws(StoreError) -> RestoredRecords {
        let target = order.zone
        let history = plan.history
        let items =
            history?.callItems(saving: plan.saved, in: target)
            ?? Self.items(saving: plan.saved, deleting: plan.deleted, .ifServerRecordUnchanged)
        if let history {
            // What is saved in the zone from here on must have greater versions.
            try await answering { () async throws(EngineError) in
                try await container.rank(above: history)
            }
        }
        if items.isEmpty {
            if plan.makesZone { try await makeZone(target, history?.lineage) }
        } else {
            let options = RecordCall.Options(isAtomic: true, isRestore: true, history: history)
            let outcomes = try await answering {
                () async throws(EngineError) -> RecordCall.Outcomes in
                try await run(RecordCall(items, options, of: self), progress)
            }
            if let failure = ModifyRecordsResult(items, outcomes).partialFailure { throw failure }
        }
        var result = plan.result
        result.keepsHistory = history != nil
        if let source {
            result.isProved = try await isLike(source, target)
        }
        return result
    }

    /// Whether a zone has what the source of it has.
    private nonisolated(nonsending) func isLike(
        _ source: RestoreOrder.Source, _ target: RecordZone.ID
    ) async throws(StoreError) -> Bool {
        let (proving, total) = (source.proving, source.recordCount.map { 2 * $0 })
        let wanted = try source.snapshot.contentHash(of: source.zone, named: target.zoneName) {
            proving($0, total)
        }
        let before = wanted.recordCount
        let found = try await read { view throws(EngineError) in
            try view.contentHash(of: target, includingSystem: false) { proving(before + $0, total) }
        }
        return found == wanted
    }

    /// Makes a zone without records.
    private nonisolated(nonsending) func makeZone(
        _ id: RecordZone.ID, _ lineage: ZoneLineage?
    ) async throws(StoreError) {
        let items = [ZoneItem.save(id)]
        let outcomes = try await outcomes(of: items) { () async throws(EngineError) in
            var batch = try await zoneBatch(items)
            batch.lineage = lineage
            return batch
        }
        _ = try outcomes[0].get()
    }

    private nonisolated(nonsending) func plan(
        _ order: inout RestoreOrder
    ) async throws(StoreError) -> RestorePlan {
        var plan = RestorePlan()
        do throws(StoreError) {
            _ = try await recordZone(for: order.zone)
        } catch {
            guard error.isOfNoZone, !order.zone.isDefault else { throw error }
            plan.makesZone = true
        }
        let wanted = try order.records(for: self, withHistory: plan.makesZone)
        plan.history = plan.makesZone ? order.history : nil
        var there = plan.makesZone ? [:] : try await present(for: order, wanted)
        for record in wanted {
            let own = there.removeValue(forKey: record.recordID.recordName)
            if let fields = order.source?.fields {
                try plan.add(fields, of: record, to: order.zone, beside: own, order.mode)
            } else {
                try plan.add(record, to: order.zone, beside: own, order.mode)
            }
        }
        let gone =
            if order.isOfWholeZone, order.mode == .mirror {
                // The record of a user stays as long as the user does.
                there.values.filter { $0.recordType != Record.userRecordType }
            } else {
                order.deleted.compactMap { there[$0] }
            }
        plan.deleted = gone.map(\.recordID)
        plan.result.deleted = plan.deleted.map(\.recordName)
        return plan
    }

    /// So many records are looked up at once.
    private static let lookupLimit = 200

    /// The records of the zone, by their names: all, or only those that the order names.
    private nonisolated(nonsending) func present(
        for order: RestoreOrder, _ wanted: [Record]
    ) async throws(StoreError) -> [String: Record] {
        var found: [String: Record] = [:]
        guard order.isOfWholeZone, order.mode == .mirror else {
            let ids = (wanted.map(\.recordID.recordName) + order.deleted).map {
                Record.ID(recordName: $0, zoneID: order.zone)
            }
            for start in stride(from: 0, to: ids.count, by: Self.lookupLimit) {
                let part = Array(ids[start..<min(start + Self.lookupLimit, ids.count)])
                for (id, result) in try await records(for: part) {
                    do throws(StoreError) {
                        found[id.recordName] = try result.get()
                    } catch {
                        guard error.code == .unknownItem else { throw error }
                    }
                }
            }
            return found
        }
        var cursor: RecordPage.Cursor?
        repeat {
            let page = try await records(inZoneWith: order.zone, from: cursor)
            // Who may see records is not brought back.
            for record in page.records where !record.isShare {
                found[record.recordID.recordName] = record
            }
            cursor = page.cursor
        } while cursor != nil
        return found
    }
}

/// What a zone is to have.
private struct RestoreOrder {
    /// A zone of another store, or of a state of this one.
    struct Source {
        let snapshot: DatabaseSnapshot
        let zone: RecordZone.ID
        /// Of the records that are meant, each with all below it; nil: all.
        let names: [String]?
        /// What of these records is meant, and nothing below them; nil: all of them.
        let fields: [String]?
        let reading: Container.RecordProgress
        let proving: Container.RecordProgress

        /// How many records are meant; nil where that is not known.
        var recordCount: Int? {
            names == nil ? try? snapshot.recordCount(inZoneWith: zone) : nil
        }
    }

    /// Nil: they are still to be read.
    var wanted: [Record]?
    /// The names of those that go.
    var deleted: [String] = []
    let zone: RecordZone.ID
    let mode: RestoreMode
    /// Where all comes from; nil: that is not known.
    var source: Source?
    /// What the zone keeps of its past where it is not there; nil: nothing.
    var history: ZoneHistory?

    /// Whether not only some records are meant.
    var isOfWholeZone: Bool { source?.names == nil }

    /// Whether the root of a share, or the whole zone, is meant.
    func brings(back share: PastShare) -> Bool {
        guard !isOfWholeZone else { return true }
        return wanted?.contains { $0.recordID.recordName == share.root } ?? false
    }

    /// The records, and the history of the zone if that is meant and there is one for `database`.
    mutating func records(
        for database: Database, withHistory: Bool
    ) throws(StoreError) -> [Record] {
        guard let source else { return wanted ?? [] }
        let total = source.recordCount
        let progress: (Int) -> Void = { source.reading($0, total) }
        let isSame = isOfWholeZone && source.zone.zoneName == zone.zoneName
        if withHistory, isSame, history == nil,
            let past = try source.snapshot.zone(source.zone, for: database, progress)
        {
            (wanted, history) = (past.records, past.history)
        }
        if let wanted { return wanted }
        // Who may see them is not brought back.
        let records = try source.snapshot.records(
            in: source.zone, named: source.names, alone: source.fields != nil, progress
        ).filter { !$0.isShare }
        wanted = records
        return records
    }
}

extension Container {
    /// Makes the versions of what is saved from here on greater than those of a history, if they come
    /// from another store. Those of this one are less by themselves.
    fileprivate nonisolated(nonsending) func rank(
        above history: ZoneHistory
    ) async throws(EngineError) {
        let reading = reading
        let source = history.lineage.sources[0]
        let isOwn =
            source.storeID == reading.identity.storeID
            && source.lineage == reading.identity.lineage
        if isOwn, source.through <= reading.lastVersion { return }
        try await engine().raise(above: history.incarnation)
    }
}

/// What has to be done that a zone has certain records.
private struct RestorePlan {
    var saved: [Record] = []
    var deleted: [Record.ID] = []
    var result = RestoredRecords()
    var makesZone = false
    /// Of the zone that is made; nil: it has none.
    var history: ZoneHistory?

    /// - Parameters:
    ///   - record: as it was.
    ///   - own: the record of that name that is there.
    mutating func add(
        _ record: Record, to zone: RecordZone.ID, beside own: Record?, _ mode: RestoreMode
    ) throws(StoreError) {
        let name = record.recordID.recordName
        guard let own else {
            let empty = Record(
                recordType: record.recordType,
                recordID: Record.ID(recordName: name, zoneID: zone))
            saved.append(record.copied(over: empty))
            result.added.append(name)
            return
        }
        try own.checkType(of: record)
        let new = record.copied(over: own)
        if new.changedKeys.isEmpty, !new.changesParent {
            result.unchangedCount += 1
        } else if mode == .skip || mode == .keep && own.isNewer(than: record) {
            result.kept.append(name)
        } else {
            saved.append(new)
            result.replaced.append(name)
        }
    }

    /// The same of some fields.
    mutating func add(
        _ fields: [String], of record: Record, to zone: RecordZone.ID, beside own: Record?,
        _ mode: RestoreMode
    ) throws(StoreError) {
        let name = record.recordID.recordName
        guard let own else {
            throw StoreError(
                .unknownItem, "the record is not there: it comes back whole, without fields"
            ).with(Record.ID(recordName: name, zoneID: zone))
        }
        try own.checkType(of: record)
        let (new, staysBehind) = try record.copied(fields, over: own, mode)
        if !new.changedKeys.isEmpty {
            saved.append(new)
            result.replaced.append(name)
        } else if staysBehind {
            result.kept.append(name)
        } else {
            result.unchangedCount += 1
        }
    }
}

extension StoreError {
    /// Whether it says that the zone is not there.
    package var isOfNoZone: Bool { code == .zoneNotFound || code == .userDeletedZone }

    /// Whether others have saved what was to be saved.
    var isConflict: Bool {
        code == .serverRecordChanged
            || partialErrors.values.contains { $0.code == .serverRecordChanged }
    }
}

extension DatabaseSnapshot {
    /// The records of a zone, or those of certain names with all below them unless they are meant alone.
    /// `progress` is told how many were read.
    fileprivate func records(
        in zoneID: RecordZone.ID, named names: [String]?, alone: Bool, _ progress: (Int) -> Void
    ) throws(StoreError) -> [Record] {
        guard let names else {
            return try pages(progress) { cursor throws(StoreError) in
                try records(inZoneWith: zoneID, from: cursor)
            }
        }
        var found: [String: Record] = [:]
        var next = alone ? [] : names
        for name in names {
            found[name] = try record(for: Record.ID(recordName: name, zoneID: zoneID))
        }
        while let name = next.popLast() {
            let children = try pages({ progress(found.count + $0) }) { cursor throws(StoreError) in
                try records(inZoneWith: zoneID, withParent: name, from: cursor)
            }
            for child in children where found[child.recordID.recordName] == nil {
                found[child.recordID.recordName] = child
                next.append(child.recordID.recordName)
            }
        }
        return Array(found.values)
    }

    private func pages(
        _ progress: (Int) -> Void,
        _ page: (RecordPage.Cursor?) throws(StoreError) -> RecordPage
    ) throws(StoreError) -> [Record] {
        var records: [Record] = []
        var cursor: RecordPage.Cursor?
        repeat {
            let next = try page(cursor)
            records += next.records
            progress(records.count)
            cursor = next.cursor
        } while cursor != nil
        return records
    }

    /// The hash that a zone with the same records and another name has.
    fileprivate func contentHash(
        of zoneID: RecordZone.ID, named name: String, _ progress: (Int) -> Void
    ) throws(StoreError) -> ContentHash {
        try answer { view throws(EngineError) in
            try view.contentHash(of: zoneID, named: name, progress)
        }
    }
}
