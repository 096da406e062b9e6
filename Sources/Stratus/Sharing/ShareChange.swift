internal import StratusBytes
internal import StratusEngine
internal import StratusJournal

/// What a batch does to one share.
struct ShareChange {
    enum Kind {
        case creation
        /// Of the public permission.
        case edit
        /// Of nothing but the participants.
        case list
        case end
    }

    /// What the share is at the end.
    var entry: ShareEntry
    let kind: Kind
    /// The item that is the reason.
    let item: Int
    /// Those that change.
    private(set) var participants: [ParticipantEntry] = []

    init(_ entry: ShareEntry, kind: Kind, item: Int) {
        self.entry = entry
        self.kind = kind
        self.item = item
    }

    /// The name of the root; of a whole zone that of none.
    func root(_ reading: StoreReading) -> Hash128 { reading.hash(entry.rootName) }

    /// A participant leaves, or is removed.
    mutating func remove(_ participant: ParticipantEntry) {
        var participant = participant
        participant.status = .removed
        // An address is kept no longer than it is of use.
        (participant.lookupKind, participant.lookup) = (0, "")
        participants.append(participant)
    }

    /// Makes the participants what a caller says.
    ///
    /// - Parameter known: those that there are.
    mutating func invite(
        _ edit: ShareEdit?, _ known: [ParticipantEntry], of batch: RecordBatch,
        _ reading: StoreReading, _ numbers: inout NumberAssignment
    ) throws(EngineError) {
        guard let list = edit?.participants else { return }
        var rest = known
        var met: [ParticipantEntry] = []
        var count = 0
        for participant in list where participant.acceptanceStatus != .removed {
            guard participant.role != .owner else { continue }
            count += 1
            let invitation = try Invitation(participant, reading)
            if let known = met.first(where: { invitation.isOf($0) }) {
                // A user who is named twice is one participant.
                change(known, participant)
                continue
            }
            guard let place = rest.firstIndex(where: { invitation.isOf($0) }) else {
                guard entry.permission == UInt8(Share.Permission.none.rawValue) else {
                    throw .refused(.publicShare)
                }
                add(try invitation.entry(in: entry.number, batch, &numbers))
                continue
            }
            met.append(rest.remove(at: place))
            if let last = met.last { change(last, participant) }
        }
        for participant in rest { remove(participant) }
        if let limit = batch.limits?.profile.participantsPerShare, count >= limit {
            throw .refused(.tooManyParticipants(limit))
        }
    }

    /// Gives a participant who is there the role and permission that a caller says.
    private mutating func change(_ known: ParticipantEntry, _ said: Share.Participant) {
        var entry = known
        (entry.role, entry.permission) = (
            UInt8(said.role.rawValue), UInt8(said.permission.rawValue)
        )
        participants.removeAll { $0.id == known.id }
        if entry != known { participants.append(entry) }
    }

    /// A user who is named twice is one participant.
    private mutating func add(_ participant: ParticipantEntry) {
        let place = participants.firstIndex {
            participant.user != 0 && $0.user == participant.user && $0.status == .pending
        }
        guard let place else { return participants.append(participant) }
        participants[place].role = participant.role
        participants[place].permission = participant.permission
    }

    /// The public permission changed: those who have not accepted are out and, where nobody may join
    /// by the link any more, those who did.
    mutating func dropUninvited(_ known: [ParticipantEntry]) {
        let isPrivate = entry.permission == UInt8(Share.Permission.none.rawValue)
        for participant in known {
            let joined = participant.role == UInt8(Share.Role.publicUser.rawValue)
            let goes = participant.status == .pending || isPrivate && joined
            guard goes else { continue }
            participants.removeAll { $0.id == participant.id }
            remove(participant)
        }
    }
}

/// A participant as a caller gives it.
private struct Invitation {
    private let participant: Share.Participant
    private let id: Hash128
    private let user: UserID?
    /// The user's number, where there is one.
    private let number: UInt32?
    private let lookup: (kind: UInt8, text: String)

    init(
        _ participant: Share.Participant, _ reading: StoreReading
    ) throws(EngineError) {
        guard let id = participant.bits, participant.permission != .none else {
            throw .refused(.noParticipant)
        }
        self.participant = participant
        self.id = id
        let identity = participant.userIdentity
        lookup = identity.lookupInfo?.stored ?? (0, "")
        var user = identity.userID ?? identity.lookupInfo?.userID
        var number = try user.flatMap { user throws(EngineError) in try reading.user(user) }
        if user == nil, lookup.kind != 0 {
            number = try reading.user(withAddress: lookup.kind, lookup.text)
            user = try number.flatMap { number throws(EngineError) in try reading.user(number) }
        }
        guard user != nil || lookup.kind != 0 else { throw .refused(.noParticipant) }
        self.user = user
        self.number = number
    }

    /// Whether it stands for that participant.
    func isOf(_ entry: ParticipantEntry) -> Bool {
        if entry.id == id { return true }
        if let number { return entry.user == number }
        return lookup.kind != 0 && entry.lookupKind == lookup.kind && entry.lookup == lookup.text
    }

    func entry(
        in share: UInt32, _ batch: RecordBatch, _ numbers: inout NumberAssignment
    ) throws(EngineError) -> ParticipantEntry {
        var user: UInt32 = 0
        if let id = self.user { user = try numbers.user(id) ?? 0 }
        guard user == 0 || self.user != batch.owner else { throw .refused(.ownerInvited) }
        let role = participant.role == .publicUser ? Share.Role.privateUser : participant.role
        return ParticipantEntry(
            share: share, id: id, user: user, role: UInt8(role.rawValue),
            permission: UInt8(participant.permission.rawValue), status: .pending, since: .none,
            added: numbers.now / 1000, lookupKind: lookup.kind, lookup: lookup.text)
    }
}

extension StoreIdentity {
    /// Stands for the share of a root: to be guessed by none, and the same whenever the root is shared.
    func shareLink(zone: UInt32, root: String) -> Hash128 {
        var writer = ByteWriter()
        writer.hash(userSeed)
        // No user's name begins like this.
        writer.uint8(0xff)
        writer.uint32(zone)
        writer.text(root)
        let hash = SHA256.hash(writer.bytes)
        let span = hash.span
        return Hash128(high: span.uint64(at: 0), low: span.uint64(at: 8))
    }
}

extension StoreError {
    static let publicShare = StoreError(
        .invalidArguments, "a share that anyone may join has no invited participants")
    static let cascadeTooLong = StoreError(
        .limitExceeded, "too many records go along with what a participant deletes")
    static let noParticipant = StoreError(
        .invalidArguments,
        "a participant is a user record, an e-mail address or a phone number, and may read or "
            + "read and write")
    static let ownerInvited = StoreError(
        .invalidArguments, "the owner has a part in every share")
    static func tooManyParticipants(_ limit: Int) -> StoreError {
        StoreError(
            .tooManyParticipants, "a share has at most \(limit) participants, its owner included")
    }
}
