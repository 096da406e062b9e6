internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import StratusLanguage

/// What a live query asks for.
struct LiveRequest: Sendable {
    let query: Query
    let zone: RecordZone.ID?
    let desiredKeys: [String]?
    /// The most records in the result.
    let limit: Int

    /// So many rows are held, so that records which leave the result need not be looked for at once.
    var rowLimit: Int { 2 * limit }
}

/// The rows of a live query as of one state of the store.
struct LiveResult: Sendable {
    struct Row: Sendable {
        var position: QueryPosition
        var id: Record.ID
        var version: UInt64
    }

    /// In order: the result, and some that follow it.
    fileprivate(set) var rows: [Row] = []
    /// Whether no record follows the rows.
    fileprivate var isWhole = true
    /// What may be read is decided by these, and where to look.
    fileprivate var ground = LiveGround()
    /// The last version of the state.
    fileprivate var version = Version.none
    /// What tells of changes of it.
    fileprivate(set) var watched: [ChangeSubject] = []
    /// Where the journal ended in the state.
    fileprivate(set) var head = JournalOffset.zero
}

/// What has to be the same for rows to stay good while their records do.
private struct LiveGround: Equatable, Sendable {
    var zones: [UInt32] = []
    /// When indexes, collations, grants and roles of the caller were said last.
    var stamps: [UInt64] = []
}

/// A record, by its zone and the hash of its name.
private struct RecordKey: Hashable, Sendable {
    var zone: UInt32
    var name: Hash128

    init(_ zone: UInt32, _ name: Hash128) { (self.zone, self.name) = (zone, name) }

    init(_ row: LiveResult.Row) { self.init(row.position.zone, row.position.name) }
}

extension Database {
    /// The result as it is now, and what became of it since `last`.
    nonisolated(nonsending) func step(
        _ request: LiveRequest, from last: LiveResult?
    ) async throws(EngineError) -> (result: LiveResult, changes: QueryChanges) {
        let snapshot = container.snapshot()
        let profile = container.limits?.profile
        if let last {
            let found = try await container.trying { mode throws(EngineError) in
                let view = view(of: snapshot, mode)
                return try view.change(of: last, request, profile)
            }
            if let found { return found }
        }
        var records: [Record] = []
        var cursor: QueryPage.Cursor?
        repeat {
            let (start, limit) = (cursor, request.rowLimit - records.count)
            var (run, view) = try await finish(on: snapshot) { view throws(EngineError) in
                try QueryRun(
                    request.query, in: request.zone, of: view, profile, desiredKeys: nil,
                    resultsLimit: limit, from: start, skippingDamaged: false)
            }
            let page = try run.finish(view)
            records += page.records
            cursor = page.cursor
        } while cursor != nil && records.count < request.rowLimit
        let (found, isWhole) = (records, cursor == nil)
        return try await container.trying { mode throws(EngineError) in
            let view = view(of: snapshot, mode)
            let plan = try QueryPlan(request.query, in: request.zone, of: view, profile)
            var result = try view.emptyResult(in: view.queriedZones(request.zone), request)
            result.isWhole = isWhole
            var known: [RecordKey: Record] = [:]
            for record in found {
                let id = record.recordID
                guard let used = try view.usedZone(id.zoneID, view.reading),
                    let row = LiveResult.Row(
                        record, used.place.number, try view.reading.hash(id.recordName), plan)
                else { continue }
                known[RecordKey(row)] = record
                result.rows.append(row)
            }
            return (result, try view.changes(from: last, to: result, request, known))
        }
    }
}

extension DatabaseView {
    /// The result of a query without its rows.
    fileprivate func emptyResult(
        in zones: [ZonePlace], _ request: LiveRequest
    ) throws(EngineError) -> LiveResult {
        let reading = try reading
        var result = LiveResult()
        result.ground = LiveGround(zones: zones.map(\.number), stamps: try groundStamps(reading))
        result.version = reading.lastVersion
        result.head = reading.head
        if case .shared(let user) = scope {
            let number = try reading.user(user)
            result.watched =
                try number.map { number throws(EngineError) in
                    try reading.sharedSubjects(of: number, in: zones.first?.number)
                } ?? [.everything]
        } else if zones.count == 1, request.zone != nil {
            result.watched = [.zone(zones[0].number)]
        } else {
            result.watched = [try reading.database(scope).map { .database($0) } ?? .everything]
        }
        return result
    }

    /// When it was said last how fields are compared, and what the caller may read of the public database.
    private func groundStamps(_ reading: StoreReading) throws(EngineError) -> [UInt64] {
        var keys = [KeySpace.indexes.key()]
        if scope == .public { keys.append(KeySpace.schemaText.key()) }
        if scope == .public, let user = principal.user, let number = try reading.user(user) {
            keys.append(.roles(number))
        }
        var stamps: [UInt64] = []
        for key in keys { stamps.append(try reading.value(key)?.stamp ?? 0) }
        return stamps
    }

