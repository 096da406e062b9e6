/// What a container should hold and answer, by the semantics alone.
///
/// Plain dictionaries, nothing of the engine: where the two differ, one of them is wrong.
package struct RecordModel: Sendable {
    /// What a container may be set to.
    package struct Limits: Sendable {
        /// Saves and deletes of a call.
        package var itemsPerCall: Int?

        package init() {}
    }

    package var limits = Limits()
    package internal(set) var databases: [ModelDatabaseID: ModelDatabase] = [:]
    /// Every record that ever was accepted, by its revision.
    package internal(set) var history: [Int: ModelRecord] = [:]
    /// The revision or change before the next.
    package internal(set) var time = 0

    /// The users who ever changed anything.
    var writers: Set<Int> = []
    /// What became of calls that had a name.
    var operations: [ModelOperation.Name: ModelOperation] = [:]

    package init() {}

    func database(_ id: ModelDatabaseID) -> ModelDatabase { databases[id] ?? ModelDatabase() }

    mutating func tick() -> Int {
        time += 1
        return time
    }
}

// Zones: semantics 1.2 and 1.3.
extension RecordModel {
    package typealias ZoneAnswer = (
        saves: [String: ModelFailure?], deletes: [String: ModelFailure?]
    )

    package mutating func modifyZones(
        saving: [String], deleting: [String], reason: ModelDatabase.Reason,
        in id: ModelDatabaseID, by caller: Int?
    ) -> Result<ZoneAnswer, ModelFailure> {
        let names = saving + deleting
        if caller == nil, !names.isEmpty { return .failure(ModelFailure(.notAuthenticated)) }
        guard Set(names).count == names.count else {
            return .failure(ModelFailure(.invalidArguments))
        }
        let before = time
        var answer: ZoneAnswer = ([:], [:])
        for name in saving { answer.saves[name] = saveZone(name, in: id) }
        for name in deleting { answer.deletes[name] = deleteZone(name, reason, in: id) }
        if let caller, time > before { writers.insert(caller) }
        return .success(answer)
    }

    private mutating func saveZone(_ name: String, in id: ModelDatabaseID) -> ModelFailure? {
        if id == .everybodys { return ModelFailure(.badDatabase) }
        guard name == ModelZone.defaultName || Self.isName(name) else {
            return ModelFailure(.invalidArguments)
        }
        guard database(id).zones[name] == nil else { return nil }
        let time = tick()
        let zone = ModelZone(name: name, incarnation: time)
        databases[id, default: ModelDatabase()].zones[name] = zone
        databases[id]?.changes[name] = ModelDatabase.Change(time: time)
        return nil
    }

    private mutating func deleteZone(
        _ name: String, _ reason: ModelDatabase.Reason, in id: ModelDatabaseID
    ) -> ModelFailure? {
        if id == .everybodys { return ModelFailure(.badDatabase) }
        if name == ModelZone.defaultName { return ModelFailure(.invalidArguments) }
        guard database(id).zones[name] != nil else { return database(id).missing(name) }
        databases[id]?.zones[name] = nil
        let time = tick()
        databases[id]?.changes[name] = ModelDatabase.Change(time: time, reason: reason)
        return nil
    }

    /// Semantics 5.4: the user removed all data. The default zone goes on, empty.
    package mutating func purge(_ user: Int) {
        let id = ModelDatabaseID.own(user: user)
        guard let database = databases[id] else { return }
        let time = tick()
        let name = ModelZone.defaultName
        databases[id]?.zones = [name: ModelZone(name: name, incarnation: time)]
        for gone in database.zones.keys where gone != name {
            databases[id]?.changes[gone] = ModelDatabase.Change(time: time, reason: .purged)
        }
    }

    /// Semantics 1.3 and 1.4: what may be the name of a zone or a record.
    static func isName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && name.utf8.allSatisfy { (32..<127).contains($0) }
            && !name.hasPrefix("_")
    }
}

// Reading.
extension RecordModel {
    package func fetch(
        _ ids: [ModelID], keys: Set<String>?, in id: ModelDatabaseID
    ) -> [ModelID: ModelResult] {
        var results: [ModelID: ModelResult] = [:]
        for record in ids { results[record] = fetch(record, keys: keys, in: id) }
        return results
    }

    private func fetch(
        _ record: ModelID, keys: Set<String>?, in id: ModelDatabaseID
    ) -> ModelResult {
        let database = database(id)
        guard let zone = database.zones[record.zone] else {
            return .failure(database.missing(record.zone))
        }
        guard let found = zone.records[record.name] else {
            return .failure(ModelFailure(.unknownItem))
        }
        return .success(found.keeping(keys))
    }

    /// All records of a zone, or those of a type.
    package func list(
        _ zone: String, type: String?, in id: ModelDatabaseID
    ) -> Result<[ModelID: ModelRecord], ModelFailure> {
        let database = database(id)
        guard let found = database.zones[zone] else { return .failure(database.missing(zone)) }
        let records = found.records.values.filter { type == nil || $0.type == type }
        return .success(Dictionary(uniqueKeysWithValues: records.map { ($0.id, $0) }))
    }

    package func zoneNames(in id: ModelDatabaseID) -> Set<String> {
        Set(database(id).zones.keys)
    }
}
