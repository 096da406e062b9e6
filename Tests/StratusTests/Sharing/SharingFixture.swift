import Stratus
import Testing

/// Alice's zone `notes`, and users who may have a part in it. Her records are
///
///     above              out
///       root               out1
///         a      b
///           a1
struct SharingFixture {
    let container: Container
    /// The owner's database.
    let alice: Database

    init(profile: Profile = .unlimited, rules: RecordRules = .none) async throws {
        container = try Container.inMemory(profile: profile, rules: rules)
        alice = container.privateDatabase(for: "alice")
        try await alice.save(RecordZone(zoneID: notes))
    }

    /// With the records, none of them shared.
    static func family(
        profile: Profile = .unlimited, rules: RecordRules = .none
    ) async throws -> SharingFixture {
        let fixture = try await SharingFixture(profile: profile, rules: rules)
        try await fixture.alice.saveAll([
            note("above", ["n": 0]), child("root", of: "above", ["n": 1]),
            child("a", of: "root", ["n": 2]), child("a1", of: "a", ["n": 3]),
            child("b", of: "root", ["n": 4]), note("out", ["n": 5]),
            child("out1", of: "out", ["n": 6]),
        ])
        return fixture
    }

    /// With the records, and `root` shared with users who have accepted.
    static func shared(
        _ permission: Share.Permission = .readWrite, with users: [String] = ["bob"],
        profile: Profile = .unlimited
    ) async throws -> (fixture: SharingFixture, share: Share) {
        let fixture = try await family(profile: profile)
        let share = try await fixture.share("root", with: users, permission)
        try await fixture.accept(share, users)
        return (fixture, share)
    }

    /// With the records, and all of the zone shared with users who have accepted.
    static func zoneWide(
        _ permission: Share.Permission = .readWrite, with users: [String] = ["bob"]
    ) async throws -> (fixture: SharingFixture, share: Share) {
        let fixture = try await family()
        var share = Share(recordZoneID: notes)
        for user in users { try share.addParticipant(fixture.participant(user, permission)) }
        share = try await fixture.save(share)
        try await fixture.accept(share, users)
        return (fixture, share)
    }

    /// The names of what participants see while `root` is shared.
    static let members = ["a", "a1", "b", "root"]
}

// Names.
extension SharingFixture {
    /// The shared databases of two users.
    var bob: Database { container.sharedDatabase(for: "bob") }
    var carol: Database { container.sharedDatabase(for: "carol") }

    /// The zone as participants name it.
    var zone: RecordZone.ID {
        RecordZone.ID(
            zoneName: notes.zoneName, ownerName: container.userRecordName(for: "alice"))
    }

    /// A record as participants name it.
    func id(_ name: String) -> Record.ID { Record.ID(recordName: name, zoneID: zone) }

    /// A share's record as participants name it.
    func id(of share: Share) -> Record.ID { id(share.recordID.recordName) }

    /// A new record of a participant.
    func newNote(
        _ name: String, under parent: String? = nil, _ fields: [String: RecordValue] = [:],
        type: String = "Note"
    ) -> Record {
        var record = note(name, fields, type: type, in: zone)
        if let parent { record.parent = Reference(recordID: id(parent)) }
        return record
    }

    func participant(
        _ user: String, _ permission: Share.Permission = .readWrite,
        role: Share.Role = .privateUser
    ) -> Share.Participant {
        Share.Participant(
            UserIdentity.LookupInfo(userRecordID: container.userRecordID(for: user)), role: role,
            permission: permission)
    }
}

// Shares.
extension SharingFixture {
    /// Shares one of alice's records with users who are invited, or with all who have the link.
    @discardableResult
    func share(
        _ root: String, with users: [String] = [], _ permission: Share.Permission = .readWrite,
        role: Share.Role = .privateUser, publicPermission: Share.Permission = .none
    ) async throws -> Share {
        let record = try await alice.record(for: noteID(root))
        var share = Share(rootRecord: record)
        for user in users { try share.addParticipant(participant(user, permission, role: role)) }
        if publicPermission != .none { share.publicPermission = publicPermission }
        return try await save(share, with: [record])
    }

