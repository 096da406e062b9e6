package import StratusFiles

/// Makes and opens journals.
package enum Journal {
    /// A journal that was opened for writing.
    package struct Opened<Fold: JournalFold> {
        package var writer: JournalWriter
        package var fold: Fold
        package var report: RecoveryReport
    }

    /// The manifest of the journal in `storage`. With `creating`, by whoever holds the writer's
    /// lock, a journal is made where there is none.
    package static func manifest(
        in storage: any Storage, creating: Bool, options: JournalOptions
    ) throws -> Manifest {
        try translating {
            if let newest = try newestManifest(in: storage) { return newest }
            guard creating else { throw JournalError.noStore }
            return try create(in: storage, options: options)
        }
    }

    /// Opens the journal that `manifest` describes in `storage`, which holds the writer's lock.
    /// Reads all of it into `fold`, or what lies behind the checkpoint into what `resuming` makes
    /// of that: see ``JournalReader``.
    package static func open<Fold: JournalFold>(
        in storage: any Storage, _ manifest: Manifest, options: JournalOptions,
        cache: BlockCache? = nil, fold: Fold,
        resuming: (Manifest.Checkpoint) -> Fold? = { _ in nil }
    ) throws -> Opened<Fold> {
        try translating {
            var reader = JournalReader(
                manifest, in: storage, cache: cache, fold: fold, resuming: resuming)
            try reader.read(.toTheEnd)
            reader.dropOpenCommit()
            let discarded = try discardStrays(in: storage, beside: manifest)
            var writer = try resume(&reader, in: storage, options: options)
            var report = reader.report
            // Files of the layer above go after the generation that may have named them.
            report.discardedFiles = (discarded + writer.release([])).sorted()
            return Opened(writer: writer, fold: reader.fold, report: report)
        }
    }

    /// What goes wrong below is an error of the journal's.
    private static func translating<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StorageError {
            throw JournalError.storage(error)
        } catch let damage as JournalDamage {
            throw JournalError(damage)
        }
    }

    /// The manifest of the highest generation, or nil where there is no store.
    ///
    /// A name appears only once its content is durable, so a manifest that is not whole is damage,
    /// and an older one would show an older store: it is not fallen back to.
    package static func newestManifest(in storage: any Storage) throws -> Manifest? {
        let names = try storage.list()
        let generations = names.compactMap { Manifest.generation(ofFile: $0) }
        guard let newest = generations.max() else {
            guard let stray = names.first(where: { SegmentHeader.base(ofFile: $0) != nil }) else {
                return nil
            }
            // Segments without a manifest are either a store that lost it, or one whose making
            // did not get that far; the latter has a single segment without a frame.
            guard try isUnfinished(storage, names: names) else {
                throw JournalDamage(
                    .missingFile, file: Manifest.filePrefix + "*, beside " + stray, byte: 0)
            }
            return nil
        }
        return try manifest(Manifest.fileName(generation: newest), in: storage)
    }

    /// Reads the manifest in the file `name`.
    static func manifest(_ name: String, in storage: any Storage) throws -> Manifest {
        let file = try storage.open(name)
        guard file.length <= 64 << 20 else {
            throw JournalDamage(.manifest("length"), file: name, byte: 0)
        }
        return try Manifest(file.read(0..<file.length), file: name)
    }

    private static func isUnfinished(
        _ storage: any Storage, names: [String]
    ) throws -> Bool {
        let segments = names.filter { SegmentHeader.base(ofFile: $0) != nil }
        guard segments == [SegmentHeader.fileName(base: .zero)] else { return false }
        let file = try storage.open(segments[0])
        guard file.length > SegmentHeader.length else { return true }
        let end = min(file.length, SegmentHeader.length + GroupHeader.frameLength)
        return try file.read(SegmentHeader.length..<end).allSatisfy { $0 == 0 }
    }

    private static func create(
        in storage: any Storage, options: JournalOptions
    ) throws -> Manifest {
        for stray in try storage.list() where SegmentHeader.base(ofFile: stray) != nil {
            _ = try storage.delete(stray)
        }
        let random = options.randomness.next
        let created = options.clock.now()
        let header = SegmentHeader(
            storeID: StoreID(high: random(), low: random()), base: .zero,
            lengthInBytes: options.segmentLength ?? JournalWriter.leastSegment, salt: random(),
            epoch: 0, predecessorBase: .zero, predecessorEnd: .zero, chain: random(),
            created: created)
        _ = try header.create(in: storage)
        let manifest = Manifest(
            generation: 1, storeID: header.storeID, secret: random(), incarnation: 0, epoch: 0,
            created: created, segments: [header.manifestSegment])
        // The store is there once its manifest is.
        try storage.put(manifest.fileName, manifest.encoded())
        return manifest
    }

    /// Removes what a crash left and nothing refers to: unfinished files, a segment that no
    /// manifest lists, older generations.
    private static func discardStrays(
        in storage: any Storage, beside manifest: Manifest
    ) throws -> [String] {
        let listed = Set(manifest.segments.map(\.fileName) + [manifest.fileName])
        var discarded: [String] = []
        for name in try storage.list() where !listed.contains(name) {
            let stem =
                name.hasSuffix(LocalStorage.temporarySuffix)
                ? String(name.dropLast(LocalStorage.temporarySuffix.count)) : name
            let isOurs =
                SegmentHeader.base(ofFile: stem) != nil || Manifest.generation(ofFile: stem) != nil
            guard isOurs, try storage.delete(name) else { continue }
            discarded.append(name)
        }
        return discarded
    }

    /// Makes the manifest of this opening, which fences out every earlier one, and begins a new
    /// segment unless the last one was closed.
    private static func resume<Fold>(
        _ reader: inout JournalReader<Fold>, in storage: any Storage, options: JournalOptions
    ) throws -> JournalWriter {
        var manifest = reader.manifest
        if reader.report.checkpoint == nil { manifest.set(nil) }
        manifest.generation += 1
        manifest.epoch += 1
        let isClosed = reader.report.wasClean && reader.lastFrameKind != .trailer
        try reader.settle()
        let last = manifest.segments.count - 1
        if isClosed {
            manifest.segments[last].end = reader.report.end
            manifest.segments[last].chainAtEnd = reader.chain
        } else {
            reader.end(&manifest)
            let header = SegmentHeader(
                storeID: manifest.storeID, base: manifest.segments[last].limit,
                lengthInBytes: options.segmentLength ?? JournalWriter.leastSegment,
                salt: options.randomness.next(), epoch: manifest.epoch,
                predecessorBase: manifest.segments[last].base,
                predecessorEnd: manifest.segments[last].end,
                chain: reader.chain, created: options.clock.now())
            // A crash of an earlier try may have left the file.
            _ = try storage.delete(header.fileName)
            reader.files.add(try header.create(in: storage), of: header.manifestSegment)
            manifest.segments.append(header.manifestSegment)
        }
        try storage.put(manifest.fileName, manifest.encoded())
        var view = JournalView(reader.files)
        for segment in manifest.segments { view.add(segment) }
        let active = manifest.segments[manifest.segments.count - 1]
        // A segment that was closed before its first entry has no preamble either.
        let counted = reader.scan.totals
        let totals = isClosed ? counted : SegmentTotals(after: counted)
        return JournalWriter(
            manifest, view: view, file: try reader.files.file(of: active, .blocking),
            head: active.end, chain: active.chainAtEnd, totals: totals,
            needsPreamble: totals.entryCount == 0,
            leftovers: try Leftovers(
                in: storage, beside: manifest, reading: reader.fold.files), in: storage,
            options: options)
    }
}
