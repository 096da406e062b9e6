import FoundationEssentials
import Stratus
import StratusFiles
import Support

/// Random changes of zones that are shared, by their owner and by participants, beside a model; and
/// mirrors of what each participant sees, which read at their own pace, at times from old tokens.
struct SharingRun {
    /// What happened, for the report.
    struct Tally {
        var calls = 0
        var refused = 0
        var sharesMade = 0
        var sharesEnded = 0
        var accepted = 0
        var left = 0
        var removed = 0
        var nested = 0
        var moved = 0
        var written = 0
        var pages = 0
        var rounds = 0
        var deletions = 0
        var expired = 0
        var reads = 0
        var openings = 0
        var compactions = 0
        var verifications = 0
        /// Histories in which one zone was crowded, steps that left one so, and rounds that users
        /// with many parts completed there.
        var crowded = 0
        var crowdedSteps = 0
        var crowdedRounds = 0
        /// Trees longer than a commit that were shared: their shares grew.
        var longTrees = 0

        static func + (left: Tally, right: Tally) -> Tally {
            var sum = left
            for key in Self.keys { sum[keyPath: key] += right[keyPath: key] }
            return sum
        }

        private static var keys: [WritableKeyPath<Tally, Int>] {
            [
                \.calls, \.refused, \.sharesMade, \.sharesEnded, \.accepted, \.left, \.removed,
                \.nested, \.moved, \.written, \.pages, \.rounds, \.deletions, \.expired, \.reads,
                \.openings, \.compactions, \.verifications, \.crowded, \.crowdedSteps,
                \.crowdedRounds, \.longTrees,
            ]
        }
    }

    static let owner = "alice"
    static let users = ["bob", "carol", "dave"]
    static let zones = ["z0", "z1"]
    static let types = ["T0", "T1"]
    /// Page sizes, from the least to all at once.
    private var limits: [Int] {
        shape == .long ? [1, 7, 50, 1000, 1000, 1000] : [1, 1, 2, 3, 7, 50, 1000]
    }
    private static let mirrorLimit = 18

    let store: SmallStore
    /// Whether the power goes, too.
    private let crashes: Bool
    let shape: Shape
    var container: Container
    var generator: SeededGenerator
    var model = SharingModel()
    var tally = Tally()
    private(set) var step = 0
    private(set) var problems: [String] = []
    private(set) var mirrors: [SharingMirror] = []
    /// The zone that is shared as a whole, where there is one in this run.
    let wholeZone: String?
    /// Whether the store may forget deletions.
    private let mayForget: Bool
    /// What each user has seen or could have, by zone: a deletion names nothing else.
    private var everVisible: [String: Set<String>] = [:]
    /// For each user and zone how many times a part in all of the zone, or the zone, has ended.
    private var endings: [String: Int] = [:]
    /// What the zones hold as their owner sees them, read once after each change.
    private var truth: [String: [String: Record]] = [:]
    /// What of them each user sees.
    private var shown: [String: [String: SharingMirror.Seen]] = [:]
    /// For values, names of shares and the like.
    private var counter: Int64 = 0

    init(seed: UInt64, crashes: Bool = false) throws {
        generator = SeededGenerator(seed: seed)
        shape = Shape(seed: seed)
        var store = SmallStore(seed: seed, maps: seed % 2 == 1)
        self.crashes = crashes
        if !crashes { store.durability = .none }
        self.store = store
        wholeZone = generator.oneIn(2) ? "z1" : nil
        mayForget = generator.oneIn(4)
        container = try store.open()
    }

    mutating func run(_ steps: Int) async throws {
        for zone in Self.zones { try await makeZone(zone) }
        if mayForget { try await setDeletionPolicy() }
        for user in Self.users {
            for zone in Self.zones { addMirror(SharingMirror(of: user, zone: zone)) }
            addMirror(SharingMirror(of: user, zone: nil))
        }
        try await begin()
        for number in 0..<shape.steps(of: steps) where problems.isEmpty {
            step = number
            if try await change() { noteVisible() }
            noteCrowd()
            if generator.oneIn(4) { try await checkReads() }
            for _ in 0..<generator.below(3) { try await readOn() }
        }
        if problems.isEmpty { try await finish("at the end") }
    }

