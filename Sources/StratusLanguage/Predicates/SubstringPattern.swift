/// Looks for scalars in scalars in one pass, without going back (Knuth, Morris, Pratt).
struct SubstringPattern: Sendable {
    private let scalars: [Unicode.Scalar]
    /// After so many matched scalars and one that does not match, how many still do.
    private let fallback: [Int]

    init(_ scalars: [Unicode.Scalar]) {
        self.scalars = scalars
        var fallback = [0, 0]
        var matched = 0
        for scalar in scalars.dropFirst() {
            while matched > 0 && scalars[matched] != scalar { matched = fallback[matched] }
            if scalars[matched] == scalar { matched += 1 }
            fallback.append(matched)
        }
        self.fallback = fallback
    }

    func isContained(in text: FoldedScalars) -> Bool {
        if scalars.isEmpty { return true }
        var matched = 0
        for scalar in text {
            matched = advance(matched, scalar)
            if matched == scalars.count { return true }
        }
        return false
    }

    func isSuffix(of text: FoldedScalars) -> Bool {
        if scalars.isEmpty { return true }
        var matched = 0
        for scalar in text { matched = advance(matched, scalar) }
        return matched == scalars.count
    }

    private func advance(_ matched: Int, _ scalar: Unicode.Scalar) -> Int {
        var matched = matched
        while matched == scalars.count || scalars[matched] != scalar {
            if matched == 0 { return 0 }
            matched = fallback[matched]
        }
        return matched + 1
    }
}
