internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

// The records of users, which are there before their first save: `Formats/README.md`, "Users".

/// What the store knows of a user who has been used.
struct KnownUser: Sendable {
    var number: UInt32
    /// When the user was first used, in milliseconds since 1970.
    var created: Int64
    /// Where it was: the first version of the user's record.
    var offset: JournalOffset

    func version(in identity: StoreIdentity) -> Version {
        identity.version(at: offset)
    }

    init(_ value: IndexValue) {
        number = UInt32(truncatingIfNeeded: value.first)
        created = Int64(bitPattern: value.second)
        offset = JournalOffset(rawValue: value.stamp)
    }
}

extension Container {
    /// The identity of the record of `user`, of which there are two: one in the default zone of the
    /// public database, and one in that of the user's private database.
    public func userRecordID(for user: String) -> Record.ID {
        Record.ID(recordName: userRecordName(for: user))
    }
}

extension Record {
    /// The type of the records of users.
    public static let userRecordType = "Users"
}

extension StoreError {
    static func noRecord(_ id: Record.ID) -> StoreError {
        StoreError(.unknownItem, "there is no such record").with(id)
    }
}

extension DatabaseScope {
    /// Whether the zone is where a record of `user` lies.
    func hasRecord(of user: UserID, in zone: RecordZone.ID) -> Bool {
        zone.isDefault && (self == .public || self == .private(owner: user))
    }
}

extension DatabaseView {
    /// A record that was never saved: a user's record, or `unknownItem`.
    func unsaved(
        _ id: Record.ID, _ reading: StoreReading
    ) throws(EngineError) -> Record {
        if let owner = UserID(recordName: id.recordName), scope.hasRecord(of: owner, in: id.zoneID)
        {
            if let record = try reading.unsavedRecord(of: owner, as: id) { return record }
            // Reading one's own record does not make a user known.
            if owner == user {
                return Record(recordType: Record.userRecordType, recordID: id)
            }
        }
        throw .refused(.noRecord(id))
    }
}

extension StoreReading {
    func known(_ user: UserID) throws(EngineError) -> KnownUser? {
        try value(.user(user.bits)).map { KnownUser($0) }
    }

    /// The record of a user as it is before its first save; nil where the user is not known.
    func unsavedRecord(of user: UserID, as id: Record.ID) throws(EngineError) -> Record? {
        guard let known = try known(user) else { return nil }
        return Record(
            recordType: Record.userRecordType, recordID: id,
            system: Record.System(
                version: known.version(in: identity).rawValue, created: known.created,
                modified: known.created, creator: user, modifier: user),
            parent: nil, stored: .none, assets: nil)
    }
}

extension RecordBatch {
    /// The user whose record `record` is; nil where it is no user's record.
    func owner(of record: Record, _ reading: StoreReading) throws(EngineError) -> UserID? {
        let user = UserID(recordName: record.recordID.recordName)
        let hasType = record.recordType == Record.userRecordType
        guard user != nil || hasType else { return nil }
        guard let user, hasType, scope.hasRecord(of: user, in: zoneID) else {
            throw .refused(
                .invalidArguments,
                "a user's record has the type Users and the user's name, and lies in the default "
                    + "zone of the public database or of the user's own")
        }
        if scope == .public {
            try reading.checkGrant(
                to: .write, ofType: Record.userRecordType, creator: user, principal, scope)
        }
        if user != caller, try reading.known(user) == nil {
            throw .refused(.unknownItem, "there is no user of that name")
        }
        return user
    }

    /// A user's record stays as long as the store.
    func checkDeletion(of id: Record.ID) throws(EngineError) {
        guard let user = UserID(recordName: id.recordName), scope.hasRecord(of: user, in: zoneID)
        else { return }
        try Permission.check(.delete, on: .userRecord, by: principal, in: scope)
    }
}

extension RecordEncoder {
    /// A user's record was made when the user was first used, by that user.
    func newHead(
        of record: Record, type: UInt32, previous: Version
    ) throws(EngineError) -> RecordHead {
        let now = context.now / 1000
        var head = RecordHead(
            type: type, modified: now, by: author, created: now, creator: author.user,
            previous: previous, isUpdate: false)
        if record.recordType == Record.userRecordType,
            let owner = UserID(recordName: record.recordID.recordName),
            let known = try reading.known(owner)
        {
            head.creator = known.number
            head.created = known.created
            head.modified = max(now, known.created + 1)
            head.origin = MoveOrigin(zone: 0, version: known.version(in: reading.identity))
        }
        return head
    }
}
