internal import Synchronization

/// The newest entries of the store's own keys that were found in the runs lately.
///
/// Some of these keys are asked for with every call: users, zones. They change seldom and so lie on
/// disk, where even a block in memory has to be searched and decoded; here they are found at once
/// and without a lock: a slot that another thread is writing counts as empty. Of no use once the
/// runs have changed.
final class RecentEntries: Sendable {
    /// The partition of the keys that are kept.
    static let partition: UInt32 = 0

    private static let slotCount = 128
    /// A counter that is odd while the slot is written, six words of the key, three of the value,
    /// and the flags.
    private static let slotLength = 11

    private let words = InlineArray<1408, Atomic<UInt64>> { _ in Atomic(0) }

    /// The newest entry of the key; `hash` is the key's.
    func entry(of key: IndexKey, hash: UInt64) -> IndexEntry? {
        let slot = Self.slot(hash)
        let count = words[slot].load(ordering: .acquiring)
        guard count != 0, count & 1 == 0 else { return nil }
        for place in 0..<6 where word(slot + 1 + place) != key.words[place] { return nil }
        let value = IndexValue(
            stamp: word(slot + 7), first: word(slot + 8), second: word(slot + 9))
        let flags = IndexEntry.Flags(rawValue: UInt8(truncatingIfNeeded: word(slot + 10)))
        atomicMemoryFence(ordering: .acquiring)
        guard words[slot].load(ordering: .relaxed) == count else { return nil }
        return IndexEntry(key: key, value: value, flags: flags)
    }

    func remember(_ entry: IndexEntry, hash: UInt64) {
        let slot = Self.slot(hash)
        let count = words[slot].load(ordering: .relaxed)
        // While one thread writes the slot, others leave it alone.
        guard count & 1 == 0,
            words[slot].compareExchange(
                expected: count, desired: count + 1, ordering: .acquiring
            ).exchanged
        else { return }
        atomicMemoryFence(ordering: .releasing)
        for place in 0..<6 { store(entry.key.words[place], at: slot + 1 + place) }
        store(entry.value.stamp, at: slot + 7)
        store(entry.value.first, at: slot + 8)
        store(entry.value.second, at: slot + 9)
        store(UInt64(entry.flags.rawValue), at: slot + 10)
        words[slot].store(count + 2, ordering: .releasing)
    }

    private func word(_ place: Int) -> UInt64 { words[place].load(ordering: .relaxed) }

    private func store(_ word: UInt64, at place: Int) {
        words[place].store(word, ordering: .relaxed)
    }

    private static func slot(_ hash: UInt64) -> Int {
        (Int(truncatingIfNeeded: hash) & (slotCount - 1)) * slotLength
    }
}
