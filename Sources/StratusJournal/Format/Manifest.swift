package import StratusBytes

/// What a store consists of: small, written whole, a file of its own for each generation.
///
/// Layout and rules: `Formats/Manifest.md`.
package struct Manifest: Equatable, Sendable {
    package enum SegmentState: UInt8, Sendable {
        /// The last one, to which the writer appends.
        case active = 1
        /// Full; ends with a trailer.
        case sealed = 2
        /// Ended at a stated offset, without a trailer; what lies behind is not part of the store.
        case ended = 3
        /// Ended by a clean close; nothing was written behind. The last one: the next writer may
        /// append to it.
        case closed = 4
        /// What is needed of one or more segments, in a file of its own; it ends where the last of
        /// them was sealed.
        case compacted = 5
        /// The same; the last of them was ended by a recovery.
        case compactedEnded = 6
    }

    /// A store whose journal, up to a place, is this one's.
    package struct Ancestor: Hashable, Sendable {
        package var lineage: UInt64
        package var incarnation: UInt16
        /// What it wrote from there on is none of this store's.
        package var end: JournalOffset

        package init(lineage: UInt64, incarnation: UInt16, end: JournalOffset) {
            self.lineage = lineage
            self.incarnation = incarnation
            self.end = end
        }

        init(_ span: Span<UInt8>, at place: Int) {
            let end = Version(rawValue: span.uint64(at: place + 8))
            self.init(
                lineage: span.uint64(at: place), incarnation: end.incarnation, end: end.offset)
        }

        func write(to writer: inout ByteWriter) {
            writer.uint64(lineage)
            writer.uint64(Version(incarnation: incarnation, offset: end).rawValue)
        }
    }

    package struct Segment: Equatable, Sendable {
        package var base: JournalOffset
        package var lengthInBytes: Int
        package var salt: UInt64
        package var state: SegmentState
        /// Where the segment's part of the store ends; of the active one, up to where it was
        /// durable when the manifest was written.
        package var end: JournalOffset
        /// The chain before the segment's first group, and after its last one before `end`.
        package var chainAtStart: UInt64
        package var chainAtEnd: UInt64
        /// Of the file of a compacted segment; 0 of the others.
        package var number: UInt64 = 0
        /// Of what was replaced or taken away before this place, a compacted segment has only what
        /// marks keep; 0 of the others.
        package var clearedBefore = JournalOffset.zero
        /// Of the commits that end in a sealed, closed or compacted segment, in microseconds since
        /// 1970; 0 of the others.
        package var leastTime: Int64 = 0
        package var greatestTime: Int64 = 0

        package var isCompacted: Bool { state == .compacted || state == .compactedEnded }
        /// Whether a recovery ended it: what lay behind is lost.
        package var isEnded: Bool { state == .ended || state == .compactedEnded }
        package var fileName: String {
            isCompacted
                ? CompactedHeader.fileName(number: number) : SegmentHeader.fileName(base: base)
        }
        /// The end of the range of offsets that is the segment's own.
        package var limit: JournalOffset {
            isCompacted ? end : base.advanced(byBytes: lengthInBytes)
        }
        /// Where the first entry may lie.
        package var firstGroup: JournalOffset {
            isCompacted ? base : base.advanced(byBytes: SegmentHeader.length)
        }
        /// Nothing in it belongs to the store, as a recovery found.
        package var isEmpty: Bool { state == .ended && end == firstGroup }
    }

    /// What a save may bring; said once, when the store is made.
    package enum Environment: UInt8, Sendable {
        /// New types and fields.
        case development = 1
        /// What the schema has already.
        case production = 2
    }

    package var generation: UInt64
    package var storeID: StoreID
    /// Seeds the hashes of names, so that no caller can choose names that collide.
    package var secret: UInt64
    /// Makes the identities of users out of the names that the host gives them. Copies of a store
    /// keep it, so that users keep their identities there.
    package var userSeed: Hash128
    /// Higher in each restored copy of a store, so that copies share no tags.
    package var incarnation: UInt16
    /// Drawn along with the incarnation, so that two copies never take each other's tokens.
    package var lineage: UInt64
    /// The stores of which this one is a restored copy, the oldest first.
    package var ancestors: [Ancestor]
    package var environment: Environment
    /// How often the store was opened for writing.
    package var epoch: UInt32
    /// When the store was made, in microseconds since 1970.
    package var created: Int64
    /// A writer keeps those that it does not know.
    package var features = FeatureSet()
    /// In order of their offsets; together they cover the journal. None before the first commit.
    package var segments: [Segment]
    /// Where an opening may begin to read.
    package private(set) var checkpoint: Checkpoint?
    /// Why a checkpoint that the file holds is of no use.
    package private(set) var checkpointDamage: JournalDamage?
    /// What is wrong with one of the two copies of all else in the file that this was read from; the
    /// other one was read.
    package var damage: JournalDamage?

    package init(
        generation: UInt64, storeID: StoreID, secret: UInt64, userSeed: Hash128,
        incarnation: UInt16, lineage: UInt64, ancestors: [Ancestor] = [],
        environment: Environment, epoch: UInt32, created: Int64, segments: [Segment]
    ) {
        self.generation = generation
        self.storeID = storeID
        self.secret = secret
        self.userSeed = userSeed
        self.incarnation = incarnation
        self.lineage = lineage
        self.ancestors = ancestors
        self.environment = environment
        self.epoch = epoch
        self.created = created
        self.segments = segments
    }

    /// Puts `checkpoint` in place of the present one, if any.
    package mutating func set(_ checkpoint: Checkpoint?) {
        self.checkpoint = checkpoint
        checkpointDamage = nil
    }

    package static let filePrefix = "manifest-"
    static let magic: [UInt8] = [0x89, 0x53, 0x54, 0x4d, 0x0d, 0x0a, 0x1a, 0x0a]
    static let segmentLength = 80
    private static let featuresPlace = 72
    private static let fixedLength = featuresPlace + FeatureSet.length + 32
    static let ancestorLength = 16
    /// It has fewer ancestors: each has an incarnation of its own.
    package static let ancestorLimit = Int(Version.incarnationLimit)
    /// A million segments: more than 64 TiB.
    package static let segmentLimit = 1 << 20
    /// Of its file, in bytes: so many segments, twice, and the longest checkpoint.
    package static let lengthLimit = 256 << 20

    package static func fileName(generation: UInt64) -> String {
        filePrefix + Hex.encode(generation)
    }

    /// The generation that a file's name states, or nil where it is no manifest's name.
    package static func generation(ofFile name: String) -> UInt64? {
        guard name.hasPrefix(filePrefix) else { return nil }
        return Hex.number(name.dropFirst(filePrefix.count))
    }

    package var fileName: String { Self.fileName(generation: generation) }

    /// Fails where the store has features that only forbid writing, and this code does not know.
    func checkWriting() throws(JournalDamage) {
        try features.checkWriting(file: fileName, at: Self.featuresPlace)
    }

    /// The segment to which a writer appends, once it has written anything.
    var active: Segment? { segments.last.flatMap { $0.state == .active ? $0 : nil } }

    /// Changes the last segment, which is there.
    mutating func changeLast(_ body: (inout Segment) -> Void) {
        body(&segments[segments.count - 1])
    }

    /// Where the checkpoint begins in the file: behind the checksum of all that must be right.
    package var checkpointPlace: Int { Self.length(ancestors.count, segments.count) + 8 }

    /// What follows the copy: how long it is.
    private static let copyLengthSize = 8
    /// The copy begins at a multiple of it, so that no block of a disk has bytes of both.
    static let blockLength = 4096

    /// Where the copy begins, behind a checkpoint of so many bytes.
    private func copyPlace(behind checkpointLength: Int) -> Int {
        let end = checkpointPlace + checkpointLength
        return (end + Self.blockLength - 1) / Self.blockLength * Self.blockLength
    }

    /// Of what comes before the checksum, in bytes.
    private static func length(_ ancestorCount: Int, _ segmentCount: Int) -> Int {
        fixedLength + ancestorCount * ancestorLength + segmentCount * segmentLength
    }

    package func encoded() -> [UInt8] {
        let checkpoint = checkpoint?.encoded(generation: generation) ?? []
        let copyPlace = copyPlace(behind: checkpoint.count)
        var writer = ByteWriter(capacity: copyPlace + checkpointPlace + Self.copyLengthSize)
        JournalVersion.begin(&writer, Self.magic)
        writer.uint32(UInt32(segments.count))
        writer.uint64(generation)
        storeID.write(to: &writer)
        writer.uint64(secret)
        writer.uint16(incarnation)
        writer.uint8(environment.rawValue)
        writer.uint8(0)
        writer.uint32(epoch)
        writer.int64(created)
        writer.uint64(UInt64(checkpoint.count))
        features.write(to: &writer)
        writer.hash(userSeed)
        writer.uint64(lineage)
        writer.uint32(UInt32(ancestors.count))
        writer.uint32(0)
        for ancestor in ancestors { ancestor.write(to: &writer) }
        for segment in segments {
            writer.uint64(segment.base.rawValue)
            writer.uint64(UInt64(segment.lengthInBytes) << 8 | UInt64(segment.state.rawValue))
            writer.uint64(segment.salt)
            writer.uint64(segment.end.rawValue)
            writer.uint64(segment.chainAtStart)
            writer.uint64(segment.chainAtEnd)
            writer.uint64(segment.number)
            writer.uint64(segment.clearedBefore.rawValue)
            writer.int64(segment.leastTime)
            writer.int64(segment.greatestTime)
        }
        writer.uint64(Checksum.xxh3(writer.bytes.span, seed: generation))
        writer.append(checkpoint)
        writer.zeros(copyPlace - writer.count)
        writer.append(writer.bytes.span.array(in: 0..<checkpointPlace))
        writer.uint64(UInt64(checkpointPlace))
        return writer.bytes
    }
}

