import StratusAssets
import StratusBytes
import StratusFiles
import Support
import Testing

@Suite struct ExtentTests {
    /// As many chunks as it takes: of sixteen kibibytes each, where the bytes are all the same but
    /// for a few, there are lists of lists.
    private static func long(_ seed: UInt64) -> [UInt8] {
        var bytes = ChunkerTests.random(1 << 16, seed: seed)
        while bytes.count < 80 << 20 { bytes += bytes }
        var generator = SeededGenerator(seed: seed)
        for place in stride(from: 0, to: bytes.count, by: 20_000) {
            bytes[place] = UInt8(truncatingIfNeeded: generator.next())
            bytes[place + 1] = UInt8(truncatingIfNeeded: generator.next())
        }
        return bytes
    }

    @Test func `of a long asset the list of extents lies in chunks, and any range is found`() throws
    {
        let store = try ChunkStoreTests.makeStore()
        let bytes = Self.long(1)
        let ingested = try ChunkStoreTests.ingest(bytes, into: store, step: 1 << 20)
        try store.sync()
        #expect(ingested.content.depth == 1)
        #expect(ingested.content.extents.count < 20)
        #expect(ingested.content.extents.reduce(0) { $0 + $1.length } == bytes.count)
        #expect(try ChunkStoreTests.content(of: ingested, from: store) == bytes)
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<20 {
            let start = Int(generator.next() % UInt64(bytes.count))
            let end = min(bytes.count, start + Int(generator.next() % 300_000))
            #expect(
                try ChunkStoreTests.content(of: ingested, from: store, start..<end)
                    == Array(bytes[start..<end]))
        }
    }

    @Test func `an edit changes the lists it touches and no others`() throws {
        let store = try ChunkStoreTests.makeStore()
        var bytes = Self.long(3)
        let first = try ChunkStoreTests.ingest(bytes, into: store, step: 1 << 20)
        bytes.insert(contentsOf: [1, 2, 3], at: 40 << 20)
        let second = try ChunkStoreTests.ingest(
            bytes, into: store, known: first.added, step: 1 << 20)
        #expect(Set(second.content.extents).subtracting(first.content.extents).count <= 2)
        #expect(second.added.count * 20 < Self.long(3).count >> 16)
    }

    @Test func `what an entry holds of an asset is read as it was written, and nothing else is`()
        throws
    {
        let store = try ChunkStoreTests.makeStore()
        let content = try ChunkStoreTests.ingest(
            ChunkerTests.random(900_000, seed: 4), into: store
        ).content
        var writer = ByteWriter()
        content.write(to: &writer)
        #expect(writer.count == content.encodedLength)
        var cursor = ByteCursor()
        let read = try AssetContent(writer.bytes.span, &cursor)
        #expect(read == content && read.extents == content.extents && read.depth == content.depth)
        #expect(cursor.position == writer.count)
        func isRead(_ bytes: [UInt8]) -> Bool {
            var cursor = ByteCursor()
            return (try? AssetContent(bytes.span, &cursor)) != nil
        }
        for count in 0..<writer.count { #expect(!isRead(Array(writer.bytes[..<count]))) }
        // One byte less of the whole than the extents have.
        var other = ByteWriter()
        other.varint(content.length - 1)
        other.append(contentsOf: writer.bytes.dropFirst(3))
        #expect(!isRead(other.bytes))
    }

    @Test func `a list that says another length than the asset's is refused`() throws {
        let store = try ChunkStoreTests.makeStore()
        let ingested = try ChunkStoreTests.ingest(Self.long(5), into: store, step: 1 << 20)
        var cursor = ExtentCursor(ingested.content)
        let next = cursor.next()
        let step = try #require(next)
        #expect(step.isList)
        let place = try #require(ingested.added[step.address])
        var bytes = Array(try store.read(step.address, at: place))
        func isTaken(_ bytes: [UInt8]) -> Bool {
            var cursor = cursor
            return cursor.enter(step, bytes.span)
        }
        #expect(isTaken(bytes))
        #expect(!isTaken(Array(bytes.dropLast(40))))
        #expect(!isTaken(Array(bytes.dropLast())))
        #expect(!isTaken([]))
        bytes[32] ^= 1
        #expect(!isTaken(bytes))
        bytes[39] = 0xff
        #expect(!isTaken(bytes))
    }

    @Test func `lists that name each other without end are followed once each`() throws {
        var lists: [ChunkAddress: [UInt8]] = [:]
        var address = ChunkAddress([UInt8](repeating: 1, count: 32).span, at: 0)
        var length = 1
        for _ in 0..<6 {
            var row = ByteWriter()
            address.write(to: &row)
            row.uint64(UInt64(length))
            let list = (0..<400).flatMap { _ in row.bytes }
            address = EncodedChunk(list[...], in: ChunkStoreTests.domain).address
            lists[address] = list
            length *= 400
        }
        var writer = ByteWriter()
        writer.varint(length)
        writer.zeros(32)
        writer.uint8(6)
        writer.varint(1)
        address.write(to: &writer)
        writer.varint(length)
        var cursor = ByteCursor()
        let content = try AssetContent(writer.bytes.span, &cursor)
        var met: Set<AssetContent.List> = []
        var (listCount, chunkCount) = (0, 0)
        var extents = ExtentCursor(content)
        while let step = extents.next(once: &met) {
            guard step.isList else {
                chunkCount += 1
                continue
            }
            listCount += 1
            let list = try #require(lists[step.address])
            let isEntered = extents.enter(step, list.span)
            #expect(isEntered)
        }
        #expect(listCount == 6 && chunkCount == 400)
        // Who has them too adds nothing.
        var again = ExtentCursor(content)
        let step = again.next(once: &met)
        #expect(step == nil)
    }
}
