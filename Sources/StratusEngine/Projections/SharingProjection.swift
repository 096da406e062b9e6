internal import StratusBytes
internal import StratusFiles
internal import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let share = EntryKind(rawValue: 49)
    package static let members = EntryKind(rawValue: 50)
    package static let participant = EntryKind(rawValue: 51)
    package static let participationHorizon = EntryKind(rawValue: 63)
}

/// Shares, their participants, and the records in them. What a record, a tombstone or a members
/// entry changes stands in the entry itself, so that no older one has to be read:
/// `Formats/Record.md`, "Share" and below.
struct SharingProjection: Projection {
    package static let entries = [
        EntryForm(
            .share, "share", isInZone: true, definesNumbers: true, selection: .rewritten),
        EntryForm(.members, "members", isInZone: true),
        EntryForm(.participant, "participant", isInZone: true),
        EntryForm(.participationHorizon, "participation horizon"),
    ]
    // Comes before what drops the partition of a zone, where its shares are found.
    package static let alsoReads: [EntryKind] = [.record, .tombstone, .zone, .horizon]
    package static let keyspaces: [KeySpace] = [
        .members, .shareRoots, .shareRows, .participants, .zoneShares, .formerParticipants,
        .growingShares, .shares, .shareLinks, .participations,
        .participationHorizons,
    ]

