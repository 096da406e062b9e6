import FoundationEssentials
import Stratus
import StratusEngine
import StratusJournal
import Support
import Testing

/// Archives of some zones of a store.
struct SelectedArchiveTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let notes = RecordZone.ID(zoneName: "notes")
    private static let plans = RecordZone.ID(zoneName: "plans")

    private static func data(_ seed: UInt64, count: Int = 20_000) -> Data {
        var generator = SeededGenerator(seed: seed)
        return Data(generator.bytes(count))
    }

    private func save(
        _ container: Container, _ name: String, in zone: RecordZone.ID, of user: String = "alice",
        asset: Data? = nil
    ) async throws {
        let database = container.privateDatabase(for: user)
        let id = Record.ID(recordName: name, zoneID: zone)
        var record =
            (try? await database.record(for: id)) ?? Record(recordType: "Note", recordID: id)
        record["count"] = .int64((record["count"]?.int64Value ?? 0) + 1)
        if let asset { record["file"] = .asset(Asset(data: asset)) }
        try await database.save(record)
    }

    /// Two users, each with two zones; one zone of bob's is shared with alice.
    private func filled() async throws -> Container {
        let container = try store.open()
        for user in ["alice", "bob"] {
            let database = container.privateDatabase(for: user)
            try await database.save(SelectedArchiveRun.subscription)
            for zone in [Self.notes, Self.plans] {
                try await database.save(RecordZone(zoneID: zone))
                for number in 0..<5 { try await save(container, "r\(number)", in: zone, of: user) }
            }
        }
        let bob = container.privateDatabase(for: "bob")
        let root = try await bob.record(
            for: Record.ID(recordName: "r0", zoneID: Self.plans))
        var share = Share(rootRecord: root)
        share.publicPermission = .readWrite
        let saved = try await bob.modifyRecords(saving: [root, share.record])
        let record = try #require(try saved.saveResults[share.recordID]?.get())
        try await container.acceptShare(try #require(Share(record)?.shortGUID), as: "alice")
        try await save(container, "asset", in: Self.notes, asset: Self.data(1))
        try await save(container, "asset", in: Self.plans, of: "bob", asset: Self.data(2))
        return container
    }

    private func hash(
        _ container: Container, _ zone: RecordZone.ID = notes, of user: String = "alice"
    ) async throws -> ContentHash {
        try await container.privateDatabase(for: user)
            .contentHash(of: zone, includingSystem: true)
    }

    private func zones(_ container: Container, of user: String) async throws -> [String] {
        try await container.privateDatabase(for: user).allRecordZones().map(\.zoneID.zoneName)
    }

    /// Why `body` is refused.
    private func error(_ body: () async throws -> Void) async -> StoreError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? StoreError
        }
    }

    @Test func `an archive of one zone has that zone, and says nothing of the others`()
        async throws
    {
        let container = try await filled()
        try await container.backup(to: store.archivePath("whole"))
        try await container.backup(
            of: [.zone("notes", of: "alice")], to: store.archivePath("notes"))
        let archive = try await store.openArchive("notes")
        #expect(try await archive.verify().isEmpty)
        let alice = container.userRecordName(for: "alice")
        #expect(archive.information.parts == [.zone("notes", of: alice)])
        #expect(try await archive.zones().map(\.zoneName) == ["notes"])
        #expect(
            try await archive.zones().first?.contentHash
                == (try await container.privateDatabase(for: "alice").contentHash(of: Self.notes))
                .description)
        let held = try await archive.container()
        #expect(try await zones(held, of: "alice") == ["notes"])
        #expect(try await zones(held, of: "bob") == [])
        #expect(try await hash(held) == hash(container))
        let asset = try await held.privateDatabase(for: "alice")
            .record(for: Record.ID(recordName: "asset", zoneID: Self.notes))["file"]?.assetValue
        #expect(try await asset?.data(limit: 1 << 20) == Self.data(1))
        // They may not have been empty.
        for zone in [Self.plans, .default] {
            let error = await error {
                _ = try await held.privateDatabase(for: "alice").records(inZoneWith: zone)
            }
            #expect(error?.code == .zoneNotFound)
        }
        #expect(try await held.sharedDatabase(for: "alice").allRecordZones().isEmpty)
        #expect(try await held.users().users.map(\.userName) == ["alice", nil])
        // What is asked of whole databases is not known either.
        for user in ["alice", "bob"] {
            let database = held.privateDatabase(for: user)
            for ask in [
                { _ = try await database.databaseChanges() },
                { _ = try await database.contentHash() },
                { _ = try await database.usage() },
            ] as [() async throws -> Void] {
                #expect(await error(ask)?.code == .zoneNotFound)
            }
        }
        #expect(try await held.privateDatabase(for: "alice").allSubscriptions().isEmpty)
        // A whole archive has what one of a zone must not have.
        let whole = try await store.openArchive("whole").container()
        #expect(try Self.words(in: whole).isSuperset(of: ["bob", "plans", "matches"]))
        #expect(try Self.words(in: held).isDisjoint(with: ["bob", "plans", "matches"]))
        #expect(archive.information.length < 40_000)
        try await container.close()
    }

    /// Which of some words stand in the entries.
    private static func words(in container: Container) throws -> Set<String> {
        var found: Set<String> = []
        var log = container.log()
        while let entry = try log.nextLine()?.entry {
            if entry.kind == .matches { found.insert("matches") }
            let text = String(decoding: entry.payload, as: UTF8.self)
            for word in ["bob", "plans"] where text.contains(word) { found.insert(word) }
        }
        return found
    }

    @Test func `of a user it has all zones, also those that are made later`() async throws {
        let container = try await filled()
        let base = try await container.backup(
            of: [.user("bob"), .publicDatabase], to: store.archivePath("base"))
        let later = RecordZone.ID(zoneName: "later")
        try await container.privateDatabase(for: "bob").save(RecordZone(zoneID: later))
        try await save(container, "new", in: later, of: "bob", asset: Self.data(3))
        try await container.privateDatabase(for: "bob").deleteRecordZone(withID: Self.notes)
        try await container.privateDatabase(for: "alice").deleteRecordZone(withID: Self.notes)
        let note = Record(
            recordType: "Note", recordID: Record.ID(recordName: "everybody's"))
        try await container.publicDatabase(as: "alice").save(note)
        let since = try await container.backup(to: store.archivePath("since"), since: base)
        #expect(since.information.parts == base.information.parts)
        let opened = try await store.openArchive("since")
        #expect(try await opened.verify().isEmpty)
        let held = try await opened.container()
        #expect(try await zones(held, of: "bob") == ["_defaultZone", "later", "plans"])
        for zone in [later, Self.plans] {
            #expect(
                try await hash(held, zone, of: "bob") == hash(container, zone, of: "bob"))
        }
        #expect(try await zones(held, of: "alice") == [])
        #expect(
            try await held.publicDatabase(as: "alice").records(inZoneWith: .default).records
                .contains { $0.recordID.recordName == "everybody's" })
        // Merged it is the same.
        try await held.backup(to: store.archivePath("merged"))
        let merged = try await store.openArchive("merged")
        #expect(merged.information.parts == base.information.parts)
        #expect(merged.information.baseID == nil)
        #expect(try await merged.verify().isEmpty)
        #expect(
            try await hash(merged.container(), later, of: "bob") == hash(held, later, of: "bob"))
        try await container.close()
    }

    @Test func `a base of other parts is refused, and so is what a store never had`()
        async throws
    {
        let container = try await filled()
        let whole = try await container.backup(to: store.archivePath("whole"))
        let notes = try await container.backup(
            of: [.zone("notes", of: "alice")], to: store.archivePath("notes"))
        let path = store.archivePath("next")
        for (parts, base): ([Archive.Part], Archive) in [
            ([.zone("notes", of: "alice")], whole), ([.user("alice")], notes),
        ] {
            let refused = await error {
                _ = try await container.backup(of: parts, to: path, since: base)
            }
            #expect(refused?.code == .invalidArguments && refused?.needsFullBackup == true)
        }
        for (part, code): (Archive.Part, StoreError.Code) in [
            (.zone("nothing", of: "alice"), .zoneNotFound), (.user("nobody"), .unknownItem),
            (.zone("notes", of: nil), .zoneNotFound),
        ] {
            let refused = await error {
                _ = try await container.backup(of: [part], to: path)
            }
            #expect(refused?.code == code)
        }
        // An archive of a part has nothing of other parts.
        let refused = await error {
            _ = try await notes.container().backup(of: [.user("alice")], to: path)
        }
        #expect(refused?.code == .zoneNotFound)
        #expect(!store.disk.paths.contains(path))
        try await container.close()
    }

    @Test func `an asset that another zone had before is not left out`() async throws {
        let container = try await filled()
        try await save(container, "first", in: Self.plans, asset: Self.data(7))
        let base = try await container.backup(
            of: [.zone("notes", of: "alice")], to: store.archivePath("base"))
        // Stored already, for the other zone.
        try await save(container, "second", in: Self.notes, asset: Self.data(7))
        let refused = await error {
            _ = try await container.backup(to: store.archivePath("since"), since: base)
        }
        #expect(refused?.needsFullBackup == true)
        let full = try await container.backup(
            of: [.zone("notes", of: "alice")], to: store.archivePath("full"))
        // What is there already is no reason to refuse.
        try await save(container, "second", in: Self.notes)
        try await container.backup(to: store.archivePath("next"), since: full)
        let next = try await store.openArchive("next")
        #expect(try await next.verify().isEmpty)
        let held = try await next.container()
        let asset = try await held.privateDatabase(for: "alice")
            .record(for: Record.ID(recordName: "second", zoneID: Self.notes))["file"]?.assetValue
        #expect(try await asset?.data(limit: 1 << 20) == Self.data(7))
        try await container.close()
    }

    @Test func `zones are brought back from it, and nothing else is made of it`() async throws {
        let container = try await filled()
        try await container.backup(
            of: [.zone("notes", of: "alice")], to: store.archivePath("notes"))
        let before = try await container.privateDatabase(for: "alice").contentHash(of: Self.notes)
        let archive = try await store.openArchive("notes")
        for body in [
            { _ = try await archive.restore(to: "restored") },
            { _ = try await archive.restore(to: "restored", cloning: true) },
            { _ = try await archive.rehearseRestore(to: "restored") },
            { _ = try await archive.container().copy(to: "restored") },
        ] as [() async throws -> Void] {
            #expect(await error(body)?.code == .invalidArguments)
        }
        #expect(!store.disk.paths.contains { $0.hasPrefix("restored") })
        let database = container.privateDatabase(for: "alice")
        try await database.deleteRecordZone(withID: Self.notes)
        let source = try await archive.container().snapshot().privateDatabase(for: "alice")
        let done = try await database.restore(Self.notes, from: source, mode: .mirror)
        #expect(done.isProved && done.added.count == 6)
        #expect(try await database.contentHash(of: Self.notes) == before)
        // Zones that it does not have are not emptied.
        let kept = try await hash(container, Self.plans)
        for zone in [Self.plans, .default] {
            let refused = await error {
                _ = try await database.restore(zone, from: source, mode: .mirror)
            }
            #expect(refused?.code == .zoneNotFound)
        }
        #expect(try await hash(container, Self.plans) == kept)
        try await container.close()
    }

    @Test func `its history and marks can be read`() async throws {
        let container = try await filled()
        let mark = try await container.mark("before")
        let marked = try await hash(container)
        try await save(container, "asset", in: Self.notes, asset: Self.data(8))
        try await container.setHistoryPolicy(.everything)
        var states: [(offset: UInt64, hash: ContentHash)] = []
        for round in 0..<6 {
            try await save(container, "asset", in: Self.notes, asset: Self.data(UInt64(20 + round)))
            try await save(container, "r\(round)", in: Self.plans, of: "bob")
            if round == 3 { try await container.maintenance.compact() }
            states.append((container.snapshot().offset, try await hash(container)))
        }
        try await container.backup(
            of: [.zone("notes", of: "alice")], to: store.archivePath("notes"),
            keepingHistory: true)
        let archive = try await store.openArchive("notes")
        #expect(try await archive.verify().isEmpty)
        let held = try await archive.container()
        let past = try await held.snapshot(at: .mark(mark)).privateDatabase(for: "alice")
        #expect(try past.contentHash(of: Self.notes, includingSystem: true) == marked)
        for (number, state) in states.enumerated() {
            let past = try await held.snapshot(at: .offset(state.offset))
                .privateDatabase(for: "alice")
            #expect(try past.contentHash(of: Self.notes, includingSystem: true) == state.hash)
            let asset = try past.record(
                for: Record.ID(recordName: "asset", zoneID: Self.notes))["file"]?.assetValue
            #expect(try await asset?.data(limit: 1 << 20) == Self.data(UInt64(20 + number)))
        }
        try await container.close()
    }

    @Test func `a series of a part goes on as that part changes`() async throws {
        let container = try await filled()
        _ = store.archivePath("")
        var options = ArchiveSeries.Options()
        options.parts = [.zone("notes", of: "alice")]
        var series = ArchiveSeries(of: container, in: SmallStore.archives, options: options)
        var whole = ArchiveSeries(of: container, in: SmallStore.archives)
        let first = try #require(try await series.next())
        #expect(try await whole.next()?.information.baseID == nil)
        try await save(container, "r1", in: Self.plans)
        #expect(try await series.next() == nil)
        #expect(try await whole.next()?.information.baseID != nil)
        try await save(container, "r1", in: Self.notes)
        let second = try #require(try await series.next())
        #expect(second.information.baseID == first.information.archiveID)
        #expect(second.information.parts == first.information.parts)
        try await container.close()
    }

    @Test(arguments: 0..<Campaign.storeSeeds * 3)
    func `whatever was done, a part of the store is what it was`(run: Int) async throws {
        var run = SelectedArchiveRun(seed: Campaign.seed &+ UInt64(run) &* 7919)
        try await run.go(steps: 60)
        #expect(run.problems.isEmpty, "\(run.problems.prefix(3))")
        #expect(run.archiveCount > 3)
    }
}

