internal import StratusBytes
internal import StratusIndex
internal import StratusEngine

/// Reads records for a rule: of the database of the change, in the state that the commit is checked
/// against. For the duration of one call of the rule.
///
/// What is read becomes part of the commit's read set: where another commit changes it meanwhile,
/// the rules run again.
public final class RuleReader {
    /// What the commit does to a record, as far as that is known.
    struct Write {
        /// What a trigger got last of the record.
        struct Seen {
            var record: Record?
            var revision: Int
        }

        var type: String
        /// The record in the store; nil: there is none, or no rule asks for it.
        var before: Record?
        /// Nil: it is deleted.
        var now: Record?
        /// The item that says so; nil: the record goes along with one that is deleted.
        var item: Int?
        /// The caller's item that does this, by itself or by taking the record along.
        var requestedItem: Int?
        /// The caller's items by whose triggers it was written, and the names of those triggers.
        var causes: [Int: String] = [:]
        /// Rises with each change by a trigger.
        var revision = 1
        /// By the places of the triggers of the type.
        var seen: [Int: Seen] = [:]
        /// Whether its triggers are to run.
        var isQueued = false
    }

    private struct Stored {
        var record: Record?
    }

    private let batch: RecordBatch
    private let reading: StoreReading
    /// Of the change.
    private let zone: ZonePlace
    /// The caller's items that passed their checks, and what they would do.
    private let plans: [ItemResult]
    private let planned: [String: Int]
    /// Those of them whose records have rules.
    private let concerned: Set<Int>
    private var writes: [String: Write] = [:]
    private var stored: [String: Stored] = [:]
    /// Those of other zones.
    private var elsewhere: [Record.ID: Stored] = [:]
    /// What was relied on.
    private(set) var readSet: [IndexKey] = []
    private var failure: EngineError?

    init(
        _ batch: RecordBatch, _ plans: [ItemResult], _ planned: [String: Int],
        _ concerned: Set<Int>, in zone: ZonePlace, _ reading: StoreReading
    ) {
        self.concerned = concerned
        self.batch = batch
        self.plans = plans
        self.planned = planned
        self.zone = zone
        self.reading = reading
    }

    /// The record as the commit leaves it, as far as the call and the triggers that have run say;
    /// nil where it is not there. Of another zone of the database it is the one in the store: a commit
    /// changes records of one zone.
    ///
    /// - Throws: what the rule has to pass on: the record cannot be read, or not without waiting, or
    ///   it is of another database.
    public func record(for id: Record.ID) throws(RuleRefusal) -> Record? {
        try answer { () throws(EngineError) in
            try batch.isInside(id.zoneID) ? current(id.recordName) : stored(elsewhere: id)
        }
    }

    /// The record as it is in the store, whatever the commit does to it; nil where it is not there.
    ///
    /// - Throws: as ``record(for:)``.
    public func storedRecord(for id: Record.ID) throws(RuleRefusal) -> Record? {
        try answer { () throws(EngineError) in
            try batch.isInside(id.zoneID) ? stored(id.recordName) : stored(elsewhere: id)
        }
    }

    private func answer(
        _ body: () throws(EngineError) -> Record?
    ) throws(RuleRefusal) -> Record? {
        do throws(EngineError) {
            return try body()
        } catch {
            // What the rule makes of it is not looked at.
            if failure == nil { failure = error }
            throw RuleRefusal(domain: "Stratus", code: 0, description: "a read did not succeed")
        }
    }

    /// The record of that name in another zone of the same owner.
    private func stored(elsewhere id: Record.ID) throws(EngineError) -> Record? {
        guard batch.isOfSameOwner(id.zoneID) else {
            throw .refused(
                StoreError(
                    .invalidArguments, "a rule reads records of the database of the change"
                ).with(id))
        }
        if let stored = elsewhere[id] { return stored.record }
        let key = IndexKey.zone(zone.database, reading.hash(id.zoneID.zoneName))
        readSet.append(key)
        var record: Record?
        if let other = try ZonePlace.decoded(reading.value(key)), other.isAlive {
            record = try find(id, in: other)
        }
        elsewhere[id] = Stored(record: record)
        return record
    }

    /// Looks a record up in the store.
    private func find(_ id: Record.ID, in zone: ZonePlace) throws(EngineError) -> Record? {
        let key = IndexKey.record(zone.number, reading.hash(id.recordName))
        readSet.append(key)
        guard let place = try reading.value(key).map({ EntryLocation($0) }), !place.isDeleted
        else { return nil }
        return try reading.record(place, as: id)
    }

    private func current(_ name: String) throws(EngineError) -> Record? {
        if let write = try write(of: name) { return write.now }
        return try stored(name)
    }
}

// For the run that calls the rules.
extension RuleReader {
    /// Why a rule got no answer since the last call; nil where it got all.
    ///
    /// - Throws: what concerns the whole preparation, which is repeated where it may wait.
    func takeFailure() throws(EngineError) -> StoreError? {
        guard let failure = self.failure.take() else { return nil }
        if failure.wouldBlock { throw failure }
        return StoreError(failure)
    }

    /// The record of that name in the store.
    func stored(_ name: String) throws(EngineError) -> Record? {
        if let stored = stored[name] { return stored.record }
        let record = try find(id(name), in: zone)
        stored[name] = Stored(record: record)
        return record
    }

    /// What the commit does to the record of that name; nil: nothing so far.
    func write(of name: String) throws(EngineError) -> Write? {
        if let write = writes[name] { return write }
        guard let index = planned[name], case .planned(let plan) = plans[index] else { return nil }
        var before: Record?
        switch plan {
        case .insert, .restoreDeletion: break
        case .update(let place, _): before = try reading.record(place, as: id(name))
        case .delete(let place, _):
            // One that is damaged can be deleted where no rule has to read it.
            if concerned.contains(index) { before = try reading.record(place, as: id(name)) }
        }
        var write = Write(
            type: before?.recordType ?? "", before: before, item: index, requestedItem: index)
        if case .save(let record, let rule) = batch.items[index] {
            write.type = record.recordType
            write.now = batch.result(of: record, rule, over: before)
        }
        writes[name] = write
        return write
    }

    func put(_ write: Write, of name: String) { writes[name] = write }

    /// By the numbers of items, the caller's items by whose triggers they were written.
    var causes: [Int: [Int: String]] {
        var causes: [Int: [Int: String]] = [:]
        for write in writes.values {
            if let item = write.item, !write.causes.isEmpty { causes[item] = write.causes }
        }
        return causes
    }

    func id(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: batch.zoneID)
    }
}
