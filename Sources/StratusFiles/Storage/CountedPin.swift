internal import Synchronization

/// How many pins there are on a file that no other process can open.
final class PinCount: Sendable {
    fileprivate let count = Atomic(0)

    var isZero: Bool { count.load(ordering: .relaxed) == 0 }
}

/// Counts while it is referenced.
final class CountedPin: StoragePin {
    private let pins: PinCount

    init(_ pins: PinCount) {
        self.pins = pins
        pins.count.add(1, ordering: .relaxed)
    }

    deinit { pins.count.subtract(1, ordering: .relaxed) }
}
