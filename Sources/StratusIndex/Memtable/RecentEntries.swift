internal import StratusBytes
internal import StratusFiles
internal import Synchronization

/// The newest entries that were found in the runs lately, of as many keys as there is room for.
///
/// A key that is asked for again, as those of users, zones and busy records are, is found here at
/// once and without a lock; a search of the runs takes many times as long, even where all their
/// blocks are in memory. All states of an index share this: what was found in the runs of one is of
/// no use where these are others, which their generations tell.
final class RecentEntries: Sendable {
    private let slots: SlotTable
    private let generations = Atomic<UInt32>(0)

    /// In bytes: no key that is looked up often is longer.
    private static let keyLimit = 31

    /// `limit` is in bytes.
    init(limit: Int) { slots = SlotTable(count: max(128, limit / SlotTable.slotBytes)) }

    /// A number that no other runs have.
    func nextGeneration() -> UInt32 { generations.wrappingAdd(1, ordering: .relaxed).newValue }

    /// The newest entry of the key in the runs of that generation; `hash` is the key's.
    func entry(of key: IndexKey, hash: UInt64, in generation: UInt32) -> IndexEntry? {
        guard key.count <= Self.keyLimit,
            let value = slots.find(words(key), in: places(hash), generation: generation)
        else { return nil }
        return IndexEntry(key: key, words: value)
    }

    func remember(_ entry: IndexEntry, hash: UInt64, in generation: UInt32) {
        guard entry.key.count <= Self.keyLimit else { return }
        slots.insert(
            words(entry.key), entry.words, in: places(hash), generation: generation)
    }

    /// A short key whole: the last byte of its fourth word is its length.
    private func words(_ key: IndexKey) -> SlotTable.Key {
        [key.words[0], key.words[1], key.words[2], key.words[3] | key.words[5]]
    }

    /// What is asked of one record in several keyspaces is not to have the same slots: mixed, the
    /// lower half of the hash, by which alone it differs, counts in both.
    private func places(_ hash: UInt64) -> (Int, Int) {
        let mixed = hash &* IndexKey.multiplier
        return (mixed.place(among: slots.count), (mixed << 32).place(among: slots.count))
    }
}
