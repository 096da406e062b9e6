import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// Opening stores that are there, that are not, and that others hold.
@Suite final class OpeningTests {
    private let path = FileManager.default.temporaryDirectory
        .appending(path: "stratus-\(UUID().uuidString)").path

    deinit { try? FileManager.default.removeItem(atPath: path) }

    @Test func `a path where no store was made cannot be opened`() async throws {
        let missing = await failure { try await Container.open(at: self.path) }
        #expect(missing.code == .badContainer)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
        let empty = await failure { try await Container.open(at: self.path) }
        #expect(empty.code == .badContainer)
        let reading = await failure { try await Container.openReadOnly(at: self.path) }
        #expect(reading.code == .badContainer)
        let container = try await Container.open(at: path, creating: true)
        try await container.close()
        try await Container.open(at: path).close()
    }

    @Test func `a second writer in the same process is told who holds the store`() async throws {
        let first = try await Container.open(at: path, creating: true)
        let error = await failure { try await Container.open(at: self.path) }
        #expect(error.code == .serviceUnavailable)
        guard case .locked(let holder)? = error.cause else {
            Issue.record("no cause: \(error)")
            return
        }
        #expect(holder.hasPrefix("process \(ProcessInfo.processInfo.processIdentifier) on "))
        #expect(error.reason.contains(holder))
        try await first.close()
        try await Container.open(at: path).close()
    }

