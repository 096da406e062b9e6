/// How the memory of a store is divided.
package struct MemoryBudget: Sendable {
    /// In bytes.
    package var limit: Int

    /// Below this there is no room for the blocks that a merge reads.
    package static let least = 1 << 20
    package static let usual = 64 << 20

    /// The active memtable, or the one being written: of each there is at most one.
    package var memtable: Int { limit / 8 }
    /// Directories and filters of the index's tables.
    package var pinned: Int { limit / 8 }
    /// Other blocks of the index, and entries of the journal.
    package var cache: Int { limit * 7 / 16 }
    /// Entries that were found in tables lately.
    package var recent: Int { limit / 8 }
}
