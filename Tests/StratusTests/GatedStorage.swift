import StratusFiles
import Synchronization

/// A store's files in memory, whose syncs wait while the gate is shut: a disk that takes its time.
final class GatedStorage: Storage {
    let place = "gated memory"
    fileprivate let gate = Gate()
    private let memory = MemoryStorage()

    /// Lets syncs wait from now on.
    func shut() { gate.isShut = true }
    /// Lets those that wait, and all later ones, go on.
    func open() { gate.isShut = false }
    /// Whether a sync is waiting.
    var isSyncing: Bool { gate.isWaiting }

    func list() throws(StorageError) -> [String] { try memory.list() }
    func create(_ name: String, length: Int) throws(StorageError) -> any StorageFile {
        GatedFile(try memory.create(name, length: length), gate)
    }
    func open(_ name: String) throws(StorageError) -> any StorageFile {
        GatedFile(try memory.open(name), gate)
    }
    func put(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        try memory.put(name, bytes)
    }
    func delete(_ name: String) throws(StorageError) -> Bool { try memory.delete(name) }
    func pin(_ name: String) throws(StorageError) -> any StoragePin { try memory.pin(name) }
    func hasWriter() throws(StorageError) -> Bool { true }
    func close() {}
}

private final class Gate: Sendable {
    private let state = Mutex((isShut: false, isWaiting: false))

    var isShut: Bool {
        get { state.withLock { $0.isShut } }
        set { state.withLock { $0.isShut = newValue } }
    }
    var isWaiting: Bool { state.withLock { $0.isWaiting } }

    func pass() {
        while isShut {
            state.withLock { $0.isWaiting = true }
            Thread.pause(microseconds: 200)
        }
        state.withLock { $0.isWaiting = false }
    }
}

private final class GatedFile: StorageFile {
    private let file: any StorageFile
    private let gate: Gate

    init(_ file: any StorageFile, _ gate: Gate) {
        self.file = file
        self.gate = gate
    }

    var name: String { file.name }
    var length: Int { file.length }
    func reserve(_ range: Range<Int>) throws(StorageError) { try file.reserve(range) }

    func append(_ bytes: Span<UInt8>, at position: Int) throws(StorageError) {
        try file.append(bytes, at: position)
    }
    func rewrite(_ range: Range<Int>) throws(StorageError) { try file.rewrite(range) }
    func sync() throws(StorageError) {
        gate.pass()
        try file.sync()
    }
    func read(_ range: Range<Int>, _ mode: ReadMode) throws(StorageError) -> [UInt8] {
        try file.read(range, mode)
    }
}
