internal import StratusBytes

/// Finds the place of an element in a list by its hash.
///
/// Every field of every save is looked up by name, and the hashing of `Dictionary`, which guards
/// against chosen keys at several times the price, guards nothing here: names are bounded in
/// number, and a caller that may add one may fill the schema anyway.
package struct NumberTable: Sendable {
    /// Place + 1, or 0; a power of two of them, at most half in use.
    private var slots: [UInt32]

    /// For `hashes` in the order of their elements.
    package init(_ hashes: some Collection<UInt64>) {
        var count = 16
        while count < hashes.count * 2 { count *= 2 }
        slots = [UInt32](repeating: 0, count: count)
        for (place, hash) in hashes.enumerated() {
            var slot = Int(truncatingIfNeeded: hash) & (count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (count - 1) }
            slots[slot] = UInt32(place) + 1
        }
    }

    /// The place of the first element of that hash for which `matches` holds.
    package func place(_ hash: UInt64, where matches: (Int) -> Bool) -> Int? {
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let place = Int(slots[slot]) - 1
            if matches(place) { return place }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }
}
