import FoundationEssentials
import Stratus
import Support

/// Random changes of a small store, archives of it that go on from each other, and all that can be
/// made of one of them, with readers who have followed the zones of the store.
struct ArchiveRun {
    /// What happened, for the report.
    struct Tally {
        var stores = 0
        var archives = 0
        /// Archives that went on from others.
        var increments = 0
        /// Earlier states that were read or restored, and histories of which each was restored.
        var states = 0
        var histories = 0
        /// Zones that were brought into stores that did not have them, and into ones that did.
        var zones = 0
        var overwrites = 0
        /// Followers that went on, and such that were refused.
        var goodTokens = 0
        var refusedTokens = 0

        mutating func add(_ other: Tally) {
            stores += other.stores
            archives += other.archives
            increments += other.increments
            states += other.states
            histories += other.histories
            zones += other.zones
            overwrites += other.overwrites
            goodTokens += other.goodTokens
            refusedTokens += other.refusedTokens
        }

        var report: String {
            let rows = [
                ("stores", stores), ("archives", archives),
                ("archives that go on from others", increments),
                ("earlier states read or restored", states),
                ("histories of which each state was restored", histories),
                ("zones restored with their history", zones),
                ("zones restored over others", overwrites),
                ("followers that went on", goodTokens),
                ("followers that were refused", refusedTokens),
            ]
            return Campaign.table(["what", "how often"], rows.map { [$0.0, "\($0.1)"] })
        }
    }

    private struct Place: Hashable {
        var user: String
        var zone: RecordZone.ID
    }

    private typealias Content = [Place: [String: String]]

    private static let users = ["alice", "bob"]
    private static let zones = ["a", "b"].map { RecordZone.ID(zoneName: $0) }
    private static let places = users.flatMap { user in
        zones.map { Place(user: user, zone: $0) }
    }

    private let store: SmallStore
    private var generator: SeededGenerator
    private let keepsHistory: Bool
    private var followers: [ZoneFollower] = []
    /// What there was behind each commit, since the last archive that stands alone.
    private var past: [(offset: UInt64, content: Content)] = []
    private(set) var tally = Tally()
    private(set) var problems: [String] = []

    init(seed: UInt64) {
        store = SmallStore(seed: seed, maps: seed % 2 == 1)
        generator = SeededGenerator(seed: seed)
        keepsHistory = generator.oneIn(3)
    }

    mutating func run() async throws {
        tally.stores = 1
        let source = try await other("source", zones: Self.zones)
        let container = try store.open()
        if keepsHistory { try await container.setHistoryPolicy(.everything) }
        for _ in 0..<12 { try await change(container, source) }
        var archive: Archive?
        for number in 0..<1 + generator.below(4) {
            let base = generator.oneIn(4) ? nil : archive
            if base != nil { tally.increments += 1 } else { past = [] }
            for _ in 0..<generator.below(10) { try await change(container, source) }
            if generator.oneIn(4) { try await container.maintenance.compact() }
            tally.archives += 1
            archive = try await container.backup(
                to: store.archivePath("a\(number)"), since: base, keepingHistory: keepsHistory)
        }
        guard let path = archive?.path.split(separator: "/").last else { return }
        try await source.close()
        let content = try Self.content(of: container.snapshot())
        let early = try await outcomes(of: followers, in: container)
        let late = try await lateFollowers(container)
        let last = try await store.openArchive(String(path))
        let damage = try await last.verify()
        if !damage.isEmpty { problems.append("the archive is damaged: \(damage)") }

        try await checkRestored(last, content, early, late)
        try await checkClone(last, content)
        let archived = try await last.container()
        try await checkZones(of: archived, content, early, late)
        try await checkOverwriting(with: archived, content)
        if keepsHistory { try await checkPast(of: last, archived) }
        try await container.close()
    }

    // What happens to the store.

    private mutating func any<Element>(_ elements: [Element]) -> Element {
        elements[generator.below(elements.count)]
    }

