// Moves between zones: `Formats/README.md`, "Moving", which CloudKit has not.
extension RecordModel {
    /// What a move returns, or all that it may be refused with.
    package enum MoveAnswer: Sendable {
        case moved([ModelRecord])
        case refused(Set<ModelCode>)
    }

    package mutating func move(
        _ ids: [ModelID], to destination: String, in id: ModelDatabaseID, by caller: Int?
    ) -> MoveAnswer {
        guard let caller else { return .refused([.notAuthenticated]) }
        guard let first = ids.first else { return .moved([]) }
        let source = first.zone
        if ids.contains(where: { $0.zone != source }) || source == destination {
            return .refused([.invalidArguments])
        }
        let database = database(id)
        for zone in [source, destination] where database.zones[zone] == nil {
            return .refused([database.missing(zone).code])
        }
        guard var old = database.zones[source], var new = database.zones[destination] else {
            return .refused([.internalError])
        }
        if ids.contains(where: { old.records[$0.name] == nil }) { return .refused([.unknownItem]) }
        let names = old.descendants(of: Set(ids.map(\.name)))
        let refusals = old.refusals(ofMoving: names, to: new)
        if !refusals.isEmpty { return .refused(refusals) }
        writers.insert(caller)
        for name in names.sorted() {
            guard var record = old.records[name] else { continue }
            record.id.zone = destination
            record.parent?.zone = destination
            record.fields = record.fields.mapValues { $0.moved(to: destination) }
            record.modifier = caller
            record.revision = tick()
            old.remove(name, at: record.revision)
            new.put(record, at: record.revision)
            history[record.revision] = record
        }
        for zone in [old, new] {
            databases[id]?.zones[zone.name] = zone
            guard zone.hasCapabilities else { continue }
            databases[id]?.changes[zone.name] = ModelDatabase.Change(time: time)
        }
        return .moved(ids.compactMap { new.records[$0.name] })
    }
}

extension ModelZone {
    fileprivate func descendants(of names: Set<String>) -> Set<String> {
        var all = names
        var found = names
        while !found.isEmpty {
            found = Set(
                records.values.filter { record in
                    record.parent.map { found.contains($0.name) } ?? false
                }.map(\.id.name)
            ).subtracting(all)
            all.formUnion(found)
        }
        return all
    }

    fileprivate func refusals(ofMoving names: Set<String>, to new: ModelZone) -> Set<ModelCode> {
        var refusals: Set<ModelCode> = []
        for record in records.values {
            let moves = names.contains(record.id.name)
            if moves, let parent = record.parent, !names.contains(parent.name) {
                refusals.insert(.referenceViolation)
            }
            if moves, new.records[record.id.name] != nil { refusals.insert(.serverRecordChanged) }
            for reference in record.fields.values.flatMap(\.references)
            where reference.action == .deleteSelf && records[reference.target.name] != nil {
                if names.contains(reference.target.name) != moves {
                    refusals.insert(.referenceViolation)
                }
            }
        }
        return refusals
    }
}

extension ModelValue {
    /// With references that stay within the record's zone.
    fileprivate func moved(to zone: String) -> Self {
        switch self {
        case .reference(var reference):
            reference.target.zone = zone
            return .reference(reference)
        case .list(let elements): return .list(elements.map { $0.moved(to: zone) })
        default: return self
        }
    }
}
