internal import StratusAssets
internal import StratusBytes
internal import Synchronization

/// The chunks that saves on their way rely on, which nobody collects.
///
/// A save holds a chunk before it looks whether it is there. Whoever collects has the chunks doomed
/// first, all but those that are held, and only then takes them back: a save that asks for one
/// meanwhile hears that it is not there, and stores it anew.
final class ChunkHolds: Sendable {
    private struct Holder {
        /// Of the addresses; two with the same are held together.
        var marks: Set<UInt64> = []
        /// It holds more than can be counted, and so everything.
        var isFull = false
        /// The first chunk segment that it may have written to.
        var firstSegment: UInt64
    }

    private struct State {
        var holders: [UInt64: Holder] = [:]
        var count: UInt64 = 0
        var doomed: Set<ChunkAddress> = []
    }

    private let state = Mutex(State())

    /// So many chunks are counted for each save.
    private static let limit = 1 << 20

    /// A save begins that may write to segments from `segment` on.
    func begin(from segment: UInt64) -> ChunkHold {
        ChunkHold(
            self,
            state.withLock { state in
                state.count += 1
                state.holders[state.count] = Holder(firstSegment: segment)
                return state.count
            })
    }

    fileprivate func end(_ number: UInt64) { state.withLock { $0.holders[number] = nil } }

    /// Holds a chunk; false where that comes too late, and the chunk is as good as gone.
    fileprivate func hold(_ address: ChunkAddress, _ number: UInt64) -> Bool {
        state.withLock { state in
            let isFull = state.holders[number].map { $0.isFull || $0.marks.count >= Self.limit }
            if isFull == true {
                state.holders[number]?.isFull = true
                state.holders[number]?.marks = []
            } else {
                state.holders[number]?.marks.insert(address.low.low)
            }
            // Held in any case: who stores it anew must keep what it has stored.
            return !state.doomed.contains(address)
        }
    }

    /// Has those of `addresses` doomed that nobody holds, and returns them.
    func doom(_ addresses: [ChunkAddress]) -> [ChunkAddress] {
        state.withLock { state in
            let holders = state.holders.values
            if holders.contains(where: \.isFull) { return [] }
            let free = addresses.filter { address in
                !holders.contains { $0.marks.contains(address.low.low) }
            }
            state.doomed = Set(free)
            return free
        }
    }

    /// What was doomed is gone, or stays.
    func spare() { state.withLock { $0.doomed = [] } }

    /// The first segment that a save on its way may have written to; nil: there is none.
    var firstSegment: UInt64? { state.withLock { $0.holders.values.map(\.firstSegment).min() } }
}

/// Ends when it is no longer referenced.
final class ChunkHold: Sendable {
    private let holds: ChunkHolds
    private let number: UInt64

    fileprivate init(_ holds: ChunkHolds, _ number: UInt64) {
        self.holds = holds
        self.number = number
    }

    deinit { holds.end(number) }

    /// Holds a chunk; false where that comes too late, and the chunk is as good as gone.
    func take(_ address: ChunkAddress) -> Bool { holds.hold(address, number) }
}
