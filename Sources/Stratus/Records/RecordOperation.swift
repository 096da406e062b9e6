internal import StratusJournal

/// One change of a batch that says for itself what it may overwrite.
package enum RecordOperation: Sendable {
    case save(Record, SaveRule)
    /// With a tag only the record as it was then, which must be there; without one whatever is.
    case delete(Record.ID, recordChangeTag: String? = nil)

    var recordID: Record.ID {
        switch self {
        case .save(let record, _): record.recordID
        case .delete(let id, _): id
        }
    }
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
    /// that it is this record in this zone.
    func record(
        at version: Version, of place: EntryPlace, as id: Record.ID
    ) throws(StoreError) -> Record? {
        let zone = try entry(place).zone
        let entry: JournalEntry
        do {
            entry = try view.entry(at: version.offset, mode)
        } catch {
            let error = StoreError(error)
            if error.mustWait { throw error }
            return nil
        }
        guard version.offset < head, entry.kind == .record, entry.zone == zone,
            entry.version == version, (try? entry.isRecord(named: id.recordName)) == true
        else { return nil }
        return try Record(
            entry.bytes, entry.payloadRange, version: entry.version, as: id, schema: schema,
            assets: assets
        ) { number throws(StoreError) in try user(number) }
    }
}
