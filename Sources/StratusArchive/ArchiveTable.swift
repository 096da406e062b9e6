package import StratusBytes

/// What an archive holds: `Formats/Archive.md`, "Table".
package struct ArchiveTable: Equatable, Sendable {
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
    package struct File: Hashable, Sendable {
        package var name: String
        /// In bytes.
        package var length: Int
    }

    /// Bytes of a file. The parts lie one behind the other in the archive, from the head on.
    package struct Part: Hashable, Sendable {
        /// The number of the file in the table.
        package var file: Int
        package var place: Int
        package var length: Int
        /// SHA-256 of the bytes.
        package var digest: [UInt8]
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
    package var zones: [Zone] = []
    /// Empty: the whole store.
    package var selection: [Selected] = []
    package internal(set) var files: [File] = []
    package internal(set) var parts: [Part] = []

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
    static let partLimit = 1 << 20
    private static let nameLimit = 255
    static let fileLimit = 1 << 20
    /// A chunk segment's.
    private static let fileLengthLimit = 1 << 40
    private static let offsetLimit: UInt64 = 1 << 52

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 256 + parts.count * 40)
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
        writer.varint(zones.count)
        for zone in zones {
            writer.countedText(zone.owner)
            writer.countedText(zone.name)
            writer.varint(zone.recordCount)
            writer.uint8(zone.content == nil ? 0 : 1)
            if let content = zone.content {
                writer.varint(content.recordCount)
                writer.append(content.sum)
            }
        }
        writer.varint(selection.count)
        for selected in selection {
            writer.countedText(selected.owner)
            writer.countedText(selected.zone)
        }
        writer.varint(files.count)
        for file in files {
            writer.countedText(file.name)
            writer.varint(file.length)
        }
        writer.varint(parts.count)
        for part in parts {
            writer.varint(part.file)
            writer.varint(part.place)
            writer.varint(part.length)
            writer.append(part.digest)
        }
        return writer.bytes
    }

    /// Decodes and checks a table. Nothing of it is believed before, and what is allocated is bounded
    /// by its length.
    init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
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
        guard bytes.isZero(in: reserved), incarnation < 1 << 12,
            start <= end, floor <= end, end < Self.offsetLimit, baseID != nil || start == 0
        else { throw .value("table") }
        try readZones(bytes, &cursor)
        try readSelection(bytes, &cursor)
        try readFiles(bytes, &cursor)
        try readParts(bytes, &cursor)
        try cursor.end(bytes)
    }

    private mutating func readZones(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        for _ in 0..<(try cursor.count(bytes, upTo: bytes.count / 4)) {
            let owner = try cursor.text(bytes, upTo: Self.nameLimit)
            let name = try cursor.text(bytes, upTo: Self.nameLimit)
            let count = try cursor.count(bytes, upTo: Int(Self.offsetLimit))
            let flag = try cursor.uint8(bytes)
            guard flag < 2 else { throw .newer("flags") }
            var content: Content?
            if flag == 1 {
                let counted = try cursor.count(bytes, upTo: count)
                let sum = bytes.array(in: try cursor.range(bytes, count: 32))
                content = Content(recordCount: counted, sum: sum)
            }
            zones.append(Zone(owner: owner, name: name, recordCount: count, content: content))
        }
    }

    /// Each item stands once, in their order.
    private mutating func readSelection(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        for _ in 0..<(try cursor.count(bytes, upTo: bytes.count / 2)) {
            let selected = Selected(
                owner: try cursor.text(bytes, upTo: Self.nameLimit),
                zone: try cursor.text(bytes, upTo: Self.nameLimit))
            guard selected.isValid, selection.last?.precedes(selected) ?? true else {
                throw .value("table")
            }
            selection.append(selected)
        }
    }

    private mutating func readFiles(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        var names: Set<String> = []
        for _ in 0..<(try cursor.count(bytes, upTo: min(Self.fileLimit, bytes.count / 2))) {
            let name = try cursor.text(bytes, upTo: Self.nameLimit)
            let length = try cursor.count(bytes, upTo: Self.fileLengthLimit)
            guard Self.isName(name), names.insert(name).inserted else { throw .value("table") }
            files.append(File(name: name, length: length))
        }
    }

    /// The parts of a file follow each other, in the order of their places.
    private mutating func readParts(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        for _ in 0..<(try cursor.count(bytes, upTo: bytes.count / 35)) {
            let file = try cursor.count(bytes, upTo: files.count)
            let place = try cursor.count(bytes, upTo: Self.fileLengthLimit)
            let length = try cursor.count(bytes, upTo: Self.partLimit)
            let digest = bytes.array(in: try cursor.range(bytes, count: 32))
            guard file < files.count, length > 0, place + length <= files[file].length else {
                throw .value("table")
            }
            if let last = parts.last {
                guard file == last.file ? place >= last.place + last.length : file == last.file + 1
                else { throw .value("table") }
            } else if file != 0 {
                throw .value("table")
            }
            parts.append(Part(file: file, place: place, length: length, digest: digest))
        }
        guard files.isEmpty || parts.last?.file == files.count - 1 else { throw .value("table") }
    }

    /// Names of a store's files, and nothing else: none leads out of a directory.
    static func isName(_ name: String) -> Bool {
        ["manifest-", "compacted-", "chunks-"].contains { prefix in
            name.hasPrefix(prefix) && Hex.number(name.dropFirst(prefix.utf8.count)) != nil
        }
    }

    /// Of all parts, in bytes.
    package var contentLength: Int { parts.reduce(0) { $0 + $1.length } }
}
