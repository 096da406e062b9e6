internal import StratusAssets
internal import StratusBytes
internal import StratusFiles
internal import Synchronization

/// The chunks that saves on their way rely on, which nobody collects.
///
/// A save holds a chunk before it looks whether it is there. Whoever collects has the chunks doomed
/// first, all but those that are held, and only then takes them back: a save that asks for one
/// meanwhile hears that it is not there, and stores it anew; or waits until that is decided, where
/// it has nothing that it could store.
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
        /// Those who wait for what becomes of these.
        var waiting: [WakeUp] = []
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

    /// Holds a chunk; false where that comes too late, and the chunk is as good as gone. Then
    /// `wakeUp` is told once that is decided.
    fileprivate func hold(
        _ address: ChunkAddress, _ number: UInt64, orTell wakeUp: WakeUp? = nil
    ) -> Bool {
        state.withLock { state in
            let isFull = state.holders[number].map { $0.isFull || $0.marks.count >= Self.limit }
            if isFull == true {
                state.holders[number]?.isFull = true
                state.holders[number]?.marks = []
            } else {
                state.holders[number]?.marks.insert(address.low.low)
            }
            // Held in any case: who stores it anew must keep what it has stored.
            guard state.doomed.contains(address) else { return true }
            if let wakeUp { state.waiting.append(wakeUp) }
            return false
        }
    }

    /// Has those of `addresses` doomed that nobody holds, and returns them.
    func doom(_ addresses: [ChunkAddress]) -> Set<ChunkAddress> {
        state.withLock { state in
            let holders = state.holders.values
            if holders.contains(where: \.isFull) { return [] }
            var free = Set(addresses.map(\.low.low))
            for holder in holders { free.subtract(holder.marks) }
            state.doomed = Set(addresses.filter { free.contains($0.low.low) })
            return state.doomed
        }
    }

    /// What was doomed is gone, or stays.
    func spare() {
        let waiting = state.withLock { state in
            state.doomed = []
            defer { state.waiting = [] }
            return state.waiting
        }
        for wakeUp in waiting { wakeUp.signal() }
    }

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

    /// Holds a chunk and, where it is being decided just now whether it goes, waits for that: a
    /// commit of whoever collects, who waits for no save. If the chunk is there then, it stays.
    func takeOrWait(_ address: ChunkAddress) {
        if take(address) { return }
        let wakeUp = WakeUp()
        // Held already, it is not doomed again.
        if !holds.hold(address, number, orTell: wakeUp) { wakeUp.wait() }
    }
}
