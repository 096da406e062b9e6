import Stratus
import Testing

/// Records that go from a private zone into a shared one, out of one, or between two: C52.
@Suite struct SharedZoneMoveTests {
    private static let archive = RecordZone.ID(zoneName: "archive")

    /// From where a tree goes to where, and who moves it. Its parent in `notes` of alice is `root`, which
    /// is shared with bob.
    enum Way: CaseIterable {
        /// From a zone that alice shares with no one, and back there.
        case ownerShares, ownerWithdraws
        /// From a zone of bob's own, and back there.
        case participantShares, participantWithdraws
        /// By bob to a zone of alice's that is shared as a whole.
        case betweenShares

        /// Whether the tree leaves `notes` of alice.
        var leavesRoot: Bool {
            switch self {
            case .ownerShares, .participantShares: false
            case .ownerWithdraws, .participantWithdraws, .betweenShares: true
            }
        }

        var mover: String {
            switch self {
            case .ownerShares, .ownerWithdraws: "alice"
            case .participantShares, .participantWithdraws, .betweenShares: "bob"
            }
        }

        /// Whether both zones lie in one database of the mover's.
        var isOneDatabase: Bool {
            switch self {
            case .ownerShares, .ownerWithdraws, .betweenShares: true
            case .participantShares, .participantWithdraws: false
            }
        }
    }

    enum Form: CaseIterable { case savedFirst, deletedFirst, oneCall }

    /// A zone as a user reaches it, and what the tree hangs on there.
    private struct Place {
        let database: Database
        let zone: RecordZone.ID
        var parent: String?

        static let names = ["p", "c", "d"]

        var ids: [Record.ID] { Self.names.map { noteID($0, in: zone) } }

        var tree: [Record] {
            var top = note("p", ["n": 1], in: zone)
            top.parent = parent.map { Reference(recordID: noteID($0, in: zone)) }
            return [
                top, child("c", of: "p", ["n": 2], in: zone),
                child("d", of: "c", ["n": 3], in: zone),
            ]
        }

        func save() async throws { try await database.saveAll(tree) }

        func delete() async throws {
            #expect(try await database.outcome(deleting: Self.names, in: zone).isEmpty)
        }
    }

    /// What a user's device has of the zones that it follows, in their order: of each name the record
    /// that it was told of last, until that one is deleted.
    private struct Device {
        let user: String
        let places: [Place]
        let limit: Int
        /// Whether it reads on after each call, or only after the last one.
        let isSyncing: Bool
        var records: [String: Record] = [:]
        private var tokens: [ChangeToken?]

        init(_ user: String, _ places: [Place], limit: Int, isSyncing: Bool) {
            self.user = user
            self.places = places
            self.limit = limit
            self.isSyncing = isSyncing
            tokens = places.map { _ in nil }
        }

        mutating func read() async throws {
            for (index, place) in places.enumerated() {
                let changes = try await FollowedChanges(
                    of: place.database, in: place.zone, since: tokens[index], resultsLimit: limit)
                tokens[index] = changes.token
                for deletion in changes.deleted {
                    let name = deletion.recordID.recordName
                    if records[name]?.recordID == deletion.recordID { records[name] = nil }
                }
                for record in changes.modified where record.recordType == "Note" {
                    records[record.recordID.recordName] = record
                }
            }
        }
    }

    private struct World {
        let fixture: SharingFixture
        let old: Place
        let new: Place
        var devices: [Device] = []

        init(_ way: Way) async throws {
            fixture = try await SharingFixture.shared().fixture
            let alice = fixture.alice
            try await alice.save(RecordZone(zoneID: archive))
            let own = fixture.container.privateDatabase(for: "bob")
            try await own.save(RecordZone(zoneID: notes))
            let shared = RecordZone.ID(
                zoneName: archive.zoneName, ownerName: fixture.zone.ownerName)
            var ofBob = [
                Place(database: own, zone: notes), Place(database: fixture.bob, zone: fixture.zone),
            ]
            if way == .betweenShares {
                var share = Share(recordZoneID: archive)
                try share.addParticipant(fixture.participant("bob"))
                share = try await fixture.save(share)
                try await fixture.accept(share, ["bob"])
                ofBob.append(Place(database: fixture.bob, zone: shared))
            }
            let ofAlice = [
                Place(database: alice, zone: notes), Place(database: alice, zone: archive),
            ]
            let (shares, others): (Place, Place) =
                switch way {
                case .ownerShares, .ownerWithdraws: (ofAlice[0], ofAlice[1])
                case .participantShares, .participantWithdraws: (ofBob[1], ofBob[0])
                case .betweenShares: (ofBob[1], ofBob[2])
                }
            let below = Place(database: shares.database, zone: shares.zone, parent: "root")
            (old, new) = way.leavesRoot ? (below, others) : (others, below)
            for limit in [1, 1000] {
                for isSyncing in [false, true] {
                    for (user, places) in [("alice", ofAlice), ("bob", ofBob)] {
                        for places in [places, places.reversed()] {
                            devices.append(
                                Device(user, places, limit: limit, isSyncing: isSyncing))
                        }
                    }
                }
            }
        }

