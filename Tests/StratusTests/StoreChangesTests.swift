import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// The feed of all databases: `Formats/Token.md`, "Feeds".
@Suite struct StoreChangesTests {
    /// Zones as `owner/zone`, with what became of those that are gone.
    private static func names(_ changes: StoreChanges, in container: Container) -> [String] {
        changes.zones.map { zone in
            let owner = ["alice", "bob"].first { container.userRecordName(for: $0) == zone.owner }
            let end = zone.deletion.map { " \($0)" } ?? ""
            return "\(zone.owner == nil ? "public" : owner ?? "?")/\(zone.zoneID.zoneName)\(end)"
        }
    }

    /// All pages since a token.
    private static func follow(
        _ container: Container, since token: ChangeToken?, limit: Int? = nil
    ) async throws -> (names: [String], token: ChangeToken, pages: Int) {
        var (names, token, pages): ([String], ChangeToken?, Int) = ([], token, 0)
        while true {
            let page = try await container.changes(since: token, resultsLimit: limit)
            names += Self.names(page, in: container)
            token = page.changeToken
            pages += 1
            if !page.moreComing { return (names, page.changeToken, pages) }
        }
    }

    private static func fill(_ container: Container) async throws {
        let work = RecordZone.ID(zoneName: "work")
        let bob = container.privateDatabase(for: "bob")
        for id in [notes, work] { try await bob.save(RecordZone(zoneID: id)) }
        try await bob.saveAll([note("a"), note("b")])
        let alice = container.privateDatabase(for: "alice")
        try await alice.save(RecordZone(zoneID: notes))
        try await alice.save(note("a"))
        try await container.publicDatabase(as: "bob").save(note("p", in: .default))
        try await bob.save(note("c", in: work))
        try await alice.save(note("d", in: .default))
    }

    @Test func `a page names each zone of any database once, in the order of the last changes`()
        async throws
    {
        let container = try Container.inMemory()
        let empty = try await container.changes()
        #expect(empty.zones == [] && !empty.moreComing)
        try await Self.fill(container)
        let all = ["bob/notes", "alice/notes", "public/_defaultZone", "bob/work"]
        let page = try await container.changes()
        #expect(Self.names(page, in: container) == all + ["alice/_defaultZone"])
        // A token of the empty store is good.
        let again = try await container.changes(since: empty.changeToken)
        #expect(again.zones == page.zones)
        let none = try await container.changes(since: page.changeToken)
        #expect(none.zones == [] && none.changeToken == page.changeToken)
        try await container.privateDatabase(for: "bob").deleteRecord(withID: noteID("b"))
        let next = try await container.changes(since: page.changeToken)
        #expect(Self.names(next, in: container) == ["bob/notes"])
    }

    @Test(arguments: [1, 2, 3, 100])
    func `pages go on from one to the next, and a zone that changes meanwhile comes again`(
        limit: Int
    ) async throws {
        let container = try Container.inMemory()
        try await Self.fill(container)
        let first = try await container.changes(resultsLimit: limit)
        #expect(first.zones.count == min(limit, 5))
        try await container.privateDatabase(for: "bob").save(note("late"))
        let rest = try await Self.follow(container, since: first.changeToken, limit: limit)
        let names = Self.names(first, in: container) + rest.names
        #expect(names.last == "bob/notes")
        #expect(Set(names).count == 5)
    }

    @Test func `a zone that is gone is named with the reason, unless its name lives on`()
        async throws
    {
        let container = try Container.inMemory()
        try await Self.fill(container)
        let start = try await container.changes().changeToken
        let bob = container.privateDatabase(for: "bob")
        try await bob.deleteRecordZone(withID: notes)
        var page = try await container.changes(since: start)
        #expect(Self.names(page, in: container) == ["bob/notes deleted"])
        try await bob.save(RecordZone(zoneID: notes))
        page = try await container.changes(since: start)
        #expect(Self.names(page, in: container) == ["bob/notes"])
        try await container.purge(user: "bob")
        page = try await container.changes(since: start)
        #expect(
            Set(Self.names(page, in: container)).isSuperset(
                of: ["bob/notes purged", "bob/work purged"]))
    }

    @Test func `tokens stay good over compaction and openings, in reading processes too`()
        async throws
    {
        var store = DiskStore()
        store.options.segmentLength = 16 << 10
        var container = try store.open()
        try await Self.fill(container)
        let start = try await container.changes().changeToken
        let alice = container.privateDatabase(for: "alice")
        for round in 0..<60 {
            try await alice.saveAll(
                [
                    note(
                        "a",
                        [
                            "n": .int64(Int64(round)),
                            "text": .string(String(repeating: "x", count: 900)),
                        ])
                ],
                savePolicy: .allKeys)
        }
        try await container.setDeletionPolicy(.none)
        try await container.privateDatabase(for: "bob").deleteRecord(withID: noteID("a"))
        for _ in 0..<3 { try await container.maintenance.compact() }
        try await container.checkpoint()
        let expected: Set = ["alice/notes", "bob/notes"]
        #expect(Set(try await Self.follow(container, since: start).names) == expected)
        let reader = try store.openReadOnly()
        #expect(Set(try await Self.follow(reader, since: start, limit: 1).names) == expected)
        try await container.close()
        container = try store.open()
        let last = try await Self.follow(container, since: start)
        #expect(Set(last.names) == expected)
        #expect(try await container.changes(since: last.token).zones == [])
        try await container.close()
    }

    @Test func `a token of a part of the store, and one of another store, are refused`()
        async throws
    {
        let container = try Container.inMemory()
        try await Self.fill(container)
        let alice = container.privateDatabase(for: "alice")
        let ofZone = try await alice.recordZoneChanges(inZoneWith: notes).changeToken
        let ofDatabase = try await alice.databaseChanges().changeToken
        for token in [ofZone, ofDatabase] {
            let error = await failure { try await container.changes(since: token) }
            #expect(error.code == .invalidArguments && error.cause == .changeToken(.kind))
        }
        let own = try await container.changes().changeToken
        for error in [
            await failure { try await alice.databaseChanges(since: own) },
            await failure { try await alice.recordZoneChanges(inZoneWith: notes, since: own) },
        ] {
            #expect(error.code == .invalidArguments && error.cause == .changeToken(.kind))
        }
        let other = try Container.inMemory()
        try await Self.fill(other)
        let error = await failure { try await other.changes(since: own) }
        #expect(error.code == .changeTokenExpired && error.cause == .changeToken(.store))
    }

    @Test func `a live feed of the store goes on with a change in any database`() async throws {
        let container = try Container.inMemory()
        try await Self.fill(container)
        let start = try await container.changes().changeToken
        var pages = container.liveChanges(since: start).makeAsyncIterator()
        for (user, name) in [("alice", "x"), ("bob", "y"), ("alice", "z")] {
            let saving = Task {
                try await Task.sleep(for: .milliseconds(5))
                try await container.privateDatabase(for: user).save(note(name))
            }
            let page = try #require(try await pages.next())
            #expect(Self.names(page, in: container) == ["\(user)/notes"])
            _ = try await saving.value
        }
        try await container.close()
        #expect(try await pages.next() == nil)
    }
}
