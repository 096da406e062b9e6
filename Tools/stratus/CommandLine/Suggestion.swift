/// Finds what a mistyped word was meant to be.
package enum Suggestion {
    /// The one of `candidates` that begins with `word`, else the nearest, or nil where none is near
    /// enough to be a slip: one edit for every three letters. Of equals the first wins.
    package static func nearest(to word: String, among candidates: [String]) -> String? {
        // A word of any length can be typed; the distance takes time by its square.
        guard word.utf8.count <= 64 else { return nil }
        let longer = candidates.filter { $0.hasPrefix(word) }
        if longer.count == 1, word.count > 1 { return longer[0] }
        // Two letters are near to everything short.
        let limit = word.count / 3
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(from: word, to: candidate)
            if distance <= limit, distance < best?.distance ?? Int.max {
                best = (candidate, distance)
            }
        }
        return best?.candidate
    }

    /// How many letters must be inserted, deleted, replaced or exchanged with their neighbour.
    package static func distance(from left: String, to right: String) -> Int {
        let left = Array(left.lowercased())
        let right = Array(right.lowercased())
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in 1...left.count {
            var current = [row]
            for column in 1...right.count {
                let replaced = last[column - 1] + (left[row - 1] == right[column - 1] ? 0 : 1)
                var least = min(replaced, last[column] + 1, current[column - 1] + 1)
                if row > 1, column > 1, left[row - 1] == right[column - 2],
                    left[row - 2] == right[column - 1]
                {
                    least = min(least, beforeLast[column - 2] + 1)
                }
                current.append(least)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
