internal import StratusBytes

/// The entries of a compacted segment that are compressed, read and verified together:
/// `Formats/Compacted.md`, "Blocks".
struct CompactedBlock: Sendable {
    /// Where a block lies, as the directory states it.
    struct Row: Equatable, Sendable {
        /// Of its first entry.
        var firstOffset: JournalOffset
        /// In bytes from the start of the file.
        var place: Int
        /// As stored, with its header.
        var length: Int
    }

    /// What stands of an entry before its payload.
    struct Entry {
        fileprivate static let hasTime: UInt8 = 1
        fileprivate static let hasVersion: UInt8 = 2
        fileprivate static let hasZone: UInt8 = 4
        fileprivate static let known: UInt8 = 7

        var offset: JournalOffset
        var header: FrameHeader
        var payload: Range<Int>
    }

    let row: Row
    /// Of the file.
    let number: UInt64
    private let raw: [UInt8]
    /// All entries stand before it.
    private let end: JournalOffset

    static let headerLength = 24
    static let rawLengthPlace = 8
    static let storedLengthPlace = 12
    static let firstOffsetPlace = 16
    /// A block that is as long as this takes no more entries.
    static let usualLength = 4096
    /// Behind this many bytes lies no entry: the longest, and what stands before it.
    static let rawLimit = FrameFormat.payloadLimit + 128

    /// Writes the block of these entries to `writer`, which holds what the file has from byte `begin` on.
    static func write(
        _ entries: ByteWriter, firstOffset: JournalOffset, salt: UInt64, behind begin: Int,
        to writer: inout ByteWriter
    ) {
        let start = writer.count
        let raw = entries.bytes.span
        // What saves less than a sixteenth is not worth the time that a read would need.
        let block = LZ4.compress(raw, most: raw.count - raw.count / 16 - 1)
        writer.uint64(0)
        writer.uint32(UInt32(raw.count))
        writer.uint32(UInt32(block?.count ?? raw.count))
        writer.uint64(firstOffset.rawValue)
        if let block { writer.append(block) } else { writer.append(raw) }
        let checksum = Checksum.xxh3(
            writer.bytes.span, in: start + 8..<writer.count,
            seed: CompactedHeader.seed(salt, begin + start))
        writer.set(checksum, at: start)
    }

    /// Appends an entry to the raw bytes of a block; `previous` is the offset of the one before.
    static func append(
        _ entry: JournalEntry, behind previous: JournalOffset, to raw: inout ByteWriter
    ) {
        let header = entry.header
        let isOriginal =
            header.version == Version(incarnation: 0, offset: entry.offset)
        var flags: UInt8 = 0
        if header.isLast { flags |= Entry.hasTime }
        if !isOriginal { flags |= Entry.hasVersion }
        if header.zone != 0 { flags |= Entry.hasZone }
        raw.varint(entry.offset.rawValue - previous.rawValue)
        raw.uint8(flags)
        raw.uint8(header.kind.rawValue)
        raw.varint(header.ordinal)
        raw.varint(header.payloadLength)
        if let time = header.commitTime { raw.int64(time) }
        if !isOriginal { raw.uint64(header.version.rawValue) }
        if header.zone != 0 { raw.varint(header.zone) }
        raw.uint64(header.payloadChecksum)
        entry.withPayload { raw.append($0) }
    }

    /// Verifies the bytes of the block at `row`, which begins at `start` of `bytes`, and unpacks
    /// them.
    init(
        _ bytes: [UInt8], from start: Int, at row: Row, of header: CompactedHeader
    ) throws(JournalError) {
        raw = try Self.unpack(
            bytes.span.extracting(start..<start + row.length), at: row, of: header)
        self.row = row
        number = header.number
        end = header.end
    }

    private static func unpack(
        _ bytes: Span<UInt8>, at row: Row, of header: CompactedHeader
    ) throws(JournalError) -> [UInt8] {
        guard
            Checksum.xxh3(
                bytes, in: 8..<bytes.count, seed: CompactedHeader.seed(header.salt, row.place))
                == bytes.uint64(at: 0)
        else { throw damage("checksum", at: row, of: header) }
        let length = Int(bytes.uint32(at: rawLengthPlace))
        let stored = Int(bytes.uint32(at: storedLengthPlace))
        guard length <= rawLimit, stored <= length, stored == row.length - headerLength,
            bytes.uint64(at: firstOffsetPlace) == row.firstOffset.rawValue
        else { throw damage("block", at: row, of: header) }
        let content = bytes.extracting(headerLength..<bytes.count)
        if stored == length { return content.array }
        guard let raw = LZ4.decompress(content, count: length) else {
            throw damage("compression", at: row, of: header)
        }
        return raw
    }

    private static func damage(
        _ field: StaticString, at row: Row, of header: CompactedHeader
    ) -> JournalError {
        JournalError(
            JournalDamage(
                .compacted(field), file: CompactedHeader.fileName(number: header.number),
                byte: row.place, offset: row.firstOffset))
    }

