internal import StratusBytes
package import StratusFiles

/// Makes and opens journals.
package enum Journal {
    /// A journal that was opened for writing.
    package struct Opened<Fold: JournalFold> {
        package var writer: JournalWriter
        package var fold: Fold
        package var report: RecoveryReport
    }

    /// The manifest of the journal in `storage`, which holds the writer's lock. With `creating` a
    /// journal is made where there is none.
    package static func manifest(
        in storage: any Storage, creating: Bool, options: JournalOptions
    ) throws -> Manifest {
        try translating {
            if let newest = try newestManifest(in: storage) {
                try newest.checkWriting()
                return newest
            }
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
            if options.refusesPossibleLoss { try reader.report.refusePossibleLoss() }
            reader.dropOpenCommit()
            let discarded = try discardStrays(in: storage, beside: manifest)
            let writer = try resume(&reader, in: storage, options: options)
            var report = reader.report
            report.discardedFiles = (discarded + writer.discardedFiles).sorted()
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
    /// A name appears only once its content is durable, so a manifest of which neither copy is whole
    /// is damage, and an older one would show an older store: it is not fallen back to.
    package static func newestManifest(in storage: any Storage) throws -> Manifest? {
        let names = try storage.list()
        let generations = names.compactMap { Manifest.generation(ofFile: $0) }
        guard let newest = generations.max() else {
            guard let stray = names.first(where: { SegmentHeader.base(ofFile: $0) != nil }) else {
                return nil
            }
            // The first manifest comes before the first segment.
            throw JournalDamage(
                .missingFile, file: Manifest.filePrefix + "*, beside " + stray, byte: 0)
        }
        return try manifest(Manifest.fileName(generation: newest), in: storage)
    }

    /// Reads the manifest in the file `name`.
    package static func manifest(_ name: String, in storage: any Storage) throws -> Manifest {
        let file = try storage.open(name)
        guard file.length <= Manifest.lengthLimit else {
            throw JournalDamage(.manifest("length"), file: name, byte: 0)
        }
        let bytes: [UInt8]
        do {
            bytes = try file.read(0..<file.length)
        } catch {
            guard error.kind == .inputOutput else { throw error }
            // What can be read of it may have one of the two copies. If not, the medium is at fault.
            guard
                let manifest = try? Manifest(
                    try file.readableBytes(in: 0..<file.length), file: name)
            else {
                throw error
            }
            return manifest
        }
        return try Manifest(bytes, file: name)
    }

    private static func create(
        in storage: any Storage, options: JournalOptions
    ) throws -> Manifest {
        let random = options.randomness.next
        let manifest = Manifest(
            generation: 1, storeID: StoreID(high: random(), low: random()), secret: random(),
            userSeed: Hash128(high: random(), low: random()), incarnation: 0,
            lineage: random(), environment: options.environment, epoch: 0,
            created: options.clock.now(), segments: [])
        try storage.put(manifest.fileName, manifest.encoded())
        return manifest
    }

    /// Removes what a crash left and no reader can have pinned: unfinished files, and older
    /// generations.
    private static func discardStrays(
        in storage: any Storage, beside manifest: Manifest
    ) throws -> [String] {
        try storage.list().filter { name in
            guard name != manifest.fileName,
                Manifest.generation(ofFile: name) != nil || ObsoleteFiles.isUnfinished(name)
            else { return false }
            return try storage.delete(name)
        }
    }

    /// Makes the manifest of this opening, which fences out every earlier writer and states where
    /// the journal ends. Segments are made when there is something to write.
    private static func resume<Fold>(
        _ reader: inout JournalReader<Fold>, in storage: any Storage, options: JournalOptions
    ) throws -> JournalWriter {
        var manifest = reader.manifest
        if reader.report.checkpoint == nil { manifest.set(nil) }
        manifest.damage = nil
        manifest.generation += 1
        manifest.epoch += 1
        try reader.settle()
        reader.end(&manifest)
        try storage.put(manifest.fileName, manifest.encoded())
        reader.releaseUnused()
        var view = JournalView(reader.files)
        for segment in manifest.segments { view.add(segment) }
        return try JournalWriter(
            manifest, view: view, head: reader.report.end,
            chain: manifest.segments.isEmpty ? options.randomness.next() : reader.chain,
            totals: reader.scan.totals,
            obsoleteFiles: try ObsoleteFiles(
                in: storage, beside: manifest, reading: reader.fold.files), in: storage,
            options: options)
    }
}
