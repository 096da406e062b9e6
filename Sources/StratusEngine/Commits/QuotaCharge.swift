internal import StratusFiles
internal import StratusIndex

/// What a commit adds to a database that has a quota.
package struct QuotaCharge: Sendable {
    package let database: UInt32
    /// In bytes.
    package let limit: Int
    /// What the commit adds, in bytes; less than 0 where it takes away.
    package var growth = 0

    package init(database: UInt32, limit: Int, growth: Int = 0) {
        self.database = database
        self.limit = limit
        self.growth = growth
    }
}

extension QuotaCharge {
    /// Whether the commit fits beside what is there and what was `staged` and is not there yet. A
    /// commit that takes nothing more always does.
    package func fits(in state: FoldState, staged: [UInt32: Int]) -> Bool {
        if growth <= 0 { return true }
        do {
            let usage = StoredUsage(try state.index.value(of: .usage(database), .blocking))
            return usage.bytes &+ (staged[database] ?? 0) &+ growth <= limit
        } catch {
            // The committer prepares the commit again, and says why.
            return false
        }
    }
}
