/// A pattern of `LIKE`, run as a set of states of which each is a bit: a long pattern costs a word
/// of 64 states a scalar, and no text makes it go back.
package struct WildcardPattern: Sendable {
    /// Scalars and `?` of a pattern.
    package static let limit = 1024

    /// For each word, the states that a `*` keeps.
    private var stars: [UInt64]
    /// For each word, the states that every scalar advances: those at a `?`.
    private var anyScalar: [UInt64]
    /// The states that a scalar of the pattern advances, those at a `?` among them; those of ASCII
    /// by their value.
    private var ascii: [[UInt64]] = []
    private var others: [Unicode.Scalar: [UInt64]] = [:]
    private var count = 0

    /// Nil of a pattern above the limit.
    package init?(_ pattern: String, _ folding: TextFolding) {
        let wordCount = Self.limit / 64 + 1
        stars = Array(repeating: 0, count: wordCount)
        anyScalar = stars
        var places: [(Unicode.Scalar, Int)] = []
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            guard count <= Self.limit else { return nil }
            switch scalar {
            case "\\" where !isEscaped:
                isEscaped = true
                continue
            case "*" where !isEscaped: Self.insert(count, into: &stars)
            case "?" where !isEscaped:
                Self.insert(count, into: &anyScalar)
                count += 1
            default:
                for folded in FoldedScalars(String(scalar), folding) {
                    places.append((folded, count))
                    count += 1
                }
            }
            isEscaped = false
        }
        guard count <= Self.limit else { return nil }
        let used = count / 64 + 1
        stars.removeLast(wordCount - used)
        anyScalar.removeLast(wordCount - used)
        ascii = Array(repeating: anyScalar, count: 0x80)
        for (scalar, place) in places {
            if scalar.isASCII {
                Self.insert(place, into: &ascii[Int(scalar.value)])
            } else {
                Self.insert(place, into: &others[scalar, default: anyScalar])
            }
        }
    }

    private func advancing(_ scalar: Unicode.Scalar) -> [UInt64] {
        scalar.isASCII ? ascii[Int(scalar.value)] : others[scalar] ?? anyScalar
    }

    package func matches(_ text: FoldedScalars) -> Bool {
        var states = [UInt64](repeating: 0, count: stars.count)
        states[0] = 1
        for scalar in text {
            let advancing = advancing(scalar)
            var carry: UInt64 = 0
            var isAlive = false
            for word in states.indices {
                let moved = states[word] & advancing[word]
                states[word] = moved << 1 | carry | states[word] & stars[word]
                carry = moved >> 63
                isAlive = isAlive || states[word] != 0
            }
            if !isAlive { return false }
        }
        return states[count / 64] >> UInt64(count % 64) & 1 != 0
    }

    private static func insert(_ state: Int, into words: inout [UInt64]) {
        words[state / 64] |= 1 << UInt64(state % 64)
    }
}