    /// Saves and deletes records of a zone in one commit, deletes the zone, or takes it from `source`;
    /// now and then somebody reads.
    private mutating func change(_ container: Container, _ source: Container) async throws {
        let place = any(Self.places)
        let database = container.privateDatabase(for: place.user)
        if generator.oneIn(14) {
            _ = try? await database.deleteRecordZone(withID: place.zone)
        } else if generator.oneIn(14) {
            tally.zones += 1
            let held = source.snapshot().privateDatabase(for: place.user)
            try await database.restore(place.zone, from: held, mode: .mirror)
        } else {
            try await database.save(RecordZone(zoneID: place.zone))
            note(container)
            var saved: [String: Record] = [:]
            var deleted: Set<String> = []
            for _ in 0...generator.below(3) {
                let name = "r\(generator.below(7))"
                let id = Record.ID(recordName: name, zoneID: place.zone)
                if generator.oneIn(4) {
                    if saved[name] == nil { deleted.insert(name) }
                } else if !deleted.contains(name) {
                    var record =
                        (try? await database.record(for: id))
                        ?? Record(recordType: name == "r6" ? "Task" : "Note", recordID: id)
                    record["text"] = .string("\(generator.below(1000))")
                    if generator.oneIn(6) {
                        record["file"] = .asset(Asset(data: Data(generator.bytes(500))))
                    }
                    saved[name] = record
                }
            }
            let result = try await database.modifyRecords(
                saving: Array(saved.values),
                deleting: deleted.map { Record.ID(recordName: $0, zoneID: place.zone) })
            if let failure = result.partialFailure { throw failure }
        }
        note(container)
        guard generator.oneIn(2) else { return }
        let known = followers.filter { $0.user == place.user && $0.zone == place.zone }
        var follower =
            known.isEmpty || generator.oneIn(4)
            ? ZoneFollower(place.zone, of: place.user) : any(known)
        do throws(StoreError) {
            try await follower.read(container, pages: generator.oneIn(3) ? 1 : .max)
            followers.append(follower)
        } catch {
            // The zone is gone, or another one has its name.
        }
    }

    private mutating func note(_ container: Container) {
        guard keepsHistory, let content = try? Self.content(of: container.snapshot()) else {
            return
        }
        let offset = container.snapshot().offset
        if past.last?.offset != offset { past.append((offset, content)) }
    }

    private static func content(of snapshot: Snapshot) throws -> Content {
        var content: Content = [:]
        for user in users {
            let database = snapshot.privateDatabase(for: user)
            for zone in try database.allRecordZones() where !zone.zoneID.isDefault {
                content[Place(user: user, zone: zone.zoneID)] = try ZoneFollower.lines(
                    database, in: zone.zoneID)
            }
        }
        return content
    }

    /// Those who read on now, and so learn something that the last archive does not know.
    private mutating func lateFollowers(_ container: Container) async throws -> [ZoneFollower] {
        let before = followers
        for place in Self.places {
            let database = container.privateDatabase(for: place.user)
            try await database.save(RecordZone(zoneID: place.zone))
            let id = Record.ID(recordName: "late", zoneID: place.zone)
            try await database.save(Record(recordType: "Note", recordID: id))
        }
        var late: [ZoneFollower] = []
        for var follower in before + Self.places.map({ ZoneFollower($0.zone, of: $0.user) }) {
            if ((try? await follower.read(container)) ?? 0) > 0 { late.append(follower) }
        }
        return late
    }

    // What is made of it.

    /// Whether each follower can go on, and with what content then.
    private func outcomes(
        of followers: [ZoneFollower], in container: Container
    ) async throws -> [(follower: ZoneFollower, records: [String: String]?)] {
        var outcomes: [(ZoneFollower, [String: String]?)] = []
        for follower in followers {
            var reader = follower
            let isGood = (try? await reader.read(container)) != nil
            outcomes.append((follower, isGood ? reader.records : nil))
        }
        return outcomes
    }

