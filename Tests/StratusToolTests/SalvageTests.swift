import FoundationEssentials
import Stratus
import StratusEngine
import StratusFiles
import StratusJournal
import Support
import Testing

/// Damaged stores, of which everything else comes out.
@Suite struct SalvageTests {
    /// How many are damaged: STRATUS_SALVAGES; and where what is random comes from: STRATUS_SEED.
    static let (count, seed) = {
        let environment = ProcessInfo.processInfo.environment
        func number(_ name: String) -> Int? { environment[name].flatMap { Int($0) } }
        return (number("STRATUS_SALVAGES") ?? 100, UInt64(number("STRATUS_SEED") ?? 1))
    }()

    @Test func `of a store with a damaged byte everything else comes out`() async throws {
        for number in 0..<Self.count {
            var run = try await SalvageRun(seed: Self.seed &+ UInt64(number))
            for _ in 0..<4 { try await run.damageAndSalvage() }
            if number % 4 == 0 { try await run.loseManifest() }
        }
    }
}

extension SalvageTests {
    /// The zone of many commits whose first entry is lost, where no index knows of it: it comes last.
    @Test func `a zone of which nothing is known has all of its records`() async throws {
        let place = try Place()
        let path = place.path + "/store"
        let store = try await Container.open(at: path, creating: true)
        let database = store.privateDatabase(for: "alice")
        let zones = ["lost", "other"].map { RecordZone.ID(zoneName: $0) }
        for (number, zone) in zones.enumerated() {
            try await database.save(RecordZone(zoneID: zone))
            for part in 0..<5 - 3 * number {
                let records = (0..<50).map {
                    Record(
                        recordType: "Note",
                        recordID: Record.ID(recordName: "r\(part * 50 + $0)", zoneID: zone))
                }
                _ = try await database.modifyRecords(saving: records)
            }
        }
        // As after a crash: without a checkpoint.
        let copy = place.path + "/copy"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        try await store.close()
        let opened = try await Container.openReadOnly(at: copy)
        var log = opened.log()
        var line = try log.nextLine()
        while let found = line, found.entry.kind != .zone { line = try log.nextLine() }
        let zone = try #require(line)
        try await opened.close()
        let url = URL(filePath: copy + "/" + zone.file)
        var bytes = try Data(contentsOf: url)
        bytes[zone.byte + 8] ^= 1
        try bytes.write(to: url)
        let target = place.path + "/saved"
        let report = try await Container.salvage(copy, to: target)
        #expect(report.recordCount == 350)
        let found = try #require(report.zones.first)
        #expect(!found.isOwnerKnown && report.zones.count == 1)
        let saved = try await Container.openReadOnly(at: target)
        let alice = saved.userRecordName(for: "alice")
        try await SalvageRun.checkTotals(
            saved, report,
            [
                "\(found.owner)/\(found.zoneName)": Set((0..<250).map { "r\($0)" }),
                "\(alice)/other": Set((0..<100).map { "r\($0)" }),
            ], place.path, "the zone at \(zone.entry.offset)")
        try await saved.close()
        #expect(try await StoreVerification(at: target).findings.isEmpty)
        // However its entries lie in blocks and groups, the index says the same.
        let compacted = try await Container.open(at: target)
        for part in 0..<3 {
            let zone = RecordZone.ID(zoneName: found.zoneName)
            try await compacted.privateDatabase(for: found.owner).save(
                Record(
                    recordType: "Note",
                    recordID: Record.ID(recordName: "more\(part)", zoneID: zone)))
            try await compacted.maintenance.compact()
        }
        try await compacted.close()
        #expect(try await StoreVerification(at: target).findings.isEmpty)
        let again = try await Container.openReadOnly(at: target)
        let usage = try await again.privateDatabase(for: found.owner).usage()
        #expect(usage.recordCount == 253)
        try await again.close()
    }
}

/// A random store, of which bytes are changed one at a time.
private struct SalvageRun {
    private let place: Place
    private let seed: UInt64
    private var random: SeededGenerator
    private let model: SalvageModel
    private let checkpoint: UInt64
    /// The content hashes of all zones, by database and name.
    private let hashes: [String: String]
    /// What the newest records have in the fields with assets, as a reader is given it.
    private let assets: [AssetField: Data]
    private var number = 0

