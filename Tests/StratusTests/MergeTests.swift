import FoundationEssentials
import Stratus
import Synchronization
import Testing

/// Merging a client's changes into the server's record: semantics 2.5.
@Suite struct MergeTests {
    /// What the resolver was asked.
    final class Asked: Sendable {
        private let keys = Mutex<[String]>([])
        var all: [String] { keys.withLock { $0 } }
        func note(_ key: String) { keys.withLock { $0.append(key) } }
    }

    /// A record saved with three fields, and what a client and the server made of it.
    private static func three(
        client edit: (inout Record) -> Void, server other: (inout Record) -> Void
    ) async throws -> (database: Database, client: Record, ancestor: Record, server: Record) {
        let (_, database) = try await makeDatabase()
        let ancestor = try await database.save(note("a", ["key1": 1, "key2": 2, "key3": 3]))
        var client = ancestor
        edit(&client)
        var server = ancestor
        other(&server)
        return (database, client, ancestor, try await database.save(server))
    }

    private static func never(
        _ key: String, _ client: RecordValue?, _ ancestor: RecordValue?, _ server: RecordValue?
    ) throws(StoreError) -> RecordValue? {
        Issue.record("\(key) is no conflict")
        return nil
    }

    // C15, C32.
    @Test func `disjoint changes merge by themselves, and the result is saved over the server's`()
        async throws
    {
        let (database, client, ancestor, server) = try await Self.three {
            $0["key1"] = 10
            $0["key3"] = nil
            $0["new1"] = "client"
        } server: {
            $0["key2"] = nil
            $0["new2"] = "server"
        }
        let merged = try Record.merging(
            client: client, ancestor: ancestor, server: server, resolve: Self.never)
        #expect(merged.recordChangeTag == server.recordChangeTag)
        let saved = try await database.save(merged)
        #expect(saved.allKeys == ["key1", "new1", "new2"])
        #expect(saved["key1"] == 10)
    }

    @Test func `what both changed alike is no conflict`() async throws {
        let (_, client, ancestor, server) = try await Self.three {
            $0["key1"] = 10
            $0["key2"] = nil
        } server: {
            $0["key1"] = 10
            $0["key2"] = nil
        }
        let merged = try Record.merging(
            client: client, ancestor: ancestor, server: server, resolve: Self.never)
        #expect(merged == server && merged.changedKeys == [])
    }

    @Test func `what both changed differently is decided, with all three values`() async throws {
        let (_, client, ancestor, server) = try await Self.three {
            $0["key1"] = 10
            $0["key2"] = nil
            $0["key3"] = 30
        } server: {
            $0["key1"] = 11
            $0["key2"] = 21
            $0["key3"] = nil
        }
        var asked: [String: [RecordValue?]] = [:]
        let merged = try Record.merging(client: client, ancestor: ancestor, server: server) {
            key, client, ancestor, server in
            asked[key] = [client, ancestor, server]
            return key == "key2" ? nil : "decided"
        }
        #expect(asked == ["key1": [10, 1, 11], "key2": [nil, 2, 21], "key3": [30, 3, nil]])
        #expect(merged["key1"] == "decided" && merged["key2"] == nil)
        #expect(merged["key3"] == "decided" && merged.changedKeys == ["key1", "key2", "key3"])
        // The server's own value is no change.
        let kept = try Record.merging(client: client, ancestor: ancestor, server: server) {
            $3
        }
        #expect(kept == server && kept.changedKeys == [])
    }

    @Test func `without an ancestor every field that differs is a conflict`() async throws {
        let (database, _, _, server) = try await Self.three {
            $0["key1"] = 10
        } server: {
            $0["key1"] = 11
        }
        let scratch = note("a", ["key1": 12, "key2": 2, "new": 1])
        let asked = Asked()
        let merged = try Record.merging(client: scratch, ancestor: nil, server: server) {
            key, client, ancestor, _ in
            asked.note(key)
            #expect(ancestor == nil)
            return client
        }
        #expect(asked.all == ["key1", "new"])
        let saved = try await database.save(merged)
        #expect(saved["key1"] == 12 && saved["new"] == 1)
        // What the client does not say stays.
        #expect(saved["key3"] == 3)
    }

    @Test func `what was not fetched counts as unknown`() async throws {
        let (database, _, ancestor, server) = try await Self.three {
            $0["key1"] = 10
        } server: {
            $0["key2"] = 21
        }
        var bare = try Record(systemFields: ancestor.encodeSystemFields())
        bare["key2"] = 22
        let asked = Asked()
        let merged = try Record.merging(client: bare, ancestor: ancestor, server: server) {
            key, client, _, _ in
            asked.note(key)
            return client
        }
        #expect(asked.all == ["key2"])
        #expect(merged.changedKeys == ["key2"] && merged["key1"] == 1)
        let hidden = try await database.record(for: noteID("a"), desiredKeys: [])
        let unknown = try Record.merging(client: bare, ancestor: ancestor, server: hidden) {
            key, client, _, _ in client
        }
        #expect(unknown["key2"] == 22)
    }

