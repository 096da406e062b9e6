import StratusAssets
import StratusBytes
import StratusFiles
import Support
import Synchronization
import Testing

/// Reads of chunks that must not wait.
@Suite struct ChunkWaitTests {
    /// Files in memory, to which nothing can be appended while the gate is shut.
    private final class SlowStorage: StorageWrapper {
        let under: any Storage = MemoryStorage()
        let gate = Gate()

        func create(_ name: String, length: Int) throws(StorageError) -> any StorageFile {
            SlowFile(try under.create(name, length: length), gate)
        }
    }

    private final class Gate: Sendable {
        private let isShut = Mutex(false)
        let isMet = WakeUp()
        private let opened = WakeUp()

        func shut() { isShut.withLock { $0 = true } }
        func open() { opened.signal() }

        func pass() {
            guard isShut.withLock({ $0 }) else { return }
            isMet.signal()
            opened.wait(nanoseconds: 10_000_000_000)
        }
    }

    private final class SlowFile: StorageFileWrapper {
        let under: any StorageFile
        private let gate: Gate

        init(_ under: any StorageFile, _ gate: Gate) {
            self.under = under
            self.gate = gate
        }

        func append(
            _ bytes: Span<UInt8>, at position: Int, _ mode: WriteMode
        ) throws(StorageError) {
            gate.pass()
            try under.append(bytes, at: position, mode)
        }
    }

    @Test func `who may not wait does not wait for who writes`() throws {
        let storage = SlowStorage()
        let store = try ChunkStoreTests.makeStore(storage)
        let chunk = EncodedChunk([1, 2, 3], in: ChunkStoreTests.domain)
        let place = try store.append(chunk)
        try store.sync()
        #expect(try store.read(chunk.address, at: place, .resident) == [1, 2, 3])
        storage.gate.shut()
        let isOver = WakeUp()
        try Thread.start {
            for seed in UInt64(0)..<8 {
                let bytes = ChunkerTests.random(200_000, seed: seed)
                _ = try? store.append(EncodedChunk(bytes[...], in: ChunkStoreTests.domain))
            }
            isOver.signal()
        }
        storage.gate.isMet.wait()
        do throws(ChunkError) {
            _ = try store.read(chunk.address, at: place, .resident)
            Issue.record("it was read")
        } catch {
            guard case .storage(let error) = error else { throw error }
            #expect(error.kind == .notResident)
        }
        storage.gate.open()
        isOver.wait()
        #expect(try store.read(chunk.address, at: place) == [1, 2, 3])
    }
}
