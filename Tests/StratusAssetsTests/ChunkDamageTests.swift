import StratusAssets
import StratusBytes
import StratusFiles
import Support
import Testing

@Suite struct ChunkDamageTests {
    /// A segment with a few chunks, and each of these as it was.
    private static func segment() throws -> (
        bytes: [UInt8], file: String, chunks: [(ChunkAddress, ChunkPlace, [UInt8])]
    ) {
        let storage = MemoryStorage()
        let store = try ChunkStoreTests.makeStore(storage)
        let contents: [[UInt8]] = [
            ChunkerTests.random(1_001, seed: 1), [UInt8](repeating: 9, count: 5_000),
            ChunkerTests.random(64, seed: 2),
        ]
        let chunks = try contents.map { content in
            let chunk = EncodedChunk(content, in: ChunkStoreTests.domain)
            return (chunk.address, try store.append(chunk), content)
        }
        try store.sync()
        let file = try #require(try storage.list().first)
        let end = try #require(chunks.last).1.byte + 80 + 64
        return (try storage.open(file).read(0..<end), file, chunks)
    }

    private static func store(_ bytes: [UInt8], _ file: String) throws -> ChunkStore {
        let storage = MemoryStorage()
        try storage.put(file, bytes)
        return try ChunkStoreTests.makeStore(storage)
    }

    @Test func `every byte that is changed is detected, and all other chunks are served`() throws {
        let (bytes, file, chunks) = try Self.segment()
        for byte in bytes.indices {
            var damaged = bytes
            damaged[byte] ^= 0x10
            let store = try Self.store(damaged, file)
            for (address, place, content) in chunks {
                let frame = place.byte..<place.byte + 80 + (place.storedLength + 7) / 8 * 8
                let isHit = frame.contains(byte) || byte < 64
                do throws(ChunkError) {
                    #expect(try store.read(address, at: place) == content)
                    #expect(!isHit, "byte \(byte)")
                } catch .damaged(let damage) {
                    #expect(isHit && damage.file == file)
                    #expect(damage.byte == (byte < 64 ? 0 : place.byte))
                } catch {
                    Issue.record("\(error)")
                }
            }
        }
    }

    @Test func `a segment that ends too early is no more than an error`() throws {
        let (bytes, file, chunks) = try Self.segment()
        for length in stride(from: 0, to: bytes.count, by: 7) {
            let store = try Self.store(Array(bytes[..<length]), file)
            for (address, place, content) in chunks {
                let end = place.byte + 80 + (place.storedLength + 7) / 8 * 8
                if let read = try? store.read(address, at: place) {
                    #expect(read == content && end <= length)
                } else {
                    #expect(end > length)
                }
            }
        }
    }

    @Test func `another chunk at the place that was named is refused`() throws {
        let (bytes, file, chunks) = try Self.segment()
        let store = try Self.store(bytes, file)
        #expect(throws: ChunkError.self) { try store.read(chunks[0].0, at: chunks[2].1) }
        var wrong = chunks[0].1
        for byte in [-1, 0, 63, 1 << 50, Int.max] {
            wrong.byte = byte
            #expect(throws: ChunkError.self) { try store.read(chunks[0].0, at: wrong) }
        }
        wrong = chunks[0].1
        for length in [-1, 0, 1, Chunker.most + 1, Int.max] {
            wrong.storedLength = length
            #expect(throws: ChunkError.self) { try store.read(chunks[0].0, at: wrong) }
        }
    }

    @Test func `a frame that promises more than a chunk may be is not believed`() throws {
        let (bytes, file, chunks) = try Self.segment()
        let place = chunks[1].1
        // With right checksums: somebody means it.
        for length: UInt32 in [0, 1, 5_001, UInt32(Chunker.most) + 1, .max] {
            var writer = ByteWriter()
            writer.append(bytes)
            writer.set(length, at: place.byte + 20)
            let salt = bytes.span.uint64(at: 40)
            let header = Checksum.xxh3(
                writer.bytes.span, in: place.byte + 8..<place.byte + 80,
                seed: salt &+ UInt64(place.byte))
            writer.set(header, at: place.byte)
            let store = try Self.store(writer.bytes, file)
            #expect(throws: ChunkError.self) { try store.read(chunks[1].0, at: place) }
        }
    }

    private static func durableStore() throws -> (ChunkStore, SimulatedDisk, EncodedChunk) {
        let disk = SimulatedDisk()
        let storage = try LocalStorage(at: "store", .writing(creating: true), on: disk.process())
        let store = try ChunkStoreTests.makeStore(storage)
        _ = try store.append(EncodedChunk([1, 2, 3], in: ChunkStoreTests.domain))
        try store.sync()
        return (store, disk, EncodedChunk([4], in: ChunkStoreTests.domain))
    }

    @Test func `after a failed sync nothing more is taken`() throws {
        let (store, disk, chunk) = try Self.durableStore()
        _ = try store.append(chunk)
        disk.faults = [
            DiskFault(.fail(.inputOutput), at: 1, of: .synchronizeData, lasting: true)
        ]
        #expect(throws: ChunkError.self) { try store.sync() }
        disk.faults = []
        #expect(throws: ChunkError.self) { try store.sync() }
        #expect(throws: ChunkError.self) { try store.append(chunk) }
    }

    @Test func `a disk that was full and has room again loses no chunk`() throws {
        let (store, disk, chunk) = try Self.durableStore()
        let place = try store.append(chunk)
        disk.faults = [DiskFault(.fail(.noSpace), at: 1, of: .write, lasting: true)]
        #expect(throws: ChunkError.self) { try store.sync() }
        disk.faults = []
        try store.sync()
        disk.crash(seed: 1)
        let storage = try LocalStorage(at: "store", .reading, on: disk.process())
        #expect(try ChunkStoreTests.makeStore(storage).read(chunk.address, at: place) == [4])
    }
}