    /// Why the shares of a zone could not be read.
    private var failure: IndexError?

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        switch entry.header.kind {
        case .record:
            guard try entry.concernsShares(payload) else { return }
            try update(entry.record(payload), entry, &state)
        case .tombstone:
            guard try entry.concernsShares(payload) else { return }
            try remove(entry.tombstone(payload), entry, &state)
        case .members: try move(MembersEntry(payload), entry, &state)
        case .share: try set(ShareEntry(payload), entry, &state)
        case .participant: try set(ParticipantEntry(payload), entry, &state)
        case .participationHorizon:
            try forget(ParticipationHorizonEntry(payload), entry, &state)
        case .horizon: forget(try HorizonEntry(payload).through, entry, &state)
        default: end(try ZoneEntry(payload), entry, &state)
        }
    }

    package mutating func endGroup(in state: inout FoldState) throws(IndexError) {
        if let failure { throw failure }
    }

    package mutating func rollBack() { self = SharingProjection() }

    private func set(
        _ share: ShareEntry, _ entry: borrowing FoldedEntry, _ state: inout FoldState
    ) throws(FormatError) {
        try state.numbers.add(share)
        state.sharingChange = entry.offset
        let (zone, stamp) = (entry.zone, entry.stamp)
        let first = share.began == .none ? entry.offset : share.began.offset
        let place = SharePlace(share, zone: zone, first: first, at: entry.offset)
        let number = UInt64(share.number)
        let shareState = UInt64(share.state.rawValue)
        let root = share.isZoneWide ? nil : entry.hash(share.rootName)
        state.changes?.note(.share(share.number))
        state.index.set(.share(share.number), place.value)
        state.index.set(
            .shareRoot(zone, root), IndexValue(stamp: stamp, first: number, second: shareState))
        state.index.set(
            KeySpace.shareRoots.key(zone: zone), IndexValue(stamp: stamp, first: number))
        state.index.set(
            .zoneShare(zone, share.number), IndexValue(stamp: stamp, first: shareState))
        state.index.set(.shareLink(share.link), IndexValue(stamp: stamp, first: number))
        let key = IndexKey.growingShare(share.number)
        if share.state == .growing {
            state.index.set(key, IndexValue(stamp: stamp, first: UInt64(zone)))
        } else if share.began != .none {
            state.index.remove(key, at: stamp)
        }
    }

    private func set(
        _ participant: ParticipantEntry, _ entry: borrowing FoldedEntry,
        _ state: inout FoldState
    ) throws(FormatError) {
        try state.numbers.check(participant.share)
        state.sharingChange = entry.offset
        let (share, version, stamp) = (participant.share, entry.header.version, entry.stamp)
        let isRemoved = participant.status == .removed
        let key = IndexKey.participant(share, participant.id)
        if isRemoved {
            state.index.remove(key, at: stamp)
            state.index.set(
                .formerParticipant(share, participant.id), entry.location(isDeleted: true))
        } else {
            state.index.set(key, entry.location())
        }
        let begins = participant.status == .accepted && participant.since == .none
        let since = begins ? version : participant.since
        if participant.user == 0 { return }
        // Wakes those who wait for what the user sees of others.
        state.changes?.note(.database(participant.user))
        if since == .none { return }
        let participation = Participation(
            user: participant.user, zone: entry.zone, share: share, since: since,
            until: isRemoved ? version : nil, permission: participant.permission,
            role: participant.role)
        state.index.set(participation.key, participation.value(at: stamp))
    }

    /// With a zone its shares go.
    private mutating func end(
        _ zone: ZoneEntry, _ entry: borrowing FoldedEntry, _ state: inout FoldState
    ) {
        if zone.state == .alive { return }
        for share in shares(of: zone.number, in: state.index) {
            state.changes?.note(.share(share.number))
            state.index.drop(partition: share.number, at: entry.stamp)
            if share.state == .growing {
                state.index.remove(.growingShare(share.number), at: entry.stamp)
            }
        }
    }

    /// The horizon of a zone is that of its shares. One that ended before has no reader left.
    private mutating func forget(
        _ through: JournalOffset, _ entry: borrowing FoldedEntry, _ state: inout FoldState
    ) {
        let horizon = IndexValue(stamp: entry.stamp, first: through.rawValue)
        for share in shares(of: entry.zone, in: state.index) {
            // Also where all is dropped: what a point before still sees lapses with the tombstones of
            // the zone.
            state.index.set(.horizon(ofPartition: share.number), horizon)
            if share.state == .ended, share.last <= through {
                state.index.drop(partition: share.number, at: entry.stamp)
                // Later horizons have nothing to do for it any more.
                state.index.remove(.zoneShare(entry.zone, share.number), at: entry.stamp)
            }
        }
    }

    /// Participations that ended go, whatever ended them: one end is enough, since another may have
    /// come later than an earlier horizon that forgot them, which is not kept.
    private mutating func forget(
        _ horizon: ParticipationHorizonEntry, _ entry: borrowing FoldedEntry,
        _ state: inout FoldState
    ) throws(FormatError) {
        guard horizon.through < entry.offset else { throw .value("through") }
        state.sharingChange = entry.offset
        var location = entry.location()
        location.first = horizon.through.rawValue
        do throws(IndexError) {
            var cursor = state.index.cursor(
                IndexKey.participations(of: horizon.user), .blocking)
            var gone: [IndexKey] = []
            while let (key, value) = try cursor.next() {
                guard let participation = Participation(key, value),
                    let end = try participation.ends(in: state.index).min(),
                    end <= horizon.through
                else { continue }
                gone.append(key)
            }
            for key in gone { state.index.remove(key, at: entry.stamp) }
        } catch {
            failure = failure ?? error
        }
        state.index.set(.participationHorizon(horizon.user), location)
    }

    /// Whether the feed of a share is kept: not once its end is forgotten.
    mutating func keepsFeed(of share: UInt32, in zone: UInt32, _ index: OrderedIndex) -> Bool {
        do throws(IndexError) {
            return try index.value(of: .zoneShare(zone, share), .blocking) != nil
        } catch {
            failure = failure ?? error
            return true
        }
    }

    /// The shares of a zone whose feeds are kept, as of the entries so far, and where the last entry
    /// of each lies.
    private mutating func shares(
        of zone: UInt32, in index: OrderedIndex
    ) -> [(number: UInt32, state: ShareState?, last: JournalOffset)] {
        var shares: [(number: UInt32, state: ShareState?, last: JournalOffset)] = []
        do throws(IndexError) {
            var cursor = index.cursor(IndexKey.zoneShares(zone), .blocking)
            while let (key, value) = try cursor.next() {
                guard key.count == 9 else { continue }
                let state = ShareState(rawValue: UInt8(truncatingIfNeeded: value.first))
                let last = JournalOffset(rawValue: value.stamp)
                shares.append((key.uint32(at: 5), state, last))
            }
        } catch {
            failure = failure ?? error
        }
        return shares
    }

    /// Of the shares of other zones there is the number.
    package static func selected(
        _ payload: Span<UInt8>, of entry: JournalEntry, by zones: SelectedZones
    ) throws(FormatError) -> SelectedEntry {
        if zones.contains(zone: entry.zone) { return .whole }
        let share = try ShareEntry(payload)
        return share.began == .none ? .leftOut(share.number) : .nothing
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        switch entry.kind {
        case .share: numbers.define(try ShareEntry(payload))
        case .members:
            let members = try MembersEntry(payload)
            for share in [members.oldShare, members.newShare] where share != 0 {
                numbers.useZone(share)
            }
            for item in members.items { numbers.useType(item.type) }
        case .participationHorizon:
            let horizon = try ParticipationHorizonEntry(payload)
            guard horizon.through < entry.offset else { throw .value("through") }
            numbers.useUser(horizon.user)
        default:
            let participant = try ParticipantEntry(payload)
            numbers.useZone(participant.share)
            if participant.user != 0 { numbers.useUser(participant.user) }
        }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        switch kind {
        case .share:
            let share = try ShareEntry(payload)
            let head = share.isZoneWide ? "the zone" : share.rootName
            return EntryDescription(
                recordName: share.recordName,
                detail: "share \(share.number) of \(head), \(share.state)")
        case .members:
            let members = try MembersEntry(payload)
            let (old, new) = (members.oldShare, members.newShare)
            let from = old == 0 ? "no share" : "share \(old)"
            let to = new == 0 ? "none" : "share \(new)"
            return EntryDescription(
                detail: "from \(from) to \(to), records \(members.items.count)")
        case .participationHorizon:
            let horizon = try ParticipationHorizonEntry(payload)
            return EntryDescription(
                detail: "participations of user \(horizon.user) that ended through "
                    + "\(horizon.through) are forgotten")
        default:
            let participant = try ParticipantEntry(payload)
            let id = participant.id.hexDigits
            let user = participant.user == 0 ? "" : ", user \(participant.user)"
            return EntryDescription(
                detail: "share \(participant.share), \(id)\(user), \(participant.status)")
        }
    }
}

extension StoreNumbers {
    /// Fails where a share has no entry yet.
    func check(_ share: UInt32) throws(FormatError) {
        guard hasZone(share) else { throw .value("share number") }
    }
}
