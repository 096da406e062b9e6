import Stratus
import StratusEngine
import StratusJournal
import Support
import Testing

/// Deletions are forgotten as the policy says: their entries go, and only tokens from before them are
/// refused.
struct ForgottenDeletionTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")
    private static let quiet = RecordZone.ID(zoneName: "quiet")
    private static let padding = RecordZone.ID(zoneName: "padding")

    private static func id(_ name: String, in zone: RecordZone.ID = zone) -> Record.ID {
        Record.ID(recordName: name, zoneID: zone)
    }

    private func database(_ container: Container) -> Database {
        container.privateDatabase(for: "alice")
    }

    private func save(
        _ names: [String], in zone: RecordZone.ID = zone, incompressible: Bool = false,
        _ container: Container
    ) async throws {
        var generator = SeededGenerator(seed: Campaign.seed)
        let records = names.map { name in
            let text = (0..<500).map { _ in
                incompressible
                    ? UInt8.random(in: 0x21...0x7E, using: &generator) : UInt8(ascii: "x")
            }
            var record = Record(recordType: "Note", recordID: Self.id(name, in: zone))
            record["text"] = .string(String(decoding: text, as: UTF8.self))
            return record
        }
        let result = try await database(container).modifyRecords(
            saving: records, savePolicy: .allKeys)
        if let failure = result.partialFailure { throw failure }
    }

    private func names(_ word: String, _ count: Int) -> [String] {
        (0..<count).map { "\(word)\($0)" }
    }

    private func delete(_ names: [String], _ container: Container) async throws {
        let result = try await database(container).modifyRecords(
            saving: [], deleting: names.map { Self.id($0) })
        if let failure = result.partialFailure { throw failure }
    }

    /// Writes so much that what was written before lies in segments that can be compacted.
    private func pad(_ container: Container) async throws {
        try await database(container).save(RecordZone(zoneID: Self.padding))
        try await save((0..<150).map { "pad\($0)" }, in: Self.padding, container)
    }

    /// A store with two zones, and of one a token from before and one from behind deletions.
    private func deleting(
        _ count: Int = 100
    ) async throws -> (Container, before: ChangeToken, amid: ChangeToken, behind: ChangeToken) {
        let container = try store.open()
        for zone in [Self.zone, Self.quiet] {
            try await database(container).save(RecordZone(zoneID: zone))
            try await save(["stays"], in: zone, container)
        }
        let names = (0..<count).map { "r\($0)" }
        try await save(names, container)
        let before = try await changes(container).changeToken
        try await delete(Array(names[..<(count / 2)]), container)
        let amid = try await changes(container, since: before).changeToken
        try await delete(Array(names[(count / 2)...]), container)
        let behind = try await changes(container, since: amid).changeToken
        return (container, before, amid, behind)
    }

    private func changes(
        _ container: Container, in zone: RecordZone.ID = zone, since token: ChangeToken? = nil,
        limit: Int = 10_000
    ) async throws -> RecordZoneChanges {
        try await database(container).recordZoneChanges(
            inZoneWith: zone, since: token, resultsLimit: limit)
    }

    private func isForgotten(
        _ container: Container, _ token: ChangeToken
    ) async throws -> Bool {
        do throws(StoreError) {
            _ = try await database(container).recordZoneChanges(
                inZoneWith: Self.zone, since: token)
            return false
        } catch {
            #expect(error.code == .changeTokenExpired)
            #expect(error.cause == .changeToken(.compacted))
            return true
        }
    }

    private func isThere(
        _ name: String, at mark: Mark, _ container: Container
    ) async throws -> Bool {
        let then = try await container.snapshot(at: .mark(mark)).privateDatabase(for: "alice")
        return try then.record(for: Self.id(name)).recordType == "Note"
    }

    /// How many entries of deletions the journal has.
    private func tombstones(_ container: Container) throws -> Int {
        var count = 0
        var log = container.log()
        while let line = try log.nextLine() {
            if line.entry.kind == .tombstone { count += 1 }
        }
        return count
    }

    private func expectWhole(_ container: Container) async throws {
        let hash = try container.snapshot().privateDatabase(for: "alice").contentHash(
            includingSystem: true)
        try await container.close()
        #expect(try store.verification().findings.filter { $0.severity == .damage } == [])
        store.settle()
        let copy = store.copy(seed: 1)
        try copy.loseCheckpoint()
        copy.deleteIndexFiles()
        let rebuilt = try copy.open()
        let found = try rebuilt.snapshot().privateDatabase(for: "alice").contentHash(
            includingSystem: true)
        #expect(found == hash)
        try await rebuilt.close()
    }

    @Test func `without a policy deletions are remembered`() async throws {
        let (container, before, _, _) = try await deleting()
        #expect(try await container.history().deletions == .age(seconds: 90 * 86_400))
        try await pad(container)
        try await container.maintenance.compact()
        let since = try await changes(container, since: before)
        #expect(since.deletions.count == 100)
        #expect(try tombstones(container) == 100)
        try await expectWhole(container)
    }

    @Test func `what is forgotten is gone, and only tokens from before it are refused`()
        async throws
    {
        let (container, before, amid, behind) = try await deleting()
        let quiet = try await changes(container, in: Self.quiet).changeToken
        try await container.setDeletionPolicy(.none)
        try await pad(container)
        try await container.maintenance.compact()
        #expect(try tombstones(container) == 0)
        #expect(try await isForgotten(container, before))
        #expect(try await isForgotten(container, amid))
        #expect(try await changes(container, since: behind).deletions.isEmpty)
        #expect(try await changes(container, in: Self.quiet, since: quiet).modifications.isEmpty)
        // A name that was forgotten can be used again, and deleted again.
        try await save(["r1"], container)
        let again = try await changes(container, since: behind)
        #expect(again.modifications.map(\.recordID.recordName) == ["r1"])
        try await delete(["r1"], container)
        let gone = try await changes(container, since: again.changeToken)
        #expect(gone.deletions.map(\.recordID.recordName) == ["r1"])
        try await expectWhole(container)
        let opened = try store.open()
        #expect(try await isForgotten(opened, before))
        #expect(try await changes(opened, since: behind).deletions.count == 1)
        try await opened.close()
    }

    @Test func `a fetch that begins anew ends with a token that stays good`() async throws {
        let (container, before, _, _) = try await deleting()
        let amid = try await changes(container, limit: 1)
        try await container.setDeletionPolicy(.none)
        try await pad(container)
        try await container.maintenance.compact()
        // The index has nothing of them any more either.
        try await container.maintenance.erase()
        #expect(try await isForgotten(container, before))
        // The last record lies before what is forgotten.
        let all = try await changes(container)
        #expect(all.modifications.count == 1 && !all.moreComing)
        #expect(try await changes(container, since: all.changeToken).modifications.isEmpty)
        // A first fetch does not tell of deletions from before it began.
        #expect(try await isForgotten(container, amid.changeToken) == false)
        // Where nothing is left there is no last record.
        try await delete(["stays"], container)
        try await pad(container)
        try await container.maintenance.compact()
        let none = try await changes(container)
        #expect(none.modifications.isEmpty)
        #expect(try await isForgotten(container, none.changeToken) == false)
        try await expectWhole(container)
    }

    @Test func `as many bytes of deletions are remembered as the policy says`() async throws {
        let container = try store.open()
        try await database(container).save(RecordZone(zoneID: Self.zone))
        try await container.setDeletionPolicy(.bytes(200 << 10))
        var tokens: [(end: UInt64, token: ChangeToken)] = []
        for round in 0..<40 {
            let names = (0..<20).map { "\(round)-\($0)" }
            try await save(names, container)
            let token = try await changes(container).changeToken
            tokens.append((container.snapshot().offset, token))
            try await delete(names, container)
        }
        try await pad(container)
        try await container.maintenance.compact()
        let head = container.snapshot().offset
        var refused = 0
        for (end, token) in tokens {
            let isForgotten = try await isForgotten(container, token)
            if isForgotten { refused += 1 }
            // A unit of offsets has eight bytes.
            if head - end <= 200 << 7 { #expect(!isForgotten) }
        }
        #expect(refused > 20)
        let rest = try tombstones(container)
        #expect(rest > 0 && rest < 400)
        try await expectWhole(container)
    }

    // Of few records one block of the index has all rows.
    @Test(arguments: [100, 4_000])
    func `a mark keeps deletions of what it sees, and no others`(count: Int) async throws {
        let (container, before, _, behind) = try await deleting(count)
        try await save(["seen"], container)
        let mark = try await container.mark("before")
        try await delete(["seen"], container)
        try await save(["unseen"], container)
        try await delete(["unseen"], container)
        try await container.setDeletionPolicy(.none)
        try await pad(container)
        try await container.maintenance.compact()
        #expect(try await isForgotten(container, before))
        #expect(try await isForgotten(container, behind) == false)
        let kept = try await changes(container, since: behind).deletions
        #expect(Set(kept.map(\.recordID.recordName)) == ["seen", "unseen"])
        #expect(try await isThere("seen", at: mark, container))
        try await container.removeMark(mark)
        try await pad(container)
        try await container.maintenance.compact()
        #expect(try await isForgotten(container, behind))
        try await expectWhole(container)
    }

    @Test func `the versions of a record are found behind a deletion that is forgotten`()
        async throws
    {
        let container = try store.open()
        try await database(container).save(RecordZone(zoneID: Self.zone))
        try await save(["a"], container)
        let mark = try await container.mark("then")
        try await save(["b"], container)
        try await delete(["b"], container)
        try await container.setDeletionPolicy(.none)
        try await pad(container)
        try await container.maintenance.compact()
        await #expect(throws: StoreError.self) {
            try await database(container).history(of: Self.id("b"))
        }
        // What was forgotten lies behind the mark: a client at the mark would miss that deletion.
        let then = try await container.snapshot(at: .mark(mark)).privateDatabase(for: "alice")
        let token = try then.recordZoneChanges(inZoneWith: Self.zone).changeToken
        #expect(try await isForgotten(container, token))
        let versions = try await database(container).history(of: Self.id("a")).versions
        #expect(versions.count == 1)
        try await delete(["a"], container)
        try await pad(container)
        try await container.maintenance.compact()
        let kept = try await database(container).history(of: Self.id("a")).versions
        #expect(kept.map { $0.record == nil } == [true, false])
        try await expectWhole(container)
    }

    @Test func `what a removed mark had kept does not come back`() async throws {
        let container = try store.open()
        try await database(container).save(RecordZone(zoneID: Self.zone))
        // A file of its own once it is compacted, too large to be joined to others, and of so much that
        // lives that it is not worth to be written anew for one record.
        try await save(["kept"] + names("old", 600), incompressible: true, container)
        let mark = try await container.mark("then")
        try await save(names("amid", 200), container)
        try await pad(container)
        try await container.maintenance.compact()
        // Its entry lies among others that are replaced in two steps.
        try await save(names("first", 100), container)
        try await delete(["kept"], container)
        try await save(names("second", 100), container)
        try await save(names("behind", 200), container)
        try await pad(container)
        try await container.maintenance.compact()
        try await container.removeMark(mark)
        try await container.setDeletionPolicy(.none)
        for word in ["first", "second"] {
            try await save(names(word, 100) + names("more", 200), container)
            try await container.maintenance.compact()
        }
        #expect(try tombstones(container) == 0)
        try await expectWhole(container)
    }

    @Test func `a snapshot refuses tokens of a zone that was deleted since and had forgotten`()
        async throws
    {
        let (container, before, _, behind) = try await deleting()
        let snapshot = container.snapshot()
        try await container.setDeletionPolicy(.none)
        try await pad(container)
        try await container.maintenance.compact()
        try await database(container).deleteRecordZone(withID: Self.zone)
        try await pad(container)
        try await container.maintenance.compact()
        func deletions(_ token: ChangeToken) throws(StoreError) -> Int {
            try snapshot.privateDatabase(for: "alice").recordZoneChanges(
                inZoneWith: Self.zone, since: token, resultsLimit: 1000
            ).deletions.count
        }
        do throws(StoreError) {
            Issue.record("\(try deletions(before)) deletions")
        } catch {
            #expect(error.code == .changeTokenExpired)
            #expect(error.cause == .changeToken(.compacted))
        }
        #expect(try deletions(behind) == 0)
        try await expectWhole(container)
    }

    @Test(arguments: [History.Policy.none, .bytes(1 << 10)])
    func `while history or a snapshot is kept from before, deletions are remembered`(
        policy: History.Policy
    ) async throws {
        let (container, before, _, _) = try await deleting()
        try await container.setDeletionPolicy(policy)
        var snapshot: Snapshot? = container.snapshot()
        try await save(["last"], container)
        try await delete(["last"], container)
        let behind = try await changes(container, since: before)
        #expect(behind.deletions.count == 101)
        try await pad(container)
        try await container.maintenance.compact()
        _ = snapshot?.offset
        snapshot = nil
        // What the snapshot did not know of yet was remembered because of it.
        #expect(try tombstones(container) == 1)
        try await container.setHistoryPolicy(.everything)
        try await save(["more"], container)
        try await delete(["more"], container)
        try await pad(container)
        try await container.maintenance.compact()
        let kept = try await changes(container, since: behind.changeToken)
        #expect(kept.deletions.map(\.recordID.recordName) == ["more"])
        try await container.setHistoryPolicy(.none)
        try await pad(container)
        try await container.maintenance.compact()
        #expect(try await isForgotten(container, behind.changeToken))
        try await expectWhole(container)
    }

    @Test func `what a zone forgets another one still tells`() async throws {
        let container = try store.open()
        for zone in [Self.zone, Self.quiet] {
            try await database(container).save(RecordZone(zoneID: zone))
        }
        try await save(["seen"], in: Self.quiet, container)
        // A mark sees the record, so that its deletion is remembered.
        try await container.mark("then")
        let before = try await changes(container, in: Self.quiet).changeToken
        try await database(container).deleteRecord(withID: Self.id("seen", in: Self.quiet))
        try await save(["gone"], container)
        let token = try await changes(container).changeToken
        try await delete(["gone"], container)
        try await container.setDeletionPolicy(.none)
        try await pad(container)
        try await container.maintenance.compact()
        try await container.maintenance.erase()
        #expect(try await isForgotten(container, token))
        let told = try await changes(container, in: Self.quiet, since: before)
        #expect(told.deletions.map(\.recordID.recordName) == ["seen"])
        try await expectWhole(container)
    }

    @Test func `what was deleted does not come back out of a segment that is hardly dead`()
        async throws
    {
        let container = try store.open()
        try await database(container).save(RecordZone(zoneID: Self.zone))
        // One record of many dies, which is not worth to write the others anew once they were.
        try await save(["dies"] + names("old", 600), incompressible: true, container)
        try await pad(container)
        try await container.maintenance.compact()
        // Its deletion lies among others that are replaced.
        try await save(names("first", 100), container)
        try await delete(["dies"], container)
        try await save(names("first", 100) + names("more", 200), container)
        try await pad(container)
        try await container.setDeletionPolicy(.none)
        for _ in 0..<2 {
            try await save(names("first", 100) + names("more", 200), container)
            try await container.maintenance.compact()
        }
        #expect(try tombstones(container) == 0)
        try await expectWhole(container)
    }

    @Test func `a queue stays as small as what is in it`() async throws {
        let container = try store.open()
        try await database(container).save(RecordZone(zoneID: Self.zone))
        try await container.setDeletionPolicy(.bytes(64 << 10))
        var lengths: [Int] = []
        var rows: [Int] = []
        for round in 0..<120 {
            try await save((0..<50).map { "\(round)-\($0)" }, container)
            if round > 1 { try await delete((0..<50).map { "\(round - 2)-\($0)" }, container) }
            guard round % 40 == 39 else { continue }
            lengths.append(
                store.journalFiles.reduce(0) {
                    $0 + store.disk.contents(store.path($1)).count
                })
            try await container.checkpoint()
            rows.append(try await container.indexStatistics().runs.reduce(0) { $0 + $1.entries })
        }
        // About 40 KB are written in a round.
        #expect(lengths[2] < 2_500_000 && lengths[2] < lengths[1] * 3 / 2, "\(lengths)")
        #expect(rows[2] < rows[1] * 3 / 2, "\(rows)")
        try await expectWhole(container)
    }
}
