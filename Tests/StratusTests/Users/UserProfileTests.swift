import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// What the host says of users, and who finds them: semantics 7.
@Suite struct UserProfileTests {
    typealias LookupInfo = UserIdentity.LookupInfo

    private static let alice = UserProfile(
        name: PersonName(givenName: "Alice", familyName: "Adams"),
        emailAddresses: ["Alice@Example.com", "adams@example.org"],
        phoneNumbers: ["+1 555 0100"], isDiscoverable: true)

    private static func id(_ name: String, _ container: Container) -> Record.ID {
        container.userRecordID(for: name)
    }

    /// The users that carol finds by e-mail addresses.
    private static func found(
        _ addresses: [String], in container: Container
    ) async throws -> [Record.ID?] {
        var found: [Record.ID?] = []
        for address in addresses {
            let identity = try await container.userIdentity(
                for: LookupInfo(emailAddress: address), as: "carol")
            found.append(identity?.userRecordID)
        }
        return found
    }

    @Test func `a profile is read as it was set, by either name, and makes the user known`()
        async throws
    {
        let container = try Container.inMemory()
        #expect(try await container.userProfile(for: "alice") == nil)
        #expect(container.information.userCount == 0)
        try await container.setUserProfile(Self.alice, for: "alice")
        #expect(container.information.userCount == 1)
        #expect(try await container.userProfile(for: "alice") == Self.alice)
        let name = container.userRecordName(for: "alice")
        #expect(try await container.userProfile(for: name) == Self.alice)
        let record = try await container.publicDatabase(as: "bob").record(
            for: Self.id("alice", container))
        #expect(record.recordType == Record.userRecordType)
        var changed = Self.alice
        changed.name?.givenName = nil
        changed.phoneNumbers = []
        changed.isDiscoverable = false
        changed.accountStatus = .restricted
        try await container.setUserProfile(changed, for: name)
        #expect(try await container.userProfile(for: "alice") == changed)
        #expect(container.information.userCount == 1)
    }

    @Test func `a profile that says what the last one said writes nothing`() async throws {
        let container = try Container.inMemory()
        try await container.setUserProfile(UserProfile(), for: "alice")
        let head = container.information.head
        try await container.setUserProfile(UserProfile(), for: "alice")
        #expect(container.information.head == head)
        // Composed and decomposed letters are different bytes.
        for name in ["\u{e9}", "e\u{301}"] {
            let before = container.information.head
            try await container.setUserProfile(
                UserProfile(name: PersonName(givenName: name)), for: "alice")
            #expect(container.information.head != before)
        }
    }

    @Test func `a name that is empty is none`() async throws {
        let container = try Container.inMemory()
        let profile = UserProfile(name: PersonName(givenName: "", familyName: ""))
        try await container.setUserProfile(profile, for: "alice")
        #expect(try await container.userProfile(for: "alice") == UserProfile())
    }

    @Test func `a profile that breaks a limit is refused, and nothing is written`() async throws {
        let container = try Container.inMemory()
        let long = String(repeating: "a", count: 256)
        let many = (0...32).map { "\($0)@example.com" }
        let refused: [(profile: UserProfile, code: StoreError.Code)] = [
            (UserProfile(name: PersonName(givenName: long)), .invalidArguments),
            (UserProfile(name: PersonName(familyName: long)), .invalidArguments),
            (UserProfile(emailAddresses: [""]), .invalidArguments),
            (UserProfile(phoneNumbers: [long]), .invalidArguments),
            (UserProfile(emailAddresses: ["A@b.c", "a@B.c"]), .invalidArguments),
            (UserProfile(emailAddresses: many), .limitExceeded),
        ]
        for (profile, code) in refused {
            let error = await failure {
                try await container.setUserProfile(profile, for: "alice")
            }
            #expect(error.code == code, "\(profile)")
        }
        let unnamed = await failure { try await container.setUserProfile(Self.alice, for: "") }
        #expect(unnamed.code == .invalidArguments)
        #expect(container.information.userCount == 0)
        try await container.setUserProfile(
            UserProfile(emailAddresses: Array(many.dropLast())), for: "alice")
    }

