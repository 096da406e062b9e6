package import StratusBytes

/// What an archive says of itself: `Formats/Backup.md`, "Table". Zones, files and parts, of which there
/// may be very many, are not held: they are read from the file one after the other.
package struct ArchiveTable: Sendable {
    /// A zone of the store as it was.
    package struct Zone: Hashable, Sendable {
        /// The user record name of the owner of its database; empty: the public one.
        package var owner: String
        package var name: String
        package var recordCount: Int
        /// What its content hash is made of; nil where it was not computed.
        package var content: Content?

        package init(owner: String, name: String, recordCount: Int, content: Content?) {
            self.owner = owner
            self.name = name
            self.recordCount = recordCount
            self.content = content
        }
    }

    /// The content of a zone: `Formats/Hash.md`, "Layout". What it becomes is told from it by
    /// what changes, which cannot be said of the hash.
    package struct Content: Hashable, Sendable {
        /// How many records count.
        package var recordCount: Int
        /// Of their digests: 32 bytes.
        package var sum: [UInt8]

        package init(recordCount: Int, sum: [UInt8]) {
            self.recordCount = recordCount
            self.sum = sum
        }
    }

    /// What an archive of some zones has: one of them, or all of a database.
    package struct Selected: Hashable, Sendable {
        /// The user record name of the owner; empty: the public database.
        package var owner: String
        /// Empty: all zones of the database.
        package var zone: String

        package init(owner: String, zone: String) {
            self.owner = owner
            self.zone = zone
        }

        /// The order in a table: byte by byte, of the owner and then of the zone.
        package func precedes(_ other: Selected) -> Bool {
            owner == other.owner
                ? zone.utf8.lexicographicallyPrecedes(other.zone.utf8)
                : owner.utf8.lexicographicallyPrecedes(other.owner.utf8)
        }

        /// Whether the owner is none, or looks like one.
        fileprivate var isValid: Bool {
            let isUser =
                owner.hasPrefix("_") && Hash128(hexDigits: String(owner.dropFirst())) != nil
            return owner.isEmpty || isUser
        }
    }

    /// A file of the store. What no part holds of it reads as zero.
    struct File: Sendable {
        var name: String
        /// In bytes.
        var length: Int
    }

    /// Bytes of a file. The parts lie one behind the other in the archive, from the head on.
    struct Part: Sendable {
        /// The number of the file in the table.
        var file: Int
        var place: Int
        var length: Int
        /// SHA-256 of the bytes.
        var digest: [UInt8]
    }

    /// Nil: the archive is full. Otherwise the one that it goes on from.
    package var baseID: Hash128?
    package var storeID: Hash128
    package var lineage: UInt64
    package var incarnation: UInt16
    /// Whether every state from `floor` on can be restored; otherwise only the one at `end`.
    package var keepsHistory: Bool
    /// The range of the journal that is here, as offsets; a full archive begins at 0.
    package var start: UInt64
    package var end: UInt64
    package var floor: UInt64
    /// The chain of the journal at `end`.
    package var chain: UInt64
    /// Of the last commit, and of the archive itself, in microseconds since 1970.
    package var lastTime: Int64
    package var made: Int64
    /// Empty: the whole store.
    package var selection: [Selected] = []
    package private(set) var zoneCount = 0
    /// Of all zones together.
    package private(set) var recordCount = 0
    /// Whether there are zones, and the content of each is stated.
    package private(set) var statesContents = false
    /// Where the first zone, and the number of files, lie in the table, in bytes.
    private(set) var zonesPlace = 0
    private(set) var filesPlace = 0

    package init(
        baseID: Hash128?, storeID: Hash128, lineage: UInt64, incarnation: UInt16,
        keepsHistory: Bool, start: UInt64, end: UInt64, floor: UInt64, chain: UInt64,
        lastTime: Int64, made: Int64
    ) {
        self.baseID = baseID
        self.storeID = storeID
        self.lineage = lineage
        self.incarnation = incarnation
        self.keepsHistory = keepsHistory
        self.start = start
        self.end = end
        self.floor = floor
        self.chain = chain
        self.lastTime = lastTime
        self.made = made
    }

    /// Of an encoded table, in bytes.
    package static let lengthLimit = 256 << 20
    package static let zoneLimit = 1 << 21
    package static let selectionLimit = 1 << 12
    /// The incarnation of a store is less: 12 bits of a version are its own.
    package static let incarnationLimit: UInt16 = 1 << 12
    /// Of the file of a manifest, which is read whole, in bytes.
    static let manifestLimit = 12 << 20
    static let partLimit = 1 << 20
    fileprivate static let nameLimit = 255
    /// A chunk segment's.
    fileprivate static let fileLengthLimit = 1 << 40
    fileprivate static let offsetLimit: UInt64 = 1 << 52

    /// What comes before the zones.
    func encodedHead() -> [UInt8] {
        var writer = ByteWriter(capacity: 96)
        writer.hash(baseID ?? Hash128(high: 0, low: 0))
        writer.hash(storeID)
        writer.uint64(lineage)
        writer.uint64(start)
        writer.uint64(end)
        writer.uint64(floor)
        writer.uint64(chain)
        writer.int64(lastTime)
        writer.int64(made)
        writer.uint16(incarnation)
        writer.uint8(keepsHistory ? 1 : 0)
        writer.zeros(5)
        return writer.bytes
    }

    func encodedSelection() -> [UInt8] {
        var writer = ByteWriter(capacity: 16)
        writer.varint(selection.count)
        for selected in selection {
            writer.countedText(selected.owner)
            writer.countedText(selected.zone)
        }
        return writer.bytes
    }

    /// Decodes and checks a table up to where its files begin. The number of what follows is never
    /// believed, and what is held has a limit.
    init(_ reader: inout TableReader) throws {
        self = try reader.next(Self.init(head:_:))
        zoneCount = try reader.count(upTo: Self.zoneLimit, ofAtLeast: 4)
        zonesPlace = reader.place
        statesContents = zoneCount > 0
        for _ in 0..<zoneCount {
            let zone = try reader.next(Zone.init)
            recordCount += zone.recordCount
            if zone.content == nil { statesContents = false }
            guard recordCount <= Int(Self.offsetLimit) else { throw reader.damage }
        }
        for _ in 0..<(try reader.count(upTo: Self.selectionLimit, ofAtLeast: 2)) {
            // Each item stands once, in their order.
            let selected = try reader.next(Selected.init)
            guard selected.isValid, selection.last?.precedes(selected) ?? true else {
                throw reader.damage
            }
            selection.append(selected)
        }
        filesPlace = reader.place
    }

    private init(head bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let base = try cursor.hash(bytes)
        baseID = base == Hash128(high: 0, low: 0) ? nil : base
        storeID = try cursor.hash(bytes)
        lineage = try cursor.uint64(bytes)
        start = try cursor.uint64(bytes)
        end = try cursor.uint64(bytes)
        floor = try cursor.uint64(bytes)
        chain = try cursor.uint64(bytes)
        lastTime = try cursor.int64(bytes)
        made = try cursor.int64(bytes)
        incarnation = try cursor.uint16(bytes)
        let flags = try cursor.uint8(bytes)
        keepsHistory = flags == 1
        let reserved = try cursor.range(bytes, count: 5)
        guard flags < 2 else { throw .newer("flags") }
        guard bytes.isZero(in: reserved), incarnation < Self.incarnationLimit,
            start <= end, floor <= end, end < Self.offsetLimit, baseID != nil || start == 0
        else { throw .value("table") }
    }
}

