internal import StratusFiles
internal import StratusJournal

/// A store with a manifest that can be read: its own or, where that is not whole, one that is made of what
/// the segments say of themselves.
struct ReadableStore {
    /// The files of the store, and that manifest.
    let storage: any Storage
    /// That was made; nil: the store has one.
    private(set) var manifest: Manifest?
    /// Why.
    private(set) var damage: JournalDamage?

    /// - Parameter scratch: a directory for temporary files.
    init(_ storage: any Storage, scratch: String) throws {
        let found = try Journal.readableManifest(in: storage)
        guard let damage = found.damage else {
            self.storage = storage
            return
        }
        let files = ScratchStorage(over: storage, in: scratch)
        try files.put(found.manifest.fileName, found.manifest.encoded())
        (self.storage, manifest, self.damage) = (files, found.manifest, damage)
    }
}
