import FoundationEssentials
import Stratus
import StratusIndex
import Support

/// Random changes of a store that is closed, killed and crashed in between, beside a model; and
/// snapshots that are held meanwhile.
struct StoreRun {
    /// What happened, for the report.
    struct Tally {
        var changes = 0
        var cascaded = 0
        var refusals = 0
        var tablesWritten = 0
        var tablesMerged = 0
        var openings = 0
        var snapshots = 0
        var comparisons = 0
        var verifications = 0
        var compactions = 0
        var segmentsCompacted = 0
        var policies = 0
        var marks = 0
        var pastStates = 0
        var pastRefusals = 0
        var forgotten = 0
        var archives = 0
        var basesRefused = 0
        var restores = 0
        var indexesAdded = 0
        var indexesRemoved = 0

        static func + (left: Tally, right: Tally) -> Tally {
            Tally(
                changes: left.changes + right.changes,
                cascaded: left.cascaded + right.cascaded,
                refusals: left.refusals + right.refusals,
                tablesWritten: left.tablesWritten + right.tablesWritten,
                tablesMerged: left.tablesMerged + right.tablesMerged,
                openings: left.openings + right.openings,
                snapshots: left.snapshots + right.snapshots,
                comparisons: left.comparisons + right.comparisons,
                verifications: left.verifications + right.verifications,
                compactions: left.compactions + right.compactions,
                segmentsCompacted: left.segmentsCompacted + right.segmentsCompacted,
                policies: left.policies + right.policies, marks: left.marks + right.marks,
                pastStates: left.pastStates + right.pastStates,
                pastRefusals: left.pastRefusals + right.pastRefusals,
                forgotten: left.forgotten + right.forgotten,
                archives: left.archives + right.archives,
                basesRefused: left.basesRefused + right.basesRefused,
                restores: left.restores + right.restores,
                indexesAdded: left.indexesAdded + right.indexesAdded,
                indexesRemoved: left.indexesRemoved + right.indexesRemoved)
        }
    }

    private struct Held {
        let snapshot: Snapshot
        let expected: StoreAnswers
        let tokens: [StoreAnswers.Token]
    }

    /// What the store was once.
    private struct Past {
        /// Where the journal ended.
        let offset: UInt64
        /// Of the last commit before; nil where that is not known.
        let time: Date?
        let model: StoreModel
        /// That was made there.
        var mark: Mark?
    }

    private(set) var store: SmallStore
    /// Whether checkpoints and merges are made here and now, or by threads of their own.
    private let isStepped: Bool
    private(set) var model = StoreModel()
    private(set) var tokens: [StoreAnswers.Token] = []
    private(set) var tally = Tally()
    private(set) var problems: [String] = []
    private let seed: UInt64
    private var generator: SeededGenerator
    private var container: Container
    private var held: [Held] = []
    /// In their order.
    private var past: [Past] = []
    private var policy = History.Policy.none
    /// Where the policy was set that keeps anything, as the journal ended.
    private var policyStart: UInt64 = 0
    private var seenFiles: Set<String> = []
    /// The name of the last archive of the store as it is.
    private var archive: String?

    private static let zones = ["z0", "z1", "z2", "z3"]

    init(seed: UInt64) throws {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        store = SmallStore(seed: seed, maps: seed % 2 == 1)
        // What a power loss takes is another proof's matter: it only comes where nothing is lost.
        if generator.oneIn(4) { store.durability = .none }
        isStepped = !generator.oneIn(3)
        container = try store.open(stepped: isStepped)
    }

    private func database(_ number: Int) -> Database {
        container.privateDatabase(for: StoreAnswers.users[number])
    }

    mutating func run(_ count: Int) async throws {
        // By default deletions are remembered for longer than this takes.
        model.mayForget = generator.oneIn(2)
        if model.mayForget { try await setDeletionPolicy() }
        for _ in 0..<count where problems.isEmpty {
            try await step()
            noteFiles()
            if generator.oneIn(12) { notePast() }
        }
        try await check("at the end")
    }

