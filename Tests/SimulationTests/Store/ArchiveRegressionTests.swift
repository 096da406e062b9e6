import FoundationEssentials
import Stratus
import StratusJournal
import Support
import Testing

/// What archives, and the stores that are made of them, once claimed and did not have, or lost.
struct ArchiveRegressionTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")

    private static func id(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: zone)
    }

    /// One chunk, which does not shrink.
    private static func data(_ seed: UInt64) -> Data {
        var generator = SeededGenerator(seed: seed &* 0xD134_2543_DE82_EF95)
        return Data(
            (0..<16_000).map { _ in
                let value = generator.next()
                return UInt8(truncatingIfNeeded: value)
            })
    }

    private func database(_ container: Container) -> Database {
        container.privateDatabase(for: "alice")
    }

    private func makeZone(_ container: Container) async throws {
        try await database(container).save(RecordZone(zoneID: Self.zone))
    }

    private func save(
        _ container: Container, _ name: String, _ number: Int, file: Data? = nil
    ) async throws {
        let id = Self.id(name)
        var record =
            (try? await database(container).record(for: id))
            ?? Record(recordType: "Note", recordID: id)
        record["number"] = .int64(Int64(number))
        if let file { record["file"] = .asset(Asset(data: file)) }
        try await database(container).save(record)
    }

    private func file(_ container: Container, _ name: String) async throws -> Data? {
        let record = try await database(container).record(for: Self.id(name))
        return try await record["file"]?.assetValue?.data(limit: 1 << 20)
    }

    private func numbers(_ container: Container) async throws -> [String: Int64] {
        let page = try await database(container).records(inZoneWith: Self.zone)
        return Dictionary(
            uniqueKeysWithValues: page.records.map {
                ($0.recordID.recordName, $0["number"]?.int64Value ?? 0)
            })
    }

    private func token(_ container: Container) async throws -> ChangeToken {
        try await database(container).recordZoneChanges(inZoneWith: Self.zone).changeToken
    }

    /// Why a token is refused; nil where it is good.
    private func refusal(
        _ container: Container, _ token: ChangeToken
    ) async -> StoreError.Cause? {
        await cause {
            _ = try await database(container).recordZoneChanges(
                inZoneWith: Self.zone, since: token)
        }
    }

    /// Why the state of an offset cannot be read; nil where it can.
    private func refusal(
        _ container: Container, at offset: UInt64
    ) async -> StoreError.Cause? {
        await cause { _ = try await container.snapshot(at: .offset(offset)) }
    }

    /// An offset in the last commit.
    private func lastOffset(_ container: Container) -> UInt64 { container.snapshot().offset - 1 }

    private func expectWhole(_ store: SmallStore, _ container: Container) async throws {
        try await container.close()
        #expect(try store.verification().findings.isEmpty, "\(store.directory)")
    }
}

// The past.
extension ArchiveRegressionTests {
    /// The entry of the policy is always there, and says from where on the original kept all.
    @Test func `an archive without history has its last state alone, whatever the policy says`()
        async throws
    {
        let container = try store.open()
        try await container.setHistoryPolicy(.everything)
        try await makeZone(container)
        try await save(container, "r", 1)
        let old = lastOffset(container)
        try await save(container, "r", 2)
        let last = lastOffset(container)
        try await container.backup(to: store.archivePath("full"))
        try await container.close()
        let full = try await store.openArchive("full")
        let archived = try await full.container()
        #expect(await refusal(archived, at: old) == .changeToken(.compacted))
        #expect(await refusal(archived, at: last) == nil)
        #expect(try await archived.history().floor == full.information.range.upperBound)
        // Nor does a copy of it say otherwise.
        try await archived.copy(to: "copied")
        let copy = try store.opening("copied").open()
        #expect(await refusal(copy, at: old) == .changeToken(.compacted))
        #expect(await refusal(copy, at: last) == nil)
        try await expectWhole(store.opening("copied"), copy)
    }