    private mutating func change() async throws -> Bool {
        if try await changeShape() { return true }
        switch generator.below(1000) {
        case ..<420: try await changeAsOwner()
        case ..<600: try await changeAsParticipant()
        case ..<700: try await accept()
        case ..<740: try await leave()
        case ..<800: try await editShare()
        case ..<850: try await shareOrUnshareZone()
        case ..<880: try await moveToOtherZone()
        case ..<890: try await deleteZone()
        case ..<900: try await deleteAndMakeAnew()
        default:
            try await maintain()
            return false
        }
        return true
    }

    mutating func next() -> Int64 {
        counter += 1
        return counter
    }

    mutating func report(_ problem: String) {
        problems.append("step \(step): \(problem)")
    }
}

// Names.
extension SharingRun {
    var ownersDatabase: Database { container.privateDatabase(for: Self.owner) }

    func database(of user: String) -> Database { container.sharedDatabase(for: user) }

    func zoneID(_ zone: String) -> RecordZone.ID { RecordZone.ID(zoneName: zone) }

    /// As participants name it.
    func sharedID(_ zone: String) -> RecordZone.ID {
        RecordZone.ID(zoneName: zone, ownerName: container.userRecordName(for: Self.owner))
    }

    private static func key(_ user: String, _ zone: String) -> String { user + " " + zone }

    func endings(of user: String, in zone: String) -> Int {
        endings[Self.key(user, zone)] ?? 0
    }

    mutating func noteEnding(of user: String, in zone: String) {
        endings[Self.key(user, zone), default: 0] += 1
    }

    /// Something was changed.
    mutating func noteVisible() {
        forgetTruth()
        for user in Self.users {
            for (name, zone) in model.zones {
                everVisible[Self.key(user, name), default: []].formUnion(
                    zone.visible(to: user))
            }
        }
    }

    private mutating func forgetTruth() {
        truth = [:]
        shown = [:]
    }

    /// The records of a zone as its owner reads them; they must be those of the model.
    private mutating func stored(_ zone: String) async throws -> [String: Record] {
        if let known = truth[zone] { return known }
        var records: [String: Record] = [:]
        var cursor: RecordPage.Cursor?
        repeat {
            let page = try await ownersDatabase.records(
                inZoneWith: zoneID(zone), resultsLimit: 100, from: cursor)
            for record in page.records { records[record.recordID.recordName] = record }
            cursor = page.cursor
        } while cursor != nil
        truth[zone] = records
        guard let expected = model.zones[zone] else { return records }
        let names = Set(expected.nodes.keys).union(expected.shares.map { $0.recordName })
        if names != Set(records.keys) {
            report(
                "\(zone) has \(Set(records.keys).subtracting(names)),"
                    + " lacks \(names.subtracting(records.keys))")
        }
        for (name, node) in expected.nodes {
            guard let record = records[name] else { continue }
            let found = SharingModel.Node(
                type: record.recordType, parent: record.parent?.recordID.recordName,
                value: record["n"]?.int64Value ?? -1)
            if found != node { report("\(name) of \(zone) is \(found), not \(node)") }
            let share = expected.shares.first { $0.root == name }?.recordName
            if record.share?.recordID.recordName != share {
                report("\(name) of \(zone) is the root of another share than \(share ?? "none")")
            }
        }
        return records
    }

    /// What a user must see of a zone.
    private mutating func shown(
        to user: String, in zone: String
    ) async throws -> [String: SharingMirror.Seen] {
        if let known = self.shown[Self.key(user, zone)] { return known }
        let records = try await stored(zone)
        guard let expected = model.zones[zone] else { return [:] }
        var shown: [String: SharingMirror.Seen] = [:]
        for name in expected.visible(to: user) {
            guard let record = records[name] else { continue }
            var seen = SharingMirror.Seen(record)
            seen.parent = expected.shownParent(of: name)
            shown[name] = seen
        }
        self.shown[Self.key(user, zone)] = shown
        return shown
    }
}

