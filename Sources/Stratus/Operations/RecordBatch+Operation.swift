internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

// What a repeated operation is answered.
extension RecordBatch {
    func results(
        of operation: OperationEntry, _ version: Version, _ reading: StoreReading
    ) throws(EngineError) -> [ItemResult] {
        guard operation.outcomes.count == items.count else {
            throw reading.damaged(at: version.offset)
        }
        if case .shared(let user) = scope,
            let zone = try reading.livingZone(zoneID, in: scope),
            try reading.zone(zone).flatMap({ place throws(EngineError) in
                try reading.sharedZone(place, for: user)
            }) == nil
        {
            throw .refused(.zoneNotFound(zoneID))
        }
        var results = [ItemResult](repeating: .unchanged, count: items.count)
        for (index, outcome) in zip(byName, operation.outcomes) {
            switch (outcome, items[index]) {
            case (.saved(let saved), .save(let record, _)):
                guard try sees(record.recordID.recordName, reading) else {
                    results[index] = .failed(StoreError.mayNotRead.with(record.recordID))
                    continue
                }
                results[index] = .saved(try self.record(record, saved, version, reading))
            case (.failed(let code, let reason, let server), let item):
                let name = item.recordID.recordName
                if server != 0, try !sees(name, reading) {
                    results[index] = .failed(StoreError.mayNotRead.with(item.recordID))
                    continue
                }
                results[index] = .failed(
                    try failure(
                        StoreError(StoreError.Code(rawValue: code), reason), of: item,
                        Version(rawValue: server), reading))
            case (.gone, .delete): break
            default: throw reading.damaged(at: version.offset)
            }
        }
        explainFailures(in: &results)
        return results
    }

    /// The error that an item was told, with the records of a conflict as far as they are kept.
    private func failure(
        _ told: StoreError, of item: Item, _ server: Version, _ reading: StoreReading
    ) throws(EngineError) -> StoreError {
        let error = told.with(item.recordID)
        if server == .none { return error }
        let entry = try entry(named: item.recordID.recordName, server, reading)
        let place = entry.map { EntryLocation($0.header, at: $0.offset, isDeleted: false) }
        return try conflict(error, of: item, place, reading)
    }

    /// What `record` was when it was saved; without the fields that others had given it where that
    /// is not kept any more.
    private func record(
        _ record: Record, _ saved: OperationEntry.Saved, _ operation: Version,
        _ reading: StoreReading
    ) throws(EngineError) -> Record {
        guard let offset = saved.offset(from: operation.offset) else {
            throw reading.damaged(at: operation.offset)
        }
        let version = reading.identity.version(at: offset)
        let name = record.recordID.recordName
        if let kept = try entry(named: name, version, reading) {
            var users = UserNames(reading)
            return try reading.record(kept, in: zoneID, &users)
        }
        return record.saved(
            as: ownID(of: record),
            Record.System(
                version: version.rawValue, created: saved.created, modified: saved.modified,
                creator: UserID(bits: saved.creator), modifier: caller))
    }

    /// That version of a record of the zone, where it is still kept.
    private func entry(
        named name: String, _ version: Version, _ reading: StoreReading
    ) throws(EngineError) -> JournalEntry? {
        guard let database = try reading.database(of: zoneID, in: scope),
            let zone = try ZonePlace.decoded(
                reading.value(.zone(database, reading.hash(zoneID.zoneName)))),
            let entry = try reading.keptEntry(of: version, in: zone.number),
            entry.kind == .record, try entry.isRecord(named: name)
        else { return nil }
        return entry
    }

    /// The identity of a record as the batch names the zone.
    private func ownID(of record: Record) -> Record.ID {
        Record.ID(recordName: record.recordID.recordName, zoneID: zoneID)
    }
}

extension RecordBatch {
    var recordNames: [String] { items.map(\.recordID.recordName) }

    func leavesRecord(at index: Int) -> Bool {
        if case .save = items[index] { true } else { false }
    }

    func resolve(
        _ draft: inout Draft, in part: CommitBuffer, from start: JournalOffset,
        _ reading: StoreReading
    ) throws(EngineError) {
        try draft.resolve(items.indices, of: self, in: part, from: start, reading)
    }
}

extension StoreReading {
    /// The number of a zone, where it is there already.
    func livingZone(
        _ id: RecordZone.ID, in scope: DatabaseScope
    ) throws(EngineError) -> UInt32? {
        guard let database = try database(of: id, in: scope),
            let place = try ZonePlace.decoded(value(.zone(database, hash(id.zoneName)))),
            place.isAlive
        else { return nil }
        return place.number
    }
}

extension DatabaseView {
    /// What the caller's device said last with a change in a zone.
    func clientToken(
        in zone: ZonePlace, _ reading: StoreReading
    ) throws(EngineError) -> [UInt8]? {
        guard let user else { return nil }
        let identity = ClientTokenEntry.identity(user.bits, device ?? "")
        let key = IndexKey.clientToken(
            zone.number, Hash128(identity.span, seed: reading.identity.secret))
        guard let value = try reading.value(key) else { return nil }
        let entry = try reading.entry(EntryLocation(value))
        guard let said = entry.withPayload({ try? ClientTokenEntry($0) }) else {
            throw .damaged(entry)
        }
        return said.caller == user.bits && said.device == device ?? "" ? said.token : nil
    }
}
