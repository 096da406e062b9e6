// Saves and deletes.
extension ModelGenerator {
    /// The fields, each of which always holds one kind of value.
    static let keys = [
        "number", "real", "text", "bytes", "date", "numbers", "see", "cascade", "cascades", "must",
    ]

    mutating func batch(
        _ database: ModelDatabase, _ known: [ModelCopy], _ id: ModelDatabaseID
    ) -> ModelBatch {
        var batch = ModelBatch()
        batch.isAtomic = !random.oneIn(3)
        let main = zone(id)
        let policies: [ModelRule] = [.unchanged, .unchanged, .unchanged, .changedKeys, .allKeys]
        let policy = pick(policies)
        let count = 1 + random.below(character.itemsPerBatch)
        var taken: Set<ModelID> = []
        for _ in 0..<count {
            let zone = random.oneIn(8) ? zone(id) : main
            let record = ModelID(zone: zone, name: name())
            // Named twice, the whole call is refused: enough now and then.
            guard taken.insert(record).inserted || random.oneIn(60) else { continue }
            if random.oneIn(4) {
                batch.deletes.append(delete(record, known))
            } else {
                let copy = copy(of: record, in: database, known)
                let save = ModelSave(edited(copy, database, taken), policy)
                batch.saves.append(character.isWeb ? onTheWire(save) : save)
            }
        }
        return batch
    }

    private mutating func delete(_ id: ModelID, _ known: [ModelCopy]) -> ModelDelete {
        let revisions = known.filter { $0.id == id }.compactMap(\.revision)
        guard character.isWeb, random.oneIn(3), !revisions.isEmpty else { return ModelDelete(id) }
        return ModelDelete(id, .revision(pick(revisions)))
    }

    /// What a client sends that holds no records: a tag where one is needed, and fields.
    private mutating func onTheWire(_ save: ModelSave) -> ModelSave {
        var save = save
        if random.oneIn(2) {
            save.rule = pick(ModelRule.allCases.filter { !ModelRule.native.contains($0) })
        }
        let needsTag = save.rule == .update || save.rule == .replace
        if needsTag, save.copy.revision == nil { save.rule = .create }
        if [.create, .forceUpdate, .forceReplace].contains(save.rule) { save.copy.revision = nil }
        save.copy.isWhole = false
        if !save.rule.sendsAll {
            save.copy.loaded = [:]
            save.copy.loadedParent = nil
        }
        return save
    }

    /// From scratch, as it is, as it was once, in part, or by its system fields.
    private mutating func copy(
        of id: ModelID, in database: ModelDatabase, _ known: [ModelCopy]
    ) -> ModelCopy {
        let held = known.filter { $0.id == id }
        let current = database.zones[id.zone]?.records[id.name]?.revision
        let fresh = held.filter { $0.revision == current }
        if random.oneIn(4) || held.isEmpty {
            // The type goes by the name, so that it clashes rarely.
            let isOther = random.oneIn(20) != id.name.hasSuffix("1")
            return ModelCopy(id, type: isOther ? "Page" : "Note")
        }
        let copy = fresh.isEmpty || random.oneIn(4) ? pick(held) : pick(fresh)
        return character.keepsSystemFields && random.oneIn(6) ? copy.systemFieldsOnly : copy
    }

    private mutating func edited(
        _ copy: ModelCopy, _ database: ModelDatabase, _ taken: Set<ModelID>
    ) -> ModelCopy {
        var copy = copy
        for _ in 0..<random.below(4) {
            let key = pick(["number", "real", "text", "bytes", "date", "numbers"])
            let isRemoved = copy.revision != nil && random.oneIn(4)
            copy.edit(key, isRemoved ? nil : value(of: key, copy.id.zone))
        }
        if random.oneIn(character.references) {
            let key = pick(["see", "cascade", "cascade", "cascades", "must"])
            let isRemoved = copy.revision != nil && random.oneIn(3)
            copy.edit(key, isRemoved ? nil : value(of: key, copy.id.zone))
        }
        if random.oneIn(character.parents) {
            let isRemoved = copy.revision != nil && random.oneIn(4)
            copy.edit(parent: isRemoved ? nil : target(copy.id.zone, database, taken))
        }
        return copy
    }

    /// Something that is there, or comes in the same call, or any name at all.
    private mutating func target(
        _ zone: String, _ database: ModelDatabase, _ taken: Set<ModelID>
    ) -> ModelID {
        // The wire has no word for the zone of a parent.
        if random.oneIn(80), !character.isWeb { return ModelID(zone: "z0", name: name()) }
        let there = (database.zones[zone]?.records.keys).map { $0.sorted() } ?? []
        let coming = taken.filter { $0.zone == zone }.sorted()
        if random.oneIn(3), !coming.isEmpty { return pick(coming) }
        if !there.isEmpty, !random.oneIn(10) { return ModelID(zone: zone, name: pick(there)) }
        return ModelID(zone: zone, name: name())
    }

    private mutating func value(of key: String, _ zone: String) -> ModelValue {
        switch key {
        case "number": return .number(Int64(truncatingIfNeeded: random.next() >> UInt64(below(64))))
        case "real": return .real(Double(random.below(1_000_000)) / 64)
        case "text": return .text(String(repeating: "é\u{1F600}", count: random.below(9)))
        case "bytes": return .bytes(random.bytes(random.below(40)))
        case "date": return .date(Int64(random.below(2_000_000_000)) * 1000 + Int64(below(1000)))
        case "numbers": return .list((0..<random.below(4)).map { .number(Int64($0)) })
        case "see": return .reference(reference(zone, .none))
        case "cascade": return .reference(reference(zone, .deleteSelf))
        case "must": return .reference(reference(zone, .validate))
        default:
            let actions: [ModelReference.Action] = [.deleteSelf, .deleteSelf, .none]
            return .list(
                (0...random.below(3)).map { _ in .reference(reference(zone, pick(actions))) })
        }
    }

    private mutating func reference(
        _ zone: String, _ action: ModelReference.Action
    ) -> ModelReference {
        let zone = random.oneIn(80) ? "z0" : zone
        return ModelReference(ModelID(zone: zone, name: name()), action)
    }
}