    /// All entries, in the order of their offsets, each verified.
    func entries() throws(JournalError) -> [JournalEntry] {
        var heads: [Entry] = []
        var cursor = ByteCursor()
        while let head = try next(&cursor, behind: heads.last?.offset) { heads.append(head) }
        var frames = Frames(heads, of: self)
        var entries: [JournalEntry] = []
        entries.reserveCapacity(heads.count)
        for head in heads { entries.append(try frames.next(head)) }
        return entries
    }

    /// The entries at `offsets`, which rise, each verified; nil where none is kept. What lies behind
    /// the last of them is not looked at.
    func entries(
        at offsets: some Collection<JournalOffset>
    ) throws(JournalError) -> [Result<JournalEntry?, JournalError>] {
        var heads: [Entry?] = []
        heads.reserveCapacity(offsets.count)
        var cursor = ByteCursor()
        var head = try next(&cursor, behind: nil)
        for offset in offsets {
            while let found = head, found.offset < offset {
                head = try next(&cursor, behind: found.offset)
            }
            heads.append(head?.offset == offset ? head : nil)
        }
        var frames = Frames(heads.lazy.compactMap(\.self), of: self)
        return heads.map { head in
            guard let head else { return .success(nil) }
            return Result { () throws(JournalError) in try frames.next(head) }
        }
    }

    /// The frames of some entries, one behind the other.
    private struct Frames {
        private let block: CompactedBlock
        private let bytes: [UInt8]
        private var place = 0

        init(_ heads: some Sequence<Entry>, of block: CompactedBlock) {
            var frames = ByteWriter(
                capacity: heads.reduce(0) { $0 + $1.header.frameLength })
            for head in heads {
                head.header.write(block.raw.span.extracting(head.payload), to: &frames)
            }
            self.block = block
            bytes = frames.bytes
        }

        /// The entry of the next frame, whose head is given, verified.
        mutating func next(_ head: Entry) throws(JournalError) -> JournalEntry {
            defer { place += head.header.frameLength }
            do throws(FrameFault) {
                try head.header.verifyPayload(bytes.span, at: place)
            } catch {
                throw block.damage(.frame(error), at: head.offset)
            }
            return JournalEntry(
                offset: head.offset, header: head.header,
                source: .block(block.number, block.row.place), place: place, bytes: bytes)
        }
    }

    /// What stands before the next payload; nil behind the last one. The first entry stands at the offset
    /// of the block, the others behind it, and all before the end of the segment.
    private func next(
        _ cursor: inout ByteCursor, behind previous: JournalOffset?
    ) throws(JournalError) -> Entry? {
        let span = raw.span
        if previous != nil, cursor.remaining(span) == 0 { return nil }
        do throws(FormatError) {
            let entry = try Self.entry(span, &cursor, behind: previous ?? row.firstOffset)
            guard (entry.offset == row.firstOffset) == (previous == nil), entry.offset < end,
                entry.offset != previous
            else { throw .value("offset") }
            return entry
        } catch {
            if case .newer(let what) = error { throw damage(.newerPart(what), at: row.firstOffset) }
            throw damage(.compacted("entry"), at: row.firstOffset)
        }
    }

    private static func entry(
        _ span: Span<UInt8>, _ cursor: inout ByteCursor, behind previous: JournalOffset
    ) throws(FormatError) -> Entry {
        let (sum, overflow) = previous.rawValue.addingReportingOverflow(try cursor.varint(span))
        guard !overflow, sum < JournalOffset.limit else { throw .value("offset") }
        let offset = JournalOffset(rawValue: sum)
        let flags = try cursor.uint8(span)
        guard flags & ~Entry.known == 0 else { throw .newer("flags") }
        let kind = EntryKind(rawValue: try cursor.uint8(span))
        let ordinal = try cursor.varint32(span)
        let length = try cursor.count(span, upTo: FrameFormat.payloadLimit)
        let time = flags & Entry.hasTime == 0 ? nil : try cursor.int64(span)
        let version =
            flags & Entry.hasVersion == 0
            ? Version(incarnation: 0, offset: offset)
            : Version(rawValue: try cursor.uint64(span))
        let zone = flags & Entry.hasZone == 0 ? 0 : try cursor.varint32(span)
        guard kind.isEntry, ordinal < 1 << 31, version.offset > .zero else {
            throw .value("header")
        }
        let checksum = try cursor.uint64(span)
        let header = FrameHeader(
            kind: kind, zone: zone, version: version, payloadLength: length, ordinal: ordinal,
            commitTime: time, payloadChecksum: checksum)
        return Entry(
            offset: offset, header: header, payload: try cursor.range(span, count: length))
    }

    private func damage(_ kind: JournalDamage.Kind, at offset: JournalOffset) -> JournalError {
        JournalError(
            JournalDamage(
                kind, file: CompactedHeader.fileName(number: number), byte: row.place,
                offset: offset))
    }
}

extension CompactedBlock.Row {
    /// The row at `place` of a piece of the directory.
    init(_ piece: Span<UInt8>, at place: Int) {
        firstOffset = JournalOffset(rawValue: piece.uint64(at: place))
        self.place = Int(piece.uint32(at: place + 8))
        length = Int(piece.uint32(at: place + 12))
    }
}
