/// A list that only grows, whose elements have their place as their number and are found by a hash.
///
/// A value, so that every reader keeps the list that it began with. An addition copies the recent
/// elements alone; they become settled, which copies all, once they are more than the square root
/// of these. So an addition costs that root and not the count.
///
/// Every field of every save is looked up by name, and the hashing of `Dictionary`, which guards
/// against chosen keys at several times the price, guards nothing here: names are bounded in
/// number, and a caller that may add one may fill the schema anyway.
struct NumberTable<Element: Sendable>: Sendable {
    private struct Part: Sendable {
        var elements: [Element] = []
        private var hashes: [UInt64] = []
        /// Place + 1, or 0; a power of two of them, at most half in use.
        private var slots = [UInt32](repeating: 0, count: 16)

        mutating func append(_ element: Element, hash: UInt64) {
            elements.append(element)
            hashes.append(hash)
            if elements.count * 2 > slots.count {
                slots = [UInt32](repeating: 0, count: slots.count * 2)
                for place in elements.indices { fillSlot(of: place) }
            } else {
                fillSlot(of: elements.count - 1)
            }
        }

        mutating func append(_ other: Part) {
            for (element, hash) in zip(other.elements, other.hashes) { append(element, hash: hash) }
        }

        private mutating func fillSlot(of place: Int) {
            var slot = Int(truncatingIfNeeded: hashes[place]) & (slots.count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = UInt32(place) + 1
        }

        func place(_ hash: UInt64, where matches: (Element) -> Bool) -> Int? {
            var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
            while slots[slot] != 0 {
                let place = Int(slots[slot]) - 1
                if matches(elements[place]) { return place }
                slot = (slot + 1) & (slots.count - 1)
            }
            return nil
        }
    }

    private var settled = Part()
    private var recent = Part()

    var count: Int { settled.elements.count + recent.elements.count }
    /// All, in the order of their numbers; a copy.
    var elements: [Element] { settled.elements + recent.elements }

    subscript(number: Int) -> Element {
        let place = number - settled.elements.count
        return place < 0 ? settled.elements[number] : recent.elements[place]
    }

    /// Numbers are given in the order of the elements.
    mutating func append(_ new: some Sequence<Element>, hash: (Element) -> UInt64) {
        for element in new { recent.append(element, hash: hash(element)) }
        if recent.elements.count * recent.elements.count > settled.elements.count {
            settled.append(recent)
            recent = Part()
        }
    }

    /// The number of the first element of that hash for which `matches` holds.
    func number(_ hash: UInt64, where matches: (Element) -> Bool) -> Int? {
        settled.place(hash, where: matches)
            ?? recent.place(hash, where: matches).map { settled.elements.count + $0 }
    }

    func contains(where predicate: (Element) -> Bool) -> Bool {
        settled.elements.contains(where: predicate) || recent.elements.contains(where: predicate)
    }
}
