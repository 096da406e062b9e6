package import StratusAssets
internal import StratusBytes
package import StratusFiles
package import StratusIndex
package import StratusJournal

/// Writes what is needed of a store as of one commit elsewhere: into an archive, or into the directory
/// of another store.
///
/// What is needed is what a compaction would keep at that commit, but for the devices: no copy sends
/// pushes to those of another store. Offsets, versions and payloads
/// stay what they are; chunks of assets keep the places that they have in the last state. So what
/// comes out is a store. Where it ends before the last state, commits must follow that say what
/// became of chunks, deletions and marks since.
package struct StoreCopy {
    private let state: StoreState
    private let chunks: ChunkStore
    private let registry: ProjectionRegistry
    /// Behind the last commit that is copied.
    package let end: JournalOffset
    /// Where the copy begins.
    private let start: SegmentCopier.Place?
    /// At which the copy can be read.
    package let points: NeededPoints
    /// The zones that are copied, for an archive; nil: the whole store.
    package var selected: SelectedZones?
    /// Whether no token of the store, or of one that a zone of it was restored from, is to be good in
    /// the copy.
    package var refusesTokens = false
    /// Whether each chunk must have the bytes that its address says: of a source that others may have
    /// made.
    package var verifiesChunks = false
    private let clearedBefore: JournalOffset
    private let randomness: Randomness
    private let offsetLimit: Int
    private let chunkLimit: Int

    /// - Parameters:
    ///   - state: in which nothing that is needed goes away meanwhile: it is pinned.
    ///   - end: right behind a commit; nil: the last one.
    ///   - start: where an earlier copy ended, of which this one is the continuation; nil: none.
    ///   - keepsHistory: whether every state of the history that is kept can be read in the copy.
    package init(
        of state: StoreState, to end: JournalOffset? = nil, from start: SegmentCopier.Place? = nil,
        keepsHistory: Bool, _ chunks: ChunkStore, _ registry: ProjectionRegistry,
        _ budget: MemoryBudget, _ randomness: Randomness
    ) {
        self.state = state
        self.chunks = chunks
        self.registry = registry
        self.randomness = randomness
        // A copy of an empty store has nothing, and says nothing of the journal.
        let start = start.flatMap { $0.offset == .zero ? nil : $0 }
        self.start = start
        let end = min(end ?? state.fold.end, state.fold.end)
        self.end = end
        let kept = state.fold.history.points
        // Of the time before, the earlier copy has it.
        let first = start?.offset.previous.rawValue ?? 0
        let floor =
            keepsHistory ? kept.floor.map { min(max($0, first), end.previous.rawValue) } : nil
        points = NeededPoints(
            [end.previous.rawValue], marks: kept.marks.filter { $0 < end.rawValue }, floor: floor)
        clearedBefore = floor.map { JournalOffset(rawValue: $0).next } ?? end
        offsetLimit = max(1 << 14, budget.limit / 8 / MemoryLayout<UInt64>.size)
        chunkLimit = max(1 << 12, budget.limit / 8 / MemoryLayout<ChunkEntry.Row>.size)
    }

    /// The first state that can be read in the copy.
    package var floor: JournalOffset { clearedBefore }

    /// What was copied.
    package struct Outcome: Sendable {
        /// Where the copy ends.
        package var end: SegmentCopier.Place
        /// The manifest of the store that it is.
        package var manifest: Manifest
    }

    /// Copies everything. `sink` has all of it when this returns, but for its own end.
    ///
    /// - Parameters:
    ///   - base: the manifest of the copy that this one goes on from.
    ///   - identity: that of the store that comes out.
    ///   - progress: is told how many bytes were read, of about how many; it may end all by throwing.
    /// - Throws: ``EngineError``: ``JournalError/historyChanged`` where the journal is not the one that
    ///   was copied before.
    package func run(
        into sink: any FileSink, behind base: Manifest? = nil, as identity: StoreIdentity,
        progress: @escaping (_ done: Int, _ total: Int) throws(EngineError) -> Void
    ) throws(EngineError) -> Outcome {
        if let start { try checkHorizons(behind: start.offset) }
        let chunkCopy = chunkCopy(for: identity)
        let portions = try chunkCopy.portions()
        let from = start?.offset ?? .zero
        let total = end.bytes(since: min(from, end)) + portions.values.reduce(0) { $0 + $1.bytes }
        var manifest = Manifest(copying: identity, behind: base)
        var offsets = NeededOffsets(from: from, limit: offsetLimit, forEachNeeded)
        var failure: EngineError?
        var copier = SegmentCopier(
            state.view, of: identity.storeID, head: end, clearedBefore: clearedBefore,
            firstNumber: manifest.generation << 16 | 1, usualLength: 16 << 20,
            leavesOut: selected != nil, randomness: randomness,
            begin: sink.draft)
        let place: SegmentCopier.Place
        do throws(JournalError) {
            var count = 0
            place = try copier.copy(from: start) { entry throws(JournalError) in
                do throws(EngineError) {
                    count += 1
                    if count % 4096 == 0 { try progress(entry.offset.bytes(since: from), total) }
                    switch try offsets.take(entry.offset) {
                    case .isNeeded: return try rewrite(&entry) ? .isNamed : .isLeftOut
                    case .isNot:
                        guard registry.isAlwaysKept(entry.kind) else { return .isDropped }
                        return try rewrite(&entry) ? .isKept : .isLeftOut
                    case .isMissing(let offset): throw missing(offset)
                    }
                } catch {
                    failure = error
                    throw .closed
                }
            }
        } catch {
            throw failure ?? EngineError(error)
        }
        if let offset = try offsets.rest(before: end) { throw missing(offset) }
        if let start, let first = copier.outputs.first, first.base > start.offset,
            let last = manifest.segments.indices.last
        {
            // A recovery ended the journal there: what it lost stays in a gap.
            manifest.segments[last].state = .compactedEnded
        }
        manifest.segments += copier.outputs
        try chunkCopy.run(portions, into: sink) { done throws(EngineError) in
            try progress(end.bytes(since: min(from, end)) + done, total)
        }
        // Without it the rest is no store.
        try sink.put(manifest)
        try progress(total, total)
        return Outcome(end: place, manifest: manifest)
    }

    /// Makes an entry what the copy has of it; false: it has nothing.
    private func rewrite(_ entry: inout JournalEntry) throws(EngineError) -> Bool {
        do throws(FormatError) {
            if refusesTokens { entry = try entry.withoutTokens(randomness) }
            guard let selected else { return true }
            return try registry.select(&entry, by: selected)
        } catch {
            throw .journal(JournalError(entry.damage(JournalDamage.Kind(error))))
        }
    }

    private func missing(_ offset: UInt64) -> EngineError {
        .journal(
            JournalError(
                state.view.damage(.compacted("missing"), at: JournalOffset(rawValue: offset))))
    }

    private func forEachNeeded(_ body: (UInt64) -> Void) throws(EngineError) {
        var needed = NeededRows(
            state.fold.index, at: points, from: start?.offset.rawValue ?? 0,
            horizonsBefore: end.rawValue, passingOver: registry.keyspacesNamingNothing)
        var rows: [NeededRows.Row] = []
        do throws(IndexError) {
            while try needed.next(into: &rows) {
                for row in rows
                where row.value.stamp < end.rawValue && !registry.staysWithStore(row.key)
                    && registry.bytesNamed(by: row.key, row.value) != nil
                {
                    body(row.value.stamp)
                }
            }
        } catch {
            throw EngineError(error)
        }
    }

    /// A deletion that is forgotten must be one that the earlier copy knows of.
    private func checkHorizons(behind start: JournalOffset) throws(EngineError) {
        let reading = StoreReading(state, .blocking)
        for number in 1..<max(1, reading.zoneCount + 1) {
            guard selected?.contains(zone: number) ?? true, let zone = try reading.zone(number),
                try reading.horizon(of: zone).offset >= start
            else { continue }
            throw .other(CopyRefusal.forgotten(through: try reading.horizon(of: zone).offset))
        }
    }
}