/// Random changes to zones that share assets, and chains of archives of some of them.
private struct SelectedArchiveRun {
    private static let users = ["alice", "bob"]
    /// Of every change of a record: what it matches is in the commit of the change, behind all records.
    static let subscription = Subscription(
        .query(
            .all, recordType: "Note", zoneID: nil,
            options: [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion]),
        id: "all")
    private static let zoneNames = ["_defaultZone", "a", "b", "c"]
    private let store: SmallStore
    private var generator: SeededGenerator
    /// What there was at marks and, where the history is kept, behind commits.
    private var past: [(point: PastPoint, content: [String: String])] = []
    /// The last archive of each selection.
    private var last: [[Archive.Part]: String] = [:]
    private(set) var archiveCount = 0
    private(set) var problems: [String] = []

    init(seed: UInt64) {
        store = SmallStore(seed: seed, maps: seed % 2 == 1)
        generator = SeededGenerator(seed: seed)
    }

    private mutating func any<Element>(_ elements: [Element]) -> Element {
        elements[generator.below(elements.count)]
    }

    private mutating func place() -> (user: String, zone: RecordZone.ID) {
        (any(Self.users), RecordZone.ID(zoneName: any(Self.zoneNames)))
    }

    mutating func go(steps: Int) async throws {
        let container = try store.open()
        let keepsHistory = generator.oneIn(3)
        if keepsHistory { try await container.setHistoryPolicy(.everything) }
        for user in Self.users {
            try await container.privateDatabase(for: user).save(
                Self.subscription)
        }
        for _ in 0..<steps {
            switch generator.below(12) {
            case 0: try await container.maintenance.compact()
            case 1: try await container.collectAssets()
            case 2, 3: try await backUp(container, keepsHistory)
            case 4:
                let mark = try await container.mark("m\(past.count)")
                past.append((.mark(mark), Self.content(of: container.snapshot())))
            default:
                try await change(container)
                if keepsHistory {
                    let snapshot = container.snapshot()
                    past.append((.offset(snapshot.offset), Self.content(of: snapshot)))
                }
            }
        }
        try await backUp(container, keepsHistory)
        try await backUp(container, keepsHistory)
        try await container.close()
    }

