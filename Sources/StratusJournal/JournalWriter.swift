internal import StratusBytes
package import StratusFiles

/// How a journal is laid out, and where its randomness and times come from.
package struct JournalOptions: Sendable {
    /// Of every new segment, in bytes: a multiple of 4,096 from 16 KiB on. Nil: a sixteenth of the
    /// store, between 1 and 64 MiB.
    package var segmentLength: Int?
    /// A group is written once it has so many bytes.
    package var groupLimit = 1 << 20
    package var clock = Clock.system
    package var randomness = Randomness.system

    package init() {}
}

/// Appends groups to the last segment of a journal. One thread uses it.
///
/// Nothing is durable before ``sync()`` has returned. After a failure that leaves it open what is
/// on the medium, it refuses all further work.
package struct JournalWriter {
    package private(set) var manifest: Manifest
    package private(set) var view: JournalView
    /// Where the next group begins.
    package private(set) var head: JournalOffset
    /// Everything before it is durable.
    package private(set) var durableThrough: JournalOffset
    /// The chain over all groups written.
    package private(set) var chain: UInt64
    package private(set) var poison: StorageError?
    /// What every further segment begins with; the layer above keeps it in force.
    package var preamble: [UInt8] = []

    private let storage: any Storage
    private let options: JournalOptions
    private var file: any StorageFile
    private var totals: SegmentTotals
    /// The active segment ends with a trailer, and the next one could not be begun yet.
    private var isSealed: Bool
    private var needsPreamble: Bool
    private var leftovers: Leftovers

    private static let trailerLength =
        GroupHeader.frameLength + FrameFormat.frameLength(payload: Trailer.payloadLength)
    private static let closingLength =
        GroupHeader.frameLength + FrameFormat.frameLength(payload: 8)

    init(
        _ manifest: Manifest, view: JournalView, file: any StorageFile, head: JournalOffset,
        chain: UInt64, totals: SegmentTotals, needsPreamble: Bool, leftovers: Leftovers,
        in storage: any Storage, options: JournalOptions
    ) {
        self.manifest = manifest
        self.view = view
        self.file = file
        self.head = head
        self.chain = chain
        self.totals = totals
        self.needsPreamble = needsPreamble
        isSealed = false
        self.leftovers = leftovers
        self.storage = storage
        self.options = options
        durableThrough = head
    }

    /// The longest payload of an entry: 16 MiB; where segments have a fixed length, a quarter of
    /// it.
    package var payloadLimit: Int {
        min(FrameFormat.payloadLimit, (options.segmentLength ?? .max) / 4)
    }

    package var clock: Clock { options.clock }

    /// A group is written once it has so many bytes.
    package var groupLimit: Int {
        min(options.groupLimit, (options.segmentLength ?? Self.leastSegment) / 2)
    }

    /// Begins a group with room for at least `bytes`, in a new segment where this one is full.
    package mutating func beginGroup(
        roomFor bytes: Int
    ) throws(JournalError) -> GroupBuilder {
        if let poison { throw .poisoned(poison) }
        let needed = leastGroup(for: bytes) + Self.trailerLength
        if isSealed || head.advanced(byBytes: needed) > limit {
            try beginSegment(roomFor: bytes)
        }
        let room = min(
            limit.bytes(since: head) - Self.trailerLength, max(groupLimit, leastGroup(for: bytes)))
        var group = GroupBuilder(at: head, room: room, salt: salt, totals: totals)
        // Where no names are in force yet there is nothing to repeat.
        if needsPreamble, !preamble.isEmpty {
            let preamble = preamble
            group.append(.preamble) { $0.append(preamble) }
        }
        return group
    }

    /// Writes a group. On a failure the group is not part of the journal, now or ever.
    package mutating func write(_ group: consuming GroupBuilder) throws(JournalError) {
        if let poison { throw .poisoned(poison) }
        precondition(group.base == head, "groups are written in order")
        var group = group
        group.finish(epoch: manifest.epoch, durableThrough: durableThrough, chain: chain)
        let position = position(of: head)
        do {
            try file.reserve(position..<position + group.frames.count)
        } catch {
            // Nothing was written, so there is nothing to take back.
            throw .storage(error)
        }
        do {
            try file.append(group.frames.bytes.span, at: position)
        } catch {
            try retract(group.frames.count)
            throw .storage(error)
        }
        head = group.end
        chain = Chain.after(chain, payloadChecksums: group.payloadChecksums)
        totals = group.totals
        needsPreamble = false
    }

    /// Everything written so far is durable when this returns.
    package mutating func sync() throws(JournalError) {
        if let poison { throw .poisoned(poison) }
        guard durableThrough < head else { return }
        let file = file
        try poisoning { () throws(StorageError) in try file.sync() }
        durableThrough = head
    }

    /// Writes an empty group, which tells readers up to where the journal is durable.
    package mutating func writeIdleGroup() throws(JournalError) {
        let needed = GroupHeader.frameLength + Self.trailerLength
        // Not worth a new segment: its first group will say it.
        guard !isSealed, !needsPreamble, head.advanced(byBytes: needed) <= limit else { return }
        try write(try beginGroup(roomFor: 0))
    }

    /// Writes the closing mark: the next opening finds nothing to decide.
    ///
    /// Whatever fails, the store can be opened again afterwards.
    package mutating func close() throws(JournalError) {
        defer { storage.close() }
        try sync()
        if !isSealed {
            let needed = Self.closingLength + Self.trailerLength
            if head.advanced(byBytes: needed) <= limit {
                let time = clock.now()
                try write(with: .closingMark) { $0.int64(time) }
            } else {
                try seal()
            }
            try sync()
        }
    }

    /// What a group takes that holds `bytes` of entries and begins here.
    private func leastGroup(for bytes: Int) -> Int {
        let preambleLength = FrameFormat.frameLength(payload: preamble.count)
        let isFirst = needsPreamble && !preamble.isEmpty
        return GroupHeader.frameLength + (isFirst ? preambleLength : 0) + bytes
    }

    private var active: Manifest.Segment { manifest.segments[manifest.segments.count - 1] }
    private var limit: JournalOffset { active.limit }
    private var salt: UInt64 { active.salt }

    private func position(of offset: JournalOffset) -> Int { offset.bytes(since: active.base) }

    /// Writes a group that holds one frame of the journal's own.
    private mutating func write(
        with kind: EntryKind, payload: (inout ByteWriter) -> Void
    ) throws(JournalError) {
        var group = GroupBuilder(
            at: head, room: limit.bytes(since: head), salt: salt, totals: totals)
        group.append(kind, payload: payload)
        try write(group)
    }

    private mutating func seal() throws(JournalError) {
        let trailer = Trailer(totals, chainAtStart: active.chainAtStart, chainAtEnd: chain)
        try write(with: .trailer) { trailer.write(to: &$0) }
        isSealed = true
    }

    /// Takes back what a failed write of `count` bytes may have left, so that no later opening
    /// finds it, behind a shorter group neither.
    private mutating func retract(_ count: Int) throws(JournalError) {
        let zeros = [UInt8](repeating: 0, count: count)
        let position = position(of: head)
        let file = file
        try poisoning { () throws(StorageError) in
            do throws(StorageError) {
                try file.append(zeros.span, at: position)
            } catch {
                // What finds no room for a zero had found none for the group.
                if error.kind != .noSpace { throw error }
            }
            try file.sync()
        }
    }

    /// A failure of `body` leaves it open what is on the medium.
    private mutating func poisoning(
        _ body: () throws(StorageError) -> Void
    ) throws(JournalError) {
        do {
            try body()
        } catch {
            poison = error
            throw .poisoned(error)
        }
    }
}