extension Manifest {
    /// Decodes and verifies the file `name`: what it begins with or, where that is damaged, the copy.
    package init(_ bytes: [UInt8], file name: String) throws(JournalDamage) {
        var checkpointLength: UInt64 = 0
        do {
            try self.init(bytes.span, file: name, &checkpointLength)
            damage = copyDamage(bytes, behind: checkpointLength)
        } catch {
            guard !error.isNewer, let copy = Self.copy(in: bytes) else { throw error }
            do {
                try self.init(bytes.span.extracting(copy), file: name, &checkpointLength)
            } catch let own {
                throw own.isNewer ? own : error
            }
            damage = error
        }
        if checkpointLength == 0 { return }
        let end = bytes.count - checkpointPlace
        let length = min(Int(clamping: checkpointLength), max(0, end))
        let rest = bytes.span.extracting(checkpointPlace..<checkpointPlace + length)
        do {
            checkpoint = try Checkpoint(
                rest, statedLength: checkpointLength, generation: generation)
        } catch {
            checkpointDamage = JournalDamage(error, file: name, byte: checkpointPlace)
        }
    }

    /// Where the copy lies, if its length can be right.
    private static func copy(in bytes: [UInt8]) -> Range<Int>? {
        let end = bytes.count - copyLengthSize
        guard end >= 0 else { return nil }
        let length = bytes.span.uint64(at: end)
        guard length <= UInt64(end), (end - Int(length)) % blockLength == 0 else { return nil }
        return end - Int(length)..<end
    }

