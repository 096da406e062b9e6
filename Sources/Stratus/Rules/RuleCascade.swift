internal import StratusBytes
internal import StratusIndex
internal import StratusEngine
internal import StratusJournal

/// Finds what goes along with deletions, one deletion after the other, for the rules of the records
/// that go. As ``LinkCheck`` finds it, which puts the same in the read set.
struct RuleCascade {
    struct Found {
        let name: String
        let type: String
        /// Nil where no rule asks for it.
        let record: Record?
        /// As of the deletion that takes it along.
        let depth: Int
    }

    private struct Deletion {
        let name: String
        let depth: Int
    }

    private let zone: UInt32
    /// What the caller sees of another user's zone; nil: all.
    private let access: SharedZone?
    /// So many records may go along.
    private let limit: Int
    /// How many records the caller's items name, which may all stay.
    private let itemCount: Int
    private var deletions: [Deletion] = []
    private var place = 0
    private var count = 0
    /// Whether the zone has records with rules, so that following is of use.
    private var isOfUse: Bool?

    init(
        zone: UInt32, _ access: SharedZone?, limit: Int, itemCount: Int, isOfUse: Bool?
    ) {
        self.zone = zone
        self.access = access
        self.limit = limit
        self.itemCount = itemCount
        self.isOfUse = isOfUse
    }

    var isAtEnd: Bool { place == deletions.count }
    /// The deletion that was followed last.
    var target: String { deletions[place - 1].name }

    /// Takes in a record that is deleted.
    mutating func follow(_ name: String, depth: Int) {
        deletions.append(Deletion(name: name, depth: depth))
    }

    /// Follows no deletion any more.
    mutating func end() { place = deletions.count }

    /// What goes along with the next deletion. `isLeft` says of a name whether the commit neither
    /// saves nor deletes the record so far.
    mutating func next(
        _ rules: RecordRules, _ reading: StoreReading, _ zoneID: RecordZone.ID,
        isLeft: (String) throws(EngineError) -> Bool
    ) throws(EngineError) -> [Found] {
        let deletion = deletions[place]
        place += 1
        if isOfUse == nil { isOfUse = try reading.hasRecords(with: rules, in: zone) }
        guard isOfUse == true else {
            end()
            return []
        }
        var found: [Found] = []
        for source in try sources(of: reading.hash(deletion.name), reading) {
            let location = try reading.value(.record(zone, source)).map { EntryLocation($0) }
            guard let location, !location.isDeleted else { continue }
            let entry = try reading.entry(location)
            guard let name = entry.recordName,
                let type = try reading.schema.name(entry.recordHead().head.type)
            else { throw .damaged(entry) }
            guard try isLeft(name) else { continue }
            count += 1
            guard count <= limit else { throw .refused(.cascadeTooLongForRules(limit)) }
            var record: Record?
            if rules.concern(type) {
                record = try reading.record(
                    location, as: Record.ID(recordName: name, zoneID: zoneID))
            }
            found.append(Found(name: name, type: type, record: record, depth: deletion.depth))
        }
        return found
    }

    /// The records with deleteSelf references to `target` that the caller sees.
    private func sources(
        of target: Hash128, _ reading: StoreReading
    ) throws(EngineError) -> [Hash128] {
        // Those that stay, or are known to go, are of the commit.
        let most = limit + itemCount + deletions.count
        let sources = try reading.sources(of: target, in: zone, access, atMost: most + 1).seen
        guard sources.count <= most else { throw .refused(.cascadeTooLongForRules(limit)) }
        return sources
    }
}

extension StoreReading {
    /// Whether a zone has records of types that have rules; also true where that takes long to find
    /// out.
    func hasRecords(with rules: RecordRules, in zone: UInt32) throws(EngineError) -> Bool {
        for type in rules.types.keys {
            guard let number = schema.number(type) else { continue }
            var count = 0
            var isThere = false
            try scan(KeySpace.types.key(zone: zone).appending(number).asPrefix) { _, value in
                // Those of deleted records stay a while.
                count += 1
                isThere = !EntryLocation(value).isDeleted || count > 1000
                return !isThere
            }
            if isThere { return true }
        }
        return false
    }
}
