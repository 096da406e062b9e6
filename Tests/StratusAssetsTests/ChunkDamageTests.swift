import StratusAssets
import StratusBytes
import StratusFiles
import Support
import Testing

@Suite struct ChunkDamageTests {
    /// A segment with a few chunks, and each of these as it was.
    private static func segment() throws -> (
        bytes: [UInt8], file: String, chunks: [(ChunkAddress, ChunkLocation, [UInt8])]
    ) {
        let storage = MemoryStorage()
        let store = try ChunkStoreTests.makeStore(storage)
        let contents: [[UInt8]] = [
            ChunkerTests.random(1_001, seed: 1), [UInt8](repeating: 9, count: 5_000),
            ChunkerTests.random(64, seed: 2),
        ]
        let chunks = try contents.map { content in
            let chunk = EncodedChunk(content[...], in: ChunkStoreTests.domain)
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
                    #expect(try store.read(address, at: place) == content[...])
                    #expect(!isHit, "byte \(byte)")
                } catch .damaged(let damage) {
                    #expect(isHit && damage.file == file)
                    #expect(damage.byte == (byte < 64 ? 0 : place.byte))
                    if byte >= 64 { #expect(damage.kind == Self.kind(byte, place)) }
                } catch {
                    Issue.record("\(error)")
                }
            }
        }
    }

    /// What is said of a changed byte of the frame at `place`.
    private static func kind(_ byte: Int, _ place: ChunkLocation) -> ChunkDamage.Kind {
        switch byte - place.byte {
        case ..<80: .frame("header checksum")
        case ..<(80 + place.storedLength): .frame("checksum")
        default: .frame("padding")
        }
    }

    @Test func `a segment that ends too early is no more than an error`() throws {
        let (bytes, file, chunks) = try Self.segment()
        for length in stride(from: 0, to: bytes.count, by: 7) {
            let store = try Self.store(Array(bytes[..<length]), file)
            for (address, place, content) in chunks {
                let end = place.byte + 80 + (place.storedLength + 7) / 8 * 8
                do throws(ChunkError) {
                    #expect(try store.read(address, at: place) == content[...] && end <= length)
                } catch .damaged(let damage) {
                    #expect(end > length && damage.file == file)
                    let kind =
                        length < 64
                        ? ChunkDamage.Kind.header("length") : ChunkDamage.Kind.frame("length")
                    #expect(damage.kind == kind)
                } catch {
                    Issue.record("\(error)")
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
        // With right checksums, as in a forged file.
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

    /// A segment of one chunk, whose frame says what it is told, with right checksums.
    private static func frame(
        _ stored: [UInt8], length: UInt32, encoding: UInt8 = 1, storedLength: UInt32? = nil
    ) throws -> (bytes: [UInt8], file: String, address: ChunkAddress, place: ChunkLocation) {
        let (bytes, file, chunks) = try segment()
        let place = chunks[0].1
        var writer = ByteWriter()
        writer.append(Array(bytes[..<(place.byte + 80)]))
        writer.append(stored)
        writer.pad(to: 8)
        writer.set(Checksum.xxh3(stored.span), at: place.byte + 8)
        writer.set(storedLength ?? UInt32(stored.count), at: place.byte + 16)
        writer.set(length, at: place.byte + 20)
        writer.set(encoding, at: place.byte + 24)
        let header = Checksum.xxh3(
            writer.bytes.span, in: place.byte + 8..<place.byte + 80,
            seed: bytes.span.uint64(at: 40) &+ UInt64(place.byte))
        writer.set(header, at: place.byte)
        let stated = ChunkLocation(
            number: place.number, byte: place.byte, storedLength: stored.count,
            length: Int(length))
        return (writer.bytes, file, chunks[0].0, stated)
    }

    @Test func `a block that stands for more than its chunk has, or for less, is refused`() throws {
        let most = UInt32(Chunker.most)
        for count in [1 << 24, Chunker.most + 1, Chunker.most - 1, 5_000] {
            let zeros = [UInt8](repeating: 0, count: count)
            let compressed = LZ4.compress(zeros.span, most: 1 << 20)
            let block = try #require(compressed)
            let (bytes, file, address, place) = try Self.frame(block, length: most)
            let store = try Self.store(bytes, file)
            #expect(throws: Self.damage(.frame("compression"), file, place)) {
                try store.read(address, at: place)
            }
        }
    }

    @Test func `what a frame says of its lengths is believed only where it can be`() throws {
        let stored = [UInt8](repeating: 1, count: 100)
        for (length, encoding, storedLength) in [
            (UInt32.max, UInt8(1), UInt32(100)), (0, 1, 100), (100, 1, 100), (101, 0, 100),
            (200, 1, .max), (200, 1, 0), (100, 1, 101),
        ] {
            let (bytes, file, address, stated) = try Self.frame(
                stored, length: length, encoding: encoding, storedLength: storedLength)
            var place = stated
            place.length = 200
            let store = try Self.store(bytes, file)
            #expect(throws: Self.damage(.frame("lengths"), file, place)) {
                try store.read(address, at: place)
            }
        }
    }

    private static func damage(
        _ kind: ChunkDamage.Kind, _ file: String, _ place: ChunkLocation
    ) -> ChunkError {
        .damaged(ChunkDamage(kind, file: file, byte: place.byte))
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