    /// What is wrong with the copy, or with the zeros before it; nil where it is what it is a copy of.
    private func copyDamage(
        _ bytes: [UInt8], behind checkpointLength: UInt64
    ) -> JournalDamage? {
        // A file has less than that many bytes.
        let length = Int(clamping: min(checkpointLength, 1 << 40))
        let place = copyPlace(behind: length)
        let end = place + checkpointPlace
        guard bytes.count == end + Self.copyLengthSize,
            bytes.span.isZero(in: checkpointPlace + length..<place),
            bytes[place..<end] == bytes[..<checkpointPlace],
            bytes.span.uint64(at: end) == UInt64(checkpointPlace)
        else { return JournalDamage(.manifest("copy"), file: fileName, byte: place) }
        return nil
    }

    /// Decodes and verifies what begins with a manifest, but for its checkpoint.
    private init(
        _ span: Span<UInt8>, file name: String, _ checkpointLength: inout UInt64
    ) throws(JournalDamage) {
        func damage(_ field: StaticString, _ byte: Int = 0) -> JournalDamage {
            JournalDamage(.manifest(field), file: name, byte: byte)
        }
        guard let stated = Self.generation(ofFile: name) else { throw damage("name") }
        guard span.count >= Self.fixedLength + 8 else { throw damage("length", span.count) }
        guard span.extracting(0..<8).equals(Self.magic) else { throw damage("magic") }
        // The checksum lies behind the segments, and behind it what is of no consequence.
        let count = Int(span.uint32(at: 12))
        let ancestorCount = Int(span.uint32(at: Self.fixedLength - 8))
        guard count <= Self.segmentLimit, ancestorCount < Self.ancestorLimit,
            span.count >= Self.length(ancestorCount, count) + 8
        else { throw damage("length", 12) }
        let end = Self.length(ancestorCount, count)
        guard Checksum.xxh3(span, in: 0..<end, seed: stated) == span.uint64(at: end) else {
            throw damage("checksum")
        }
        guard span.uint16(at: 10) <= JournalVersion.current else {
            throw JournalDamage(.newerFormat(span.uint16(at: 10)), file: name, byte: 10)
        }
        features = try FeatureSet(span, at: Self.featuresPlace, file: name)
        generation = span.uint64(at: 16)
        guard generation == stated else { throw damage("generation", 16) }
        storeID = StoreID(span, at: 24)
        secret = span.uint64(at: 40)
        userSeed = Hash128(high: span.uint64(at: 88), low: span.uint64(at: 96))
        incarnation = span.uint16(at: 48)
        lineage = span.uint64(at: Self.fixedLength - 16)
        ancestors = []
        guard let environment = Environment(rawValue: span.uint8(at: 50)) else {
            throw JournalDamage(.newerPart("environment"), file: name, byte: 50)
        }
        self.environment = environment
        epoch = span.uint32(at: 52)
        created = span.uint64(at: 56).asInt64
        for place in [51, 84, Self.fixedLength - 4] {
            let isZero = place == 51 ? span.uint8(at: place) == 0 : span.uint32(at: place) == 0
            guard isZero else { throw damage("reserved", place) }
        }
        // An opening counts generation and epoch up by one.
        guard generation < .max, incarnation < Version.incarnationLimit, epoch < .max else {
            throw damage("number", 48)
        }
        for index in 0..<ancestorCount {
            let place = Self.length(index, 0)
            let ancestor = Ancestor(span, at: place)
            let isBehind = ancestors.last.map {
                $0.incarnation < ancestor.incarnation && $0.end <= ancestor.end
            }
            guard ancestor.incarnation < incarnation, isBehind ?? true else {
                throw damage("ancestor", place)
            }
            ancestors.append(ancestor)
        }
        segments = []
        for index in 0..<count {
            let place = Self.length(ancestorCount, index)
            guard let state = SegmentState(rawValue: span.uint8(at: place + 8)) else {
                throw JournalDamage(.newerPart("state"), file: name, byte: place)
            }
            guard let segment = Segment(span, at: place, state) else {
                throw damage("segment", place)
            }
            let mayBeLastOnly = segment.state == .active || segment.state == .closed
            guard index == count - 1 || !mayBeLastOnly,
                segments.last.map({ $0.limit <= segment.base }) ?? true
            else { throw damage("order", place) }
            segments.append(segment)
        }
        checkpointLength = span.uint64(at: 64)
    }
}

