internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// What changed, for a participant, in a zone of another user: a page of a round.
///
/// A round (T, h] goes from what the participant has seen to where the feed ended when the round began.
/// First come the shares that the participant lost in it, then the rows of those that are left, in the
/// order of their versions: `Formats/README.md`, "The shared database".
struct SharedFeed {
    /// What a page says of a record.
    struct Change {
        /// Where the record is; nil: it is gone.
        var record: EntryLocation?
        /// Of the entry that made it so.
        var entry: JournalOffset
        /// In a members entry: which of its records.
        var ordinal: UInt8
    }

    private struct Row {
        var place: ShareRow.Place
        var share: UInt32
        var isGone: Bool
        var since: Version
        var entry: JournalOffset
        var record: EntryLocation?

        /// Whether one who has lost a part may know the record, having seen all up to a version.
        func mayBeKnown(to part: SharedZone.Part, since seen: Version) -> Bool {
            guard let end = part.end, since <= end else { return false }
            return !isGone || place.version > max(seen, part.since)
        }
    }

    private let reading: StoreReading
    private let shared: SharedZone
    /// All up to it was seen.
    private let seen: Version
    private(set) var round: ChangeToken.Round
    private(set) var isAtEnd = false
    private(set) var changes: [Change] = []
    private var room: Int
    private var length = 0
    /// Through them a record can be seen that is not told of as gone.
    private let active: Set<UInt32>
    private let seesWholeZone: Bool

    init(
        _ shared: SharedZone, since token: ChangeToken?, head: Version, _ page: Page,
        _ reading: StoreReading
    ) throws(EngineError) {
        self.reading = reading
        self.shared = shared
        let seen = token?.position ?? .none
        self.seen = seen
        var round = ChangeToken.Round(bound: head, place: .max)
        if let last = token?.round, last.bound > seen { round = last }
        self.round = round
        room = page.limit
        let visible = shared.parts.filter { $0.end == nil && $0.since <= round.bound }
        active = Set(visible.map(\.share))
        seesWholeZone = visible.contains(where: \.isWholeZone)
        let hasLostZone = shared.parts.contains { part in
            part.isWholeZone && part.since <= seen && part.end.map { $0 > seen } ?? false
        }
        guard !hasLostZone else {
            throw .refused(
                .expired(
                    .participation, "all of the zone was shared with the user, and is not now"))
        }
    }

    /// Reads the page.
    mutating func run() throws(EngineError) {
        if round.place != 0 { try readLost() }
        guard round.place == 0, room > 0 else { return }
        try readLeft()
    }

    // The shares that the participant lost: all of their records that the participant may have seen.
    private mutating func readLost() throws(EngineError) {
        // A token from nothing is of a reader that holds nothing.
        let lost = shared.parts.filter { part in
            !part.isWholeZone && seen != .none
                && part.end.map { $0 > seen && $0 <= round.bound } ?? false
        }
        let isFirst = round.place == .max
        for share in Set(lost.map(\.share)).sorted() where isFirst || share >= round.place {
            if share != round.place {
                round.place = share
                (round.row, round.ordinal) = (.none, 0)
            }
            let parts = lost.filter { $0.share == share }
            for row in try rows(of: share, behind: round, upTo: nil) {
                guard room > 0 else { return }
                note(row.place)
                if parts.contains(where: { row.mayBeKnown(to: $0, since: seen) }) {
                    try tellOfGone(row)
                }
            }
            guard room > 0 else { return }
        }
        round.place = 0
        (round.row, round.ordinal) = (.none, 0)
    }

    /// The rows of the shares that are left, those that began in the round from their beginning on.
    private mutating func readLeft() throws(EngineError) {
        var rows: [Row] = []
        var isAll = true
        let left = shared.parts.filter { part in
            part.since <= round.bound && part.end.map { $0 > round.bound } ?? true
        }
        var steady: Set<UInt32> = []
        for part in left {
            var start = round
            if part.since <= seen {
                steady.insert(part.share)
                if start.row <= seen { (start.row, start.ordinal) = (seen, .max) }
            }
            let found =
                part.isWholeZone
                ? try zoneRows(behind: start, of: part.share)
                : try self.rows(of: part.share, behind: start, upTo: round.bound)
            if found.count > room { isAll = false }
            rows += found
        }
        rows.sort { ($0.place, $0.share) < ($1.place, $1.share) }
        var last: ShareRow.Place?
        for row in rows {
            // What goes from one share to another has the same place in both.
            let isFull =
                room <= 0
                || !changes.isEmpty && length + (row.record?.frameLength ?? 0) > Page.lengthLimit
            if isFull, row.place != last { return }
            last = row.place
            note(row.place)
            if row.isGone {
                if steady.contains(row.share) { try tellOfGone(row) }
            } else if active.contains(row.share), let record = row.record {
                changes.append(
                    Change(record: record, entry: row.entry, ordinal: row.place.ordinal))
                length += record.frameLength
            }
        }
        isAtEnd = isAll
    }

    private mutating func note(_ place: ShareRow.Place) {
        room -= 1
        (round.row, round.ordinal) = (place.version, place.ordinal)
    }

    /// A record that went is told of unless the participant sees it otherwise.
    private mutating func tellOfGone(_ row: Row) throws(EngineError) {
        if try isVisible(row) { return }
        if let record = row.record, !row.isGone {
            changes.append(Change(entry: record.offset, ordinal: 0))
        } else {
            changes.append(Change(entry: row.entry, ordinal: row.place.ordinal))
        }
    }

