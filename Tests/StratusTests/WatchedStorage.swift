import StratusFiles
import Support
import Synchronization

/// A store's files in memory, of which a test sees every opening and every reading.
final class WatchedStorage: StorageWrapper {
    struct Hooks: Sendable {
        /// Before a file is opened.
        var opening: (@Sendable (_ name: String) -> Void)?
        /// Before a file is read; what it throws is the answer.
        var reading: (@Sendable (_ mode: ReadMode) throws(StorageError) -> Void)?
    }

    let under: any Storage = MemoryStorage()
    let hooks = Mutex(Hooks())

    func create(_ name: String, length: Int) throws(StorageError) -> any StorageFile {
        WatchedFile(try under.create(name, length: length), self)
    }
    func open(_ name: String) throws(StorageError) -> any StorageFile {
        let hook = hooks.withLock { $0.opening }
        hook?(name)
        return WatchedFile(try under.open(name), self)
    }
}

private final class WatchedFile: StorageFileWrapper {
    let under: any StorageFile
    private let storage: WatchedStorage

    init(_ under: any StorageFile, _ storage: WatchedStorage) {
        self.under = under
        self.storage = storage
    }

    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        let hook = storage.hooks.withLock { $0.reading }
        try hook?(mode)
        return try under.read(range, mode)
    }
}
