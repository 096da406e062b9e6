internal import StratusAssets
internal import StratusBytes
internal import StratusJournal

/// What stands before the fields in the entry of a record: `Formats/Record.md`, "Record".
struct RecordHead: Equatable, Sendable {
    private enum Flag {
        static let hasPrevious: UInt32 = 1
        static let isUpdate: UInt32 = 2
        static let hasParent: UInt32 = 4
        static let hasCascadeLinks: UInt32 = 8
        static let formerParent: UInt32 = 16
        static let formerCascadeLinks: UInt32 = 32
        static let isMoved: UInt32 = 64
        static let hasAssets: UInt32 = 128
        static let hasExtensions: UInt32 = 256
        static let known: UInt32 = 511
    }

    var type: UInt32
    /// In milliseconds since 1970.
    var modified: Int64
    var modifier: UInt32
    var created: Int64
    var creator: UInt32
    /// The version that this one replaces: of the record or, where that was deleted, of its
    /// tombstone.
    var previous: Version
    /// Whether the record lived when this version was saved.
    var isUpdate: Bool
    /// Of an update: how many bytes the payload had that it replaces.
    var replacedLength = 0
    /// Where the record name lies, once it was read.
    private(set) var name = 0..<0
    /// Where the record name of the parent lies.
    private(set) var parent: Range<Int>?
    /// Where the name of the parent lies that this version has no more, empty for none; nil: the
    /// parent is as before.
    private(set) var formerParent: Range<Int>?
    /// Whether any of the references has the action deleteSelf.
    private(set) var hasCascadeLinks = false
    /// Where those of them are listed that this version has no more; nil: they are as before.
    private(set) var formerCascadeLinks: Range<Int>?
    /// Where the record was before its versions in this zone began.
    var origin: MoveOrigin?
    /// How many bytes the assets have together; nil: there are none.
    var assetBytes: Int?
    /// The same of the version that this one replaces.
    var formerAssetBytes: Int?

    init(
        type: UInt32, modified: Int64, modifier: UInt32, created: Int64, creator: UInt32,
        previous: Version, isUpdate: Bool, origin: MoveOrigin? = nil
    ) {
        self.type = type
        self.modified = modified
        self.modifier = modifier
        self.created = created
        self.creator = creator
        self.previous = previous
        self.isUpdate = isUpdate
        self.origin = origin
    }

    func write(
        name: String, parent: String?, links: LinkChange = LinkChange(), to writer: inout ByteWriter
    ) {
        var flags: UInt32 = 0
        if previous != .none { flags |= Flag.hasPrevious }
        if isUpdate { flags |= Flag.isUpdate }
        if parent != nil { flags |= Flag.hasParent }
        if links.hasCascadeLinks { flags |= Flag.hasCascadeLinks }
        if links.formerParent != nil { flags |= Flag.formerParent }
        if links.formerCascadeLinks != nil { flags |= Flag.formerCascadeLinks }
        if origin != nil { flags |= Flag.isMoved }
        if assetBytes != nil || formerAssetBytes != nil { flags |= Flag.hasAssets }
        writer.varint(flags)
        writer.varint(type)
        writer.varint(modifier)
        writer.signedVarint(modified)
        if isUpdate || origin != nil {
            writer.varint(creator)
            writer.signedVarint(created)
        }
        if previous != .none { writer.varint(previous.rawValue) }
        if isUpdate { writer.varint(replacedLength) }
        writer.countedText(name)
        if let parent { writer.countedText(parent) }
        if let former = links.formerParent { writer.countedText(former) }
        if let former = links.formerCascadeLinks { CascadeLink.write(former, to: &writer) }
        if let origin {
            writer.varint(origin.zone)
            writer.varint(origin.version.rawValue)
        }
        if flags & Flag.hasAssets != 0 {
            writer.varint(assetBytes.map { $0 + 1 } ?? 0)
            writer.varint(formerAssetBytes.map { $0 + 1 } ?? 0)
        }
    }