    private mutating func step() async throws {
        switch generator.below(1000) {
        case ..<280: try await save(count: 1)
        case ..<580: try await save(count: 1 + generator.below(60))
        case ..<585: try await save(count: 300 + generator.below(700))
        case ..<680: try await delete(count: 1 + generator.below(20))
        case ..<690: try await deleteZone()
        case ..<760: try await makeZone()
        case ..<860: try await takeToken()
        case ..<920: try takeSnapshot()
        case ..<940: try releaseSnapshot()
        case ..<945: try await check("in between")
        case ..<975: try await compact()
        case ..<979: try await setPolicy()
        case ..<983: try await mark()
        case ..<986: try await removeMark()
        case ..<989: if model.mayForget { try await setDeletionPolicy() }
        case ..<992: try await backUp()
        case ..<995: try await addIndex()
        case ..<996: try await removeIndex()
        default: if generator.oneIn(4) { try await reopen() }
        }
    }

    /// A database and a zone of it that is there.
    private mutating func place() -> (database: Int, zone: String) {
        let database = generator.below(2)
        let zones = model.databases[database].zones.keys.sorted()
        return (database, zones[generator.below(zones.count)])
    }

    private mutating func noteFiles() {
        let files = store.indexFiles
        tally.tablesWritten += files.subtracting(seenFiles).count
        tally.tablesMerged += seenFiles.subtracting(files).count
        seenFiles = files
    }
}

// Changes.
extension StoreRun {
    private mutating func save(count: Int) async throws {
        let (number, zone) = place()
        let zoneID = RecordZone.ID(zoneName: zone)
        var names: Set<String> = []
        var records: [Record] = []
        for _ in 0..<count {
            let name = "r\(generator.below(count > 100 ? 2000 : 200))"
            guard names.insert(name).inserted else { continue }
            let type = StoreAnswers.types[generator.below(3)]
            var record =
                model.databases[number].zones[zone]?.records[name]
                ?? Record(
                    recordType: type, recordID: Record.ID(recordName: name, zoneID: zoneID))
            record["number"] = .int64(Int64(truncatingIfNeeded: generator.next()))
            record["text"] = .string(String(repeating: "x", count: generator.below(100)))
            if zone != StoreModel.defaultZone, count < 100 { link(&record, in: zone, of: number) }
            records.append(record)
        }
        let result = try await database(number).modifyRecords(saving: records)
        if let failure = result.partialFailure { throw failure }
        for record in records {
            guard let saved = try result.saveResults[record.recordID]?.get() else { continue }
            if saved["number"] != record["number"] || saved["text"] != record["text"] {
                problems.append("\(record.recordID.recordName) is not what was saved")
            }
            model.save(saved, in: zone, of: number)
        }
        tally.changes += records.count
    }

    private mutating func delete(count: Int) async throws {
        let (number, zone) = place()
        let known = model.databases[number].zones[zone]?.records.keys.sorted() ?? []
        var names: [String] = generator.oneIn(5) ? ["nobody"] : []
        for _ in 0..<count where !known.isEmpty {
            let name = known[generator.below(known.count)]
            if !names.contains(name) { names.append(name) }
        }
        let ids = names.map {
            Record.ID(recordName: $0, zoneID: RecordZone.ID(zoneName: zone))
        }
        let result = try await database(number).modifyRecords(saving: [], deleting: ids)
        guard let gone = model.databases[number].zones[zone]?.deletion(of: names) else {
            tally.refusals += 1
            if result.partialFailure == nil { problems.append("a parent of what stays went") }
            return
        }
        // A zone in which nothing was saved may not exist.
        if let failure = result.partialFailure, !known.isEmpty { throw failure }
        for name in gone { model.delete(name, in: zone, of: number) }
        tally.changes += gone.count
        tally.cascaded += gone.count - names.count { known.contains($0) }
    }

