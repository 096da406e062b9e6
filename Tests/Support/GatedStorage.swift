package import StratusFiles
internal import Synchronization

/// A store's files in memory, of which one kind of call waits while the gate is shut: a disk that
/// takes its time.
package final class GatedStorage: StorageWrapper {
    package enum Call: Sendable {
        case append
        case sync
        /// Of a manifest.
        case put
        /// Of a table of the index.
        case putTable
        /// Of a compacted segment.
        case compact
    }

    package let under: any Storage = MemoryStorage()
    private let gate: Gate

    package init(holding call: Call = .sync) { gate = Gate(call) }

    /// Lets calls wait from now on.
    package func shut() { gate.isShut = true }
    /// Lets those that wait, and all later ones, go on.
    package func open() { gate.isShut = false }
    /// Lets the one that waits go on, and none after it.
    package func letOneThrough() { gate.letOneThrough() }
    /// Whether a call is waiting.
    package var isWaiting: Bool { gate.isWaiting }
    /// How many calls have gone through.
    package var count: Int { gate.count }

    package func create(
        _ name: String, length: Int
    ) throws(StorageError) -> any StorageFile {
        GatedFile(try under.create(name, length: length), gate)
    }
    package func open(_ name: String) throws(StorageError) -> any StorageFile {
        GatedFile(try under.open(name), gate)
    }
    package func put(_ name: String, _ bytes: [UInt8]) throws(StorageError) {
        if name.hasPrefix("manifest") { gate.pass(.put) }
        if name.hasPrefix("index-") { gate.pass(.putTable) }
        if name.hasPrefix("compacted-") { gate.pass(.compact) }
        try under.put(name, bytes)
    }
}

private final class Gate: Sendable {
    private let call: GatedStorage.Call
    private let state = Mutex((isShut: false, letThrough: 0, isWaiting: false, count: 0))

    init(_ call: GatedStorage.Call) { self.call = call }

    var isShut: Bool {
        get { state.withLock { $0.isShut } }
        set { state.withLock { $0.isShut = newValue } }
    }
    var isWaiting: Bool { state.withLock { $0.isWaiting } }
    var count: Int { state.withLock { $0.count } }

    func letOneThrough() {
        state.withLock { state in
            state.letThrough += 1
            state.isWaiting = false
        }
    }

    func pass(_ call: GatedStorage.Call) {
        guard call == self.call else { return }
        // Longer and longer: with many gates that are shut for long, looking would be all that is done.
        var pause: UInt32 = 200
        while true {
            let goes = state.withLock { state in
                if state.isShut, state.letThrough == 0 {
                    state.isWaiting = true
                    return false
                }
                if state.isShut { state.letThrough -= 1 }
                state.isWaiting = false
                state.count += 1
                return true
            }
            if goes { return }
            Thread.pause(microseconds: pause)
            pause = min(pause * 2, 10_000)
        }
    }
}

private final class GatedFile: StorageFileWrapper {
    let under: any StorageFile
    private let gate: Gate

    init(_ under: any StorageFile, _ gate: Gate) {
        self.under = under
        self.gate = gate
    }

    func append(
        _ bytes: Span<UInt8>, at position: Int, _ mode: WriteMode
    ) throws(StorageError) {
        gate.pass(.append)
        try under.append(bytes, at: position, mode)
    }

    func sync() throws(StorageError) {
        gate.pass(.sync)
        try under.sync()
    }
}