    init(seed: UInt64) async throws {
        self.seed = seed
        place = try Place()
        var random = SeededGenerator(seed: seed)
        let path = place.path + "/store"
        var options = JournalOptions()
        options.segmentLength = (16 << 10) << random.below(4)
        let store = try Container(
            writing: LocalStorage(at: path, .writing(creating: true)), creating: true,
            durability: .none, options: options, steppedByCaller: false)
        var changes = RandomStore(store, seed: random.next())
        for _ in 0...random.below(3) {
            try await changes.change(batches: 1 + random.below(30))
            if random.oneIn(2) { try await store.checkpoint() }
            if random.oneIn(3) { _ = try? await store.maintenance.compact() }
        }
        checkpoint = try await store.indexStatistics().checkpoint ?? 0
        try await store.close()
        self.random = random
        model = try await SalvageModel(path)
        hashes = try await Self.hashes(path)
        let read = try await Self.assets(path)
        #expect(read.damaged.isEmpty)
        assets = read.whole
    }

    /// A field of a version of a record.
    private struct AssetField: Hashable {
        /// The user record name of the owner of its database; empty: the public one.
        var owner: String
        var zone: String
        var record: String
        var field: String
        var tag: String?

        /// The same of the newest version, whatever that is.
        var withoutTag: AssetField {
            var field = self
            field.tag = nil
            return field
        }
    }

