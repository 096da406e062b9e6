internal import StratusBytes
package import StratusFiles

/// How a journal is laid out, and where its randomness and times come from.
package struct JournalOptions: Sendable {
    /// Of every new segment, in bytes: a multiple of 4,096 from 16 KiB on. Nil: a sixteenth of the
    /// store, between 1 and 64 MiB.
    package var segmentLength: Int?
    /// A group is written once it has so many bytes.
    package var groupLimit = 1 << 20
    /// Whether an opening fails, and changes nothing, where something acknowledged may be missing.
    package var refusesPossibleLoss = false
    /// Of a store that is made.
    package var environment = Manifest.Environment.development
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

    private let storage: any Storage
    private let options: JournalOptions
    /// Of the active segment. Nil until the first group of this opening needs one.
    private var file: (any StorageFile)?
    private var totals: SegmentTotals
    /// The active segment ends with a trailer, and the next one could not be begun yet.
    private var isSealed: Bool
    private var needsPreamble = false
    private var obsoleteFiles: ObsoleteFiles
    /// Watches over the manifest in force and the active segment.
    private var fence: any StorageFence
    /// The limit of segments that were dropped again: their files may still be there.
    private var droppedLimit = JournalOffset.zero

    private static let trailerLength =
        GroupHeader.frameLength + FrameFormat.frameLength(payload: Trailer.payloadLength)
    /// Goes on at `head`, where the last segment of `manifest` ends; none is active.
    init(
        _ manifest: Manifest, view: JournalView, head: JournalOffset, chain: UInt64,
        totals: SegmentTotals, obsoleteFiles: ObsoleteFiles, in storage: any Storage,
        options: JournalOptions
    ) throws(StorageError) {
        self.manifest = manifest
        self.view = view
        self.head = head
        self.chain = chain
        self.totals = totals
        isSealed = false
        self.obsoleteFiles = obsoleteFiles
        self.storage = storage
        self.options = options
        durableThrough = head
        droppedLimit = try obsoleteFiles.limit(in: storage)
        fence = try manifest.fence(in: storage)
    }

    /// What earlier processes had left and no reader uses, and is gone.
    var discardedFiles: [String] { obsoleteFiles.discarded }

    /// The longest payload of an entry: 16 MiB; where segments have a fixed length, a quarter of
    /// it.
    package var payloadLimit: Int {
        min(FrameFormat.payloadLimit, (options.segmentLength ?? .max) / 4)
    }

    /// Of a segment of a small store, in bytes.
    package var usualSegmentLength: Int { options.segmentLength ?? Self.leastSegment }

    package var identity: StoreIdentity { StoreIdentity(manifest) }
    package var clock: Clock { options.clock }
    package var randomness: Randomness { options.randomness }

    /// A group is written once it has so many bytes.
    package var groupLimit: Int {
        min(options.groupLimit, (options.segmentLength ?? Self.leastSegment) / 2)
    }

    /// Begins a group with room for at least `bytes`, in a new segment where this one is full.
    /// `preamble` gives what a segment begins with, in at most `limit` bytes.
    package mutating func beginGroup(
        roomFor bytes: Int, preamble: (_ limit: Int) -> [UInt8] = { _ in [] }
    ) throws(JournalError) -> GroupBuilder {
        if let poison { throw .poisoned(poison) }
        if file == nil { try reopenSegment() }
        var first = file == nil ? [] : firstPayload(preamble)
        let needed = leastGroup(for: bytes, behind: first) + Self.trailerLength
        if file == nil || isSealed || head.advanced(byBytes: needed) > limit {
            try beginSegment(roomFor: bytes)
            first = firstPayload(preamble)
        }
        let room = min(
            limit.bytes(since: head) - Self.trailerLength,
            max(groupLimit, leastGroup(for: bytes, behind: first)))
        var group = GroupBuilder(
            at: head, room: room, in: active, incarnation: manifest.incarnation,
            totals: totals)
        if !first.isEmpty { group.append(.preamble) { $0.append(first) } }
        return group
    }

    /// Writes a group. On a failure the group is not part of the journal, now or ever.
    package mutating func write(_ group: consuming GroupBuilder) throws(JournalError) {
        if let poison { throw .poisoned(poison) }
        precondition(group.base == head, "groups are written in order")
        var group = group
        group.finish(epoch: manifest.epoch, durableThrough: durableThrough, chain: chain)
        guard let file else { preconditionFailure("a group was begun, so there is a segment") }
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

    /// A place to which the journal can go back, as long as what was written behind it is part of a
    /// commit that is not complete.
    package struct Savepoint: Sendable {
        fileprivate let head: JournalOffset
        fileprivate let chain: UInt64
        fileprivate let totals: SegmentTotals
        fileprivate let segmentCount: Int
        fileprivate let isSealed: Bool
        fileprivate let needsPreamble: Bool
    }

    package var savepoint: Savepoint {
        Savepoint(
            head: head, chain: chain, totals: totals, segmentCount: manifest.segments.count,
            isSealed: isSealed, needsPreamble: needsPreamble)
    }

    /// Takes everything behind `savepoint` back, of which no reader has made anything yet: nothing
    /// of it is left. Where segments were begun since, the one before them is ended; where a full
    /// disk has no room for the manifest that says so, the entries stay, and mean nothing.
    package mutating func rollBack(to savepoint: Savepoint) throws(JournalError) {
        if let poison { throw .poisoned(poison) }
        let written = head
        if manifest.segments.count > savepoint.segmentCount {
            do {
                try dropSegments(behind: savepoint)
            } catch {
                guard case .storage = error else { throw error }
                return
            }
        }
        head = savepoint.head
        chain = savepoint.chain
        totals = savepoint.totals
        isSealed = file != nil && savepoint.isSealed
        needsPreamble = savepoint.needsPreamble
        if file != nil {
            guard written > head else { return }
            try retract(written.bytes(since: head))
        }
        durableThrough = head
    }

    private mutating func dropSegments(behind savepoint: Savepoint) throws(JournalError) {
        let dropped = manifest.segments[savepoint.segmentCount...]
        var next = manifest
        next.generation += 1
        next.segments.removeLast(dropped.count)
        if !next.segments.isEmpty {
            next.changeLast { last in
                last.finish(
                    as: .ended, at: savepoint.head, chain: savepoint.chain, savepoint.totals)
            }
        }
        try put(next)
        file = nil
        view.removeLast(dropped.count)
        for segment in dropped {
            view.files.forget(segment.fileName)
            droppedLimit = max(droppedLimit, segment.limit)
        }
        if let last = manifest.segments.last { view.relist(view.segments.count - 1, as: last) }
        // A reader by an older generation may be reading there. Then, and where the system refuses,
        // they cost room until the next opening, and nothing else.
        guard !obsoleteFiles.hasPinned else { return }
        dropped.delete(from: storage)
        guard let last = manifest.segments.last else { return }
        try? view.files.file(of: last, .blocking)
            .release(savepoint.head.bytes(since: last.base)..<last.lengthInBytes)
    }

    /// Everything written so far is durable when this returns.
    package mutating func sync() throws(JournalError) {
        if let poison { throw .poisoned(poison) }
        guard durableThrough < head, let file else { return }
        try poisoning { () throws(StorageError) in try file.sync() }
        durableThrough = head
    }

    /// Makes sure that the store is still this writer's. Where it is not, what was written and
    /// synced may be found by no later opening: nothing may be acknowledged any more.
    package mutating func checkFence() throws(JournalError) {
        if let poison { throw .poisoned(poison) }
        let fence = fence
        try poisoning { () throws(StorageError) in try fence.check() }
    }

    /// Tells readers up to where the journal is durable: by an empty group or, where there is no room
    /// for one, by the generation that lists the next segment and states where this one ends.
    package mutating func writeIdleGroup() throws(JournalError) {
        if let poison { throw .poisoned(poison) }
        // Of a segment that has only begun the manifest says it.
        guard file != nil, !needsPreamble else { return }
        let needed = GroupHeader.frameLength + Self.trailerLength
        guard !isSealed, head.advanced(byBytes: needed) <= limit else {
            return try beginSegment(roomFor: 0)
        }
        try write(try beginGroup(roomFor: 0))
    }

    /// Makes everything durable, and then a generation that states where the journal ends: the next
    /// opening finds nothing to decide, and misses what is lost before that end.
    ///
    /// Whatever fails, the store can be opened again afterwards.
    package mutating func close() throws(JournalError) {
        defer { storage.close() }
        try sync()
        // Where nothing was written, the manifest says it already.
        guard file != nil else { return }
        var next = manifest
        next.generation += 1
        next.changeLast { last in
            // Nothing is appended behind a trailer.
            last.finish(as: isSealed ? .ended : .closed, at: head, chain: chain, totals)
        }
        try put(next)
        file = nil
    }

    /// The preamble, where the next group is the first of its segment. While nothing has a name
    /// there is none.
    private func firstPayload(_ preamble: (_ limit: Int) -> [UInt8]) -> [UInt8] {
        guard needsPreamble else { return [] }
        let limit = SegmentHeader.preambleLimit(ofLength: active.lengthInBytes)
        let payload = preamble(limit)
        precondition(payload.count <= limit, "a preamble is longer than its limit")
        return payload
    }

    /// What a group takes that holds a preamble, if there is one, and `bytes` of entries.
    private func leastGroup(for bytes: Int, behind preamble: [UInt8]) -> Int {
        let preambleLength =
            preamble.isEmpty ? 0 : FrameFormat.frameLength(payload: preamble.count)
        return GroupHeader.frameLength + preambleLength + bytes
    }

    private var active: Manifest.Segment {
        guard let active = manifest.active else { preconditionFailure("no segment is active") }
        return active
    }
    private var limit: JournalOffset { active.limit }

    private func position(of offset: JournalOffset) -> Int { offset.bytes(since: active.base) }

    /// Writes a group that holds one frame of the journal's own.
    private mutating func write(
        with kind: EntryKind, payload: (inout ByteWriter) -> Void
    ) throws(JournalError) {
        var group = GroupBuilder(
            at: head, room: limit.bytes(since: head), in: active, incarnation: manifest.incarnation,
            totals: totals)
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
        guard let file else { preconditionFailure("what was written lies in a segment") }
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

    /// Goes on in the segment that a clean close ended, if there is one.
    private mutating func reopenSegment() throws(JournalError) {
        guard let last = manifest.segments.last, last.state == .closed else { return }
        var next = manifest
        next.generation += 1
        next.changeLast { $0.reopen() }
        let number = next.segments.count - 1
        let file = try view.files.file(of: next.segments[number], .blocking)
        try put(next)
        view.relist(number, as: active)
        self.file = file
        needsPreamble = totals.entryCount == 0
    }

    /// Begins a new segment. In this order, so that a crash anywhere leaves either journal whole:
    /// the old segment's trailer is durable, then the new file, then the manifest that names both.
    private mutating func beginSegment(
        roomFor bytes: Int, raisedAbove incarnation: UInt16? = nil
    ) throws(JournalError) {
        // The trailer comes first in the chain that the new header continues.
        if file != nil, !isSealed {
            try seal()
            try sync()
        }
        let last = manifest.segments.last
        let base = max(last?.limit ?? .zero, droppedLimit)
        var identity = identity
        if let incarnation {
            guard
                let raised = identity.raised(
                    above: incarnation, below: StoreIdentity.incarnationLimit, from: base,
                    options.randomness)
            else { throw .noIncarnation }
            identity = raised
        }
        let header = SegmentHeader(
            identity: identity, base: base,
            lengthInBytes: segmentLength(roomFor: bytes),
            salt: options.randomness.next(), epoch: manifest.epoch,
            predecessorBase: last?.base ?? .zero, predecessorEnd: head, chain: chain,
            created: clock.now())
        let new = try createSegment(header)
        do {
            try list(header)
        } catch {
            // Before the next try, which makes the file again; after a failed sync there is none.
            if case .storage = error { _ = try? storage.delete(header.fileName) }
            throw error
        }
        // The one before has an end now.
        let count = view.segments.count
        if count > 0 { view.relist(count - 1, as: manifest.segments[count - 1]) }
        view.add(header.manifestSegment)
        view.files.add(new, of: header.manifestSegment)
        file = new
        head = header.firstGroup
        durableThrough = head
        totals = SegmentTotals(after: totals)
        isSealed = false
        needsPreamble = true
    }

    /// Ends the segment that is written to, if anything was, or the compacted one that is the last:
    /// the next group goes to another one.
    package mutating func endSegment() throws(JournalError) {
        if let poison { throw .poisoned(poison) }
        if file == nil { try reopenSegment() }
        let isOver = file == nil ? !manifest.segments.isEmpty : isSealed || head > active.firstGroup
        if isOver { try beginSegment(roomFor: 0) }
    }

    /// Makes the versions of all that follows greater than those of a store with that incarnation, by
    /// a greater incarnation of this store: what follows lies in another segment. Does nothing where
    /// the store has one already.
    package mutating func raise(above incarnation: UInt16) throws(JournalError) {
        if let poison { throw .poisoned(poison) }
        if manifest.incarnation > incarnation { return }
        if file == nil { try reopenSegment() }
        try beginSegment(roomFor: 0, raisedAbove: incarnation)
    }

    /// Makes the manifest that lists a new segment.
    private mutating func list(_ header: SegmentHeader) throws(JournalError) {
        var next = manifest
        next.generation += 1
        next.incarnation = header.identity.incarnation
        next.ancestors = header.identity.ancestors
        if file != nil {
            next.changeLast { last in
                last.finish(as: .sealed, at: head, chain: chain, totals)
            }
        }
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
        // A new generation would hide that the one before it was taken.
        try checkFence()
        let name = next.fileName
        do {
            try storage.put(name, next.encoded())
        } catch {
            // A full disk shows before the name is there. Whatever else fails, the new generation
            // may or may not last; that it exists already means that another writer made it.
            if error.kind == .noSpace { throw .storage(error) }
            let isTaken = error.kind == .exists
            let reason = isTaken ? StorageError(.fencedOut, file: name) : error
            poison = reason
            throw .poisoned(reason)
        }
        obsoleteFiles.add(manifest)
        manifest = next
        do throws(StorageError) {
            fence = try next.fence(in: storage)
        } catch {
            poison = error
            throw .poisoned(error)
        }
        obsoleteFiles.clear(in: storage, beside: manifest)
    }

    /// Where the journal ends now. Nil where that is behind a trailer, since the next segment could
    /// not be begun, where the last segment is compacted or there is none, and where the writer is
    /// poisoned.
    package var position: JournalPosition? {
        if isSealed || poison != nil || manifest.segments.last?.isCompacted ?? true { return nil }
        return JournalPosition(offset: head, chain: chain, totals: totals)
    }

    /// Makes a generation that holds `checkpoint`, at a ``position`` of this writer's, now or
    /// earlier. Everything written so far is durable first, and the new generation says so.
    package mutating func take(_ checkpoint: Manifest.Checkpoint) throws(JournalError) {
        precondition(checkpoint.position.offset <= head, "a checkpoint lies behind the journal")
        try makeGeneration { $0.set(checkpoint) }
    }

    /// Makes a generation that `change` brings; it says that all that was written so far is
    /// durable, and that is.
    private mutating func makeGeneration(
        _ change: (inout Manifest) -> Void
    ) throws(JournalError) {
        try sync()
        var next = manifest
        next.generation += 1
        if file != nil {
            next.changeLast { last in
                last.end = head
                last.chainAtEnd = chain
            }
        }
        change(&next)
        try put(next)
    }

    /// Lists each of `compacted`, whose files are durable, instead of the segments in whose place it
    /// stands; returns the names of the files that are listed no more.
    ///
    /// What supersedes the entries that they have no more is durable before the generation is.
    package mutating func list(
        _ compacted: [Manifest.Segment]
    ) throws(JournalError) -> [String] {
        var view = view
        var gone: [Manifest.Segment] = []
        try makeGeneration { next in
            for segment in compacted {
                let range = next.segments(from: segment.base, to: segment.end)
                gone += next.segments[range]
                next.segments.replaceSubrange(range, with: [segment])
                view.replace(range, with: segment)
            }
        }
        self.view = view
        let listed = Set(compacted.map(\.fileName))
        return gone.map(\.fileName).filter { !listed.contains($0) }
    }

    /// A number that no file of the store has or had, `count` being how many this generation gave.
    package func fileNumber(_ count: Int) -> UInt64 { manifest.generation << 16 | UInt64(count) }

    /// These files are needed no longer: each is deleted as soon as no generation names it, older
    /// ones that a reader has pinned included. Returns what is gone.
    package mutating func release(_ files: [String]) -> [String] {
        obsoleteFiles.release(files)
        // After a failure it is open which generation is in force.
        if poison != nil { return [] }
        let gone = obsoleteFiles.clear(in: storage, beside: manifest)
        for name in gone { view.files.forget(name) }
        return gone
    }

    private func segmentLength(roomFor bytes: Int) -> Int {
        // Whatever the size of the store, the group that asks for room fits.
        let overhead = SegmentHeader.length + 2 * GroupHeader.frameLength + Self.trailerLength
        var length = options.segmentLength ?? Self.leastSegment
        let share = manifest.lengthInBytes / 16
        while length < bytes + overhead + preambleLength(inSegmentOf: length)
            || (options.segmentLength == nil && length * 2 <= share
                && length < Self.greatestSegment)
        {
            length *= 2
        }
        return length
    }

    /// Of the frame, at most.
    private func preambleLength(inSegmentOf length: Int) -> Int {
        FrameFormat.frameLength(payload: SegmentHeader.preambleLimit(ofLength: length))
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
        base == segment.base && identity.storeID == storeID && salt == segment.salt
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

extension Sequence<Manifest.Segment> {
    /// Of their files together.
    package var lengthInBytes: Int { reduce(0) { $0 + $1.lengthInBytes } }

    /// Deletes their files as far as the system lets it: nothing refers to them.
    package func delete(from storage: any Storage) {
        for segment in self { _ = try? storage.delete(segment.fileName) }
    }
}

extension Manifest {
    /// Watches over this generation and its active segment.
    fileprivate func fence(in storage: any Storage) throws(StorageError) -> any StorageFence {
        try storage.fence(
            holding: [fileName] + (active.map { [$0.fileName] } ?? []),
            without: Self.fileName(generation: generation + 1))
    }

    /// Of all segments together.
    package var lengthInBytes: Int { segments.lengthInBytes }

    /// The numbers of the segments that lie between two offsets.
    fileprivate func segments(from base: JournalOffset, to end: JournalOffset) -> Range<Int> {
        let first = segments.firstIndex { $0.base >= base } ?? segments.count
        return first..<(segments.firstIndex { $0.base >= end } ?? segments.count)
    }
}