    @Test func `a user is found by address, without regard to case, and by record`() async throws {
        let container = try Container.inMemory()
        try await container.setUserProfile(Self.alice, for: "alice")
        let id = Self.id("alice", container)
        let found = [
            LookupInfo(emailAddress: "alice@example.COM"),
            LookupInfo(emailAddress: "ADAMS@example.org"),
            LookupInfo(phoneNumber: "+1 555 0100"), LookupInfo(userRecordID: id),
        ]
        for info in found {
            let identity = try await container.userIdentity(for: info, as: "bob")
            #expect(identity?.userRecordID == id && identity?.lookupInfo == info)
            #expect(identity?.nameComponents == Self.alice.name)
            #expect(identity?.hasAccount == true)
        }
        let unknown = [
            LookupInfo(emailAddress: "alice@example"), LookupInfo(phoneNumber: "+15550100"),
            // An address is found as what it is.
            LookupInfo(phoneNumber: "adams@example.org"),
            LookupInfo(emailAddress: "+1 555 0100"),
            LookupInfo(userRecordID: Self.id("bob", container)),
            LookupInfo(userRecordID: Record.ID(recordName: "alice")),
        ]
        for info in unknown {
            #expect(try await container.userIdentity(for: info, as: "bob") == nil, "\(info)")
        }
    }

    @Test func `case folding is that of all languages`() async throws {
        let container = try Container.inMemory()
        let profile = UserProfile(
            emailAddresses: ["Straße@example.com", "ΣΊΣΥΦΟΣ@example.com"], isDiscoverable: true)
        try await container.setUserProfile(profile, for: "alice")
        let id = Self.id("alice", container)
        let addresses = ["STRASSE@example.com", "σίσυφος@example.com", "strase@example.com"]
        #expect(try await Self.found(addresses, in: container) == [id, id, nil])
        #expect(try await container.userProfile(for: "alice") == profile)
    }

    @Test func `a user who is not discoverable is found by record, without a name`() async throws {
        let container = try Container.inMemory()
        var profile = Self.alice
        profile.isDiscoverable = false
        try await container.setUserProfile(profile, for: "alice")
        let id = Self.id("alice", container)
        for info in profile.addresses {
            #expect(try await container.userIdentity(for: info, as: "bob") == nil)
            // Users find themselves.
            let own = try await container.userIdentity(for: info, as: "alice")
            #expect(own?.userRecordID == id && own?.nameComponents == profile.name)
        }
        let info = LookupInfo(userRecordID: id)
        let identity = try await container.userIdentity(for: info, as: "bob")
        #expect(identity?.userRecordID == id && identity?.nameComponents == nil)
        // A user of whom nothing was said is there, too.
        try await container.publicDatabase(as: "dave").save(note("d", in: .default))
        let other = LookupInfo(userRecordID: Self.id("dave", container))
        let dave = try await container.userIdentity(for: other, as: "bob")
        #expect(dave?.nameComponents == nil && dave?.hasAccount == true)
    }

    @Test func `who looks for users is a user whose account can be used`() async throws {
        let container = try Container.inMemory()
        try await container.setUserProfile(Self.alice, for: "alice")
        let info = LookupInfo(userRecordID: Self.id("alice", container))
        let anonymous = await failure { try await container.userIdentity(for: info, as: nil) }
        #expect(anonymous.code == .notAuthenticated)
        let unnamed = await failure { try await container.userIdentity(for: info, as: "") }
        #expect(unnamed.code == .invalidArguments)
        try await container.setUserProfile(
            UserProfile(accountStatus: .temporarilyUnavailable), for: "bob")
        let waiting = await failure { try await container.userIdentity(for: info, as: "bob") }
        #expect(waiting.code == .accountTemporarilyUnavailable)
    }

    @Test func `an address has one user, and is free again once it is given up`() async throws {
        let container = try Container.inMemory()
        let (alice, bob) = (Self.id("alice", container), Self.id("bob", container))
        try await container.setUserProfile(Self.alice, for: "alice")
        let taken = UserProfile(
            emailAddresses: ["bob@example.com", "ALICE@example.com"], isDiscoverable: true)
        let error = await failure { try await container.setUserProfile(taken, for: "bob") }
        #expect(error.code == .constraintViolation)
        #expect(try await container.userProfile(for: "bob") == nil)
        let addresses = ["alice@example.com", "bob@example.com", "adams@example.org"]
        #expect(try await Self.found(addresses, in: container) == [alice, nil, alice])

        var without = Self.alice
        without.emailAddresses = ["adams@example.org"]
        try await container.setUserProfile(without, for: "alice")
        #expect(try await Self.found(addresses, in: container) == [nil, nil, alice])
        try await container.setUserProfile(taken, for: "bob")
        #expect(try await Self.found(addresses, in: container) == [bob, bob, alice])
        let late = await failure { try await container.setUserProfile(Self.alice, for: "alice") }
        #expect(late.code == .constraintViolation)
        try await container.setUserProfile(UserProfile(), for: "bob")
        try await container.setUserProfile(Self.alice, for: "alice")
        #expect(try await Self.found(addresses, in: container) == [alice, nil, alice])
    }