    /// Reads the assets of a store as its callers do; those are damaged that cannot be read.
    private static func assets(
        _ path: String
    ) async throws -> (whole: [AssetField: Data], damaged: Set<AssetField>) {
        let store = try await Container.openReadOnly(at: path)
        var whole: [AssetField: Data] = [:]
        var damaged: Set<AssetField> = []
        for (owner, database) in try await databases(of: store) {
            for zone in try await database.allRecordZones() {
                var cursor: RecordPage.Cursor?
                repeat {
                    let page = try await database.records(inZoneWith: zone.zoneID, from: cursor)
                    for record in page.records {
                        for key in record.allKeys {
                            let field = AssetField(
                                owner: owner, zone: zone.zoneID.zoneName,
                                record: record.recordID.recordName, field: key,
                                tag: record.recordChangeTag)
                            let assets = record[key]?.assets ?? []
                            if assets.isEmpty { continue }
                            do throws(StoreError) {
                                var bytes = Data()
                                for asset in assets {
                                    bytes += try await asset.data(limit: 1 << 20)
                                }
                                whole[field] = bytes
                            } catch {
                                // Or its chunks are gone.
                                #expect(
                                    error.cause == .damaged || error.code == .assetNotAvailable)
                                damaged.insert(field)
                            }
                        }
                    }
                    cursor = page.cursor
                } while cursor != nil
            }
        }
        try await store.close()
        return (whole, damaged)
    }

    /// That the report names the fields whose assets cannot be read, and no others, and that all others
    /// are what they were. Returns them.
    private func checkAssets(
        _ report: SalvageReport, _ target: String, _ context: Comment
    ) async throws -> Set<AssetField> {
        let (whole, damaged) = try await Self.assets(target)
        let said = report.assets.map { place in
            let owner = place.record?.zoneID.ownerName ?? ""
            return AssetField(
                owner: owner == RecordZone.ID.currentUser ? "" : owner,
                zone: place.record?.zoneID.zoneName ?? "", record: place.record?.recordName ?? "",
                field: place.field ?? "")
        }
        #expect(Set(said) == Set(damaged.map(\.withoutTag)), "\(context): \(report.assets)")
        for (field, bytes) in whole {
            // An earlier version has another change tag.
            if let before = assets[field] { #expect(bytes == before, "\(context): \(field)") }
        }
        return Set(said)
    }

    private static func hashes(_ path: String) async throws -> [String: String] {
        let store = try await Container.openReadOnly(at: path)
        var hashes: [String: String] = [:]
        for (owner, database) in try await databases(of: store) {
            for zone in try await database.allRecordZones() {
                // A default zone that was never used has no hash.
                let hash = try? await database.contentHash(
                    of: zone.zoneID, includingSystem: true)
                hashes[owner + "/" + zone.zoneID.zoneName] = hash?.description
            }
        }
        try await store.close()
        return hashes
    }

    private static func databases(
        of store: Container
    ) async throws -> [(owner: String, database: Database)] {
        var found = [("", store.publicDatabase())]
        for user in try await store.users().users {
            let name = user.userRecordID.recordName
            found.append((name, store.privateDatabase(for: name)))
        }
        return found
    }

    /// Changes a byte somewhere, salvages, and compares.
    mutating func damageAndSalvage() async throws {
        number += 1
        let (copy, target) = (place.path + "/copy\(number)", place.path + "/saved\(number)")
        try FileManager.default.copyItem(atPath: place.path + "/store", toPath: copy)
        let (file, byte) = try pick(in: copy)
        let url = URL(filePath: copy + "/" + file)
        var bytes = try Data(contentsOf: url)
        bytes[byte] ^= UInt8(1 + random.below(255))
        try bytes.write(to: url)
        let context: Comment = "seed \(seed), damage \(number): \(file), byte \(byte)"
        let report: SalvageReport
        do {
            report = try await Container.salvage(copy, to: target)
        } catch {
            Issue.record("\(context): \(error)")
            return
        }
        try await check(report, target, model.lost(file: file, byte: byte), context)
        let said = try await checkAssets(report, target, context)
        if file.hasPrefix("chunks-") {
            let damaged = Set(try await Self.assets(copy).damaged.map(\.withoutTag))
            #expect(said.isSubset(of: damaged), "\(context): \(report.assets)")
            #expect(report.losses.isEmpty && report.leftOut.isEmpty, "\(context)")
        }
    }

    /// Makes the manifest unreadable: repairs one copy of the store, and salvages another.
    mutating func loseManifest() async throws {
        number += 1
        let (copy, target) = (place.path + "/copy\(number)", place.path + "/saved\(number)")
        try FileManager.default.copyItem(atPath: place.path + "/store", toPath: copy)
        let context: Comment = "seed \(seed), without a manifest"
        let names = try FileManager.default.contentsOfDirectory(atPath: copy)
        let hasSegments = names.contains { $0.hasPrefix("journal-") }
        for name in names where name.hasPrefix("manifest-") {
            if random.oneIn(2) {
                try FileManager.default.removeItem(atPath: copy + "/" + name)
            } else {
                try Data(random.bytes(random.below(2) * 5000)).write(
                    to: URL(filePath: copy + "/" + name))
            }
        }
        guard hasSegments else {
            await #expect(throws: StoreError.self, "\(context)") {
                try await Container.salvage(copy, to: target)
            }
            return
        }
        let report = try await Container.salvage(copy, to: target)
        #expect(report.isComplete && report.losses.isEmpty, "\(context): \(report)")
        #expect(try await Self.hashes(target) == hashes, "\(context)")
        let plan = try await Container.planRepair(at: copy)
        #expect(plan.steps == [.manifest, .index] && plan.remaining.isEmpty, "\(context)")
        try await Container.repair(at: copy)
        #expect(try await Self.hashes(copy) == hashes, "\(context)")
        #expect(try await StoreVerification(at: copy).findings.isEmpty, "\(context)")
        // It takes commits, and its index is what the journal says.
        let store = try await Container.open(at: copy)
        let zone = RecordZone.ID(zoneName: "after the repair")
        try await store.privateDatabase(for: "alice").save(RecordZone(zoneID: zone))
        try await store.close()
        #expect(try await Self.hashes(copy).count == hashes.count + 1, "\(context)")
    }

    /// A byte of an entry or, one time in three, of any file.
    private mutating func pick(in copy: String) throws -> (file: String, byte: Int) {
        if !random.oneIn(3), let entry = model.entries.randomElement(using: &random),
            let byte = entry.bytes.randomElement(using: &random)
        {
            return (entry.file, byte)
        }
        while true {
            let files = try FileManager.default.contentsOfDirectory(atPath: copy).sorted()
            let file = files[random.below(files.count)]
            let bytes = try Data(contentsOf: URL(filePath: copy + "/" + file))
            // Behind what was written nothing is damaged.
            guard file != "writer", let last = bytes.lastIndex(where: { $0 != 0 }) else { continue }
            return (file, random.below(last + 1))
        }
    }

    private func check(
        _ report: SalvageReport, _ target: String, _ lost: Set<UInt64>, _ context: Comment
    ) async throws {
        let store = try await Container.openReadOnly(at: target)
        var tags: [UInt64: String] = [:]
        var found: [String: Set<String>] = [:]
        for (owner, database) in try await Self.databases(of: store) {
            for zone in try await database.allRecordZones() {
                let name = owner + "/" + zone.zoneID.zoneName
                var cursor: RecordPage.Cursor?
                repeat {
                    let page = try await database.records(inZoneWith: zone.zoneID, from: cursor)
                    for record in page.records {
                        found[name, default: []].insert(record.recordID.recordName)
                        tags[UInt64(record.recordChangeTag ?? "") ?? 0] =
                            record.recordID.recordName
                    }
                    cursor = page.cursor
                } while cursor != nil
            }
        }
        let isOfDefinition = !lost.isDisjoint(with: model.definitions)
        let orphans = report.zones.filter { !$0.isOwnerKnown }.map { "\($0.owner)/\($0.zoneName)" }
        let orphaned = Set(orphans.flatMap { found[$0] ?? [] })
        // What was not lost is there.
        for (name, offset) in model.living where !lost.contains(offset) {
            #expect(
                tags[offset] == name.record || orphaned.contains(name.record),
                "\(context): record \(name.record) at \(offset) is missing")
        }
        // Nothing else is, but an earlier version where the newest state is lost.
        let newest = Set(model.living.map(\.offset))
        for (tag, name) in tags where !newest.contains(tag) && tag < 1 << 52 {
            let states = model.states.first { $0.value.contains { $0.offset == tag } }
            let later = states?.value.filter { $0.offset > tag } ?? []
            #expect(
                !later.isEmpty && later.allSatisfy { lost.contains($0.offset) }
                    // What became of a zone behind the checkpoint, nothing but the journal tells.
                    || isOfDefinition && lost.contains { $0 >= checkpoint },
                "\(context): record \(name) at \(tag) should not be there")
        }
        checkReport(report, lost, tags, context)
        try await SalvageRun.checkTotals(store, report, found, place.path, context)
        if lost.isEmpty {
            #expect(try await Self.hashes(target) == hashes, "\(context)")
            let isWhole = report.assets.isEmpty
            #expect(report.isComplete == isWhole, "\(context): \(report)")
        }
        try await store.close()
    }

    /// That a store counts the records that it has, can be certified, and that a backup of it is whole.
    ///
    /// - Parameter found: the names of the records of each zone, by owner and zone.
    fileprivate static func checkTotals(
        _ store: Container, _ report: SalvageReport, _ found: [String: Set<String>],
        _ scratch: String, _ context: Comment
    ) async throws {
        for (owner, database) in try await databases(of: store) {
            var total = 0
            for zone in try await database.allRecordZones() {
                let name = owner + "/" + zone.zoneID.zoneName
                let count = try await database.recordCount(inZoneWith: zone.zoneID)
                #expect(count == found[name]?.count ?? 0, "\(context): \(name)")
                total += count
            }
            #expect(try await database.usage().recordCount == total, "\(context): \(owner)")
        }
        #expect(report.recordCount == found.values.reduce(0) { $0 + $1.count }, "\(context)")
        let certificate = try await store.certificate()
        #expect(certificate.zones.reduce(0) { $0 + $1.recordCount } == report.recordCount)
        let comparison = try await store.compare(with: certificate)
        #expect(comparison.differences.isEmpty, "\(context): \(comparison.differences)")
        let archive = try await store.backup(to: scratch + "/salvaged.archive")
        // Of an asset that is lost the archive has no more than the store.
        let unlike = try await archive.verify().filter { $0.record == nil }
        #expect(unlike.isEmpty, "\(context): \(unlike)")
        try FileManager.default.removeItem(atPath: archive.path)
    }

    private func checkReport(
        _ report: SalvageReport, _ lost: Set<UInt64>, _ tags: [UInt64: String], _ context: Comment
    ) {
        for entry in model.entries {
            let isSaid = report.losses.contains { $0.offsets.contains(entry.offset) }
            #expect(isSaid == lost.contains(entry.offset), "\(context): entry at \(entry.offset)")
        }
        #expect(
            report.losses.allSatisfy { $0.isOfJournalAlone == lost.isEmpty },
            "\(context): \(report.losses)")
        guard lost.isDisjoint(with: model.definitions) else { return }
        #expect(report.leftOut.isEmpty, "\(context): \(report.leftOut)")
        let said = report.losses.flatMap { loss in loss.records.map { (loss, $0) } }
        for (name, states) in model.states where model.zones[name.zone]?.state == .alive {
            guard let last = states.last, lost.contains(last.offset), last.offset < checkpoint
            else { continue }
            let rest = states.last { !lost.contains($0.offset) }
            if last.isDeleted, rest?.isDeleted ?? true { continue }
            let there = said.filter { $0.0.offsets.contains(last.offset) }.map(\.1)
            let record =
                there.first { $0.recordName == name.record }
                ?? there.first { $0.recordName == nil }
            let isThere = rest.map { !$0.isDeleted } ?? false
            let expected: SalvageReport.LostRecord.State =
                last.isDeleted ? .deleted : isThere ? .earlier : .missing
            #expect(record?.state == expected, "\(context): \(name.record), \(report.losses)")
            #expect(
                !last.isDeleted || rest.map { tags[$0.offset] == nil } ?? true,
                "\(context): \(name.record) was deleted")
            #expect(
                (rest == nil) == (record?.recordName == nil),
                "\(context): \(name.record)")
        }
    }
}

extension RecordValue {
    /// Those of a value that is one, or a list of them.
    fileprivate var assets: [Asset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let values): values.compactMap(\.assetValue)
        default: []
        }
    }
}