    @Test func `a merge of archives has no more of the past than they have`() async throws {
        let container = try store.open()
        try await container.setHistoryPolicy(.everything)
        try await makeZone(container)
        try await save(container, "r", 1)
        let old = lastOffset(container)
        try await save(container, "r", 2)
        let kept = lastOffset(container)
        let full = try await container.backup(to: store.archivePath("full"))
        try await save(container, "r", 3)
        let increment = try await container.backup(
            to: store.archivePath("increment"), since: full, keepingHistory: true)
        try await container.close()
        #expect(increment.information.floor == full.information.range.upperBound)
        let chain = try await store.openArchive("increment").container()
        try await chain.backup(to: store.archivePath("merged"), keepingHistory: true)
        let merged = try await store.openArchive("merged")
        #expect(merged.information.floor == increment.information.floor)
        let whole = try await merged.container()
        for archived in [chain, whole] {
            #expect(await refusal(archived, at: old) == .changeToken(.compacted))
            #expect(await refusal(archived, at: kept) == nil)
        }
    }

    /// What can be restored ends at or behind the floor; it may have begun before.
    @Test func `the last state, and the first of a history, can be restored by their offsets`()
        async throws
    {
        let container = try store.open()
        try await container.setHistoryPolicy(.everything)
        try await makeZone(container)
        try await save(container, "r", 1)
        let first = lastOffset(container)
        let full = try await container.backup(to: store.archivePath("full"))
        try await store.openArchive("full").restore(to: "last", at: .offset(first))
        try await save(container, "r", 2)
        try await container.backup(
            to: store.archivePath("increment"), since: full, keepingHistory: true)
        try await container.close()
        try await store.openArchive("increment").restore(to: "first", at: .offset(first))
        for name in ["last", "first"] {
            let restored = try store.opening(name).open()
            #expect(try await numbers(restored) == ["r": 1])
            try await expectWhole(store.opening(name), restored)
        }
    }

    /// Of the states before the history only those at marks are copied that the source has.
    @Test func `a mark that was removed is none of a store that is restored from before that`()
        async throws
    {
        let container = try store.open()
        try await makeZone(container)
        try await save(container, "r", 1)
        let removed = try await container.mark("removed")
        try await save(container, "r", 2)
        let kept = try await container.mark("kept")
        try await save(container, "r", 3)
        try await container.setHistoryPolicy(.everything)
        try await save(container, "r", 4)
        let point = lastOffset(container)
        try await container.removeMark(removed)
        try await save(container, "r", 5)
        try await container.backup(to: store.archivePath("h"), keepingHistory: true)
        try await container.close()
        try await store.openArchive("h").restore(to: "past", at: .offset(point))
        let past = try store.opening("past").open()
        #expect(try await past.marks().map(\.name) == ["kept"])
        #expect(await refusal(past, at: removed.offset) == .changeToken(.compacted))
        let snapshot = try await past.snapshot(at: .mark(kept)).privateDatabase(for: "alice")
        #expect(try snapshot.record(for: Self.id("r"))["number"] == .int64(2))
        #expect(try await numbers(past) == ["r": 4])
        try await expectWhole(store.opening("past"), past)
    }

    /// The entries of the deletions went before the horizon was set, which lies behind the state.
    @Test func `a store that is restored from before deletions were forgotten has forgotten them`()
        async throws
    {
        let container = try store.open()
        try await container.setDeletionPolicy(.none)
        try await makeZone(container)
        for number in 0..<300 { try await save(container, "r\(number)", number) }
        let before = try await token(container)
        for number in 0..<300 {
            try await database(container).deleteRecord(withID: Self.id("r\(number)"))
        }
        try await container.setHistoryPolicy(.everything)
        try await save(container, "x", 1)
        let point = lastOffset(container)
        let behind = try await token(container)
        for number in 0..<600 { try await save(container, "s\(number)", number) }
        try await container.maintenance.compact()
        #expect(await refusal(container, before) == .changeToken(.compacted))
        try await container.backup(to: store.archivePath("h"), keepingHistory: true)
        try await container.close()
        try await store.openArchive("h").restore(to: "past", at: .offset(point))
        let past = try store.opening("past").open()
        #expect(try await numbers(past) == ["x": 1])
        #expect(await refusal(past, before) == .changeToken(.compacted))
        #expect(await refusal(past, behind) == nil)
        let own = try await token(past)
        #expect(await refusal(past, own) == nil)
        try await expectWhole(store.opening("past"), past)
    }
}