// Mirrors.
extension SharingRun {
    private mutating func addMirror(_ mirror: SharingMirror) {
        var mirror = mirror
        mirror.limit = limits[generator.below(limits.count)]
        mirror.forgets = generator.oneIn(2)
        if mirrors.count >= Self.mirrorLimit {
            // The first ones stay, so that each user and zone has one.
            let first = Self.users.count * (Self.zones.count + 1)
            mirrors.remove(at: first + generator.below(mirrors.count - first))
        }
        mirrors.append(mirror)
    }

    /// Lets a mirror read some pages; at times the copy of one, which goes on from the same token.
    private mutating func readOn() async throws {
        let place = generator.below(mirrors.count)
        if generator.oneIn(6) { addMirror(mirrors[place]) }
        var pages = generator.oneIn(3) ? .max : 1 + generator.below(4)
        try await follow(min(place, mirrors.count - 1), &pages)
    }

    private mutating func follow(_ place: Int, _ pages: inout Int) async throws {
        var mirror = mirrors[place]
        if let zone = mirror.zone {
            _ = try await follow(zone, &mirror, &pages)
        } else {
            try await followDatabase(&mirror, &pages)
        }
        mirrors[place] = mirror
    }

    /// Returns whether it came to the end, where the mirror must be what the user sees.
    private mutating func follow(
        _ zone: String, _ mirror: inout SharingMirror, _ pages: inout Int
    ) async throws -> Bool {
        while pages > 0, problems.isEmpty {
            pages -= 1
            tally.pages += 1
            let held = mirror.zones[zone] ?? SharingMirror.Zone()
            let page: RecordZoneChanges
            do throws(StoreError) {
                page = try await database(of: mirror.user).recordZoneChanges(
                    inZoneWith: sharedID(zone), since: held.token, resultsLimit: mirror.limit)
            } catch {
                switch error.code {
                case .zoneNotFound:
                    if model.zones[zone]?.isVisible(to: mirror.user) ?? false {
                        report("\(mirror.user) does not find \(zone)")
                    }
                    if mirror.forgets { mirror.zones[zone] = nil }
                    return true
                case .changeTokenExpired where held.token != nil:
                    tally.expired += 1
                    let isAllowed =
                        mayForget || held.endings != endings(of: mirror.user, in: zone)
                    if !isAllowed { report("\(mirror.user)'s token of \(zone) is expired") }
                    mirror.zones[zone] = SharingMirror.Zone()
                    continue
                default: throw error
                }
            }
            try await take(page, of: zone, &mirror, held)
            if page.moreComing { continue }
            tally.rounds += 1
            if let state = model.zones[zone], state.isCrowded,
                state.partCount(of: mirror.user) >= Self.manyParts
            {
                tally.crowdedRounds += 1
            }
            let truth = try await shown(to: mirror.user, in: zone)
            if let difference = mirror.difference(in: zone, from: truth) { report(difference) }
            return true
        }
        return false
    }

    /// Applies a page, in which there may be nothing that the user does not see now.
    private mutating func take(
        _ page: RecordZoneChanges, of zone: String, _ mirror: inout SharingMirror,
        _ held: SharingMirror.Zone
    ) async throws {
        let user = mirror.user
        let visible = try await shown(to: user, in: zone)
        var zoneMirror = held
        if page.isFullSnapshot != (held.token == nil) { report("\(user): a full snapshot") }
        if page.isFullSnapshot { zoneMirror.records = [:] }
        if page.modifications.count + page.deletions.count > mirror.limit {
            report("\(user): a page of more than \(mirror.limit)")
        }
        for record in page.modifications {
            let name = record.recordID.recordName
            let seen = SharingMirror.Seen(record)
            if record.recordID.zoneID != sharedID(zone) { report("\(user): zone of \(name)") }
            guard let expected = visible[name] else {
                report("\(user) is given \(name) of \(zone), which is not to be seen")
                continue
            }
            if seen != expected { report("\(user) is given \(seen), not \(expected)") }
            zoneMirror.records[name] = seen
        }
        for deletion in page.deletions {
            let name = deletion.recordID.recordName
            tally.deletions += 1
            let known = everVisible[Self.key(user, zone)] ?? []
            if !known.contains(name) {
                report("\(user) is told of the deletion of \(name), which never was to be seen")
            }
            zoneMirror.records[name] = nil
        }
        zoneMirror.token =
            generator.oneIn(8) ? try ChangeToken(data: page.changeToken.data) : page.changeToken
        // Amid a round there may be what was seen through a part that ended since it began.
        if !page.moreComing || held.token == nil {
            zoneMirror.endings = endings(of: user, in: zone)
        }
        mirror.zones[zone] = zoneMirror
    }

