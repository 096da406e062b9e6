internal import StratusArchive
internal import StratusBytes
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

extension Container {
    /// Writes a backup of the store, as it is now, to the file `path`, which must not exist; in a
    /// directory it gets a name that says store and offset.
    ///
    /// Commits and readers go on meanwhile. The file is there, whole and durable, when this returns, or
    /// not at all.
    ///
    /// - Parameters:
    ///   - parts: what the archive is restricted to. Empty: everything or, with `base`, what that is
    ///     restricted to. Such an archive is for bringing zones back. It has the schema, the marks and
    ///     the policies of the whole store, but no other zones, and not what users have besides zones,
    ///     such as subscriptions; what the host calls other users is left out.
    ///   - base: an archive of this store: what is written is what changed since, and needs that one
    ///     to be read. Nil: everything.
    ///   - keepingHistory: whether each state that the history policy keeps can be restored, not only
    ///     the last one.
    ///   - contentHashes: whether the archive states the content hash of each zone, by which a restore
    ///     is proved. That takes reading all records once more.
    ///   - mark: what is left in the store at the state that the archive has.
    ///   - progress: is told how many bytes of the store were read, of about how many.
    ///   - hashing: is told how many records were read for content hashes.
    /// - Throws: ``StoreError`` with `invalidArguments` where `base` is of another store, of another
    ///   history or of other parts, or would not lie beside what is written, or where `mark` is empty or
    ///   longer than 255 bytes, `serviceUnavailable` where no mark could be made, since assets are being
    ///   collected, `zoneNotFound` or
    ///   `unknownItem` where a part is not there, `changeTokenExpired` with the cause
    ///   `changeToken(.compacted)` where deletions were forgotten since, and with the cause `damaged`
    ///   where something cannot be read. ``StoreError/needsFullBackup`` says where it is `base` that
    ///   cannot be used.
    @discardableResult
    public nonisolated(nonsending) func backup(
        of parts: [Archive.Part] = [], to path: String, since base: Archive? = nil,
        keepingHistory: Bool = false, contentHashes: Bool = true,
        marking mark: BackupMark = .standard,
        progress: @escaping ReadingProgress = { _, _ in },
        hashing: @escaping RecordProgress = { _, _ in }
    ) async throws(StoreError) -> Archive {
        let request = BackupRequest(
            of: parts, since: base, keepsHistory: keepingHistory, contentHashes: contentHashes,
            progress: progress, hashing: hashing)
        return try await backup(request, to: path, marking: mark)
    }

    /// The same to wherever `write` puts the bytes, which it is given in their order. What it throws
    /// ends the backup; without the last bytes what was written is no archive.
    public nonisolated(nonsending) func backup(
        of parts: [Archive.Part] = [], since base: Archive? = nil, keepingHistory: Bool = false,
        contentHashes: Bool = true, marking mark: BackupMark = .standard,
        progress: @escaping ReadingProgress = { _, _ in },
        hashing: @escaping RecordProgress = { _, _ in },
        into write: @escaping @Sendable ([UInt8]) throws -> Void
    ) async throws(StoreError) {
        let request = BackupRequest(
            of: parts, since: base, keepsHistory: keepingHistory, contentHashes: contentHashes,
            progress: progress, hashing: hashing)
        try await backup(request, marking: mark, into: write)
    }

    /// Of a source that is steady; `mark` is where the archive ends, nil: at the end of the journal.
    nonisolated(nonsending) func archive(
        _ request: BackupRequest, at mark: Mark?, to path: String
    ) async throws(StoreError) -> Archive {
        try await answer { () async throws(EngineError) -> Archive in
            try await threads.run { [self] in try write(request, at: mark, to: path) }
        }
    }

