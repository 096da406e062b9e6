internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

/// An operation is done once: `Formats/README.md`, "Operations".
extension RecordBatch {
    func prepare(
        _ reading: StoreReading, _ role: PreparingRole, sink: PieceSink
    ) throws(StoreError) -> Preparation {
        guard let operation else { return try prepareItems(reading, role, sink: sink) }
        let zone = try self.zone(reading)
        if let done = try operation.recorded(by: caller, in: zone, reading, now: role.now) {
            var preparation = Preparation(reading)
            preparation.results = try results(of: done.operation, done.version, reading)
            return preparation
        }
        var preparation = try prepareItems(reading, role, sink: sink)
        if preparation.needsCommitter { return preparation }
        if let zone, let key = operation.key(of: caller, in: zone, reading) {
            preparation.readSet.append(key)
        }
        try operation.append(to: &preparation, of: self, reading, role, sink: sink)
        return preparation
    }

    /// The number of the zone, where it is there already.
    private func zone(_ reading: StoreReading) throws(StoreError) -> UInt32? {
        guard let database = try reading.database(scope),
            let value = try reading.value(.zone(database, reading.hash(zoneID.zoneName))),
            let place = ZonePlace(value), place.isAlive
        else { return nil }
        return place.number
    }

    /// The items in the order of their names, in which what became of them is recorded.
    var byName: [Int] {
        items.indices.sorted {
            items[$0].recordID.recordName.utf8.lexicographicallyPrecedes(
                items[$1].recordID.recordName.utf8)
        }
    }

    private func results(
        of operation: OperationEntry, _ version: Version, _ reading: StoreReading
    ) throws(StoreError) -> [ItemResult] {
        guard operation.outcomes.count == items.count else {
            throw StoreError(.damagedPayload(version.offset))
        }
        var results = [ItemResult](repeating: .unchanged, count: items.count)
        for (index, outcome) in zip(byName, operation.outcomes) {
            switch (outcome, items[index]) {
            case (.saved(let saved), .save(let record, _)):
                results[index] = .saved(try self.record(record, saved, version, reading))
            case (.failed(let code, let reason, let server), let item):
                results[index] = .failed(
                    try failure(
                        StoreError(StoreError.Code(rawValue: code), reason), of: item,
                        Version(rawValue: server), reading))
            case (.gone, .delete): break
            default: throw StoreError(.damagedPayload(version.offset))
            }
        }
        return results
    }

    /// The error that an item was told, with the records of a conflict as far as they are kept.
    private func failure(
        _ told: StoreError, of item: Item, _ server: Version, _ reading: StoreReading
    ) throws(StoreError) -> StoreError {
        var error = told.with(item.recordID)
        if server == .none { return error }
        error.serverRecord = try record(named: item.recordID.recordName, server, reading)
        if case .save(let record, _) = item {
            error.clientRecord = record
            error.ancestorRecord = record.ancestor
        }
        return error
    }

    /// What `record` was when it was saved; without the fields that others had given it where that
    /// is not kept any more.
    private func record(
        _ record: Record, _ saved: OperationEntry.Saved, _ operation: Version,
        _ reading: StoreReading
    ) throws(StoreError) -> Record {
        let offset: JournalOffset
        switch saved.place {
        case .at(let place): offset = place
        case .before(let units):
            guard units <= operation.offset.rawValue else {
                throw StoreError(.damagedPayload(operation.offset))
            }
            offset = JournalOffset(rawValue: operation.offset.rawValue - units)
        }
        let version = Version(incarnation: operation.incarnation, offset: offset)
        if let kept = try self.record(named: record.recordID.recordName, version, reading) {
            return kept
        }
        return record.saved(
            as: ownID(of: record),
            Record.System(
                version: version.rawValue, created: saved.created, modified: saved.modified,
                creator: UserID(bits: saved.creator), modifier: caller))
    }

    /// That version of a record of the zone, where it is still kept.
    private func record(
        named name: String, _ version: Version, _ reading: StoreReading
    ) throws(StoreError) -> Record? {
        guard let entry = try reading.keptEntry(at: version.offset), entry.kind == .record,
            entry.version == version, try entry.isRecord(named: name)
        else { return nil }
        var users = UserNames(reading)
        return try reading.record(entry, in: zoneID, &users)
    }

    /// The identity of a record as the batch names the zone.
    private func ownID(of record: Record) -> Record.ID {
        Record.ID(recordName: record.recordID.recordName, zoneID: zoneID)
    }
}

extension DatabaseSnapshot {
    /// What the caller's device said last with a change in a zone.
    func clientToken(
        in zone: ZonePlace, _ reading: StoreReading
    ) throws(StoreError) -> [UInt8]? {
        guard let caller else { return nil }
        let identity = ClientTokenEntry.identity(caller.bits, device ?? "")
        let key = IndexKey.clientToken(
            zone.number, Hash128(identity.span, seed: reading.identity.secret))
        guard let value = try reading.value(key) else { return nil }
        let entry = try reading.entry(EntryPlace(value))
        guard let said = entry.withPayload({ try? ClientTokenEntry($0) }) else {
            throw StoreError(.damagedPayload(entry.offset))
        }
        return said.caller == caller.bits && said.device == device ?? "" ? said.token : nil
    }
}
