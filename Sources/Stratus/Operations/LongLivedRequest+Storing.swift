internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusJournal
internal import StratusLanguage

// A request as its entry has it: `Formats/Record.md`, "Request".
extension LongLivedRequest {
    /// Fails where it cannot be kept.
    func body(
        _ form: AnswerForm, in database: Database
    ) throws(EngineError) -> RequestBody {
        var body = RequestBody(
            try call(form, in: database), numbersAsStrings: form.numbersAsStrings)
        switch self {
        case .query, .modifySubscriptions: body.moment = Int64(form.moment)
        default: break
        }
        return body
    }

    private func call(
        _ form: AnswerForm, in database: Database
    ) throws(EngineError) -> RequestBody.Call {
        switch self {
        case .modify(let modification):
            var items: [RequestBody.Item] = []
            for (place, item) in modification.items.enumerated() {
                switch item {
                case .save(let record, let rule):
                    let save = try RequestBody.Save(
                        record, rule, isCreation: form.creations.contains(place), in: database)
                    items.append(.save(save))
                case .delete(let id, let tag):
                    items.append(
                        .delete(
                            RequestBody.Delete(
                                name: RequestBody.Name(id), tag: tag,
                                recordType: form.types[place])))
                }
            }
            return .modify(
                RequestBody.Modification(
                    items: items, policy: UInt8(modification.policy.rawValue),
                    isAtomic: modification.atomically,
                    clientToken: modification.clientChangeTokenData.map { [UInt8]($0) },
                    answerKeys: form.desiredKeys))
        case .move(let ids, let zone):
            return .move(ids.map { RequestBody.Name($0) }, to: RequestBody.Zone(zone))
        case .records(let ids, let keys):
            return .records(ids.map { RequestBody.Name($0) }, desiredKeys: keys)
        case .query(let fetch): return .query(try RequestBody.Query(fetch))
        case .zoneChanges(let zones):
            var stored: [RequestBody.ZoneChanges] = []
            for (place, zone) in zones.enumerated() {
                let own = place < form.zones.count ? form.zones[place] : nil
                stored.append(
                    RequestBody.ZoneChanges(
                        zone: RequestBody.Zone(zone.zoneID),
                        token: zone.token.map { [UInt8]($0.data) },
                        point: zone.point.map { [UInt8]($0.data) },
                        desiredKeys: zone.desiredKeys, types: zone.desiredRecordTypes,
                        limit: RequestBody.limit(zone.resultsLimit),
                        isReversed: own?.isReversed ?? false,
                        numbersAsStrings: own?.numbersAsStrings ?? false))
            }
            return .zoneChanges(stored)
        case .databaseChanges(let token, let limit):
            return .databaseChanges(
                token: token.map { [UInt8]($0.data) }, limit: RequestBody.limit(limit))
        case .modifyZones(let modification):
            return .zones(modification.items.map { RequestBody.ZoneItem($0) })
        case .modifySubscriptions(let modification):
            return .subscriptions(
                try modification.items.map { item throws(EngineError) in
                    try RequestBody.SubscriptionItem(item)
                })
        }
    }

    /// The request that was kept. Fails where it makes no sense, with whatever is wrong.
    init(_ body: RequestBody, _ schema: Schema, _ assets: AssetStore?) throws {
        switch body.call {
        case .modify(let stored):
            var items: [RecordItem] = []
            for item in stored.items {
                switch item {
                case .save(let save):
                    items.append(.save(try save.record(schema, assets), try save.rule))
                case .delete(let delete):
                    items.append(.delete(delete.name.id, recordChangeTag: delete.tag))
                }
            }
            guard let policy = SavePolicy(rawValue: Int(stored.policy)) else {
                throw FormatError.value("policy")
            }
            self = .modify(
                Modification(
                    items, policy, atomically: stored.isAtomic,
                    clientChangeTokenData: stored.clientToken.map { Data($0) }))
        case .move(let names, let zone): self = .move(names.map(\.id), to: zone.id)
        case .records(let names, let keys): self = .records(names.map(\.id), desiredKeys: keys)
        case .query(let query): self = .query(try query.fetch())
        case .zoneChanges(let zones):
            self = .zoneChanges(
                try zones.map { zone in
                    ZoneFetch(
                        inZoneWith: zone.zone.id,
                        since: try zone.token.map { try ChangeToken(data: Data($0)) },
                        asOf: try zone.point.map { try ChangeToken(data: Data($0)) },
                        desiredKeys: zone.desiredKeys, desiredRecordTypes: zone.types,
                        resultsLimit: zone.limit == 0 ? nil : zone.limit)
                })
        case .databaseChanges(let token, let limit):
            self = .databaseChanges(
                since: try token.map { try ChangeToken(data: Data($0)) },
                resultsLimit: limit == 0 ? nil : limit)
        case .zones(let items): self = .modifyZones(ZoneModification(items.map(\.item)))
        case .subscriptions(let items):
            self = .modifySubscriptions(SubscriptionModification(try items.map { try $0.item }))
        }
    }
}