    /// Gives a record a parent or a cascade target, or takes them away. Both have lower numbers, so
    /// that no record is its own ancestor.
    private mutating func link(_ record: inout Record, in zone: String, of number: Int) {
        func place(_ name: String) -> Int { Int(name.dropFirst()) ?? 0 }
        let own = place(record.recordID.recordName)
        func reference(_ name: String, _ action: Reference.Action) -> Reference {
            Reference(
                recordID: Record.ID(recordName: name, zoneID: record.recordID.zoneID),
                action: action)
        }
        switch generator.below(12) {
        case 0, 1:
            let names = model.databases[number].zones[zone]?.records.keys.sorted() ?? []
            let parents = names.filter { place($0) < own }
            if let name = parents.randomElement(using: &generator) {
                record.parent = reference(name, .none)
            }
        case 2: record.parent = nil
        case 3, 4:
            // It need not be there.
            if own > 0 {
                let name = "r\(generator.below(own))"
                record["target"] = .reference(reference(name, .deleteSelf))
            }
        case 5: record["target"] = nil
        default: break
        }
    }

    private mutating func makeZone() async throws {
        let number = generator.below(2)
        let name = Self.zones[generator.below(4)]
        guard model.databases[number].zones[name] == nil else { return }
        try await database(number).save(RecordZone(zoneName: name))
        model.makeZone(name, in: number)
        tally.changes += 1
    }

    private mutating func deleteZone() async throws {
        let (number, zone) = place()
        guard zone != StoreModel.defaultZone else { return }
        try await database(number).deleteRecordZone(withID: RecordZone.ID(zoneName: zone))
        model.deleteZone(zone, in: number)
        tally.changes += 1
    }

    /// In the middle of a feed, or at the end of it.
    private mutating func takeToken() async throws {
        let (number, zone) = place()
        guard zone != StoreModel.defaultZone, let known = model.databases[number].zones[zone]
        else {
            let changes = try await database(number).databaseChanges()
            tokens.append(
                StoreAnswers.Token(
                    database: number, token: changes.changeToken, sequence: model.sequence))
            return
        }
        let limit = 1 + generator.below(100)
        let page = try await database(number).recordZoneChanges(
            inZoneWith: RecordZone.ID(zoneName: zone), resultsLimit: limit)
        let changes = known.orderedChanges
        if !model.mayForget, page.moreComing != (changes.count > limit) {
            problems.append("a page of \(limit) of \(changes.count) says \(page.moreComing)")
        }
        // Deletions are left out, and of those that are forgotten the page has no place.
        let last = page.modifications.compactMap { known.changes[$0.recordID.recordName]?.sequence }
            .max()
        tokens.append(
            StoreAnswers.Token(
                database: number, zone: zone, instance: known.instance, token: page.changeToken,
                sequence: page.moreComing ? last ?? 0 : model.sequence,
                floor: page.moreComing ? model.sequence : 0))
        if tokens.count > 40 { tokens.remove(at: generator.below(20)) }
    }
}

// Indexes. Queries find the same with them and without.
extension StoreRun {
    private mutating func addIndex() async throws {
        let fields = [
            "number", "text", "target", "creationDate", "modificationDate", "creatorUserRecordID",
        ]
        let field = fields[generator.below(fields.count)]
        let options: [RecordIndex.Option] =
            switch field {
            case "target", "creatorUserRecordID": [.queryable]
            case "number", "creationDate", "modificationDate": [.queryable, .sortable]
            default: [.queryable, .sortable, .searchable]
            }
        let option = options[generator.below(options.count)]
        let type = StoreAnswers.types[generator.below(3)]
        let pairs = [
            ["number", "text"], ["text", "number"], ["target", "number"],
            ["text", "modificationDate"], ["lastModifiedUserRecordID", "number"],
        ]
        do throws(StoreError) {
            let index =
                generator.oneIn(3)
                ? try await container.addIndex(on: pairs[generator.below(pairs.count)], of: type)
                : try await container.addIndex(on: field, of: type, option)
            if index.state != .complete { problems.append("an index is \(index.state)") }
            tally.indexesAdded += 1
        } catch {
            // No record was saved with the field yet.
            guard error.code == .invalidArguments else { throw error }
        }
    }

