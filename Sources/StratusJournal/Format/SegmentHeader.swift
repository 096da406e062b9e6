package import StratusBytes

/// Which store: drawn at random when it is made.
package struct StoreID: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

extension StoreID {
    /// As all files have it: two 8-byte numbers, the high one first.
    package init(_ bytes: Span<UInt8>, at place: Int) {
        self.init(high: bytes.uint64(at: place), low: bytes.uint64(at: place + 8))
    }

    package func write(to writer: inout ByteWriter) {
        writer.uint64(high)
        writer.uint64(low)
    }
}

extension StoreID: CustomStringConvertible {
    /// 32 hexadecimal digits.
    package var description: String { Hex.encode(high) + Hex.encode(low) }
}

/// Versions of the formats of journal and manifest.
package enum JournalVersion {
    /// What this code writes, and the newest it reads.
    package static let current: UInt16 = 1

    /// What every file of the journal begins with: the magic, and which version wrote it and which
    /// may read it.
    static func begin(_ writer: inout ByteWriter, _ magic: [UInt8]) {
        writer.append(magic)
        writer.uint16(current)
        writer.uint16(current)
    }
}

/// The first 4,096 bytes of a segment: `Formats/Journal.md`, "Segments".
package struct SegmentHeader: Equatable, Sendable {
    /// Of the store when the segment was made: a manifest can be made of it anew.
    package var identity: StoreIdentity
    /// Where the segment begins, this header included.
    package var base: JournalOffset
    /// Of the file, and of the range of offsets that is the segment's own.
    package var lengthInBytes: Int
    /// Drawn for each life of a file: frames of another one are not taken for frames of this.
    package var salt: UInt64
    package var epoch: UInt32
    /// The segment before: where it begins and where it ended; both 0 for the first one.
    package var predecessorBase: JournalOffset
    package var predecessorEnd: JournalOffset
    /// The chain over all groups of the segments before.
    package var chain: UInt64
    /// Microseconds since 1970.
    package var created: Int64

    /// How the entries of a segment lie.
    private enum Layout {
        /// In the order in which they were written, each at its offset.
        static let appended: UInt32 = 1
    }

    /// A preamble has at most one of so many parts of its segment.
    package static let preambleShare = 64

    /// Of the payload of a preamble, in a segment of that length in bytes.
    package static func preambleLimit(ofLength length: Int) -> Int { length / preambleShare }

    /// Of a file, in bytes.
    package static let leastLength = 16 << 10
    package static let greatestLength = 256 << 20
    /// The header fills what a file system writes at once, so that no later write touches it.
    package static let length = 4096
    private static let checksumPlace = length - 8
    private static let featuresPlace = 96
    static let saltPlace = 48
    /// A changed first byte or line ending shows that a file was treated as text.
    static let magic: [UInt8] = [0x89, 0x53, 0x54, 0x4a, 0x0d, 0x0a, 0x1a, 0x0a]

    static let filePrefix = "journal-"

    package static func fileName(base: JournalOffset) -> String {
        filePrefix + Hex.encode(base.rawValue)
    }

    /// The base that a file's name states, or nil where it is no segment's name.
    static func base(ofFile name: String) -> JournalOffset? {
        guard name.hasPrefix(filePrefix), let number = Hex.number(name.dropFirst(filePrefix.count))
        else { return nil }
        return JournalOffset(rawValue: number)
    }

    package var fileName: String { Self.fileName(base: base) }
    /// Where the range of offsets ends that is the segment's own.
    var limit: JournalOffset { base.advanced(byBytes: lengthInBytes) }

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: Self.length)
        JournalVersion.begin(&writer, Self.magic)
        writer.uint32(UInt32(Self.length))
        identity.storeID.write(to: &writer)
        writer.uint64(base.rawValue)
        writer.uint64(UInt64(lengthInBytes))
        writer.uint64(salt)
        writer.uint32(epoch)
        writer.uint32(Layout.appended)
        writer.uint64(predecessorBase.rawValue)
        writer.uint64(predecessorEnd.rawValue)
        writer.uint64(chain)
        writer.int64(created)
        FeatureSet().write(to: &writer)
        identity.write(to: &writer)
        writer.zeros(Self.checksumPlace - writer.count)
        writer.uint64(Checksum.xxh3(writer.bytes.span))
        return writer.bytes
    }

    /// Decodes and verifies the first 4,096 bytes of the file `name`.
    package init(_ bytes: [UInt8], file name: String) throws(JournalDamage) {
        let span = bytes.span
        func damage(_ kind: JournalDamage.Kind, _ byte: Int) -> JournalDamage {
            JournalDamage(kind, file: name, byte: byte)
        }
        guard bytes.count == Self.length else {
            throw damage(.segmentHeader("length"), bytes.count)
        }
        guard Array(bytes[0..<8]) == Self.magic else { throw damage(.segmentHeader("magic"), 0) }
        let checked = Checksum.xxh3(span, in: 0..<Self.checksumPlace)
        guard checked == span.uint64(at: Self.checksumPlace) else {
            throw damage(.segmentHeader("checksum"), 0)
        }
        guard span.uint16(at: 10) <= JournalVersion.current else {
            throw damage(.newerFormat(span.uint16(at: 10)), 10)
        }
        _ = try FeatureSet(span, at: Self.featuresPlace, file: name)
        guard span.uint32(at: 60) == Layout.appended else {
            throw damage(.newerLayout(span.uint32(at: 60)), 60)
        }
        let identityPlace = Self.featuresPlace + FeatureSet.length
        let environmentPlace = identityPlace + StoreIdentity.environmentPlace
        guard
            let environment = Manifest.Environment(rawValue: span.uint8(at: environmentPlace))
        else { throw damage(.newerPart("environment"), environmentPlace) }
        base = JournalOffset(rawValue: span.uint64(at: 32))
        let length = span.uint64(at: 40)
        guard length >= Self.leastLength, length <= Self.greatestLength, length % 4096 == 0 else {
            throw damage(.segmentHeader("size"), 40)
        }
        lengthInBytes = Int(length)
        salt = span.uint64(at: Self.saltPlace)
        epoch = span.uint32(at: 56)
        predecessorBase = JournalOffset(rawValue: span.uint64(at: 64))
        predecessorEnd = JournalOffset(rawValue: span.uint64(at: 72))
        chain = span.uint64(at: 80)
        created = span.uint64(at: 88).asInt64
        guard base.rawValue < JournalOffset.limit, span.uint32(at: 12) == UInt32(Self.length),
            span.uint32(at: Self.featuresPlace + 12) == 0,
            let identity = StoreIdentity(
                span, at: identityPlace, of: StoreID(span, at: 16), in: environment),
            span.isZero(in: identityPlace + identity.writtenLength..<Self.checksumPlace)
        else { throw damage(.segmentHeader("reserved"), 96) }
        self.identity = identity
    }

    package init(
        identity: StoreIdentity, base: JournalOffset, lengthInBytes: Int, salt: UInt64,
        epoch: UInt32, predecessorBase: JournalOffset, predecessorEnd: JournalOffset,
        chain: UInt64, created: Int64
    ) {
        self.identity = identity
        self.base = base
        self.lengthInBytes = lengthInBytes
        self.salt = salt
        self.epoch = epoch
        self.predecessorBase = predecessorBase
        self.predecessorEnd = predecessorEnd
        self.chain = chain
        self.created = created
    }
}

extension UInt64 {
    /// The same bits as a signed number.
    var asInt64: Int64 { Int64(bitPattern: self) }
}
