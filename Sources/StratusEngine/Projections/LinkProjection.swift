package import StratusBytes
package import StratusIndex
internal import StratusJournal

extension KeySpace {
    package static var children: KeySpace {
        KeySpace(4, "children", names: .nothing, isRestated: true, groups: .ofHash)
    }
    package static var references: KeySpace {
        KeySpace(5, "references", names: .nothing, isRestated: true, groups: .ofHash)
    }
}

extension KeyGrouping {
    /// The keys that begin with one name hash.
    fileprivate static let ofHash = KeyGrouping(prefixLength: 21)
}

extension IndexKey {
    /// The prefix of the keys of all children of a parent.
    package static func children(_ zone: UInt32, of parent: Hash128) -> IndexKey {
        KeySpace.children.key(zone: zone).appending(parent)
    }
    /// The prefix of the keys of all deleteSelf references to a target.
    package static func references(_ zone: UInt32, to target: Hash128) -> IndexKey {
        KeySpace.references.key(zone: zone).appending(target)
    }
    package static func child(_ zone: UInt32, of parent: Hash128, _ child: Hash128) -> IndexKey {
        children(zone, of: parent).appending(child)
    }
    package static func reference(
        _ zone: UInt32, to target: Hash128, from source: Hash128, in field: UInt32
    ) -> IndexKey {
        references(zone, to: target).appending(source).appending(field)
    }
    /// The record that a key of ``children(_:of:)`` or ``references(_:to:)`` is about: the child,
    /// or the source.
    package var linkedRecord: Hash128 { Hash128(high: uint64(at: 21), low: uint64(at: 29)) }
}

/// The children of parents, and the sources of deleteSelf references. What an entry adds and
/// removes stands in the entry itself, so that no older one has to be read: `Formats/Record.md`,
/// "Links".
struct LinkProjection: DerivedProjection {
    package static let alsoReads: [EntryKind] = [.record, .tombstone]
    package static let keyspaces: [KeySpace] = [.children, .references]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        if entry.header.kind == .tombstone {
            remove(try entry.tombstone(payload), entry, &state.index)
        } else {
            try update(try entry.record(payload), entry, payload, &state.index)
        }
    }

    private func update(
        _ record: FoldedRecord, _ entry: borrowing FoldedEntry, _ payload: Span<UInt8>,
        _ index: inout OrderedIndex
    ) throws(FormatError) {
        let (head, name, zone) = (record.head, record.name, entry.zone)
        let stamp = entry.stamp
        let isNew = record.previous == .none
        if let standing = record.standing { remove(standing, of: name, entry, &index) }
        if record.standing == nil, let former = head.formerParent, !former.isEmpty {
            let parent = entry.hash(payload.extracting(former))
            index.remove(.child(zone, of: parent, name), at: stamp)
        }
        if let parent = head.parent, !record.isDifference || head.formerParent != nil {
            let key = IndexKey.child(zone, of: entry.hash(payload.extracting(parent)), name)
            index.set(key, IndexValue(stamp: stamp), isFresh: isNew)
        }
        let secret = entry.secret
        if record.standing == nil, let former = head.formerCascadeLinks {
            var cursor = ByteCursor(at: former.lowerBound)
            try CascadeLink.forEach(payload, &cursor) { field, place in
                let target = Hash128(payload.extracting(place), seed: secret)
                index.remove(.reference(zone, to: target, from: name, in: field), at: stamp)
            }
        }
        if head.hasCascadeLinks, !record.isDifference || head.formerCascadeLinks != nil {
            try ReferenceFields.forEachCascadeLink(payload, at: record.fields) { field, place in
                let target = Hash128(payload.extracting(place), seed: secret)
                let key = IndexKey.reference(zone, to: target, from: name, in: field)
                index.set(key, IndexValue(stamp: stamp), isFresh: isNew)
            }
        }
    }

    private func remove(
        _ tombstone: FoldedTombstone, _ entry: borrowing FoldedEntry, _ index: inout OrderedIndex
    ) {
        if let standing = tombstone.standing {
            return remove(standing, of: tombstone.name, entry, &index)
        }
        if let parent = tombstone.entry.parent {
            let key = IndexKey.child(entry.zone, of: entry.hash(parent), tombstone.name)
            index.remove(key, at: entry.stamp)
        }
        for link in tombstone.entry.cascadeLinks {
            let key = IndexKey.reference(
                entry.zone, to: entry.hash(link.target), from: tombstone.name, in: link.field)
            index.remove(key, at: entry.stamp)
        }
    }

    private func remove(
        _ standing: Standing, of name: Hash128, _ entry: borrowing FoldedEntry,
        _ index: inout OrderedIndex
    ) {
        if let parent = standing.parent {
            index.remove(.child(entry.zone, of: parent, name), at: entry.stamp)
        }
        for link in standing.cascadeLinks {
            index.remove(
                .reference(entry.zone, to: link.target, from: name, in: link.field),
                at: entry.stamp)
        }
    }
}
