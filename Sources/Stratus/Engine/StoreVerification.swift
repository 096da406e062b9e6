internal import StratusAssets
internal import StratusBytes
package import StratusFiles
internal import StratusIndex
internal import StratusJournal

/// Checks every byte of a store without opening it.
package struct StoreVerification: Sendable {
    package var findings: [StoreError.Place] = []
    package var segmentCount = 0
    package var entryCount = 0
    package var commitCount = 0
    package var bytesRead = 0
    /// Of the index, those that the checkpoint names.
    package var tableCount = 0
    package var tableBytes = 0
    /// Whether there is a checkpoint, be it of use or not.
    package var hasCheckpoint = false
    /// Of assets, all that the journal knows.
    package var chunkCount = 0
    package var chunkBytes = 0

    /// Reads the store in the directory `path`, as far as its manifest can be read. `progress` is
    /// told how many bytes of the journal were read, and of how many.
    package nonisolated(nonsending) init(
        at path: String, progress: @escaping Container.ReadingProgress = { _, _ in }
    ) async throws(StoreError) {
        self = try await IOThreads(count: 1).run {
            try StoreVerification(LocalStorage(at: path, .reading), progress: progress)
        }
    }

    /// Reads the store that a container has open, which goes on meanwhile.
    package nonisolated(nonsending) init(of container: Container) async throws(StoreError) {
        let storage = container.foundation.storage
        self = try await container.threads.run { try StoreVerification(storage) }
    }

    package init(
        _ storage: any Storage, progress: Container.ReadingProgress = { _, _ in }
    ) throws {
        guard let (manifest, pin) = try StoreFollower.pinNewest(in: storage) else {
            throw JournalError.noStore
        }
        defer { withExtendedLifetime(pin) {} }
        var verifier = JournalVerifier(manifest, in: storage)
        let length = manifest.length
        var hasAssets = false
        var lostChunks = 0
        try verifier.run { entry in
            hasAssets = hasAssets || entry.kind == .chunks
            if entry.kind == .lostChunks {
                lostChunks += entry.payloadRange.count / ChunkAddress.length
            }
            progress(entry.offset.bytes(since: .zero), length)
            return Self.check(entry)
        }
        findings = verifier.findings.map { StoreError.Place($0) }
        segmentCount = verifier.segmentCount
        entryCount = verifier.entryCount
        commitCount = verifier.commitCount
        bytesRead = verifier.bytesRead
        hasCheckpoint = manifest.checkpoint != nil || manifest.checkpointDamage != nil
        if let checkpoint = manifest.checkpoint {
            try verify(checkpoint, of: manifest, in: storage)
        }
        // What the journal says of chunks can only be believed if it is whole itself.
        guard hasAssets, findings.allSatisfy(Self.isOfIndex) else { return }
        let assets = try AssetVerification(
            storage, manifest, lostChunks: lostChunks, resuming: findings.isEmpty)
        findings += assets.findings
        chunkCount = assets.chunkCount
        chunkBytes = assets.chunkBytes
    }

    /// Reads the tables of the index that a checkpoint names.
    private mutating func verify(
        _ checkpoint: Manifest.Checkpoint, of manifest: Manifest, in storage: any Storage
    ) throws(JournalError) {
        let tables = TableStore(
            storage, cache: BlockCache(limit: 0), storeID: StoreIdentity(manifest).idBits)
        guard let index = StoreFold.State(checkpoint, tables, ReleasedFiles())?.index else {
            findings.append(
                StoreError.Place(
                    JournalDamage(
                        .checkpoint("refused"), file: manifest.fileName,
                        byte: manifest.checkpointPlace)))
            return
        }
        tableBytes = index.statistics.runs.reduce(0) { $0 + $1.bytes }
        for number in index.tableNumbers.sorted() {
            tableCount += 1
            do throws(IndexError) {
                try index.verify(number)
            } catch {
                guard case .damaged(let damage) = error else { throw JournalError(error) }
                findings.append(StoreError.Place(JournalDamage(damage)))
            }
        }
    }

    /// Whether a finding is about what can be made anew from the journal.
    package static func isOfIndex(_ place: StoreError.Place) -> Bool {
        place.kind.hasPrefix("checkpoint.") || place.file.hasPrefix(Manifest.Checkpoint.filePrefix)
    }

    /// What is wrong with the payload of an entry whose frame is whole.
    private static func check(_ entry: JournalEntry) -> StaticString? {
        entry.withPayload { bytes -> StaticString? in
            do throws(FormatError) {
                switch entry.kind {
                case .record:
                    let whole = entry.bytes.span.extracting(0..<entry.payloadRange.upperBound)
                    var cursor = ByteCursor(at: entry.payloadRange.lowerBound)
                    let head = try RecordHead(whole, &cursor)
                    _ = try head.name(in: whole)
                    _ = try head.parent(in: whole)
                    let fields = try StoredFields(
                        entry.bytes, at: cursor, end: entry.payloadRange.upperBound,
                        schema: .empty)
                    var isWhole = true
                    fields.forEach { field in
                        isWhole = fields.value(field, in: .default) != nil
                        return isWhole
                    }
                    return isWhole ? nil : "value"
                case .tombstone: _ = try Tombstone(bytes)
                case .zone: _ = try ZoneEntry(bytes)
                case .user: _ = try UserEntry(bytes)
                case .names, .preamble: _ = try SchemaAddition(bytes)
                case .mark: _ = try MarkEntry(bytes)
                case .operation: _ = try OperationEntry(bytes)
                case .clientToken: _ = try ClientTokenEntry(bytes)
                case .chunks: try ChunkEntry.forEach(bytes) { _, _ in }
                case .lostChunks: try LostChunksEntry.forEach(bytes) { _ in }
                case .trailer, .closingMark: break
                default: return entry.kind.mayBeIgnored ? nil : "kind"
                }
                return nil
            } catch {
                return "content"
            }
        }
    }
}
