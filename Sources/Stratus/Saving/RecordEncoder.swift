internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// Turns the items of a batch into entries.
struct RecordEncoder: ~Copyable {
    let reading: StoreReading
    let context: PreparationContext
    let zone: ZonePlace
    let author: Author
    let batch: RecordBatch
    private(set) var fields: FieldEncoder
    /// What the items do to parents and cascade targets.
    private(set) var links = BatchLinks()
    /// The items that passed their checks and could not be encoded.
    private(set) var failures: [Int: StoreError] = [:]
    /// Nil where the database has no quota.
    private var quota: QuotaRoom?
    /// What the batch does to shares; nil where its zone never had any.
    let sharing: SharingPlan?
    /// Whether the zone has shares, or had some.
    let wasEverShared: Bool
    /// What goes along with deletions.
    private(set) var gone: Set<Hash128> = []
    /// Finds the subscriptions that the changes are of; nil where there are none.
    var matcher: SubscriptionMatcher?
    /// The zone, as subscriptions name it.
    var anchorZone: AnchorZone { fields.record.zone }
    /// What became of the record of an item, where subscriptions may be to it, and the records that go
    /// with it.
    private var saved: RecordChange?
    private var deleted: [JournalEntry] = []
    private var reliedTypes = ReliedTypes()
    /// The values that no two records may have.
    var unique = UniqueRows()
    /// Whether something needs a part of its own, which this context does not write.
    private var isTooLong = false

    /// A part that goes through the sink once something follows it, since the last part does not.
    private var fullPart: (buffer: CommitBuffer, items: Range<Int>)?
    /// The items in the part being filled, as far as they were encoded.
    private var items = 0..<0

    init(
        reading: StoreReading, context: PreparationContext, zone: ZonePlace, by author: Author,
        batch: RecordBatch, numbers: NumberAssignment, sharing: SharingPlan?, quota: QuotaRoom?
    ) {
        self.quota = quota
        self.sharing = sharing
        wasEverShared = sharing != nil
        self.reading = reading
        self.context = context
        self.zone = zone
        self.author = author
        self.batch = batch
        fields = FieldEncoder(
            batch: batch, numbers: numbers, schema: reading.schema,
            zone: AnchorZone(zone, name: batch.zoneID.zoneName))
    }

    /// Whether only a serial context can go on; then nothing that was encoded is of use.
    var needsSerial: Bool {
        if isTooLong || fields.numbers.isIncomplete { return true }
        return switch matcher {
        case .some(let matcher): matcher.isTooLong
        case .none: false
        }
    }

    /// Adds the entries of all items that have a plan; those that cannot be encoded fail.
    mutating func encode(
        _ draft: inout Draft, sink: PartSink
    ) throws(EngineError) {
        let items = batch.items
        // What a record usually takes, so that the buffer seldom grows.
        draft.buffer = CommitBuffer(capacity: min(items.count * 448, context.partLimit))
        try fields.writeNumbers(to: &draft)
        matcher = try SubscriptionMatcher(
            reading, context, in: zone.database, by: author, batch.caller, draft.schema)
        try encodeShares(&draft)
        if let assets = batch.assets {
            try draft.buffer.add(assets.rows, limit: context.payloadLimit)
        }
        for index in items.indices {
            guard case .planned(let plan) = draft.results[index] else { continue }
            do throws(EngineError) {
                let place = try encode(index, plan, &draft)
                draft.results[index] = .staged(place: place)
                self.items = self.items.lowerBound..<index + 1
            } catch {
                if error.wouldBlock { throw error }
                let failure = StoreError(error).with(items[index].recordID)
                failures[index] = failure
                draft.results[index] = .failed(failure)
                saved = nil
                deleted.removeAll()
            }
            if needsSerial { return }
            if case .staged(let place) = draft.results[index] {
                // That this fails is no fault of the item, but one of the whole commit.
                try match(at: place, &draft, sink)
                if needsSerial { return }
            }
            try flushIfFull(&draft, sink)
            if needsSerial { return }
        }
    }