    /// Reads the head and leaves the cursor at the field table. Makes no texts: every save and
    /// every opening passes here.
    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let flags = try cursor.varint32(bytes)
        guard flags & ~Flag.known == 0 else { throw .newer("flags") }
        type = try cursor.varint32(bytes)
        modifier = try cursor.varint32(bytes)
        modified = try cursor.signedVarint(bytes)
        guard modified.magnitude < 1 << 53 else { throw .value("modified") }
        isUpdate = flags & Flag.isUpdate != 0
        creator = modifier
        created = modified
        if flags & (Flag.isUpdate | Flag.isMoved) != 0 {
            creator = try cursor.varint32(bytes)
            created = try cursor.signedVarint(bytes)
            guard created.magnitude < 1 << 53 else { throw .value("created") }
        }
        previous = .none
        if flags & Flag.hasPrevious != 0 {
            previous = Version(rawValue: try cursor.varint(bytes))
        }
        if isUpdate { replacedLength = Int(try cursor.varint32(bytes)) }
        guard previous != .none || flags & (Flag.hasPrevious | Flag.isUpdate) == 0 else {
            throw .value("previous")
        }
        name = try cursor.range(bytes, count: cursor.count(bytes, upTo: 255))
        if flags & Flag.hasParent != 0 {
            parent = try cursor.range(bytes, count: cursor.count(bytes, upTo: 255))
        }
        if flags & ~(Flag.hasPrevious | Flag.isUpdate | Flag.hasParent) != 0 {
            try readLinks(flags, bytes, &cursor)
        }
    }

    private mutating func readLinks(
        _ flags: UInt32, _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        let changes = flags & (Flag.formerParent | Flag.formerCascadeLinks) != 0
        guard !changes || isUpdate else { throw .value("flags") }
        hasCascadeLinks = flags & Flag.hasCascadeLinks != 0
        if flags & Flag.formerParent != 0 {
            formerParent = try cursor.range(bytes, count: cursor.count(bytes, upTo: 255))
        }
        if flags & Flag.formerCascadeLinks != 0 {
            let start = cursor.position
            try CascadeLink.skip(bytes, &cursor)
            formerCascadeLinks = start..<cursor.position
        }
        if flags & Flag.isMoved != 0 {
            let zone = try cursor.varint32(bytes)
            origin = MoveOrigin(zone: zone, version: Version(rawValue: try cursor.varint(bytes)))
        }
        if flags & Flag.hasAssets != 0 { try readAssets(bytes, &cursor) }
        if flags & Flag.hasExtensions != 0 { try ExtensionBlock.skip(bytes, &cursor) }
    }

    private mutating func readAssets(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        let limit = AssetContent.lengthLimit
        let own = try cursor.count(bytes, upTo: limit)
        let former = try cursor.count(bytes, upTo: limit)
        guard own + former > 0, former == 0 || isUpdate else { throw .value("assets") }
        assetBytes = own == 0 ? nil : own - 1
        formerAssetBytes = former == 0 ? nil : former - 1
    }

    /// The record name, out of the bytes that the head was read from.
    func name(in bytes: Span<UInt8>) throws(FormatError) -> String {
        try Self.text(name, in: bytes)
    }

    /// The record name of the parent, out of the bytes that the head was read from.
    func parent(in bytes: Span<UInt8>) throws(FormatError) -> String? {
        guard let parent else { return nil }
        return try Self.text(parent, in: bytes)
    }

    private static func text(
        _ range: Range<Int>, in bytes: Span<UInt8>
    ) throws(FormatError) -> String {
        guard let text = bytes.text(in: range) else { throw .text }
        return text
    }
}

/// The fields of a record as they lie in its entry, all checked, decoded one at a time.
struct StoredFields: Sendable {
    /// The bytes of the entry, shared with it.
    let bytes: [UInt8]
    /// Where the field table begins behind its count, and where the values begin behind it.
    private let table: Int
    private let values: Int
    let count: Int
    /// Whether any of the fields is flagged as encrypted.
    let hasEncrypted: Bool
    /// Whether any of them is an asset, or a list of assets.
    let hasAssets: Bool
    let schema: Schema
    /// The greatest number of a field.
    private let greatest: UInt32?
    /// Where the bytes of assets are read.
    var assets: AssetStore?
    /// The fields that a fetch asked for; nil: all.
    var visible: Set<UInt32>?

    static let none = StoredFields()

    private init() {
        bytes = []
        table = 0
        values = 0
        count = 0
        hasEncrypted = false
        hasAssets = false
        schema = .empty
        greatest = nil
    }