    private mutating func followDatabase(
        _ mirror: inout SharingMirror, _ pages: inout Int
    ) async throws {
        let database = database(of: mirror.user)
        while pages > 0, problems.isEmpty {
            pages -= 1
            tally.pages += 1
            let page: DatabaseChanges
            do throws(StoreError) {
                page = try await database.databaseChanges(
                    since: mirror.token, resultsLimit: mirror.limit)
            } catch {
                guard error.code == .changeTokenExpired, mirror.token != nil, mayForget else {
                    throw error
                }
                tally.expired += 1
                mirror.token = nil
                continue
            }
            if page.isFullSnapshot { mirror.zones = [:] }
            for deletion in page.deletions { mirror.zones[deletion.zoneID.zoneName] = nil }
            for zone in page.modifications {
                if zone != sharedID(zone.zoneName) { report("\(mirror.user): \(zone)") }
                if model.zones[zone.zoneName]?.isVisible(to: mirror.user) != true {
                    report("\(mirror.user) is told of \(zone.zoneName)")
                }
                guard try await follow(zone.zoneName, &mirror, &pages) else { return }
            }
            // Only now: what was read of the zones is kept with it.
            mirror.token = page.changeToken
            guard !page.moreComing else { continue }
            try await compareAll(mirror)
            return
        }
    }

    /// At the end of the feed of a database all of it is what the user sees.
    private mutating func compareAll(_ mirror: SharingMirror) async throws {
        let expected = model.zones(visibleTo: mirror.user)
        if Set(mirror.zones.keys) != expected {
            report("\(mirror.user)'s database has \(mirror.zones.keys.sorted()), not \(expected)")
        }
        for zone in expected {
            let truth = try await shown(to: mirror.user, in: zone)
            if let difference = mirror.difference(in: zone, from: truth) { report(difference) }
        }
    }

    /// All mirrors come to the end, and so do new ones.
    mutating func finish(_ when: String) async throws {
        forgetTruth()
        for zone in Self.zones { _ = try await stored(zone) }
        for place in mirrors.indices where problems.isEmpty {
            var pages = Int.max
            try await follow(place, &pages)
        }
        for user in Self.users where problems.isEmpty {
            var mirror = SharingMirror(of: user, zone: nil)
            mirror.limit = limits[generator.below(limits.count)]
            var pages = Int.max
            try await followDatabase(&mirror, &pages)
        }
        if !problems.isEmpty { report(when) }
    }
}

