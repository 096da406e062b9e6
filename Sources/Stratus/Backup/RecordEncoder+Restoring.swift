internal import StratusEngine
internal import StratusJournal

// Records of a zone that is restored with its history: `Formats/Record.md`, "Zone".

extension RecordBatch {
    /// The version that an item keeps; none: it gets one of this store.
    func keptVersion(of index: Int) -> Version {
        guard let item = history?.items[index], item.keepsVersion else { return .none }
        return item.version
    }
}

extension RecordEncoder {
    func restoredHead(
        of item: ZoneHistory.Item, type: UInt32
    ) throws(EngineError) -> RecordHead {
        RecordHead(
            type: type, modified: item.modified, by: try author(item.modifier),
            created: item.created, creator: try author(item.creator).user, previous: .none,
            isUpdate: false, origin: MoveOrigin(zone: zone.number, version: item.version))
    }

    /// Adds the tombstone of a record that was deleted before.
    mutating func restoreDeletion(_ index: Int, _ draft: inout Draft) throws(EngineError) {
        guard let item = batch.history?.items[index], let name = item.deletedType else {
            preconditionFailure("only a history has deletions that are restored")
        }
        var numbers = fields.numbers
        guard let type = try numbers.type(name) else {
            preconditionFailure("the numbers of the types were assigned")
        }
        let tombstone = Tombstone(
            type: type, name: item.recordName, previous: .none, by: try author(item.modifier),
            deleted: item.modified)
        try append(.tombstone, version: batch.keptVersion(of: index), to: &draft) {
            tombstone.write(to: &$0)
        }
    }

    private func author(_ user: ZoneHistory.User) throws(EngineError) -> Author {
        var numbers = fields.numbers
        guard let number = try numbers.user(user.id, name: user.name) else {
            preconditionFailure("the numbers of the users were assigned")
        }
        return Author(number)
    }
}

extension StoreError {
    /// Another call has made the zone since the restore found that it is not there.
    static let overtakenRestore = StoreError(
        .serverRecordChanged, "the zone was made while it was about to be restored")
}
