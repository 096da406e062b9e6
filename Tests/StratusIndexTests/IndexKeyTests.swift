import StratusIndex
import Support
import Testing

@Suite struct IndexKeyTests {
    /// A key and its bytes, put together from the same parts.
    private func pair(_ generator: inout SeededGenerator) -> (key: IndexKey, bytes: [UInt8]) {
        var key = IndexKey()
        var bytes: [UInt8] = []
        while true {
            // Few values, so that keys share beginnings and zeros stand at ends.
            let byte = UInt8([0, 0, 1, 0x7f, 0x80, 0xff][generator.below(6)])
            let length = [1, 4, 8][generator.below(3)]
            if bytes.count + length > IndexKey.limit || generator.oneIn(5) { return (key, bytes) }
            bytes += repeatElement(byte, count: length)
            switch length {
            case 1: key = key.appending(byte)
            case 4: key = key.appending(UInt32(byte) &* 0x0101_0101)
            default: key = key.appending(UInt64(byte) &* 0x0101_0101_0101_0101)
            }
        }
    }

    @Test(arguments: [(0, 0), (1, 0x0102_0304_0506_0708), (.max, .max)] as [(UInt64, UInt64)])
    func `a key made in one step is the one made of its parts`(high: UInt64, low: UInt64) {
        let key = IndexKey(partition: 0xfffe_0102, keyspace: 0x81, high: high, low: low)
        let parts = IndexKey().appending(0xfffe_0102 as UInt32).appending(0x81 as UInt8)
        #expect(key == parts.appending(high).appending(low))
    }

    @Test(arguments: UInt64(0)..<20)
    func `keys are in the order of their bytes, a beginning before what goes on`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let pairs = (0..<100).map { _ in pair(&generator) }
        for left in pairs {
            #expect(left.key.count == left.bytes.count)
            for right in pairs {
                let precedes = left.bytes.lexicographicallyPrecedes(right.bytes)
                #expect((left.key < right.key) == precedes)
                #expect((left.key == right.key) == (left.bytes == right.bytes))
                if left.key == right.key {
                    #expect(left.key.hashValue == right.key.hashValue)
                }
            }
        }
    }

    @Test(arguments: UInt64(0)..<20)
    func `what is behind a prefix is behind all that begin with it, and nothing else`(
        seed: UInt64
    ) {
        var generator = SeededGenerator(seed: seed)
        let pairs = (0..<100).map { _ in pair(&generator) }
        for prefix in pairs where prefix.bytes.contains(where: { $0 != 0xff }) {
            let after = prefix.key.afterPrefix
            for other in pairs {
                let begins = other.bytes.starts(with: prefix.bytes)
                #expect((prefix.key..<after).contains(other.key) == begins)
            }
        }
    }

    @Test func `numbers are found wherever they stand`() {
        for place in 0...39 {
            var key = IndexKey()
            for _ in 0..<place { key = key.appending(UInt8(0xee)) }
            let long = key.appending(UInt64(0x0102_0304_0506_0708))
            #expect(long.uint64(at: place) == 0x0102_0304_0506_0708)
            #expect(long.uint32(at: place) == 0x0102_0304)
            #expect(long.uint32(at: place + 4) == 0x0506_0708)
            let short = key.appending(UInt32(0x0a0b_0c0d))
            #expect(short.uint32(at: place) == 0x0a0b_0c0d)
            #expect(short.count == place + 4)
        }
    }

    @Test func `a key that would be too long stops the process`() async {
        await #expect(processExitsWith: .failure) {
            var key = IndexKey()
            for _ in 0..<6 { key = key.appending(UInt64(1)) }
        }
    }
}
