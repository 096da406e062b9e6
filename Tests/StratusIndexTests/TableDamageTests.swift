import StratusBytes
import StratusFiles
import StratusIndex
import Support
import Testing

/// No byte of a table is ignored, and no damage gives a wrong answer.
@Suite struct TableDamageTests {
    private static let fixture = Result { try TableFixture((0..<300).map(key)) }
    private static let name = "index-0000000000000001"

    private static func key(_ number: Int) -> IndexKey {
        number.isMultiple(of: 3)
            ? TableFixture.feed(UInt64(number)) : TableFixture.record(UInt64(number))
    }

    /// What a table says that it may not, or that it has no damage.
    private static func problem(
        _ index: OrderedIndex, _ fixture: TableFixture, at place: Int
    ) -> String? {
        do {
            try index.verify(1)
            return "no damage at \(place)"
        } catch {
            guard case .damaged(let damage) = error else { return "\(error) at \(place)" }
            if damage.file != name || damage.byte > place { return "\(damage) at \(place)" }
        }
        for direction in [IndexDirection.forward, .backward] {
            var cursor = index.cursor(TableFixture.whole, .blocking, direction)
            let keys = fixture.keys.sorted()
            var expected = direction == .forward ? keys : keys.reversed()
            expected.reverse()
            do {
                while let next = try cursor.next() {
                    if next.key != expected.popLast() { return "a wrong key, \(place)" }
                }
                if !expected.isEmpty, index.tableNumbers == [1] { return "too few, \(place)" }
            } catch {
                guard case .damaged = error else { return "\(error) at \(place)" }
            }
        }
        for number in stride(from: place % 16, to: 300, by: 16) {
            do {
                let found = try index.value(of: fixture.keys[number], .blocking)
                if found != TableFixture.value(number) { return "a wrong value, \(place)" }
            } catch {
                guard case .damaged = error else { return "\(error) at \(place)" }
            }
        }
        return nil
    }

    @Test func `every flipped byte is found and named, and nothing wrong is read`() throws {
        let fixture = try Self.fixture.get()
        let bytes = try fixture.bytes(Self.name)
        var generator = SeededGenerator(seed: 1)
        var problems: [String] = []
        for place in bytes.indices {
            var damaged = bytes
            damaged[place] ^= UInt8(1 + generator.below(255))
            let index = try fixture.reopened(
                holding: [Self.name: damaged], pinLimit: place.isMultiple(of: 2) ? 1 << 20 : 0)
            if let problem = Self.problem(index, fixture, at: place) { problems.append(problem) }
        }
        #expect(bytes.count > 4000)
        #expect(problems.prefix(10) == [])
    }