/// Why a store is not copied.
package enum CopyRefusal: Error {
    /// The copy that was to be continued does not know of deletions that are forgotten by now.
    case forgotten(through: JournalOffset)
}

// Chunks of assets.
extension StoreCopy {
    /// Of chunks that were stored, or moved, since the copy begins.
    private func chunkCopy(for identity: StoreIdentity) -> ChunkCopy {
        ChunkCopy(
            limit: chunkLimit, sharing: chunks.storage,
            header: { number throws(EngineError) in
                try held { () throws(ChunkError) in
                    try chunks.header(ofSegment: number, for: identity.idBits)
                }
            },
            frame: { address, place throws(EngineError) in
                try held { () throws(ChunkError) in
                    try chunks.storedFrame(address, at: place, verifyingAddress: verifiesChunks)
                }
            },
            rows: forEachChunk)
    }

    /// What `body` reads of a chunk segment. The state that is copied is pinned: where it needs a file
    /// that is not there, the store is damaged.
    private func held<Value>(
        _ body: () throws(ChunkError) -> Value
    ) throws(EngineError) -> Value {
        do throws(ChunkError) {
            return try body()
        } catch .storage(let error) where error.kind == .notFound {
            throw .chunk(.damaged(ChunkDamage(.missing, file: error.file, byte: 0)))
        } catch {
            throw EngineError(error)
        }
    }

