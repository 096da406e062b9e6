internal import StratusFiles

/// What the store no longer needs and readers may still use: older generations of the manifest, and
/// files of the layer above.
///
/// A reader pins the generation it reads by. So a generation is deleted once no reader has it
/// pinned, and a file of the layer above once no remaining generation names it.
struct ObsoleteFiles {
    private var generations: [(name: String, files: Set<String>)] = []
    private var released: [String] = []

    /// What earlier processes left, beside the generation that is now in force and the files that
    /// the layer above reads. The opening may have made some of those, which no generation names
    /// before the next checkpoint.
    init(
        in storage: any Storage, beside manifest: Manifest, reading: [String]
    ) throws(StorageError) {
        let names = try storage.list()
        let files = names.filter { $0.hasPrefix(Manifest.Checkpoint.filePrefix) }
        for name in names where Manifest.generation(ofFile: name) != nil {
            guard name != manifest.fileName, !((try? storage.delete(name)) ?? false) else {
                continue
            }
            // One that cannot be read may name anything.
            let older = try? Journal.manifest(name, in: storage)
            let named = older.map { $0.checkpoint?.files ?? [] } ?? files
            generations.append((name, Set(named)))
        }
        let kept = Set(manifest.checkpoint?.files ?? []).union(reading)
        released = files.filter { !kept.contains($0) }
    }

    /// Whether a reader may still read by an older generation.
    var hasPinned: Bool { !generations.isEmpty }

    mutating func add(_ older: Manifest) {
        generations.append((older.fileName, Set(older.checkpoint?.files ?? [])))
    }

    mutating func release(_ files: [String]) {
        released += files.filter { !released.contains($0) }
    }

    /// Deletes what may go; returns the names of the layer above's files among it. What cannot be
    /// deleted is tried again the next time.
    @discardableResult
    mutating func clear(in storage: any Storage, beside manifest: Manifest) -> [String] {
        generations.removeAll { (try? storage.delete($0.name)) ?? false }
        let named = generations.reduce(into: Set(manifest.checkpoint?.files ?? [])) {
            $0.formUnion($1.files)
        }
        var gone: [String] = []
        released.removeAll { name in
            guard !named.contains(name), (try? storage.delete(name)) ?? false else { return false }
            gone.append(name)
            return true
        }
        return gone
    }
}
