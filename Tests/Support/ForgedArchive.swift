internal import StratusBytes

/// An archive whose checksums and digests are right, whatever it says: `Formats/Backup.md`.
package struct ForgedArchive {
    /// Of the head.
    package var number: UInt64 = 1
    package var version: UInt16 = 1
    package var reserved: UInt32 = 0
    /// Of the base; 0: there is none.
    package var base: UInt64 = 0
    package var start: UInt64 = 0
    package var end: UInt64 = 0
    package var floor: UInt64 = 0
    package var incarnation: UInt16 = 0
    package var flags: UInt8 = 0
    package var reservedOfTable: UInt8 = 0
    /// Each with the number of its items before them.
    package var zones: [UInt8] = [0]
    package var selection: [UInt8] = [0]
    package var files: [UInt8] = [0]
    package var parts: [UInt8] = [0]
    /// What the parts hold.
    package var content: [UInt8] = []
    /// Added to what the foot states of the table.
    package var placeError: Int = 0
    package var lengthError: Int = 0
    /// Of an archive that was read: the fields before the zones.
    private var fields: [UInt8]?
    private var headID: [UInt8]?

    private static let headLength = 64
    private static let fieldsLength = 96

    package init() {}

    /// What an archive says that is whole; it can then be changed.
    package init(_ archive: [UInt8]) throws {
        let span = archive.span
        let place = Int(span.uint64(at: archive.count - 16))
        headID = Array(archive[16..<32])
        content = Array(archive[Self.headLength..<place])
        fields = Array(archive[place..<place + Self.fieldsLength])
        var cursor = ByteCursor(at: place + Self.fieldsLength)
        let zonesPlace = cursor.position
        for _ in 0..<(try cursor.varint(span)) {
            _ = try cursor.text(span, upTo: 255)
            _ = try cursor.text(span, upTo: 255)
            _ = try cursor.varint(span)
            if try cursor.uint8(span) == 1 {
                _ = try cursor.varint(span)
                _ = try cursor.range(span, count: 32)
            }
        }
        let selectionPlace = cursor.position
        for _ in 0..<(try cursor.varint(span)) * 2 { _ = try cursor.text(span, upTo: 255) }
        let filesPlace = cursor.position
        for _ in 0..<(try cursor.varint(span)) {
            _ = try cursor.text(span, upTo: 255)
            _ = try cursor.varint(span)
        }
        zones = Array(archive[zonesPlace..<selectionPlace])
        selection = Array(archive[selectionPlace..<filesPlace])
        files = Array(archive[filesPlace..<cursor.position])
        parts = Array(archive[cursor.position..<archive.count - Self.headLength])
    }

    /// So many items, each as `item` encodes it.
    package static func items(
        _ count: Int, stated: UInt64? = nil, _ item: (Int, inout ForgedItem) -> Void = { _, _ in }
    ) -> [UInt8] {
        var all = ForgedItem()
        all.number(stated ?? UInt64(count))
        for number in 0..<count { item(number, &all) }
        return all.bytes
    }

    /// The parts of `files` as they are, with the digests of what the content is now.
    package mutating func signParts() throws {
        var signed = ForgedItem()
        var cursor = ByteCursor()
        let count = try cursor.varint(parts.span)
        signed.number(count)
        var place = 0
        for _ in 0..<count {
            for _ in 0..<2 { signed.number(try cursor.varint(parts.span)) }
            let length = Int(try cursor.varint(parts.span))
            signed.number(UInt64(length))
            _ = try cursor.range(parts.span, count: 32)
            signed.digest(of: Array(content[place..<place + length]))
            place += length
        }
        parts = signed.bytes
    }

    package var bytes: [UInt8] {
        var head = ByteWriter()
        head.append([0x89, 0x53, 0x54, 0x42, 0x0d, 0x0a, 0x1a, 0x0a])
        head.uint16(version)
        head.uint16(version)
        head.uint32(reserved)
        let id = headID ?? Self.id(number)
        head.append(id)
        head.zeros(24)
        head.uint64(Checksum.xxh3(head.bytes.span))
        let table = (fields ?? statedFields) + zones + selection + files + parts
        var foot = ByteWriter()
        foot.append(SHA256.hash(head.bytes + table))
        foot.append(id)
        foot.uint64(UInt64(bitPattern: Int64(Self.headLength + content.count + placeError)))
        foot.uint64(UInt64(bitPattern: Int64(table.count + lengthError)))
        return head.bytes + content + table + foot.bytes
    }

    private var statedFields: [UInt8] {
        var writer = ByteWriter()
        writer.append(base == 0 ? [UInt8](repeating: 0, count: 16) : Self.id(base))
        writer.append(Self.id(99))
        writer.uint64(3)
        writer.uint64(start)
        writer.uint64(end)
        writer.uint64(floor)
        writer.zeros(24)
        writer.uint16(incarnation)
        writer.uint8(flags)
        writer.uint8(reservedOfTable)
        writer.zeros(4)
        return writer.bytes
    }

    private static func id(_ number: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.hash(Hash128(high: 1, low: number))
        return writer.bytes
    }
}

