package import StratusAssets
internal import StratusBytes
internal import StratusFiles
internal import Synchronization

/// The chunks that saves in progress rely on; the collector leaves them alone.
///
/// A save holds a chunk before it looks the chunk up. The collector first claims the chunks that it
/// is going to reclaim, all but those that are held, and commits their removal afterwards. A save
/// that asks for a claimed chunk meanwhile stores it again or, where it has no bytes to store, waits
/// for the collector's commit.
package final class ChunkHolds: Sendable {
    private struct Holder {
        /// Of the addresses; two with the same are held together.
        var chunks: Set<UInt64> = []
        /// It holds more than can be counted, and so everything.
        var isFull = false
        /// The first chunk segment that it may have written to.
        var firstSegment: UInt64
    }

    private struct State {
        var holders: [UInt64: Holder] = [:]
        var count: UInt64 = 0
        var claimed: Set<ChunkAddress> = []
        /// The threads that wait until the claimed chunks are reclaimed or kept.
        var waiting: [WakeUp] = []
    }

    private let state = Mutex(State())

    /// So many chunks are counted for each save.
    private static let limit = 1 << 20

    /// A save begins that may write to segments from `segment` on.
    package func begin(from segment: UInt64) -> ChunkHold {
        ChunkHold(
            self,
            state.withLock { state in
                state.count += 1
                state.holders[state.count] = Holder(firstSegment: segment)
                return state.count
            })
    }

    fileprivate func end(_ number: UInt64) { state.withLock { $0.holders[number] = nil } }

    /// Holds a chunk; returns false when the collector has claimed it already, and signals `wakeUp`
    /// once the collector has committed.
    fileprivate func hold(
        _ address: ChunkAddress, _ number: UInt64, orTell wakeUp: WakeUp? = nil
    ) -> Bool {
        state.withLock { state in
            let isFull = state.holders[number].map { $0.isFull || $0.chunks.count >= Self.limit }
            if isFull == true {
                state.holders[number]?.isFull = true
                state.holders[number]?.chunks = []
            } else {
                state.holders[number]?.chunks.insert(address.low.low)
            }
            // Held in any case: a save that stores the chunk anew must keep what it has stored.
            guard state.claimed.contains(address) else { return true }
            if let wakeUp { state.waiting.append(wakeUp) }
            return false
        }
    }

    /// Claims those of `addresses` that no save holds, and returns them.
    package func beginReclaiming(_ addresses: [ChunkAddress]) -> Set<ChunkAddress> {
        state.withLock { state in
            let holders = state.holders.values
            if holders.contains(where: \.isFull) { return [] }
            var free = Set(addresses.map(\.low.low))
            for holder in holders { free.subtract(holder.chunks) }
            state.claimed = Set(addresses.filter { free.contains($0.low.low) })
            return state.claimed
        }
    }

    /// The claimed chunks are reclaimed or, where the commit failed, stay.
    package func endReclaiming() {
        let waiting = state.withLock { state in
            state.claimed = []
            defer { state.waiting = [] }
            return state.waiting
        }
        for wakeUp in waiting { wakeUp.signal() }
    }

    /// The first segment that a save in progress may have written to; nil: there is none.
    package var firstSegment: UInt64? {
        state.withLock { $0.holders.values.map(\.firstSegment).min() }
    }
}

/// Ends when it is no longer referenced.
package final class ChunkHold: Sendable {
    private let holds: ChunkHolds
    private let number: UInt64

    fileprivate init(_ holds: ChunkHolds, _ number: UInt64) {
        self.holds = holds
        self.number = number
    }

    deinit { holds.end(number) }

    /// Holds a chunk; returns false when the collector has claimed it already.
    package func take(_ address: ChunkAddress) -> Bool { holds.hold(address, number) }

    /// Holds a chunk and, when the collector has claimed it, waits for the collector's commit, which
    /// waits for no save. A chunk that is in the index afterwards stays.
    package func takeOrWait(_ address: ChunkAddress) {
        if take(address) { return }
        let wakeUp = WakeUp()
        // A chunk that is held is not claimed again.
        if !holds.hold(address, number, orTell: wakeUp) { wakeUp.wait() }
    }
}