    private mutating func change(_ container: Container) async throws {
        let (user, zone) = place()
        let database = container.privateDatabase(for: user)
        let id = Record.ID(recordName: "r\(generator.below(6))", zoneID: zone)
        let deletesZone = generator.oneIn(12)
        do throws(StoreError) {
            if !zone.isDefault {
                if deletesZone {
                    try await database.deleteRecordZone(withID: zone)
                    return
                }
                try await database.save(RecordZone(zoneID: zone))
            }
            switch generator.below(6) {
            case 0: try await database.deleteRecord(withID: id)
            case 1:
                let other = RecordZone.ID(zoneName: any(Self.zoneNames))
                try await database.moveRecords([id], to: other)
            case 2:
                let root = try await database.record(for: id)
                _ = try await database.modifyRecords(
                    saving: [root, Share(rootRecord: root).record])
            default:
                var record: Record
                do throws(StoreError) {
                    record = try await database.record(for: id)
                } catch {
                    record = Record(recordType: "Note", recordID: id)
                }
                record["count"] = .int64(Int64(generator.below(100)))
                if generator.oneIn(2) {
                    var bytes = SeededGenerator(seed: UInt64(generator.below(8)))
                    record["file"] = .asset(Asset(data: Data(bytes.bytes(6_000))))
                }
                try await database.save(record)
            }
        } catch {
            let isExpected: Set<StoreError.Code> = [
                .unknownItem, .zoneNotFound, .serverRecordChanged, .referenceViolation,
                .invalidArguments, .partialFailure, .alreadyShared, .badDatabase,
            ]
            if !isExpected.contains(error.code) { problems.append("a change: \(error)") }
        }
    }