    /// Adds the tombstones of records that go along with what the items delete.
    mutating func encode(
        cascade: [EntryLocation], _ draft: inout Draft, sink: PartSink
    ) throws(EngineError) {
        for place in cascade.sorted(by: { $0.offset < $1.offset }) {
            let entry = try reading.entry(place)
            try delete(entry, &draft)
            try matchDeleted(&draft, sink)
            if needsSerial { return }
            if sharing != nil, let name = entry.recordName { gone.insert(reading.hash(name)) }
            try flushIfFull(&draft, sink)
            if needsSerial { return }
        }
    }

    mutating func count(_ length: Int, replacing replaced: Int) {
        quota?.count(length, replacing: replaced)
    }

    /// What goes along takes more than one part.
    mutating func giveUp() { isTooLong = true }

    /// Nothing followed, or nothing that could be encoded.
    mutating func finish(_ draft: inout Draft) {
        draft.charge = quota?.charge
        if let (buffer, _) = fullPart.take() { draft.buffer = buffer }
    }

    /// Sends all that was encoded through the sink, though nothing follows yet.
    mutating func flush(
        _ draft: inout Draft, sink: PartSink
    ) throws(EngineError) -> StoreReading {
        if fullPart == nil { fullPart = (draft.buffer, items) }
        draft.buffer = CommitBuffer()
        return try emitFullPart(&draft, sink) ?? reading
    }

    mutating func flushIfFull(
        _ draft: inout Draft, _ sink: PartSink
    ) throws(EngineError) {
        if fullPart != nil, !draft.buffer.isEmpty {
            _ = try emitFullPart(&draft, sink)
            if needsSerial { return }
        }
        if draft.buffer.lengthInBytes > context.partLimit * 3 / 4 {
            fullPart = (draft.buffer, items)
            items = items.upperBound..<items.upperBound
            draft.buffer = CommitBuffer(capacity: context.partLimit)
        }
    }

    private mutating func emitFullPart(
        _ draft: inout Draft, _ sink: PartSink
    ) throws(EngineError) -> StoreReading? {
        guard let (buffer, items) = fullPart.take() else { return nil }
        guard context.isSerial else {
            isTooLong = true
            return nil
        }
        let part = try sink(.append(buffer))
        try draft.resolve(items, of: batch, in: buffer, from: part.start, reading)
        return part.reading
    }

    private mutating func encode(
        _ index: Int, _ plan: ItemPlan, _ draft: inout Draft
    ) throws(EngineError) -> Int {
        let place = draft.buffer.count
        switch (batch.items[index], plan) {
        case (.save(let record, let rule), .insert(let previous)):
            let type = try fields.prepare(record, rule, over: nil)
            let isFound = try matcher?.find(fields.record, type, over: nil) ?? false
            var head =
                if let history = batch.history {
                    try restoredHead(of: history.items[index], type: type)
                } else {
                    try newHead(of: record, type: type, previous: previous)
                }
            head.assetBytes = try fields.record.assetBytes()
            state(index, in: &head)
            let parent = record.parent?.recordID.recordName
            try append(head, of: index, record, parent: parent, over: nil, nil, to: &draft)
            rely(onType: type, &draft)
            if isFound {
                saved = RecordChange(
                    .created, type: type, name: record.recordID.recordName, creator: head.creator)
            }
        case (.save(let record, let rule), .update(let replaced, let held)):
            let entry = try entry(replaced, held)
            let (old, cursor, stored) = try decode(entry)
            _ = try fields.prepare(record, rule, over: stored)
            let isFound = try matcher?.find(fields.record, old.type, over: stored) ?? false
            var head = RecordHead(
                type: old.type, modified: max(context.now / 1000, old.modified + 1), by: author,
                created: old.created, creator: old.creator, previous: replaced.version,
                isUpdate: true, origin: old.origin)
            let previous = PreviousEntry(entry: entry, head: old, fields: cursor)
            head.replacedLength = entry.payloadRange.count
            head.assetBytes = try fields.record.assetBytes()
            head.formerAssetBytes = old.assetBytes
            state(index, in: &head)
            let parent =
                batch.sendsParent(of: record, rule, isInsert: false)
                    && batch.mayChangeParent(of: old)
                ? record.parent?.recordID.recordName : try previous.parent
            try append(head, of: index, record, parent: parent, over: previous, stored, to: &draft)
            rely(onType: old.type, &draft)
            if isFound {
                saved = RecordChange(
                    .updated, type: old.type, name: record.recordID.recordName,
                    creator: old.creator, over: PreviousVersion(entry, stored))
            }
        case (.delete, .delete) where sharing?.leaving[index] != nil:
            guard let (replaced, statement) = sharing?.leaving[index] else { break }
            return try rewrite(replaced, statement, &draft)
        case (.delete(let id, _), .delete(let replaced, let held)):
            try delete(entry(replaced, held), &draft)
            links.deletes.append((index, reading.hash(id.recordName)))
        case (.delete, .restoreDeletion):
            try restoreDeletion(index, &draft)
        default:
            preconditionFailure("a plan fits its item")
        }
        return place
    }