    private func isVisible(_ row: Row) throws(EngineError) -> Bool {
        if active.isEmpty { return false }
        let entry = row.record.map(\.offset) ?? row.entry
        let name = reading.hash(
            try reading.changedRecord(at: entry, ordinal: row.place.ordinal).name)
        let key = IndexKey.record(shared.zone.number, name)
        guard let place = try reading.value(key).map({ EntryLocation($0) }), !place.isDeleted else {
            return false
        }
        if seesWholeZone { return true }
        guard let member = try reading.member(name, in: shared.zone.number) else { return false }
        return active.contains(member.share)
    }

    /// The next rows of a share, one more than there is room for.
    private func rows(
        of share: UInt32, behind round: ChangeToken.Round, upTo bound: Version?
    ) throws(EngineError) -> [Row] {
        let all = IndexKey.shareRows(share)
        var first = all.lowerBound
        if round.row != .none {
            let last = ShareRow.Place(version: round.row, ordinal: round.ordinal)
            first = IndexKey.shareRow(share, last).afterPrefix
        }
        var rows: [Row] = []
        guard first < all.upperBound else { return rows }
        try reading.scan(first..<all.upperBound) { key, value throws(EngineError) in
            guard let row = ShareRow(key, value) else {
                throw reading.damaged(at: JournalOffset(rawValue: value.stamp))
            }
            if let bound, row.place.version > bound { return false }
            rows.append(
                Row(
                    place: row.place, share: share, isGone: row.isGone, since: row.since,
                    entry: row.entry, record: try record(of: row)))
            return rows.count <= room
        }
        return rows
    }

    /// The own entry of the record of a row. One that a zone was restored with lies elsewhere than its
    /// version says, and is found by the name.
    private func record(of row: ShareRow) throws(EngineError) -> EntryLocation? {
        guard let record = row.record, reading.isRestored(record.version, in: shared.zone) else {
            return row.record
        }
        let name = try reading.changedRecord(at: row.entry, ordinal: row.place.ordinal).name
        let key = IndexKey.record(shared.zone.number, reading.hash(name))
        guard let place = try reading.value(key).map({ EntryLocation($0) }),
            place.version == record.version
        else { throw reading.damaged(at: row.entry) }
        return place
    }

    /// The same of the feed of a zone that is shared as a whole.
    private func zoneRows(
        behind round: ChangeToken.Round, of share: UInt32
    ) throws(EngineError) -> [Row] {
        let zone = shared.zone.number
        let all = KeySpace.feed.range(zone: zone)
        let first = IndexKey.feed(zone, round.row).afterPrefix
        var rows: [Row] = []
        try reading.scan(first..<all.upperBound) { _, value in
            let place = EntryLocation(value)
            guard place.version <= round.bound else { return false }
            rows.append(
                Row(
                    place: ShareRow.Place(version: place.version, ordinal: 0), share: share,
                    isGone: place.isDeleted, since: .none, entry: place.offset,
                    record: place.isDeleted ? nil : place))
            return rows.count <= room
        }
        return rows
    }
}

/// What an entry says of a record that it made, took away, or moved between shares.
struct ChangedRecord {
    var name: String
    /// The number of its type.
    var type: UInt32
    /// ``DeviceHash`` of the device that did; nil: not known.
    var device: UInt64?
    /// The version before, a deletion among them; none: there was none, or it is not known.
    var previous = Version.none
    /// The number of its zone.
    var zone: UInt32
}

extension StoreReading {
    /// Of the record of an entry or, where it has many, of that one of them.
    func changedRecord(
        at offset: JournalOffset, ordinal: UInt8
    ) throws(EngineError) -> ChangedRecord {
        guard let entry = try keptEntry(at: offset) else { throw damaged(at: offset) }
        return try changedRecord(entry, ordinal: ordinal)
    }

    /// The same of an entry.
    func changedRecord(
        _ entry: JournalEntry, ordinal: UInt8 = 0
    ) throws(EngineError) -> ChangedRecord {
        switch entry.kind {
        case .record:
            let head = try entry.recordHead().head
            do throws(FormatError) {
                return ChangedRecord(
                    name: try head.name(in: entry.bytes.span), type: head.type,
                    device: head.device, previous: head.previous, zone: entry.zone)
            } catch {
                throw .damaged(entry)
            }
        case .tombstone:
            let tombstone = try tombstone(entry)
            return ChangedRecord(
                name: tombstone.name, type: tombstone.type, device: tombstone.device,
                previous: tombstone.previous, zone: entry.zone)
        case .members:
            guard let members = entry.withPayload({ try? MembersEntry($0) }),
                members.items.indices.contains(Int(ordinal))
            else { throw .damaged(entry) }
            let item = members.items[Int(ordinal)]
            return ChangedRecord(
                name: item.name, type: item.type, device: members.device, zone: entry.zone)
        default: throw .damaged(entry)
        }
    }

    /// Whether a change, and all before it of the record behind an offset, were of a device. Where one
    /// of them is not kept any more, it was of another.
    func isOnly(
        of device: UInt64, _ change: ChangedRecord, since start: JournalOffset
    ) throws(EngineError) -> Bool {
        var change = change
        while change.device == device {
            let previous = change.previous
            if previous == .none { return true }
            if let zone = try zone(change.zone), isRestored(previous, in: zone) {
                // Of which device the version was is not known.
                return zone.offset <= start
            }
            if previous.offset <= start { return true }
            guard let entry = try keptEntry(of: previous, in: change.zone) else { return false }
            change = try changedRecord(entry)
        }
        return false
    }
}