extension AnswerForm {
    init(_ body: RequestBody) {
        self.init()
        numbersAsStrings = body.numbersAsStrings
        moment = Int(body.moment)
        switch body.call {
        case .modify(let stored):
            desiredKeys = stored.answerKeys
            for (place, item) in stored.items.enumerated() {
                switch item {
                case .save(let save): if save.isCreation { creations.insert(place) }
                case .delete(let delete): types[place] = delete.recordType
                }
            }
        case .zoneChanges(let stored):
            zones = stored.map {
                Zone(isReversed: $0.isReversed, numbersAsStrings: $0.numbersAsStrings)
            }
        case .move, .records, .query, .databaseChanges, .zones, .subscriptions: break
        }
    }
}

extension RequestBody {
    /// 0 where a page may have as many as usual.
    fileprivate static func limit(_ limit: Int?) -> Int {
        limit == nil ? 0 : Page(limit).limit
    }
}

extension RequestBody.Zone {
    init(_ id: RecordZone.ID) {
        self.init(name: id.zoneName, owner: id.ownerName)
    }

    var id: RecordZone.ID { RecordZone.ID(zoneName: name, ownerName: owner) }
}

extension RequestBody.Name {
    init(_ id: Record.ID) {
        self.init(zone: RequestBody.Zone(id.zoneID), record: id.recordName)
    }

    var id: Record.ID { Record.ID(recordName: record, zoneID: zone.id) }
}

extension RequestBody.Save {
    /// Of a record whose assets are in the store. Fails where it cannot be kept outside its zone, with
    /// a reference into another one.
    fileprivate init(
        _ record: Record, _ rule: SaveRule, isCreation: Bool, in database: Database
    ) throws(EngineError) {
        let id = record.recordID
        // What was fetched is sent only where the save does not compare the tag.
        let sendsStored = rule.policy != .ifServerRecordUnchanged
        let stored = sendsStored ? record : nil
        var fields = try Self.edited(record, in: database) + Self.stored(stored)
        fields.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        self.init(
            name: RequestBody.Name(id), policy: UInt8(rule.policy.rawValue),
            replaces: rule.replaces, isCreation: isCreation, recordType: record.recordType,
            version: record.version, parent: .unknown, fields: fields,
            share: record.shareEdit.map { RequestBody.ShareEdit($0) })
        if record.changesParent {
            parent = .removed
            if let reference = record.parent {
                guard database.isSame(reference.recordID.zoneID, id.zoneID) else {
                    throw .refused(StoreError.referenceOutside.with(id))
                }
                parent = .set(reference.recordID.recordName, reference.action.rawValue)
            }
        } else if sendsStored, let reference = record.parent {
            parent = .stored(reference.recordID.recordName, reference.action.rawValue)
        }
    }

    private static func edited(
        _ record: Record, in database: Database
    ) throws(EngineError) -> [RequestBody.Field] {
        var fields: [RequestBody.Field] = []
        for edit in record.edits.all {
            guard let value = edit.value else {
                fields.append(
                    RequestBody.Field(
                        name: edit.key, .removed, isEncrypted: edit.isEncrypted, isStored: false))
                continue
            }
            guard value.assets.allSatisfy({ $0.content != nil }) else {
                throw .refused(StoreError.assetGone.with(record.recordID))
            }
            let zone = record.recordID.zoneID
            guard value.everyReference({ database.isSame($0.recordID.zoneID, zone) }) else {
                throw .refused(StoreError.referenceOutside.with(record.recordID))
            }
            guard let kind = try? ValueFormat.kind(of: value) else {
                throw .refused(
                    StoreError(
                        .invalidArguments, "a list holds values of one kind, and no list"
                    ).with(record.recordID))
            }
            var writer = ByteWriter(capacity: ValueFormat.length(of: value))
            ValueFormat.write(value, to: &writer)
            fields.append(
                RequestBody.Field(
                    name: edit.key, .value(kind, writer.bytes), isEncrypted: edit.isEncrypted,
                    isStored: false))
        }
        return fields
    }

    private static func stored(_ record: Record?) -> [RequestBody.Field] {
        guard let record else { return [] }
        var fields: [RequestBody.Field] = []
        let stored = record.stored
        stored.forEach { field in
            guard let name = stored.schema.name(field.number), record.edits.edit(of: name) == nil
            else { return true }
            fields.append(
                RequestBody.Field(
                    name: name,
                    .value(field.kind.unencrypted, Array(stored.bytes[field.range])),
                    isEncrypted: field.kind.isEncrypted, isStored: true))
            return true
        }
        return fields
    }

    /// What may be overwritten.
    fileprivate var rule: SaveRule {
        get throws {
            guard let policy = SavePolicy(rawValue: Int(policy)) else {
                throw FormatError.value("policy")
            }
            return SaveRule(policy, replaces: replaces)
        }
    }

