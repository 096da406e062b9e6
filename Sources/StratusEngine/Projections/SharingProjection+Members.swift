internal import StratusBytes
internal import StratusIndex
internal import StratusJournal

// The records of shares. A record that is in a share has a row there, and its membership in the
// partition of the zone.
extension SharingProjection {
    mutating func update(
        _ record: FoldedRecord, _ entry: borrowing FoldedEntry, _ state: inout FoldState
    ) throws(FormatError) {
        let (head, version, stamp) = (record.head, entry.header.version, entry.stamp)
        let key = IndexKey.member(entry.zone, record.name)
        let (own, former) = (head.membership, head.formerMembership)
        let standing = record.standing
        if let membership = standing?.membership, let version = standing?.version {
            removeRow(of: membership, version, entry, &state.index)
        }
        if let replaced = head.replacedMembership {
            removeRow(of: replaced, head.previous, entry, &state.index)
        }
        if let own {
            try state.numbers.check(own.share)
            state.changes?.note(.share(own.share))
            let enters = own.since == .none
            let since = enters ? version : own.since
            if enters || standing != nil {
                let member = ShareMembership(share: own.share, since: since, place: own.place)
                state.index.set(
                    key, member.value(at: stamp), isFresh: record.previous == .none)
            }
            state.index.set(
                .shareRow(own.share, ShareRow.Place(version: version, ordinal: 0)),
                ShareRow.living(since: since, length: entry.header.frameLength, at: stamp),
                isFresh: true)
        } else {
            state.index.remove(key, at: stamp)
        }
        try leave(former, entry, &state)
    }

    mutating func remove(
        _ tombstone: FoldedTombstone, _ entry: borrowing FoldedEntry, _ state: inout FoldState
    ) throws(FormatError) {
        let standing = tombstone.standing
        if let membership = standing?.membership, let version = standing?.version {
            removeRow(of: membership, version, entry, &state.index)
        }
        if let membership = tombstone.entry.membership {
            removeRow(of: membership, tombstone.entry.previous, entry, &state.index)
        }
        state.index.remove(.member(entry.zone, tombstone.name), at: entry.stamp)
        try leave(tombstone.entry.membership, entry, &state)
    }

    /// A record leaves a share with its own entry or its tombstone.
    private mutating func leave(
        _ former: ShareMembership?, _ entry: borrowing FoldedEntry, _ state: inout FoldState
    ) throws(FormatError) {
        guard let former, former.share != 0 else { return }
        try state.numbers.check(former.share)
        state.changes?.note(.share(former.share))
        guard keepsFeed(of: former.share, in: entry.zone, state.index) else { return }
        let place = ShareRow.Place(version: entry.header.version, ordinal: 0)
        let row = ShareRow.gone(
            since: former.since, length: entry.header.frameLength, at: entry.stamp)
        state.index.set(.shareRow(former.share, place), row, isFresh: true, isLapsing: true)
    }

    /// Records go along with one above them. Those that are not there in the version that the entry
    /// names have later entries of their own, which say where they are.
    mutating func move(
        _ members: MembersEntry, _ entry: borrowing FoldedEntry, _ state: inout FoldState
    ) throws(FormatError) {
        let (old, new) = (members.oldShare, members.newShare)
        let (version, stamp) = (entry.header.version, entry.stamp)
        for share in [old, new] where share != 0 {
            try state.numbers.check(share)
            state.changes?.note(.share(share))
        }
        let leavesRows = old != 0 && keepsFeed(of: old, in: entry.zone, state.index)
        for (number, item) in members.items.enumerated() {
            let name = entry.hash(item.name)
            let place = ShareRow.Place(version: version, ordinal: UInt8(number))
            if leavesRows {
                let row = ShareRow.gone(
                    since: item.since, length: entry.header.frameLength, isFromMembers: true,
                    at: stamp)
                state.index.set(.shareRow(old, place), row, isFresh: true, isLapsing: true)
            }
            if entry.isOutdated(name) { continue }
            if let standing = entry.standingMembership(of: name) {
                removeRow(of: standing, item.version, entry, &state.index)
            }
            if let former = members.formerMembership(of: item) {
                removeRow(of: former, item.version, entry, &state.index)
            }
            let member = ShareMembership(share: new, since: version, place: UInt32(number) + 1)
            state.index.set(.member(entry.zone, name), member.value(at: stamp))
            if new != 0 {
                state.index.set(
                    .shareRow(new, place), ShareRow.living(item, at: stamp), isFresh: true)
            }
        }
    }

    /// Takes away the row that a record of that version has in its share.
    private func removeRow(
        of membership: ShareMembership, _ version: Version, _ entry: borrowing FoldedEntry,
        _ index: inout OrderedIndex
    ) {
        if membership.share == 0 { return }
        index.remove(.shareRow(membership.share, membership.row(of: version)), at: entry.stamp)
    }
}
