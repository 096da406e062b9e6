internal import StratusArchive
internal import StratusAssets
package import StratusFiles
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

extension Container {
    /// Makes a store of all that is whole in the store in the directory `path`, in the directory
    /// `target`, which must not exist. It is there when all of it was proved, or not at all; the damaged
    /// store is only read.
    ///
    /// For a store that does not open, or of which something cannot be read: what cannot be brought
    /// back by an archive. Entries keep their offsets, versions and change tags. Change tokens of the
    /// damaged store are refused, so that clients read feeds anew. The journal is believed
    /// where its checksums hold and nowhere else; the index is asked for what was lost.
    ///
    /// Where the newest version of a record is lost, an earlier one stands in its place if there is one,
    /// as the report says. A deletion that the index knew is made again.
    /// Where the manifest is not whole, what the segments say of themselves takes its place.
    ///
    /// - Parameter progress: is told how many bytes of the journal were read, and of how many: it is
    ///   read twice.
    /// - Throws: ``StoreError`` with `badContainer` where there is no store, with the cause `newerFormat`
    ///   where anything is of a newer format, with the cause `damaged` where neither the manifest nor the
    ///   header of a segment is whole.
    @discardableResult
    public nonisolated(nonsending) static func salvage(
        _ path: String, to target: String,
        progress: @escaping ReadingProgress = { _, _ in }
    ) async throws(StoreError) -> SalvageReport {
        try await salvage(path, to: target, on: LinuxFileSystem(), progress: progress)
    }

    /// The same in directories of `system`.
    package nonisolated(nonsending) static func salvage(
        _ path: String, to target: String, on system: any FileSystem,
        scratch: String = StoreVerification.scratchDirectory,
        progress: @escaping ReadingProgress = { _, _ in }
    ) async throws(StoreError) -> SalvageReport {
        try await answering { () async throws(EngineError) -> SalvageReport in
            let threads = IOThreads(count: threadCount)
            let source = try await threads.run { try LocalStorage(at: path, .reading, on: system) }
            defer { source.close() }
            let medium = LenientStorage(over: source)
            var report = try await Salvage(
                source: medium, registry: .store, threads: threads, scratch: scratch
            ).run(target, on: system, progress)
            report.unreadable = medium.unreadableBlocks.map { StoreError.Place($0) }
            return report
        }
    }
}

/// Makes a store of what is whole of a damaged one.
private struct Salvage: Sendable {
    let source: any Storage
    let registry: ProjectionRegistry
    let threads: IOThreads
    /// A directory for temporary files.
    let scratch: String
    var options = JournalOptions()

    /// What caches and memtables may take, in bytes.
    private static let memoryLimit = 64 << 20
    /// So many chunks are told of in one commit, and so many rows held in memory.
    private static let chunkLimit = 1 << 14

    nonisolated(nonsending) func run(
        _ path: String, on system: any FileSystem, _ progress: @escaping Container.ReadingProgress
    ) async throws(EngineError) -> SalvageReport {
        try await FreshDirectory.filled(path, on: system, threads) {
            directory async throws(EngineError) in
            let copied = try await threads.run { [self] in
                try copy(to: directory.temporaryPath, on: system, progress)
            }
            let report = try await finish(copied, in: directory.temporaryPath, on: system)
            try await threads.run {
                try making(path) { () throws(SystemError) in try directory.place() }
            }
            return report
        }
    }

    /// What was copied, and what is still to be done about what was not.
    private struct Copied: Sendable {
        var journal: StoreSalvage.Outcome
        /// Chunks that are not whole where the journal says that they lie.
        var unreadableChunks: [ChunkEntry.Row] = []
        /// Chunks of which no entry says where they lie any more.
        var foundChunks: [ChunkEntry.Row] = []
    }

    private func foundation(at path: String, _ mode: LocalStorage.Access, on system: any FileSystem)
        throws -> StoreFoundation
    {
        var foundation = StoreFoundation(
            try LocalStorage(at: path, mode, on: system), registry,
            memoryLimit: Self.memoryLimit, threads: threads)
        foundation.options = options
        return foundation
    }

    private func copy(
        to path: String, on system: any FileSystem, _ progress: Container.ReadingProgress
    ) throws -> Copied {
        let readable = try ReadableStore(source, scratch: scratch)
        let source = readable.storage
        guard let (manifest, pin) = try StoreFollower.pinNewest(in: source) else {
            throw JournalError.noStore
        }
        defer { withExtendedLifetime(pin) {} }
        let tables = registry.tables(of: manifest, in: source, cache: BlockCache(limit: 8 << 20))
        let index = manifest.checkpoint.flatMap { FoldState($0, tables, ReleasedFiles()) }
        let salvage = StoreSalvage(manifest, in: source, index, registry, options.randomness)
        let storage = try LocalStorage(at: path, .writing(creating: false), on: system)
        defer { storage.close() }
        let sink = StorageSink(storage)
        var copied = Copied(journal: try salvage.run(into: sink, progress: progress))
        if let damage = readable.damage {
            copied.journal.findings.insert(JournalFinding(damage), at: 0)
        }
        let store = try Container(reading: foundation(at: path, .reading, on: system))
        try copyChunks(of: store.reading.waiting, into: sink, &copied)
        try sink.finish()
        return copied
    }

