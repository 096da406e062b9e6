import StratusFiles
import Synchronization

/// A store's files in memory, of which a test sees every opening and every reading.
final class WatchedStorage: Storage {
    struct Hooks: Sendable {
        /// Before a file is opened.
        var opening: (@Sendable (_ name: String) -> Void)?
        /// Before a file is read; what it throws is the answer.
        var reading: (@Sendable (_ mode: ReadMode) throws(StorageError) -> Void)?
    }

    let place = "watched memory"
    let hooks = Mutex(Hooks())
    private let memory = MemoryStorage()

    func list() throws(StorageError) -> [String] { try memory.list() }
    func create(_ name: String, length: Int) throws(StorageError) -> any StorageFile {
        WatchedFile(try memory.create(name, length: length), self)
    }
    func open(_ name: String) throws(StorageError) -> any StorageFile {
        let hook = hooks.withLock { $0.opening }
        hook?(name)
        return WatchedFile(try memory.open(name), self)
    }
    func put(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        try memory.put(name, bytes)
    }
    func delete(_ name: String) throws(StorageError) -> Bool { try memory.delete(name) }
    func pin(_ name: String) throws(StorageError) -> any StoragePin { try memory.pin(name) }
    func hasWriter() throws(StorageError) -> Bool { true }
    func close() {}
}

private final class WatchedFile: StorageFile {
    private let file: any StorageFile
    private let storage: WatchedStorage

    init(_ file: any StorageFile, _ storage: WatchedStorage) {
        self.file = file
        self.storage = storage
    }

    var name: String { file.name }
    var length: Int { file.length }
    func reserve(_ range: Range<Int>) throws(StorageError) { try file.reserve(range) }
    func append(_ bytes: Span<UInt8>, at position: Int) throws(StorageError) {
        try file.append(bytes, at: position)
    }
    func rewrite(_ range: Range<Int>) throws(StorageError) { try file.rewrite(range) }
    func sync() throws(StorageError) { try file.sync() }
    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        let hook = storage.hooks.withLock { $0.reading }
        try hook?(mode)
        return try file.read(range, mode)
    }
}
