import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Zones that are restored where they are not, and what they keep of their past.
struct ZoneHistoryTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")
    private static let user = "alice"

    private static func follower() -> ZoneFollower { ZoneFollower(zone, of: user) }

    private static func lines(_ container: Container) throws -> [String: String] {
        try ZoneFollower.lines(
            container.snapshot().privateDatabase(for: user), in: zone)
    }

    private func id(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: Self.zone)
    }

    private func makeZone(_ container: Container) async throws {
        try await container.privateDatabase(for: Self.user).save(RecordZone(zoneID: Self.zone))
    }

    private func save(
        _ container: Container, _ name: String, _ text: String, asset: Bool = false
    ) async throws {
        let database = container.privateDatabase(for: Self.user)
        var record =
            (try? await database.record(for: id(name)))
            ?? Record(recordType: "Note", recordID: id(name))
        record["text"] = .string(text)
        if asset { record["file"] = .asset(Asset(data: Data(text.utf8))) }
        try await database.save(record)
    }

    private func other(_ directory: String = "other") throws -> Container {
        try store.opening(directory).open()
    }

    private func cause(
        of token: ChangeToken?, in container: Container
    ) async -> StoreError.Cause? {
        do {
            _ = try await container.privateDatabase(for: Self.user)
                .recordZoneChanges(inZoneWith: Self.zone, since: token)
            return nil
        } catch {
            return error.cause
        }
    }

    /// The zone of `source`, as it is now.
    private func now(_ source: Container) -> DatabaseSnapshot {
        source.snapshot().privateDatabase(for: Self.user)
    }

    @discardableResult
    private func restore(
        _ source: DatabaseSnapshot, into container: Container
    ) async throws -> RestoredRecords {
        try await container.privateDatabase(for: Self.user).restore(Self.zone, from: source)
    }

    /// Forgets what was deleted.
    private func forgetDeletions(_ container: Container) async throws {
        try await container.setDeletionPolicy(.none)
        let other = RecordZone.ID(zoneName: "padding")
        let database = container.privateDatabase(for: "bob")
        try await database.save(RecordZone(zoneID: other))
        for number in 0..<40 {
            var record = Record(
                recordType: "Padding",
                recordID: Record.ID(recordName: "\(number)", zoneID: other))
            record["text"] = .string(String(repeating: "x", count: 4000))
            try await database.save(record)
        }
        try await container.maintenance.compact()
    }

    /// Closes the store in `directory`, verifies it and opens it again. Other processes end where it
    /// loses its index.
    private func reopened(
        _ container: Container, in directory: String, losingIndex: Bool
    ) async throws -> Container {
        try await container.close()
        let other = store.opening(directory)
        #expect(try other.verification(scratch: directory).findings.isEmpty)
        if losingIndex { try other.loseIndex() }
        return try other.open()
    }

    @Test(arguments: [false, true])
    func `a follower goes on in the store that its zone was restored into`(
        isOlder: Bool
    ) async throws {
        var generator = SeededGenerator(seed: Campaign.seed)
        let container = try store.open()
        let target = try other()
        // Of two stores the one or the other has written more.
        let longer = isOlder ? target : container
        try await longer.privateDatabase(for: "bob").save(RecordZone(zoneName: "filler"))
        for number in 0..<40 {
            let filler = Record(
                recordType: "Filler\(number % 3)",
                recordID: Record.ID(
                    recordName: "f\(number)", zoneID: RecordZone.ID(zoneName: "filler")))
            try await longer.privateDatabase(for: "bob").save(filler)
        }
        try await makeZone(container)
        var followers: [ZoneFollower] = [Self.follower()]
        for step in 0..<120 {
            let name = "r\(generator.next() % 12)"
            if generator.oneIn(4) {
                try await container.privateDatabase(for: Self.user).deleteRecord(
                    withID: id(name))
            } else {
                try await save(container, name, "\(step)", asset: generator.oneIn(5))
            }
            if step % 6 == 0 {
                var follower = followers[Int(generator.next() % UInt64(followers.count))]
                try await follower.read(container, pages: generator.oneIn(3) ? 1 : .max)
                followers.append(follower)
            }
        }
        try await save(container, "gone", "gone")
        try await container.privateDatabase(for: Self.user).deleteRecord(withID: id("gone"))
        let wanted = try Self.lines(container)
        let hash = try await container.privateDatabase(for: Self.user)
            .contentHash(of: Self.zone)
        let last = try await container.privateDatabase(for: Self.user)
            .recordZoneChanges(inZoneWith: Self.zone).changeToken
        _ = try await container.backup(to: store.archivePath("zone"))
        // What comes later is none of the zone's past.
        try await save(container, "late", "late")
        let late = try await container.privateDatabase(for: Self.user)
            .recordZoneChanges(inZoneWith: Self.zone).changeToken

        let source = try await store.openArchive("zone").container()
        let done = try await restore(now(source), into: target)
        #expect(done.isProved && done.added.count == wanted.count)
        func check(_ target: Container, _ comment: Comment) async throws {
            #expect(try Self.lines(target) == wanted, comment)
            #expect(
                try await target.privateDatabase(for: Self.user).contentHash(of: Self.zone)
                    == hash, comment)
            #expect(
                try target.snapshot().privateDatabase(for: Self.user)
                    .recordCount(inZoneWith: Self.zone) == wanted.count, comment)
            for follower in followers {
                var follower = follower
                try await follower.read(target)
                #expect(follower.records == wanted, comment)
                try await follower.read(target)
                #expect(follower.records == wanted, comment)
            }
            #expect(await cause(of: late, in: target) == .changeToken(.incarnation), comment)
            #expect(await cause(of: last, in: target) == nil, comment)
        }
        try await check(target, "restored")
        // The tokens that it gives are its own.
        var follower = followers[0]
        try await follower.read(target)
        #expect(await cause(of: follower.token, in: container) == .changeToken(.store))
        let old = try await container.privateDatabase(for: Self.user)
            .records(inZoneWith: Self.zone).records
        var open = try await reopened(target, in: "other", losingIndex: false)
        try await check(open, "opened again")
        open = try await reopened(open, in: "other", losingIndex: true)
        try await check(open, "with the index rebuilt")
        try await open.maintenance.compact()
        open = try await reopened(open, in: "other", losingIndex: true)
        try await check(open, "compacted and rebuilt")
        // A copy of the store has the zone's past, too.
        _ = try await open.backup(to: store.archivePath("copy"))
        try await store.openArchive("copy").restore(to: "third")
        try await check(store.opening("third").open(), "restored as a whole")

        // The zone goes on, and old edits are judged by their tags.
        let tags = wanted.values.compactMap { UInt64($0.prefix { $0 != " " }) }
        try await save(open, "r0", "new")
        let new = try await open.privateDatabase(for: Self.user).record(for: id("r0"))
        let newTag = try #require(new.recordChangeTag.flatMap { UInt64($0) })
        #expect(tags.allSatisfy { $0 < newTag })
        follower = followers[1]
        try await follower.read(open)
        #expect(try follower.records == Self.lines(open))
        for var record in old where wanted[record.recordID.recordName] != nil {
            record["text"] = "edited offline"
            let isCurrent = record.recordID.recordName != "r0"
            do {
                try await open.privateDatabase(for: Self.user).save(record)
                #expect(isCurrent)
            } catch {
                #expect(!isCurrent && error.code == .serverRecordChanged)
            }
        }
        try await open.close()
        #expect(try store.opening("other").verification(scratch: "other").findings.isEmpty)
    }

    @Test func `a zone that was deleted by mistake comes back with its tokens`() async throws {
        let container = try store.open()
        try await container.setHistoryPolicy(.everything)
        try await makeZone(container)
        for number in 0..<8 { try await save(container, "r\(number)", "old") }
        var follower = Self.follower()
        try await follower.read(container)
        try await save(container, "r1", "new")
        try await container.privateDatabase(for: Self.user).deleteRecord(withID: id("r2"))
        let wanted = try Self.lines(container)
        let before = container.snapshot().offset - 1
        try await save(container, "r3", "after")
        let late = try await container.privateDatabase(for: Self.user)
            .recordZoneChanges(inZoneWith: Self.zone).changeToken
        let known = try await container.privateDatabase(for: Self.user)
            .databaseChanges().changeToken
        try await container.privateDatabase(for: Self.user).deleteRecordZone(withID: Self.zone)
        let incarnation = try store.manifest.incarnation
        let past = try await container.snapshot(at: .offset(before))
            .privateDatabase(for: Self.user)
        #expect(try await restore(past, into: container).isProved)
        // Its own versions are less than those that come: no others are needed.
        #expect(try store.manifest.incarnation == incarnation)
        #expect(try Self.lines(container) == wanted)
        try await follower.read(container)
        #expect(follower.records == wanted)
        #expect(await cause(of: late, in: container) == .changeToken(.incarnation))
        let changes = try await container.privateDatabase(for: Self.user)
            .databaseChanges(since: known)
        #expect(changes.modifications == [Self.zone] && changes.deletions.isEmpty)
        // It is deleted and restored once more, as of the first time and as it was then.
        try await save(container, "r4", "again")
        let again = try Self.lines(container)
        let second = container.snapshot().offset - 1
        try await container.privateDatabase(for: Self.user).deleteRecordZone(withID: Self.zone)
        try await restore(
            container.snapshot(at: .offset(second)).privateDatabase(for: Self.user),
            into: container)
        #expect(try Self.lines(container) == again)
        try await follower.read(container)
        #expect(follower.records == again)
        try await container.close()
        #expect(try store.verification().findings.isEmpty)
    }

    @Test func `users are those of the same names, and what was shared is not`() async throws {
        let container = try store.open()
        try await makeZone(container)
        try await save(container, "root", "shared")
        try await save(container, "single", "not shared")
        let owner = container.privateDatabase(for: Self.user)
        var share = Share(rootRecord: try await owner.record(for: id("root")))
        share.publicPermission = .readWrite
        let result = try await owner.modifyRecords(
            saving: [try await owner.record(for: id("root")), share.record])
        let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
        try await container.acceptShare(try #require(saved?.shortGUID), as: "bob")
        let shared = container.sharedDatabase(for: "bob")
        let others = RecordZone.ID(
            zoneName: "notes", ownerName: container.userRecordName(for: Self.user))
        var record = try await shared.record(
            for: Record.ID(recordName: "root", zoneID: others))
        record["text"] = "by bob"
        try await shared.save(record)
        var follower = Self.follower()
        try await follower.read(container)
        #expect(follower.records.count == 3)

        let target = try other()
        #expect(try await restore(now(container), into: target).isProved)
        let root = try await target.privateDatabase(for: Self.user).record(for: id("root"))
        #expect(root.lastModifiedUserRecordID?.recordName == target.userRecordName(for: "bob"))
        #expect(root.creatorUserRecordID?.recordName == target.userRecordName(for: Self.user))
        #expect(root.share == nil)
        // To a follower the share ends, and its root is changed by that.
        try await follower.read(target)
        #expect(try follower.records == Self.lines(target))
        #expect(follower.records.keys.sorted() == ["root", "single"])
        #expect(try await target.sharedDatabase(for: "bob").allRecordZones().isEmpty)
        try await target.close()
        #expect(try store.opening("other").verification(scratch: "other").findings.isEmpty)
    }

    @Test func `tokens from before what was forgotten stay refused`() async throws {
        let container = try store.open()
        try await makeZone(container)
        for number in 0..<6 { try await save(container, "r\(number)", "old") }
        var early = Self.follower()
        try await early.read(container)
        try await container.privateDatabase(for: Self.user).deleteRecord(withID: id("r0"))
        try await forgetDeletions(container)
        #expect(await cause(of: early.token, in: container) == .changeToken(.compacted))
        var late = Self.follower()
        try await late.read(container)
        try await save(container, "r1", "new")
        let target = try other()
        try await restore(now(container), into: target)
        #expect(await cause(of: early.token, in: target) == .changeToken(.compacted))
        try await late.read(target)
        #expect(try late.records == Self.lines(target))
        // Deletions that the zone was restored with are forgotten like its own.
        var last = Self.follower()
        try await last.read(container)
        try await container.privateDatabase(for: Self.user).deleteRecord(withID: id("r2"))
        let third = try other("third")
        try await restore(now(container), into: third)
        var told = last
        try await told.read(third)
        #expect(try told.records == Self.lines(third))
        try await forgetDeletions(third)
        #expect(await cause(of: last.token, in: third) == .changeToken(.compacted))
        #expect(await cause(of: told.token, in: third) == .changeToken(.compacted))
        var new = Self.follower()
        try await new.read(third)
        try await save(third, "r2", "anew")
        try await new.read(third)
        #expect(try new.records == Self.lines(third))
        try await third.close()
        #expect(try store.opening("third").verification(scratch: "third").findings.isEmpty)
    }

    @Test func `a zone goes from store to store with all of its past`() async throws {
        let first = try store.open()
        try await makeZone(first)
        var followers: [ZoneFollower] = []
        var container = first
        for generation in 0..<4 {
            for number in 0..<5 {
                try await save(container, "r\(number + generation)", "\(generation)")
                var follower = Self.follower()
                try await follower.read(container, pages: 1 + number)
                followers.append(follower)
            }
            try await container.privateDatabase(for: Self.user)
                .deleteRecord(withID: id("r\(generation + 1)"))
            let next = try other("store\(generation)")
            let incarnation = try store.opening("store\(generation)").manifest.incarnation
            #expect(try await restore(now(container), into: next).isProved)
            #expect(
                try store.opening("store\(generation)").manifest.incarnation
                    > max(incarnation, UInt16(generation)))
            container = next
            let wanted = try Self.lines(container)
            for follower in followers {
                var follower = follower
                try await follower.read(container)
                #expect(follower.records == wanted, "generation \(generation)")
            }
        }
    }

    @Test func `a subscription to a type of record hears of a restored zone`() async throws {
        let container = try store.open()
        try await makeZone(container)
        try await save(container, "r", "old")
        let target = try other()
        let database = target.privateDatabase(for: Self.user)
        for type in ["Note", "Other"] {
            try await database.save(Subscription(.database(recordType: type), id: type))
        }
        let before = try await target.notificationChanges(for: Self.user)
        try await restore(now(container), into: target)
        let after = try await target.notificationChanges(
            for: Self.user, since: before.notificationToken)
        #expect(after.notifications.map(\.subscriptionID) == ["Note"])
    }

    @Test func `a copy under another name or of another user has a new past`() async throws {
        let container = try store.open()
        try await makeZone(container)
        try await save(container, "r", "old")
        let token = try await container.privateDatabase(for: Self.user)
            .recordZoneChanges(inZoneWith: Self.zone).changeToken
        let tag = try await container.privateDatabase(for: Self.user)
            .record(for: id("r")).recordChangeTag
        let target = try other()
        for (user, name) in [(Self.user, "copy"), ("bob", "notes")] {
            let zone = RecordZone.ID(zoneName: name)
            let database = target.privateDatabase(for: user)
            #expect(
                try await database.restore(Self.zone, from: now(container), to: zone).isProved)
            let record = try await database.record(
                for: Record.ID(recordName: "r", zoneID: zone))
            #expect(record.recordChangeTag != tag)
            await #expect(throws: StoreError.self) {
                try await database.recordZoneChanges(inZoneWith: zone, since: token)
            }
        }
        #expect(try store.opening("other").manifest.incarnation == 0)
    }

    @Test func `a zone is restored whole or not at all, whatever call fails`() async throws {
        let container = try store.open()
        try await makeZone(container)
        for number in 0..<30 { try await save(container, "r\(number)", "text") }
        try await container.privateDatabase(for: Self.user).deleteRecord(withID: id("r3"))
        let wanted = try Self.lines(container)
        let token = try await container.privateDatabase(for: Self.user)
            .recordZoneChanges(inZoneWith: Self.zone).changeToken
        let target = try other()
        try await target.privateDatabase(for: "bob").save(RecordZone(zoneName: "own"))
        try await target.close()
        let source = now(container)
        for cutsPower in [false, true] {
            try await store.opening("other").sweepFaults(
                cuttingPower: cutsPower, leastCalls: 10
            ) { copy throws(StoreError) in
                do {
                    let target = try copy.open()
                    try await target.privateDatabase(for: Self.user)
                        .restore(Self.zone, from: source)
                    try await target.close()
                } catch let error as StoreError {
                    throw error
                } catch {
                    throw StoreError(.internalError, "\(error)")
                }
            } _: { copy, failed, comment in
                let target = try copy.open()
                let zones = try await target.privateDatabase(for: Self.user).allRecordZones()
                if zones.contains(where: { $0.zoneID == Self.zone }) {
                    #expect(try Self.lines(target) == wanted, comment)
                    #expect(await cause(of: token, in: target) == nil, comment)
                } else {
                    #expect(failed, comment)
                    try await restore(source, into: target)
                    #expect(try Self.lines(target) == wanted, comment)
                }
                try await target.close()
                #expect(try copy.verification(scratch: "other").findings.isEmpty, comment)
            }
        }
    }
}
