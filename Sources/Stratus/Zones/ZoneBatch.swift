internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// What a call does to a zone.
package enum ZoneItem: Sendable {
    case save(RecordZone.ID)
    case delete(RecordZone.ID, DatabaseChanges.Deletion.Reason)

    package var id: RecordZone.ID {
        switch self {
        case .save(let id), .delete(let id, _): id
        }
    }

    static func all(
        saving zones: [RecordZone], deleting ids: [RecordZone.ID],
        _ reason: DatabaseChanges.Deletion.Reason
    ) -> [ZoneItem] {
        zones.map { .save($0.zoneID) } + ids.map { .delete($0, reason) }
    }

    func placed(_ error: StoreError) -> StoreError { error.with(id) }

    func outcome(_ error: StoreError?) -> Result<RecordZone?, StoreError> {
        if let error { return .failure(error) }
        return switch self {
        case .save(let id): .success(RecordZone(zoneID: id, id.capabilities))
        case .delete: .success(nil)
        }
    }
}

extension ZoneItem: NamedItem {
    // All zones that may be named have one owner, who goes by two names.
    var itemName: String { id.zoneName }
    var title: String { "the zone '\(id.zoneName)'" }

    func wantsSame(as other: ZoneItem) -> Bool {
        switch (self, other) {
        case (.save, .save): true
        case (.delete(_, let one), .delete(_, let other)): one == other
        case (.save, .delete), (.delete, .save): false
        }
    }
}

/// Saves and deletes of zones of one database: one commit of those that can be.
struct ZoneBatch: ItemizedTransaction {
    private let scope: DatabaseScope
    private let principal: Principal
    /// The owner's name as the host gave it.
    private let userName: String
    /// Which of the owner's devices asks; nil: the one without a name.
    private let device: String?
    let items: DistinctItems<ZoneItem>
    /// Of the zones that it makes.
    var lineage: ZoneLineage?

    /// Fails where two items want different things of one zone.
    init(_ items: [ZoneItem], in database: Database) throws(EngineError) {
        scope = database.scope
        principal = database.principal
        userName = database.userName
        device = database.device
        self.items = try DistinctItems(items)
    }

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        guard case .private(let owner) = scope else {
            throw .refused(
                .badDatabase, "zones are made and deleted in private databases, by their owners")
        }
        var numbers = NumberAssignment(reading, context)
        guard let database = try numbers.user(owner, name: userName) else { return nil }
        try numbers.write(to: &draft)
        let author = Author(database, onDevice: device, seed: reading.identity.secret)
        let view = DatabaseView(reading, scope, principal)
        var number = reading.zoneCount
        for item in items.distinct {
            do throws(EngineError) {
                try view.check(item.id)
                guard
                    let entry = try entry(
                        for: item, in: database, by: author, after: number, reading, &draft)
                else {
                    draft.results.append(.unchanged)
                    continue
                }
                // A new zone needs a number, which only the committer gives.
                if entry.number > reading.zoneCount {
                    guard context.isSerial else { return nil }
                    number = entry.number
                }
                // Very many are a long commit, which nothing comes between.
                guard try draft.flushIfFull(context, sink) else { return nil }
                let place = draft.buffer.count
                try draft.buffer.add(.zone, zone: entry.number) { entry.write(to: &$0) }
                draft.results.append(.staged(place: place))
            } catch {
                if error.wouldBlock { throw error }
                draft.results.append(.failed(StoreError(error)))
            }
        }
        // Without a zone there is no need of a user either.
        if draft.results.allSatisfy({ if case .staged = $0 { false } else { true } }) {
            draft.buffer = CommitBuffer()
        }
        return draft
    }

    private func entry(
        for item: ZoneItem, in database: UInt32, by author: Author, after number: UInt32,
        _ reading: StoreReading, _ draft: inout Draft
    ) throws(EngineError) -> ZoneEntry? {
        let id = item.id
        let key = IndexKey.zone(database, reading.hash(id.zoneName))
        let value = try reading.value(key)
        draft.readSet.append(key)
        let place = try ZonePlace.decoded(value)
        switch item {
        case .save:
            // Saving a zone that is there changes nothing.
            if let place, place.isAlive {
                guard lineage == nil else { throw .refused(.overtakenRestore) }
                return nil
            }
            var entry = try ZoneEntry(
                newZone: id, number: number + 1, in: database, device: author.device)
            entry.lineage = lineage
            return entry
        case .delete(_, let reason):
            guard !id.isDefault else {
                throw .refused(
                    StoreError(.invalidArguments, "the default zone cannot be deleted").with(id))
            }
            if let place, place.isAlive {
                return ZoneEntry(
                    place, state: reason == .purged ? .purged : .deleted, device: author.device,
                    name: id.zoneName)
            }
            throw .refused(.noZone(id, place))
        }
    }
}

extension ZoneEntry {
    /// A zone that is made now; fails where it cannot have that name.
    init(
        newZone id: RecordZone.ID, number: UInt32, in database: UInt32, device: UInt64? = nil
    ) throws(EngineError) {
        try id.checkName()
        self.init(
            number: number, database: database, state: .alive,
            capabilities: id.capabilities, device: device, name: id.zoneName)
    }
}

extension RecordZone.ID {
    /// What the zone can do, where it is in a private database.
    fileprivate var capabilities: ZoneCapabilities { isDefault ? [] : .custom }

    /// Fails where no zone can have that name.
    func checkName() throws(EngineError) {
        guard isDefault || NameRules.isItemName(zoneName) else {
            throw .refused(
                StoreError(
                    .invalidArguments,
                    "a zone name is 1 to 255 ASCII characters and does not begin with _"
                ).with(self))
        }
    }
}
