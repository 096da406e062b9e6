internal import FoundationEssentials
internal import StratusAssets
internal import StratusBytes
package import StratusFiles
internal import StratusIndex
internal import StratusJournal
package import StratusEngine

/// Checks every byte of a store, or of a part of one, without opening it.
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
    /// Of a part, the first place that there was no time for; nil: it was read to its end.
    package var next: ScrubPlace?

    /// What caches and memtables may take, in bytes: with the blocks that are read and what merges hold,
    /// a verification stays below 64 MiB. What of the index does not fit lies in a file without a name.
    package static let memoryLimit = 28 << 20

    /// Where that file lies: TMPDIR or, where that is not set, `/var/tmp`, since `/tmp` is often
    /// memory.
    package static var scratchDirectory: String {
        ProcessInfo.processInfo.environment["TMPDIR"] ?? "/var/tmp"
    }

    /// Reads the store in the directory `path`, or a part of it, as far as its manifest can be read, no
    /// faster than a rate where one is given. `progress` is told how many bytes of the journal were read,
    /// and of how many; with a checkpoint the journal of a whole store is read twice.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` for a subset that is none.
    package nonisolated(nonsending) init(
        _ part: ScrubPart = ScrubPart(), at path: String, bytesPerSecond: Int? = nil,
        progress: @escaping Container.ReadingProgress = { _, _ in }
    ) async throws(StoreError) {
        try await answering { () async throws(EngineError) in
            self = try await IOThreads(count: 1).run {
                let storage = try LocalStorage(at: path, .reading)
                let pace = bytesPerSecond.map { ReadingPace(bytesPerSecond: $0) }
                return try StoreVerification(part, ofMedium: storage, pace, progress: progress)
            }
        }
    }

    /// The identity of the store in the directory `path`, in 32 hexadecimal digits, as far as its manifest
    /// can be read.
    package nonisolated(nonsending) static func storeID(
        at path: String
    ) async throws(StoreError) -> String {
        try await answering { () async throws(EngineError) in
            try await IOThreads(count: 1).run {
                guard
                    let (manifest, _) = try StoreFollower.pinNewest(
                        in: try LocalStorage(at: path, .reading))
                else { throw JournalError.noStore }
                return manifest.storeID.description
            }
        }
    }

    /// Blocks that the medium does not give back are findings like all others.
    init(
        _ part: ScrubPart = ScrubPart(), ofMedium storage: any Storage, _ pace: ReadingPace?,
        _ registry: ProjectionRegistry = .store, memoryLimit: Int = memoryLimit,
        progress: @escaping Container.ReadingProgress = { _, _ in }
    ) throws {
        if let subset = part.subset, !subset.isValid {
            throw EngineError.refused(
                .invalidArguments, "there is no part \(subset.number) of \(subset.count)")
        }
        let medium = LenientStorage(
            over: pace.map { PacedStorage(over: storage, $0) } ?? storage)
        self = try StoreVerification(
            medium, registry, part: part, memoryLimit: memoryLimit, progress: progress)
        findings += medium.unreadableBlocks.map { Finding(place: StoreError.Place($0)) }
    }

    /// The same of the store that a container has open, which goes on meanwhile, with a quarter of its
    /// memory besides.
    package nonisolated(nonsending) init(of container: Container) async throws(StoreError) {
        try await answering { () async throws(EngineError) in
            let foundation = container.foundation
            self = try await container.threads.run {
                try StoreVerification(
                    ofMedium: foundation.storage, nil, foundation.registry,
                    memoryLimit: foundation.budget.limit / 4)
            }
        }
    }

    /// - Parameters:
    ///   - scratch: a directory of the storage's file system, for temporary files.
    ///   - memoryLimit: what caches and memtables may take, in bytes.
    package init(
        _ storage: any Storage, _ registry: ProjectionRegistry = .store,
        part: ScrubPart = ScrubPart(), scratch: String = scratchDirectory,
        memoryLimit: Int = memoryLimit,
        progress: @escaping Container.ReadingProgress = { _, _ in }
    ) throws {
        guard let (manifest, pin) = try StoreFollower.pinNewest(in: storage) else {
            throw JournalError.noStore
        }
        defer { withExtendedLifetime(pin) {} }
        var walk = ScrubWalk(part)
        let length = manifest.length
        // To be compared with, an index is made of all of the journal.
        let total = part.isWhole && manifest.checkpoint != nil ? 2 * length : length
        let hasAssets = try readJournal(of: manifest, in: storage, registry, &walk) {
            progress($0, total)
        }
        hasCheckpoint = manifest.checkpoint != nil || manifest.checkpointDamage != nil
        if let checkpoint = manifest.checkpoint {
            try verify(checkpoint, of: manifest, in: storage, registry) { number in
                walk.reads(ScrubPlace(.index, number))
            }
        }
        if !part.isWhole {
            if walk.next == nil {
                let foundation = StoreFoundation(
                    storage, registry, memoryLimit: memoryLimit, threads: IOThreads(count: 1))
                try verifyChunks(foundation, from: part.start, &walk)
            }
            next = walk.next
            return
        }
        var foundation = StoreFoundation(
            ScratchStorage(over: storage, in: scratch), registry, memoryLimit: memoryLimit,
            threads: IOThreads(count: 1), rebuilds: true)
        // What the journal says can only be believed if it is whole itself.
        if findings.allSatisfy({ $0.severity != .damage || Self.isOfManifest($0.place) }) {
            try compareIndex(of: manifest, &foundation) { progress(length + $0, total) }
        }
        guard findings.allSatisfy({ $0.severity != .damage || Self.canBeMadeAnew($0.place) })
        else {
            // Which records name what is damaged cannot be told, but that it is can, if the store opens.
            let foundation = StoreFoundation(
                storage, registry, memoryLimit: memoryLimit, threads: IOThreads(count: 1))
            do {
                try readChunks(foundation, from: nil, &walk)
            } catch {
                let failure = EngineError(translating: error)
                guard failure.isDamage else { throw failure }
            }
            return
        }
        guard hasAssets else { return }
        let assets = try AssetVerification(foundation)
        findings += assets.findings.map { Finding(place: $0) }
        chunkCount = assets.chunkCount
        chunkBytes = assets.chunkBytes
    }

    /// Reads the segments of the journal that are to be read; returns whether any of them says where
    /// chunks lie, or has a record with an asset, whose chunks must lie somewhere. `progress` is told how
    /// far that is, in bytes.
    private mutating func readJournal(
        of manifest: Manifest, in storage: any Storage, _ registry: ProjectionRegistry,
        _ walk: inout ScrubWalk, progress: (Int) -> Void
    ) throws -> Bool {
        var verifier = JournalVerifier(manifest, in: storage)
        var payloads = PayloadCheck(registry)
        var hasAssets = false
        verifier.begin()
        for segment in manifest.segments {
            // What was compacted since begins where the first of several segments did.
            let last = ScrubPlace(.journal, max(segment.base.rawValue, segment.end.rawValue &- 1))
            guard walk.reads(ScrubPlace(.journal, segment.base.rawValue), through: last) else {
                verifier.passOver(segment)
                continue
            }
            try verifier.read(segment) { entry, isBehindDamage in
                if !hasAssets { hasAssets = entry.kind == .chunks || entry.namesAssets }
                progress(entry.offset.bytes(since: .zero))
                return payloads.fault(of: entry, isBehindDamage: isBehindDamage)
            }
        }
        verifier.end()
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
        return hasAssets
    }

    /// Reads the chunks that are to be read, where the index on disk says that they lie; of a store that
    /// cannot be opened that is not known.
    private mutating func verifyChunks(
        _ foundation: StoreFoundation, from start: ScrubPlace?, _ walk: inout ScrubWalk
    ) throws {
        do {
            try readChunks(foundation, from: start, &walk)
        } catch {
            let failure = EngineError(translating: error)
            guard failure.isDamage, let place = StoreError(failure).place else { throw failure }
            if !findings.contains(where: { $0.place == place }) {
                findings.append(Finding(place: place))
            }
        }
    }

    private mutating func readChunks(
        _ foundation: StoreFoundation, from start: ScrubPlace?, _ walk: inout ScrubWalk
    ) throws {
        let follower = try StoreFollower(foundation)
        let reading = StoreReading(follower.published.current, .blocking)
        var check = ChunkCheck(try foundation.assets.chunks())
        var group: UInt64?
        var isRead = false
        let first = start.flatMap { $0.kind == .assets ? UInt16(clamping: $0.number) : nil } ?? 0
        try reading.forEachChunk(from: first) { address, place throws(EngineError) in
            let next = address.high.high >> 48
            if next != group {
                // For the time that it takes to read them counts.
                try check.finish()
                group = next
                isRead = walk.reads(ScrubPlace(.assets, next))
            }
            if isRead { try check.add(address, place) }
        }
        try check.finish()
        (chunkCount, chunkBytes) = (check.count, check.bytes)
        findings += check.damaged.values
            .sorted { ($0.file, $0.byte) < ($1.file, $1.byte) }.map { Finding(place: $0) }
    }

    /// Compares the index that the checkpoint names with one that is made of the journal.
    private mutating func compareIndex(
        of manifest: Manifest, _ foundation: inout StoreFoundation,
        progress: @escaping @Sendable (Int) -> Void
    ) throws {
        guard let checkpoint = manifest.checkpoint,
            let named = FoldState(
                checkpoint, foundation.tables(of: manifest), foundation.released),
            let rebuilt = try foundation.rebuild(
                manifest, follow: { progress($0.bytes(since: .zero)) })
        else { return }
        let comparison: IndexComparison
        do throws(IndexError) {
            comparison = try IndexComparison(
                named, with: rebuilt, foundation.registry,
                looseStamps: manifest.segments.contains(where: \.isCompacted))
        } catch {
            throw JournalError(error)
        }
        func note(_ word: String, at offset: JournalOffset?) {
            let place = StoreError.Place(
                file: manifest.fileName, byte: manifest.checkpointPlace, offset: offset?.rawValue,
                kind: "checkpoint.\(word)")
            findings.append(Finding(place: place))
        }
        if comparison.differsInState { note("state", at: nil) }
        for (keyspace, offset) in comparison.keyspaces.sorted(by: { $0.key < $1.key }) {
            note(foundation.registry.name(ofKeyspace: keyspace), at: offset)
        }
    }

    /// Reads those tables of the index that a checkpoint names and for which `reads` is true.
    private mutating func verify(
        _ checkpoint: Manifest.Checkpoint, of manifest: Manifest, in storage: any Storage,
        _ registry: ProjectionRegistry, where reads: (UInt64) -> Bool
    ) throws(JournalError) {
        let tables = registry.tables(of: manifest, in: storage, cache: BlockCache(limit: 0))
        guard let index = FoldState(checkpoint, tables, ReleasedFiles())?.index else {
            find(
                JournalDamage(
                    .checkpoint("refused"), file: manifest.fileName,
                    byte: manifest.checkpointPlace))
            return
        }
        for number in index.tableNumbers.sorted() where reads(number) {
            tableCount += 1
            tableBytes += index.length(ofTable: number)
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

    /// Whether a finding is about one of the two copies of the manifest.
    private static func isOfManifest(_ place: StoreError.Place) -> Bool {
        place.kind.hasPrefix("manifest.")
    }

    /// Whether a finding is about what can be made anew: the index from the journal, one copy of the
    /// manifest from the other.
    package static func canBeMadeAnew(_ place: StoreError.Place) -> Bool {
        place.kind.hasPrefix("checkpoint.") || isOfManifest(place)
            || place.file.hasPrefix(Manifest.Checkpoint.filePrefix)
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

extension JournalEntry {
    /// Whether it is a record with an asset, as far as that can be read.
    fileprivate var namesAssets: Bool {
        guard kind == .record, let head = try? recordHead().head else { return false }
        return head.assetBytes != nil
    }
}

extension StoreError.Place {
    /// A block that the medium does not give back.
    init(_ block: LenientStorage.Block) {
        self.init(file: block.file, byte: block.byte, kind: "file.unreadable")
    }
}
