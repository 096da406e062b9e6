internal import StratusEngine
internal import StratusJournal

extension Container {
    /// What can be done by hand that the store also does by itself.
    public var maintenance: Maintenance { Maintenance(container: self) }
}

/// Maintenance of an open store, by hand. The store does all of it by itself as well, when it is due.
public struct Maintenance: Sendable {
    let container: Container

    /// Compacts the journal: rewrites its older segments without what is needed no longer, such as
    /// versions of records that were replaced and that no open snapshot sees.
    ///
    /// Change tags, change tokens and all answers stay as they are. Commits and readers go on
    /// meanwhile. The segment being written to, and what lies behind the checkpoint that this call
    /// begins with, stay.
    ///
    /// The store does the same by itself when a quarter of the journal is needed no longer, unless
    /// ``setCompactsByItself(_:)`` keeps it from that. Where commits are ahead of a compaction, so that the
    /// journal is twice what it must be, they wait, 20 milliseconds each at most.
    ///
    /// - Parameters:
    ///   - dryRun: only says what that would bring, about.
    ///   - progress: is told how many rows of the index were looked at to find out what is needed, and
    ///     begins anew where they are looked at once more; of how many is not known.
    /// - Throws: ``StoreError`` with `serviceUnavailable` where another compaction is under way, and
    ///   with `quotaExceeded` where the disk has no room for what is rewritten.
    @discardableResult
    public nonisolated(nonsending) func compact(
        dryRun: Bool = false, progress: @escaping @Sendable (_ rows: Int) -> Void = { _ in }
    ) async throws(StoreError) -> CompactionReport {
        try await answering { () async throws(EngineError) -> CompactionReport in
            container.backupHolds.release(by: container.now)
            return CompactionReport(
                try await container.engine().compact(
                    dryRun ? .planning : .freeing, progress: progress))
        }
    }

    /// Whether the store compacts its journal when that is due, as it does where nothing is said, or only
    /// where ``compact(dryRun:progress:)`` is called: for a time in which nothing else is to use the disk.
    /// The journal grows meanwhile. One that was begun goes on. Holds as long as the container is open.
    ///
    /// - Throws: ``StoreError`` as of a save where the container only reads.
    public func setCompactsByItself(_ isOn: Bool) throws(StoreError) {
        try answering { () throws(EngineError) in
            try container.engine().maintainer.setCompactsByItself(isOn)
        }
    }

    /// Removes what is needed no longer from every file: of records, assets and names of records that
    /// were replaced or deleted nothing is left.
    ///
    /// What a mark, the history policy or an open snapshot keeps is needed; so is the name of a
    /// deleted record, as long as its deletion is remembered (``History/deletions``). An
    /// ``ArchiveSeries`` keeps nothing from being removed. Names of zones,
    /// types, fields, users and marks stay. A file goes once no reader uses it: the report names those
    /// that are still there. What the file system or the medium keeps of a deleted file, this does not
    /// reach.
    ///
    /// Rewrites each file that has anything of the kind, so it costs more than ``compact(dryRun:progress:)``.
    ///
    /// - Throws: ``StoreError`` as of ``compact(dryRun:progress:)`` and
    ///   ``Container/collectAssets(dryRun:progress:)``.
    @discardableResult
    public nonisolated(nonsending) func erase() async throws(StoreError) -> ErasureReport {
        try await answering { () async throws(EngineError) -> ErasureReport in
            let engine = try container.engine()
            container.backupHolds.releaseAll()
            let assets = try await container.eraseAssets()
            let outcome = try await engine.compact(.erasing)
            let held = try await engine.erasedIndex()
            let kept = assets.keptSegments.map(\.file) + outcome.damage.map(\.file)
            return ErasureReport(
                compaction: CompactionReport(outcome), assets: assets,
                heldFiles: Set(held + kept).sorted())
        }
    }
}

/// What an erasure did.
public struct ErasureReport: Hashable, Sendable {
    /// Of the journal.
    public var compaction: CompactionReport
    /// Of assets.
    public var assets: CollectionReport
    /// The files inside the store that may still hold something of what was to go, since a snapshot
    /// of this process or another process reads them, or since they are damaged. What was read, the
    /// next erasure or the next opening deletes.
    public var heldFiles: [String]
}

/// What a compaction did or, where it was only to say so, would do.
public struct CompactionReport: Hashable, Sendable {
    /// How many segments of the journal were looked at.
    public var segmentCount: Int
    /// What their files took, in bytes.
    public var segmentBytes: Int
    /// Of these, what is needed, in bytes: about what they take once they are compacted.
    public var neededBytes: Int
    /// How many of them are rewritten.
    public var compactedSegments: Int
    /// What they took, in bytes.
    public var compactedBytes: Int
    /// What is freed, in bytes; of a dry run about. Files that another process still reads go when
    /// it has ended.
    public var freedBytes: Int
    /// What is damaged in segments that therefore stay as they are.
    public var damage: [StoreError.Place]

    init(_ outcome: JournalCompaction.Outcome) {
        segmentCount = outcome.survey.segmentCount
        segmentBytes = outcome.survey.length
        neededBytes = outcome.survey.output
        compactedSegments = outcome.chosenCount
        compactedBytes = outcome.chosenLength
        freedBytes = outcome.freedBytes
        damage = outcome.damage.map { StoreError.Place($0) }
    }
}
