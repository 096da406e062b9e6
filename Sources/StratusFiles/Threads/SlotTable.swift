internal import Glibc
public import Synchronization

/// What threads remember for each other without a lock: values of three words by keys of four, each
/// in one of two slots that the caller names, for the generation that the caller states.
///
/// It forgets what it likes. What was found since another key wanted its slot keeps it once more. A
/// slot is one line of the processor's caches, and slots that are never written take no memory.
@usableFromInline
package final class SlotTable: Sendable {
    @usableFromInline package typealias Key = InlineArray<4, UInt64>
    @usableFromInline package typealias Value = InlineArray<3, UInt64>

    /// How many slots there are.
    @usableFromInline package let count: Int
    /// Where what is to be freed begins.
    private let memory: UInt
    /// Where the slots begin. Each has its state, the key and the value, all of them atomic words.
    /// The state is the generation in the upper half and a counter in the lower one, whose lowest
    /// bits are flags.
    @usableFromInline let address: UInt

    /// The slot is being written, and empty for all others.
    @inlinable static var isWritten: UInt64 { 1 }
    /// It was found, or written, since another key came.
    @inlinable static var isWanted: UInt64 { 2 }
    /// What a writing adds to the counter.
    @inlinable static var step: UInt32 { 4 }
    package static let slotBytes = 64

    /// Safe: there is one slot more than is used, and zeros are atomic words that hold 0.
    package init(count: Int) {
        precondition(count > 0)
        guard let memory = unsafe calloc(count + 1, Self.slotBytes) else {
            preconditionFailure("no memory for \(count) slots")
        }
        self.count = count
        self.memory = UInt(bitPattern: memory)
        let slots = unsafe memory.alignedUp(toMultipleOf: Self.slotBytes)
        address = UInt(bitPattern: slots)
    }

    /// Safe: it was allocated for this table, which no thread refers to any more.
    deinit { unsafe free(UnsafeMutableRawPointer(bitPattern: memory)) }

    /// The words of a slot, which must be there.
    ///
    /// Safe: they are changed by atomic operations alone, and stay for as long as this is there.
    @inlinable func words(_ slot: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        precondition(slot >= 0 && slot < count)
        let words = unsafe UnsafeMutablePointer<Atomic<UInt64>>(bitPattern: address)
        return unsafe words.unsafelyUnwrapped + slot * 8
    }

    /// What is remembered of a key.
    @inlinable package func find(
        _ key: borrowing Key, in slots: (Int, Int), generation: UInt32
    ) -> Value? {
        if let value = find(key, slots.0, generation) { return value }
        // The second slot is taken where the first one has another key.
        return isFree(slots.0, generation) ? nil : find(key, slots.1, generation)
    }

    /// Safe: the slot is there.
    @inlinable func isFree(_ slot: Int, _ generation: UInt32) -> Bool {
        unsafe words(slot).pointee.load(ordering: .relaxed) >> 32 != UInt64(generation)
    }

    /// Safe: a slot has eight words.
    @inlinable func find(_ key: borrowing Key, _ slot: Int, _ generation: UInt32) -> Value? {
        let words = unsafe words(slot)
        let state = unsafe words.pointee.load(ordering: .acquiring)
        guard state >> 32 == UInt64(generation), state & Self.isWritten == 0 else { return nil }
        for word in 0..<4 where unsafe words[1 + word].load(ordering: .relaxed) != key[word] {
            return nil
        }
        var value = Value(repeating: 0)
        for word in 0..<3 { value[word] = unsafe words[5 + word].load(ordering: .relaxed) }
        atomicMemoryFence(ordering: .acquiring)
        guard unsafe words.pointee.load(ordering: .relaxed) == state else { return nil }
        if state & Self.isWanted == 0 { exchange(slot, state, state | Self.isWanted) }
        return value
    }

    /// Remembers a value, unless both slots hold what was wanted since another key came, or other
    /// threads write them.
    @inlinable package func insert(
        _ key: borrowing Key, _ value: borrowing Value, in slots: (Int, Int), generation: UInt32
    ) {
        if insert(key, value, slots.0, generation) { return }
        _ = insert(key, value, slots.1, generation)
    }

    /// Safe: a slot has eight words.
    @inlinable func insert(
        _ key: borrowing Key, _ value: borrowing Value, _ slot: Int, _ generation: UInt32
    ) -> Bool {
        let words = unsafe words(slot)
        let state = unsafe words.pointee.load(ordering: .relaxed)
        if state & Self.isWritten != 0 { return false }
        if state & Self.isWanted != 0, state >> 32 == UInt64(generation) {
            exchange(slot, state, state & ~Self.isWanted)
            return false
        }
        guard exchange(slot, state, state | Self.isWritten) else { return false }
        atomicMemoryFence(ordering: .releasing)
        for word in 0..<4 { unsafe words[1 + word].store(key[word], ordering: .relaxed) }
        for word in 0..<3 { unsafe words[5 + word].store(value[word], ordering: .relaxed) }
        let counter = UInt32(truncatingIfNeeded: state | Self.isWanted) &+ Self.step
        unsafe words.pointee.store(
            UInt64(generation) << 32 | UInt64(counter), ordering: .releasing)
        return true
    }

    /// Whether the state of a slot was the first one, and is now the second.
    ///
    /// Safe: the slot is there.
    @inlinable @discardableResult
    func exchange(_ slot: Int, _ state: UInt64, _ new: UInt64) -> Bool {
        unsafe words(slot).pointee.compareExchange(
            expected: state, desired: new, ordering: .acquiring
        ).exchanged
    }
}
