internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

extension Container {
    /// Deletes all that the private database of `user` holds, for good.
    ///
    /// The database's feed reports its zones as purged, and a save into one of them fails with
    /// `userDeletedZone` until the zone is made again. The default zone stays, empty.
    public nonisolated(nonsending) func purge(user: String) async throws(StoreError) {
        try await answering { () async throws(EngineError) in
            guard !user.isEmpty else { throw .refused(.emptyUserName) }
            _ = try await engine().commit(Purge(owner: userID(user)))
        }
    }
}

/// The end of all zones of a user: one commit.
private struct Purge: Transaction {
    let owner: UserID

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        // Only a serial preparation excludes that a zone is made meanwhile.
        guard context.isSerial else { return nil }
        let database = DatabaseView(reading, .private(owner: owner), .host(owner))
        var zones = try database.livingZones(reading)
        if zones.isEmpty { zones = try reading.deletedZone(of: owner) }
        for (id, place) in zones {
            if draft.buffer.lengthInBytes > context.partLimit * 3 / 4 {
                _ = try sink(.append(draft.buffer))
                draft.buffer = CommitBuffer(capacity: context.partLimit)
            }
            let entry = ZoneEntry(place, state: .purged, name: id.zoneName)
            try draft.buffer.add(.zone, zone: entry.number) { entry.write(to: &$0) }
        }
        return draft
    }
}

extension StoreReading {
    /// Of a user who has notifications one of the zones that were deleted, which stands for all of them:
    /// what the notifications say of their records goes with it.
    fileprivate func deletedZone(
        of owner: UserID
    ) throws(EngineError) -> [(RecordZone.ID, ZonePlace)] {
        guard let number = try user(owner),
            try value(.notificationCount(number)).map({ $0.first > 0 }) ?? false
        else { return [] }
        var deleted: ZonePlace?
        try scan(KeySpace.zones.key().appending(number).asPrefix) {
            _, value throws(EngineError) in
            if let zone = try ZonePlace.decoded(value), zone.state == .deleted { deleted = zone }
            return deleted == nil
        }
        guard let deleted else { return [] }
        return [(RecordZone.ID(zoneName: try zoneEntry(deleted).name), deleted)]
    }
}
