internal import StratusJournal

extension Container {
    /// Deletes all that the private database of `user` holds, for good.
    ///
    /// Whoever follows the database is told that its zones were purged, and a save into one of them
    /// is refused with `userDeletedZone` until it is made again. The default zone goes on, empty.
    public nonisolated(nonsending) func purge(user: String) async throws(StoreError) {
        guard !user.isEmpty else { throw .emptyUserName }
        _ = try await engine().commit(Purge(owner: userID(user)))
    }
}

/// The end of all zones of a user: one commit.
private struct Purge: Transaction {
    let owner: UserID

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(StoreError) -> Draft? {
        var draft = Draft(reading)
        // Nobody else can be sure that no zone is made meanwhile.
        guard context.isSerial else { return nil }
        let database = DatabaseSnapshot(.state(reading), .private(owner: owner), .host(owner))
        for (id, place) in try database.livingZones(reading) {
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
