import FoundationEssentials
import Stratus
import StratusEngine
import StratusJournal
import Support
import Testing

/// Ended participations are forgotten with deletions: `Formats/README.md`, "The shared database", 9.
@Suite struct ParticipationHorizonTests {
    @Test func `ends are remembered as long as deletions, and what lives stays`() async throws {
        let world = try await ParticipationWorld()
        let all: Set = ["removed", "ended", "deleted", "living"]
        for user in ParticipationWorld.users { #expect(try await world.zones(of: user) == all) }
        let before = try await world.token(of: "bob")
        try await world.end()
        let after = try await world.token(of: "bob")
        try await world.compact()
        // By default they are remembered for 90 days.
        #expect(try await world.rows("participations") == 16)
        let bob = world.container.sharedDatabase(for: "bob")
        let told = try await bob.databaseChanges(since: before)
        #expect(Set(told.deletions.map(\.zoneID.zoneName)) == ["removed", "ended", "deleted"])

        try await world.container.setDeletionPolicy(.none)
        try await world.compact()
        // Of bob and carol one is left, of dave and eve two.
        #expect(try await world.rows("participations") == 6)
        #expect(try await world.rows("participationHorizons") == 4)
        let error = await failure { try await bob.databaseChanges(since: before) }
        #expect(error.code == .changeTokenExpired && error.cause == .changeToken(.compacted))
        let none = try await bob.databaseChanges(since: after)
        #expect(none.deletions.isEmpty)
        let full = try await bob.databaseChanges()
        #expect(full.modifications.map(\.zoneName) == ["living"] && full.deletions.isEmpty)
        try await world.container.close()
    }

    /// A mark sees them all before they end, and is removed; or it sees what is left of them.
    @Test(arguments: [true, false])
    func `an index that is made anew finds no part that was forgotten`(
        isMarkedBefore: Bool
    ) async throws {
        var world = try await ParticipationWorld()
        var mark: Mark?
        if isMarkedBefore { mark = try await world.container.mark("all of them") }
        try await world.end()
        if !isMarkedBefore { try await world.container.mark("what is left") }
        try await world.container.setDeletionPolicy(.none)
        try await world.compact()
        if let mark {
            // Of bob and carol it needs how their parts were before they left.
            #expect(try await world.rows("participationHorizons") == 2)
            try await world.container.removeMark(mark)
            try await world.compact()
        }
        let rows = try await world.rows("participations")
        for _ in 0..<2 {
            try await world.container.close()
            try world.store.deleteIndex()
            world.container = try world.store.open(creating: false)
            #expect(try await world.rows("participations") == rows)
            for user in ParticipationWorld.users {
                let due: Set =
                    ["bob", "carol"].contains(user) ? ["living"] : ["removed", "living"]
                #expect(try await world.zones(of: user) == due, "\(user)")
            }
            try await world.compact()
        }
        try await world.container.close()
    }

    /// Its beginning lies among so much that stays that it is not compacted for that alone: the zone is
    /// deleted, or a mark that saw it is removed.
    @Test(arguments: [true, false])
    func `a part that is forgotten does not come back out of a segment that is hardly dead`(
        hasMark: Bool
    ) async throws {
        var store = DiskStore()
        (store.options.segmentLength, store.memoryLimit) = (16 << 10, 1 << 20)
        store.steppedByCaller = true
        var container = try store.open()
        let alice = container.privateDatabase(for: "alice")
        let zone = RecordZone.ID(zoneName: "ends")
        for id in [notes, zone] { try await alice.save(RecordZone(zoneID: id)) }
        var generator = SeededGenerator(seed: 1)
        func fill(_ names: [String]) async throws {
            for name in names {
                let bytes = (0..<900).map { _ in UInt8.random(in: 0...255, using: &generator) }
                try await alice.saveAll(
                    [note(name, ["data": .bytes(Data(bytes))])], savePolicy: .allKeys)
            }
        }
        let root = note("root", in: zone)
        var share = Share(rootRecord: root)
        share.publicPermission = .readWrite
        let result = try await alice.modifyRecords(saving: [root, share.record])
        let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
        try await fill((0..<100).map { "before\($0)" })
        try await container.acceptShare(try #require(saved?.shortGUID), as: "bob")
        try await fill((0..<100).map { "behind\($0)" })
        try await container.checkpoint()
        try await container.maintenance.compact()
        let mark = hasMark ? try await container.mark("sees it") : nil
        try await fill(Array(repeating: "replaced", count: 40))
        let seen = Record.ID(
            recordName: share.recordID.recordName,
            zoneID: RecordZone.ID(
                zoneName: zone.zoneName, ownerName: container.userRecordName(for: "alice")))
        try await container.sharedDatabase(for: "bob").deleteRecord(withID: seen)
        try await fill(Array(repeating: "replaced", count: 40))
        try await container.setDeletionPolicy(.none)
        if let mark {
            // Bob comes and goes, so that nothing else says that he left before, and the zone forgets
            // on.
            let link = try #require(saved?.shortGUID)
            try await container.acceptShare(link, as: "bob")
            try await container.sharedDatabase(for: "bob").deleteRecord(withID: seen)
            try await container.acceptShare(link, as: "bob")
            try await alice.save(note("other", in: zone))
            try await alice.deleteRecord(withID: noteID("other", in: zone))
            try await fill(Array(repeating: "replaced", count: 40))
            try await container.maintenance.compact()
            try await container.removeMark(mark)
        } else {
            try await alice.deleteRecordZone(withID: zone)
        }
        for _ in 0..<3 {
            try await fill(Array(repeating: "replaced", count: 40))
            try await container.maintenance.compact()
        }
        try await container.close()
        try store.deleteIndex()
        container = try store.open(creating: false)
        var horizons = 0
        var log = container.log()
        while let entry = try log.nextLine()?.entry {
            if entry.kind == .participationHorizon { horizons += 1 }
        }
        #expect(horizons == 1)
        let changes = try await container.sharedDatabase(for: "bob").databaseChanges()
        #expect(changes.modifications.count == (hasMark ? 1 : 0) && changes.deletions.isEmpty)
        try await container.maintenance.erase()
        let left = try await container.indexStatistics().keyspaces
        #expect(left.first { $0.name == "participations" }?.entries ?? 0 == (hasMark ? 1 : 0))
        try await container.close()
    }

    @Test func `who comes back takes part anew, and ends that others remember stay`() async throws {
        let world = try await ParticipationWorld()
        let id = RecordZone.ID(zoneName: "removed")
        let shared = RecordZone.ID(
            zoneName: "removed", ownerName: world.container.userRecordName(for: "alice"))
        let bob = world.container.sharedDatabase(for: "bob")
        let old = try await bob.recordZoneChanges(inZoneWith: shared).changeToken
        try await world.end()
        try await world.container.setDeletionPolicy(.none)
        try await world.compact()
        let root = try await world.alice.record(for: noteID("root", in: id))
        let share = Share(
            try await world.alice.record(for: try #require(root.share).recordID))
        let before = try await world.token(of: "bob")
        try await world.container.acceptShare(try #require(share?.shortGUID), as: "bob")
        #expect(try await world.zones(of: "bob") == ["removed", "living"])
        let changes = try await bob.databaseChanges(since: before)
        #expect(changes.modifications.map(\.zoneName) == ["removed"])
        // What bob had to forget of the zone when he left, the zone does not remember.
        let error = await failure {
            try await bob.recordZoneChanges(inZoneWith: shared, since: old)
        }
        #expect(error.code == .changeTokenExpired && error.cause == .changeToken(.compacted))
        try await world.container.close()
    }
}