    @Test func `the parent is merged like a field`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.saveAll(["p1", "p2"].map { note($0) })
        let ancestor = try await database.save(note("a"))
        var client = ancestor
        client.parent = Reference(recordID: noteID("p1"))
        var other = ancestor
        other["key"] = 1
        let server = try await database.save(other)
        let merged = try Record.merging(
            client: client, ancestor: ancestor, server: server, resolve: Self.never)
        #expect(merged.parent == client.parent && merged["key"] == 1)
        other = server
        other.parent = Reference(recordID: noteID("p2"))
        let moved = try await database.save(other)
        let asked = Asked()
        let decided = try Record.merging(client: client, ancestor: ancestor, server: moved) {
            key, _, _, server in
            asked.note(key)
            return server
        }
        #expect(asked.all == [Record.parentKey])
        #expect(decided.parent == moved.parent)
        let kept = try Record.merging(
            client: ancestor, ancestor: ancestor, server: moved, resolve: Self.never)
        #expect(kept.parent == moved.parent)
    }

    // C32, C104.
    @Test func `a save that resolves goes on until it succeeds`() async throws {
        let (database, client, _, _) = try await Self.three {
            $0["key1"] = 10
            $0["key2"] = 20
        } server: {
            $0["key1"] = 11
            $0["key3"] = 31
        }
        let asked = Asked()
        let saved = try await database.save(client) { key, client, _, _ in
            asked.note(key)
            return client
        }
        #expect(asked.all == ["key1"])
        #expect(saved["key1"] == 10 && saved["key2"] == 20 && saved["key3"] == 31)
        #expect(try await database.record(for: noteID("a")) == saved)
    }

    @Test func `many who resolve at the same time lose nothing`() async throws {
        let (_, database) = try await makeDatabase()
        let first = try await database.save(note("a"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<16 {
                group.addTask {
                    var mine = first
                    mine["key\(number)"] = .int64(Int64(number))
                    try await database.save(mine, resolving: Self.never)
                }
            }
            try await group.waitForAll()
        }
        let record = try await database.record(for: noteID("a"))
        for number in 0..<16 { #expect(record["key\(number)"] == .int64(Int64(number))) }
        #expect(record.allKeys.count == 16)
    }

    // Semantics 2.8: what did land is found and taken for success.
    @Test func `a save whose changes are there already writes nothing`() async throws {
        let (_, database) = try await makeDatabase()
        let landed = try await database.save(note("a", ["key": 1]))
        let again = try await database.save(note("a", ["key": 1]), resolving: Self.never)
        #expect(again == landed)
        #expect(try await database.record(for: noteID("a")) == landed)
    }

    @Test func `a partial record only asks for what its caller changed`() async throws {
        let (database, _, _, _) = try await Self.three { _ in
        } server: {
            $0["key1"] = 11
            $0["key2"] = 21
        }
        var partial = try await database.record(for: noteID("a"), desiredKeys: ["key1"])
        var other = try await database.record(for: noteID("a"))
        other["key1"] = 12
        try await database.save(other)
        partial["new"] = 1
        let saved = try await database.save(partial, resolving: Self.never)
        #expect(saved["key1"] == 12 && saved["key2"] == 21 && saved["new"] == 1)
    }

    @Test func `a record made from system fields asks only for what both sides changed`()
        async throws
    {
        let (database, client, ancestor, _) = try await Self.three { _ in
        } server: {
            $0["key1"] = 11
            $0["key2"] = 21
        }
        var bare = try Record(systemFields: ancestor.encodeSystemFields())
        bare["key1"] = 10
        bare["key3"] = 30
        let asked = Asked()
        let saved = try await database.save(bare) { key, client, ancestor, server in
            asked.note(key)
            #expect([client, ancestor, server] == [10, 1, 11])
            return client
        }
        #expect(asked.all == ["key1"])
        #expect(saved["key1"] == 10 && saved["key2"] == 21 && saved["key3"] == 30)
        // A removal is one side's change, too.
        var second = try Record(systemFields: client.encodeSystemFields())
        second["key3"] = nil
        let removed = try await database.save(second) { key, _, _, server in
            asked.note(key)
            return server
        }
        #expect(asked.all == ["key1", "key3"] && removed["key3"] == 30)
    }

    @Test func `a record known by its tag alone does not take away the parent`() async throws {
        let (_, database) = try await makeDatabase()
        try await database.save(note("p"))
        var record = note("a", ["key": 1])
        record.parent = Reference(recordID: noteID("p"))
        let ancestor = try await database.save(record)
        var other = ancestor
        other["key"] = 2
        try await database.save(other)
        var tagged = Record(
            recordType: "Note", recordID: noteID("a"),
            recordChangeTag: ancestor.recordChangeTag)
        tagged["new"] = 1
        let saved = try await database.save(tagged, resolving: Self.never)
        #expect(saved["key"] == 2 && saved["new"] == 1 && saved.parent == record.parent)
    }

    @Test func `another error, and one of the resolver's, ends it`() async throws {
        let (database, client, _, _) = try await Self.three {
            $0["key1"] = 10
        } server: {
            $0["key1"] = 11
        }
        let given = StoreError(.permissionFailure, "not now")
        let refused = await failure {
            try await database.save(client) { _, _, _, _ throws(StoreError) in throw given }
        }
        #expect(refused == given)
        try await database.deleteRecord(withID: noteID("a"))
        let gone = await failure { try await database.save(client, resolving: Self.never) }
        #expect(gone.code == .unknownItem)
    }
}
