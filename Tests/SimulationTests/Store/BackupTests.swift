import FoundationEssentials
import Stratus
import StratusFiles
import Support
import Testing

/// Archives of a store, and what is restored from them.
struct BackupTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")

    private static func data(_ seed: UInt64, count: Int = 40_000) -> Data {
        var generator = SeededGenerator(seed: seed &* 0xD134_2543_DE82_EF95)
        return Data(
            (0..<count / 8).flatMap { _ in
                let value = generator.next()
                return (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
            })
    }

    private func save(
        _ container: Container, _ name: String, _ number: Int, asset: Data? = nil
    ) async throws {
        let database = container.privateDatabase(for: "alice")
        let id = Record.ID(recordName: name, zoneID: Self.zone)
        var record =
            (try? await database.record(for: id)) ?? Record(recordType: "Note", recordID: id)
        record["number"] = .int64(Int64(number))
        if let asset { record["file"] = .asset(Asset(data: asset)) }
        try await database.save(record)
    }

    private func makeZone(_ container: Container) async throws {
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: Self.zone))
    }

    private func token(_ container: Container) async throws -> ChangeToken {
        try await container.privateDatabase(for: "alice")
            .recordZoneChanges(inZoneWith: Self.zone).changeToken
    }

    private func changes(
        _ container: Container, since token: ChangeToken
    ) async throws -> RecordZoneChanges {
        try await container.privateDatabase(for: "alice")
            .recordZoneChanges(inZoneWith: Self.zone, since: token)
    }

    private func hash(_ container: Container) async throws -> ContentHash {
        try await container.privateDatabase(for: "alice").contentHash(includingSystem: true)
    }

    private func archive(_ name: String) async throws -> Archive {
        try await store.openArchive(name)
    }

    private func numbers(_ container: Container) async throws -> [String: Int64] {
        let page = try await container.privateDatabase(for: "alice")
            .records(inZoneWith: Self.zone)
        return Dictionary(
            uniqueKeysWithValues: page.records.map {
                ($0.recordID.recordName, $0["number"]?.int64Value ?? 0)
            })
    }

    @Test func `a restored store is the same, and goes its own way from there`() async throws {
        let container = try store.open()
        try await makeZone(container)
        for number in 0..<50 { try await save(container, "r\(number % 20)", number) }
        try await save(container, "asset", 1, asset: Self.data(1))
        try await container.privateDatabase(for: "alice")
            .deleteRecord(withID: Record.ID(recordName: "r3", zoneID: Self.zone))
        let before = try await token(container)
        let hash = try await hash(container)
        try await container.backup(to: store.archivePath("a"))
        // What the original hands out later, the restored store does not take.
        try await save(container, "r1", 100)
        let later = try await token(container)

        let report = try await archive("a").restore(to: "restored")
        #expect(report.isProved && report.zoneCount == 1 && report.recordCount == 20)
        let restored = try store.opening("restored").open()
        #expect(try await self.hash(restored) == hash)
        let asset = try await restored.privateDatabase(for: "alice")
            .record(for: Record.ID(recordName: "asset", zoneID: Self.zone))["file"]?.assetValue
        #expect(try await asset?.data(limit: 1 << 20) == Self.data(1))
        #expect(try await changes(restored, since: before).modifications.isEmpty)
        #expect(
            await cause { _ = try await changes(restored, since: later) }
                == .changeToken(.incarnation))
        // Nor the original what the restored one does, though the offsets may be the same.
        try await save(restored, "r1", 200)
        let own = try await token(restored)
        #expect(try await changes(restored, since: before).modifications.count == 1)
        #expect(try await changes(restored, since: own).modifications.isEmpty)
        #expect(
            await cause { _ = try await changes(container, since: own) }
                == .changeToken(.incarnation))
        // A change tag from the other way is an old one.
        let id = Record.ID(recordName: "r1", zoneID: Self.zone)
        let mine = try await container.privateDatabase(for: "alice").record(for: id)
        let theirs = try await restored.privateDatabase(for: "alice").record(for: id)
        #expect(mine.recordChangeTag != theirs.recordChangeTag)
        let error = await #expect(throws: StoreError.self) {
            try await restored.privateDatabase(for: "alice").save(mine)
        }
        #expect(error?.code == .serverRecordChanged)
        try await restored.close()
        let again = store.opening("restored")
        #expect(try again.verification().findings.isEmpty)
        let reopened = try again.open()
        #expect(reopened.recoveryReport.checkpoint != nil)
        #expect(try await numbers(reopened)["r1"] == 200)
        try await reopened.close()
        try await container.close()
    }

    @Test func `two copies of one moment do not take each other's tokens`() async throws {
        let container = try store.open()
        try await makeZone(container)
        try await save(container, "r", 1)
        let before = try await token(container)
        try await container.copy(to: "first")
        try await container.copy(to: "second")
        try await container.copy(to: "clone", cloning: true)
        let copies = try ["first", "second", "clone"].map { try store.opening($0).open() }
        var tokens: [ChangeToken] = []
        for copy in copies {
            try await save(copy, "r", 2)
            tokens.append(try await token(copy))
        }
        #expect(
            await cause { _ = try await changes(copies[0], since: tokens[1]) }
                == .changeToken(.incarnation))
        #expect(
            await cause { _ = try await changes(copies[1], since: tokens[0]) }
                == .changeToken(.incarnation))
        #expect(
            await cause { _ = try await changes(copies[2], since: tokens[0]) }
                == .changeToken(.store))
        #expect(try await changes(copies[1], since: before).modifications.count == 1)
        #expect(
            await cause { _ = try await changes(copies[2], since: before) }
                == .changeToken(.store))
        for copy in copies { try await copy.close() }
        try await container.close()
    }

    @Test func `copies that got the same incarnation are told apart all the same`() async throws {
        let container = try store.open()
        try await makeZone(container)
        try await save(container, "r", 1)
        // There are sixteen, so that two of them have the same.
        var tokens: [ChangeToken] = []
        for number in 0..<17 {
            try await container.copy(to: "copy\(number)")
            let copy = try store.opening("copy\(number)").open()
            try await save(copy, "r", 2)
            tokens.append(try await token(copy))
            try await copy.close()
        }
        try await container.close()
        for number in tokens.indices {
            let copy = try store.opening("copy\(number)").open()
            for (other, token) in tokens.enumerated() {
                let cause = await cause { _ = try await changes(copy, since: token) }
                #expect(cause == (other == number ? nil : .changeToken(.incarnation)))
            }
            try await copy.close()
        }
    }

    @Test func `archives that go on from each other are one store`() async throws {
        let container = try store.open()
        try await makeZone(container)
        var base: Archive?
        var hashes: [ContentHash] = []
        for round in 0..<4 {
            for number in 0..<30 { try await save(container, "r\(number + round * 10)", number) }
            try await save(
                container, "asset\(round)", 1, asset: Self.data(UInt64(round) + 10))
            try await container.privateDatabase(for: "alice").deleteRecord(
                withID: Record.ID(recordName: "r\(round * 10)", zoneID: Self.zone))
            if round == 2 {
                try await container.maintenance.compact()
                try await container.collectAssets()
            }
            base = try await container.backup(to: store.archivePath("a\(round)"), since: base)
            hashes.append(try await hash(container))
        }
        let lengths = store.archiveLengths
        #expect(lengths[3] < lengths[0] * 2, "an increment has what changed: \(lengths)")
        for round in 0..<4 {
            let archive = try await archive("a\(round)")
            #expect(archive.information.chainLength == round + 1)
            #expect(try await archive.verify().isEmpty)
            try await archive.restore(to: "restored\(round)")
            let restored = try store.opening("restored\(round)").open()
            #expect(try await hash(restored) == hashes[round])
            let id = Record.ID(recordName: "asset\(round)", zoneID: Self.zone)
            let asset = try await restored.privateDatabase(for: "alice")
                .record(for: id)["file"]?.assetValue
            #expect(try await asset?.data(limit: 1 << 20) == Self.data(UInt64(round) + 10))
            try await restored.close()
        }
        // A merge is a full backup of what the chain holds.
        let whole = try await archive("a3").container()
        try await whole.backup(to: store.archivePath("merged"))
        let merged = try await archive("merged")
        #expect(merged.information.baseID == nil)
        #expect(merged.information.range.upperBound == base?.information.range.upperBound)
        try await merged.restore(to: "merged")
        #expect(try await hash(try store.opening("merged").open()) == hashes[3])
        // Without its base an archive is none.
        store.disk.delete(store.archivePath("a1"))
        let error = await #expect(throws: StoreError.self) { _ = try await archive("a3") }
        #expect(error?.code == .invalidArguments && error?.place?.kind == "archive.base")
        try await container.close()
    }

    @Test func `what an archive states of zones is so, whether they changed since its base or not`()
        async throws
    {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        let zones = ["made anew", "quiet", "written"].map { RecordZone.ID(zoneName: $0) }
        func save(_ name: String, in zone: RecordZone.ID) async throws {
            try await database.save(
                Record(recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zone)))
        }
        for zone in zones {
            try await database.save(RecordZone(zoneID: zone))
            for number in 0..<30 { try await save("r\(number)", in: zone) }
        }
        var base = try await container.backup(to: store.archivePath("a0"))
        for round in 1..<5 {
            try await save("later \(round)", in: zones[2])
            if round == 2 {
                try await database.deleteRecordZone(withID: zones[0])
                try await database.save(RecordZone(zoneID: zones[0]))
                try await container.maintenance.compact()
            }
            base = try await container.backup(to: store.archivePath("a\(round)"), since: base)
            for zone in zones {
                let stated = try await base.zones().first { $0.zoneName == zone.zoneName }
                let hash = try await database.contentHash(of: zone)
                #expect(stated?.contentHash == hash.description, "\(zone.zoneName) \(round)")
                #expect(stated?.recordCount == hash.recordCount)
            }
        }
        let report = try await archive("a4").restore(to: "restored")
        #expect(report.isProved && report.zoneCount == 3)
        try await container.close()
    }

    @Test func `every state that the history keeps can be restored`() async throws {
        let container = try store.open()
        try await container.setHistoryPolicy(.everything)
        try await makeZone(container)
        var states: [(offset: UInt64, numbers: [String: Int64])] = []
        var base: Archive?
        for round in 0..<3 {
            for number in 0..<4 {
                try await save(container, "r\(number % 3)", round * 10 + number)
                states.append((container.snapshot().offset, try await numbers(container)))
            }
            base = try await container.backup(
                to: store.archivePath("h\(round)"), since: base, keepingHistory: true)
        }
        try await container.close()
        let archive = try await archive("h2")
        for (number, state) in states.enumerated() {
            let path = "state\(number)"
            try await archive.restore(to: path, at: .offset(state.offset - 1))
            let restored = try store.opening(path).open()
            #expect(try await numbers(restored) == state.numbers, "\(number)")
            // What came before is there as well.
            let first = try await restored.snapshot(at: .offset(states[0].offset - 1))
            let count = try first.privateDatabase(for: "alice")
                .recordCount(inZoneWith: Self.zone)
            #expect(count == 1)
            try await restored.close()
        }
    }

    @Test func `a store that was restored twice knows which versions came from where`()
        async throws
    {
        let container = try store.open()
        try await container.setHistoryPolicy(.everything)
        try await makeZone(container)
        try await save(container, "r", 1)
        let first = try await token(container)
        let early = container.snapshot().offset
        try await save(container, "r", 2)
        try await container.backup(to: store.archivePath("one"), keepingHistory: true)
        try await container.close()
        try await archive("one").restore(to: "second")
        let second = try store.opening("second").open()
        try await save(second, "r", 3)
        let later = try await token(second)
        try await second.backup(to: store.archivePath("two"), keepingHistory: true)
        try await second.close()
        // To before the first restore: what the second store wrote is gone from its history.
        try await archive("two").restore(to: "third", at: .offset(early - 1))
        let third = try store.opening("third").open()
        #expect(try await numbers(third) == ["r": 1])
        #expect(try await changes(third, since: first).modifications.isEmpty)
        #expect(
            await cause { _ = try await changes(third, since: later) }
                == .changeToken(.incarnation))
        try await save(third, "r", 4)
        let own = try await token(third)
        #expect(try await changes(third, since: first).modifications.count == 1)
        #expect(try await changes(third, since: own).modifications.isEmpty)
        try await third.close()
        #expect(try store.opening("third").verification().findings.isEmpty)
    }

    @Test func `what the archive does not have of the past, the restored store does not claim`()
        async throws
    {
        let container = try store.open()
        try await container.setHistoryPolicy(.everything)
        try await makeZone(container)
        try await save(container, "r", 1)
        let old = container.snapshot().offset
        try await save(container, "r", 2)
        try await container.backup(to: store.archivePath("a"))
        try await container.close()
        try await archive("a").restore(to: "restored")
        let restored = try store.opening("restored").open()
        #expect(
            await cause { _ = try await restored.snapshot(at: .offset(old - 1)) }
                == .changeToken(.compacted))
        try await save(restored, "r", 3)
        let kept = restored.snapshot().offset
        try await save(restored, "r", 4)
        let snapshot = try await restored.snapshot(at: .offset(kept - 1))
        let record = try snapshot.privateDatabase(for: "alice")
            .record(for: Record.ID(recordName: "r", zoneID: Self.zone))
        #expect(record["number"] == .int64(3))
        let refused = await cause {
            try await archive("a").restore(to: "older", at: .offset(old - 1))
        }
        #expect(refused == .changeToken(.compacted))
        #expect(!store.disk.paths.contains { $0.hasPrefix("older") })
        try await restored.close()
    }

    @Test func `an archive of another way, or from before what is forgotten, is no base`()
        async throws
    {
        let container = try store.open()
        try await container.setDeletionPolicy(.none)
        try await makeZone(container)
        for number in 0..<300 { try await save(container, "r\(number)", number) }
        let base = try await container.backup(to: store.archivePath("a"), marking: .none)
        try await base.restore(to: "restored")
        let restored = try store.opening("restored").open()
        try await save(restored, "r0", -1)
        let other = await #expect(throws: StoreError.self) {
            try await restored.backup(to: store.archivePath("b"), since: base)
        }
        #expect(other?.code == .invalidArguments)
        try await restored.close()
        for number in 0..<300 {
            try await container.privateDatabase(for: "alice").deleteRecord(
                withID: Record.ID(recordName: "r\(number)", zoneID: Self.zone))
        }
        for number in 0..<300 { try await save(container, "s\(number)", number) }
        try await container.maintenance.compact()
        let forgotten = await #expect(throws: StoreError.self) {
            try await container.backup(to: store.archivePath("b"), since: base)
        }
        #expect(forgotten?.cause == .changeToken(.compacted))
        #expect(!store.disk.paths.contains(store.archivePath("b")))
        let full = try await container.backup(to: store.archivePath("c"))
        try await full.restore(to: "later")
        let later = try store.opening("later").open()
        #expect(try await hash(later) == hash(container))
        try await later.close()
        try await container.close()
    }

    /// A full archive `a` and `b`, which goes on from it.
    private func backUpTwice(assets length: Int) async throws {
        let container = try store.open()
        try await makeZone(container)
        for number in 0..<20 { try await save(container, "r\(number)", number) }
        try await save(container, "asset", 1, asset: Self.data(3, count: length))
        let base = try await container.backup(to: store.archivePath("a"))
        for number in 0..<20 { try await save(container, "s\(number)", number) }
        try await save(container, "asset", 2, asset: Self.data(4, count: length))
        try await container.backup(to: store.archivePath("b"), since: base)
        try await container.close()
        store.disk.killProcesses()
        store.settle()
    }

    @Test(arguments: ["a", "b"])
    func `every byte of an archive, full or not, and every length, is checked`(
        name: String
    ) async throws {
        try await backUpTwice(assets: 64_000)
        let path = store.archivePath(name)
        let bytes = store.disk.contents(path)
        #expect(bytes.count >= 64 << 10)
        let step = Campaign.byteStride
        for place in stride(from: Int(Campaign.seed % 7), to: bytes.count, by: step) {
            var changed = bytes
            changed[place] ^= 1 << UInt8(place % 8)
            store.disk.replaceContents(path, changed)
            #expect(try await isRefused(name), "byte \(place)")
        }
        for length in stride(from: 0, to: bytes.count, by: step) {
            store.disk.replaceContents(path, Array(bytes.prefix(length)))
            #expect(try await isRefused(name), "length \(length)")
        }
        store.disk.replaceContents(path, bytes + [0])
        #expect(try await isRefused(name), "a byte more")
        store.disk.replaceContents(path, bytes)
        #expect(try await !isRefused(name))
    }

    /// Whether the archive is named as damaged, and where.
    private func isRefused(_ name: String) async throws -> Bool {
        do {
            let places = try await archive(name).verify()
            return places.contains { $0.file == name }
        } catch let error as StoreError {
            return error.cause == .damaged && error.place?.file == name
        }
    }

    @Test func `a backup beside a writer is of one moment`() async throws {
        let container = try store.open(stepped: false)
        try await makeZone(container)
        for number in 0..<100 { try await save(container, "r\(number)", 0) }
        // A reader beside the writer sees what it knows to be durable.
        try await container.checkpoint()
        async let writing: Void = {
            // Each commit changes two records, so that a state amid two would show.
            for number in 1...200 {
                let ids = [number % 100, (number + 50) % 100].map {
                    Record.ID(recordName: "r\($0)", zoneID: Self.zone)
                }
                let database = container.privateDatabase(for: "alice")
                var records: [Record] = []
                for id in ids {
                    var record = try await database.record(for: id)
                    record["number"] = .int64(Int64(number))
                    records.append(record)
                }
                _ = try await database.modifyRecords(saving: records)
            }
        }()
        for round in 0..<5 {
            let reader = try store.openReadOnly()
            try await reader.backup(to: store.archivePath("beside\(round)"))
            try await container.backup(to: store.archivePath("inside\(round)"))
        }
        try await writing
        for round in 0..<5 {
            for name in ["beside\(round)", "inside\(round)"] {
                try await archive(name).restore(to: "restored-\(name)")
                let restored = try store.opening("restored-\(name)").open()
                let numbers = try await numbers(restored)
                #expect(numbers.count == 100)
                for number in 0..<50 {
                    #expect(numbers["r\(number)"] == numbers["r\(number + 50)"], "\(name)")
                }
                try await restored.close()
            }
        }
        try await container.close()
    }

    /// Makes an archive `a` of 50 records, whose bytes can then be damaged. Returns its path.
    private func backUpRecords() async throws -> String {
        let path = store.archivePath("a")
        let container = try store.open()
        try await makeZone(container)
        for number in 0..<50 { try await save(container, "r\(number)", number) }
        try await container.backup(to: path)
        try await container.close()
        store.settle()
        return path
    }

    @Test func `what schema and accounts forbid to users is backed up and copied all the same`()
        async throws
    {
        let container = try store.open()
        try await makeZone(container)
        try await save(container, "r", 1)
        try await container.importSchema(
            """
            DEFINE SCHEMA CREATE ROLE Curator;
            RECORD TYPE Note ("number" INT64);
            RECORD TYPE Secret (n INT64, GRANT READ, CREATE, WRITE TO Curator);
            """)
        try await container.setRoles(["Curator"], of: "bob")
        var record = Record(
            recordType: "Secret", recordID: Record.ID(recordName: "s", zoneID: .default))
        record["n"] = 1
        try await container.publicDatabase(as: "bob").save(record)
        try await container.setUserProfile(UserProfile(accountStatus: .restricted), for: "alice")
        let archive = try await container.backup(to: store.archivePath("a"))
        let zones = try await archive.zones()
        #expect(
            zones.count == 2 && zones.allSatisfy { $0.recordCount == 1 && $0.contentHash != nil })
        #expect(try await store.openArchive("a").restore(to: "restored").isProved)
        #expect(try await container.copy(to: "copied").isProved)
        try await container.close()
    }

    @Test func `a restore that fails leaves nothing`() async throws {
        let path = try await backUpRecords()
        let paths = Set(store.disk.paths)
        // The head and the table are whole, a part is not.
        store.disk.flip(path, at: 1_000, mask: 1)
        let error = await #expect(throws: StoreError.self) {
            try await archive("a").restore(to: "restored")
        }
        #expect(error?.cause == .damaged)
        #expect(Set(store.disk.paths) == paths)
        // What is there is not touched.
        store.disk.flip(path, at: 1_000, mask: 1)
        try await archive("a").restore(to: "restored")
        await #expect(throws: StoreError.self) { try await archive("a").restore(to: "restored") }
        await #expect(throws: StoreError.self) {
            let again = try store.open()
            try await again.backup(to: path)
        }
    }

    @Test func `a rehearsed restore reports what the restore does, and leaves nothing`()
        async throws
    {
        let path = try await backUpRecords()
        let paths = Set(store.disk.paths)
        var rehearsed = try await archive("a").rehearseRestore(to: "restored")
        #expect(Set(store.disk.paths) == paths)
        #expect(rehearsed.isProved && rehearsed.recordCount == 50 && rehearsed.duration > .zero)
        store.disk.flip(path, at: 1_000, mask: 1)
        let error = await #expect(throws: StoreError.self) {
            try await archive("a").rehearseRestore(to: "restored")
        }
        #expect(error?.cause == .damaged)
        #expect(Set(store.disk.paths) == paths)
        store.disk.flip(path, at: 1_000, mask: 1)
        let restored = try await archive("a").restore(to: "restored")
        rehearsed.duration = restored.duration
        #expect(rehearsed == restored)
    }

    /// What was there before, and what a backup and a restore make of it, each whole or not at all,
    /// whichever call fails or is the last before the power goes.
    @Test(arguments: [false, true])
    func `whatever call goes wrong, an archive and a restored store are whole or not there`(
        powerIsCut: Bool
    ) async throws {
        let container = try store.open()
        try await makeZone(container)
        for number in 0..<20 { try await save(container, "r\(number)", number) }
        try await save(container, "asset", 1, asset: Self.data(5, count: 2_000))
        let hash = try await hash(container)
        try await container.close()
        _ = store.archivePath("")
        store.disk.killProcesses()
        store.settle()
        var outcomes: Set<String> = []
        try await store.sweepFaults(
            cuttingPower: powerIsCut, leastCalls: 100, Self.backUpAndRestore
        ) { copy, failed, context in
            let hasArchive = copy.disk.paths.contains(copy.archivePath("a"))
            let hasStore = copy.disk.paths.contains { $0.hasPrefix("restored/") }
            if hasArchive {
                let archive = try await copy.openArchive("a")
                #expect(try await archive.verify().isEmpty, context)
            }
            if hasStore {
                let restored = try copy.opening("restored").open()
                #expect(try await self.hash(restored) == hash, context)
                try await restored.close()
            }
            // What a failure leaves behind under other names is gone at once; a death's may stay.
            let strays = copy.disk.paths.filter { $0.hasPrefix("restored.new") }
            #expect(strays.isEmpty || powerIsCut, context)
            outcomes.insert("\(failed) \(hasArchive) \(hasStore)")
        }
        // Each stage was met.
        #expect(outcomes.contains("true false false") && outcomes.contains("true true false"))
    }

    @Test(arguments: [false, true])
    func `whatever call of a merge goes wrong, its archive is whole or not there`(
        powerIsCut: Bool
    ) async throws {
        try await backUpTwice(assets: 2_000)
        var outcomes: Set<String> = []
        try await store.sweepFaults(
            cuttingPower: powerIsCut, leastCalls: 50
        ) { (copy) async throws(StoreError) in
            let merged = try await copy.openArchive("b").container()
            try await merged.backup(to: copy.archivePath("merged"))
        } _: { copy, failed, context in
            let isThere = copy.disk.paths.contains(copy.archivePath("merged"))
            for name in ["a", "b"] + (isThere ? ["merged"] : []) {
                let archive = try await copy.openArchive(name)
                #expect(try await archive.verify().isEmpty, context)
            }
            #expect(isThere || failed, context)
            outcomes.insert("\(failed) \(isThere)")
        }
        #expect(outcomes.contains("true false"))
    }

    @Test(arguments: [false, true])
    func `whatever call of forgetting goes wrong, no archive is without its base`(
        powerIsCut: Bool
    ) async throws {
        try await backUpTwice(assets: 2_000)
        let container = try store.open()
        try await container.backup(to: store.archivePath("c"))
        try await container.close()
        store.disk.killProcesses()
        store.settle()
        var left: Set<Int> = []
        try await store.sweepFaults(
            cuttingPower: powerIsCut, leastCalls: 10, every: 1
        ) { (copy) async throws(StoreError) in
            _ = try await Archive.forget(
                in: SmallStore.archives, keeping: ArchiveRetention(last: 1),
                on: copy.disk.process())
        } _: { copy, failed, context in
            let found = try await Archive.list(
                in: SmallStore.archives, on: copy.disk.process())
            #expect(found.refused.isEmpty, context)
            let names = Set(found.archives.map { $0.path.split(separator: "/").last ?? "" })
            #expect([["a", "b", "c"], ["a", "c"], ["c"]].contains(names), context)
            #expect(failed || names == ["c"], context)
            left.insert(names.count)
        }
        #expect(left.isSuperset(of: [3, 2]))
    }

    @Test func `an archive that cannot be deleted is kept, and what it goes on from, too`()
        async throws
    {
        try await backUpTwice(assets: 2_000)
        let container = try store.open()
        try await container.backup(to: store.archivePath("c"))
        try await container.close()
        let folder = try LocalStorage(
            at: SmallStore.archives, .reading, on: store.disk.process())
        let pin = try folder.pin("b")
        let (kept, gone) = try await Archive.forget(
            in: SmallStore.archives, keeping: ArchiveRetention(last: 1),
            on: store.disk.process())
        #expect(kept.count == 3 && gone.isEmpty)
        withExtendedLifetime(pin) {}
        let found = try await Archive.list(in: SmallStore.archives, on: store.disk.process())
        #expect(found.archives.count == 3 && found.refused.isEmpty)
    }

    private static func backUpAndRestore(_ store: SmallStore) async throws(StoreError) {
        let reader = try await Container.openReadOnly(
            at: SmallStore.directory, on: store.disk.process(),
            memoryLimit: SmallStore.memoryLimit)
        try await reader.backup(to: store.archivePath("a"))
        try await store.openArchive("a").restore(to: "restored")
    }
}
