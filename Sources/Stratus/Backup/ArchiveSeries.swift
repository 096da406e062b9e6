internal import FoundationEssentials
internal import StratusArchive
internal import StratusFiles
internal import StratusJournal
internal import StratusEngine
internal import Synchronization

/// Archives of a store in one directory, each of which goes on from the one before: a backup that is
/// seldom far behind.
///
/// A series goes on from the newest archive of the store in the directory, also where another series
/// or process has written that. Where there is none, or none that can be gone on from, the next archive
/// is a full one. A series deletes nothing: that is for ``Archive/forget(in:keeping:dryRun:)``.
///
/// What the store would forget, such as deletions, waits until the next archive has it, as long as the
/// series is there; but never longer than ``Options/holding`` since the last call, after which the next
/// archive may have to be a full one, and not for ``Maintenance/erase()``. Where another process writes
/// the store nothing waits.
public struct ArchiveSeries: Sendable {
    /// How archives are written.
    public struct Options: Hashable, Sendable {
        /// What the archives are restricted to; empty: they are of the whole store.
        public var parts: [Archive.Part] = []
        /// How many archives may go on from each other. Then a full one follows, so that the first can
        /// be deleted some day.
        public var chainLimit = 1000
        /// Whether each state that the history policy keeps can be restored, not only the last one.
        public var keepsHistory = false
        /// Whether full archives state the content hash of each zone, by which a restore is proved; it
        /// takes reading all records once more. Those that go on from others never do.
        public var contentHashes = true
        /// How long what the store would forget waits for the next archive.
        public var holding = Duration.seconds(86_400)
        /// What is left in the store where the newest archive ends: one mark at a time. Marks of its name,
        /// and that marks were removed, are no change for which an archive is written. Where another process
        /// writes the store there can be none.
        public var mark = BackupMark.none

        /// As they are where nothing else is said.
        public init() {}
    }

    private let container: Container
    private let path: String
    private let options: Options
    /// The newest one; nil where there is none.
    private var last: Archive?
    /// Up to here nothing was found that an archive behind ``last`` would have.
    private var seen: UInt64 = 0
    /// What the directory had when that was found; nil: it was not looked for yet.
    private var files: Set<String>?
    /// Keeps what the next one needs.
    private var hold: BackupHold?

    /// A series of archives of the store that `container` has open, in the directory `path`, which
    /// must be there.
    public init(of container: Container, in path: String, options: Options = Options()) {
        self.container = container
        self.path = path
        self.options = options
    }

    /// Writes what changed since the newest archive; nil where nothing did. Of a container that reads
    /// it is what another process has committed by now.
    ///
    /// - Throws: ``StoreError`` as
    ///   ``Container/backup(of:to:since:keepingHistory:contentHashes:marking:progress:hashing:)``; the
    ///   next call tries again.
    public nonisolated(nonsending) mutating func next(
        progress: @escaping Container.ReadingProgress = { _, _ in }
    ) async throws(StoreError) -> Archive? {
        _ = try await container.refresh()
        // Others may have written some, or deleted them.
        let found = try await currentFiles()
        if found != files {
            last = try await newest()
            seen = 0
        }
        // Looked for anew after a failure, whatever that was.
        files = nil
        // From before the copy on, so that it holds all of what the copy has.
        let next = container.holdForBackup(options.holding)
        let made = try await archive(container.steadyContainer(), progress)
        hold = next
        if let made {
            last = made
            files = found.union([made.last.name])
        } else {
            files = found
        }
        return made
    }

    /// Writes an archive whenever something changed, at most one an interval, until the task is
    /// cancelled.
    ///
    /// - Parameters:
    ///   - interval: between the beginnings of two archives.
    ///   - made: is told of each.
    /// - Throws: ``StoreError`` as ``next(progress:)``, but for `serviceUnavailable`: it tries again then.
    public nonisolated(nonsending) mutating func run(
        every interval: Duration, _ made: @Sendable (Archive) -> Void = { _ in }
    ) async throws(StoreError) {
        while !Task.isCancelled {
            let begin = ContinuousClock.now
            do throws(StoreError) {
                if let archive = try await next() { made(archive) }
            } catch {
                // That passes.
                guard error.code == .serviceUnavailable else { throw error }
            }
            // Ended early where the task is cancelled.
            try? await Task.sleep(until: begin + interval, clock: .continuous)
        }
    }

    private nonisolated(nonsending) func currentFiles() async throws(StoreError) -> Set<String> {
        let (path, system) = (path, container.foundation.storage.fileSystem)
        return try await answering { () async throws(EngineError) -> Set<String> in
            try await container.threads.run {
                Set(try LocalStorage(at: path, .reading, on: system).list())
            }
        }
    }

    /// The newest archive in the directory that may be gone on from.
    private nonisolated(nonsending) func newest() async throws(StoreError) -> Archive? {
        let identity = container.reading.identity
        let selection = ZoneSelection(options.parts, of: container)?.stated ?? []
        let found = try await Archive.list(in: path, on: container.foundation.storage.fileSystem)
        return found.archives.last { archive in
            let table = archive.last.table
            return table.storeID == identity.idBits && table.lineage == identity.lineage
                && table.keepsHistory == options.keepsHistory && table.selection == selection
        }
    }