        mutating func readAll(_ isDue: (Device) -> Bool = { _ in true }) async throws {
            for index in devices.indices where isDue(devices[index]) {
                try await devices[index].read()
            }
        }
    }

    @Test(arguments: Way.allCases, Form.allCases)
    func `a tree that is saved in one zone and deleted in the other is lost by no device`(
        way: Way, form: Form
    ) async throws {
        if form == .oneCall, !way.isOneDatabase { return }
        var world = try await World(way)
        let (old, new) = (world.old, world.new)
        try await old.save()
        try await world.readAll()
        switch form {
        case .savedFirst:
            try await new.save()
            try await world.readAll { $0.isSyncing }
            // Whatever was read first, nothing has gone yet.
            for device in world.devices where device.user == way.mover {
                #expect(Set(device.records.keys).isSuperset(of: Place.names))
            }
            try await old.delete()
        case .deletedFirst:
            try await old.delete()
            try await world.readAll { $0.isSyncing }
            try await new.save()
        case .oneCall:
            let result = try await old.database.modifyRecords(
                saving: new.tree, deleting: old.ids)
            #expect(result.partialFailure == nil)
        }
        try await world.readAll()
        for device in world.devices {
            var fresh = Device(device.user, device.places, limit: 1000, isSyncing: false)
            try await fresh.read()
            #expect(device.records == fresh.records, "\(device.user), \(device.limit)")
        }
        // The mover's are all there, as they were, and linked in the zone where they are now.
        let expected = Dictionary(
            uniqueKeysWithValues: new.tree.map { ($0.recordID, $0) })
        for device in world.devices where device.user == way.mover {
            for id in new.ids {
                let found = device.records[id.recordName]
                #expect(found?.recordID == id && found?["n"] == expected[id]?["n"])
                #expect(found?.parent == expected[id]?.parent)
            }
        }
        try await checkOther(way, world)
        for id in old.ids {
            let error = await failure { try await old.database.record(for: id) }
            #expect(error.code == .unknownItem)
        }
    }

    /// The user who did not move the tree has it where it is shared now, and nothing of it where not.
    private func checkOther(_ way: Way, _ world: World) async throws {
        let zone: RecordZone.ID? =
            switch way {
            case .ownerShares: world.fixture.zone
            case .participantShares: notes
            case .betweenShares: Self.archive
            case .ownerWithdraws, .participantWithdraws: nil
            }
        let before: Set = ["a", "a1", "b", "root"]
        for device in world.devices where device.user != way.mover {
            let names = Set(device.records.keys)
            #expect(names.isSuperset(of: before))
            for name in Place.names {
                #expect(device.records[name]?.recordID.zoneID == zone, "\(device.user): \(name)")
            }
        }
    }

    @Test
    func `a tree that moves out of a private zone is shared once it hangs on a shared record`()
        async throws
    {
        let (fixture, _) = try await SharingFixture.shared()
        try await fixture.alice.save(RecordZone(zoneID: Self.archive))
        let inArchive = Place(database: fixture.alice, zone: Self.archive)
        try await inArchive.save()
        let token = try await fixture.token(of: "bob")
        try await fixture.alice.moveRecords([noteID("p", in: Self.archive)], to: notes)
        let none = try await fixture.changes(seenBy: "bob", since: token)
        #expect(none.modified == [] && none.deleted == [])
        var top = try await fixture.alice.record(for: noteID("p"))
        top.parent = Reference(recordID: noteID("a1"))
        top = try await fixture.alice.save(top)
        let all = try await fixture.changes(seenBy: "bob", since: none.token, resultsLimit: 1)
        #expect(all.modified == ["p", "c", "d"] && all.deleted == [])
        // And back: first it leaves the share, then the zone.
        top.parent = nil
        try await fixture.alice.save(top)
        try await fixture.alice.moveRecords([noteID("p")], to: Self.archive)
        let gone = try await fixture.changes(seenBy: "bob", since: all.token, resultsLimit: 1)
        #expect(gone.modified == [] && gone.deleted == ["p", "c", "d"])
        #expect(try await fixture.alice.names(in: Self.archive) == ["c", "d", "p"])
    }
}
