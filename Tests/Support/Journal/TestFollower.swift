package import StratusFiles
package import StratusJournal

/// A process that reads a store beside its writer and goes on from where it stopped.
package struct TestFollower {
    package let storage: LocalStorage
    package private(set) var reader: JournalReader<ModelFold>
    private var pin: (any StoragePin)?

    /// Opens the store for reading, in a process of its own.
    package init(_ store: TestStore) throws {
        let storage = try LocalStorage(at: TestStore.directory, .reading, on: store.disk.process())
        self.storage = storage
        let (manifest, pin) = try Self.newest(in: storage)
        reader = JournalReader(
            manifest, in: storage, fold: ModelFold(preamble: store.preamble),
            resuming: { store.resumed($0, in: storage) })
        self.pin = pin
    }

    /// The commits that are whole.
    package var commits: [FoldedCommit] { reader.fold.commits }

    /// Reads what the writer says is durable.
    package mutating func follow() throws {
        let (manifest, pin) = try Self.newest(in: storage)
        if manifest.generation != reader.manifest.generation {
            try reader.replace(manifest)
            self.pin = pin
        }
        try reader.read(.durable)
    }

    /// The newest manifest, pinned: one that was deleted meanwhile has a successor.
    private static func newest(
        in storage: LocalStorage
    ) throws -> (Manifest, any StoragePin) {
        while true {
            guard let manifest = try Journal.newestManifest(in: storage) else {
                throw JournalError.noStore
            }
            do {
                return (manifest, try storage.pin(manifest.fileName))
            } catch {
                if error.kind != .notFound { throw error }
            }
        }
    }
}