    private mutating func removeIndex() async throws {
        guard let index = try await container.indexes().randomElement(using: &generator) else {
            return
        }
        try await container.removeIndex(index)
        tally.indexesRemoved += 1
    }
}

// The past.
extension StoreRun {
    private mutating func notePast(_ mark: Mark? = nil) {
        past.append(
            Past(
                offset: mark?.offset ?? container.snapshot().offset,
                time: mark == nil ? container.information.lastCommit : nil, model: model,
                mark: mark))
        if past.count > 20 {
            let number = generator.below(past.count - 1)
            if past[number].mark == nil { past.remove(at: number) }
        }
    }

    private mutating func setPolicy() async throws {
        let old = try await container.history()
        let new: History.Policy =
            switch generator.below(5) {
            case 0: .none
            case 1: .bytes(generator.below(1 << 20))
            // A commit takes a millisecond or so, by the clock of the store.
            case 2: .age(seconds: generator.below(2))
            default: .everything
            }
        if new == policy { return }
        let before = container.snapshot().offset
        policyStart = old.floor ?? before
        try await container.setHistoryPolicy(new)
        // A thread of the store's own may have ended a group in between.
        if old.floor == nil, let floor = try await container.history().floor {
            if (before...container.snapshot().offset).contains(floor) {
                policyStart = floor
            } else if new == .everything {
                problems.append("a policy set at \(before) begins at \(floor)")
            }
        }
        policy = new
        tally.policies += 1
    }

    private mutating func setDeletionPolicy() async throws {
        let policy: History.Policy =
            switch generator.below(4) {
            case 0: .everything
            case 1: .bytes(generator.below(1 << 18))
            case 2: .age(seconds: generator.below(2))
            default: .none
            }
        try await container.setDeletionPolicy(policy)
        let set = try await container.history().deletions
        if set != policy { problems.append("deletions are kept by \(set), not \(policy)") }
    }

    private mutating func mark() async throws {
        let mark = try await container.mark("m")
        tally.marks += 1
        notePast(mark)
    }

    private mutating func removeMark() async throws {
        guard let number = past.indices.filter({ past[$0].mark != nil }).first else { return }
        guard let mark = past[number].mark else { return }
        try await container.removeMark(mark)
        past[number].mark = nil
    }

    /// What was is found by any name, or it is refused: as the policy and the marks say.
    private mutating func checkPast(_ container: Container, _ when: String, all: Bool) async throws
    {
        let history = try await container.history()
        let head = container.snapshot().offset
        // Right behind the last entry.
        let end = try await container.snapshot(at: .offset(head)).offset
        if history.policy != policy { problems.append("\(when): policy \(history.policy)") }
        switch policy {
        case .none: if history.floor != nil { problems.append("\(when): none has a floor") }
        case .everything:
            if history.floor != policyStart { problems.append("\(when): floor of everything") }
        case .bytes(let count):
            let expected = max(policyStart, end - min(end, UInt64(count / 8)))
            if history.floor != expected { problems.append("\(when): floor of bytes") }
        case .age:
            if history.floor ?? 0 < policyStart { problems.append("\(when): floor of age") }
        }
        let marks = try await container.marks()
        if Set(marks) != Set(past.compactMap(\.mark)) { problems.append("\(when): marks") }
        for known in past where all || generator.oneIn(4) {
            let isKept = known.mark != nil || history.floor.map { known.offset >= $0 } ?? false
            var points: [PastPoint] = [.offset(known.offset)]
            if let mark = known.mark { points.append(.mark(mark)) }
            if let time = known.time { points.append(.time(time)) }
            let point = points[generator.below(points.count)]
            do {
                let snapshot = try await container.snapshot(at: point)
                tally.pastStates += 1
                let answers = try StoreAnswers(snapshot, [])
                if let difference = answers.difference(from: StoreAnswers(known.model, [])) {
                    problems.append("\(when): the past at \(point): \(difference)")
                }
            } catch let error as StoreError where error.code == .changeTokenExpired {
                tally.pastRefusals += 1
                if isKept { problems.append("\(when): the past at \(point) is refused") }
            }
        }
    }
}