    @Test func `of two users who take one address at once, one gets it`() async throws {
        let container = try Container.inMemory()
        let users = (0..<20).map { "user\($0)" }
        for user in users { try await container.setUserProfile(UserProfile(), for: user) }
        let profile = UserProfile(emailAddresses: ["one@example.com"], isDiscoverable: true)
        let winners = await withTaskGroup(of: Bool.self) { group in
            for user in users {
                group.addTask {
                    do {
                        try await container.setUserProfile(profile, for: user)
                        return true
                    } catch {
                        return false
                    }
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(winners == 1)
    }

    @Test func `users are listed in the order in which they became known, page by page`()
        async throws
    {
        let container = try Container.inMemory()
        #expect(try await container.users().users == [])
        try await container.publicDatabase(as: "first").save(note("a", in: .default))
        for number in 0..<6 {
            try await container.setUserProfile(
                UserProfile(phoneNumbers: ["\(number)"]), for: "user\(number)")
        }
        let recordName = "_" + String(repeating: "a", count: 32)
        var names: [String?] = ["first"]
        for number in 0..<6 { names.append("user\(number)") }
        names.append(nil)
        try await container.setUserProfile(UserProfile(), for: recordName)
        for limit in [1, 3, 8, 1000] {
            var users: [UserInfo] = []
            var cursor: UserPage.Cursor?
            repeat {
                let page = try await container.users(resultsLimit: limit, from: cursor)
                #expect(page.users.count <= limit && !page.users.isEmpty)
                users += page.users
                cursor = page.cursor
            } while cursor != nil
            #expect(users.map { $0.userName } == names)
            #expect(users[0].profile == nil && users.filter { $0.profile == nil }.count == 1)
            #expect(users[3].profile?.phoneNumbers == ["2"])
            #expect(users[0].userRecordID == Self.id("first", container))
            #expect(users[7].userRecordID.recordName == recordName)
            let record = try await container.publicDatabase().record(for: users[3].userRecordID)
            #expect(users[3].creationDate == record.creationDate)
        }
    }

    @Test func `a reader in another process sees what the host says once it has refreshed`()
        async throws
    {
        let store = DiskStore()
        let container = try store.open()
        try await container.publicDatabase(as: "alice").save(note("a", in: .default))
        try await container.checkpoint()
        let reader = try store.openReadOnly()
        #expect(try await reader.userProfile(for: "alice") == nil)
        #expect(try await Self.found(["alice@example.com"], in: reader) == [nil])
        try await container.setUserProfile(Self.alice, for: "alice")
        try await container.close()
        try await reader.refresh()
        #expect(try await reader.userProfile(for: "alice") == Self.alice)
        let id = Self.id("alice", reader)
        #expect(try await Self.found(["alice@example.com"], in: reader) == [id])
        let error = await failure { try await reader.setUserProfile(Self.alice, for: "bob") }
        #expect(error.code == .permissionFailure)
        try await reader.close()
    }
}

/// Users across openings, compactions and indexes that are made anew.
@Suite struct StoredUserTests {
    /// Of many small segments.
    private static func store() -> DiskStore {
        var store = DiskStore()
        store.options.segmentLength = 64 << 10
        store.steppedByCaller = true
        return store
    }

    /// Fills some segments with what is needed no longer.
    private static func fill(_ container: Container) async throws {
        let database = container.privateDatabase(for: "writer")
        let text = RecordValue.string(String(repeating: "text", count: 1000))
        for number in 0..<60 {
            try await database.save(
                note("a", ["text": text, "n": .int64(Int64(number))], in: .default),
                savePolicy: .allKeys)
        }
    }

    private static func profile(_ addresses: [String]) -> UserProfile {
        UserProfile(emailAddresses: addresses, isDiscoverable: true)
    }

    /// Whose address it is, of alice and bob.
    private static func owner(
        of address: String, in container: Container
    ) async throws -> String? {
        let identity = try await container.userIdentity(
            for: UserIdentity.LookupInfo(emailAddress: address), as: "carol")
        return ["alice", "bob"].first {
            container.userRecordID(for: $0) == identity?.userRecordID
        }
    }

    private static func expectWhole(_ store: DiskStore) throws {
        let storage = try LocalStorage(at: "store", .reading, on: store.disk.process())
        #expect(try StoreVerification(storage).findings == [])
    }

    @Test(arguments: [false, true])
    func `an address that was given up stays so when the index is made anew`(
        isMarked: Bool
    ) async throws {
        let store = Self.store()
        var container = try store.open()
        try await container.setUserProfile(Self.profile(["x", "y"]), for: "alice")
        // Keeps the entry that says that x is alice's.
        if isMarked { try await container.mark("before") }
        try await container.setUserProfile(Self.profile(["y"]), for: "alice")
        try await Self.fill(container)
        try await container.setUserProfile(Self.profile(["y", "z"]), for: "alice")
        try await Self.fill(container)
        try await container.maintenance.compact()
        try await Self.fill(container)
        try await container.setUserProfile(Self.profile(["y", "w"]), for: "alice")
        try await container.close()
        try Self.expectWhole(store)
        var owners: [(address: String, owner: String?)] = [
            ("x", nil), ("z", nil), ("y", "alice"), ("w", "alice"),
        ]
        for round in 0..<2 {
            container = try store.open()
            for (address, owner) in owners {
                #expect(try await Self.owner(of: address, in: container) == owner, "\(address)")
            }
            try await container.close()
            if round == 0 { try store.deleteIndex() }
        }
        container = try store.open()
        try await container.setUserProfile(Self.profile(["x", "z"]), for: "bob")
        try await Self.fill(container)
        // She gives up what is bob's no second time.
        try await container.setUserProfile(Self.profile(["y", "w", "v"]), for: "alice")
        try await Self.fill(container)
        try await container.maintenance.compact()
        try await container.close()
        try Self.expectWhole(store)
        try store.deleteIndex()
        container = try store.open()
        owners[0].owner = "bob"
        owners[1].owner = "bob"
        owners.append(("v", "alice"))
        for (address, owner) in owners {
            #expect(try await Self.owner(of: address, in: container) == owner)
        }
        try await container.close()
    }

    @Test func `of a name or an address that was replaced an erasure leaves nothing`()
        async throws
    {
        let store = Self.store()
        let container = try store.open()
        try await container.setUserProfile(
            UserProfile(
                name: PersonName(givenName: "Replaced-h5t2p8cd"),
                emailAddresses: ["given-up-q7xk2v9w@example.com", "kept-b3n8m1zr@example.com"]),
            for: "alice")
        try await container.setUserProfile(
            Self.profile(["kept-b3n8m1zr@example.com"]), for: "alice")
        try await Self.fill(container)
        func isFound(_ text: String) -> Bool {
            store.disk.paths.contains {
                store.disk.contents($0).firstRange(of: Array(text.utf8)) != nil
            }
        }
        #expect(isFound("q7xk2v9w") && isFound("h5t2p8cd"))
        try await container.maintenance.erase()
        #expect(!isFound("q7xk2v9w") && !isFound("h5t2p8cd"))
        #expect(isFound("b3n8m1zr"))
        try await container.close()
        try Self.expectWhole(store)
    }

    @Test func `profiles, account statuses and roles are those of the last time`() async throws {
        let store = Self.store()
        var container = try store.open()
        try await container.importSchema("DEFINE SCHEMA CREATE ROLE Curator; CREATE ROLE Editor;")
        for roles: Set<String> in [["Curator"], ["Curator", "Editor"], ["Editor"]] {
            try await container.setRoles(roles, of: "alice")
            try await Self.fill(container)
        }
        for status in [AccountStatus.available, .noAccount, .restricted] {
            try await container.setUserProfile(UserProfile(accountStatus: status), for: "alice")
            try await Self.fill(container)
        }
        try await container.maintenance.compact()
        try await container.close()
        try Self.expectWhole(store)
        for _ in 0..<2 {
            container = try store.open()
            #expect(try await container.roles(of: "alice") == ["Editor"])
            #expect(try await container.roles(of: "bob") == [])
            #expect(try await container.accountStatus(of: "alice") == .restricted)
            let profile = try await container.userProfile(for: "alice")
            #expect(profile == UserProfile(accountStatus: .restricted))
            try await container.close()
            try store.deleteIndex()
        }
    }
}