    @Test func `every shorter length is found and named`() throws {
        let fixture = try Self.fixture.get()
        let bytes = try fixture.bytes(Self.name)
        for length in bytes.indices {
            let cut = [Self.name: Array(bytes[..<length])]
            let index = try fixture.reopened(holding: cut)
            let expected = IndexError.damaged(
                IndexDamage(.fileLength, file: Self.name, byte: length))
            #expect(throws: expected) { try index.verify(1) }
            #expect(throws: expected) {
                try index.value(of: fixture.keys[length % 300], .blocking)
            }
        }
    }

    @Test func `a table that is missing, renamed or of another store is named`() throws {
        let fixture = try Self.fixture.get()
        let bytes = try fixture.bytes(Self.name)
        func error(_ index: OrderedIndex) -> IndexDamage? {
            do {
                try index.verify(1)
            } catch {
                if case .damaged(let damage) = error { return damage }
            }
            return nil
        }
        let missing = error(try fixture.reopened(holding: [:]))
        #expect(missing?.description == "\(Self.name), byte 0: file.missing")
        let foreign = error(
            try fixture.reopened(
                holding: [Self.name: bytes], storeID: Hash128(high: 7, low: 12)))
        #expect(foreign?.kind.identifier == "index.store")
        let other = try TableFixture((300..<600).map(Self.key))
        let exchanged = [Self.name: try other.bytes(Self.name)]
        #expect(error(try fixture.reopened(holding: exchanged)) != nil)
        var newer = bytes
        newer[10] = 2
        let sum = Checksum.xxh3(newer.span, in: 0..<24, seed: 1)
        var span = newer.mutableSpan
        span.set(sum, at: 24)
        let refused = error(try fixture.reopened(holding: [Self.name: newer]))
        #expect(refused?.kind == .newerFormat(2))
    }

    /// Where the checksum of the first data block stands, which begins behind the header.
    private static func endOfFirstBlock(_ bytes: [UInt8]) -> Int? {
        (40..<bytes.count).first { end in
            let seed: UInt64 = 1 + 32 << 40
            return end + 8 <= bytes.count
                && Checksum.xxh3(bytes.span, in: 32..<end, seed: seed)
                    == bytes.span.uint64(at: end)
        }
    }

    @Test func `checksums that hold make no bytes true`() throws {
        let fixture = try Self.fixture.get()
        let bytes = try fixture.bytes(Self.name)
        let block = 32..<(try #require(Self.endOfFirstBlock(bytes)))
        var generator = SeededGenerator(seed: 2)
        var found = 0
        for _ in 0..<4000 {
            var damaged = bytes
            for _ in 0...generator.below(3) {
                let place =
                    generator.oneIn(3)
                    ? block.upperBound - 1 - generator.below(40)
                    : block.lowerBound + generator.below(block.count)
                damaged[place] = UInt8(generator.below(256))
            }
            let sum = Checksum.xxh3(damaged.span, in: block, seed: 1 + 32 << 40)
            var span = damaged.mutableSpan
            span.set(sum, at: block.upperBound)
            let index = try fixture.reopened(holding: [Self.name: damaged])
            // Whatever it says, the process lives and every walk ends: behind damage nothing comes.
            for direction in [IndexDirection.forward, .backward] {
                var cursor = index.cursor(TableFixture.whole, .blocking, direction)
                do {
                    while try cursor.next() != nil {}
                } catch {
                    let next = try? cursor.next()
                    #expect(next?.key == nil)
                }
            }
            for key in fixture.keys.prefix(20) { _ = try? index.value(of: key, .blocking) }
            if (try? index.verify(1)) == nil { found += 1 }
        }
        #expect(found > 1000)
    }

    @Test func `a block that says the same in other bytes is damage`() throws {
        let fixture = try Self.fixture.get()
        let whole = try fixture.bytes(Self.name)
        var bytes = whole
        let end = try #require(Self.endOfFirstBlock(whole))
        // The least stamp one lower, and each of the column counted from there one higher.
        let span = whole.span
        let (base, count) = (span.uint64(at: 32), Int(span.uint16(at: 56)))
        let (prefix, keyLength) = (Int(whole[58]), Int(whole[59]))
        let (keyWidth, stampWidth) = (Int(whole[60]), Int(whole[61]))
        let stamps = 64 + prefix + count * keyWidth + (keyLength == 0 ? count : 0)
        try #require(base > 0 && stampWidth > 0)
        for place in 0..<8 {
            bytes[32 + place] = UInt8(truncatingIfNeeded: (base - 1) >> UInt64(place * 8))
        }
        for number in 0..<count {
            var place = stamps + number * stampWidth
            while bytes[place] == 0xff {
                bytes[place] = 0
                place += 1
            }
            bytes[place] += 1
        }
        let sum = Checksum.xxh3(bytes.span, in: 32..<end, seed: 1 + 32 << 40)
        var output = bytes.mutableSpan
        output.set(sum, at: end)
        let index = try fixture.reopened(holding: [Self.name: bytes])
        for number in 0..<300 {
            let found = try index.value(of: fixture.keys[number], .blocking)
            #expect(found == TableFixture.value(number))
        }
        let error = #expect(throws: IndexError.self) { try index.verify(1) }
        guard case .damaged(let damage)? = error else { return }
        #expect(damage.kind.identifier == "index.entry" && damage.byte == 32)
    }

    @Test func `every flipped byte of a description is found, or describes other tables`() throws {
        let fixture = try Self.fixture.get()
        let description = fixture.index.description
        for place in description.indices {
            for length in [place, description.count] {
                var damaged = Array(description[..<length])
                if place < length { damaged[place] ^= 1 << UInt8(place % 8) }
                // What one of them says of numbers holds for all of a store.
                let store = TableStore(
                    fixture.storage, cache: BlockCache(limit: 1 << 20),
                    storeID: TableFixture.storeID)
                do {
                    let index = try OrderedIndex(
                        description: damaged.span, file: "manifest", in: store)
                    // The manifest's checksum finds it; here it may not do harm.
                    #expect(index.description == damaged)
                    _ = try? index.value(of: fixture.keys[0], .blocking)
                } catch {
                    guard case .damaged(let damage) = error else { throw error }
                    #expect(damage.kind == .description && damage.file == "manifest")
                }
            }
        }
    }
}
