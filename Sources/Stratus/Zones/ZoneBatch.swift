internal import StratusIndex
internal import StratusJournal

/// Saves and deletes of zones of one database: one commit.
struct ZoneBatch: CommitRequest {
    enum Item: Sendable {
        case save(RecordZone.ID)
        case delete(RecordZone.ID, ZoneState)
    }

    let scope: DatabaseScope
    let caller: UserID
    let items: [Item]

    func prepare(
        _ reading: StoreReading, _ role: PreparingRole, sink: PartSink
    ) throws(StoreError) -> Preparation {
        var preparation = Preparation(reading)
        guard case .private(let owner) = scope else {
            throw StoreError(.badDatabase, "the public database has the default zone only")
        }
        var numbers = NumberAssignment(reading, role)
        guard let database = try numbers.user(owner, in: &preparation) else { return preparation }
        try numbers.write(to: &preparation)
        var number = reading.zoneCount
        for item in items {
            do throws(StoreError) {
                guard
                    let entry = try entry(
                        for: item, in: database, after: number, reading, &preparation)
                else {
                    preparation.results.append(.unchanged)
                    continue
                }
                // A new zone needs a number, which only the committer gives.
                if entry.number > reading.zoneCount {
                    guard role.isCommitter else {
                        preparation.needsCommitter = true
                        return preparation
                    }
                    number = entry.number
                }
                let place = preparation.buffer.count
                try preparation.buffer.add(.zone, zone: entry.number) { entry.write(to: &$0) }
                preparation.results.append(.staged(place: place))
            } catch {
                if error.wouldBlock { throw error }
                preparation.results.append(.failed(error))
            }
        }
        // Without a zone there is no need of a user either.
        if preparation.results.allSatisfy({ if case .staged = $0 { false } else { true } }) {
            preparation.buffer = CommitBuffer()
        }
        return preparation
    }

    private func entry(
        for item: Item, in database: UInt32, after number: UInt32, _ reading: StoreReading,
        _ preparation: inout Preparation
    ) throws(StoreError) -> ZoneEntry? {
        let id =
            switch item {
            case .save(let id), .delete(let id, _): id
            }
        let key = IndexKey.zone(database, reading.hash(id.zoneName))
        let value = try reading.value(key)
        preparation.readSet.append(key)
        let place = try ZonePlace.decoded(value)
        switch item {
        case .save:
            // Saving a zone that is there changes nothing.
            if let place, place.isAlive { return nil }
            guard id.isDefault || NameRules.isItemName(id.zoneName) else {
                throw StoreError(
                    .invalidArguments,
                    "a zone name is 1 to 255 ASCII characters and does not begin with _"
                ).with(id)
            }
            return ZoneEntry(
                number: number + 1, database: database, state: .alive,
                capabilities: id.isDefault ? [] : .custom,
                incarnation: reading.identity.incarnation, name: id.zoneName)
        case .delete(_, let state):
            guard !id.isDefault else {
                throw StoreError(.invalidArguments, "the default zone cannot be deleted").with(id)
            }
            if let place, place.isAlive {
                return ZoneEntry(place, state: state, name: id.zoneName)
            }
            throw StoreError.noZone(id, place)
        }
    }
}