    private func copyChunks(
        of reading: StoreReading, into sink: any FileSink, _ copied: inout Copied
    ) throws(EngineError) {
        let chunks = ChunkSalvage(of: source, for: reading.identity.idBits, options.randomness)
        // Entries that are lost may have told of chunks.
        if copied.journal.losses.contains(where: { !$0.isOfJournalAlone }) {
            var rows: [ChunkEntry.Row] = []
            do throws(StorageError) {
                for number in try chunks.segmentNumbers() {
                    try chunks.forEachFrame(ofSegment: number) { rows.append(($0, $1)) }
                }
            } catch {
                throw EngineError(error)
            }
            for row in rows where try reading.location(of: row.address) == nil {
                copied.foundChunks.append(row)
            }
        }
        let further = copied.foundChunks
        var lost: [ChunkEntry.Row] = []
        let copy = ChunkCopy(limit: Self.chunkLimit) { number throws(EngineError) in
            chunks.header(ofSegment: number)
        } frame: { address, place throws(EngineError) in
            do throws(StorageError) {
                let frame = try chunks.frame(address, at: place)
                if frame == nil { lost.append((address, place)) }
                return frame
            } catch {
                throw EngineError(error)
            }
        } rows: { body throws(EngineError) in
            try reading.forEachChunk(body)
            for (address, place) in further { try body(address, place) }
        }
        try copy.run(try copy.portions(), into: sink) { _ in }
        for row in lost where try reading.location(of: row.address) == row.place {
            copied.unreadableChunks.append(row)
        }
        let places = Set(lost.map(\.place))
        copied.foundChunks.removeAll { places.contains($0.place) }
    }

    /// Opens what was copied, which proves the journal, does what is left, and verifies all of it.
    private nonisolated(nonsending) func finish(
        _ copied: Copied, in path: String, on system: any FileSystem
    ) async throws(EngineError) -> SalvageReport {
        let store = try await threads.run { [self] in
            try Container(
                writing: foundation(at: path, .writing(creating: false), on: system),
                creating: false, durability: .full, options: options, driver: .thread)
        }
        var report: SalvageReport
        do throws(EngineError) {
            let engine = try store.engine()
            // Of the states before not all is there.
            try await store.keepHistory(from: copied.journal.end)
            try await threads.run { [self] in try placeChunks(copied, engine) }
            do throws(StoreError) {
                report = try await SalvagedContent(store, copied.journal).settle()
            } catch {
                throw .refused(error)
            }
            report.unreadableChunkCount = copied.unreadableChunks.count
            try await engine.writeCheckpoint(endingSegment: true)
            try await engine.close()
        } catch {
            try? await store.close()
            throw error
        }
        report.assets = try await threads.run { [self] in try verify(path, on: system) }
        return report
    }

    private func placeChunks(_ copied: Copied, _ engine: Engine) throws(EngineError) {
        func commit(
            _ rows: [ChunkEntry.Row], _ transaction: ([ChunkEntry.Row]) -> any Transaction
        ) throws(EngineError) {
            for start in stride(from: 0, to: rows.count, by: Self.chunkLimit) {
                let batch = rows[start..<min(start + Self.chunkLimit, rows.count)]
                _ = try engine.commitBlocking(transaction(Array(batch)))
            }
        }
        try commit(copied.foundChunks) { ChunkCommit(rows: $0) }
        try commit(copied.unreadableChunks) { ReclaimedChunksCommit(rows: $0) }
    }

    /// Reads every byte of what came out. Returns the assets that are not whole.
    private func verify(
        _ path: String, on system: any FileSystem
    ) throws -> [StoreError.Place] {
        let storage = try LocalStorage(at: path, .reading, on: system)
        defer { storage.close() }
        let result = try StoreVerification(storage, registry, scratch: scratch)
        for finding in result.findings where finding.place.record == nil {
            throw StoreError(madeWith: finding)
        }
        return result.findings.map(\.place)
    }
}

/// Does to a salvaged store what could not be done to its journal, and says what is in it.
private struct SalvagedContent {
    private let store: Container
    private let journal: StoreSalvage.Outcome

    init(_ store: Container, _ journal: StoreSalvage.Outcome) {
        self.store = store
        self.journal = journal
    }

    private var reading: StoreReading { store.reading.waiting }

