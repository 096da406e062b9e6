/// The points of the journal at which a reader may still read.
package struct NeededPoints: Sendable {
    /// Open snapshots and pinned readers, in their order.
    package private(set) var listed: [UInt64]
    /// Named marks, in their order: of these there may be many, which seldom change.
    package private(set) var marks: [UInt64]
    /// From here on every point is needed: the beginning of the history that is kept.
    package private(set) var floor: UInt64?

    /// - Parameter marks: in their order.
    package init(_ listed: [UInt64] = [], marks: [UInt64] = [], floor: UInt64? = nil) {
        self.listed = listed.count < 2 ? listed : listed.sorted()
        self.marks = marks
        self.floor = floor
    }

    /// Whether an entry made at `start` and replaced at `end` is seen from a point.
    ///
    /// Everything that drops entries asks here: the memtable, the merges of the index, and the
    /// compaction of the journal.
    package func isNeeded(from start: UInt64, replacedAt end: UInt64) -> Bool {
        if let floor, max(start, floor) < end { return true }
        return listed.hasAny(from: start, before: end) || marks.hasAny(from: start, before: end)
    }

    /// The first point that is needed from `start` on and before `end`; nil where there is none.
    package func first(from start: UInt64, before end: UInt64) -> UInt64? {
        let points = [
            listed.first(from: start), marks.first(from: start), floor.map { max(start, $0) },
        ]
        return points.compactMap(\.self).min().flatMap { $0 < end ? $0 : nil }
    }

    /// These points and another one.
    package func adding(_ point: UInt64) -> NeededPoints {
        NeededPoints(listed + [point], marks: marks, floor: floor)
    }

    /// The earliest point that is listed or in the history that is kept; nil where there is none.
    package var earliestState: UInt64? {
        [listed.first, floor].compactMap(\.self).min()
    }

    /// The last point before `end` that is a mark or in the history that is kept; nil where there
    /// is none.
    package func lastKept(before end: UInt64) -> UInt64? {
        if let floor, floor < end { return end - 1 }
        let place = marks.place(of: end)
        return place > 0 ? marks[place - 1] : nil
    }

    /// What either of the two says is needed, but for the listed points of the other.
    package func keeping(_ other: NeededPoints) -> NeededPoints {
        var points = self
        if marks.isEmpty {
            points.marks = other.marks
        } else if !other.marks.isEmpty, marks != other.marks {
            points.marks = marks.merged(with: other.marks)
        }
        if let floor = other.floor { points.floor = min(floor, points.floor ?? floor) }
        return points
    }
}

extension [UInt64] {
    /// The place of the first that is not below `value`, of rising numbers.
    package func place(of value: UInt64) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < value { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Brings these numbers into their order, each once, in the memory that they take.
    package mutating func order() {
        sort()
        var kept = 0
        for place in indices where kept == 0 || self[kept - 1] != self[place] {
            self[kept] = self[place]
            kept += 1
        }
        removeLast(count - kept)
    }

    /// Of rising numbers those of both, each once.
    fileprivate func merged(with other: [UInt64]) -> [UInt64] {
        var all: [UInt64] = []
        all.reserveCapacity(Swift.max(count, other.count) + 1)
        var (place, second) = (0, 0)
        while place < count || second < other.count {
            let isOwn = second == other.count || (place < count && self[place] <= other[second])
            let next = isOwn ? self[place] : other[second]
            all.append(next)
            while place < count, self[place] <= next { place += 1 }
            while second < other.count, other[second] <= next { second += 1 }
        }
        return all
    }

    /// Whether one of rising numbers lies there.
    fileprivate func hasAny(from start: UInt64, before end: UInt64) -> Bool {
        guard let first = first(from: start) else { return false }
        return first < end
    }

    /// The first of rising numbers that is not below `start`.
    fileprivate func first(from start: UInt64) -> UInt64? {
        if isEmpty { return nil }
        let place = place(of: start)
        return place < count ? self[place] : nil
    }
}
