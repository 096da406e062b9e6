internal import StratusBytes

/// The first bytes of a compacted segment: `Formats/Compacted.md`.
package struct CompactedHeader: Equatable, Sendable {
    package var storeID: StoreID
    /// Of the file; no other file of the store ever had it.
    package var number: UInt64
    package var salt: UInt64
    /// The range of offsets that the segment stands for.
    package var base: JournalOffset
    package var end: JournalOffset
    /// What was needed at this place of the journal is here.
    package var clearedBefore: JournalOffset
    package var chainAtStart: UInt64
    package var chainAtEnd: UInt64
    /// Of the commits that ended in the range, kept or not, in microseconds since 1970; 0 where
    /// there were none.
    package var leastTime: Int64
    package var greatestTime: Int64
    /// Of the last commit that ended in the range or before it.
    package var lastTime: Int64
    /// That the next entry behind the range has, where a commit is open at its end; otherwise 0.
    package var openOrdinal: UInt32

    static let length = 256
    private static let checksumPlace = length - 8
    private static let featuresPlace = 112
    static let magic: [UInt8] = [0x89, 0x53, 0x54, 0x43, 0x0d, 0x0a, 0x1a, 0x0a]
    static let filePrefix = "compacted-"

    package static func fileName(number: UInt64) -> String { filePrefix + Hex.encode(number) }

    /// The number that a file's name states, or nil where it is no compacted segment's name.
    static func number(ofFile name: String) -> UInt64? {
        guard name.hasPrefix(filePrefix) else { return nil }
        return Hex.number(name.dropFirst(filePrefix.count))
    }

    /// The segment as a manifest lists it, with a file of so many bytes.
    func listed(lengthInBytes: Int, isEnded: Bool) -> Manifest.Segment {
        Manifest.Segment(
            base: base, lengthInBytes: lengthInBytes, salt: salt,
            state: isEnded ? .compactedEnded : .compacted, end: end, chainAtStart: chainAtStart,
            chainAtEnd: chainAtEnd, number: number, clearedBefore: clearedBefore,
            leastTime: leastTime,
            greatestTime: greatestTime)
    }

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: Self.length)
        JournalVersion.begin(&writer, Self.magic)
        writer.uint32(UInt32(Self.length))
        storeID.write(to: &writer)
        writer.uint64(number)
        writer.uint64(salt)
        writer.uint64(base.rawValue)
        writer.uint64(end.rawValue)
        writer.uint64(clearedBefore.rawValue)
        writer.uint64(chainAtStart)
        writer.uint64(chainAtEnd)
        writer.int64(leastTime)
        writer.int64(greatestTime)
        writer.int64(lastTime)
        FeatureSet().write(to: &writer)
        writer.uint32(openOrdinal)
        writer.zeros(Self.checksumPlace - writer.count)
        writer.uint64(Checksum.xxh3(writer.bytes.span))
        return writer.bytes
    }

    /// Of the checksum over what lies at `place` of the file.
    static func seed(_ salt: UInt64, _ place: Int) -> UInt64 { salt &+ UInt64(place) }

    /// Decodes and verifies the first 256 bytes of the file of a segment that a manifest lists.
    init(
        _ span: Span<UInt8>, of listed: Manifest.Segment, in storeID: StoreID
    ) throws(JournalDamage) {
        try self.init(span, file: listed.fileName)
        var own = self.listed(
            lengthInBytes: listed.lengthInBytes, isEnded: listed.state == .compactedEnded)
        // It may be found later that nothing else has to go.
        if clearedBefore <= listed.clearedBefore { own.clearedBefore = listed.clearedBefore }
        guard self.storeID == storeID, own == listed else {
            throw JournalDamage(.compacted("identity"), file: listed.fileName, byte: 0)
        }
    }

    /// Decodes and verifies the first 256 bytes of the file `name`.
    init(_ span: Span<UInt8>, file name: String) throws(JournalDamage) {
        func damage(_ field: StaticString, _ byte: Int = 0) -> JournalDamage {
            JournalDamage(.compacted(field), file: name, byte: byte)
        }
        guard span.extracting(0..<8).equals(Self.magic) else { throw damage("magic") }
        guard
            Checksum.xxh3(span, in: 0..<Self.checksumPlace) == span.uint64(at: Self.checksumPlace)
        else { throw damage("checksum") }
        guard span.uint16(at: 10) <= JournalVersion.current else {
            throw JournalDamage(.newerFormat(span.uint16(at: 10)), file: name, byte: 10)
        }
        _ = try FeatureSet(span, at: Self.featuresPlace, file: name)
        self.init(unverified: span)
        guard span.uint32(at: 12) == UInt32(Self.length), openOrdinal < 1 << 31,
            span.uint32(at: Self.featuresPlace + 12) == 0,
            span.isZero(in: 132..<Self.checksumPlace)
        else { throw damage("reserved", 132) }
    }

    /// What the first 256 bytes say, which may be damaged.
    init(unverified span: Span<UInt8>) {
        self.storeID = StoreID(span, at: 16)
        number = span.uint64(at: 32)
        salt = span.uint64(at: 40)
        base = JournalOffset(rawValue: span.uint64(at: 48))
        end = JournalOffset(rawValue: span.uint64(at: 56))
        clearedBefore = JournalOffset(rawValue: span.uint64(at: 64))
        chainAtStart = span.uint64(at: 72)
        chainAtEnd = span.uint64(at: 80)
        leastTime = span.uint64(at: 88).asInt64
        greatestTime = span.uint64(at: 96).asInt64
        lastTime = span.uint64(at: 104).asInt64
        openOrdinal = span.uint32(at: 128)
    }

    init(
        storeID: StoreID, number: UInt64, salt: UInt64, base: JournalOffset, end: JournalOffset,
        clearedBefore: JournalOffset, chainAtStart: UInt64, chainAtEnd: UInt64, leastTime: Int64,
        greatestTime: Int64, lastTime: Int64, openOrdinal: UInt32
    ) {
        self.storeID = storeID
        self.number = number
        self.salt = salt
        self.base = base
        self.end = end
        self.clearedBefore = clearedBefore
        self.chainAtStart = chainAtStart
        self.chainAtEnd = chainAtEnd
        self.leastTime = leastTime
        self.greatestTime = greatestTime
        self.lastTime = lastTime
        self.openOrdinal = openOrdinal
    }
}