    /// What became of a result since, by the records that were changed; nil where the query is to be
    /// asked anew.
    fileprivate func change(
        of last: LiveResult, _ request: LiveRequest, _ profile: Profile?
    ) throws(EngineError) -> (result: LiveResult, changes: QueryChanges)? {
        if isShared { return nil }
        let reading = try reading
        let zones = try queriedZones(request.zone)
        var result = try emptyResult(in: zones, request)
        guard result.ground == last.ground else { return nil }
        (result.rows, result.isWhole) = (last.rows, last.isWhole)
        let plan = try QueryPlan(request.query, in: request.zone, of: self, profile)
        var known: [RecordKey: Record] = [:]
        var touched: Set<RecordKey> = []
        var found: [LiveResult.Row] = []
        for zone in zones {
            guard try reading.horizon(of: zone) <= last.version,
                let changed = try changed(in: zone, since: last.version, upTo: request.rowLimit)
            else { return nil }
            for name in changed.names {
                touched.insert(RecordKey(zone.number, name))
            }
            var skipped = SkippedDamage(isAllowed: false)
            try forEachRecord(changed.places, in: zone, &skipped) { _, record in
                let name = reading.hash(record.recordID.recordName)
                guard let row = LiveResult.Row(record, zone.number, name, plan) else { return }
                known[RecordKey(row)] = record
                found.append(row)
            }
        }
        result.rows.removeAll { touched.contains(RecordKey($0)) }
        guard result.isWhole || !result.rows.isEmpty else { return nil }
        result.merge(found, request)
        guard result.isWhole || result.rows.count >= request.limit else { return nil }
        return (result, try changes(from: last, to: result, request, known))
    }

    /// The records of a zone that were changed since, and where those lie that are there; nil where
    /// there are more.
    private func changed(
        in zone: ZonePlace, since version: Version, upTo limit: Int
    ) throws(EngineError) -> (names: [Hash128], places: [EntryLocation])? {
        let reading = try reading
        guard let changed = try reading.changed(in: zone, after: version, upTo: limit) else {
            return nil
        }
        var names: [Hash128] = []
        for entry in try reading.entries(changed) { names.append(try reading.nameHash(of: entry)) }
        return (names, changed.filter { !$0.isDeleted })
    }

    /// What tells two results apart. Records that are not known are read.
    fileprivate func changes(
        from last: LiveResult?, to result: LiveResult, _ request: LiveRequest,
        _ known: [RecordKey: Record]
    ) throws(EngineError) -> QueryChanges {
        let reading = try reading
        var before: [RecordKey: (index: Int, version: UInt64)] = [:]
        for (index, row) in (last?.rows ?? []).prefix(request.limit).enumerated() {
            before[RecordKey(row)] = (index, row.version)
        }
        var changes = QueryChanges()
        func add(_ record: Record, at index: Int, from former: Int?) {
            let place = QueryChanges.Place(
                index: index, record: record.showing(request.desiredKeys))
            guard let former else { return changes.added.append(place) }
            changes.changed.append(place)
            changes.previousIndexes.append(former)
        }
        for (index, row) in result.rows.prefix(request.limit).enumerated() {
            let key = RecordKey(row)
            let former = before.removeValue(forKey: key)
            if former?.version == row.version { continue }
            var found = known[key]
            if found == nil { found = try record(at: row, reading) }
            guard let found else { continue }
            add(found, at: index, from: former?.index)
        }
        let rows = last?.rows ?? []
        changes.removed = before.values.map(\.index).sorted().map {
            QueryChanges.PreviousPlace(index: $0, recordID: rows[$0].id)
        }
        return changes
    }

    private func record(
        at row: LiveResult.Row, _ reading: StoreReading
    ) throws(EngineError) -> Record? {
        guard let value = try reading.value(.record(row.position.zone, row.position.name)),
            let zone = try reading.zone(row.position.zone)
        else { return nil }
        var skipped = SkippedDamage(isAllowed: false)
        var found: Record?
        try forEachRecord([EntryLocation(value)], in: zone, &skipped) { _, record in
            found = record
        }
        return found
    }
}

extension LiveResult.Row {
    /// Nil of a record that the query does not find.
    fileprivate init?(_ record: Record, _ zone: UInt32, _ name: Hash128, _ plan: QueryPlan) {
        guard let key = plan.key(of: record) else { return nil }
        self.init(
            position: QueryPosition(key: key, zone: zone, name: name), id: record.recordID,
            version: record.version ?? 0)
    }
}

extension LiveResult {
    /// Takes in rows that were found, and keeps as many as are held.
    fileprivate mutating func merge(_ found: [Row], _ request: LiveRequest) {
        // Of what lies behind the last row not all may be known.
        let bound = isWhole ? nil : rows.last?.position
        rows += found.filter { row in bound.map { row.position < $0 } ?? true }
        rows.sort { $0.position < $1.position }
        if rows.count > request.rowLimit {
            rows.removeLast(rows.count - request.rowLimit)
            isWhole = false
        }
    }
}