// Assets.
extension ArchiveRegressionTests {
    /// At the earlier state the journal names places at which nothing is any more.
    @Test func `assets of an earlier state come back, though a collection moved or reclaimed them`()
        async throws
    {
        let container = try store.open()
        try await makeZone(container)
        let files = (0..<3).map { Self.data(UInt64($0) + 20) }
        try await save(container, "a", 1, file: files[0])
        try await save(container, "b", 1, file: files[1])
        // Nothing needs the first file any more.
        try await save(container, "a", 2, file: files[2])
        try await container.setHistoryPolicy(.everything)
        try await save(container, "x", 1)
        let point = lastOffset(container)
        try await container.close()
        let again = try store.open()
        try await save(again, "y", 1)
        let report = try await again.collectAssets()
        #expect(report.reclaimedChunks > 0 && report.copiedChunks > 0)
        try await again.backup(to: store.archivePath("h"), keepingHistory: true)
        try await again.close()
        let archive = try await store.openArchive("h")
        try await archive.restore(to: "past", at: .offset(point))
        let past = try store.opening("past").open()
        #expect(try await numbers(past) == ["a": 2, "b": 1, "x": 1])
        #expect(try await file(past, "a") == files[2])
        #expect(try await file(past, "b") == files[1])
        // What was reclaimed is stored anew.
        try await save(past, "z", 1, file: files[0])
        #expect(try await file(past, "z") == files[0])
        try await expectWhole(store.opening("past"), past)
        let reopened = try store.opening("past").open()
        for (name, file) in [("a", files[2]), ("b", files[1]), ("z", files[0])] {
            #expect(try await self.file(reopened, name) == file)
        }
        try await reopened.close()
    }
}

// What a crash took.
extension ArchiveRegressionTests {
    /// The store after a power cut that left these records, opened again; nil where none does.
    private func reopened(
        _ store: SmallStore, with numbers: [String: Int64]
    ) async throws -> (SmallStore, Container)? {
        for seed in 1...50 {
            let copy = store.copy(seed: UInt64(seed))
            copy.disk.crash(seed: UInt64(seed))
            let container = try copy.open()
            let found = try await self.numbers(container)
            if found == numbers { return (copy, container) }
            try await container.close()
        }
        return nil
    }