extension JournalWriter {
    package static let leastSegment = 1 << 20
    package static let greatestSegment = 64 << 20

    /// Begins a new segment. In this order, so that a crash anywhere leaves either journal whole:
    /// the old segment's trailer is durable, then the new file, then the manifest that names both.
    private mutating func beginSegment(roomFor bytes: Int) throws(JournalError) {
        let base = limit
        let length = segmentLength(roomFor: bytes)
        let header = SegmentHeader(
            storeID: manifest.storeID, base: base, lengthInBytes: length,
            salt: options.randomness.next(), epoch: manifest.epoch,
            predecessorBase: active.base, predecessorEnd: head, chain: chain,
            created: clock.now())
        // The trailer comes first in the chain that the new header continues.
        if !isSealed {
            try seal()
            try sync()
            return try beginSegment(roomFor: bytes)
        }
        let new = try createSegment(header)
        do {
            try list(header)
        } catch {
            // Before the next try, which makes the file again; after a failed sync there is none.
            if case .storage = error { _ = try? storage.delete(header.fileName) }
            throw error
        }
        view.endLast(at: head)
        view.add(header.manifestSegment)
        view.files.add(new, of: header.manifestSegment)
        file = new
        head = header.firstGroup
        durableThrough = head
        totals = SegmentTotals(after: totals)
        isSealed = false
        needsPreamble = true
    }