// Backups.
extension StoreRun {
    /// An archive, mostly of what changed since the last one, and half the time a restore.
    private mutating func backUp() async throws {
        let keepsHistory = policy != .none || generator.oneIn(2)
        var base: Archive?
        if let archive, !generator.oneIn(4) { base = try await store.openArchive(archive) }
        if keepsHistory, base?.information.keepsHistory == false { base = nil }
        let name = "a\(tally.archives)"
        tally.archives += 1
        do throws(StoreError) {
            try await container.backup(
                to: store.archivePath(name), since: base, keepingHistory: keepsHistory,
                marking: .none)
        } catch {
            guard error.cause == .changeToken(.compacted), base != nil, model.mayForget else {
                throw error
            }
            tally.basesRefused += 1
            archive = nil
            return
        }
        self.archive = name
        let archive = try await store.openArchive(name)
        if generator.oneIn(4) {
            let damage = try await archive.verify()
            if !damage.isEmpty { problems.append("an archive: \(damage)") }
        }
        if generator.oneIn(2) { try await restore(archive) }
    }

    /// Restores what is there now; half the time the run goes on with it.
    private mutating func restore(_ archive: Archive) async throws {
        tally.restores += 1
        let path = "restored\(tally.restores)"
        try await archive.restore(to: path)
        let copy = store.opening(path)
        let restored = try copy.open(stepped: isStepped)
        try compare(restored, "restored")
        let isSame = policy == .none || archive.information.keepsHistory
        guard isSame, generator.oneIn(2) else {
            try await restored.close()
            for path in store.disk.paths where path.hasPrefix(copy.path("")) {
                store.disk.delete(path)
            }
            return
        }
        for held in held { try checkHeld(held) }
        held = []
        try await container.close()
        store = copy
        container = restored
        self.archive = nil
        seenFiles = store.indexFiles
        if policy != .none { policyStart = max(policyStart, archive.information.floor) }
        try await checkPast(container, "restored", all: false)
    }
}

// What is seen.
extension StoreRun {
    private mutating func takeSnapshot() throws {
        guard held.count < 3 else { return }
        tally.snapshots += 1
        held.append(
            Held(
                snapshot: container.snapshot(), expected: StoreAnswers(model, tokens),
                tokens: tokens))
    }

    private mutating func releaseSnapshot() throws {
        guard !held.isEmpty else { return }
        try checkHeld(held.remove(at: generator.below(held.count)))
    }

    private mutating func checkHeld(_ held: Held) throws {
        tally.comparisons += 1
        let answers = try StoreAnswers(held.snapshot, held.tokens)
        if let difference = answers.difference(from: held.expected) {
            problems.append("a snapshot: \(difference)")
        }
    }

    private mutating func check(_ when: String) async throws {
        try compare(container, when)
        for held in held { try checkHeld(held) }
        try await checkPast(container, when, all: false)
    }

    private mutating func compare(_ container: Container, _ when: String) throws {
        tally.comparisons += 1
        let answers = try StoreAnswers(container.snapshot(), tokens)
        let expected = StoreAnswers(model, tokens)
        tally.forgotten += answers.refusals(beside: expected)
        if let difference = answers.difference(from: expected) {
            problems.append("\(when): \(difference)")
        }
    }