    nonisolated(nonsending) func settle() async throws(StoreError) -> SalvageReport {
        let users = try journal.namelessUsers.map { number throws(StoreError) in
            try store.user(number: number).recordName
        }
        let zones = try renamedZones()
        let records = try await lostRecords()
        let losses = try journal.losses.enumerated().map {
            number, loss throws(StoreError) in
            SalvageReport.Loss(
                place: StoreError.Place(loss.damage),
                offsets: loss.range.lowerBound.rawValue..<loss.range.upperBound.rawValue,
                isOfJournalAlone: loss.isOfJournalAlone, mayBeUnwritten: loss.mayBeUnwritten,
                entries: try loss.headers.map(\.header).filter(\.kind.isEntry).map {
                    header throws(StoreError) in try entry(header)
                },
                records: records[number] ?? [], maps: (journal.lostMaps[number] ?? []).sorted(),
                isKnown: loss.range.upperBound <= journal.known)
        }
        let summary = try answering { () throws(EngineError) in
            try store.zoneSummary(at: store.snapshot(), contentHashes: false)
        }
        return SalvageReport(
            storeID: store.identity.storeID.description, offset: journal.end.rawValue,
            zoneCount: summary.count, recordCount: summary.reduce(0) { $0 + $1.recordCount },
            entryCount: journal.entryCount,
            damage: journal.findings.map { StoreError.Place($0.damage) }, unreadable: [],
            losses: losses, leftOut: journal.leftOut.map { StoreError.Place($0) }, assets: [],
            unreadableChunkCount: 0, zones: zones, users: users,
            inventedNames: journal.inventedNames)
    }

    /// The database of a zone, as the host uses it, and the user record name of its owner; that is nil of
    /// the public database.
    private func database(
        of zone: ZonePlace
    ) throws(StoreError) -> (database: Database, owner: String?) {
        if zone.database == 0 {
            return (store.publicDatabase(asHost: StoreSalvage.lostFoundName), nil)
        }
        let owner = try store.user(number: zone.database).recordName
        return (store.privateDatabase(for: owner), owner)
    }

    private func zone(
        _ number: UInt32
    ) throws(StoreError) -> (place: ZonePlace, name: String)? {
        try answering { () throws(EngineError) in
            guard let place = try reading.zone(number), place.isAlive else { return nil }
            return (place, try reading.zoneEntry(place).name)
        }
    }

    private func entry(_ header: FrameHeader) throws(StoreError) -> SalvageReport.Loss.Entry {
        var entry = SalvageReport.Loss.Entry(
            kind: store.foundation.registry.name(of: header.kind), zoneNumber: header.zone)
        guard header.zone != 0, let (place, name) = try zone(header.zone) else { return entry }
        entry.zoneName = name
        entry.owner = try database(of: place).owner
        return entry
    }

    private func renamedZones() throws(StoreError) -> [SalvageReport.RenamedZone] {
        var renamed: [SalvageReport.RenamedZone] = []
        for found in journal.renamedZones {
            guard let (place, name) = try zone(found.number) else { continue }
            renamed.append(
                SalvageReport.RenamedZone(
                    owner: try database(of: place).owner ?? "", zoneName: name,
                    isOwnerKnown: found.isInItsDatabase))
        }
        return renamed
    }

    /// What became of the records whose newest state is lost, by the numbers of the losses; deletes
    /// those whose deletion it was.
    private nonisolated(nonsending) func lostRecords() async throws(StoreError)
        -> [Int: [SalvageReport.LostRecord]]
    {
        var found: [Int: [SalvageReport.LostRecord]] = [:]
        var deleted: [UInt32: [String]] = [:]
        for row in journal.lostRows {
            guard let (place, zoneName) = try zone(row.zone) else {
                // Nothing of the whole zone came out.
                if let owner = journal.lostZones[row.zone], !row.location.isDeleted {
                    found[row.loss, default: []].append(
                        SalvageReport.LostRecord(
                            owner: owner?.recordName, zoneName: StoreSalvage.lostName(row.zone),
                            recordName: nil, state: .missing))
                }
                continue
            }
            let current = try answering { () throws(EngineError) in
                try reading.value(row.key).map { EntryLocation($0) }
            }
            // It was replaced later.
            if let current, current.offset > row.location.offset { continue }
            let isThere = current.map { !$0.isDeleted } ?? false
            if row.location.isDeleted, !isThere { continue }
            let name = try answering { () throws(EngineError) -> String? in
                guard let current else { return nil }
                let entry = try reading.entry(current)
                return store.foundation.registry.describe(entry, reading.schema).recordName
            }
            if row.location.isDeleted, let name { deleted[row.zone, default: []].append(name) }
            found[row.loss, default: []].append(
                SalvageReport.LostRecord(
                    owner: try database(of: place).owner, zoneName: zoneName, recordName: name,
                    state: row.location.isDeleted ? .deleted : isThere ? .earlier : .missing))
        }
        for (number, names) in deleted.sorted(by: { $0.key < $1.key }) {
            guard let (place, name) = try zone(number) else { continue }
            try await database(of: place).database.restore(
                [], deleting: names, in: RecordZone.ID(zoneName: name))
        }
        return found
    }
}
