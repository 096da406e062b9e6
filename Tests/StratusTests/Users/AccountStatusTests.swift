import FoundationEssentials
import Stratus
import Support
import Testing

/// Accounts that cannot be used, and how a program learns of it: semantics 7.
@Suite(.timeLimit(.minutes(20))) struct AccountStatusTests {
    private static func set(
        _ status: AccountStatus, of user: String = "alice", in container: Container
    ) async throws {
        try await container.setUserProfile(UserProfile(accountStatus: status), for: user)
    }

    @Test func `an account is available until the host says otherwise`() async throws {
        let container = try Container.inMemory()
        #expect(try await container.accountStatus(of: "alice") == .available)
        #expect(try await container.accountStatus(of: nil) == .noAccount)
        let unnamed = await failure { try await container.accountStatus(of: "") }
        #expect(unnamed.code == .invalidArguments)
        for status in AccountStatus.allCases {
            try await Self.set(status, in: container)
            #expect(try await container.accountStatus(of: "alice") == status)
            #expect(try await container.accountStatus(of: "bob") == .available)
        }
    }

    static let unusable: [(status: AccountStatus, code: StoreError.Code)] = [
        (.noAccount, .notAuthenticated), (.restricted, .notAuthenticated),
        (.couldNotDetermine, .notAuthenticated),
        (.temporarilyUnavailable, .accountTemporarilyUnavailable),
    ]

    // C97, C98.
    @Test(arguments: unusable.indices)
    func `a user whose account cannot be used makes no call but to read the public database`(
        index: Int
    ) async throws {
        let (status, code) = Self.unusable[index]
        let (container, database) = try await makeDatabase()
        let shared = container.publicDatabase(as: "alice")
        let record = try await shared.save(note("p", ["n": 1], in: .default))
        try await database.save(note("a"))
        try await Self.set(status, in: container)
        let id = noteID("a")
        let errors = [
            await failure { try await database.record(for: id) },
            await failure { try await database.records(for: [id]) },
            await failure { try await database.allRecords() },
            await failure { try await database.allRecordZones() },
            await failure { try await database.databaseChanges() },
            await failure { try await database.recordZoneChanges(inZoneWith: notes) },
            await failure { try await database.usage() },
            await failure { try await database.save(note("b")) },
            await failure { try await database.deleteRecord(withID: id) },
            await failure { try await database.modifyRecords(saving: [note("b")]) },
            await failure { try await database.save(RecordZone(zoneName: "more")) },
            await failure { try await database.deleteRecordZone(withID: notes) },
            await failure { try await shared.save(note("q", in: .default)) },
            await failure { try await shared.deleteRecord(withID: record.recordID) },
        ]
        for (place, error) in errors.enumerated() {
            #expect(error.code == code && error.item == nil, "call \(place): \(error)")
            #expect(error.remedy == .signIn)
        }
        #expect(try await shared.record(for: record.recordID) == record)
        #expect(try await shared.allRecords(in: .default) == [record])
        // The host, and other users, are not concerned.
        let host = container.publicDatabase(asHost: "alice")
        try await host.save(note("h", in: .default))
        try await container.privateDatabase(for: "bob").save(note("b", in: .default))
        try await Self.set(.available, in: container)
        #expect(try await database.allRecords().count == 1)
        try await database.save(note("b"))
    }

    @Test func `a user whose account cannot be used reads as an anonymous caller`() async throws {
        let container = try Container.inMemory()
        try await container.importSchema(
            """
            DEFINE SCHEMA
                RECORD TYPE Own ( n INT64, GRANT CREATE TO "_icloud", GRANT READ TO "_creator" );
                RECORD TYPE Open ( n INT64, GRANT CREATE TO "_icloud", GRANT READ TO "_world" );
            """)
        let database = container.publicDatabase(as: "alice")
        let own = try await database.save(note("own", ["n": 1], type: "Own", in: .default))
        let open = try await database.save(note("open", ["n": 1], type: "Open", in: .default))
        #expect(try await database.record(for: own.recordID) == own)
        try await Self.set(.restricted, in: container)
        let error = await failure { try await database.record(for: own.recordID) }
        #expect(error.code == .permissionFailure)
        #expect(try await database.record(for: open.recordID) == open)
    }

    @Test func `an account that cannot be used now reads nothing of the past either`()
        async throws
    {
        let (container, database) = try await makeDatabase()
        try await database.save(note("a"))
        let snapshot = container.snapshot()
        try await Self.set(.restricted, in: container)
        let past = snapshot.privateDatabase(for: "alice")
        #expect(await failure { try past.record(for: noteID("a")) }.code == .notAuthenticated)
    }

    @Test func `each change of a status is told, and nothing else`() async throws {
        let container = try Container.inMemory()
        var statuses = container.accountStatusChanges(of: "alice").makeAsyncIterator()
        // The user is not known yet.
        #expect(try await statuses.next() == .available)
        async let first = container.accountStatusChanges(of: "alice").first { $0 != .available }
        try await container.publicDatabase(as: "bob").save(note("b", in: .default))
        try await Self.set(.noAccount, in: container)
        #expect(try await first == .noAccount)
        #expect(try await statuses.next() == .noAccount)
        async let second = container.accountStatusChanges(of: "alice").first { $0 != .noAccount }
        try await Self.set(.restricted, of: "bob", in: container)
        try await container.setUserProfile(
            UserProfile(name: PersonName(givenName: "Alice"), accountStatus: .noAccount),
            for: "alice")
        try await Self.set(.temporarilyUnavailable, in: container)
        #expect(try await second == .temporarilyUnavailable)
        // A slow reader is told the latest.
        try await Self.set(.available, in: container)
        #expect(try await statuses.next() == .available)
        try await container.close()
        #expect(try await statuses.next() == nil)
        #expect(try await statuses.next() == nil)
    }

    @Test func `a status that changes while it is waited for ends the wait`() async throws {
        let container = try Container.inMemory()
        try await Self.set(.noAccount, in: container)
        for round in 0..<200 {
            let status = round % 2 == 0 ? AccountStatus.available : .restricted
            async let told = container.accountStatusChanges(of: "alice").first { $0 == status }
            try await Self.set(status, in: container)
            #expect(try await told == status)
        }
    }

    @Test func `a cancelled task ends the sequence, an empty name fails it`() async throws {
        let container = try Container.inMemory()
        let task = Task {
            var count = 0
            for try await _ in container.accountStatusChanges(of: "alice") { count += 1 }
            return count
        }
        task.cancel()
        #expect(try await task.value <= 1)
        let error = await failure {
            for try await _ in container.accountStatusChanges(of: "") {}
        }
        #expect(error.code == .invalidArguments)
    }
}