    private mutating func reopen() async throws {
        for held in held { try checkHeld(held) }
        held = []
        switch generator.below(3) {
        case 0: try await container.close()
        case 1: store.disk.killProcesses()
        default:
            if store.durability == .full {
                store.disk.crash(seed: generator.next())
            } else {
                try await container.close()
                store.disk.crash(seed: generator.next())
            }
        }
        if generator.oneIn(10) { try verify("before an opening") }
        container = try store.open(stepped: isStepped)
        tally.openings += 1
        if generator.oneIn(3) { try await check("after an opening") }
    }

    /// Nothing that is asked for changes.
    private mutating func compact() async throws {
        let report = try await container.maintenance.compact()
        if !report.damage.isEmpty { problems.append("compacting: \(report.damage)") }
        tally.compactions += 1
        tally.segmentsCompacted += report.compactedSegments
        if generator.oneIn(4) { try await check("compacted") }
    }

    /// What a checkpoint says is what the journal says.
    private mutating func verify(_ when: String) throws {
        tally.verifications += 1
        let findings = try store.verification().findings.filter { $0.severity == .damage }
        if !findings.isEmpty { problems.append("\(when): \(findings)") }
    }

    /// The store, closed; everything is on the medium.
    mutating func closed() async throws -> SmallStore {
        held = []
        try await container.close()
        store.disk.killProcesses()
        store.settle()
        return store
    }

    /// The end: the store as it is, the same without its checkpoint, and the model are one.
    mutating func checkRebuilt() async throws {
        let store = try await closed()
        try verify("closed")
        for deletes in [false, true] {
            for damages in [false, true] where deletes || damages {
                let copy = store.copy(seed: seed)
                if damages { try copy.loseCheckpoint() }
                if deletes { copy.deleteIndexFiles() }
                try await checkCopy(copy, "rebuilt, deleted \(deletes), damaged \(damages)")
            }
        }
        try await checkCopy(store, "as it is")
    }

    /// Opened, opened again after a death, and closed cleanly.
    private mutating func checkCopy(_ copy: SmallStore, _ name: String) async throws {
        try compare(try copy.open(), name)
        copy.disk.killProcesses()
        let second = try copy.open()
        try compare(second, name + ", after a death")
        try await checkPast(second, name, all: true)
        try await second.close()
        // What the opening itself has to write is named by its next checkpoint.
        let before = copy.indexFiles
        let third = try copy.open()
        try compare(third, name + ", closed")
        let strays = try copy.strays.intersection(before)
        if !third.recoveryReport.wasClean || !strays.isEmpty {
            problems.append("\(name): after a clean opening there are \(strays)")
        }
        try await checkLinks(third, name)
        try await third.close()
    }

    /// What was made of parents and cascade targets shows when records are deleted.
    private mutating func checkLinks(_ container: Container, _ name: String) async throws {
        for (user, database) in zip(StoreAnswers.users, model.databases) {
            for (zone, var content) in database.zones where zone != StoreModel.defaultZone {
                for record in content.records.keys.sorted().shuffled(using: &generator).prefix(20) {
                    let id = Record.ID(
                        recordName: record, zoneID: RecordZone.ID(zoneName: zone))
                    let result = try await container.privateDatabase(for: user).modifyRecords(
                        saving: [], deleting: [id])
                    let gone = content.deletion(of: [record])
                    if (gone == nil) != (result.partialFailure != nil) {
                        problems.append("\(name): \(record) can be deleted: \(gone == nil)")
                    }
                    for other in gone ?? [] { content.records[other] = nil }
                }
                let left = try container.snapshot().privateDatabase(for: user).pages(
                    of: RecordZone.ID(zoneName: zone))
                if left.map(\.recordID.recordName) != content.records.keys.sorted() {
                    problems.append("\(name): what is left of \(zone) after deletions")
                }
            }
        }
    }
}
