internal import StratusBytes
internal import StratusJournal

/// Checks the payloads of all entries of a journal, in their order: their form, and that what they
/// use by number is known (rules 1 to 4 of `Formats/Record.md`, "Validity").
struct PayloadCheck {
    private var numbers = StoreNumbers()
    /// Without those of the commit that is open, which may be abandoned.
    private var committed = StoreNumbers()
    /// Behind an entry that cannot be read nothing tells which numbers it gave.
    private var knowsNumbers = true

    /// What is wrong with the payload of an entry whose frame is whole: `content`, or what has a
    /// number that is not known.
    mutating func fault(of entry: JournalEntry, isBehindDamage: Bool) -> StaticString? {
        if isBehindDamage { knowsNumbers = false }
        if entry.kind.isEntry, entry.header.ordinal == 0 { numbers = committed }
        defer { if entry.header.isLast { committed = numbers } }
        var isRead = false
        do throws(FormatError) {
            try entry.withPayload { bytes throws(FormatError) in
                try check(bytes, of: entry, isRead: &isRead)
            }
            return nil
        } catch {
            if !isRead {
                if [.user, .zone, .names].contains(entry.kind) { knowsNumbers = false }
                return error == .value("kind") ? "kind" : "content"
            }
            guard knowsNumbers, case .value(let name) = error else { return nil }
            // What follows may use the numbers that these names were to have.
            if entry.kind == .names { knowsNumbers = false }
            return name
        }
    }

    /// `isRead` says whether the form of the entry is right.
    private mutating func check(
        _ bytes: Span<UInt8>, of entry: JournalEntry, isRead: inout Bool
    ) throws(FormatError) {
        switch entry.kind {
        case .record: return try checkRecord(bytes, of: entry, isRead: &isRead)
        case .tombstone:
            let tombstone = try Tombstone(bytes)
            isRead = true
            try checkZone(of: entry)
            try checkType(tombstone.type)
            try checkUser(tombstone.deleter)
            if let zone = tombstone.destination { try checkZone(zone) }
        case .zone:
            let zone = try ZoneEntry(bytes)
            isRead = true
            try numbers.add(zone)
        case .user:
            let user = try UserEntry(bytes)
            isRead = true
            try numbers.add(user)
        case .names:
            let names = try SchemaAddition(bytes)
            isRead = true
            try numbers.add(names)
        case .preamble: _ = try SchemaAddition(bytes)
        case .mark: _ = try MarkEntry(bytes)
        case .operation:
            _ = try OperationEntry(bytes)
            isRead = true
            try checkZone(of: entry)
        case .clientToken:
            _ = try ClientTokenEntry(bytes)
            isRead = true
            try checkZone(of: entry)
        case .chunks: try ChunkEntry.forEach(bytes) { _, _ in }
        case .lostChunks: try LostChunksEntry.forEach(bytes) { _ in }
        case .trailer: break
        default: if !entry.kind.mayBeIgnored { throw .value("kind") }
        }
    }

    private func checkRecord(
        _ bytes: Span<UInt8>, of entry: JournalEntry, isRead: inout Bool
    ) throws(FormatError) {
        var cursor = ByteCursor()
        let head = try RecordHead(bytes, &cursor)
        _ = try head.name(in: bytes)
        _ = try head.parent(in: bytes)
        cursor.position += entry.payloadRange.lowerBound
        let fields = try StoredFields(
            entry.bytes, at: cursor, end: entry.payloadRange.upperBound, schema: nil)
        isRead = true
        try checkZone(of: entry)
        try checkType(head.type)
        try checkUser(head.modifier)
        try checkUser(head.creator)
        if let zone = head.origin?.zone, zone != 0 { try checkZone(zone) }
        try fields.checkNumbers(numbers.schema)
    }

    private func checkZone(of entry: JournalEntry) throws(FormatError) {
        try checkZone(entry.zone)
    }

    private func checkZone(_ number: UInt32) throws(FormatError) {
        guard numbers.hasZone(number) else { throw .value("zone number") }
    }

    private func checkUser(_ number: UInt32) throws(FormatError) {
        guard numbers.hasUser(number) else { throw .value("user number") }
    }

    private func checkType(_ number: UInt32) throws(FormatError) {
        guard numbers.schema.name(number) != nil else { throw .value("type number") }
    }
}