    /// What the entry of an item says of shares.
    private func state(_ index: Int, in head: inout RecordHead) {
        guard let statement = sharing?.statements[index] else { return }
        head.membership = statement.membership
        head.formerMembership = statement.former
    }

    private func entry(
        _ place: EntryLocation, _ held: JournalEntry?
    ) throws(EngineError) -> JournalEntry {
        if let held { return held }
        return try reading.entry(place)
    }

    private func decode(
        _ entry: JournalEntry
    ) throws(EngineError) -> (RecordHead, ByteCursor, StoredFields) {
        let (head, cursor) = try entry.recordHead()
        return (head, cursor, try reading.fields(of: entry, head, at: cursor))
    }

    private mutating func append(
        _ head: RecordHead, of index: Int, _ record: Record, parent: String?,
        over previous: PreviousEntry?, _ stored: StoredFields?,
        to draft: inout Draft
    ) throws(EngineError) {
        let (cascadeLinks, validated): ([CascadeLink], [String])
        do {
            (cascadeLinks, validated) = try fields.record.references()
        } catch {
            throw previous.map { .damaged($0.entry) }
                ?? .refused(.internalError, "a reference cannot be read")
        }
        var change = LinkChange(hasCascadeLinks: !cascadeLinks.isEmpty)
        let formerParent = try previous?.parent
        let formerCascadeLinks = try previous?.cascadeLinks ?? []
        if previous != nil {
            if parent != formerParent { change.formerParent = formerParent ?? "" }
            if cascadeLinks != formerCascadeLinks {
                change.formerCascadeLinks = formerCascadeLinks.filter { !cascadeLinks.contains($0) }
            }
        }
        let rows = try fields.record.indexRows(
            draft.indexes.of(type: head.type), head, over: previous?.head, stored)
        // What the assets take is no part of the payload, and of the quota it is.
        let assets = head.assetBytes ?? 0
        let replaced = head.replacedLength + (head.formerAssetBytes ?? 0)
        let allowed = quota.map { $0.payloadLimit(replacing: replaced) - assets } ?? .max
        // Before anything of it is copied.
        guard fields.record.length <= context.payloadLimit else {
            throw EngineError(JournalError.entryTooLong)
        }
        let length = try append(
            .record, version: batch.keptVersion(of: index), upTo: allowed, to: &draft
        ) { writer in
            head.write(
                name: record.recordID.recordName, parent: parent, links: change,
                indexRows: rows, shareRecord: sharing?.statements[index]?.shareRecord,
                to: &writer)
            fields.record.write(to: &writer)
        }
        quota?.count(length + assets, replacing: replaced)
        unique.add(rows, of: record.recordID.recordName, in: zone, item: index, reading)
        guard
            parent != nil || formerParent != nil || !cascadeLinks.isEmpty
                || !formerCascadeLinks.isEmpty
                || !validated.isEmpty
        else { return }
        links.saves.append(
            BatchLinks.Save(
                item: index, name: reading.hash(record.recordID.recordName),
                isUpdate: previous != nil, parent: parent.map { reading.hash($0) },
                changesParent: parent != formerParent && parent != nil,
                cascadeTargets: counts(cascadeLinks),
                formerCascadeTargets: counts(formerCascadeLinks),
                validated: validated.map { reading.hash($0) }))
    }

    private func counts(_ links: [CascadeLink]) -> [Hash128: Int] {
        links.reduce(into: [:]) { $0[reading.hash($1.target), default: 0] += 1 }
    }

