import StratusFiles
import Support
import Synchronization

/// A store's files in memory, whose syncs wait while the gate is shut: a disk that takes its time.
final class GatedStorage: StorageWrapper {
    let under: any Storage = MemoryStorage()
    fileprivate let gate = Gate()

    /// Lets syncs wait from now on.
    func shut() { gate.isShut = true }
    /// Lets those that wait, and all later ones, go on.
    func open() { gate.isShut = false }
    /// Whether a sync is waiting.
    var isSyncing: Bool { gate.isWaiting }

    func create(_ name: String, length: Int) throws(StorageError) -> any StorageFile {
        GatedFile(try under.create(name, length: length), gate)
    }
    func open(_ name: String) throws(StorageError) -> any StorageFile {
        GatedFile(try under.open(name), gate)
    }
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

private final class GatedFile: StorageFileWrapper {
    let under: any StorageFile
    private let gate: Gate

    init(_ under: any StorageFile, _ gate: Gate) {
        self.under = under
        self.gate = gate
    }

    func sync() throws(StorageError) {
        gate.pass()
        try under.sync()
    }
}