    private mutating func backUp(_ container: Container, _ keepsHistory: Bool) async throws {
        let selections: [[Archive.Part]] = [
            [.zone("a", of: "alice")], [.zone("_defaultZone", of: "bob")], [.user("bob")],
            [.zone("b", of: "alice"), .zone("b", of: "bob")],
        ]
        let parts = any(selections)
        let name = "a\(archiveCount)"
        var base: Archive?
        if let known = last[parts], !generator.oneIn(4) {
            base = try await store.openArchive(known)
        }
        do throws(StoreError) {
            try await container.backup(
                of: parts, to: store.archivePath(name), since: base,
                keepingHistory: keepsHistory)
        } catch {
            let isMissing = error.code == .zoneNotFound || error.code == .unknownItem
            if !error.needsFullBackup, base != nil || !isMissing {
                problems.append("a backup: \(error)")
            }
            last[parts] = nil
            return
        }
        archiveCount += 1
        last[parts] = name
        let archive = try await store.openArchive(name)
        let damage = try await archive.verify()
        if !damage.isEmpty { problems.append("\(parts): \(damage)") }
        let held = try await archive.container()
        try await compare(held.snapshot(), Self.content(of: container.snapshot()), parts, "now")
        for (point, content) in past.suffix(20) where generator.oneIn(3) {
            let snapshot = try await held.snapshot(at: point)
            try await compare(snapshot, content, parts, "at \(point)")
        }
    }

