internal import StratusArchive
internal import StratusAssets
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// What a restore made.
public struct RestoreReport: Hashable, Sendable {
    /// 32 hexadecimal digits.
    public var storeID: String
    /// Up to here the store is the one that was copied, as an offset.
    public var offset: UInt64
    /// How many zones there are.
    public var zoneCount: Int
    /// How many records are in them.
    public var recordCount: Int
    /// Whether the content hash of each zone was compared with the one that the archive states or,
    /// of another state than its last and of a copy, that the source has. False where there is no
    /// zone. Content hashes have the addresses of chunks of assets; of an archive the bytes of all
    /// chunks were compared with those.
    public var isProved: Bool
    /// What others than owners may do in it; of a clone nothing, unless it was made with access.
    public var access: [RestoredAccess] = []
    /// How long it took; of a rehearsal, without the reading of what came out.
    public var duration: Duration = .zero
}

extension Archive {
    /// Makes the store that the archive holds in the directory `path`, which must not exist. It is
    /// there, whole and durable, when this returns, or not at all.
    ///
    /// The store is the same as before: change tags, and change tokens from up to the moment of the
    /// archive, stay good. Those that were handed out later are refused, since the store now goes
    /// another way. Never use it beside the original as if it were another store: that is what
    /// `cloning` is for.
    ///
    /// - Parameters:
    ///   - point: which state: that at a mark or, of an archive with history, one from its floor on;
    ///     nil: the last one.
    ///   - cloning: makes another store with the same content: no token of the original is good in
    ///     it. Users keep their names; shares are ended and roles taken back.
    ///   - keepingAccess: of a clone: what was shared stays so, and users keep their roles.
    ///   - progress: is told how much was copied, in bytes.
    ///   - indexing: then, how much of the journal of what came out was read for its index.
    ///   - proving: at last, how many records were read to be compared.
    /// - Throws: ``StoreError`` with the cause `damaged` where the archive is not what was written,
    ///   `invalidArguments` where it has some zones only, `changeTokenExpired` with the cause
    ///   `changeToken(.compacted)` where `point` is not in it.
    @discardableResult
    public nonisolated(nonsending) func restore(
        to path: String, at point: PastPoint? = nil, cloning: Bool = false,
        keepingAccess: Bool = false,
        progress: @escaping Container.ReadingProgress = { _, _ in },
        indexing: @escaping Container.ReadingProgress = { _, _ in },
        proving: @escaping Container.RecordProgress = { _, _ in }
    ) async throws(StoreError) -> RestoreReport {
        let restoration = try await restoration(
            at: point, StoreRestoration.Kind(cloning: cloning, keepingAccess),
            StoreRestoration.Progress(copying: progress, indexing: indexing, proving: proving))
        return try await restoration.source.answer {
            () async throws(EngineError) -> RestoreReport in
            try await restoration.run(path, on: fileSystem)
        }
    }

    /// Does all that ``restore(to:at:cloning:keepingAccess:progress:indexing:proving:)`` would do,
    /// beside `path`, reads every byte of the store that comes out, and deletes it. Takes the room of a
    /// restored store meanwhile.
    ///
    /// - Returns: what the restore would report, and how long it would take.
    /// - Throws: ``StoreError`` as the restore.
    public nonisolated(nonsending) func rehearseRestore(
        to path: String, at point: PastPoint? = nil,
        progress: @escaping Container.ReadingProgress = { _, _ in },
        indexing: @escaping Container.ReadingProgress = { _, _ in },
        proving: @escaping Container.RecordProgress = { _, _ in }
    ) async throws(StoreError) -> RestoreReport {
        let restoration = try await restoration(
            at: point, .restored,
            StoreRestoration.Progress(copying: progress, indexing: indexing, proving: proving))
        return try await restoration.source.answer {
            () async throws(EngineError) -> RestoreReport in
            try await restoration.rehearse(path, on: fileSystem, scratch: scratch)
        }
    }