    nonisolated(nonsending) func archive(
        _ request: BackupRequest, at mark: Mark?,
        into write: @escaping @Sendable ([UInt8]) throws -> Void
    ) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            try await threads.run { [self] in
                try StoreBackup(of: self, at: mark, request).write(through: write)
            }
        }
    }

    private func write(_ request: BackupRequest, at mark: Mark?, to path: String) throws -> Archive
    {
        let system = foundation.storage.fileSystem
        let backup = try StoreBackup(of: self, at: mark, request)
        let path = backup.path(for: path, on: system)
        let file = try making(path) { () throws(SystemError) in
            try FreshFile(path, length: 0, outside: foundation.storage, on: system)
        }
        var directory = try ArchiveDirectory(at: LocalStorage.parent(of: path), on: system)
        try backup.checkBase(in: &directory, path)
        var place = 0
        try backup.write(through: { bytes in
            do throws(SystemError) {
                try file.write([bytes[...]], at: place)
            } catch {
                throw StoreError(writingFile: error, path)
            }
            place += bytes.count
        })
        try making(path) { () throws(SystemError) in try file.place() }
        return try Archive(path, in: &directory)
    }

    /// The store as it is now, held like that of another process: what it needs stays, whatever is
    /// compacted or collected meanwhile.
    nonisolated(nonsending) func steadySource() async throws(EngineError) -> Container {
        guard case .writing(let engine) = access else { return self }
        // Then a reader sees everything that was acknowledged, at whatever durability.
        try await engine.writeCheckpoint()
        let foundation = foundation
        return try await threads.run {
            // Those who save meanwhile come first.
            var own = StoreFoundation(
                foundation.storage, foundation.registry,
                memoryLimit: foundation.budget.limit / 4,
                threads: IOThreads(count: Self.threadCount, isBackground: true))
            own.options = foundation.options
            return try Container(reading: own)
        }
    }

    /// All zones of all databases that hold anything, in one state.
    ///
    /// - Parameter progress: is told how many records were read for content hashes.
    func zoneSummary(
        at snapshot: Snapshot, contentHashes: Bool, progress: RecordProgress = { _, _ in }
    ) throws(EngineError) -> [ArchiveTable.Zone] {
        var zones: [ArchiveTable.Zone] = []
        try forEachZone(at: snapshot, contentHashes: contentHashes, progress: progress) {
            zones.append($0)
        }
        return zones
    }

    /// Gives `body` all zones of all databases that hold anything, in one state, or those that are
    /// selected. There may be very many.
    ///
    /// - Parameters:
    ///   - known: what is known of their contents as of an earlier state: what they are now is told from
    ///     that by what has changed since.
    ///   - progress: is told how many records were read for content hashes.
    func forEachZone(
        at snapshot: Snapshot, contentHashes: Bool, of selection: ZoneSelection? = nil,
        since known: KnownContents = KnownContents(), progress: RecordProgress = { _, _ in },
        _ body: (ArchiveTable.Zone) throws(EngineError) -> Void
    ) throws(EngineError) {
        var done = 0
        func forEach(
            of owner: String, _ database: DatabaseSnapshot
        ) throws(EngineError) {
            try forEachZone(of: owner, database, selection) { zone, id throws(EngineError) in
                var zone = zone
                if contentHashes {
                    zone.content = try refusing { () throws(StoreError) in
                        try database.content(of: id, since: known[owner, zone.name], known.end) {
                            progress(done + $0, nil)
                        }
                    }
                }
                done += zone.recordCount
                try body(zone)
            }
        }
        // The host reads all, whatever the schema grants and whatever the state of an account.
        try forEach(of: "", snapshot.publicDatabase(asHost: "host"))
        let reading = snapshot.reading()
        for number in 0..<reading.userCount {
            guard let user = try reading.user(number + 1) else { continue }
            let name = user.recordName
            try forEach(of: name, snapshot.privateDatabase(asHost: name))
        }
    }

    private func forEachZone(
        of owner: String, _ database: DatabaseSnapshot, _ selection: ZoneSelection?,
        _ body: (ArchiveTable.Zone, RecordZone.ID) throws(EngineError) -> Void
    ) throws(EngineError) {
        let zones = try refusing { () throws(StoreError) in try database.allRecordZones() }
        for id in zones.map(\.zoneID) {
            let isSelected =
                selection?.contains(id.zoneName, of: UserID(recordName: owner)) ?? true
            guard isSelected else { continue }
            let count = try refusing { () throws(StoreError) in
                try database.recordCount(inZoneWith: id)
            }
            if id.isDefault, count == 0 { continue }
            try body(
                ArchiveTable.Zone(
                    owner: owner, name: id.zoneName, recordCount: count, content: nil), id)
        }
    }
}

