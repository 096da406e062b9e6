/// Random numbers that a seed determines (SplitMix64), so that a failure can be replayed.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Any seed will do, 0 too.
    package init(seed: UInt64) { state = seed }

    /// 64 random bits.
    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to but without `limit`, which must be above 0.
    ///
    /// Unlike `Int.random(in:using:)`, the result cannot change with the standard library.
    package mutating func below(_ limit: Int) -> Int {
        precondition(limit > 0)
        return Int(next().multipliedFullWidth(by: UInt64(limit)).high)
    }

    /// True once in `count` times on average.
    package mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }

    /// So many random bytes.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            let word = next()
            for shift in 0..<min(8, count - bytes.count) {
                bytes.append(UInt8(truncatingIfNeeded: word >> (8 * UInt64(shift))))
            }
        }
        return bytes
    }
}