    fileprivate func record(_ schema: Schema, _ assets: AssetStore?) throws -> Record {
        let id = name.id
        func reference(_ target: String, _ action: UInt8) throws -> Reference {
            guard let action = Reference.Action(rawValue: action) else {
                throw FormatError.value("action")
            }
            return Reference(
                recordID: Record.ID(recordName: target, zoneID: id.zoneID), action: action)
        }
        var storedParent: Reference?
        if case .stored(let target, let action) = parent {
            storedParent = try reference(target, action)
        }
        var record = Record(
            recordType: recordType, recordID: id, version: version, storedParent: storedParent,
            stored: try storedFields(schema), assets: assets)
        switch parent {
        case .unknown, .stored: break
        case .removed: record.parent = nil
        case .set(let target, let action): record.parent = try reference(target, action)
        }
        for field in fields where !field.isStored {
            guard case .value(let kind, let bytes) = field.content else {
                record.removeValue(forKey: field.name)
                continue
            }
            let value = try ValueFormat.value(
                bytes, in: 0..<bytes.count, kind: kind, zone: id.zoneID, assets: assets)
            record.set(field.name, value, isEncrypted: field.isEncrypted)
        }
        if let share { record.share(try share.edit) }
        return record
    }

    /// The fields that were fetched, as an entry of a record has them. A record that was fetched
    /// from another store may have fields of which this one has no name yet.
    private func storedFields(_ known: Schema) throws -> StoredFields {
        var new = SchemaAddition(firstNumber: UInt32(known.nameCount))
        new.names = fields.filter { $0.isStored && known.number($0.name) == nil }.map(\.name)
        let schema = new.names.isEmpty ? known : known.adding(new, at: .zero)
        var rows: [(number: UInt32, kind: FieldKind, bytes: [UInt8])] = []
        for field in fields where field.isStored {
            guard case .value(let kind, let bytes) = field.content,
                let number = schema.number(field.name), number < Schema.nameLimit,
                let own = field.isEncrypted ? kind.encrypted : kind
            else { throw FormatError.value("field") }
            rows.append((number, own, bytes))
        }
        if rows.isEmpty { return .none }
        rows.sort { $0.number < $1.number }
        var writer = ByteWriter()
        FieldTable.write(count: rows.count, to: &writer) { place in
            let row = rows[place]
            return FieldTable.Row(number: row.number, kind: row.kind, length: row.bytes.count)
        }
        for row in rows { writer.append(row.bytes) }
        return try StoredFields(
            writer.bytes, at: ByteCursor(), end: writer.count, schema: schema)
    }
}

extension RequestBody.Query {
    fileprivate init(_ fetch: LongLivedRequest.QueryFetch) throws(EngineError) {
        let text = try fetch.query.predicate.storedText(upTo: RequestBody.predicateLimit)
        self.init(
            recordType: fetch.query.recordType, predicate: text,
            sorts: fetch.query.sortDescriptors.map { RequestBody.Sort($0) },
            zone: fetch.zoneID.map { RequestBody.Zone($0) }, desiredKeys: fetch.desiredKeys,
            limit: RequestBody.limit(fetch.resultsLimit),
            cursor: fetch.cursor.map { [UInt8]($0.data) })
    }

    fileprivate func fetch() throws -> LongLivedRequest.QueryFetch {
        let query = Stratus.Query(
            recordType: recordType,
            predicate: Stratus.Query.Predicate(try PredicateParser.parse(predicate)),
            sortDescriptors: try sorts.map { try $0.descriptor() })
        return LongLivedRequest.QueryFetch(
            query, inZoneWith: zone?.id, desiredKeys: desiredKeys,
            resultsLimit: limit == 0 ? nil : limit,
            from: try cursor.map { try QueryPage.Cursor(data: Data($0)) })
    }
}

extension RequestBody.Sort {
    fileprivate init(_ descriptor: Stratus.Query.SortDescriptor) {
        let location = descriptor.relativeLocation.map { location -> [UInt8] in
            var writer = ByteWriter()
            ValueFormat.write(.location(location), to: &writer)
            return writer.bytes
        }
        self.init(key: descriptor.key, isAscending: descriptor.ascending, location: location)
    }

    fileprivate func descriptor() throws -> Stratus.Query.SortDescriptor {
        var descriptor = Stratus.Query.SortDescriptor(key: key, ascending: isAscending)
        guard let location else { return descriptor }
        let value = try ValueFormat.value(
            location, in: 0..<location.count, kind: FieldKind(.location), zone: .default)
        descriptor.relativeLocation = value.locationValue
        return descriptor
    }
}

extension Database {
    /// Whether both are the same zone: the caller's own has two names.
    fileprivate func isSame(_ zone: RecordZone.ID, _ other: RecordZone.ID) -> Bool {
        ownZone(zone) == ownZone(other)
    }
}

extension StoreError {
    fileprivate static let referenceOutside = StoreError(
        .invalidArguments, "a reference points into its own zone only")
}