/// What zones held in an earlier state of a store.
struct KnownContents {
    private struct Key: Hashable {
        var owner: String
        var name: String
    }

    private var contents: [Key: ArchiveTable.Content] = [:]
    /// Where the journal ended.
    private(set) var end: UInt64 = 0

    /// Of none.
    init() {}

    /// What an archive states.
    init(_ archive: ArchiveFile) throws {
        end = archive.table.end
        var zones = archive.zones()
        while let zone = try zones.next() {
            guard let content = zone.content else { continue }
            contents[Key(owner: zone.owner, name: zone.name)] = content
        }
    }

    subscript(owner: String, name: String) -> ArchiveTable.Content? {
        contents[Key(owner: owner, name: name)]
    }
}

/// What `body` returns; what it throws is refused.
private func refusing<Value>(
    _ body: () throws(StoreError) -> Value
) throws(EngineError) -> Value {
    do throws(StoreError) {
        return try body()
    } catch {
        throw .refused(error)
    }
}

extension DatabaseSnapshot {
    /// The content of a zone. `known` is what it was where the journal ended at `end`; nil: that is
    /// not known. `progress` is told how many records were read.
    fileprivate func content(
        of id: RecordZone.ID, since known: ArchiveTable.Content?, _ end: UInt64,
        progress: (Int) -> Void
    ) throws(StoreError) -> ArchiveTable.Content {
        try answer { view throws(EngineError) in
            try view.checkReadsAll()
            let reading = try view.reading
            let zone = try view.zone(id, reading)
            if let known,
                let sum = try reading.contentSum(
                    of: zone, id, since: ContentSum(known), at: JournalOffset(rawValue: end))
            {
                return sum.content
            }
            return try reading.contentSum(of: zone, id, progress).content
        }
    }
}

/// What `body` makes of the file or directory `path`; its errors say so.
func making<Value>(
    _ path: String, _ body: () throws(SystemError) -> Value
) throws(EngineError) -> Value {
    do throws(SystemError) {
        return try body()
    } catch {
        throw .refused(StoreError(writingFile: error, path))
    }
}

/// What an archive is to have.
package struct BackupRequest: Sendable {
    /// What it is restricted to; empty: everything.
    let parts: [Archive.Part]
    /// Whether that must be there, unless `base` has had it.
    let demandsParts: Bool
    let base: Archive?
    let keepsHistory: Bool
    let contentHashes: Bool
    let progress: Container.ReadingProgress
    let hashing: Container.RecordProgress
    /// Is told why no mark is left, where the backup goes on without.
    let unmarked: @Sendable (StoreError) -> Void
    /// Whether it is to end now, with `operationCancelled`.
    let isStopped: @Sendable () -> Bool

    package init(
        of parts: [Archive.Part], demanded demandsParts: Bool = true, since base: Archive?,
        keepsHistory: Bool, contentHashes: Bool, progress: @escaping Container.ReadingProgress,
        hashing: @escaping Container.RecordProgress = { _, _ in },
        unmarked: @escaping @Sendable (StoreError) -> Void = { _ in },
        isStopped: @escaping @Sendable () -> Bool = { false }
    ) {
        self.parts = parts
        self.demandsParts = demandsParts && !parts.isEmpty
        self.base = base
        self.keepsHistory = keepsHistory
        self.contentHashes = contentHashes
        self.progress = progress
        self.hashing = hashing
        self.unmarked = unmarked
        self.isStopped = isStopped
    }
}

