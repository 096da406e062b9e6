internal import StratusBytes
internal import StratusEngine
internal import StratusJournal

extension StoreReading {
    /// The record that the entry holds. Damage names the record where its name can be read.
    func record(
        _ entry: JournalEntry, in zoneID: RecordZone.ID, _ users: inout UserNames
    ) throws(EngineError) -> Record {
        guard entry.kind == .record else { throw .damaged(entry) }
        do throws(EngineError) {
            return try Record(
                entry.bytes, entry.payloadRange, version: entry.version, expected: nil, in: zoneID,
                schema: schema, assets: assets, damage: .damaged(entry)
            ) { number throws(EngineError) in try users.user(number) }
        } catch {
            guard error.isDamage, let name = entry.recordName else { throw error }
            throw error.with(Record.ID(recordName: name, zoneID: zoneID))
        }
    }

    /// The record at `place`, which was found by its name. Damage names the record.
    func record(_ place: EntryLocation, as id: Record.ID) throws(EngineError) -> Record {
        do throws(EngineError) {
            let entry = try entry(place)
            guard entry.kind == .record else { throw .damaged(entry) }
            return try Record(
                entry.bytes, entry.payloadRange, version: entry.version, as: id, schema: schema,
                assets: assets, damage: .damaged(entry)
            ) { number throws(EngineError) in try user(number) }
        } catch {
            throw error.with(id)
        }
    }
}

extension Record {
    /// The record `recordID`, whose payload lies at `range` of `bytes`. Its values are checked unless this
    /// process has just encoded them.
    init(
        _ bytes: [UInt8], _ range: Range<Int>, version: Version, as recordID: ID, schema: Schema,
        assets: AssetStore?, checksValues: Bool = true, damage: @autoclosure () -> EngineError,
        user: (UInt32) throws(EngineError) -> UserID?
    ) throws(EngineError) {
        try self.init(
            bytes, range, version: version, expected: recordID, in: recordID.zoneID,
            schema: schema, assets: assets, checksValues: checksValues, damage: damage(), user: user
        )
    }

    /// The record whose payload lies at `range` of `bytes`: the one that is `expected`, where one
    /// is, or whichever it is in the zone. Fails with `damage` where these bytes are no record.
    init(
        _ bytes: [UInt8], _ range: Range<Int>, version: Version, expected: ID?,
        in zoneID: RecordZone.ID, schema: Schema, assets: AssetStore?, checksValues: Bool = true,
        damage: @autoclosure () -> EngineError, user: (UInt32) throws(EngineError) -> UserID?
    ) throws(EngineError) {
        let head: RecordHead
        let fields: StoredFields
        let parent: String?
        let share: String?
        let name: String?
        do throws(FormatError) {
            let span = bytes.span.extracting(0..<range.upperBound)
            var cursor = ByteCursor(at: range.lowerBound)
            head = try RecordHead(span, &cursor)
            parent = try head.parent(in: span)
            share = try head.shareRecord(in: span)
            if let expected {
                // The index knows only a hash of it.
                name = span.equals(expected.recordName, in: head.name) ? expected.recordName : nil
            } else {
                name = try head.name(in: span)
            }
            fields = try StoredFields(
                bytes, at: cursor, end: range.upperBound, schema: schema, checksValues: checksValues
            )
        } catch {
            throw damage()
        }
        guard let name else { throw .refused(.hashCollision) }
        let modifier = try user(head.modifier)
        let creator = head.creator == head.modifier ? modifier : try user(head.creator)
        guard let type = schema.name(head.type), let modifier, let creator else {
            throw damage()
        }
        self.init(
            recordType: type, recordID: ID(recordName: name, zoneID: zoneID),
            system: System(
                version: version.rawValue, created: head.created, modified: head.modified,
                creator: creator, modifier: modifier),
            parent: parent.map {
                Reference(recordID: ID(recordName: $0, zoneID: zoneID))
            },
            share: share.map {
                Reference(recordID: ID(recordName: $0, zoneID: zoneID))
            }, stored: fields, assets: fields.hasAssets ? assets : nil)
    }
}
