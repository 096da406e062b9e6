import FoundationEssentials
import Stratus
import Testing

/// Long-lived operations that read: of the state in which they were submitted.
@Suite struct LongLivedReadTests {
    private static func begin() async throws -> (container: Container, database: Database) {
        let (container, database) = try await makeDatabase()
        try await database.saveAll([
            note("a", ["key": 1, "more": "x"]), note("b", ["key": 2]), note("c", ["key": 3]),
        ])
        return (container, database)
    }

    /// What every request here must not see.
    private static func change(_ database: Database) async throws {
        var record = try await database.record(for: noteID("a"))
        record["key"] = 9
        try await database.save(record)
        try await database.deleteRecord(withID: noteID("b"))
        try await database.save(note("d", ["key": 4]))
        try await database.save(RecordZone(zoneID: RecordZone.ID(zoneName: "later")))
    }

    @Test func `records are those of then, as often as they are asked for`() async throws {
        let (container, database) = try await Self.begin()
        let operation = try await database.submit(
            .records([noteID("a"), noteID("b"), noteID("d")], desiredKeys: ["key"]),
            operationID: "one")
        try await Self.change(database)
        _ = try await operation.answer()
        let found = try #require(try await container.longLivedOperation("one", for: "alice"))
        #expect(found.state == .finished)
        guard case .records(let results) = try await found.outcome() else {
            Issue.record("it gave no records")
            return
        }
        #expect(try results[noteID("a")]?.get()["key"] == 1)
        #expect(try results[noteID("a")]?.get().allKeys == ["key"])
        #expect(try results[noteID("b")]?.get()["key"] == 2)
        #expect(results[noteID("d")]?.code == .unknownItem)
        #expect(try await container.longLivedOperation("one", for: "alice") == nil)
    }

