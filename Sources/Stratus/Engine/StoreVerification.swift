internal import StratusAssets
package import StratusFiles
internal import StratusIndex
internal import StratusJournal

/// Checks every byte of a store without opening it.
package struct StoreVerification: Sendable {
    /// Something that is not as it should be, and what it means.
    package struct Finding: Sendable, Hashable {
        package enum Severity: String, Sendable {
            /// Bytes of the store are not what was written.
            case damage
            /// The end of the journal is not whole, and may have been acknowledged.
            case possibleLoss
            /// A write at the end of the journal was cut off. No damage.
            case tornTail
        }

        package var place: StoreError.Place
        package var severity = Severity.damage
    }

    package var findings: [Finding] = []
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
        _ storage: any Storage, _ registry: ProjectionRegistry = .store,
        progress: Container.ReadingProgress = { _, _ in }
    ) throws {
        guard let (manifest, pin) = try StoreFollower.pinNewest(in: storage) else {
            throw JournalError.noStore
        }
        defer { withExtendedLifetime(pin) {} }
        var verifier = JournalVerifier(manifest, in: storage)
        let length = manifest.length
        var hasAssets = false
        var reclaimedChunks = 0
        var payloads = PayloadCheck(registry)
        try verifier.run { entry, isBehindDamage in
            hasAssets = hasAssets || entry.kind == .chunks
            if entry.kind == .reclaimedChunks {
                reclaimedChunks += entry.payloadRange.count / ChunkAddress.length
            }
            progress(entry.offset.bytes(since: .zero), length)
            return payloads.fault(of: entry, isBehindDamage: isBehindDamage)
        }
        // Whether anything is damaged only a version can tell that knows all of it.
        if let newer = verifier.findings.first(where: \.damage.isNewer) {
            throw JournalError.newerFormat(newer.damage)
        }
        findings = verifier.findings.map {
            Finding(place: StoreError.Place($0.damage), severity: Finding.Severity($0.severity))
        }
        segmentCount = verifier.segmentCount
        entryCount = verifier.entryCount
        commitCount = verifier.commitCount
        bytesRead = verifier.bytesRead
        hasCheckpoint = manifest.checkpoint != nil || manifest.checkpointDamage != nil
        if let checkpoint = manifest.checkpoint {
            try verify(checkpoint, of: manifest, in: storage)
        }
        // What the journal says of chunks can only be believed if it is whole itself.
        let damage = findings.filter { $0.severity == .damage }
        guard hasAssets, damage.allSatisfy({ Self.isOfIndex($0.place) }) else { return }
        let assets = try AssetVerification(
            storage, manifest, reclaimedChunks: reclaimedChunks, resuming: damage.isEmpty)
        findings += assets.findings.map { Finding(place: $0) }
        chunkCount = assets.chunkCount
        chunkBytes = assets.chunkBytes
    }

    /// Reads the tables of the index that a checkpoint names.
    private mutating func verify(
        _ checkpoint: Manifest.Checkpoint, of manifest: Manifest, in storage: any Storage
    ) throws(JournalError) {
        let tables = TableStore(
            storage, cache: BlockCache(limit: 0), storeID: StoreIdentity(manifest).idBits)
        guard let index = FoldState(checkpoint, tables, ReleasedFiles())?.index else {
            find(
                JournalDamage(
                    .checkpoint("refused"), file: manifest.fileName,
                    byte: manifest.checkpointPlace))
            return
        }
        tableBytes = index.statistics.runs.reduce(0) { $0 + $1.bytes }
        for number in index.tableNumbers.sorted() {
            tableCount += 1
            do throws(IndexError) {
                try index.verify(number)
            } catch {
                guard case .damaged(let damage) = error else { throw JournalError(error) }
                find(JournalDamage(damage))
            }
        }
    }

    private mutating func find(_ damage: JournalDamage) {
        findings.append(Finding(place: StoreError.Place(damage)))
    }

    /// Whether a finding is about what can be made anew from the journal.
    package static func isOfIndex(_ place: StoreError.Place) -> Bool {
        place.kind.hasPrefix("checkpoint.") || place.file.hasPrefix(Manifest.Checkpoint.filePrefix)
    }
}

extension StoreVerification.Finding.Severity {
    fileprivate init(_ severity: JournalFinding.Severity) {
        switch severity {
        case .damage: self = .damage
        case .possibleLoss: self = .possibleLoss
        case .tornTail: self = .tornTail
        }
    }
}
