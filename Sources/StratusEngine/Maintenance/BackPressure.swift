internal import StratusJournal
internal import Synchronization

/// Makes commits wait while a compaction runs that they are ahead of, so that the journal does not grow
/// without bound beside it.
///
/// What is needed no longer is counted with each commit. From where that is as much as what is needed,
/// so that the journal is twice what it must be, each group of commits waits in proportion to the excess.
package final class BackPressure: Sendable {
    /// A group of commits waits no longer, in microseconds.
    package static let longest = 20_000

    /// What the journal must hold, in bytes; nil: no compaction runs.
    private let needed = Mutex<Int?>(nil)

    package init() {}

    /// A compaction begins, of a journal of which so many bytes are needed; not above 0: that is not known,
    /// and nothing waits.
    func begin(needed: Int) { self.needed.withLock { $0 = needed } }

    func end() { needed.withLock { $0 = nil } }

    /// How long the next group waits, in microseconds.
    package func delay(in state: FoldState) -> Int {
        guard let needed = needed.withLock({ $0 }) else { return 0 }
        if state.countsForgotten { return 0 }
        return Self.delay(dead: state.deadBytes, needed: needed)
    }

    package static func delay(dead: Int, needed: Int) -> Int {
        guard needed > 0, dead > needed else { return 0 }
        return Int(Double(longest) * min(1, Double(dead - needed) / Double(needed)))
    }
}