    @Test(arguments: [false, true])
    func `what others share is read as of then, as far as it is still shared`(
        zoneWide: Bool
    ) async throws {
        let (fixture, share) =
            try await zoneWide ? SharingFixture.zoneWide() : SharingFixture.shared()
        let bob = fixture.bob
        let ids = ["a", "b", "new"].map { fixture.id($0) }
        let requests: [LongLivedRequest] = [
            .records(ids, desiredKeys: nil),
            .query(
                LongLivedRequest.QueryFetch(
                    Query(recordType: "Note", predicate: FieldKey<Int>("n") <= 4),
                    inZoneWith: fixture.zone)),
            .zoneChanges([LongLivedRequest.ZoneFetch(inZoneWith: fixture.zone)]),
            .databaseChanges(since: nil, resultsLimit: nil),
        ]
        for round in 0..<2 {
            for (number, request) in requests.enumerated() {
                try await bob.submit(request, operationID: "o\(round)\(number)")
            }
        }
        try await fixture.alice.save(note("a", ["n": 20]), savePolicy: .changedKeys)
        try await fixture.alice.deleteRecord(withID: noteID("b"))
        try await bob.save(fixture.newNote("new", under: zoneWide ? nil : "root"))
        let watched: Set<String> = ["a", "b", "new"]
        func names(_ records: [Record]) -> String {
            let names = records.map { $0.recordID.recordName }
            return names.filter { watched.contains($0) }.sorted().joined(separator: " ")
        }
        func outcomes(_ round: Int) async throws -> [String: String] {
            var found: [String: String] = [:]
            for number in requests.indices {
                let operation = try #require(
                    try await fixture.container.longLivedOperation(
                        "o\(round)\(number)", for: "bob"))
                let line: String
                do throws(StoreError) {
                    switch try await operation.outcome() {
                    case .records(let results):
                        var numbers: [String] = []
                        for id in ids {
                            let number = (try? results[id]?.get())?["n"]?.int64Value
                            numbers.append(number.map(String.init) ?? "-")
                        }
                        line = numbers.joined(separator: " ")
                    case .query(let page): line = names(page.records)
                    case .zoneChanges(let pages):
                        if case .success(let page)? = pages.values.first {
                            line = names(page.modifications)
                        } else {
                            line = "-"
                        }
                    case .databaseChanges(let page):
                        line = page.modifications.map { $0.zoneName }.joined()
                    default: line = "another outcome"
                    }
                } catch {
                    line = "\(error.code)"
                }
                found["\(number)"] = line
            }
            return found
        }
        let shared = try await outcomes(0)
        #expect(shared == ["0": "2 4 -", "1": "a b", "2": "a b", "3": "notes"])
        try await fixture.remove("bob", from: share)
        let left = try await outcomes(1)
        #expect(left == ["0": "- - -", "1": "zoneNotFound, 26", "2": "-", "3": ""])
    }

    @Test func `a query finds what it would have found then, page by page`() async throws {
        let (_, database) = try await Self.begin()
        let query = Query(
            recordType: "Note", predicate: FieldKey<Int>("key") > 1,
            sortDescriptors: [Query.SortDescriptor(key: "key", ascending: false)])
        let operation = try await database.submit(
            .query(
                LongLivedRequest.QueryFetch(query, inZoneWith: notes, resultsLimit: 1)),
            operationID: "one")
        try await Self.change(database)
        guard case .query(let page) = try await operation.outcome() else {
            Issue.record("it gave no page")
            return
        }
        #expect(page.records.map(\.recordID.recordName) == ["c"])
        let next = try await database.submit(
            .query(
                LongLivedRequest.QueryFetch(
                    query, inZoneWith: notes, from: page.cursor)),
            operationID: "two")
        try await database.deleteRecord(withID: noteID("a"))
        guard case .query(let rest) = try await next.outcome() else {
            Issue.record("it gave no page")
            return
        }
        // The change moved one of them before the cursor, and deleted the other.
        #expect(rest.records.map(\.recordID.recordName) == [])
        #expect(rest.cursor == nil)
    }

    @Test func `changes of zones and of the database are those up to then`() async throws {
        let (container, database) = try await Self.begin()
        let token = try await FollowedChanges(of: database).token
        try await database.save(note("new"))
        let missing = RecordZone.ID(zoneName: "missing")
        let zones = try await database.submit(
            .zoneChanges([
                LongLivedRequest.ZoneFetch(inZoneWith: notes, since: token),
                LongLivedRequest.ZoneFetch(inZoneWith: missing),
            ]), operationID: "zones")
        let changes = try await database.submit(
            .databaseChanges(since: nil, resultsLimit: nil), operationID: "database")
        try await Self.change(database)
        guard case .zoneChanges(let pages) = try await zones.outcome(),
            case .databaseChanges(let page) = try await changes.outcome()
        else {
            Issue.record("they gave other things")
            return
        }
        #expect(try pages[notes]?.get().modifiedNames == ["new"])
        #expect(pages[missing]?.code == .zoneNotFound)
        #expect(page.modifications == [notes])
        // The tokens go on in the newest state.
        let rest = try await database.recordZoneChanges(
            inZoneWith: notes, since: try #require(try pages[notes]?.get().changeToken))
        #expect(Set(rest.modifiedNames) == ["a", "d"] && rest.deletedNames == ["b"])
        #expect(try await container.longLivedOperations(for: "alice").isEmpty)
    }

    @Test func `a read that cannot be done says so, and that is its outcome`() async throws {
        let (container, database) = try await Self.begin()
        let operation = try await database.submit(
            .query(
                LongLivedRequest.QueryFetch(
                    Query(recordType: "Note"),
                    inZoneWith: RecordZone.ID(zoneName: "missing"))),
            operationID: "one")
        #expect(await failure { try await operation.outcome() }.code == .zoneNotFound)
        #expect(try await container.longLivedOperation("one", for: "alice") == nil)
    }

    @Test func `every part of a request is kept`() async throws {
        let store = DiskStore()
        var container = try store.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a", ["key": 1]))
        let token = try await FollowedChanges(of: database).token
        var sort = Query.SortDescriptor(
            key: "place", relativeLocation: Location(latitude: 1, longitude: 2))
        sort.ascending = false
        let query = Query(
            recordType: "Note",
            predicate: try Query.Predicate("key > 1 AND name BEGINSWITH %@", "S"),
            sortDescriptors: [Query.SortDescriptor(key: "key"), sort])
        var record = note("b", ["text": "æ", "list": ["a", "b"], "empty": .list([])])
        record.encryptedValues["secret"] = "s"
        record["to"] = .reference(Reference(recordID: noteID("a"), action: .deleteSelf))
        record.parent = Reference(recordID: noteID("a"))
        let requests: [LongLivedRequest] = [
            .modify(
                LongLivedRequest.Modification(
                    saving: [record], deleting: [noteID("c")], savePolicy: .allKeys,
                    atomically: false, clientChangeTokenData: Data([1, 2]))),
            .move([noteID("a")], to: RecordZone.ID(zoneName: "other")),
            .records([noteID("a")], desiredKeys: ["key"]),
            .query(
                LongLivedRequest.QueryFetch(
                    query, inZoneWith: notes, desiredKeys: [], resultsLimit: 7)),
            .zoneChanges([
                LongLivedRequest.ZoneFetch(
                    inZoneWith: notes, since: token, asOf: token, desiredKeys: ["x"],
                    desiredRecordTypes: ["Note"], resultsLimit: 3)
            ]),
            .databaseChanges(since: nil, resultsLimit: 5),
        ]
        for (number, request) in requests.enumerated() {
            try await database.submit(request, operationID: "\(number)", priority: .low)
        }
        try await container.close()
        container = try store.open(creating: false)
        database = container.privateDatabase(for: "alice")
        let found = try await container.longLivedOperations(for: "alice")
        #expect(found.count == requests.count && found.allSatisfy { $0.priority == .low })
        let offset = container.snapshot().offset
        // The one that was found, and the one that was given, are both the same as what is kept.
        for (number, request) in requests.enumerated() {
            try await database.submit(request, operationID: "\(number)")
            try await database.submit(found[number].request, operationID: "\(number)")
        }
        #expect(container.snapshot().offset == offset)
        guard case .query(let fetch) = found[3].request,
            case .modify(let modification) = found[0].request
        else {
            Issue.record("they are of other kinds")
            return
        }
        #expect(fetch.query == query && fetch.resultsLimit == 7 && fetch.desiredKeys == [])
        #expect(modification.atomically == false)
        #expect(modification.clientChangeTokenData == Data([1, 2]))
        guard case .save(let kept, let rule)? = modification.items.first else {
            Issue.record("it saves nothing")
            return
        }
        #expect(rule == SaveRule(.allKeys))
        #expect(kept == record)
        try await container.close()
    }
}
