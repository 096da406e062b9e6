import CCounting
import FoundationEssentials
import Stratus

/// What sharing costs, as ratios of one run: saves into a shared tree beside W3, a participant's reads beside
/// the owner's, sharing a tree and moving one into a share beside saving it, and what other callers see of
/// that.
struct SharingCost {
    private static let usage =
        "Benchmarks sharing DIRECTORY COUNT ROUNDS [saves|reads|trees|memory]"
    private static let parts = ["saves", "reads", "trees", "memory"]
    private static let batch = 200
    private static let zone = RecordZone.ID(zoneName: "items")
    /// In each round, in microseconds of what is counted, by what it is.
    private var figures: [String: [Double]] = [:]
    /// Whether figures count: those of the first round, which fills caches, do not.
    private var counts = false

    private let directory: String
    /// How many records a tree has.
    private let count: Int

    static func run(_ arguments: [String]) async throws {
        guard 3...4 ~= arguments.count,
            let count = Int(arguments[1]), let rounds = Int(arguments[2]),
            count >= 10_000, rounds > 0,
            arguments.dropFirst(3).allSatisfy(parts.contains)
        else { throw BenchmarkError(usage) }
        let measured = arguments.count == 4 ? [arguments[3]] : parts
        var cost = SharingCost(directory: arguments[0], count: count)
        for round in 0...rounds {
            cost.counts = round > 0
            if measured.contains("saves") { try await cost.saves(round) }
            if measured.contains("reads") { try await cost.reads() }
            if measured.contains("trees") { try await cost.trees() }
            if measured.contains("memory") { try await cost.memory() }
        }
        cost.report()
    }

    private init(directory: String, count: Int) {
        self.directory = directory
        self.count = count
    }

    private mutating func note(_ name: String, _ microseconds: Double) {
        if counts { figures[name, default: []].append(microseconds) }
    }

    /// Measures `body`, which does so many of something, in CPU time.
    private mutating func measure(
        _ name: String, _ count: Int, _ body: () async throws -> Void
    ) async throws {
        let start = cpuTime()
        try await body()
        note(name, (cpuTime() - start) / Double(count) * 1e6)
    }

    /// Nil where that was not measured.
    private func ratio(_ name: String, to other: String) -> String? {
        guard let mine = figures[name].flatMap(Number.median), mine > 0,
            let base = figures[other].flatMap(Number.median)
        else { return nil }
        return Number.short(base / mine)
    }

    private func report() {
        for (name, figures) in figures.sorted(by: { $0.key < $1.key }) {
            print("\(name): \(Number.short(Number.median(figures) ?? 0)) us")
        }
        for (name, other, aim) in [
            ("save, shared with 1", "save, as W3", "0.75"),
            ("save, shared with 1", "save, not shared", "none"),
            ("save, shared with 100", "save, shared with 1", "0.97"),
            ("page, participant", "page, owner", "0.8"),
            ("first sync, participant", "first sync, owner", "0.7"),
            ("read, participant", "read, owner", "0.7"),
            ("share a tree, a record", "save a tree, a record", "1"),
            ("move a tree in, a record", "save a tree, a record", "1"),
            ("p99 of others while a tree is shared", "p99 of others", "0.33"),
            ("p99 of others while a tree is saved", "p99 of others", "none"),
            ("end a share", "save alone", "1"),
        ] {
            guard let ratio = ratio(name, to: other) else { continue }
            print("\(name), of \(other): \(ratio) (aim \(aim))")
        }
    }
}

// The records of W3, 200 a call: as there, and below a root.
extension SharingCost {
    private enum Saves: String, CaseIterable {
        case asW3 = "save, as W3"
        case unshared = "save, not shared"
        case sharedWithOne = "save, shared with 1"
        case sharedWithMany = "save, shared with 100"

        var users: Int {
            switch self {
            case .asW3, .unshared: 0
            case .sharedWithOne: 1
            case .sharedWithMany: 100
            }
        }
    }

    private mutating func saves(_ round: Int) async throws {
        let kinds = Saves.allCases
        // Each is first, second and last equally often.
        for place in kinds.indices { try await save(kinds[(place + round) % kinds.count]) }
    }

    private mutating func save(_ kind: Saves) async throws {
        let store = try await Store(directory + "/saves", durability: .none)
        try await store.save(below: nil, ["root"])
        if kind.users > 0 {
            try await store.share("root", with: (0..<kind.users).map { "user \($0)" })
        }
        let items = Items()
        let root = Reference(recordID: Record.ID(recordName: "root", zoneID: Self.zone))
        var time = 0.0
        for first in stride(from: 0, to: count, by: Self.batch) {
            let batch = (first..<min(first + Self.batch, count)).map { number in
                var record = Record(items[number], in: Self.zone)
                if kind != .asW3 { record.parent = root }
                return record
            }
            let start = cpuTime()
            try await store.save(batch)
            time += cpuTime() - start
        }
        // With the merges that they cause.
        let start = cpuTime()
        try await store.container.close()
        note(kind.rawValue, (time + cpuTime() - start) / Double(count) * 1e6)
    }
}