/// One backup of a store that nothing is taken from meanwhile.
private struct StoreBackup {
    private let source: Container
    private let snapshot: Snapshot
    /// All that is copied and stated is of this one, though the source may be refreshed meanwhile.
    private let state: StoreState
    /// Behind the last commit that is copied.
    private let end: JournalOffset
    private let request: BackupRequest
    private let baseManifest: Manifest?
    /// Nil: everything.
    private let selection: ZoneSelection?
    private let copy: StoreCopy

    init(of source: Container, at mark: Mark?, _ request: BackupRequest) throws {
        self.source = source
        self.request = request
        snapshot =
            if let mark { try source.heldSnapshot(at: .mark(mark)) } else { source.snapshot() }
        state = snapshot.state
        end = mark == nil ? state.fold.end : snapshot.end
        var start: SegmentCopier.Place?
        if let base = request.base {
            do throws(EngineError) {
                try Self.check(base, of: state.identity, endingAt: end)
                try Self.checkLength(of: base.chain)
            } catch {
                throw error.needingFullBackup
            }
            start = base.last.table.place
            baseManifest = try Self.manifest(of: base)
        } else {
            baseManifest = nil
        }
        let foundation = source.foundation
        var copy = StoreCopy(
            of: state, to: end, from: start, keepsHistory: request.keepsHistory,
            try foundation.assets.chunks(),
            foundation.registry, foundation.budget, foundation.options.randomness)
        selection = try Self.selection(request.parts, of: source, since: request.base)
        if let selection {
            let reading = snapshot.reading()
            if request.demandsParts, request.base == nil {
                try selection.check(in: reading, orWere: request.keepsHistory)
            }
            try copy.restrict(
                to: selection, in: reading, foundation.assets, behind: request.base, start?.offset)
        }
        self.copy = copy
    }

    /// What the archive is restricted to: what an archive goes on from decides.
    private static func selection(
        _ parts: [Archive.Part], of source: Container, since base: Archive?
    ) throws(EngineError) -> ZoneSelection? {
        let named = ZoneSelection(parts, of: source)
        let selection =
            if let base { ZoneSelection(base.last.table.selection) } else {
                named ?? source.foundation.selection
            }
        guard named == nil || base == nil || named?.stated == selection?.stated else {
            throw EngineError.refused(
                .invalidArguments,
                "the base is an archive of other parts of the store: a full one is needed"
            ).needingFullBackup
        }
        // Where the source is such an archive itself.
        guard let held = source.foundation.selection else { return selection }
        guard let selection, selection.parts.allSatisfy(held.contains) else {
            throw .refused(
                .zoneNotFound, "the archive that is copied was made without some of the parts")
        }
        return selection
    }

    /// That the archive holds an earlier state of this store.
    private static func check(
        _ base: Archive, of identity: StoreIdentity, endingAt end: JournalOffset
    ) throws(EngineError) {
        let table = base.last.table
        guard table.storeID == identity.idBits else {
            throw .refused(
                .invalidArguments,
                "expected an archive of the store \(identity.storeID), but \(base.path) is one of "
                    + "another store, \(base.information.storeID)")
        }
        guard table.lineage == identity.lineage, table.end <= end.rawValue else {
            throw .refused(
                .invalidArguments,
                "the archive \(base.path) is of a copy of the store \(identity.storeID) that went "
                    + "another way: a full one is needed")
        }
    }

    /// That one more archive can go on from a chain.
    private static func checkLength(of chain: [ArchiveFile]) throws(EngineError) {
        var totals = ArchiveTotals(chain)
        totals.add(ArchiveTotals(archives: 1))
        guard let excess = totals.excess else { return }
        throw .other(ArchiveRefusal.chainTooLong(excess))
    }

    private static func manifest(of base: Archive) throws(EngineError) -> Manifest? {
        do {
            let manifest = try Journal.newestManifest(in: base.storage())
            if let damage = manifest?.damage { throw damage }
            return manifest
        } catch {
            let error = EngineError(translating: error)
            guard error.isDamage else { throw error }
            throw .refused(base.manifestDamage)
        }
    }

