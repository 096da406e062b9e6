internal import StratusJournal
internal import StratusEngine

/// A save or a deletion of one record in a call, with what it may overwrite.
package enum RecordItem: Sendable {
    case save(Record, SaveRule)
    /// With a tag only the record as it was then, which must be there; without one whatever is.
    case delete(Record.ID, recordChangeTag: String? = nil)

    var recordID: Record.ID {
        switch self {
        case .save(let record, _): record.recordID
        case .delete(let id, _): id
        }
    }

    var isDeletion: Bool { if case .delete = self { true } else { false } }
}

/// What a save does to a record that is there.
package struct SaveRule: Hashable, Sendable {
    package var policy: SavePolicy
    /// Whether fields and a parent that are not sent are removed: what no native save does.
    package var replaces: Bool

    package init(_ policy: SavePolicy, replaces: Bool = false) {
        self.policy = policy
        self.replaces = replaces
    }
}

extension [RecordItem] {
    /// Whether the test holds of an item. `contains(where:)` copies each of them, which for records
    /// takes longer than most tests.
    func hasItem(where holds: (borrowing RecordItem) -> Bool) -> Bool {
        let items = span
        for index in items.indices where holds(items[index]) { return true }
        return false
    }
}

extension Version {
    /// The version that a change tag stands for; none, which no record has, where the text was
    /// never a tag.
    init(changeTag: String) {
        let number = UInt64(changeTag) ?? 0
        self.init(rawValue: changeTag == String(number) ? number : 0)
    }
}

extension StoreReading {
    /// The version `version` of the record that now lies at `place`; nil where it is not held any
    /// longer, or never was one of this record.
    ///
    /// The number comes from outside: whatever lies there is believed only if it says of itself
    /// that it is this record, in this zone or in one that it was moved from.
    func record(
        at version: Version, of place: EntryLocation, as id: Record.ID
    ) throws(EngineError) -> Record? {
        let current = try entry(place)
        let entry: JournalEntry
        do {
            entry = try view.entry(at: version.offset, mode)
        } catch {
            let error = EngineError(error)
            if error.wouldBlock { throw error }
            return nil
        }
        guard version.offset < head, entry.kind == .record, entry.version == version,
            (try? entry.isRecord(named: id.recordName)) == true
        else { return nil }
        if entry.zone != current.zone, try !wasMoved(entry, to: current) { return nil }
        return try Record(
            entry.bytes, entry.payloadRange, version: entry.version, as: id, schema: schema,
            assets: assets, damage: .damaged(entry)
        ) { number throws(EngineError) in try user(number) }
    }

    /// Whether `former`, of the same name in another zone, is what `current` was before it was
    /// moved, and the caller may read it there: a caller that may read a record may read all living
    /// zones of its database.
    private func wasMoved(
        _ former: JournalEntry, to current: JournalEntry
    ) throws(EngineError) -> Bool {
        let first = try former.recordHead().head
        let last = try current.recordHead().head
        // What bore the name before is another record.
        guard first.created == last.created, first.creator == last.creator else { return false }
        let database = try zone(current.zone)?.database
        var (offset, zone, origin) = (current.offset, current.zone, last.origin)
        // A record may have been moved more than once since, each time to a later place. One that says
        // of its own zone that it was there before was restored in it.
        while let step = origin, step.zone != zone, former.offset <= step.version.offset,
            step.version.offset < offset
        {
            if step.zone == former.zone {
                let zone = try self.zone(step.zone)
                return zone?.isAlive == true && zone?.database == database
            }
            guard let entry = try keptEntry(of: step.version, in: step.zone),
                entry.kind == .record
            else { return false }
            (offset, zone, origin) = (entry.offset, entry.zone, try entry.recordHead().head.origin)
        }
        return false
    }
}
