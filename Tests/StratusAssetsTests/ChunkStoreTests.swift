import StratusAssets
import StratusBytes
import StratusFiles
import Support
import Testing

@Suite struct ChunkStoreTests {
    static let domain = ChunkDomain(Hash128(high: 1, low: 2))

    static func makeStore(
        _ storage: any Storage = MemoryStorage(), segmentLength: Int = 64 << 20
    ) throws -> ChunkStore {
        var generator = SeededGenerator(seed: 9)
        let salts = (0..<100).map { _ in generator.next() }
        return try ChunkStore(
            in: storage, storeID: Hash128(high: 3, low: 4),
            randomness: Randomness { salts[0] }, segmentLength: segmentLength)
    }

    /// Half of it can be compressed.
    static func mixed(_ count: Int, seed: UInt64) -> [UInt8] {
        var bytes = ChunkerTests.random(count, seed: seed)
        for place in bytes.indices where place / 100_000 % 2 == 0 { bytes[place] &= 3 }
        return bytes
    }

    struct Ingested {
        var content: AssetContent
        var added: [ChunkAddress: ChunkLocation]
        var extents: [AssetContent.Extent] { content.extents }
        var length: Int { content.length }
    }

    static func ingest(
        _ bytes: [UInt8], into store: ChunkStore, domain: ChunkDomain = domain,
        known: [ChunkAddress: ChunkLocation] = [:], step: Int = 70_001
    ) throws -> Ingested {
        let ingest = ChunkIngest(
            into: store, domain: domain, on: IOThreads(count: 2), width: 2
        ) { address throws(ChunkError) in known[address] }
        for start in stride(from: 0, to: bytes.count, by: step) {
            ingest.add(bytes.span.extracting(start..<min(start + step, bytes.count)))
        }
        return Ingested(content: try ingest.content(of: ingest.end()), added: ingest.takeAdded())
    }

    static func content(
        of ingested: Ingested, from store: ChunkStore, _ range: Range<Int>? = nil
    ) throws -> [UInt8] {
        var cursor = ExtentCursor(ingested.content, range)
        var content: [UInt8] = []
        while let step = cursor.next() {
            let place = try #require(ingested.added[step.address])
            let bytes = try store.read(step.address, at: place)
            #expect(step.fits(bytes.count))
            if step.isList {
                let isEntered = cursor.enter(step, bytes.span)
                #expect(isEntered)
            } else {
                content += Array(bytes)[step.range]
            }
        }
        return content
    }

    @Test(arguments: [0, 1, 5000, 300_000, 5_000_000])
    func `what goes in comes out, from as many segments as it takes`(count: Int) throws {
        let storage = MemoryStorage()
        let store = try Self.makeStore(storage, segmentLength: 1 << 20)
        let bytes = Self.mixed(count, seed: 1)
        let ingested = try Self.ingest(bytes, into: store)
        #expect(ingested.length == count)
        try store.sync()
        #expect(try Self.content(of: ingested, from: store) == bytes)
        let reopened = try Self.makeStore(storage)
        #expect(try Self.content(of: ingested, from: reopened) == bytes)
        #expect(try storage.list().count >= count / (2 << 20))
    }

    @Test func `the number of a deleted segment is never given again`() throws {
        let storage = MemoryStorage()
        let store = try Self.makeStore(storage)
        _ = try Self.ingest(Self.mixed(100_000, seed: 7), into: store)
        try store.sync()
        for _ in 0..<3 {
            let reopened = try Self.makeStore(storage)
            let last = try #require(try reopened.segmentNumbers().last)
            let isEmpty = try reopened.usedLength(of: last) == 0
            #expect(try reopened.delete(last) == !isEmpty)
            #expect(try Self.makeStore(storage).currentNumber > last)
            #expect(try reopened.segmentNumbers().count == 1)
        }
    }

