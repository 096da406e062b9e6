internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// A user accepts a share, of which the link is known: one commit.
struct ShareAcceptance: Transaction {
    let link: Hash128
    let caller: UserID
    /// The caller's name as the host gave it.
    let userName: String
    /// Nil where the profile has no limit.
    let participantLimit: Int?

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        try reading.checkAccount(of: .user(caller), in: .shared(user: caller))
        guard let place = try reading.share(withLink: link),
            let zone = try reading.zone(place.zone)
        else { throw .refused(.noSuchLink) }
        var numbers = NumberAssignment(reading, context)
        guard let user = try numbers.user(caller, name: userName) else { return nil }
        if user == zone.database { return draft }
        draft.readSet += [.share(place.number), .zoneNumber(zone.number), .identity(user)]
        draft.readRanges.append(IndexKey.participants(place.number))
        let invitation = try ShareInvitation(place, caller, reading)
        guard var entry = try invitation.entry(for: user, reading, now: context.now) else {
            return draft
        }
        if let participantLimit, invitation.participant == nil,
            invitation.count + 1 >= participantLimit
        {
            throw .refused(.tooManyParticipants(participantLimit))
        }
        entry.status = .accepted
        entry.since = .none
        entry.user = user
        try numbers.write(to: &draft)
        try draft.buffer.add(.participant, in: zone) { entry.write(to: &$0) }
        let isWhole = try rewriteRecord(of: place, in: zone, by: user, reading, context, &draft)
        return isWhole ? draft : nil
    }

    /// The share's record is another one then, for everyone who follows it. Returns false where that
    /// tells so many subscriptions that only a serial context goes on.
    private func rewriteRecord(
        of place: SharePlace, in zone: ZonePlace, by user: UInt32, _ reading: StoreReading,
        _ context: PreparationContext, _ draft: inout Draft
    ) throws(EngineError) -> Bool {
        let name = reading.hash(try reading.shareEntry(place).recordName)
        let key = IndexKey.record(zone.number, name)
        draft.readSet.append(key)
        guard let location = try reading.value(key).map({ EntryLocation($0) }), !location.isDeleted
        else { throw reading.damaged(at: place.offset) }
        let statement = SharingPlan.Statement(
            membership: try reading.member(name, in: zone.number))
        let author = Author(user)
        let record = try RewrittenRecord(location, statement, by: author, context, reading)
        try draft.buffer.add(.record, in: zone, limit: context.payloadLimit) {
            record.write(to: &$0)
        }
        if !context.isSerial {
            var types = ReliedTypes()
            types.add(record.head.type, in: zone.database, reading, to: &draft)
        }
        var matcher = try SubscriptionMatcher(
            reading, context, in: zone.database, by: author, caller, draft.schema)
        if matcher == nil { return true }
        let owned = AnchorZone(zone, name: try reading.zoneEntry(zone).name)
        try matcher?.save(record.stored, record.change, in: owned) { record.payload }
        matcher?.close()
        while let output = try matcher?.next() {
            try draft.buffer.add(output, limit: context.payloadLimit)
        }
        draft.readSet += matcher?.readSet ?? []
        return matcher?.isTooLong != true
    }
}

/// What a share says of a user who knows its link.
struct ShareInvitation {
    private let place: SharePlace
    private let caller: UserID
    private let participants: [ParticipantEntry]
    private let addresses: [IdentityEntry.AddressKey]
    private let number: UInt32?

    init(
        _ place: SharePlace, _ caller: UserID, _ reading: StoreReading
    ) throws(EngineError) {
        self.place = place
        self.caller = caller
        participants = try reading.participants(of: place.number)
        number = try reading.user(caller)
        let identity = try number.flatMap { number throws(EngineError) in
            try reading.identity(of: number)
        }
        addresses = identity?.addresses.map(\.key) ?? []
    }

    /// How many participants there are beside the owner.
    var count: Int { participants.count }

    /// The participant that the user is, or was invited as.
    var participant: ParticipantEntry? {
        let own = participants.first { number != nil && $0.user == number }
        return own
            ?? participants.first { participant in
                guard participant.user == 0 else { return false }
                let lookup = UserIdentity.LookupInfo(
                    storedKind: participant.lookupKind, participant.lookup)
                return lookup?.address.map { addresses.contains($0) } ?? false
            }
    }

    /// The participant that the user becomes by accepting; nil: is already.
    func entry(
        for user: UInt32, _ reading: StoreReading, now: Int64
    ) throws(EngineError) -> ParticipantEntry? {
        if let participant {
            return participant.status == .accepted ? nil : participant
        }
        try check()
        return ParticipantEntry(
            share: place.number, id: reading.identity.participantID(place.number, caller),
            user: user, role: UInt8(Share.Role.publicUser.rawValue), permission: place.permission,
            status: .pending, since: .none, added: now / 1000, lookupKind: 0, lookup: "")
    }

    /// Fails where the user was not invited, and the share is not public.
    func check() throws(EngineError) {
        let isPublic = place.permission != UInt8(Share.Permission.none.rawValue)
        let refusal = Permission.refusal(
            of: .join, on: .share(isInvited: participant != nil, isPublic: isPublic),
            by: .user(caller), in: .shared(user: caller))
        guard let refusal else { return }
        // One of those who were invited by an address may be this user.
        let isUnlinked = participants.contains {
            $0.user == 0 && $0.status == .pending && $0.lookupKind != 0
        }
        throw .refused(isUnlinked ? .needsVerification : refusal)
    }
}

extension StoreIdentity {
    /// Of a user who joins a share by its link.
    fileprivate func participantID(_ share: UInt32, _ user: UserID) -> Hash128 {
        var writer = ByteWriter()
        writer.hash(userSeed)
        writer.uint8(0xfe)
        writer.uint32(share)
        writer.hash(user.bits)
        let hash = SHA256.hash(writer.bytes)
        let span = hash.span
        return Hash128(high: span.uint64(at: 0), low: span.uint64(at: 8))
    }
}

extension StoreError {
    static let noSuchLink = StoreError(.unknownItem, "there is no share with this link")
    static let notInvited = StoreError(
        .permissionFailure, "the share is private, and the user was not invited")
    static let needsVerification = StoreError(
        .participantMayNeedVerification,
        "users were invited by addresses that belong to no user of the store: if one of them is "
            + "this user's, the host says so in the user's profile")
}