/// An item of a table.
package struct ForgedItem {
    private var writer = ByteWriter()

    package var bytes: [UInt8] { writer.bytes }

    package init() {}

    package mutating func number(_ value: UInt64) { writer.varint(value) }

    package mutating func text(_ text: String) { writer.countedText(text) }

    package mutating func digest(of bytes: [UInt8]) { writer.append(SHA256.hash(bytes)) }

    package mutating func file(_ name: String, length: UInt64) {
        text(name)
        number(length)
    }

    /// A part that holds `bytes`, or says that it is `length` long.
    package mutating func part(
        ofFile file: UInt64 = 0, at place: UInt64 = 0, _ bytes: [UInt8], length: UInt64? = nil
    ) {
        number(file)
        number(place)
        number(length ?? UInt64(bytes.count))
        digest(of: bytes)
    }

    /// What zones hold is not stated.
    package mutating func zone(_ name: String, of owner: String = "", records: UInt64 = 0) {
        text(owner)
        text(name)
        number(records)
        number(0)
    }
}

extension ForgedArchive {
    private static let chunkMagic: [UInt8] = [0x89, 0x53, 0x54, 0x43, 0x0d, 0x0a, 0x1a, 0x0a]

    /// Exchanges the bytes of the chunk that is `old`, stored as it is, for as many others; header and
    /// checksums fit, but the address is that of the old ones (`Formats/Assets.md`).
    ///
    /// - Returns: whether there is such a chunk.
    package mutating func exchangeChunk(_ old: [UInt8], _ new: [UInt8]) throws -> Bool {
        let headerLength = 80
        let segments = places(of: Self.chunkMagic)
        for found in places(of: old) where found > headerLength && old.count == new.count {
            let frame = found - headerLength
            guard let segment = segments.last(where: { $0 < frame }) else { continue }
            let seed = content.span.uint64(at: segment + 40) &+ UInt64(frame - segment)
            let header = Checksum.xxh3(content.span, in: frame + 8..<found, seed: seed)
            guard header == content.span.uint64(at: frame) else { continue }
            var rest = ByteWriter()
            rest.uint64(Checksum.xxh3(new.span))
            rest.append(Array(content[frame + 16..<found]))
            var sum = ByteWriter()
            sum.uint64(Checksum.xxh3(rest.bytes.span, in: 0..<rest.count, seed: seed))
            content.replaceSubrange(frame..<found + new.count, with: sum.bytes + rest.bytes + new)
            try signParts()
            return true
        }
        return false
    }

    private func places(of bytes: [UInt8]) -> [Int] {
        content.indices.dropLast(bytes.count - 1).filter { place in
            content[place] == bytes[0] && content[place..<place + bytes.count].elementsEqual(bytes)
        }
    }
}