    @Test func `what is given up leaves nothing to the asset after it`() throws {
        let bytes = Self.mixed(700_000, seed: 8)
        let workers = IOThreads(count: 2)
        let ingest = ChunkIngest(
            into: try Self.makeStore(), domain: Self.domain, on: workers, width: 2
        ) { _ in nil }
        ingest.add(Self.mixed(900_000, seed: 9).span)
        ingest.abandon()
        ingest.add(bytes.span)
        let content = try ingest.content(of: ingest.end())
        let other = ChunkIngest(
            into: try Self.makeStore(), domain: Self.domain, on: workers, width: 2
        ) { _ in nil }
        other.add(bytes.span)
        #expect(try other.content(of: other.end()) == content)
    }

    @Test func `assets on their way at once are each what they would be alone`() throws {
        let streams = [0, 10, 70_000, 3_000_000, 0, 200_000].enumerated().map {
            Self.mixed($1, seed: UInt64(20 + $0))
        }
        let expected = try streams.map { try Self.ingest($0, into: Self.makeStore()).content }
        let ingest = ChunkIngest(
            into: try Self.makeStore(), domain: Self.domain, on: IOThreads(count: 2), width: 2
        ) { _ in nil }
        var tickets: [ChunkIngest.Ticket] = []
        for stream in streams {
            ingest.add(stream.span)
            tickets.append(ingest.end())
            ingest.add(Self.mixed(100_000, seed: 30).span)
            ingest.abandon()
        }
        for (ticket, content) in zip(tickets, expected).reversed() {
            #expect(try ingest.content(of: ticket) == content)
        }
    }

    @Test func `where a chunk cannot be stored its asset fails, and no other`() throws {
        let streams = (40..<43).map { Self.mixed(900_000, seed: $0) }
        let refused = try Self.ingest(streams[1], into: Self.makeStore()).extents[3].address
        let ingest = ChunkIngest(
            into: try Self.makeStore(), domain: Self.domain, on: IOThreads(count: 2), width: 2
        ) { address throws(ChunkError) in
            if address == refused { throw .refused }
            return nil
        }
        let tickets = streams.map { stream in
            ingest.add(stream.span)
            return ingest.end()
        }
        #expect(try ingest.content(of: tickets[0]).length == 900_000)
        #expect(throws: ChunkError.refused) { try ingest.content(of: tickets[1]) }
        #expect(try ingest.content(of: tickets[2]).length == 900_000)
    }

    @Test func `what is there already is not written again`() throws {
        let storage = MemoryStorage()
        let store = try Self.makeStore(storage)
        let bytes = Self.mixed(2_000_000, seed: 2)
        let first = try Self.ingest(bytes + bytes, into: store)
        #expect(first.added.count < first.extents.count)
        let second = try Self.ingest(bytes + bytes, into: store, known: first.added)
        #expect(second.added.isEmpty)
        #expect(second.extents == first.extents)
    }

    @Test func `equal bytes in two domains are two chunks`() throws {
        let store = try Self.makeStore()
        let bytes = Self.mixed(500_000, seed: 3)
        let first = try Self.ingest(bytes, into: store)
        let second = try Self.ingest(
            bytes, into: store, domain: ChunkDomain(Hash128(high: 1, low: 3)),
            known: first.added)
        #expect(second.added.count == second.extents.count)
        #expect(Set(second.added.keys).isDisjoint(with: first.added.keys))
        #expect(first.content.digest == second.content.digest)
    }

    @Test func `bytes that do not shrink are stored as they are`() throws {
        let random = EncodedChunk(ChunkerTests.random(100_000, seed: 4)[...], in: Self.domain)
        #expect(random.storedLength == 100_000)
        let text = EncodedChunk([UInt8](repeating: 65, count: 100_000)[...], in: Self.domain)
        #expect(text.storedLength < 1000)
    }

    @Test func `how a stream is handed over does not matter`() throws {
        let bytes = Self.mixed(1_500_000, seed: 5)
        let store = try Self.makeStore()
        let expected = try Self.ingest(bytes, into: store, step: bytes.count).extents
        for step in [1_000, 65_536, 262_144, 262_145] {
            #expect(try Self.ingest(bytes, into: store, step: step).extents == expected)
        }
    }
}
