package import StratusBytes
package import StratusFiles

/// Which store it is. Of one store nothing of it changes but that the incarnation may rise, and then
/// the ancestors say up to where it was less.
package struct StoreIdentity: Equatable, Sendable {
    package var storeID: StoreID
    package var secret: UInt64
    package var userSeed: Hash128
    package var incarnation: UInt16
    package var lineage: UInt64
    /// The oldest first.
    package var ancestors: [Manifest.Ancestor]
    package var environment: Manifest.Environment
    /// In microseconds since 1970.
    package var created: Int64
    /// Of the format. Copies keep those that this code does not know.
    package var features: FeatureSet

    package init(_ manifest: Manifest) {
        storeID = manifest.storeID
        secret = manifest.secret
        userSeed = manifest.userSeed
        incarnation = manifest.incarnation
        lineage = manifest.lineage
        ancestors = manifest.ancestors
        environment = manifest.environment
        created = manifest.created
        features = manifest.features
    }

    /// Of so many ancestors a segment tells, the newest.
    package static let ancestorLimit = 200

    /// As segments have it, behind the store ID, which all files have in one place.
    func write(to writer: inout ByteWriter) {
        writer.uint64(secret)
        writer.hash(userSeed)
        writer.uint64(lineage)
        writer.int64(created)
        writer.uint16(incarnation)
        writer.uint8(environment.rawValue)
        writer.uint8(0)
        let told = ancestors.suffix(Self.ancestorLimit)
        writer.uint32(UInt32(told.count))
        for ancestor in told { ancestor.write(to: &writer) }
    }

    /// Where the environment lies in what ``write(to:)`` writes.
    static let environmentPlace = 42

    /// What lies from `place` on in a segment's header, but for the environment; nil where it is none that
    /// a store can have.
    init?(
        _ span: Span<UInt8>, at place: Int, of storeID: StoreID,
        in environment: Manifest.Environment
    ) {
        self.storeID = storeID
        secret = span.uint64(at: place)
        userSeed = Hash128(high: span.uint64(at: place + 8), low: span.uint64(at: place + 16))
        lineage = span.uint64(at: place + 24)
        created = span.uint64(at: place + 32).asInt64
        incarnation = span.uint16(at: place + 40)
        features = FeatureSet()
        let count = Int(span.uint32(at: place + 44))
        guard span.uint8(at: place + 43) == 0, incarnation < Version.incarnationLimit,
            count <= Self.ancestorLimit
        else { return nil }
        self.environment = environment
        ancestors = (0..<count).map { number in
            Manifest.Ancestor(
                span, at: place + Self.fixedLength + number * Manifest.ancestorLength)
        }
    }

    /// Before the ancestors, in bytes.
    private static let fixedLength = 48
    /// What ``write(to:)`` writes, in bytes.
    var writtenLength: Int {
        Self.fixedLength + min(ancestors.count, Self.ancestorLimit) * Manifest.ancestorLength
    }

    /// The version of what the journal has at `offset`: it has the incarnation of the store that
    /// wrote it.
    package func version(at offset: JournalOffset) -> Version {
        let writer = ancestors.first { offset < $0.end }
        return Version(incarnation: writer?.incarnation ?? incarnation, offset: offset)
    }

    /// The last incarnations are left to copies of the store, so that it can always be restored as a
    /// whole.
    package static let incarnationLimit: UInt16 = Version.incarnationLimit - 256

    /// The same of what is written from `end` on: its incarnation is greater than the store's own and
    /// than `other` by 1 to 16; nil where it would be `limit` or greater.
    package func raised(
        above other: UInt16 = 0, below limit: UInt16 = Version.incarnationLimit,
        from end: JournalOffset, _ randomness: Randomness
    ) -> StoreIdentity? {
        var identity = self
        identity.incarnation = max(incarnation, other) + 1 + UInt16(randomness.next() % 16)
        guard identity.incarnation < limit else { return nil }
        identity.ancestors.append(
            Manifest.Ancestor(lineage: lineage, incarnation: incarnation, end: end))
        return identity
    }

    /// Whether a store of that lineage had this one's history up to `version`.
    package func includes(_ version: Version, of lineage: UInt64) -> Bool {
        guard version == .none || version == self.version(at: version.offset) else { return false }
        return includes(before: version.offset.next, of: lineage)
    }

    /// Whether a store of that lineage had this one's history before `end`.
    package func includes(before end: JournalOffset, of lineage: UInt64) -> Bool {
        if lineage == self.lineage { return true }
        return ancestors.contains { $0.lineage == lineage && end <= $0.end }
    }

    /// Up to which version a store of that lineage has this one's history; nil: as far as it goes.
    package func lastShared(with lineage: UInt64) -> Version? {
        if lineage == self.lineage { return nil }
        let end = ancestors.last { $0.lineage == lineage }?.end ?? .zero
        return end == .zero ? Version.none : version(at: end.previous)
    }

    package var idBits: Hash128 { Hash128(high: storeID.high, low: storeID.low) }
}
