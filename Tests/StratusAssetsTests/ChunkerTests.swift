import StratusAssets
import StratusBytes
import Support
import Testing

@Suite struct ChunkerTests {
    /// The lengths of all chunks of `bytes`, of which `step` more are shown at a time.
    static func lengths(_ bytes: [UInt8], step: Int = .max) -> [Int] {
        var chunker = Chunker()
        var lengths: [Int] = []
        var start = 0
        var end = 0
        while end < bytes.count {
            end += min(step, bytes.count - end)
            while let length = chunker.firstCut(in: bytes.span.extracting(start..<end)) {
                lengths.append(length)
                start += length
            }
        }
        return start < end ? lengths + [end - start] : lengths
    }

    static func random(_ count: Int, seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        var writer = ByteWriter(capacity: count)
        while writer.count < count { writer.uint64(generator.next()) }
        writer.truncate(to: count)
        return writer.bytes
    }

    @Test func `every length keeps within its limits and the usual one is near the middle`() {
        let lengths = Self.lengths(Self.random(16 << 20, seed: 1))
        #expect(lengths.dropLast().allSatisfy { Chunker.least <= $0 && $0 <= Chunker.most })
        let average = (16 << 20) / lengths.count
        #expect(average > Chunker.usual / 2 && average < Chunker.usual * 2)
        #expect(lengths.reduce(0, +) == 16 << 20)
    }

    @Test func `cuts are where the definition says, byte by byte`() {
        let bytes = Self.random(2 << 20, seed: 2)
        var expected: [Int] = []
        var start = 0
        let numbers = (0...255).map { SHA256.hash([UInt8($0)]).span.uint64(at: 0) }
        while start < bytes.count {
            let end = min(start + Chunker.most, bytes.count)
            var place = min(start + Chunker.least, end)
            var hash: UInt64 = 0
            while place < end {
                let bits = place < start + Chunker.usual ? 18 : 14
                hash = (hash << 1) &+ numbers[Int(bytes[place])]
                place += 1
                if (hash << 2) >> UInt64(64 - bits) == 0 { break }
            }
            expected.append(place - start)
            start = place
        }
        #expect(Self.lengths(bytes) == expected)
    }

    @Test(arguments: [1000, Chunker.least, Chunker.usual + 1, Chunker.most])
    func `cuts do not depend on how much is seen at a time`(step: Int) {
        let bytes = Self.random(3 << 20, seed: 5) + [UInt8](repeating: 1, count: 1 << 20)
        #expect(Self.lengths(bytes, step: step) == Self.lengths(bytes))
    }

    @Test func `an edit changes the chunks it touches and few others`() {
        let bytes = Self.random(8 << 20, seed: 3)
        var edited = bytes
        edited.insert(1, at: 3 << 20)
        func chunks(_ bytes: [UInt8]) -> Set<[UInt8]> {
            var start = 0
            return Set(
                Self.lengths(bytes).map { length in
                    defer { start += length }
                    return Array(bytes[start..<start + length])
                })
        }
        let new = chunks(edited).subtracting(chunks(bytes))
        #expect(!new.isEmpty && new.count <= 4)
    }

    @Test func `what is the same everywhere is cut at the longest length`() {
        #expect(Self.lengths([UInt8](repeating: 7, count: 600_000)) == [262_144, 262_144, 75_712])
    }

    @Test(arguments: [0, 1, 64, Chunker.least - 1, Chunker.least])
    func `up to the least length there is one chunk`(count: Int) {
        let bytes = Array(Self.random(Chunker.least, seed: 4).prefix(count))
        #expect(Self.lengths(bytes) == (count == 0 ? [] : [count]))
    }
}
