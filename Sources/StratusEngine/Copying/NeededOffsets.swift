internal import StratusIndex
internal import StratusJournal

/// The offsets of the entries that rows of the index need, in their order and a bounded number at a
/// time: each time that a window is used up, the rows are gone through once more.
struct NeededOffsets {
    /// Gives each offset that is needed, in any order.
    typealias Source = (_ body: (UInt64) -> Void) throws(EngineError) -> Void

    private let source: Source
    /// How many are held in memory, about.
    private let limit: Int
    private var window: [UInt64] = []
    private var next = 0
    /// Offsets from here on were not looked for yet.
    private var end: UInt64

    /// Those from `start` on.
    init(from start: JournalOffset, limit: Int, _ source: @escaping Source) {
        self.source = source
        self.limit = limit
        end = start.rawValue
    }

    /// Whether the entry at `offset` is needed. Offsets are asked for in their order, each that
    /// there is an entry at.
    ///
    /// - Throws: the offset of an entry that is needed and was not asked for.
    mutating func take(_ offset: JournalOffset) throws(EngineError) -> Answer {
        while offset.rawValue >= end {
            if let missing = window[next...].first { return .isMissing(missing) }
            try load()
        }
        guard let first = window[next...].first, first <= offset.rawValue else { return .isNot }
        guard first == offset.rawValue else { return .isMissing(first) }
        next += 1
        return .isNeeded
    }

    enum Answer {
        case isNeeded
        case isNot
        /// An entry before it is, and was not asked for.
        case isMissing(UInt64)
    }

    /// One that is needed below `limit` and was not asked for.
    mutating func rest(before limit: JournalOffset) throws(EngineError) -> UInt64? {
        while true {
            if let first = window[next...].first { return first < limit.rawValue ? first : nil }
            if end >= limit.rawValue { return nil }
            try load()
        }
    }

    private mutating func load() throws(EngineError) {
        let start = end
        // Reuses the memory of the last window.
        var found = window
        (window, next) = ([], 0)
        found.removeAll(keepingCapacity: true)
        var bound = UInt64.max
        try source { offset in
            guard offset >= start, offset < bound else { return }
            found.append(offset)
            if found.count < limit * 2 { return }
            // Several rows may name one entry.
            found.order()
            guard found.count > limit else { return }
            bound = found[limit]
            found.removeLast(found.count - limit)
        }
        found.order()
        window = found
        next = 0
        end = bound
    }
}
