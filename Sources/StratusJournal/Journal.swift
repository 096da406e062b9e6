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

    /// Opens the journal that `manifest` describes in `storage`, which holds the writer's lock, and
    /// reads all of it into `fold`.
    package static func open<Fold: JournalFold>(
        in storage: any Storage, _ manifest: Manifest, options: JournalOptions, fold: Fold
    ) throws -> Opened<Fold> {
        try translating {
            var reader = JournalReader(manifest, in: storage, fold: fold)
            try reader.read(.toTheEnd)
            reader.dropOpenCommit()
            let discarded = try discardStrays(in: storage, beside: manifest)
            let writer = try resume(&reader, in: storage, options: options)
            var report = reader.report
            report.discardedFiles = discarded
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
        let name = Manifest.fileName(generation: newest)
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
        let previous = manifest.fileName
        manifest.generation += 1
        manifest.epoch += 1
        let isClosed = reader.report.wasClean && reader.lastFrameKind != .trailer
        var files = reader.files
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
            files.append(try header.create(in: storage))
            manifest.segments.append(header.manifestSegment)
        }
        try storage.put(manifest.fileName, manifest.encoded())
        _ = try storage.delete(previous)
        var view = JournalView()
        for (segment, file) in zip(manifest.segments, files) { view.add(segment, file: file) }
        let active = manifest.segments[manifest.segments.count - 1]
        // A segment that was closed before its first entry has no preamble either.
        let totals = isClosed ? reader.scan.totals : SegmentTotals()
        return JournalWriter(
            manifest, view: view, file: files[files.count - 1], head: active.end,
            chain: active.chainAtEnd,
            totals: totals, needsPreamble: totals.entryCount == 0, in: storage, options: options)
    }
}
