internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

extension Container {
    /// Deletes all that the private database of `user` holds, for good.
    ///
    /// The database's feed reports its zones as purged, and a save into one of them fails with
    /// `userDeletedZone` until the zone is made again. The default zone stays, empty. What the user was
    /// notified of the database's records goes, also of zones that were deleted before.
    public nonisolated(nonsending) func purge(user: String) async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            guard !user.isEmpty else { throw .refused(.emptyUserName) }
            _ = try await engine().commit(Purge(owner: userID(user)))
        }
    }
}

/// The end of all zones of a user: one commit.
private struct Purge: Transaction {
    let owner: UserID

    /// The index has the notifications of a group when it ends.
    var beginsGroup: Bool { true }

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        // Only a serial preparation excludes that a zone is made meanwhile.
        guard context.isSerial else { return nil }
        let database = DatabaseView(reading, .private(owner: owner), .host(owner))
        var zones = try database.livingZones(reading)
        if zones.isEmpty, let zone = try reading.notifiedZone(of: owner) { zones = [zone] }
        for (id, place) in zones {
            guard try draft.flushIfFull(context, sink) else { return nil }
            let entry = ZoneEntry(place, state: .purged, name: id.zoneName)
            try draft.buffer.add(.zone, zone: entry.number) { entry.write(to: &$0) }
        }
        return draft
    }
}

extension StoreReading {
    /// A zone that a user deleted, and is still notified of: purged, it takes all such notifications
    /// along.
    fileprivate func notifiedZone(
        of owner: UserID
    ) throws(EngineError) -> (RecordZone.ID, ZonePlace)? {
        guard let number = try user(owner) else { return nil }
        var deleted: ZonePlace?
        try scan(IndexKey.notifications(of: number)) { key, value throws(EngineError) in
            if let row = NotificationRow(key, value), row.kind == .matches,
                let zone = try zone(row.zone), zone.database == number
            {
                deleted = zone
            }
            return deleted == nil
        }
        guard let deleted else { return nil }
        // Another one may have had the name since.
        let name = try zoneEntry(deleted).name
        let last = try ZonePlace.decoded(value(.zone(number, hash(name))))
        return (RecordZone.ID(zoneName: name), last ?? deleted)
    }
}