// What is read by name and by query.
extension SharingRun {
    private mutating func checkReads() async throws {
        let user = Self.users[generator.below(Self.users.count)]
        let zone = Self.zones[generator.below(Self.zones.count)]
        let database = database(of: user)
        let shown = try await shown(to: user, in: zone)
        let isVisible = model.zones[zone]?.isVisible(to: user) ?? false
        tally.reads += 1
        let found = try await database.allRecordZones().map { $0.zoneID.zoneName }
        if Set(found) != model.zones(visibleTo: user) { report("\(user) finds \(found)") }
        var known = model.zones[zone]?.nodes.keys.sorted() ?? []
        if shape == .long { known = Array(known.shuffled(using: &generator).prefix(50)) }
        for name in known + ["missing"] + shown.keys.filter({ $0.hasPrefix("Share-") }) {
            let id = Record.ID(recordName: name, zoneID: sharedID(zone))
            do throws(StoreError) {
                let record = try await database.record(for: id)
                if SharingMirror.Seen(record) != shown[name] { report("\(user) reads \(name)") }
            } catch {
                let expected: StoreError.Code = isVisible ? .unknownItem : .zoneNotFound
                if error.code != expected || shown[name] != nil {
                    report("\(user) reads \(name): \(error)")
                }
            }
        }
        guard isVisible else { return }
        var listed: [String: SharingMirror.Seen] = [:]
        var cursor: RecordPage.Cursor?
        repeat {
            let page = try await database.records(
                inZoneWith: sharedID(zone), resultsLimit: 1 + generator.below(30), from: cursor)
            for record in page.records {
                listed[record.recordID.recordName] = SharingMirror.Seen(record)
            }
            cursor = page.cursor
        } while cursor != nil
        if listed != shown { report("\(user) lists \(listed.keys.sorted()) of \(zone)") }
        try await checkQuery(user, zone, shown)
    }

    private mutating func checkQuery(
        _ user: String, _ zone: String, _ shown: [String: SharingMirror.Seen]
    ) async throws {
        let type = Self.types[generator.below(Self.types.count)]
        let least = Int64(generator.below(Int(counter) + 1))
        let query = Query(recordType: type, predicate: try .init("n >= \(least)"))
        var names: Set<String> = []
        var cursor: QueryPage.Cursor?
        repeat {
            let page = try await database(of: user).records(
                matching: query, inZoneWith: sharedID(zone),
                resultsLimit: 1 + generator.below(20), from: cursor)
            names.formUnion(page.records.map { $0.recordID.recordName })
            cursor = page.cursor
        } while cursor != nil
        let expected = shown.filter { $0.value.type == type && $0.value.value ?? -1 >= least }
        if names != Set(expected.keys) {
            report("\(user) finds \(names.sorted()), not \(expected.keys.sorted())")
        }
    }
}

// The store itself.
extension SharingRun {
    private mutating func maintain() async throws {
        switch generator.below(10) {
        case ..<3: try await container.checkpoint()
        case ..<6:
            let report = try await container.maintenance.compact()
            if !report.damage.isEmpty { self.report("compacting: \(report.damage)") }
            tally.compactions += 1
        case 6:
            if mayForget { try await setDeletionPolicy() }
        case 7:
            let type = Self.types[generator.below(Self.types.count)]
            do throws(StoreError) {
                let field = generator.oneIn(2) ? "n" : "modificationDate"
                try await container.addIndex(on: field, of: type, .queryable)
            } catch {
                // No record of the type was saved yet.
                guard error.code == .invalidArguments else { throw error }
            }
        default: try await reopen()
        }
    }

    private mutating func reopen() async throws {
        tally.openings += 1
        switch generator.below(crashes ? 4 : 2) {
        case 0: try await container.close()
        case 1: store.disk.killProcesses()
        default: store.disk.crash(seed: generator.next())
        }
        if generator.oneIn(8) { try verify() }
        container = try store.open()
        forgetTruth()
        // What was acknowledged is there.
        for zone in Self.zones { _ = try await stored(zone) }
    }

    /// What the index says is what the journal says.
    private mutating func verify() throws {
        tally.verifications += 1
        let findings = try store.verification().findings.filter { $0.severity == .damage }
        if !findings.isEmpty { report("\(findings)") }
    }

    private mutating func setDeletionPolicy() async throws {
        let policy: History.Policy =
            switch generator.below(3) {
            case 0: .everything
            case 1: .bytes(generator.below(1 << 15))
            default: .none
            }
        try await container.setDeletionPolicy(policy)
    }

    /// The end: a store whose index is made anew gives the same to all mirrors.
    mutating func checkRebuilt() async throws {
        try await container.close()
        try verify()
        store.disk.killProcesses()
        store.settle()
        try store.loseCheckpoint()
        store.deleteIndexFiles()
        container = try store.open()
        try await finish("rebuilt")
        try await container.close()
    }
}
