import Stratus

/// The records below one record of a tree, or those at its top, in pages: how many are in memory
/// does not grow with the tree.
struct RecordChildren<Waiting> {
    /// The name of the record that they lie below; nil at the top.
    let parent: String?
    /// Those of them whose own children are still to be gone through, put here by the caller.
    var waiting: [Waiting] = []
    private var cursor: RecordPage.Cursor?
    private var isAtEnd = false

    init(of parent: String?) { self.parent = parent }

    /// The next of them; nil at the end. `depth` says how many others wait above: the deeper, the
    /// fewer come at once, so that all that wait are few. At the top the records of the whole zone
    /// are gone through, of which those that have parents are left out; `look` is given all, and
    /// what is damaged, where that is to be skipped.
    mutating func next(
        in zoneID: RecordZone.ID, of database: DatabaseSnapshot, depth: Int,
        skippingDamaged: Bool = false, look: (RecordPage) -> Void = { _ in }
    ) throws -> [Record]? {
        if isAtEnd { return nil }
        let page =
            if let parent {
                try database.records(
                    inZoneWith: zoneID, withParent: parent, resultsLimit: max(1, 256 / depth),
                    from: cursor, skippingDamaged: skippingDamaged)
            } else {
                try database.records(
                    inZoneWith: zoneID, resultsLimit: 256, from: cursor,
                    skippingDamaged: skippingDamaged)
            }
        cursor = page.cursor
        isAtEnd = cursor == nil
        guard parent == nil else { return page.records }
        look(page)
        return page.records.filter { $0.parent == nil }
    }
}
