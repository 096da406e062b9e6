import FoundationEssentials
import Stratus
import StratusEngine
import StratusFiles
import StratusJournal
import Support
import Testing

/// A compaction of the journal frees what is needed no longer, and changes no answer.
struct CompactionTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")

    private static func id(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: zone)
    }

    private func database(_ container: Container) -> Database {
        container.privateDatabase(for: "alice")
    }

    /// Saves `count` records anew, a few kilobytes each.
    private func change(_ container: Container, _ round: Int, count: Int = 60) async throws {
        let text = RecordValue.string(String(repeating: "\(round % 10)", count: 2_000))
        for part in 0..<count / 20 {
            let records = (0..<20).map { place in
                var record = Record(recordType: "Note", recordID: Self.id("r\(part * 20 + place)"))
                record["round"] = .int64(Int64(round))
                record["text"] = text
                return record
            }
            let result = try await database(container).modifyRecords(
                saving: records, savePolicy: .allKeys)
            if let failure = result.partialFailure { throw failure }
        }
    }

    private func filled(rounds: Int) async throws -> Container {
        let container = try store.open()
        try await database(container).save(RecordZone(zoneID: Self.zone))
        for round in 0..<rounds { try await change(container, round) }
        return container
    }

    private func hash(_ container: Container) throws -> ContentHash {
        try container.snapshot().privateDatabase(for: "alice")
            .contentHash(includingSystem: true)
    }

    /// What has seen all of the zone.
    private func token(_ container: Container) async throws -> ChangeToken {
        try await database(container).recordZoneChanges(
            inZoneWith: Self.zone, resultsLimit: 10_000
        ).changeToken
    }

    /// The files of the journal, in bytes.
    private var length: Int {
        store.journalFiles.reduce(0) { $0 + store.disk.contents(store.path($1)).count }
    }

    private func expectWhole() throws {
        #expect(try store.verification().findings.filter { $0.severity == .damage } == [])
        #expect(try store.journalStrays == [])
    }

    @Test func `the journal of records that are replaced stays small by itself`() async throws {
        let container = try await filled(rounds: 40)
        // All that was written are about 40 times 120 KB; what lies behind a checkpoint stays.
        #expect(length < 2_500_000, "\(length)")
        #expect(store.journalFiles.contains { $0.hasPrefix("compacted-") })
        let before = try hash(container)
        try await container.close()
        try expectWhole()
        #expect(try hash(try store.open()) == before)
    }

    @Test func `at any time the journal makes the state that the checkpoint names`() async throws {
        let container = try await filled(rounds: 1)
        var compactions: Set<String> = []
        for round in 1..<60 {
            try await change(container, round)
            // Read beside the writer, whose checkpoint is older than what it wrote last.
            #expect(try store.verification().findings.filter { $0.severity == .damage } == [])
            compactions.formUnion(store.journalFiles.filter { $0.hasPrefix("compacted-") })
        }
        #expect(compactions.count > 5)
        try await container.close()
        try expectWhole()
    }

    /// How many segments hold anything that a compaction would drop now, as a reader beside the writer
    /// finds it.
    private func segmentsToErase() throws -> Int {
        let foundation = StoreFoundation(
            try LocalStorage(at: store.directory, .reading, on: store.disk.process()),
            memoryLimit: SmallStore.memoryLimit, threads: IOThreads(count: 1))
        let manifest = try store.manifest
        let compaction = JournalCompaction(
            try StoreFollower(foundation).published,
            at: try #require(manifest.checkpoint).position.offset,
            before: manifest.compactionLimit, foundation.registry, in: foundation.storage,
            Randomness { 1 }, foundation.budget, firstNumber: 1, .erasing)
        return try compaction.plan().chosenCount
    }

    @Test func `what is replaced behind a checkpoint is kept for the state that it names`()
        async throws
    {
        let container = try await filled(rounds: 1)
        try await container.maintenance.compact()
        #expect(try segmentsToErase() == 0)
        try await change(container, 1)
        #expect(try segmentsToErase() == 0)
        try await container.checkpoint()
        #expect(try segmentsToErase() > 0)
        try await container.close()
        try expectWhole()
    }

    @Test func `a compaction frees what a dry run had said, and changes no answer`() async throws {
        let container = try await filled(rounds: 4)
        let token = try await database(container).recordZoneChanges(
            inZoneWith: Self.zone, resultsLimit: 7
        ).changeToken
        let (before, lengthBefore) = (try hash(container), length)
        let planned = try await container.maintenance.compact(dryRun: true)
        #expect(length == lengthBefore)
        let report = try await container.maintenance.compact()
        #expect(report.compactedSegments == planned.compactedSegments)
        #expect(report.compactedSegments > 4 && report.damage == [])
        #expect(length == lengthBefore - report.freedBytes)
        #expect(report.freedBytes > lengthBefore / 2)
        #expect(try hash(container) == before)
        let rest = try await database(container).recordZoneChanges(
            inZoneWith: Self.zone, since: token, resultsLimit: 1000)
        #expect(rest.modifications.count == 53 && rest.deletions.isEmpty)
        // What is compacted already is not compacted again.
        #expect(try await container.maintenance.compact().freedBytes < 1000)
        try await container.close()
        try expectWhole()
    }

    @Test func `what a snapshot sees is kept, and goes after it`() async throws {
        let container = try await filled(rounds: 2)
        var snapshot: Snapshot? = container.snapshot()
        let expected = try hash(container)
        for round in 2..<5 { try await change(container, round) }
        try await container.maintenance.compact()
        let held = try snapshot?.privateDatabase(for: "alice").contentHash(includingSystem: true)
        #expect(held == expected)
        snapshot = nil
        let report = try await container.maintenance.compact()
        #expect(report.freedBytes > 2000, "\(report)")
        try await container.close()
        try expectWhole()
    }

    @Test func `of the history so many bytes are kept, and no more`() async throws {
        let container = try await filled(rounds: 1)
        try await container.setHistoryPolicy(.bytes(400 << 10))
        var past: [(offset: UInt64, hash: ContentHash)] = []
        for round in 1..<30 {
            try await change(container, round)
            past.append((container.snapshot().offset, try hash(container)))
        }
        try await container.maintenance.compact()
        // A round is about 120 KB.
        #expect(length < 1_500_000, "\(length)")
        let floor = try #require(try await container.history().floor)
        for (offset, expected) in past where offset >= floor {
            let snapshot = try await container.snapshot(at: .offset(offset))
            let found = try snapshot.privateDatabase(for: "alice").contentHash(
                includingSystem: true)
            #expect(found == expected)
        }
        #expect(past.contains { $0.offset < floor } && past.count { $0.offset >= floor } > 2)
        try await container.close()
        try expectWhole()
        let again = try store.open()
        #expect(try await again.history().floor ?? 0 >= floor)
        #expect(try await again.maintenance.compact().damage == [])
        try await again.setHistoryPolicy(.none)
        let report = try await again.maintenance.compact()
        #expect(report.freedBytes > 10_000)
        try await again.close()
        try expectWhole()
    }

    @Test func `a reading process reads on, and goes over to what was compacted`() async throws {
        let container = try await filled(rounds: 3)
        let reader = try store.openReadOnly()
        let expected = try hash(reader)
        let old = store.journalFiles
        try await change(container, 3)
        try await container.maintenance.compact()
        // Nothing that the reader's generation names is gone.
        #expect(store.journalFiles.isSuperset(of: old))
        #expect(try hash(reader) == expected)
        try await reader.refresh()
        try await reader.refresh()
        #expect(try hash(reader) == hash(container))
        let report = try await container.maintenance.compact()
        #expect(report.damage == [])
        #expect(!store.journalFiles.isSuperset(of: old))
        try await container.close()
        try expectWhole()
    }

    @Test func `a commit that goes on behind what was compacted is read whole`() async throws {
        let container = try await filled(rounds: 3)
        let text = RecordValue.string(String(repeating: "long ", count: 100))
        let records = (0..<380).map { place in
            var record = Record(recordType: "Note", recordID: Self.id("long\(place)"))
            record["text"] = text
            return record
        }
        let result = try await database(container).modifyRecords(saving: records)
        #expect(result.partialFailure == nil)
        try await container.maintenance.compact()
        let expected = try hash(container)
        try await container.close()
        // The segment that holds the checkpoint begins amid the commit.
        let manifest = try store.manifest
        let raw = try #require(manifest.segments.firstIndex { !$0.isCompacted })
        #expect(raw > 0)
        let first = store.disk.contents(store.path(manifest.segments[raw - 1].fileName))
        #expect(first[128..<132] != [0, 0, 0, 0])
        store.settle()
        try store.loseCheckpoint()
        let again = try store.open()
        #expect(again.recoveryReport.checkpoint == nil)
        #expect(try hash(again) == expected)
        try await again.close()
        try expectWhole()
    }

    @Test func `an opening leaves the segments that a reader of an older generation uses`()
        async throws
    {
        let container = try await filled(rounds: 3)
        var reader: Container? = try store.openReadOnly()
        let expected = try reader.map { try hash($0) }
        let old = store.journalFiles
        try await change(container, 3)
        try await container.maintenance.compact()
        try await container.close()
        let again = try store.open()
        #expect(store.journalFiles.isSuperset(of: old))
        #expect(try reader.map { try hash($0) } == expected)
        try await again.close()
        reader = nil
        let last = try store.open()
        #expect(last.recoveryReport.discardedFiles.contains { $0.hasPrefix("journal-") })
        try await last.close()
        try expectWhole()
    }

    @Test func `a segment that is damaged stays as it is, and is named`() async throws {
        let container = try await filled(rounds: 3)
        let name = try #require(store.journalFiles.min())
        store.settle()
        store.disk.flip(store.path(name), at: 20_000)
        let report = try await container.maintenance.compact()
        #expect(report.damage.map(\.file) == [name])
        #expect(store.journalFiles.contains(name))
        #expect(report.compactedSegments > 1)
        try await container.close()
    }

    @Test func `at no durability a power cut behind a compaction leaves a state that was`()
        async throws
    {
        for seed in 0..<8 {
            var store = SmallStore(seed: UInt64(seed), maps: seed % 2 == 1)
            store.durability = .none
            let container = try store.open()
            try await database(container).save(RecordZone(zoneID: Self.zone))
            var known: [ContentHash] = []
            for round in 0..<4 {
                try await change(container, round)
                known.append(try hash(container))
            }
            try await container.maintenance.compact()
            try await change(container, 4, count: 20)
            known.append(try hash(container))
            store.disk.crash(seed: UInt64(seed))
            let again = try store.open()
            // Compaction made durable what it relied on.
            #expect(known[3...].contains(try hash(again)), "seed \(seed)")
            try await again.close()
            #expect(try store.verification().findings.filter { $0.severity == .damage } == [])
        }
    }

    @Test func `a deletion is told to a reader of one type though the name has another since`()
        async throws
    {
        let container = try await filled(rounds: 1)
        let database = database(container)
        let token = try await token(container)
        func save(_ type: String) async throws {
            try await database.save(Record(recordType: type, recordID: Self.id("r30")))
        }
        for type in ["Task", "Event", "List"] {
            try await database.deleteRecord(withID: Self.id("r30"))
            try await save(type)
        }
        for round in 1..<3 { try await change(container, round, count: 20) }
        try await database.deleteRecord(withID: Self.id("r30"))
        try await save("Event")
        try await container.maintenance.compact()
        for (type, isTold) in [("Note", true), ("Task", true), ("Event", false), ("None", false)] {
            let changes = try await database.recordZoneChanges(
                inZoneWith: Self.zone, since: token, desiredRecordTypes: [type])
            let told = changes.deletions.contains { $0.recordID == Self.id("r30") }
            #expect(told == isTold, "\(type)")
        }
        try await container.close()
        try expectWhole()
    }

    @Test func `segments are not joined across what a crash took, and its tokens stay refused`()
        async throws
    {
        var lostCount = 0
        for seed in 0..<12 {
            var store = SmallStore(seed: UInt64(seed), maps: seed % 2 == 1)
            store.durability = .none
            var container = try store.open()
            try await database(container).save(RecordZone(zoneID: Self.zone))
            try await change(container, 0)
            try await container.checkpoint()
            try await database(container).save(
                Record(recordType: "Note", recordID: Self.id("lost")))
            let lost = try await token(container)
            store.disk.crash(seed: UInt64(seed))
            container = try store.open()
            guard (try? await database(container).record(for: Self.id("lost"))) == nil else {
                continue
            }
            lostCount += 1
            let end = container.recoveryReport.end
            for round in 1..<4 { try await change(container, round) }
            try await container.maintenance.compact()
            let segments = try store.manifest.segments
            #expect(segments.contains { $0.state == .compactedEnded && $0.end.rawValue == end })
            let error = await #expect(throws: StoreError.self) {
                try await database(container).recordZoneChanges(
                    inZoneWith: Self.zone, since: lost)
            }
            #expect(error?.code == .changeTokenExpired)
            try await container.close()
            #expect(try store.verification().findings.filter { $0.severity == .damage } == [])
        }
        #expect(lostCount > 1)
    }
}