extension Manifest.Segment {
    /// What lies at `place`, but for the state; nil where it is none that a store can have.
    fileprivate init?(_ span: Span<UInt8>, at place: Int, _ state: Manifest.SegmentState) {
        // The state is its least byte.
        let length = span.uint64(at: place + 8)
        guard length >> 8 <= SegmentHeader.greatestLength,
            span.uint64(at: place) < JournalOffset.limit,
            span.uint64(at: place + 24) < JournalOffset.limit,
            span.uint64(at: place + 56) < JournalOffset.limit
        else { return nil }
        self.init(
            base: JournalOffset(rawValue: span.uint64(at: place)),
            lengthInBytes: Int(length >> 8), salt: span.uint64(at: place + 16), state: state,
            end: JournalOffset(rawValue: span.uint64(at: place + 24)),
            chainAtStart: span.uint64(at: place + 32),
            chainAtEnd: span.uint64(at: place + 40), number: span.uint64(at: place + 48),
            clearedBefore: JournalOffset(rawValue: span.uint64(at: place + 56)),
            leastTime: span.uint64(at: place + 64).asInt64,
            greatestTime: span.uint64(at: place + 72).asInt64)
        guard base <= end, end <= limit,
            isCompacted ? number > 0 : number == 0 && clearedBefore == .zero
        else { return nil }
    }
}

extension Manifest.Segment {
    /// States where it ends; `totals` are what was counted of it, which an ended one does not say.
    mutating func finish(
        as state: Manifest.SegmentState, at end: JournalOffset, chain: UInt64,
        _ totals: SegmentTotals
    ) {
        self.state = state
        self.end = end
        chainAtEnd = chain
        let said = state == .ended ? SegmentTotals() : totals
        (leastTime, greatestTime) = (said.leastTime, said.greatestTime)
    }

    /// It is written to again.
    mutating func reopen() {
        state = .active
        (leastTime, greatestTime) = (0, 0)
    }
}