    /// What ``restore(to:at:cloning:keepingAccess:progress:indexing:proving:)`` would make. That the
    /// archive is whole is not proved.
    ///
    /// - Throws: ``StoreError`` as the restore, also where the directory could not be made.
    package nonisolated(nonsending) func restorePlan(
        to path: String, at point: PastPoint? = nil, cloning: Bool = false,
        keepingAccess: Bool = false
    ) async throws(StoreError) -> StoreRestorePlan {
        let restoration = try await restoration(
            at: point, StoreRestoration.Kind(cloning: cloning, keepingAccess),
            StoreRestoration.Progress())
        return try await answering { () async throws(EngineError) -> StoreRestorePlan in
            try await restoration.plan(path, on: fileSystem)
        }
    }

    private nonisolated(nonsending) func restoration(
        at point: PastPoint?, _ kind: StoreRestoration.Kind, _ progress: StoreRestoration.Progress
    ) async throws(StoreError) -> StoreRestoration {
        let source = try await container(memoryLimit: Self.restoringMemory)
        guard source.recoveryReport.manifestDamage == nil else { throw manifestDamage }
        return StoreRestoration(
            source: source, isOfArchive: true, snapshot: try await source.snapshot(orAt: point),
            kind: kind, expected: point == nil ? last : nil, progress: progress)
    }

    /// What the source of a restore may take of memory, in bytes, and what comes out as much again.
    private static let restoringMemory = 24 << 20

    /// That the manifest in the archive is damaged, whose own damage names a file as if that were one of
    /// the store.
    var manifestDamage: StoreError {
        StoreError(ArchiveDamage(.archive(.part), file: last.name, byte: 0))
    }
}

extension Container {
    /// Makes a copy of the store, as it is now, in the directory `path`, which must not exist.
    /// Commits and readers go on meanwhile.
    ///
    /// The copy is of the same store and goes its own way from here on: neither takes change tokens
    /// that the other hands out later. With `cloning` it is another store, with `keepingAccess` as of
    /// ``Archive/restore(to:at:cloning:keepingAccess:progress:indexing:proving:)``.
    ///
    /// - Throws: ``StoreError`` with the cause `damaged` where something cannot be read.
    @discardableResult
    public nonisolated(nonsending) func copy(
        to path: String, cloning: Bool = false, keepingAccess: Bool = false,
        progress: @escaping ReadingProgress = { _, _ in },
        indexing: @escaping ReadingProgress = { _, _ in },
        proving: @escaping RecordProgress = { _, _ in }
    ) async throws(StoreError) -> RestoreReport {
        try await answer { () async throws(EngineError) -> RestoreReport in
            let source = try await steadySource()
            let restoration = StoreRestoration(
                source: source, isOfArchive: false, snapshot: source.snapshot(),
                kind: StoreRestoration.Kind(cloning: cloning, keepingAccess), expected: nil,
                progress: StoreRestoration.Progress(
                    copying: progress, indexing: indexing, proving: proving))
            return try await restoration.run(path, on: foundation.storage.fileSystem)
        }
    }

    /// Of the newest state, or of an earlier one.
    fileprivate nonisolated(nonsending) func snapshot(
        orAt point: PastPoint?
    ) async throws(StoreError) -> Snapshot {
        if let point { try await snapshot(at: point) } else { snapshot() }
    }
}

/// Makes a store of a state of another one.
private struct StoreRestoration: Sendable {
    /// What comes out.
    enum Kind {
        /// The same store.
        case restored
        case clone(keepsAccess: Bool)

        init(cloning: Bool, _ keepsAccess: Bool) {
            self = cloning ? .clone(keepsAccess: keepsAccess) : .restored
        }
    }

    /// What is told how far each part has come; they follow each other.
    struct Progress {
        var copying: Container.ReadingProgress = { _, _ in }
        var indexing: Container.ReadingProgress = { _, _ in }
        var proving: Container.RecordProgress = { _, _ in }
    }