    @Test func `a second writer in another process is told so, until the first one dies`()
        async throws
    {
        let store = DiskStore()
        let first = store.disk.process()
        let holding = try store.open(as: first)
        try await holding.privateDatabase(for: "alice").save(RecordZone(zoneID: notes))
        #expect(throws: StorageError(.locked(holder: "the other"), file: "writer")) {
            try store.open()
        }
        _ = holding.recoveryReport
        first.kill()
        #expect(try store.open().recoveryReport.wasClean == false)
    }

    @Test func `a reader refuses every write and shows new commits after a refresh`()
        async throws
    {
        let writer = try await Container.open(at: path, creating: true)
        let database = writer.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        let first = try await database.save(note("first"))
        try await waitUntilDurable(first.recordID)
        let reader = try await Container.openReadOnly(at: path)
        let reading = reader.privateDatabase(for: "alice")
        #expect(try await reading.allRecords() == [first])
        for error in [
            await failure { try await reading.save(note("b")) },
            await failure { try await reading.deleteRecord(withID: noteID("first")) },
            await failure { try await reading.save(RecordZone(zoneName: "z")) },
            await failure { try await reading.deleteRecordZone(withID: notes) },
        ] { #expect(error.code == .permissionFailure) }
        let second = try await database.save(note("second", ["field": 1]))
        #expect(try await reading.allRecords() == [first], "not before a refresh")
        var isNew = false
        for _ in 0..<500 where !isNew {
            isNew = try await reader.refresh()
            if !isNew { try await Task.sleep(for: .milliseconds(10)) }
        }
        #expect(isNew)
        #expect(try await reading.record(for: noteID("second")) == second)
        try await writer.close()
        try await reader.refresh()
        #expect(try await FollowedChanges(of: reading).modified == [first, second])
        try await reader.close()
    }

    private func waitUntilDurable(_ id: Record.ID) async throws {
        for _ in 0..<500 {
            let reader = try await Container.openReadOnly(at: path)
            let database = reader.privateDatabase(for: "alice")
            if try await database.records(for: [id])[id]?.code == nil { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("the record did not become visible")
    }

    @Test(arguments: [Container.Durability.full, .interval(milliseconds: 50), .none])
    func `after the death of the process a store gives the same answers`(
        durability: Container.Durability
    ) async throws {
        var store = DiskStore()
        store.durability = durability
        store.steppedByCaller = true
        store.options.segmentLength = 32 << 10
        let before: Answers
        do {
            let container = try store.open()
            try await fill(container)
            before = try await Answers(of: container)
            store.disk.killProcesses()
        }
        let again = try store.open(creating: false)
        #expect(!again.recoveryReport.wasClean)
        #expect(!again.recoveryReport.possibleLoss)
        #expect(try await Answers(of: again) == before)
        try await again.close()
        let third = try store.open(creating: false)
        #expect(third.recoveryReport.wasClean)
        #expect(try await Answers(of: third) == before)
    }

    @Test func `openings that write nothing leave nothing, however they end`() async throws {
        let store = DiskStore()
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: notes))
        try await database.save(note("a"))
        store.disk.killProcesses()
        _ = try store.open()
        store.disk.killProcesses()
        let names = store.disk.paths.count
        let before = store.disk.blockBytes
        for _ in 0..<60 {
            _ = try store.open()
            store.disk.killProcesses()
        }
        #expect(store.disk.paths.count == names && store.disk.blockBytes == before)
        #expect(before < 64 << 10, "\(before)")
    }

    @Test func `what a killed writer had prepared is given back at the next opening`()
        async throws
    {
        let store = DiskStore()
        for round in 0..<5 {
            let database = try store.open().privateDatabase(for: "alice")
            try await database.save(RecordZone(zoneID: notes))
            var record = note("photo \(round)")
            record["image"] = .asset(Asset(data: noise(40_000, seed: UInt64(round))))
            try await database.save(record)
            store.disk.killProcesses()
        }
        let container = try store.open()
        // A record, a manifest and 40 KB of an asset a round, and headers.
        #expect(store.disk.blockBytes < 5 * 100_000, "\(store.disk.blockBytes)")
        #expect(try await container.privateDatabase(for: "alice").allRecords().count == 5)
    }

    // The same calls, clock and randomness: what Tools and samples rely on.
    @Test func `the same calls make the same store byte for byte`() async throws {
        var contents: [[String: [UInt8]]] = []
        for _ in 0..<2 {
            var store = DiskStore()
            store.steppedByCaller = true
            let time = Mutex<Int64>(1_700_000_000_000_000)
            let generator = Mutex(SeededGenerator(seed: 7))
            store.options.segmentLength = 32 << 10
            store.options.clock = Clock {
                time.withLock {
                    $0 += 1000
                    return $0
                }
            }
            store.options.randomness = Randomness { generator.withLock { $0.next() } }
            for _ in 0..<2 {
                let container = try store.open()
                try await fill(container)
                try await container.close()
            }
            contents.append(
                Dictionary(
                    uniqueKeysWithValues: store.disk.paths.map { ($0, store.disk.contents($0)) }))
        }
        #expect(contents[0].count > 3)
        #expect(contents[0].keys.sorted() == contents[1].keys.sorted())
        for (name, bytes) in contents[0] { #expect(bytes == contents[1][name], "\(name)") }
    }

    /// Some of everything, in several segments.
    private func fill(_ container: Container) async throws {
        for user in ["alice", "bob"] {
            let database = container.privateDatabase(for: user)
            for name in ["notes", "gone", "again"] {
                try await database.save(RecordZone(zoneName: name))
            }
            // In an order that differs from run to run, as that of a dictionary does.
            var fields: [String: RecordValue] = ["text": "t", "list": [1, 2], "empty": []]
            for number in Array(0..<20).shuffled() { fields["n\(number)"] = .double(0.5) }
            try await database.saveAll(
                (0..<100).map { note("r\($0)", fields) }, savePolicy: .changedKeys)
            try await database.save(note("gone", in: RecordZone.ID(zoneName: "gone")))
            try await database.deleteRecordZone(withID: RecordZone.ID(zoneName: "gone"))
            try await database.deleteRecordZone(withID: RecordZone.ID(zoneName: "again"))
            try await database.save(RecordZone(zoneName: "again"))
            for number in 0..<10 {
                try await database.deleteRecord(withID: noteID("r\(number)"))
                try await database.save(
                    note("r\(number + 50)", ["text": "new"]), savePolicy: .changedKeys)
            }
            try await container.publicDatabase(asHost: user).save(
                note("public", ["by": .string(user)], in: .default), savePolicy: .allKeys)
        }
    }

    /// What a store says of itself.
    private struct Answers: Equatable {
        var records: [[Record]] = []
        var fed: [[Record]] = []
        var deleted: [[RecordZoneChanges.Deletion]] = []
        var tokens: [ChangeToken?] = []
        var zones: [[RecordZone]] = []
        var names: [String] = []

        init(of container: Container) async throws {
            for user in ["alice", "bob"] {
                let database = container.privateDatabase(for: user)
                names.append(container.userRecordName(for: user))
                zones.append(try await database.allRecordZones())
                records.append(try await database.allRecords())
                records.append(try await database.allRecords(type: "Note", resultsLimit: 7))
                let start = try await database.recordZoneChanges(
                    inZoneWith: notes, resultsLimit: 1
                ).changeToken
                let changes = try await FollowedChanges(of: database, since: start)
                fed.append(changes.modified)
                deleted.append(changes.deleted)
                tokens.append(changes.token)
                let ofDatabase = try await database.databaseChanges()
                tokens.append(ofDatabase.changeToken)
                zones.append(ofDatabase.modifications.map { RecordZone(zoneID: $0) })
            }
            records.append(
                try await container.publicDatabase().allRecords(in: .default))
        }
    }
}
