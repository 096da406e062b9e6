internal import StratusBytes
internal import StratusFiles
package import StratusIndex
package import StratusJournal

extension KeySpace {
    package static var databaseFeed: KeySpace {
        KeySpace(18, "databaseFeed", names: .elsewhere, isRestated: true)
    }
    package static var activity: KeySpace {
        KeySpace(19, "activity", names: .elsewhere, isRestated: true)
    }
    package static var usage: KeySpace { KeySpace(23, "usage", names: .nothing, isRestated: true) }
}

extension IndexKey {
    package static func databaseFeed(_ database: UInt32, _ offset: JournalOffset) -> IndexKey {
        KeySpace.databaseFeed.key().appending(database).appending(offset.rawValue)
    }
    /// The last change of a zone, and what the zone holds.
    package static func activity(_ zone: UInt32) -> IndexKey {
        KeySpace.activity.key().appending(zone)
    }
    /// What a database holds.
    package static func usage(_ database: UInt32) -> IndexKey {
        KeySpace.usage.key().appending(database)
    }
}

/// The feed of each database, and what zones and databases hold. The feed names a zone once per
/// group, at its latest change.
struct ActivityProjection: DerivedProjection {
    package static let alsoReads: [EntryKind] = [.record, .tombstone, .horizon, .zone]
    package static let keyspaces: [KeySpace] = [.databaseFeed, .activity, .usage]

    /// What commits have changed in a zone or a database.
    private struct Change {
        /// The last change.
        var offset = JournalOffset.zero
        /// What the changes added.
        var usage = StoredUsage()

        mutating func add(_ more: StoredUsage, at offset: JournalOffset) {
            self.offset = max(self.offset, offset)
            usage.add(more)
        }
    }

    /// By zone: of the open commit, and of the complete commits of the group.
    private var open: [UInt32: Change] = [:]
    private var complete: [UInt32: Change] = [:]
    /// By database: of the group, while it ends.
    private var totals: [UInt32: Change] = [:]
    /// The zones that the group made or deleted, and where.
    private var zones: [(zone: ZoneEntry, offset: JournalOffset)] = []

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        switch entry.header.kind {
        case .zone:
            let zone = try ZoneEntry(payload)
            if zone.state != .leftOut { zones.append((zone, entry.offset)) }
        // What was last changed in the zone may be what is forgotten.
        case .horizon: note(entry, StoredUsage())
        case .tombstone:
            let tombstone = try entry.tombstone(payload)
            note(
                entry,
                StoredUsage(
                    recordCount: tombstone.deletesRecord ? -1 : 0, bytes: -tombstone.takenBytes))
        default:
            let record = try entry.record(payload)
            let assetBytes = (record.head.assetBytes ?? 0) - (record.replacedAssetBytes ?? 0)
            note(
                entry,
                StoredUsage(
                    recordCount: record.replacesRecord ? 0 : 1,
                    bytes: payload.count - record.replacedLength + assetBytes))
        }
    }

    private mutating func note(_ entry: borrowing FoldedEntry, _ usage: StoredUsage) {
        open[entry.zone, default: Change()].add(usage, at: entry.offset)
    }

    package mutating func completeCommit(at time: Int64, in state: inout FoldState) {
        for (zone, change) in open {
            complete[zone, default: Change()].add(change.usage, at: change.offset)
        }
        open.removeAll(keepingCapacity: true)
    }

    package mutating func endGroup(in state: inout FoldState) throws(IndexError) {
        // Lent for the group, so that it need not be made for each.
        var totals: [UInt32: Change] = [:]
        swap(&totals, &self.totals)
        for (zone, offset) in zones {
            var change = Change(offset: offset)
            // Of a store that was salvaged: what lies before the entry of the zone is of the zone, too.
            if zone.state == .alive, let before = complete[zone.number], before.offset < offset {
                change.usage = before.usage
                complete[zone.number] = nil
            }
            try set(
                zone.number, in: zone.database, zone.state, change, &totals, &state,
                isOfZone: true)
        }
        zones.removeAll(keepingCapacity: true)
        // The index gets the zones in one order, whatever the dictionary's.
        if complete.count < 2 {
            for (zone, change) in complete { try set(zone, change, &totals, &state) }
        } else {
            for (zone, change) in complete.sorted(by: { $0.key < $1.key }) {
                try set(zone, change, &totals, &state)
            }
        }
        complete.removeAll(keepingCapacity: true)
        for (database, change) in totals where change.usage != StoredUsage() {
            var usage = StoredUsage(try state.index.value(of: .usage(database), .blocking))
            usage.add(change.usage)
            state.index.set(.usage(database), usage.value(at: change.offset.rawValue))
        }
        totals.removeAll(keepingCapacity: true)
        swap(&totals, &self.totals)
    }

    package mutating func rollBack() { self = ActivityProjection() }

    /// The zone of whose last change a row tells; nil of other rows.
    static func zone(of key: IndexKey, _ value: IndexValue) -> UInt32? {
        switch key.keyspace {
        case KeySpace.activity.rawValue: key.uint32(at: 5)
        case KeySpace.databaseFeed.rawValue: UInt32(truncatingIfNeeded: value.first)
        default: nil
        }
    }

    /// What commits changed in a zone; one that is gone is left as it is.
    private func set(
        _ zone: UInt32, _ change: Change, _ totals: inout [UInt32: Change],
        _ state: inout FoldState
    ) throws(IndexError) {
        let place = try state.index.value(of: .zoneNumber(zone), .blocking)
        guard let place = place.flatMap({ ZonePlace($0) }) else { return }
        if place.isAlive {
            try set(zone, in: place.database, place.state, change, &totals, &state)
        } else if change.offset > place.offset, change.usage != StoredUsage() {
            // Of a store that was salvaged: whose zone it is an entry says that comes later.
            var usage = StoredUsage(try state.index.value(of: .activity(zone), .blocking))
            usage.add(change.usage)
            state.index.set(.activity(zone), usage.value(at: change.offset.rawValue))
        }
    }

    private func set(
        _ zone: UInt32, in database: UInt32, _ zoneState: ZoneState, _ change: Change,
        _ totals: inout [UInt32: Change], _ state: inout FoldState, isOfZone: Bool = false
    ) throws(IndexError) {
        state.changes?.note(.zone(zone))
        state.changes?.note(.database(database))
        let stamp = change.offset.rawValue
        var usage = StoredUsage()
        // What the database does not have yet of that.
        var uncounted = StoredUsage()
        if let last = try state.index.value(of: .activity(zone), .blocking) {
            if last.stamp == stamp { return }
            let old = IndexKey.databaseFeed(database, JournalOffset(rawValue: last.stamp))
            usage = StoredUsage(last)
            if isOfZone, try state.index.value(of: old, .blocking) == nil { uncounted = usage }
            state.index.remove(old, at: stamp)
        }
        let isAlive = zoneState == .alive
        // What a zone holds goes with it; how much of that are assets is not known.
        let difference = isAlive ? change.usage : usage.negated
        if !isAlive {
            state.changes?.freedAssetBytes &+= max(0, usage.bytes)
            state.deadBytes &+=
                max(0, usage.bytes)
                &+ max(0, usage.recordCount) &* FrameFormat.headerLength
        }
        usage.add(difference)
        state.index.set(.activity(zone), usage.value(at: stamp))
        state.index.set(
            .databaseFeed(database, change.offset),
            IndexValue(stamp: stamp, first: UInt64(zone), second: UInt64(zoneState.rawValue)),
            isFresh: true)
        uncounted.add(difference)
        totals[database, default: Change()].add(uncounted, at: change.offset)
    }
}