    /// Makes the manifest that lists a new segment.
    private mutating func list(_ header: SegmentHeader) throws(JournalError) {
        var next = manifest
        next.generation += 1
        next.segments[next.segments.count - 1].state = .sealed
        next.segments[next.segments.count - 1].end = head
        next.segments[next.segments.count - 1].chainAtEnd = chain
        next.segments.append(header.manifestSegment)
        try put(next)
    }

    private mutating func createSegment(
        _ header: SegmentHeader
    ) throws(JournalError) -> any StorageFile {
        do {
            return try header.create(in: storage)
        } catch {
            // Nothing refers to the file yet, whatever state it is in.
            _ = try? storage.delete(header.fileName)
            guard error.kind == .syncFailed else { throw .storage(error) }
            poison = error
            throw .poisoned(error)
        }
    }

    private mutating func put(_ next: Manifest) throws(JournalError) {
        let name = next.fileName
        do {
            try storage.put(name, next.encoded())
        } catch {
            // A full disk shows before the name is there. Whatever else fails, the new generation
            // may or may not last; that it exists already means that somebody else writes.
            guard error.kind == .noSpace else {
                poison = error
                throw .poisoned(error)
            }
            throw .storage(error)
        }
        leftovers.add(manifest)
        manifest = next
        leftovers.clear(in: storage, beside: manifest)
    }

    /// Where the journal ends now. Nil where that is behind a trailer, since the next segment could
    /// not be begun, and where the writer is poisoned.
    package var position: JournalPosition? {
        if isSealed || poison != nil { return nil }
        return JournalPosition(offset: head, chain: chain, totals: totals)
    }

    /// Makes a generation that holds `checkpoint`, at a ``position`` of this writer's, now or
    /// earlier. Everything written so far is durable first, and the new generation says so.
    package mutating func take(_ checkpoint: Manifest.Checkpoint) throws(JournalError) {
        precondition(checkpoint.position.offset <= head, "a checkpoint lies behind the journal")
        try sync()
        var next = manifest
        next.generation += 1
        next.segments[next.segments.count - 1].end = head
        next.segments[next.segments.count - 1].chainAtEnd = chain
        next.set(checkpoint)
        try put(next)
    }

    /// The layer above no longer needs these files of its own: each is deleted as soon as no
    /// generation names it, older ones that a reader has pinned included. Returns what is gone.
    package mutating func release(_ files: [String]) -> [String] {
        leftovers.release(files)
        // After a failure it is open which generation is in force.
        return poison == nil ? leftovers.clear(in: storage, beside: manifest) : []
    }

    private func segmentLength(roomFor bytes: Int) -> Int {
        // Whatever the size of the store, a preamble takes at most a quarter of a segment, and the
        // group that asks for room fits.
        let overhead = SegmentHeader.length + 2 * GroupHeader.frameLength + Self.trailerLength
        let least = max(
            4 * FrameFormat.frameLength(payload: preamble.count),
            bytes + FrameFormat.frameLength(payload: preamble.count) + overhead)
        var length = options.segmentLength ?? Self.leastSegment
        let share = manifest.lengthInBytes / 16
        while length < least
            || (options.segmentLength == nil && length * 2 <= share
                && length < Self.greatestSegment)
        {
            length *= 2
        }
        return length
    }
}

extension SegmentHeader {
    /// Where the segment's first group begins.
    var firstGroup: JournalOffset { base.advanced(byBytes: Self.length) }

    /// The segment as a manifest lists it before anything is written into it.
    var manifestSegment: Manifest.Segment {
        Manifest.Segment(
            base: base, lengthInBytes: lengthInBytes, salt: salt, state: .active,
            end: firstGroup, chainAtStart: chain, chainAtEnd: chain)
    }

    /// Whether this is the header that the manifest of the store means by `segment`.
    func belongs(to segment: Manifest.Segment, of storeID: StoreID) -> Bool {
        base == segment.base && self.storeID == storeID && salt == segment.salt
            && lengthInBytes == segment.lengthInBytes && chain == segment.chainAtStart
    }

    /// Makes the segment's file, durable with its header.
    func create(in storage: any Storage) throws(StorageError) -> any StorageFile {
        let file = try storage.create(fileName, length: lengthInBytes)
        try file.append(encoded().span, at: 0)
        try file.sync()
        return file
    }
}

extension Manifest {
    /// Of all segments together.
    var lengthInBytes: Int { segments.reduce(0) { $0 + $1.lengthInBytes } }
}
