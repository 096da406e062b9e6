internal import StratusBytes

/// The first 64 bytes of an archive: `Formats/Backup.md`, "Head".
struct ArchiveHead: Equatable, Sendable {
    /// Drawn for each archive.
    var archiveID: Hash128

    static let length = 64
    static let version: UInt16 = 1
    static let magic: [UInt8] = [0x89, 0x53, 0x54, 0x42, 0x0d, 0x0a, 0x1a, 0x0a]
    private static let checksumPlace = 56

    init(archiveID: Hash128) { self.archiveID = archiveID }

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: Self.length)
        writer.append(Self.magic)
        writer.uint16(Self.version)
        writer.uint16(Self.version)
        writer.uint32(0)
        writer.hash(archiveID)
        writer.zeros(Self.checksumPlace - writer.count)
        writer.uint64(Checksum.xxh3(writer.bytes.span))
        return writer.bytes
    }

    init(_ bytes: Span<UInt8>, file: String) throws(ArchiveDamage) {
        func damage(_ name: ArchiveDamage.StaticName, _ byte: Int = 0) -> ArchiveDamage {
            ArchiveDamage(.archive(name), file: file, byte: byte)
        }
        guard bytes.count >= Self.length else { throw damage(.length, bytes.count) }
        guard bytes.extracting(0..<8).equals(Self.magic) else { throw damage(.magic) }
        guard
            Checksum.xxh3(bytes, in: 0..<Self.checksumPlace) == bytes.uint64(at: Self.checksumPlace)
        else { throw damage(.checksum) }
        guard bytes.uint16(at: 10) <= Self.version else {
            throw ArchiveDamage(.newerFormat(bytes.uint16(at: 10)), file: file, byte: 10)
        }
        guard bytes.isZero(in: 12..<16), bytes.isZero(in: 32..<Self.checksumPlace) else {
            throw damage(.reserved, 12)
        }
        archiveID = Hash128(high: bytes.uint64(at: 16), low: bytes.uint64(at: 24))
    }
}

/// The last 64 bytes of an archive: `Formats/Backup.md`, "Foot".
struct ArchiveFoot: Equatable, Sendable {
    var archiveID: Hash128
    /// Where the table lies, and its length, in bytes.
    var tablePlace: Int
    var tableLength: Int
    /// SHA-256 over the head and the table.
    var digest: [UInt8]

    static let length = 64

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: Self.length)
        writer.append(digest)
        writer.hash(archiveID)
        writer.uint64(UInt64(tablePlace))
        writer.uint64(UInt64(tableLength))
        return writer.bytes
    }

    /// Decodes the last bytes of a file of `length` bytes; nil where they do not fit it.
    init?(_ bytes: Span<UInt8>, ofFile length: Int) {
        guard bytes.count == Self.length else { return nil }
        digest = bytes.array(in: 0..<32)
        archiveID = Hash128(high: bytes.uint64(at: 32), low: bytes.uint64(at: 40))
        let (place, count) = (bytes.uint64(at: 48), bytes.uint64(at: 56))
        guard count <= UInt64(ArchiveTable.lengthLimit), place >= UInt64(ArchiveHead.length),
            place <= UInt64(length),
            UInt64(length) - place == count + UInt64(Self.length)
        else { return nil }
        (tablePlace, tableLength) = (Int(place), Int(count))
    }

    init(archiveID: Hash128, tablePlace: Int, tableLength: Int, digest: [UInt8]) {
        self.archiveID = archiveID
        self.tablePlace = tablePlace
        self.tableLength = tableLength
        self.digest = digest
    }
}