    /// Returns the length of the payload, which may be `allowed`.
    @discardableResult
    func append(
        _ kind: EntryKind, version: Version = .none, upTo allowed: Int = .max,
        to draft: inout Draft, payload: (inout ByteWriter) -> Void
    ) throws(EngineError) -> Int {
        var length = 0
        let room = context.payloadLimit
        do {
            try draft.buffer.append(
                kind, zone: zone.number, version: version, limit: min(room, allowed)
            ) { writer in
                let start = writer.count
                payload(&writer)
                length = writer.count - start
            }
        } catch {
            if let quota, length <= room { throw .refused(quota.error) }
            throw EngineError(JournalError.entryTooLong)
        }
        return length
    }
}

// What query subscriptions are told of the changes.
extension RecordEncoder {
    /// Notes that a record of a type is deleted, whose last version the entry holds.
    mutating func noteDeletion(
        of entry: JournalEntry?, ofType type: UInt32, _ draft: inout Draft
    ) {
        rely(onType: type, &draft)
        if matcher != nil, let entry { deleted.append(entry) }
    }

    /// In a serial context no subscription can begin or end meanwhile.
    private mutating func rely(onType type: UInt32, _ draft: inout Draft) {
        if !context.isSerial {
            reliedTypes.add(type, in: zone.database, reading, to: &draft)
        }
    }

    /// Finds the subscriptions that the changes are of which an item has made, and adds what follows.
    /// Its entry lies at `place`.
    private mutating func match(
        at place: Int, _ draft: inout Draft, _ sink: PartSink
    ) throws(EngineError) {
        var isMatch = false
        if let change = saved.take() {
            isMatch =
                try matcher?.saveFound(fields.record, change) {
                    draft.buffer.payload(at: place)
                } ?? false
        }
        if !isMatch, deleted.isEmpty { return }
        try matchDeleted(&draft, sink)
    }

    /// The same of a record that is written once more as it is. What follows is added with that of what
    /// comes next, or at the end.
    mutating func match(
        _ record: RewrittenRecord, at place: Int, _ draft: inout Draft
    ) throws(EngineError) {
        rely(onType: record.head.type, &draft)
        try matcher?.save(record.stored, record.change, in: fields.record.zone) {
            draft.buffer.payload(at: place)
        }
    }

    /// The same of what goes along with deletions.
    private mutating func matchDeleted(
        _ draft: inout Draft, _ sink: PartSink
    ) throws(EngineError) {
        for entry in deleted { try matcher?.delete(entry, in: fields.record.zone) }
        if !deleted.isEmpty { deleted.removeAll() }
        try addMatches(&draft, sink)
    }

    /// Adds what is known of users' badges at the end of the commit.
    mutating func endMatches(
        _ draft: inout Draft, sink: PartSink
    ) throws(EngineError) {
        if needsSerial { return }
        matcher?.close()
        try addMatches(&draft, sink)
        draft.readSet += matcher?.readSet ?? []
    }

    /// Adds the entries that follow from what the matcher found.
    private mutating func addMatches(
        _ draft: inout Draft, _ sink: PartSink
    ) throws(EngineError) {
        while !needsSerial, let output = try matcher?.next() {
            // Many are a long commit, of which no part grows beyond its limit.
            try flushIfFull(&draft, sink)
            if needsSerial { return }
            try draft.buffer.add(output, limit: context.payloadLimit)
        }
        try flushIfFull(&draft, sink)
    }
}

/// The version of a record that a save replaces, and the links in it.
private struct PreviousEntry {
    let entry: JournalEntry
    let head: RecordHead
    let fields: ByteCursor

    var parent: String? {
        get throws(EngineError) {
            guard head.parent != nil else { return nil }
            do throws(FormatError) {
                return try head.parent(in: entry.bytes.span)
            } catch {
                throw .damaged(entry)
            }
        }
    }

    var cascadeLinks: [CascadeLink] {
        get throws(EngineError) {
            guard head.hasCascadeLinks else { return [] }
            do throws(FormatError) {
                return try entry.cascadeLinks(from: fields)
            } catch {
                throw .damaged(entry)
            }
        }
    }
}

