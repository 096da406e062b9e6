internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// What a batch writes of shares: `Formats/Record.md`, "Share", "Members" and "Participant".
extension RecordEncoder {
    /// The shares that begin, change or end: ahead of what uses their numbers.
    func encodeShares(_ draft: inout Draft) throws(EngineError) {
        for change in sharing?.changes ?? [] where change.kind != .list {
            try draft.buffer.add(.share, in: zone, limit: context.payloadLimit) {
                change.entry.write(to: &$0)
            }
        }
    }

    /// What follows from the items: participants, records that are written once more, and those that
    /// go along into another share. `isThere` says whether a record stays where it is moved.
    mutating func encodeSharing(
        _ draft: inout Draft, sink: PartSink, where isThere: (Hash128) throws(EngineError) -> Bool
    ) throws(EngineError) {
        guard let sharing, !sharing.isEmpty else { return }
        for participant in sharing.changes.flatMap(\.participants) {
            try append(.participant, to: &draft) { participant.write(to: &$0) }
            try flushIfFull(&draft, sink)
            if needsSerial { return }
        }
        for record in sharing.rewritten where try isThere(record.name) {
            _ = try rewrite(record.place, record.statement, &draft)
            try flushIfFull(&draft, sink)
            if needsSerial { return }
        }
        let reading = reading
        try MembersEntry.forEach(
            of: sharing.moved, onDevice: author.device,
            where: { name throws(EngineError) in try isThere(reading.hash(name)) }
        ) { entry throws(EngineError) in
            if needsSerial { return }
            try append(.members, to: &draft) { entry.write(to: &$0) }
            try flushIfFull(&draft, sink)
        }
    }

    /// Writes a record once more as it is, but for what is said of shares.
    mutating func rewrite(
        _ place: EntryLocation, _ statement: SharingPlan.Statement, _ draft: inout Draft
    ) throws(EngineError) -> Int {
        let record = try RewrittenRecord(place, statement, by: author, context, reading)
        let start = draft.buffer.count
        let length = try append(.record, to: &draft) { record.write(to: &$0) }
        let assets = record.head.assetBytes ?? 0
        count(length + assets, replacing: record.head.replacedLength + assets)
        try match(record, at: start, &draft)
        return start
    }

    /// Adds the tombstone of a record. With a root its share ends.
    mutating func delete(
        _ entry: JournalEntry, _ draft: inout Draft
    ) throws(EngineError) {
        var tombstone = try entry.tombstone(by: author, now: context.now / 1000, reading)
        if wasEverShared {
            let name = reading.hash(tombstone.name)
            if !context.isSerial { draft.readSet.append(.member(zone.number, name)) }
            tombstone.membership = try reading.membership(of: tombstone.name, in: zone)
        }
        try append(.tombstone, to: &draft) { tombstone.write(to: &$0) }
        unique.add(tombstone.indexRows, of: tombstone.name, in: zone, reading)
        count(0, replacing: tombstone.takenBytes)
        noteDeletion(of: entry, ofType: tombstone.type, &draft)
        guard wasEverShared else { return }
        let root = reading.hash(tombstone.name)
        let ending = try ShareEnding(of: root, in: zone, by: author, context, reading)
        guard let ending, sharing?.ended.contains(ending.share.number) != true else { return }
        if batch.saves(ending.share.recordName) { throw .refused(.rootGoes) }
        if !context.isSerial {
            let name = reading.hash(ending.share.recordName)
            draft.readSet += [
                .shareRoot(zone.number, root), .share(ending.share.number),
                .record(zone.number, name), .member(zone.number, name),
            ]
        }
        try append(.share, to: &draft) { ending.share.write(to: &$0) }
        guard let record = ending.record,
            sharing?.deleted.contains(reading.hash(record.name)) != true
        else { return }
        try append(.tombstone, to: &draft) { record.write(to: &$0) }
        count(0, replacing: record.takenBytes)
        noteDeletion(of: ending.recordEntry, ofType: record.type, &draft)
    }
}

/// A record that is written once more as it is, but for what is said of shares.
struct RewrittenRecord {
    let head: RecordHead
    /// As they were before, too.
    let stored: StoredFields
    private let entry: JournalEntry
    private let fields: ByteCursor
    private let name: String
    private let parent: String?
    private let shareRecord: String?
    private let hasCascadeLinks: Bool
    private let rows: IndexStatement

    init(
        _ place: EntryLocation, _ statement: SharingPlan.Statement, by author: Author,
        _ context: PreparationContext, _ reading: StoreReading
    ) throws(EngineError) {
        let entry = try reading.entry(place)
        self.entry = entry
        let (old, cursor) = try entry.recordHead()
        stored = try reading.fields(of: entry, old, at: cursor)
        fields = cursor
        shareRecord = statement.shareRecord
        var head = RecordHead(
            type: old.type, modified: max(context.now / 1000, old.modified + 1), by: author,
            created: old.created, creator: old.creator, previous: place.version, isUpdate: true,
            origin: old.origin)
        head.replacedLength = entry.payloadRange.count
        head.assetBytes = old.assetBytes
        head.formerAssetBytes = old.assetBytes
        head.membership = statement.membership
        head.formerMembership = statement.former
        self.head = head
        hasCascadeLinks = old.hasCascadeLinks
        do throws(FormatError) {
            name = try old.name(in: entry.bytes.span)
            parent = try old.parent(in: entry.bytes.span)
            rows = try IndexStatement(
                from: old, to: head, stored, reading.indexes.of(type: old.type))
        } catch {
            throw .damaged(entry)
        }
    }

    var payload: [UInt8] {
        var writer = ByteWriter()
        write(to: &writer)
        return writer.bytes
    }

    /// As subscriptions are told of it.
    var change: RecordChange {
        RecordChange(
            .updated, type: head.type, name: name, creator: head.creator,
            over: PreviousVersion(entry, stored))
    }

    func write(to writer: inout ByteWriter) {
        head.write(
            name: name, parent: parent, links: LinkChange(hasCascadeLinks: hasCascadeLinks),
            indexRows: rows, shareRecord: shareRecord, to: &writer)
        writer.append(
            entry.bytes.span.extracting(fields.position..<entry.payloadRange.upperBound))
    }
}

/// What ends with a root: its share, and the record of that.
struct ShareEnding {
    let share: ShareEntry
    private(set) var record: Tombstone?
    /// The last version of that record.
    private(set) var recordEntry: JournalEntry?

    /// Nil where the record is the root of no share that lives or grows. One that grows has no
    /// record yet, and its root does not name it.
    init?(
        of root: Hash128, in zone: ZonePlace, by author: Author, _ context: PreparationContext,
        _ reading: StoreReading
    ) throws(EngineError) {
        guard let place = try reading.share(ofRoot: root, in: zone.number), place.hasMembers else {
            return nil
        }
        var share = try reading.shareEntry(place)
        share.state = .ended
        self.share = share
        guard place.isAlive else { return }
        let key = IndexKey.record(zone.number, reading.hash(share.recordName))
        if let place = try reading.value(key).map({ EntryLocation($0) }), !place.isDeleted {
            let entry = try reading.entry(place)
            recordEntry = entry
            record = try entry.tombstone(by: author, now: context.now / 1000, reading)
            record?.membership = try reading.membership(of: share.recordName, in: zone)
        }
    }
}

extension StoreReading {
    /// What a tombstone says of the share that its record was in.
    func membership(
        of name: String, in zone: ZonePlace
    ) throws(EngineError) -> ShareMembership? {
        try member(hash(name), in: zone.number)
    }
}