    /// Those that there were at the end of the copy, where they lie by now: a collection may have
    /// moved them since. What it reclaimed since, no state that is copied needs.
    private func forEachChunk(
        _ body: (ChunkAddress, ChunkLocation) throws(EngineError) -> Void
    ) throws(EngineError) {
        let newest = StoreReading(state, .blocking)
        let copied = newest.looking(from: end)
        let isNewest = end == state.fold.end
        try newest.forEachChunk(since: start?.offset ?? .zero) {
            address, place throws(EngineError) in
            if let selected, !selected.mayNeed(address) { return }
            if !isNewest, try copied.location(of: address) == nil { return }
            try body(address, place)
        }
    }
}

extension FileSink {
    func put(_ manifest: Manifest) throws(EngineError) {
        do throws(StorageError) {
            try put(manifest.fileName, manifest.encoded())
        } catch {
            throw EngineError(error)
        }
    }
}

extension Manifest {
    /// That of a copy, behind what an earlier copy had.
    init(copying identity: StoreIdentity, behind base: Manifest?) {
        self.init(
            generation: (base?.generation ?? 0) + 1, storeID: identity.storeID,
            secret: identity.secret, userSeed: identity.userSeed,
            incarnation: identity.incarnation, lineage: identity.lineage,
            ancestors: identity.ancestors, environment: identity.environment, epoch: 0,
            created: identity.created, segments: base?.segments ?? [])
        features = identity.features
    }
}

extension StoreIdentity {
    /// That of a copy that goes its own way behind `end`.
    ///
    /// - Throws: `JournalError.noIncarnation` where there is no number left for it.
    package func continued(
        behind end: JournalOffset, above other: UInt16 = 0, _ randomness: Randomness
    ) throws(EngineError) -> StoreIdentity {
        var past = self
        for place in past.ancestors.indices {
            past.ancestors[place].end = min(past.ancestors[place].end, end)
        }
        // Two copies of one store seldom have the same number, and never the same lineage.
        guard var identity = past.raised(above: other, from: end, randomness) else {
            throw .journal(.noIncarnation)
        }
        identity.lineage = randomness.next()
        return identity
    }

    /// That of another store with the same content: nothing that the old one handed out is good in
    /// it, but for the names of users.
    package func cloned(_ randomness: Randomness) -> StoreIdentity {
        var identity = self
        identity.storeID = StoreID(high: randomness.next(), low: randomness.next())
        return identity
    }

    /// That of a copy in which something may be missing: tokens of the original are refused, so that
    /// clients read feeds anew and come to what is there.
    ///
    /// - Parameter other: the greatest incarnation of an entry: that of the store may be lost.
    func salvaged(
        to end: JournalOffset, above other: UInt16, _ randomness: Randomness
    ) throws(EngineError) -> StoreIdentity {
        var identity = try continued(behind: end, above: other, randomness)
        for place in identity.ancestors.indices {
            identity.ancestors[place].lineage = randomness.next()
        }
        return identity
    }
}
