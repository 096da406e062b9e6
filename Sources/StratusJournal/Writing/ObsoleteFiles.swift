package import StratusFiles

/// What the store no longer needs and readers may still use: older generations of the manifest,
/// segments that were compacted, and files of the layer above.
///
/// A reader pins the generation it reads by. So a generation is deleted once no reader has it
/// pinned, and any other file once no remaining generation names it.
struct ObsoleteFiles {
    /// An older generation, and what it names.
    private struct Generation {
        var name: String
        /// Nil of one that cannot be read, which may name anything.
        var named: Names?
    }

    /// The files that a generation names.
    fileprivate struct Names {
        let segments: [Manifest.Segment]
        let files: [String]

        init(_ manifest: Manifest) {
            segments = manifest.segments
            files = manifest.checkpoint?.files ?? []
        }

        func contains(_ name: String) -> Bool {
            if name.hasPrefix(Manifest.Checkpoint.filePrefix) { return files.contains(name) }
            if let base = SegmentHeader.base(ofFile: name) {
                return segments.contains { $0.base == base && !$0.isCompacted }
            }
            let number = CompactedHeader.number(ofFile: name)
            return segments.contains { $0.isCompacted && $0.number == number }
        }

        /// Those that a generation may name, and this one does not.
        func others(among names: [String]) -> [String] {
            names.filter { ObsoleteFiles.isOurs($0) && !contains($0) }
        }
    }

    private var generations: [Generation] = []
    private var released: [String] = []
    /// What of the files that earlier processes left is gone.
    private(set) var discarded: [String] = []

    /// What earlier processes left, beside the generation that is now in force and the files that
    /// the layer above reads. The opening may have made some of those, which no generation names
    /// before the next checkpoint.
    init(
        in storage: any Storage, beside manifest: Manifest, reading: [String]
    ) throws(StorageError) {
        let names = try storage.list()
        for name in names where Manifest.generation(ofFile: name) != nil {
            guard name != manifest.fileName, !((try? storage.delete(name)) ?? false) else {
                continue
            }
            let older = try? Journal.manifest(name, in: storage)
            generations.append(Generation(name: name, named: older.map { Names($0) }))
        }
        released = Names(manifest).others(among: names).filter { !reading.contains($0) }
        discarded = clear(in: storage, beside: manifest)
    }

    /// Whether that is the name of a file that a generation may name.
    fileprivate static func isOurs(_ name: String) -> Bool {
        name.hasPrefix(Manifest.Checkpoint.filePrefix) || isSegment(name)
    }

    private static func isSegment(_ name: String) -> Bool {
        SegmentHeader.base(ofFile: name) != nil || CompactedHeader.number(ofFile: name) != nil
    }

    /// Whether that is the name of such a file, or of a manifest, that a crash cut off.
    static func isUnfinished(_ name: String) -> Bool {
        guard name.hasSuffix(LocalStorage.temporarySuffix) else { return false }
        let stem = String(name.dropLast(LocalStorage.temporarySuffix.count))
        return isSegment(stem) || Manifest.generation(ofFile: stem) != nil
    }

    /// The end of the offsets of segments that are listed no more and still there, for a reader:
    /// none is made under their names.
    func limit(in storage: any Storage) throws(StorageError) -> JournalOffset {
        var limit = JournalOffset.zero
        for name in released {
            guard let base = SegmentHeader.base(ofFile: name) else { continue }
            limit = max(limit, base.advanced(byBytes: try storage.open(name).length))
        }
        return limit
    }

    /// Whether a reader may still read by an older generation.
    var hasPinned: Bool { !generations.isEmpty }

    mutating func add(_ older: Manifest) {
        generations.append(Generation(name: older.fileName, named: Names(older)))
    }

    mutating func release(_ files: [String]) {
        released += files.filter { !released.contains($0) }
    }

    /// Deletes what may go; returns the names of the files among it that are no manifests. What
    /// cannot be deleted is tried again the next time.
    @discardableResult
    mutating func clear(in storage: any Storage, beside manifest: Manifest) -> [String] {
        generations.removeAll { (try? storage.delete($0.name)) ?? false }
        if released.isEmpty { return [] }
        let kept = generations.map(\.named) + [Names(manifest)]
        var gone: [String] = []
        released.removeAll { name in
            let isNamed = kept.contains { $0?.contains(name) ?? true }
            guard !isNamed, (try? storage.delete(name)) ?? false else { return false }
            gone.append(name)
            return true
        }
        return gone
    }
}

extension Manifest {
    /// The names of older generations, and of files of journal and index that this one does not name,
    /// which are still there: a reader may use them, here or in another process.
    package func heldFiles(in storage: any Storage) throws(StorageError) -> [String] {
        let names = try storage.list()
        let older = names.filter { Self.generation(ofFile: $0) != nil && $0 != fileName }
        return (older + ObsoleteFiles.Names(self).others(among: names)).sorted()
    }
}
