internal import StratusArchive
internal import StratusFiles
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
    /// Whether the content hash of each zone was compared with the one that the archive states.
    public var isProved: Bool
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
    ///   - point: which state, of an archive with history; nil: the last one.
    ///   - cloning: makes another store with the same content: no token of the original is good in
    ///     it. Users keep their names.
    /// - Throws: ``StoreError`` with the cause `damaged` where the archive is not what was written,
    ///   `changeTokenExpired` with the cause `changeToken(.compacted)` where `point` is not in it.
    @discardableResult
    public nonisolated(nonsending) func restore(
        to path: String, at point: PastPoint? = nil, cloning: Bool = false,
        progress: @escaping Container.ReadingProgress = { _, _ in }
    ) async throws(StoreError) -> RestoreReport {
        let table = last.table
        let source = try await container()
        let snapshot = try await source.snapshot(orAt: point)
        return try await answering { () async throws(EngineError) -> RestoreReport in
            guard snapshot.offset >= table.floor else {
                throw .refused(
                    .expired(.compacted, "the archive has no state from before \(table.floor)"))
            }
            let restoration = StoreRestoration(
                source: source, snapshot: snapshot, floor: table.floor,
                keepsHistory: table.keepsHistory, isClone: cloning,
                expected: point == nil ? table.zones : nil, progress: progress)
            return try await restoration.run(path, on: storage.fileSystem)
        }
    }
}

extension Container {
    /// Makes a copy of the store, as it is now, in the directory `path`, which must not exist.
    /// Commits and readers go on meanwhile.
    ///
    /// The copy is of the same store and goes its own way from here on: neither takes change tokens
    /// that the other hands out later. With `cloning` it is another store.
    ///
    /// - Throws: ``StoreError`` with the cause `damaged` where something cannot be read.
    @discardableResult
    public nonisolated(nonsending) func copy(
        to path: String, cloning: Bool = false,
        progress: @escaping ReadingProgress = { _, _ in }
    ) async throws(StoreError) -> RestoreReport {
        try await answering { () async throws(EngineError) -> RestoreReport in
            let source = try await steadySource()
            let floor = source.state.fold.history.floor ?? source.state.fold.end
            let restoration = StoreRestoration(
                source: source, snapshot: source.snapshot(), floor: floor.rawValue,
                keepsHistory: true, isClone: cloning, expected: nil, progress: progress)
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
    let source: Container
    let snapshot: Snapshot
    /// The first state that the source has.
    let floor: UInt64
    let keepsHistory: Bool
    let isClone: Bool
    /// What must come out; nil: what the source has.
    let expected: [ArchiveTable.Zone]?
    let progress: Container.ReadingProgress

    nonisolated(nonsending) func run(
        _ path: String, on system: any FileSystem
    ) async throws(EngineError) -> RestoreReport {
        let directory = try await source.threads.run {
            try making(path) { () throws(SystemError) in try FreshDirectory(path, on: system) }
        }
        do throws(EngineError) {
            let end = try await fill(directory.temporaryPath, on: system)
            let report = try await finish(directory.temporaryPath, end, on: system)
            try await source.threads.run {
                try making(path) { () throws(SystemError) in try directory.place() }
            }
            return report
        } catch {
            directory.discard()
            throw error
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
            let copy = StoreCopy(
                of: source.state, to: snapshot.end,
                keepsHistory: keepsHistory, try foundation.assets.chunks(), foundation.registry,
                foundation.budget, randomness)
            var identity = try source.identity.continued(behind: copy.end, randomness)
            if isClone { identity = identity.cloned(randomness) }
            let sink = StorageSink(storage)
            let progress = progress
            _ = try copy.run(into: sink, as: identity) { done, total throws(EngineError) in
                progress(done, total)
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
                creating: false, durability: .full, options: foundation.options, driver: .thread)
        }
        do throws(EngineError) {
            let engine = try store.engine()
            if let first = store.state.fold.history.floor, first.rawValue < floor {
                _ = try await engine.commit(
                    HistoryPolicyRequest.keeping(
                        store.state.fold.history.policy, from: JournalOffset(rawValue: floor)))
            }
            // What follows lies in a segment of the store's own, in which the next opening begins.
            try await engine.runExclusively { maintainer throws(EngineError) in
                try maintainer.writeCheckpoint(endingSegment: true)
            }
            let report = try await source.threads.run { [self] in try compare(store, end) }
            try await engine.close()
            return report
        } catch {
            try? await store.close()
            throw error
        }
    }

    private func compare(_ store: Container, _ end: JournalOffset) throws -> RestoreReport {
        let isProved = expected?.allSatisfy { $0.hash != nil } ?? true
        let wanted =
            if let expected { expected } else {
                try source.zoneSummary(at: snapshot, contentHashes: true)
            }
        let zones = try store.zoneSummary(at: store.snapshot(), contentHashes: isProved)
        for (number, zone) in wanted.enumerated() {
            let found = number < zones.count ? zones[number] : nil
            guard found == zone || (found?.isLike(zone) ?? false) else {
                throw StoreError(
                    .internalError,
                    "the zone \(zone.name) came out different from what the archive says")
            }
        }
        guard zones.count == wanted.count else {
            throw StoreError(.internalError, "there are more zones than the archive says")
        }
        return RestoreReport(
            storeID: store.identity.storeID.description, offset: end.rawValue,
            zoneCount: zones.count, recordCount: zones.reduce(0) { $0 + $1.recordCount },
            isProved: isProved)
    }
}

extension ArchiveTable.Zone {
    /// The same where one of the two has no hash.
    fileprivate func isLike(_ other: ArchiveTable.Zone) -> Bool {
        (hash == nil || other.hash == nil) && owner == other.owner && name == other.name
            && recordCount == other.recordCount
    }
}