// The memory of its own that the process takes while a tree is shared, and another one moved in.
extension SharingCost {
    private mutating func memory() async throws {
        let path = directory + "/memory"
        var store = try await Store(path, durability: .none)
        try await store.save(below: nil, ["root", "outside"])
        try await store.saveTree(below: "root", count)
        try await store.saveTree(below: "outside", count / 10)
        try await store.container.close()
        // What making the records took is given back.
        counting_trim()
        let before = Memory.status("RssAnon")
        let peak = try await Peak.sample {
            store = try await Store(reopening: path)
            try await store.share("root", with: ["user 0"])
            try await store.move("outside", below: "root")
            try await store.container.close()
        }.bytes
        let above = Double(peak - before) / Double(1 << 20)
        print("memory: \(Number.short(above)) MiB above \(before >> 20) (limit 64, aim 88)")
    }
}

// What the owner and a participant read of the same tree.
extension SharingCost {
    private mutating func reads() async throws {
        let store = try await Store(directory + "/reads", durability: .none)
        try await store.save(below: nil, ["root"])
        let names = try await store.saveTree(below: "root", count / 10)
        try await store.share("root", with: ["user 0"])
        let ofOwner = (database: store.owner, zone: Self.zone, name: "owner")
        let ofParticipant = (
            database: store.container.sharedDatabase(for: "user 0"), zone: store.sharedZone,
            name: "participant"
        )
        for (database, zone, name) in [ofOwner, ofParticipant] {
            var pages = 0
            let start = cpuTime()
            var token: ChangeToken?
            var more = true
            while more {
                let page = try await database.recordZoneChanges(
                    inZoneWith: zone, since: token, resultsLimit: 1000)
                (token, more) = (page.changeToken, page.moreComing)
                pages += 1
            }
            note("first sync, \(name)", (cpuTime() - start) * 1e6)
        }
        var tokens: [ChangeToken] = []
        for (database, zone, _) in [ofOwner, ofParticipant] {
            tokens.append(try await Self.token(database, zone))
        }
        for (parent, names) in Dictionary(grouping: names.shuffled().prefix(1000), by: \.parent) {
            try await store.save(below: parent, names.map(\.name))
        }
        // Both read the same, in turns: what one has read the other finds in memory, too.
        let read = names.shuffled().prefix(20_000)
        for _ in 0..<10 {
            for ((database, zone, name), token) in zip([ofOwner, ofParticipant], tokens) {
                try await measure("page, \(name)", 5) {
                    for _ in 0..<5 {
                        let page = try await database.recordZoneChanges(
                            inZoneWith: zone, since: token, resultsLimit: 1000)
                        guard page.modifications.count >= 999 else {
                            throw BenchmarkError("a page of \(page.modifications.count)")
                        }
                    }
                }
                let ids = read.map { Record.ID(recordName: $0.name, zoneID: zone) }
                try await measure("read, \(name)", ids.count) {
                    for id in ids { _ = try await database.record(for: id) }
                }
            }
        }
        try await store.container.close()
    }

    private static func token(
        _ database: Database, _ zone: RecordZone.ID
    ) async throws -> ChangeToken {
        var token: ChangeToken?
        while true {
            let page = try await database.recordZoneChanges(
                inZoneWith: zone, since: token, resultsLimit: 10_000)
            if !page.moreComing { return page.changeToken }
            token = page.changeToken
        }
    }
}

// Sharing a tree alone, and sharing another one while others save, beside the same of saving it.
extension SharingCost {
    private mutating func trees() async throws {
        let store = try await Store(directory + "/trees", durability: .full)
        try await store.save(below: nil, ["root", "other root", "outside"])
        var start = now()
        try await store.saveTree(below: "root", count)
        note("save a tree, a record", (now() - start) / Double(count) * 1e6)
        // A tree of a tenth of it, that is moved later.
        try await store.saveTree(below: "outside", count / 10)

        start = now()
        try await store.share("root", with: ["user 0"])
        note("share a tree, a record", (now() - start) / Double(count) * 1e6)

        let idle = try await store.p99(while: { try await Task.sleep(for: .seconds(2)) })
        note("p99 of others", idle)
        let count = count
        let saving = try await store.p99(while: {
            try await store.saveTree(below: "other root", count)
        })
        note("p99 of others while a tree is saved", saving)
        let sharing = try await store.p99(while: {
            try await store.share("other root", with: ["user 0"])
        })
        note("p99 of others while a tree is shared", sharing)

        start = now()
        try await store.move("outside", below: "root")
        note("move a tree in, a record", (now() - start) / Double(count / 10) * 1e6)

        start = now()
        try await store.save(below: nil, ["alone"])
        note("save alone", (now() - start) * 1e6)
        let root = try await store.owner.record(
            for: Record.ID(recordName: "root", zoneID: Self.zone))
        guard let share = root.share else { throw BenchmarkError("the root is not shared") }
        start = now()
        try await store.owner.deleteRecord(withID: share.recordID)
        note("end a share", (now() - start) * 1e6)
        try await store.container.close()
    }
}