    private mutating func compare(
        _ container: Container, _ content: Content, _ when: String
    ) throws {
        let found = try Self.content(of: container.snapshot())
        if found != content {
            problems.append("\(when): \(found) instead of \(content)")
        }
    }

    /// That followers go on as they would have done in the store, and no late one does.
    private mutating func compare(
        _ container: Container,
        _ early: [(follower: ZoneFollower, records: [String: String]?)],
        _ late: [ZoneFollower], of zones: [Place], _ when: String
    ) async throws {
        let isMeant = { (follower: ZoneFollower) in
            zones.contains(Place(user: follower.user, zone: follower.zone))
        }
        for (follower, wanted) in early where isMeant(follower) {
            var reader = follower
            let isGood = (try? await reader.read(container)) != nil
            if wanted == nil { tally.refusedTokens += 1 } else { tally.goodTokens += 1 }
            if isGood != (wanted != nil) || wanted.map({ $0 != reader.records }) ?? false {
                problems.append(
                    "\(when): a follower of \(follower.zone.zoneName) of \(follower.user) has "
                        + "\(isGood ? "\(reader.records)" : "no feed") instead of "
                        + "\(wanted.map { "\($0)" } ?? "none")")
            }
        }
        for var follower in late where isMeant(follower) {
            tally.refusedTokens += 1
            if (try? await follower.read(container)) != nil {
                problems.append("\(when): a token from later is taken")
            }
        }
    }

    /// Goes on with a store, so that one that is not whole shows it.
    private mutating func goOn(_ container: Container, in directory: String) async throws {
        let zones = try Self.content(of: container.snapshot()).keys
        for place in zones.sorted(by: { ($0.user, $0.zone.zoneName) < ($1.user, $1.zone.zoneName) })
        {
            let database = container.privateDatabase(for: place.user)
            var follower = ZoneFollower(place.zone, of: place.user)
            try await follower.read(container)
            for number in 0..<3 {
                let id = Record.ID(recordName: "r\(number)", zoneID: place.zone)
                var record =
                    (try? await database.record(for: id))
                    ?? Record(recordType: "Note", recordID: id)
                record["text"] = "went on"
                try await database.save(record)
            }
            try await follower.read(container)
            let lines = try ZoneFollower.lines(
                container.snapshot().privateDatabase(for: place.user), in: place.zone)
            if follower.records != lines { problems.append("\(directory): does not go on") }
        }
        try await container.close()
        let findings = try store.opening(directory).verification(scratch: directory).findings
        if !findings.isEmpty { problems.append("\(directory): \(findings)") }
    }

    private mutating func checkRestored(
        _ archive: Archive, _ content: Content,
        _ early: [(follower: ZoneFollower, records: [String: String]?)], _ late: [ZoneFollower]
    ) async throws {
        try await archive.restore(to: "restored")
        let restored = try store.opening("restored").open()
        try compare(restored, content, "restored")
        try await compare(restored, early, late, of: Self.places, "restored")
        try await goOn(restored, in: "restored")
    }

    private mutating func checkClone(_ archive: Archive, _ content: Content) async throws {
        try await archive.restore(to: "clone", cloning: true)
        let clone = try store.opening("clone").open()
        try compare(clone, content, "cloned")
        for var follower in followers where follower.token != nil {
            tally.refusedTokens += 1
            if (try? await follower.read(clone)) != nil {
                problems.append("cloned: a token of the original is taken")
            }
        }
        try await goOn(clone, in: "clone")
    }