    /// Checks the field table, which begins at `cursor`, and every value; the payload ends at `end`.
    /// Fails where any of it cannot be decoded, so that no field is taken for absent. Without a
    /// schema the numbers of the fields are not checked.
    init(
        _ bytes: [UInt8], at cursor: ByteCursor, end: Int, schema: Schema?
    ) throws(FormatError) {
        self.bytes = bytes
        self.schema = schema ?? .empty
        var cursor = cursor
        let span = bytes.span.extracting(0..<end)
        count = try cursor.count(span, upTo: cursor.remaining(span) / 3)
        table = cursor.position
        var length = 0
        var last: UInt32?
        var hasEncrypted = false
        var hasAssets = false
        for _ in 0..<count {
            let column = try FieldTable.next(span, &cursor)
            guard last.map({ $0 < column.number }) ?? true else { throw .value("field order") }
            last = column.number
            if column.kind.isEncrypted { hasEncrypted = true }
            if column.kind.element == .asset { hasAssets = true }
            length += column.length
            guard length <= end else { throw .truncated }
        }
        guard cursor.remaining(span) == length else { throw .value("length") }
        values = cursor.position
        self.hasEncrypted = hasEncrypted
        self.hasAssets = hasAssets
        greatest = last
        if let schema { try checkNumbers(schema) }
        var start = values
        cursor.position = table
        for _ in 0..<count {
            let column = try FieldTable.next(span, &cursor)
            try ValueFormat.check(span, in: start..<start + column.length, column.kind)
            start += column.length
        }
    }

    /// Whether every field has a name; their numbers rise.
    func checkNumbers(_ schema: Schema) throws(FormatError) {
        if let greatest, schema.name(greatest) == nil { throw .value("field number") }
    }

    /// One row of the field table, and where its value lies.
    struct Field {
        var number: UInt32
        var kind: FieldKind
        var range: Range<Int>
    }

    /// Gives `body` every visible field in order of number, until it returns false.
    func forEach(_ body: (Field) -> Bool) {
        guard count > 0 else { return }
        let span = bytes.span
        var cursor = ByteCursor(at: table)
        var start = values
        for _ in 0..<count {
            guard let column = try? FieldTable.next(span, &cursor) else { return }
            let range = start..<start + column.length
            start += column.length
            if let visible, !visible.contains(column.number) { continue }
            let field = Field(number: column.number, kind: column.kind, range: range)
            guard body(field) else { return }
        }
    }

    func field(_ number: UInt32) -> Field? {
        if let visible, !visible.contains(number) { return nil }
        let span = bytes.span
        var cursor = ByteCursor(at: table)
        var start = values
        for _ in 0..<count {
            guard let column = try? FieldTable.next(span, &cursor), column.number <= number
            else { return nil }
            if column.number == number {
                return Field(
                    number: number, kind: column.kind, range: start..<start + column.length)
            }
            start += column.length
        }
        return nil
    }

    /// Decodes a value, which was checked before.
    func value(_ field: Field, in zone: RecordZone.ID) -> RecordValue {
        do throws(FormatError) {
            return try ValueFormat.value(
                bytes, in: field.range, kind: field.kind, zone: zone, assets: assets)
        } catch {
            preconditionFailure("a value that was checked cannot be decoded: \(error)")
        }
    }
}

/// The rows of a field table: number, kind, length of the value.
enum FieldTable {
    @inline(__always)
    static func next(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> (number: UInt32, kind: FieldKind, length: Int) {
        let place = cursor.position
        if place + 4 <= bytes.count, let row = usual(bytes.uint32(at: place)),
            row.length <= bytes.count
        {
            cursor.position = place + row.size
            return (row.number, row.kind, row.length)
        }
        let number = try cursor.varint32(bytes)
        guard let kind = FieldKind(rawValue: try cursor.uint8(bytes)) else {
            throw .value("field kind")
        }
        return (number, kind, try cursor.count(bytes, upTo: bytes.count))
    }

    /// A row with a number of one byte and a length of one or two, out of its first four bytes:
    /// what every look at a field passes.
    @inline(__always)
    private static func usual(
        _ word: UInt32
    ) -> (number: UInt32, kind: FieldKind, length: Int, size: Int)? {
        guard word & 0x80 == 0,
            let kind = FieldKind(rawValue: UInt8(truncatingIfNeeded: word >> 8))
        else { return nil }
        let low = Int(word >> 16 & 0x7f)
        if word & 0x80_0000 == 0 { return (word & 0x7f, kind, low, 3) }
        let high = Int(word >> 24)
        guard 1..<0x80 ~= high else { return nil }
        return (word & 0x7f, kind, low | high << 7, 4)
    }

    static func write(
        number: UInt32, kind: FieldKind, length: Int, to writer: inout ByteWriter
    ) {
        writer.varint(number)
        writer.uint8(kind.rawValue)
        writer.varint(length)
    }
}