    /// Opened for reading.
    let source: Container
    let isOfArchive: Bool
    let snapshot: Snapshot
    let kind: Kind
    /// The archive that says what must come out; nil: what the source has.
    let expected: ArchiveFile?
    let progress: Progress

    nonisolated(nonsending) func run(
        _ path: String, on system: any FileSystem
    ) async throws(EngineError) -> RestoreReport {
        try await make(path, on: system) { directory in
            try making(path) { () throws(SystemError) in try directory.place() }
        }
    }

    /// Makes the store, verifies it and deletes it.
    nonisolated(nonsending) func rehearse(
        _ path: String, on system: any FileSystem, scratch: String
    ) async throws(EngineError) -> RestoreReport {
        try await make(path, on: system) { directory in
            let storage = try LocalStorage(at: directory.temporaryPath, .reading, on: system)
            defer { storage.close() }
            let result = try StoreVerification(
                storage, source.foundation.registry, scratch: scratch)
            if let finding = result.findings.first { throw StoreError(madeWith: finding) }
            directory.discard()
        }
    }

    /// What would be made, where it can be.
    nonisolated(nonsending) func plan(
        _ path: String, on system: any FileSystem
    ) async throws(EngineError) -> StoreRestorePlan {
        try checkSource()
        return try await source.threads.run { [self] in
            try making(path) { () throws(SystemError) in
                try FreshDirectory.check(path, on: system)
            }
            let keepsAccess =
                if case .clone(let keepsAccess) = kind { keepsAccess } else { true }
            return try StoreRestorePlan(
                of: source, to: min(snapshot.end, snapshot.state.fold.end).rawValue,
                snapshot.reading(),
                zones: source.zoneSummary(at: snapshot, contentHashes: false),
                keepsAccess: keepsAccess)
        }
    }

    private func checkSource() throws(EngineError) {
        guard source.foundation.selection == nil else {
            throw .refused(
                .invalidArguments,
                "the archive has some zones of a store, and no store can be made of it: bring its "
                    + "zones back into one")
        }
    }

    /// Makes the store beside `path` and gives it to `end`, which places or deletes it.
    private nonisolated(nonsending) func make(
        _ path: String, on system: any FileSystem,
        _ end: @escaping @Sendable (FreshDirectory) throws -> Void
    ) async throws(EngineError) -> RestoreReport {
        try checkSource()
        let start = Clock.monotonicNanoseconds
        return try await FreshDirectory.filled(path, on: system, source.threads) {
            directory async throws(EngineError) in
            let copied = try await fill(directory.temporaryPath, on: system)
            var report = try await finish(directory.temporaryPath, copied, on: system)
            report.duration = .nanoseconds(Clock.monotonicNanoseconds - start)
            try await source.threads.run { try end(directory) }
            return report
        }
    }

    /// Returns where what was copied ends.
    private nonisolated(nonsending) func fill(
        _ path: String, on system: any FileSystem
    ) async throws(EngineError) -> JournalOffset {
        try await source.threads.run { [self] in
            let storage = try LocalStorage(at: path, .writing(creating: false), on: system)
            defer { storage.close() }
            let foundation = source.foundation
            let randomness = foundation.options.randomness
            var copy = StoreCopy(
                of: snapshot.state, to: snapshot.end, keepsHistory: true,
                try foundation.assets.chunks(), foundation.registry, foundation.budget,
                randomness)
            copy.verifiesChunks = isOfArchive
            var identity = try snapshot.state.identity.continued(behind: copy.end, randomness)
            if case .clone = kind {
                identity = identity.cloned(randomness)
                copy.refusesTokens = true
            }
            let sink = StorageSink(storage)
            let copied = progress.copying
            _ = try copy.run(into: sink, as: identity) { done, total throws(EngineError) in
                copied(done, total)
            }
            try sink.finish()
            return copy.end
        }
    }