    private mutating func compare(
        _ held: Snapshot, _ content: [String: String], _ parts: [Archive.Part], _ when: String
    ) async throws {
        let found = Self.content(of: held)
        for user in Self.users {
            for zoneName in Self.zoneNames {
                let isSelected = parts.contains {
                    $0.owner == user && ($0.zoneName ?? zoneName) == zoneName
                }
                let key = "\(user)/\(zoneName)"
                if found[key] != (isSelected ? content[key] : nil) {
                    problems.append("\(parts) \(when): \(key) is \(found[key] ?? "none")")
                }
                if held.covers(zone: zoneName, of: user) != isSelected {
                    problems.append("\(parts): covers \(key)")
                }
                if isSelected, content[key] != nil { try await readAssets(held, user, zoneName) }
            }
        }
    }

    private mutating func readAssets(
        _ held: Snapshot, _ user: String, _ zoneName: String
    ) async throws {
        let page = try held.privateDatabase(for: user).records(
            inZoneWith: RecordZone.ID(zoneName: zoneName))
        for record in page.records {
            guard let asset = record["file"]?.assetValue else { continue }
            if try await asset.data(limit: 1 << 20).count != 6_000 {
                problems.append("the asset of \(record.recordID)")
            }
        }
    }

    /// The hashes of all zones that there are.
    private static func content(of snapshot: Snapshot) -> [String: String] {
        var content: [String: String] = [:]
        for user in users {
            let database = snapshot.privateDatabase(for: user)
            for zoneName in zoneNames {
                let id = RecordZone.ID(zoneName: zoneName)
                content["\(user)/\(zoneName)"] =
                    try? database.contentHash(of: id, includingSystem: true).description
            }
        }
        return content
    }
}
