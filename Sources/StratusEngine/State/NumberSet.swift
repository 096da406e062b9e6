/// A set of numbers that only grows: open addressing, a power of two of cells, at most three
/// quarters of them taken.
package struct NumberSet: Sendable {
    /// 0: empty.
    private var cells: [UInt64] = []
    private var hasZero = false
    /// How many cells are taken.
    private var taken = 0

    private static let least = 8

    package init() {}

    package var count: Int { taken + (hasZero ? 1 : 0) }

    package func contains(_ value: UInt64) -> Bool {
        if value == 0 { return hasZero }
        if cells.isEmpty { return false }
        return cells[place(of: value)] == value
    }

    package mutating func insert(_ value: UInt64) {
        if value == 0 {
            hasZero = true
            return
        }
        if cells.count * 3 <= taken * 4 { grow() }
        let place = place(of: value)
        if cells[place] == value { return }
        cells[place] = value
        taken += 1
    }

    /// The cell that has the value, or would get it. There is always one that is empty.
    private func place(of value: UInt64) -> Int {
        let mask = cells.count - 1
        // The numbers of neighbours go to cells far from each other: the high bits of the product.
        let mixed = value &* 0x9e37_79b9_7f4a_7c15
        var place = Int(truncatingIfNeeded: mixed >> 32) & mask
        while cells[place] != 0, cells[place] != value { place = (place + 1) & mask }
        return place
    }

    private mutating func grow() {
        let old = cells
        cells = [UInt64](repeating: 0, count: max(Self.least, old.count * 2))
        for value in old where value != 0 { cells[place(of: value)] = value }
    }
}