    /// Nil where nothing changed.
    private nonisolated(nonsending) mutating func archive(
        _ source: Container, _ progress: @escaping Container.ReadingProgress
    ) async throws(StoreError) -> Archive? {
        if let last {
            let (hasChanges, end) = try await source.hasChanges(
                since: last, from: seen, but: options.mark.name)
            seen = end
            if !hasChanges { return nil }
        }
        if options.mark == .none { return try await archive(source, nil, progress) }
        return try await container.archiving(marking: options.mark) {
            source, mark async throws(StoreError) -> Archive in
            try await archive(source, mark, progress)
        }
    }

    private nonisolated(nonsending) func archive(
        _ source: Container, _ mark: Mark?, _ progress: @escaping Container.ReadingProgress
    ) async throws(StoreError) -> Archive {
        if let last, last.information.chainLength < options.chainLimit {
            do throws(StoreError) {
                return try await source.archive(
                    BackupRequest(
                        of: [], since: last, keepsHistory: options.keepsHistory,
                        contentHashes: false, progress: progress), at: mark, to: path)
            } catch {
                guard error.needsFullBackup else { throw error }
            }
        }
        return try await source.archive(
            BackupRequest(
                of: options.parts, demanded: last == nil, since: nil,
                keepsHistory: options.keepsHistory, contentHashes: options.contentHashes,
                progress: progress), at: mark, to: path)
    }
}

/// Keeps what is needed to go on from a state, until it is released or its time is over.
final class BackupHold: Sendable {
    private let content: Mutex<HeldState?>
    /// In microseconds since 1970.
    fileprivate let end: Int64

    fileprivate init(_ state: HeldState, until end: Int64) {
        content = Mutex(state)
        self.end = end
    }

    fileprivate func release() {
        let state = content.withLock { $0.take() }
        // Released only outside the lock.
        withExtendedLifetime(state) {}
    }
}

/// Those of a container that may be there.
final class BackupHolds: Sendable {
    private struct Reference {
        weak var hold: BackupHold?
    }

    private let all = Mutex<[Reference]>([])

    fileprivate func begin(_ state: HeldState, until end: Int64) -> BackupHold {
        let hold = BackupHold(state, until: end)
        all.withLock { all in
            all.removeAll { $0.hold == nil }
            all.append(Reference(hold: hold))
        }
        return hold
    }

    func releaseAll() {
        for hold in all.withLock({ all in all.compactMap(\.hold) }) { hold.release() }
    }

    /// Lets those go whose time is over by `now`, which is asked only where there are any.
    func release(by now: @autoclosure () -> Int64) {
        let all = all.withLock { all in all.compactMap(\.hold) }
        if all.isEmpty { return }
        let now = now()
        for hold in all where hold.end < now { hold.release() }
    }
}

extension Container {
    /// Whether anything was committed since an archive ended, at `first` or behind it, that one which
    /// goes on from it would have; and where that was found, or the journal ends. The ends of two states
    /// do not tell: behind the last commit groups without entries may lie, which one state counts and
    /// the other does not.
    ///
    /// - Parameter mark: the name of marks that are no change, nor is then what removes a mark.
    fileprivate nonisolated(nonsending) func hasChanges(
        since archive: Archive, from first: UInt64, but mark: String?
    ) async throws(StoreError) -> (Bool, end: UInt64) {
        try await answer { () async throws(EngineError) -> (Bool, end: UInt64) in
            try await threads.run { [self] in
                let table = archive.last.table
                let reading = reading.waiting
                let zones = try ZoneSelection(table.selection)?.numbers(in: reading).zones
                var log = log(from: max(first, table.end))
                while let line = try log.nextLine() {
                    let entry = line.entry
                    guard entry.kind.isEntry else { continue }
                    if let mark, try entry.isOfMark(named: mark) { continue }
                    if zones.map({ foundation.registry.concerns(entry, $0) }) ?? true {
                        return (true, entry.offset.rawValue)
                    }
                }
                return (false, reading.head.rawValue)
            }
        }
    }

    /// Holds what is needed to go on from the state as it is now, for so long. Where another process
    /// writes that is of no use: it knows nothing of holds.
    fileprivate func holdForBackup(_ duration: Duration) -> BackupHold? {
        guard case .writing = access else { return nil }
        return backupHolds.begin(HeldState(published), until: end(of: duration))
    }

    /// When so much time has passed, in microseconds since 1970.
    fileprivate func end(of duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let microseconds = seconds.multipliedReportingOverflow(by: 1_000_000)
        if microseconds.overflow { return seconds < 0 ? .min : .max }
        let length = microseconds.partialValue.addingReportingOverflow(
            attoseconds / 1_000_000_000_000)
        let end = now.addingReportingOverflow(length.partialValue)
        return length.overflow || end.overflow ? .max : end.partialValue
    }
}

extension JournalEntry {
    /// Whether it makes a mark of that name, or removes any.
    fileprivate func isOfMark(named name: String) throws(EngineError) -> Bool {
        if kind == .markRemoval { return true }
        guard kind == .mark else { return false }
        guard let mark = withPayload({ try? MarkEntry($0) }) else { throw .damaged(self) }
        return mark.name == name
    }
}
