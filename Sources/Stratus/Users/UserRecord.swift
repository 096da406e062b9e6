internal import StratusIndex
internal import StratusJournal

// The records of users, which are there without anybody's saving them: `Formats/README.md`,
// "Users".

/// What the store knows of a user who has been used.
struct KnownUser: Sendable {
    var number: UInt32
    /// When the user was first used, in milliseconds since 1970.
    var created: Int64
    /// Where it was: the first version of the user's record.
    var offset: JournalOffset

    func version(in identity: StoreIdentity) -> Version {
        Version(incarnation: identity.incarnation, offset: offset)
    }

    init(_ value: IndexValue) {
        number = UInt32(truncatingIfNeeded: value.first)
        created = Int64(bitPattern: value.second)
        offset = JournalOffset(rawValue: value.stamp)
    }
}

extension Container {
    /// The identity of the record of `user`, which lies in the default zone of the public database.
    public func userRecordID(for user: String) -> Record.ID {
        Record.ID(recordName: userRecordName(for: user))
    }
}

extension Record {
    /// The type of the records of users.
    public static let userRecordType = "Users"
}

extension DatabaseSnapshot {
    /// What there is of a record that nobody saved: a user's own record, or nothing.
    func unsaved(
        _ id: Record.ID, _ reading: StoreReading
    ) throws(StoreError) -> Record {
        if scope == .public, id.zoneID.isDefault, let user = UserID(recordName: id.recordName) {
            if let known = try reading.known(user) {
                return Record(
                    recordType: Record.userRecordType, recordID: id,
                    system: Record.System(
                        version: known.version(in: reading.identity).rawValue,
                        created: known.created,
                        modified: known.created, creator: user, modifier: user),
                    parent: nil, stored: .none)
            }
            // Nobody is made known by looking at themselves.
            if user == caller {
                return Record(recordType: Record.userRecordType, recordID: id)
            }
        }
        throw StoreError(.unknownItem, "there is no such record").with(id)
    }
}

extension StoreReading {
    func known(_ user: UserID) throws(StoreError) -> KnownUser? {
        try value(.user(user.bits)).map { KnownUser($0) }
    }
}

extension RecordBatch {
    /// Whether `record` is a user's record; then it must be the caller's.
    func checkUserRecord(_ record: Record) throws(StoreError) -> Bool {
        let user = UserID(recordName: record.recordID.recordName)
        let hasType = record.recordType == Record.userRecordType
        guard user != nil || hasType else { return false }
        guard let user, hasType, scope == .public, zoneID.isDefault else {
            throw StoreError(
                .invalidArguments,
                "a user's record has the type Users, the user's name, and lies in the default "
                    + "zone of the public database")
        }
        guard user == caller else { throw StoreError.notTheirRecord }
        return true
    }

    /// A user's record stays as long as the store.
    func checkDeletion(of id: Record.ID) throws(StoreError) {
        guard scope == .public, zoneID.isDefault, UserID(recordName: id.recordName) != nil else {
            return
        }
        throw StoreError(.permissionFailure, "a user's record cannot be deleted")
    }
}

extension StoreError {
    fileprivate static let notTheirRecord = StoreError(
        .permissionFailure, "a user's record is changed by that user alone")
}

extension RecordEncoder {
    /// A user's record was made when the user was first used, though nobody saved it.
    func newHead(
        of record: Record, type: UInt32, previous: Version
    ) throws(StoreError) -> RecordHead {
        let now = role.now / 1000
        var head = RecordHead(
            type: type, modified: now, modifier: user, created: now, creator: user,
            previous: previous, isUpdate: false)
        if record.recordType == Record.userRecordType, let known = try reading.known(batch.caller) {
            head.created = known.created
            head.modified = max(now, known.created + 1)
            head.origin = MoveOrigin(zone: 0, version: known.version(in: reading.identity))
        }
        return head
    }
}