/// A store with one zone.
private struct Store {
    let container: Container
    let owner: Database
    private let zone = RecordZone.ID(zoneName: "items")

    init(_ path: String, durability: Container.Durability) async throws {
        Disk.remove(path)
        container = try await Container.open(at: path, creating: true, durability: durability)
        owner = container.privateDatabase(for: "owner")
        try await owner.save(RecordZone(zoneID: zone))
    }

    /// One that was made before.
    init(reopening path: String) async throws {
        container = try await Container.open(at: path, durability: .none)
        owner = container.privateDatabase(for: "owner")
    }

    /// Gives a record another parent, and so moves all that is below it.
    func move(_ name: String, below parent: String) async throws {
        var record = try await owner.record(for: Record.ID(recordName: name, zoneID: zone))
        record.parent = Reference(recordID: Record.ID(recordName: parent, zoneID: zone))
        try await owner.save(record)
    }

    /// The zone as participants name it.
    var sharedZone: RecordZone.ID {
        RecordZone.ID(
            zoneName: zone.zoneName, ownerName: container.userRecordName(for: "owner"))
    }

    func records(below parent: String?, _ names: [String]) -> [Record] {
        names.map { name in
            var record = Record(
                recordType: "Item", recordID: Record.ID(recordName: name, zoneID: zone))
            record["title"] = .string("title of \(name)")
            record["note"] = .string(String(repeating: name, count: 12))
            record["count"] = .int64(Int64(name.utf8.count))
            if let parent {
                record.parent = Reference(
                    recordID: Record.ID(recordName: parent, zoneID: zone))
            }
            return record
        }
    }

    func save(below parent: String?, _ names: [String]) async throws {
        for first in stride(from: 0, to: names.count, by: 200) {
            try await save(records(below: parent, Array(names[first...].prefix(200))))
        }
    }

    /// Saves about so many records below a root, of which every hundredth has the others below it.
    /// Returns their names, and those of their parents.
    @discardableResult func saveTree(
        below root: String, _ count: Int
    ) async throws -> [(name: String, parent: String)] {
        let parents = (0..<count / 100).map { "\(root)-\($0)" }
        try await save(below: root, parents)
        var names = parents.map { (name: $0, parent: root) }
        for parent in parents {
            let children = (0..<99).map { "\(parent)-\($0)" }
            try await save(below: parent, children)
            names += children.map { ($0, parent) }
        }
        return names
    }

    func save(_ records: [Record]) async throws {
        let result = try await owner.modifyRecords(saving: records, savePolicy: .allKeys)
        if let failure = result.partialFailure { throw failure }
    }

    func share(_ name: String, with users: [String]) async throws {
        let root = try await owner.record(for: Record.ID(recordName: name, zoneID: zone))
        var share = Share(rootRecord: root)
        for user in users {
            try share.addParticipant(
                Share.Participant(
                    UserIdentity.LookupInfo(userRecordID: container.userRecordID(for: user)),
                    role: .privateUser, permission: .readWrite))
        }
        let result = try await owner.modifyRecords(saving: [root, share.record])
        if let failure = result.partialFailure { throw failure }
        guard let record = try result.saveResults[share.recordID]?.get(),
            let link = Share(record)?.shortGUID
        else { throw BenchmarkError("the share has no link") }
        for user in users { try await container.acceptShare(link, as: user) }
    }

    /// The 99th percentile of single saves by another caller, in microseconds, while `body` runs.
    func p99(while body: () async throws -> Void) async throws -> Double {
        let saving = Task {
            var times: [Double] = []
            var number = 0
            while !Task.isCancelled {
                let records = records(below: nil, ["other \(number % 100)"])
                let start = now()
                do { try await save(records) } catch  where Task.isCancelled { break }
                times.append((now() - start) * 1e6)
                number += 1
            }
            return times
        }
        try await body()
        saving.cancel()
        let times = try await saving.value.sorted()
        guard times.count > 100 else { throw BenchmarkError("only \(times.count) saves beside it") }
        return times[times.count * 99 / 100]
    }
}