    /// Saves a share, with its root where it is new.
    @discardableResult
    func save(
        _ share: Share, with records: [Record] = [], by database: Database? = nil
    ) async throws -> Share {
        let result = try await (database ?? alice).modifyRecords(
            saving: records + [share.record])
        if let failure = result.partialFailure { throw failure }
        let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
        return try #require(saved)
    }

    func accept(_ share: Share, _ users: [String]) async throws {
        let link = try #require(share.shortGUID)
        for user in users { try await container.acceptShare(link, as: user) }
    }

    /// The share as it is now.
    func stored(_ share: Share) async throws -> Share {
        let found = Share(try await alice.record(for: share.recordID))
        return try #require(found)
    }

    /// Changes the share as it is now.
    @discardableResult
    func edit(
        _ share: Share, _ body: (inout Share) throws -> Void
    ) async throws -> Share {
        var current = try await stored(share)
        try body(&current)
        return try await save(current)
    }

    /// Gives a participant another permission.
    func setPermission(
        of user: String, _ permission: Share.Permission, in share: Share
    ) async throws {
        try await edit(share) { try $0.addParticipant(participant(user, permission)) }
    }

    /// Removes a participant.
    func remove(_ user: String, from share: Share) async throws {
        try await edit(share) {
            let found = $0.participant(container.userRecordID(for: user))
            try $0.removeParticipant(try #require(found))
        }
    }

    /// Ends a share.
    func end(_ share: Share) async throws {
        try await alice.deleteRecord(withID: share.recordID)
    }
}

// What participants see.
extension SharingFixture {
    /// The names of the records that a user finds in the zone, but for those of shares.
    func names(seenBy user: String) async throws -> [String] {
        try await container.sharedDatabase(for: user).allRecords(in: zone)
            .filter { $0.recordType != Record.shareType }.map { $0.recordID.recordName }.sorted()
    }

    /// Whether a user finds the zone.
    func isVisible(to user: String) async throws -> Bool {
        let database = container.sharedDatabase(for: user)
        return try await database.allRecordZones().contains { $0.zoneID == zone }
    }

    /// What changed of the records that a user sees, but for the records of shares.
    func changes(
        seenBy user: String, since token: ChangeToken? = nil, resultsLimit: Int? = nil
    ) async throws -> (modified: Set<String>, deleted: Set<String>, token: ChangeToken?) {
        let changes = try await FollowedChanges(
            of: container.sharedDatabase(for: user), in: zone, since: token,
            resultsLimit: resultsLimit)
        let modified = changes.modified.filter { $0.recordType != Record.shareType }
        let deleted = changes.deleted.filter { $0.recordType != Record.shareType }
        return (
            Set(modified.map { $0.recordID.recordName }),
            Set(deleted.map { $0.recordID.recordName }), changes.token
        )
    }

    /// A user's token of the zone that has seen everything.
    func token(of user: String) async throws -> ChangeToken? {
        try await changes(seenBy: user).token
    }
}

extension Share {
    /// The participant that is a user.
    func participant(_ user: Record.ID) -> Participant? {
        participants.first { $0.userIdentity.userRecordID == user }
    }
}

/// The codes of what failed in a call, by record name.
func codes(_ errors: [String: StoreError]) -> [String: StoreError.Code] {
    errors.mapValues { $0.code }
}

/// Whether an error shows no record that its caller may not see.
func showsNoRecord(_ error: StoreError) -> Bool {
    error.serverRecord == nil && error.ancestorRecord == nil
}

/// Codes that a call may give where CloudKit refuses it and documents no code.
let refusals: Set<StoreError.Code> = [.badDatabase, .permissionFailure]

/// Tells the container who a user is, as its host does.
func setProfile(
    of user: String, in container: Container, emailAddresses: [String] = [],
    phoneNumbers: [String] = [], accountStatus: AccountStatus = .available
) async throws {
    let profile = UserProfile(
        emailAddresses: emailAddresses, phoneNumbers: phoneNumbers, accountStatus: accountStatus)
    try await container.setUserProfile(profile, for: user)
}