    /// Opens what was made, which proves the journal, and compares what is in it with what should be.
    private nonisolated(nonsending) func finish(
        _ path: String, _ end: JournalOffset, on system: any FileSystem
    ) async throws(EngineError) -> RestoreReport {
        let foundation = source.foundation
        let store = try await source.threads.run {
            try Container(
                writing: StoreFoundation(
                    LocalStorage(at: path, .writing(creating: false), on: system),
                    foundation.registry, memoryLimit: foundation.budget.limit,
                    threads: foundation.threads),
                creating: false, durability: .full, options: foundation.options, driver: .thread,
                rebuilding: Rebuilding(progress: progress.indexing))
        }
        do throws(EngineError) {
            let engine = try store.engine()
            // From here on the source had all states that it says it keeps.
            let floor = min(snapshot.state.fold.history.floor ?? end, end)
            try await store.keepHistory(from: floor)
            if end < snapshot.state.fold.end {
                try await source.threads.run { [self] in
                    try forgetMarks(of: store, before: floor)
                    try forgetDeletions(of: store, before: end)
                    try placeChunks(of: store)
                }
            }
            // What follows lies in a segment of the store's own, in which the next opening begins.
            try await engine.writeCheckpoint(endingSegment: true)
            var report = try await source.threads.run { [self] in try compare(store, end) }
            report.access = try await store.restoredAccess()
            if case .clone(keepsAccess: false) = kind {
                report.recordCount -= try await store.removeAccess(report.access)
                report.access = []
            }
            try await engine.close()
            return report
        } catch {
            try? await store.close()
            throw error
        }
    }

    private func compare(_ store: Container, _ end: JournalOffset) throws -> RestoreReport {
        let tally: ZoneTally
        let isProved: Bool
        if let expected {
            isProved = expected.table.statesContents
            tally = try store.compareZones(
                at: store.snapshot(), with: expected, progress: progress.proving)
        } else {
            let wanted = try source.zoneSummary(
                at: snapshot, contentHashes: true, progress: progress.proving)
            isProved = !wanted.isEmpty
            let before = wanted.reduce(0) { $0 + $1.recordCount }
            var rest = wanted[...]
            let found = try store.tally(store.snapshot(), contentHashes: true) { done, _ in
                progress.proving(before + done, nil)
            } where: {
                $0.isLike(rest.popFirst())
            }
            guard let found, rest.isEmpty else {
                throw StoreError(
                    .internalError, "a zone came out different from what the source has")
            }
            tally = found
        }
        return RestoreReport(
            storeID: store.identity.storeID.description, offset: end.rawValue,
            zoneCount: tally.zones, recordCount: tally.records, isProved: isProved)
    }
}

/// How many zones there are, and records in them.
struct ZoneTally: Sendable {
    var zones = 0
    var records = 0
}