extension Draft {
    /// Turns staged items into the records they have become, now that it is known where the
    /// entries begin.
    mutating func resolve(
        _ items: Range<Int>, of batch: RecordBatch, in buffer: CommitBuffer,
        from start: JournalOffset, _ reading: StoreReading
    ) throws(EngineError) {
        for index in items {
            guard case .staged(let place) = results[index] else { continue }
            let record = try record(
                index, at: place, of: batch, in: buffer, from: start, reading)
            results[index] = record.map { .saved($0) } ?? .unchanged
        }
    }

    /// The record that an item has become; nil where it was deleted.
    func record(
        _ index: Int, at place: Int, of batch: RecordBatch, in buffer: CommitBuffer,
        from start: JournalOffset, _ reading: StoreReading
    ) throws(EngineError) -> Record? {
        guard case .save(let record, _) = batch.items[index], let bytes = buffer.payload(at: place)
        else { return nil }
        var id = record.recordID
        if id.zoneID != batch.zoneID { id.zoneID = batch.zoneID }
        return try self.record(
            bytes, of: start.advanced(byBytes: place), keeping: batch.keptVersion(of: index),
            as: id, by: batch.caller, reading)
    }

    /// The record of that payload, which the commit has at `offset`. With a version it was restored.
    func record(
        _ payload: [UInt8], of offset: JournalOffset, keeping kept: Version = .none,
        as id: Record.ID, by caller: UserID, _ reading: StoreReading
    ) throws(EngineError) -> Record {
        let version = kept == .none ? reading.identity.version(at: offset) : kept
        return try Record(
            payload, 0..<payload.count, version: version, as: id, schema: schema,
            assets: reading.assets, checksValues: false, damage: reading.damaged(at: offset)
        ) { number throws(EngineError) in
            number == user ? caller : try reading.user(number)
        }
    }
}

extension Record {
    /// What a save sends, under `policy`: values, and nil for fields to be removed.
    func sent(_ policy: SavePolicy, isInsert: Bool) -> [FieldEdits.Edit] {
        guard policy == .allKeys || isInsert, stored.count > 0 else { return edits.all }
        return allKeys.map {
            FieldEdits.Edit(key: $0, value: self[$0], isEncrypted: isEncrypted($0))
        }
            + edits.all.filter { $0.value == nil }
    }

    /// The record as it was before the caller's edits, where all of it is here.
    var ancestor: Record? {
        guard let system, stored.visible == nil else { return nil }
        return Record(
            recordType: recordType, recordID: recordID, system: system, parent: storedParent,
            stored: stored, assets: assets)
    }
}

extension RecordBatch {
    /// The kind of a value that a field of this zone may hold.
    func kind(of edit: FieldEdits.Edit, _ value: RecordValue) throws(EngineError) -> FieldKind {
        // What most fields hold points nowhere and has no parts: only its kind is asked for.
        let hasParts =
            switch value {
            case .reference, .asset, .list: true
            default: false
            }
        if hasParts, !value.everyReference({ isInside($0.recordID.zoneID) }) {
            throw .refused(.invalidArguments, "a reference points into its own zone only")
        }
        let kind: FieldKind
        do {
            kind = try ValueFormat.kind(of: value)
        } catch {
            throw .refused(
                .invalidArguments, "a list holds values of one kind, and no list")
        }
        if hasParts {
            guard value.everyReference({ NameRules.isTargetName($0.recordID.recordName) }) else {
                throw .refused(
                    .invalidArguments, "the target of a reference has a name of 1 to 255 bytes")
            }
            for asset in value.assets { try check(asset) }
        }
        return edit.isEncrypted ? try encrypted(kind) : kind
    }

    /// Whether the bytes of an asset are in the store, and stay there until this is committed.
    private func check(_ asset: Asset) throws(EngineError) {
        switch asset.source {
        case .failed(let error): throw .refused(error)
        case .stored(let stored):
            guard assets?.covers(stored.content) == true else { throw .refused(.assetGone) }
        case .file, .data, .stream, .request: throw .refused(.assetGone)
        }
    }

    private func encrypted(_ kind: FieldKind) throws(EngineError) -> FieldKind {
        guard scope != .public else {
            throw .refused(.invalidArguments, "the public database has no encrypted fields")
        }
        guard let flagged = kind.encrypted else {
            throw .refused(.invalidArguments, "references and assets cannot be encrypted")
        }
        return flagged
    }
}