    /// A store that has something else and, of each user, `zones` with records and deletions.
    private mutating func other(
        _ name: String, zones: [RecordZone.ID] = []
    ) async throws -> Container {
        let container = try store.opening(name).open()
        for zone in zones {
            for database in Self.users.map({ container.privateDatabase(for: $0) }) {
                try await database.save(RecordZone(zoneID: zone))
                for number in 0..<generator.below(6) {
                    let id = Record.ID(recordName: "r\(number)", zoneID: zone)
                    try await database.save(Record(recordType: "Note", recordID: id))
                    if generator.oneIn(3) { try await database.deleteRecord(withID: id) }
                }
            }
        }
        let zone = RecordZone.ID(zoneName: "own")
        let database = container.privateDatabase(for: any(["alice", "eve"]))
        try await database.save(RecordZone(zoneID: zone))
        for number in 0..<generator.below(60) {
            try await database.save(
                Record(
                    recordType: "Own\(number % 3)",
                    recordID: Record.ID(recordName: "\(number % 5)-\(number)", zoneID: zone)))
        }
        return container
    }

    /// Each zone comes into another store with its history.
    private mutating func checkZones(
        of source: Container, _ content: Content,
        _ early: [(follower: ZoneFollower, records: [String: String]?)], _ late: [ZoneFollower]
    ) async throws {
        let target = try await other("zones")
        for (place, lines) in content {
            tally.zones += 1
            let database = target.privateDatabase(for: place.user)
            let done = try await database.restore(
                place.zone, from: source.snapshot().privateDatabase(for: place.user))
            let found = try ZoneFollower.lines(
                target.snapshot().privateDatabase(for: place.user), in: place.zone)
            if found != lines || !(done.isProved || lines.isEmpty) {
                problems.append("a zone in another store: \(found) instead of \(lines)")
            }
        }
        try await compare(target, early, late, of: Array(content.keys), "in another store")
        try await goOn(target, in: "zones")
    }

    /// Each zone becomes what it is in the archive in a store that has others in their places.
    private mutating func checkOverwriting(
        with source: Container, _ content: Content
    ) async throws {
        let target = try await other("over")
        for (place, lines) in content {
            tally.overwrites += 1
            let database = target.privateDatabase(for: place.user)
            try await database.save(RecordZone(zoneID: place.zone))
            for number in 0..<generator.below(5) {
                // Some have the names that others have there.
                let name = "r\(number * 3)"
                let type = lines[name] == nil ? "Own" : nil
                guard let type else { continue }
                try await database.save(
                    Record(
                        recordType: type,
                        recordID: Record.ID(recordName: name, zoneID: place.zone)))
            }
            var follower = ZoneFollower(place.zone, of: place.user)
            try await follower.read(target, pages: generator.oneIn(2) ? 1 : .max)
            let done = try await database.restore(
                place.zone, from: source.snapshot().privateDatabase(for: place.user),
                mode: .mirror)
            if !done.isProved, !done.isEmpty { problems.append("a zone is not what it was") }
            try await follower.read(target)
            let found = try ZoneFollower.lines(
                target.snapshot().privateDatabase(for: place.user), in: place.zone)
            if follower.records != found || found.keys.sorted() != lines.keys.sorted() {
                problems.append("over others: \(found) instead of \(lines)")
            }
        }
        try await goOn(target, in: "over")
    }

    /// Every state of the history can be read in the archive and, now and then, each is restored;
    /// otherwise one.
    private mutating func checkPast(of archive: Archive, _ source: Container) async throws {
        let known = past.filter { $0.offset > archive.information.floor }
        if known.isEmpty { return }
        for (offset, content) in known {
            tally.states += 1
            let found = try Self.content(
                of: await source.snapshot(at: .offset(offset - 1)))
            if found != content {
                problems.append("the past at \(offset): \(found) instead of \(content)")
            }
        }
        let restored = generator.oneIn(8) ? known : [any(known)]
        if restored.count == known.count { tally.histories += 1 }
        for (offset, content) in restored {
            tally.states += 1
            let directory = "past-\(offset)"
            try await archive.restore(to: directory, at: .offset(offset - 1))
            let container = try store.opening(directory).open()
            try compare(container, content, "restored as of \(offset)")
            try await goOn(container, in: directory)
            for path in store.disk.paths where path.hasPrefix(directory + "/") {
                store.disk.delete(path)
            }
        }
    }
}