    /// That the archive `path` of `directory` will find the base, beside which it has to lie.
    func checkBase(in directory: inout ArchiveDirectory, _ path: String) throws {
        guard let base = request.base,
            try directory.chain(endingWith: base.last.archiveID) == nil
        else { return }
        throw EngineError.refused(
            .invalidArguments,
            "expected the base \(base.path) beside the new archive \(path), found none there: "
                + "write the new archive beside its base, or copy the base there first")
    }

    /// Where the archive is to lie, if `path` is a directory.
    func path(for path: String, on system: any FileSystem) -> String {
        guard let folder = try? LocalStorage(at: path, .reading, on: system) else { return path }
        let identity = state.identity.storeID.description.prefix(8)
        let name = "stratus-\(identity)-\(end.rawValue)"
        // Two may end there: of another copy of the store, or with other history.
        let taken = (try? folder.list()) ?? []
        var file = name + ".archive"
        var number = 2
        while taken.contains(file) {
            file = "\(name)-\(number).archive"
            number += 1
        }
        return path.hasSuffix("/") ? path + file : path + "/" + file
    }

    /// Gives `write` the bytes; its error ends it.
    func write(through write: @escaping ([UInt8]) throws -> Void) throws {
        var failure: (any Error)?
        let isStopped = request.isStopped
        do {
            try self.write { bytes throws(StorageError) in
                do {
                    if isStopped() {
                        throw StoreError(
                            .operationCancelled, "stopped while the archive was written")
                    }
                    try write(bytes)
                } catch {
                    failure = error
                    throw StorageError(.inputOutput, file: "the archive")
                }
            }
        } catch {
            throw failure ?? error
        }
    }

    private func write(_ output: @escaping ArchiveWriter.Output) throws(EngineError) {
        let options = source.foundation.options
        let identity = state.identity
        let (base, progress) = (request.base, request.progress)
        do {
            var table = ArchiveTable(
                baseID: base?.last.archiveID, storeID: identity.idBits,
                lineage: identity.lineage, incarnation: identity.incarnation,
                keepsHistory: request.keepsHistory, start: base?.last.table.end ?? 0,
                end: end.rawValue, floor: floor, chain: 0, lastTime: 0,
                made: options.clock.now())
            table.selection = selection?.stated ?? []
            let writer = ArchiveWriter(
                table,
                archiveID: Hash128(
                    high: options.randomness.next(), low: options.randomness.next()),
                behind: ArchiveTotals(base?.chain ?? []), output: output)
            // Where the base cannot be used, another archive may take the place of this one.
            if base == nil { try writer.begin() }
            let outcome = try copy.run(
                into: writer, behind: baseManifest, as: identity
            ) { done, total throws(EngineError) in progress(done, total) }
            // What the base states of contents is of use only where contents are stated again.
            var known = KnownContents()
            if request.contentHashes, let base { known = try KnownContents(base.last) }
            try source.forEachZone(
                at: snapshot, contentHashes: request.contentHashes, of: selection, since: known,
                progress: request.hashing
            ) { writer.state($0) }
            try writer.finish(chain: outcome.end.chain, lastTime: outcome.end.lastTime)
        } catch {
            let error = EngineError(translating: error)
            throw base != nil && error.isOfBase ? error.needingFullBackup : error
        }
    }

    /// What an earlier archive keeps of the past stays good while this one goes on from there.
    private var floor: UInt64 {
        guard let table = request.base?.last.table, table.keepsHistory, request.keepsHistory,
            copy.floor.rawValue <= table.end
        else { return copy.floor.rawValue }
        return table.floor
    }
}

extension EngineError {
    /// Whether a copy fails by what was copied before.
    fileprivate var isOfBase: Bool {
        switch self {
        case .other(is CopyRefusal), .journal(.historyChanged): true
        default: false
        }
    }
}

extension ArchiveTable {
    /// Where it ends.
    fileprivate var place: SegmentCopier.Place {
        SegmentCopier.Place(
            offset: JournalOffset(rawValue: end), chain: chain, lastTime: lastTime)
    }
}
