import StratusFiles
import Support
import Synchronization

/// A store's files in memory, of which a test sees every opening, reading and writing.
final class WatchedStorage: StorageWrapper {
    /// What changes files.
    enum Writing: Sendable {
        case create, reserve, append, rewrite, sync, put, delete
    }

    struct Hooks: Sendable {
        /// Before a file is opened.
        var opening: (@Sendable (_ name: String) -> Void)?
        /// Before a file is read; what it throws is the answer.
        var reading: (@Sendable (_ mode: ReadMode) throws(StorageError) -> Void)?
        /// The same, which sees the file.
        var touching: (@Sendable (_ name: String) -> Void)?
        /// Before a file is changed, by so many bytes; what it throws is the answer.
        var writing:
            (
                @Sendable (_ verb: Writing, _ name: String, _ count: Int) throws(StorageError) ->
                    Void
            )?
    }

    let under: any Storage = MemoryStorage()
    let hooks = Mutex(Hooks())

    func create(_ name: String, length: Int) throws(StorageError) -> any StorageFile {
        try note(.create, name)
        return WatchedFile(try under.create(name, length: length), self)
    }
    func open(_ name: String) throws(StorageError) -> any StorageFile {
        let hook = hooks.withLock { $0.opening }
        hook?(name)
        return WatchedFile(try under.open(name), self)
    }
    func put(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        try note(.put, name, bytes.count)
        try under.put(name, bytes)
    }
    func delete(_ name: String) throws(StorageError) -> Bool {
        try note(.delete, name)
        return try under.delete(name)
    }

    fileprivate func note(
        _ verb: Writing, _ name: String, _ count: Int = 0
    ) throws(StorageError) {
        let hook = hooks.withLock { $0.writing }
        try hook?(verb, name, count)
    }
}

private final class WatchedFile: StorageFileWrapper {
    let under: any StorageFile
    private let storage: WatchedStorage

    init(_ under: any StorageFile, _ storage: WatchedStorage) {
        self.under = under
        self.storage = storage
    }

    func reserve(_ range: Range<Int>) throws(StorageError) {
        try storage.note(.reserve, name, range.count)
        try under.reserve(range)
    }
    func append(
        _ bytes: Span<UInt8>, at position: Int, _ mode: WriteMode
    ) throws(StorageError) {
        try storage.note(.append, name, bytes.count)
        try under.append(bytes, at: position, mode)
    }
    func rewrite(_ range: Range<Int>) throws(StorageError) {
        try storage.note(.rewrite, name, range.count)
        try under.rewrite(range)
    }
    func sync() throws(StorageError) {
        try storage.note(.sync, name)
        try under.sync()
    }
    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        let (reading, touching) = storage.hooks.withLock { ($0.reading, $0.touching) }
        touching?(name)
        try reading?(mode)
        return try under.read(range, mode)
    }
}