    @Test func `a part that ended and was forgotten between two archives does not come back`()
        async throws
    {
        let container = try store.open()
        try await makeZone(container)
        let gone = RecordZone.ID(zoneName: "gone")
        try await database(container).save(RecordZone(zoneID: gone))
        let root = Record(
            recordType: "Note", recordID: Record.ID(recordName: "root", zoneID: gone))
        var share = Share(rootRecord: root)
        share.publicPermission = .readOnly
        let result = try await database(container).modifyRecords(saving: [root, share.record])
        let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
        try await container.acceptShare(try #require(saved?.shortGUID), as: "bob")
        let base = try await container.backup(to: store.archivePath("base"), marking: .none)
        let owner = container.userRecordName(for: "alice")
        try await container.sharedDatabase(for: "bob").deleteRecord(
            withID: Record.ID(
                recordName: share.recordID.recordName,
                zoneID: RecordZone.ID(zoneName: gone.zoneName, ownerName: owner)))
        for number in 0..<600 { try await save(container, "r\(number % 50)", number) }
        try await database(container).deleteRecordZone(withID: gone)
        try await container.setDeletionPolicy(.none)
        for number in 0..<600 { try await save(container, "r\(number % 50)", number) }
        // First it is forgotten, then its entries go.
        for _ in 0..<2 { try await container.maintenance.erase() }
        try await container.backup(to: store.archivePath("more"), since: base)
        try await store.openArchive("more").restore(to: "restored")
        let restored = try store.opening("restored").open()
        try await restored.checkpoint()
        let keyspaces = try await restored.indexStatistics().keyspaces
        let counts = ["participationHorizons", "participations"].map { name in
            keyspaces.first { $0.name == name }?.entries ?? 0
        }
        #expect(counts == [1, 0])
        try await expectWhole(store.opening("restored"), restored)
        try await container.close()
    }

    @Test func `tokens of what a crash took are refused by copies and restored stores, too`()
        async throws
    {
        var store = store
        store.durability = .none
        let container = try store.open()
        try await makeZone(container)
        try await save(container, "r", 1)
        // It ends where the crash will end the journal.
        try await container.backup(to: store.archivePath("base"))
        let good = try await token(container)
        let durable = try await numbers(container)
        for number in 0..<20 { try await save(container, "lost\(number)", number) }
        let lost = try await token(container)
        let found = try await reopened(store, with: durable)
        let (crashed, again) = try #require(found)
        for number in 0..<400 { try await save(again, "r\(number % 50)", number) }
        #expect(await refusal(again, lost) == .changeToken(.future))
        let base = try await crashed.openArchive("base")
        try await again.backup(to: crashed.archivePath("more"), since: base)
        try await again.backup(to: crashed.archivePath("full"))
        try await again.copy(to: "copied")
        let expected = try await numbers(again)
        for name in ["full", "more"] {
            let archive = try await crashed.openArchive(name)
            let archived = try await archive.container()
            #expect(await refusal(archived, lost) == .changeToken(.future))
            try await archive.restore(to: name)
        }
        for name in ["copied", "full", "more"] {
            let copy = try crashed.opening(name).open()
            #expect(try await numbers(copy) == expected)
            #expect(await refusal(copy, lost) == .changeToken(.future), "\(name)")
            #expect(await refusal(copy, good) == nil, "\(name)")
            // Nor do they become good when what lies before and behind is compacted.
            for number in 0..<600 { try await save(copy, "r\(number % 50)", number) }
            try await copy.maintenance.compact()
            #expect(await refusal(copy, lost) == .changeToken(.future), "\(name)")
            try await expectWhole(crashed.opening(name), copy)
        }
        try await again.close()
        try await container.close()
    }

    /// Once what came instead is compacted, no chain is left that could be compared.
    @Test func `an archive of what the store has lost is no base, though all since is compacted`()
        async throws
    {
        let container = try store.open()
        try await makeZone(container)
        for number in 0..<20 { try await save(container, "r\(number)", number) }
        // As where an earlier state of the disk was brought back.
        let earlier = store.copy(seed: 1)
        for number in 20..<40 { try await save(container, "r\(number)", number) }
        try await container.backup(to: store.archivePath("a"))
        earlier.disk.replaceContents(
            earlier.archivePath("a"), store.disk.contents(store.archivePath("a")))
        let other = try earlier.open()
        for number in 0..<600 { try await save(other, "r\(number % 20)", number) }
        try await other.maintenance.compact()
        let base = try await earlier.openArchive("a")
        let error = await #expect(throws: StoreError.self) {
            try await other.backup(to: earlier.archivePath("b"), since: base)
        }
        #expect(error?.needsFullBackup == true)
        #expect(!earlier.disk.paths.contains(earlier.archivePath("b")))
        try await other.close()
        try await container.close()
    }
}

// Bases, moments and proofs.
extension ArchiveRegressionTests {
    @Test func `an archive of an empty store is a base like any other`() async throws {
        let container = try store.open()
        let empty = try await container.backup(to: store.archivePath("empty"), marking: .none)
        #expect(empty.information.range == 0..<0)
        try await makeZone(container)
        try await save(container, "r", 1)
        try await container.backup(to: store.archivePath("next"), since: empty)
        try await container.close()
        let next = try await store.openArchive("next")
        #expect(next.information.chainLength == 2)
        #expect(try await next.verify().isEmpty)
        try await next.restore(to: "restored")
        let restored = try store.opening("restored").open()
        #expect(try await numbers(restored) == ["r": 1])
        try await expectWhole(store.opening("restored"), restored)
    }

    /// The checkpoint of an erasure, where the archive ends, lies where a segment was begun for what
    /// follows.
    @Test func `an archive of a store of which everything is compacted is a base`() async throws {
        let container = try store.open()
        try await makeZone(container)
        for number in 0..<20 { try await save(container, "r", number) }
        try await container.maintenance.erase()
        let base = try await container.backup(to: store.archivePath("base"))
        try await save(container, "r", 100)
        try await container.backup(to: store.archivePath("next"), since: base)
        try await container.close()
        let next = try await store.openArchive("next")
        #expect(try await next.verify().isEmpty)
        try await next.restore(to: "restored")
        let restored = try store.opening("restored").open()
        #expect(try await numbers(restored) == ["r": 100])
        try await expectWhole(store.opening("restored"), restored)
    }

