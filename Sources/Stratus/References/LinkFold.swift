internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

// The maps of parents and of owners. What an entry adds to them and takes away stands in the entry
// itself, so that no older one has to be read: `Formats/Record.md`, "Links".
extension OrderedIndex {
    /// Takes in the links of a record; its field table begins at `fields`.
    mutating func link(
        _ head: RecordHead, _ name: Hash128, _ zone: UInt32, at offset: JournalOffset,
        _ payload: Span<UInt8>, _ fields: ByteCursor, _ secret: UInt64
    ) throws(FormatError) {
        let stamp = offset.rawValue
        let isNew = head.previous == .none
        func hash(_ place: Range<Int>) -> Hash128 {
            Hash128(payload.extracting(place), seed: secret)
        }
        if let former = head.formerParent, !former.isEmpty {
            remove(.child(zone, of: hash(former), name), at: stamp)
        }
        if let parent = head.parent, !head.isUpdate || head.formerParent != nil {
            let key = IndexKey.child(zone, of: hash(parent), name)
            set(key, IndexValue(stamp: stamp), isFresh: isNew)
        }
        if let former = head.formerOwners {
            var cursor = ByteCursor(at: former.lowerBound)
            try OwnerLink.forEach(payload, &cursor) { field, place in
                remove(.reference(zone, to: hash(place), from: name, in: field), at: stamp)
            }
        }
        if head.hasOwners, !head.isUpdate || head.formerOwners != nil {
            try ReferenceFields.forEachOwner(payload, at: fields) { field, place in
                let key = IndexKey.reference(zone, to: hash(place), from: name, in: field)
                set(key, IndexValue(stamp: stamp), isFresh: isNew)
            }
        }
    }

    /// Takes away the links that a deleted record had.
    mutating func unlink(
        _ tombstone: Tombstone, _ name: Hash128, _ zone: UInt32, at offset: JournalOffset,
        _ secret: UInt64
    ) {
        if let parent = tombstone.parent {
            let parent = Hash128(parent, seed: secret)
            remove(.child(zone, of: parent, name), at: offset.rawValue)
        }
        for link in tombstone.owners {
            let target = Hash128(link.target, seed: secret)
            let key = IndexKey.reference(zone, to: target, from: name, in: link.field)
            remove(key, at: offset.rawValue)
        }
    }
}