extension ArchiveTable.Zone {
    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        owner = try cursor.text(bytes, upTo: ArchiveTable.nameLimit)
        name = try cursor.text(bytes, upTo: ArchiveTable.nameLimit)
        recordCount = try cursor.count(bytes, upTo: Int(ArchiveTable.offsetLimit))
        let flag = try cursor.uint8(bytes)
        guard flag < 2 else { throw .newer("flags") }
        if flag == 0 { return }
        let counted = try cursor.count(bytes, upTo: recordCount)
        let sum = bytes.array(in: try cursor.range(bytes, count: 32))
        content = ArchiveTable.Content(recordCount: counted, sum: sum)
    }

    func write(to writer: inout ByteWriter) {
        writer.countedText(owner)
        writer.countedText(name)
        writer.varint(recordCount)
        writer.uint8(content == nil ? 0 : 1)
        guard let content else { return }
        writer.varint(content.recordCount)
        writer.append(content.sum)
    }
}

extension ArchiveTable.Selected {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        owner = try cursor.text(bytes, upTo: ArchiveTable.nameLimit)
        zone = try cursor.text(bytes, upTo: ArchiveTable.nameLimit)
    }
}

// What the files are made of.
extension ArchiveTable {
    static func files(_ reader: inout TableReader) throws -> [File] {
        var (files, names) = ([File](), Set<String>())
        for _ in 0..<(try reader.count(upTo: ArchiveTotals.limit.files, ofAtLeast: 2)) {
            let file = try reader.next { bytes, cursor throws(FormatError) in
                File(
                    name: try cursor.text(bytes, upTo: nameLimit),
                    length: try cursor.count(bytes, upTo: fileLengthLimit))
            }
            guard isName(file.name), file.isReadable, names.insert(file.name).inserted else {
                throw reader.damage
            }
            files.append(file)
        }
        return files
    }

    static func partCount(_ reader: inout TableReader) throws -> Int {
        try reader.count(upTo: ArchiveTotals.limit.parts, ofAtLeast: 35)
    }

    /// Gives `body` the parts of `files`, each of which has at least one. The parts of a file follow each
    /// other, in the order of their places.
    static func forEachPart(
        of files: [File], count: Int, _ reader: inout TableReader, _ body: (Part) throws -> Void
    ) throws {
        var (file, end) = (-1, 0)
        for _ in 0..<count {
            let part = try reader.next(Part.init)
            let isFirst = part.file == file + 1
            guard isFirst || part.file == file && part.place >= end, part.file < files.count,
                part.length > 0, part.place + part.length <= files[part.file].length
            else { throw reader.damage }
            (file, end) = (part.file, part.place + part.length)
            try body(part)
        }
        guard file == files.count - 1 else { throw reader.damage }
    }

    /// Names of a store's files, and nothing else: none leads out of a directory.
    static func isName(_ name: String) -> Bool {
        ["manifest-", "compacted-", "chunks-"].contains { prefix in
            name.hasPrefix(prefix) && Hex.number(name.dropFirst(prefix.utf8.count)) != nil
        }
    }
}

extension ArchiveTable.File {
    private static let manifestPrefix = "manifest-"

    /// Whether a reader takes a file of this length.
    var isReadable: Bool {
        !name.hasPrefix(Self.manifestPrefix) || length <= ArchiveTable.manifestLimit
    }

    func write(to writer: inout ByteWriter) {
        writer.countedText(name)
        writer.varint(length)
    }
}

extension ArchiveTable.Part {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        file = try cursor.count(bytes, upTo: ArchiveTotals.limit.files)
        place = try cursor.count(bytes, upTo: ArchiveTable.fileLengthLimit)
        length = try cursor.count(bytes, upTo: ArchiveTable.partLimit)
        digest = bytes.array(in: try cursor.range(bytes, count: 32))
    }

    func write(to writer: inout ByteWriter) {
        writer.varint(file)
        writer.varint(place)
        writer.varint(length)
        writer.append(digest)
    }
}
