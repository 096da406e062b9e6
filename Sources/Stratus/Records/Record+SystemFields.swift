internal import StratusBytes
internal import StratusEngine

extension Record {
    /// What the store needs to know of a record to save it again, as bytes: identity, type, change
    /// tag, dates, users and parent; no fields and no edits. The same record always gives the same
    /// bytes.
    ///
    /// Layout: `Formats/SystemFields.md`.
    public func encodeSystemFields() -> [UInt8] {
        var writer = ByteWriter(capacity: 192)
        let parent = (system == nil ? parent : storedParent).flatMap {
            $0.action == .none && $0.recordID.zoneID == recordID.zoneID ? $0 : nil
        }
        writer.uint8(SystemFieldsFormat.format)
        writer.uint8(
            (system == nil ? 0 : SystemFieldsFormat.isSaved)
                | (parent == nil ? 0 : SystemFieldsFormat.hasParent))
        writer.countedText(recordID.zoneID.zoneName)
        writer.countedText(recordID.zoneID.ownerName)
        writer.countedText(recordID.recordName)
        writer.countedText(recordType)
        if let system {
            writer.uint64(system.version)
            writer.signedVarint(system.created)
            writer.signedVarint(system.modified)
            for user in [system.creator, system.modifier] {
                writer.hash(user.bits)
            }
        }
        if let parent { writer.countedText(parent.recordID.recordName) }
        writer.uint32(UInt32(truncatingIfNeeded: Checksum.xxh3(writer.bytes.span)))
        return writer.bytes
    }

    /// The record that ``encodeSystemFields()`` gave, without its fields: what is set is sent by
    /// the next save, what is not stays as it is in the store.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` and the place where the bytes are none.
    public init(systemFields bytes: [UInt8]) throws(StoreError) {
        let span = bytes.span
        var cursor = ByteCursor()
        do throws(FormatError) {
            let length = bytes.count - SystemFieldsFormat.checksumLength
            guard length > 0 else { throw .truncated }
            // The format is told first, so that a newer one is not taken for damage.
            guard bytes[0] > 0 else { throw .value("format") }
            guard bytes[0] == SystemFieldsFormat.format else { throw .newer("format") }
            cursor.position = length
            guard
                UInt32(truncatingIfNeeded: Checksum.xxh3(span, in: 0..<length))
                    == span.uint32(at: length)
            else { throw .value("checksum") }
            cursor.position = 1
            let fields = try SystemFieldsFormat(span.extracting(0..<length), &cursor)
            // Nothing is known of any field.
            var none = StoredFields.none
            none.visible = []
            self.init(
                recordType: fields.type, recordID: fields.recordID, system: fields.system,
                parent: fields.system == nil ? nil : fields.parent,
                stored: fields.system == nil ? .none : none, assets: nil)
            if fields.system == nil, let parent = fields.parent { self.parent = parent }
        } catch {
            let isNewer = if case .newer = error { true } else { false }
            var refusal = StoreError(
                .invalidArguments,
                isNewer
                    ? "the system fields were written by a newer version"
                    : "the system fields are damaged")
            if isNewer { refusal.cause = .newerFormat }
            refusal.place = StoreError.Place(
                file: "", byte: cursor.position, kind: SystemFieldsFormat.kind(of: error))
            throw refusal
        }
    }
}

/// The system fields of a record as bytes: `Formats/SystemFields.md`.
private struct SystemFieldsFormat {
    static let format: UInt8 = 1
    static let isSaved: UInt8 = 1
    static let hasParent: UInt8 = 2
    static let checksumLength = 4

    var recordID: Record.ID
    var type: String
    var system: Record.System?
    var parent: Reference?

    /// Reads what lies between the format and the checksum.
    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let flags = try cursor.uint8(bytes)
        guard flags & ~(Self.isSaved | Self.hasParent) == 0 else { throw .newer("flags") }
        let zone = RecordZone.ID(
            zoneName: try cursor.text(bytes, upTo: bytes.count),
            ownerName: try cursor.text(bytes, upTo: bytes.count))
        recordID = Record.ID(
            recordName: try cursor.text(bytes, upTo: bytes.count), zoneID: zone)
        type = try cursor.text(bytes, upTo: bytes.count)
        if flags & Self.isSaved != 0 { system = try Self.system(bytes, &cursor) }
        if flags & Self.hasParent != 0 {
            let name = try cursor.text(bytes, upTo: bytes.count)
            parent = Reference(recordID: Record.ID(recordName: name, zoneID: zone))
        }
        try cursor.end(bytes)
    }

    private static func system(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> Record.System {
        let version = try cursor.uint64(bytes)
        guard version != 0 else { throw .value("version") }
        let created = try cursor.signedVarint(bytes)
        let modified = try cursor.signedVarint(bytes)
        guard created.magnitude < 1 << 53, modified.magnitude < 1 << 53 else {
            throw .value("date")
        }
        let creator = try cursor.hash(bytes)
        let modifier = try cursor.hash(bytes)
        return Record.System(
            version: version, created: created, modified: modified,
            creator: UserID(bits: creator), modifier: UserID(bits: modifier))
    }

    /// What is wrong, as the page names it.
    static func kind(of error: FormatError) -> String {
        switch error {
        case .truncated: "systemFields.truncated"
        case .integer: "systemFields.integer"
        case .text: "systemFields.text"
        case .value(let field): "systemFields.\(field)"
        case .newer(let what): "format.newer \(what)"
        }
    }
}