    /// Nothing was committed since, so that no group behind it tells that chain.
    @Test func `an archive of another way that ends at the same offset is no base`() async throws {
        let first = try store.open()
        try await makeZone(first)
        try await first.close()
        let twin = store.copy(seed: 1)
        let container = try store.open()
        try await save(container, "r", 1)
        let archive = try await container.backup(to: store.archivePath("a"), marking: .none)
        let other = try twin.open()
        try await save(other, "r", 2)
        // As after its death: no manifest says what the chain is.
        let dead = twin.copy(seed: 2)
        dead.disk.replaceContents(
            dead.archivePath("a"), store.disk.contents(store.archivePath("a")))
        let reader = try dead.openReadOnly()
        #expect(reader.snapshot().offset == archive.information.range.upperBound)
        let base = try await dead.openArchive("a")
        let error = await #expect(throws: StoreError.self) {
            try await reader.backup(to: dead.archivePath("b"), since: base)
        }
        #expect(error?.needsFullBackup == true)
        try await other.close()
        try await container.close()
    }

    /// Each commit changes two records, so that two states in one archive or copy would show.
    @Test func `a backup and a copy of a reader are of one moment, also while it is refreshed`()
        async throws
    {
        let container = try store.open()
        try await makeZone(container)
        for number in 0..<20 { try await save(container, "r\(number)", 0) }
        try await container.checkpoint()
        let reader = try store.openReadOnly()
        async let writing: Void = {
            for number in 1...300 {
                let database = container.privateDatabase(for: "alice")
                var records: [Record] = []
                for name in ["r\(number % 10)", "r\(number % 10 + 10)"] {
                    let id = Record.ID(recordName: name, zoneID: Self.zone)
                    var record = try await database.record(for: id)
                    record["number"] = .int64(Int64(number))
                    records.append(record)
                }
                _ = try await database.modifyRecords(saving: records)
                container.announceDurable()
                try await reader.refresh()
            }
        }()
        let rounds = 0..<6
        for round in rounds {
            try await reader.copy(to: "copy\(round)")
            try await reader.backup(to: store.archivePath("a\(round)"))
        }
        try await writing
        for round in rounds {
            try await store.openArchive("a\(round)").restore(to: "restored\(round)")
            for name in ["copy\(round)", "restored\(round)"] {
                let made = try store.opening(name).open()
                let numbers = try await numbers(made)
                #expect(numbers.count == 20)
                for number in 0..<10 {
                    #expect(numbers["r\(number)"] == numbers["r\(number + 10)"], "\(name)")
                }
                try await made.close()
            }
        }
        try await container.close()
    }

    @Test func `a restored store has the features of the original, also those that are not known`()
        async throws
    {
        let container = try store.open()
        try await makeZone(container)
        try await container.close()
        store.settle()
        var manifest = try store.manifest
        manifest.features.compatible = 1 << 7
        store.disk.replaceContents(store.path(manifest.fileName), manifest.encoded())
        let again = try store.open()
        try await save(again, "r", 1)
        try await again.backup(to: store.archivePath("a"))
        try await again.close()
        try await store.openArchive("a").restore(to: "restored")
        let features = try store.opening("restored").manifest.features
        #expect(features.compatible == 1 << 7)
    }

    @Test func `a restore that has compared no content is not proved`() async throws {
        let container = try store.open()
        try await container.mark("nothing else")
        try await container.backup(to: store.archivePath("nothing"))
        try await makeZone(container)
        try await container.backup(to: store.archivePath("unproved"), contentHashes: false)
        try await container.backup(to: store.archivePath("proved"))
        try await container.close()
        for name in ["nothing", "unproved", "proved"] {
            let report = try await store.openArchive(name).restore(to: name)
            #expect(report.isProved == (name == "proved"))
        }
    }
}