extension Container {
    /// Compares all zones with what an archive states of them.
    ///
    /// - Throws: ``ArchiveDamage`` where they are others, or have other records.
    @discardableResult
    func compareZones(
        at snapshot: Snapshot, with archive: ArchiveFile, progress: RecordProgress = { _, _ in }
    ) throws -> ZoneTally {
        var stated = archive.zones()
        var failure: (any Error)?
        let tally = try tally(
            snapshot, contentHashes: archive.table.statesContents, progress: progress
        ) { zone in
            do {
                return zone.isLike(try stated.next())
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
        guard let tally, try stated.next() == nil else { throw archive.zonesDamage }
        return tally
    }

    /// Counts zones and records; nil where there is a zone that is not `asExpected`.
    fileprivate func tally(
        _ snapshot: Snapshot, contentHashes: Bool, progress: RecordProgress,
        where asExpected: (ArchiveTable.Zone) -> Bool
    ) throws(EngineError) -> ZoneTally? {
        var tally = ZoneTally()
        var isGood = true
        try forEachZone(
            at: snapshot, contentHashes: contentHashes, of: foundation.selection,
            progress: progress
        ) { zone throws(EngineError) in
            isGood = isGood && asExpected(zone)
            tally.zones += 1
            tally.records += zone.recordCount
        }
        return isGood ? tally : nil
    }
}

extension FreshDirectory {
    /// Gives `body` a new directory that is to be named `path`, to fill and to place or discard; it is
    /// discarded where that fails.
    nonisolated(nonsending) static func filled<Result>(
        _ path: String, on system: any FileSystem, _ threads: IOThreads,
        _ body: nonisolated(nonsending) (FreshDirectory) async throws(EngineError) -> Result
    ) async throws(EngineError) -> Result {
        let directory = try await threads.run {
            try making(path) { () throws(SystemError) in try FreshDirectory(path, on: system) }
        }
        do throws(EngineError) {
            return try await body(directory)
        } catch {
            directory.discard()
            throw error
        }
    }
}

extension Container {
    /// States the history policy of a store that was made of another one anew, if states from before
    /// `floor` are not all there.
    nonisolated(nonsending) func keepHistory(
        from floor: JournalOffset
    ) async throws(EngineError) {
        let history = state.fold.history
        guard let first = history.floor, first < floor else { return }
        _ = try await engine().commit(HistoryPolicyRequest.keeping(history.policy, from: floor))
    }
}

extension StoreError {
    /// That a store which was made is not whole.
    init(madeWith finding: StoreVerification.Finding) {
        let place = finding.place
        self.init(
            .internalError,
            "the store that came out is damaged: \(place.file), byte \(place.byte): \(place.kind)")
    }
}

// What became since of the state that was copied, of which the copy has no entries.
extension StoreRestoration {
    /// Removes marks that the source has no longer: of states before `floor` only those at marks
    /// that it has were copied.
    private func forgetMarks(
        of store: Container, before floor: JournalOffset
    ) throws(EngineError) {
        let engine = try store.engine()
        let kept = Set(snapshot.state.fold.history.points.marks)
        for mark in try store.reading.waiting.marks() {
            let offset = JournalOffset(rawValue: mark.offset)
            if offset >= floor || kept.contains(offset.previous.rawValue) { continue }
            _ = try engine.commitBlocking(MarkRemoval(offset: offset))
        }
    }

    /// Forgets deletions that the source has forgotten: who has a token from before them would
    /// never be told of them.
    private func forgetDeletions(
        of store: Container, before end: JournalOffset
    ) throws(EngineError) {
        let engine = try store.engine()
        let source = StoreReading(snapshot.state, .blocking, at: end)
        while let commit = try HorizonCommit(bringing: store.reading.waiting, to: source) {
            _ = try engine.commitBlocking(commit)
        }
    }

    /// So many chunks are told of in one commit.
    private static let batchLimit = 1 << 14

    /// Says where chunks lie that the source has moved, and that those are gone which it
    /// reclaimed: they were copied to where they lie in its last state.
    private func placeChunks(of store: Container) throws(EngineError) {
        let engine = try store.engine()
        let source = StoreReading(snapshot.state, .blocking)
        var moved: [(old: ChunkEntry.Row, new: ChunkLocation)] = []
        var gone: [ChunkEntry.Row] = []
        func commit() throws(EngineError) {
            _ = try engine.commitBlocking(MovedChunksCommit(moved: moved))
            _ = try engine.commitBlocking(ReclaimedChunksCommit(rows: gone))
            moved.removeAll(keepingCapacity: true)
            gone.removeAll(keepingCapacity: true)
        }
        try store.reading.waiting.forEachChunk { address, place throws(EngineError) in
            let row: ChunkEntry.Row = (address, place)
            if let newest = try source.location(of: address) {
                if newest != place { moved.append((row, newest)) }
            } else {
                gone.append(row)
            }
            if moved.count + gone.count == Self.batchLimit { try commit() }
        }
        try commit()
    }
}

extension ArchiveTable.Zone {
    /// The same; of their contents that counts only where both have one.
    fileprivate func isLike(_ other: ArchiveTable.Zone?) -> Bool {
        guard let other else { return false }
        let isSame = content == other.content || content == nil || other.content == nil
        return isSame && owner == other.owner && name == other.name
            && recordCount == other.recordCount
    }
}
