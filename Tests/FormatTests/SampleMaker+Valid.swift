import FoundationEssentials
import Stratus
import StratusFiles
import StratusJournal
import Support

// Stores that every reader opens.
extension SampleMaker {
    static func valid() async throws -> [String: StoreFiles] {
        let cut = try await cutLongCommit()
        // A table: the compiler fails on the same calls in one expression.
        let makers: [(String, () async throws -> StoreFiles)] = [
            ("made-only", { try madeOnly() }), ("empty", empty), ("one-zone", oneZone),
            ("ended-last", endedLast), ("kinds", kinds),
            ("users", users), ("segments", segments), ("long-commit-cut", { cut.files }),
            ("long-commit-given-up", { try await givenUp(cut) }), ("no-names-yet", noNamesYet),
            ("sealed-last", sealedLast), ("strays", strays),
            ("written-by-newer", writtenByNewer), ("ignorable-kinds", ignorableKinds),
            ("marks", marks), ("links", links), ("encrypted", encrypted), ("purged", purged),
            ("operations", operations), ("many-names", { try await manyNames().files }),
            ("checkpoint", { try await checkpoint().files }),
            ("compacted", { try await compacted().files }), ("history", history),
            ("forgotten", forgotten), ("indexes", declaredIndexes), ("collation", collation),
            ("indexes-compacted", compactedIndexes), ("reset", reset), ("shares", shares),
            ("shares-compacted", compactedShares), ("shares-growing", growingShare),
            ("subscriptions", subscriptions),
            ("subscriptions-compacted", compactedSubscriptions), ("devices", devices),
            ("requests", requests), ("restored-zone", restoredZone),
            ("assets", { try await assets().files }), ("assets-collected", collectedAssets),
        ]
        var stores: [String: StoreFiles] = [:]
        for (name, make) in makers { stores["valid/" + name] = try await make() }
        return stores
    }

    /// The process ended between making the store and opening it: there is a manifest, no segment.
    private static func madeOnly() throws -> StoreFiles {
        let maker = SampleMaker(seed: 1)
        _ = try Journal.manifest(
            in: LocalStorage(
                at: storePath, .writing(creating: true), on: maker.disk.process()),
            creating: true, options: maker.options)
        return maker.files
    }

    private static func empty() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 2)
        try await maker.open().close()
        return maker.files
    }

    /// A commit and a clean close.
    private static func oneZone() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 2)
        let container = try maker.open()
        try await container.privateDatabase(for: "alice").save(RecordZone(zoneID: zone))
        try await container.close()
        return maker.files
    }

    /// The process that opened the store after a crash ended before it wrote anything.
    private static func endedLast() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 3)
        try await maker.fill(maker.open().privateDatabase(for: "alice"), saves: 1)
        _ = try maker.open()
        return maker.files
    }

    /// Every kind of value, edits, deletions; closed, opened again and closed.
    private static func kinds() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 3)
        var container = try maker.open()
        var database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        try await database.save(maker.record("target"))
        var values = maker.record("values", type: "Everything", maker.values)
        values.parent = Reference(recordID: Record.ID(recordName: "target", zoneID: zone))
        try await database.save(values)
        try await database.save(maker.record("lists", type: "Everything", maker.lists))
        // A list without elements: of a field whose elements are known, and of a new one.
        try await database.save(
            maker.record("bare", type: "Everything", ["texts": [], "unknown": []]))
        let long = String(repeating: "n", count: 254) + "~"
        try await database.save(maker.record(long, ["title": "a name of 255 bytes"]))
        try await database.save(maker.record("a b/c", ["title": "a name with other signs"]))
        try await container.close()

        container = try maker.open()
        database = container.privateDatabase(for: "alice")
        var edited = try await database.save(maker.record("edited", ["title": "one", "old": 1]))
        edited["title"] = "two"
        edited["old"] = nil
        try await database.save(edited)
        let gone = try await database.save(maker.record("gone", ["title": "gone"]))
        try await database.deleteRecord(withID: gone.recordID)
        let again = try await database.save(maker.record("again", ["title": "first"]))
        try await database.deleteRecord(withID: again.recordID)
        try await database.save(maker.record("again", type: "Other", ["title": "second"]))
        try await container.close()
        return maker.files
    }

    private var values: [String: RecordValue] {
        let target = Record.ID(recordName: "target", zoneID: Self.zone)
        var place = Location(latitude: 52.52, longitude: 13.405)
        place.altitude = 34.5
        place.horizontalAccuracy = 5
        place.verticalAccuracy = 10
        place.course = 90
        place.speed = 1.5
        place.timestamp = Date(timeIntervalSinceReferenceDate: 788_918_400.5)
        return [
            "text": "zwölf \"Äpfel\" \\ ✓\n", "textEmpty": "",
            "int": 1, "intMinus": -1, "intZero": 0,
            "intLeast": .int64(.min), "intGreatest": .int64(.max),
            "double": 0.1, "doubleMinusZero": .double(-0.0),
            "doubleInfinite": .double(.infinity), "doubleNone": .double(.nan),
            "date": .date(Date(timeIntervalSinceReferenceDate: 788_918_400.123456)),
            "dateEarly": .date(Date(timeIntervalSinceReferenceDate: -1e9)),
            "data": .bytes(Data([0, 1, 0x7f, 0x80, 0xff])), "dataEmpty": .bytes(Data()),
            "place": .location(place),
            "placeBare": .location(Location(latitude: -90, longitude: 180)),
            "link": .reference(Reference(recordID: target)),
            "linkOwning": .reference(Reference(recordID: target, action: .deleteSelf)),
            "linkValid": .reference(Reference(recordID: target, action: .validate)),
        ]
    }

    private var lists: [String: RecordValue] {
        let target = Record.ID(recordName: "target", zoneID: Self.zone)
        return [
            "texts": ["a", "", "ü"], "ints": [0, -1, 300], "doubles": [0.5, -2.0],
            "dates": [.date(Date(timeIntervalSinceReferenceDate: 0))],
            "datas": [.bytes(Data([1, 2])), .bytes(Data())],
            "places": [.location(Location(latitude: 1, longitude: 2))],
            "links": [
                .reference(Reference(recordID: target)),
                .reference(Reference(recordID: target, action: .deleteSelf)),
            ],
        ]
    }

    /// Several users, the public database, zones that were deleted; never closed.
    private static func users() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 4)
        let container = try maker.open()
        let carol = "_00112233445566778899aabbccddeeff"
        for user in ["alice", "bob", carol] {
            let database = container.publicDatabase(as: user)
            try await database.save(
                maker.record(
                    "by-\(user)", in: .default, ["title": .string("by \(user)")]))
        }
        for user in ["alice", "bob"] {
            let database = container.privateDatabase(for: user)
            try await database.save(RecordZone(zoneID: zone))
            try await database.save(maker.record("same", ["owner": .string(user)]))
            try await database.save(
                maker.record("plain", in: .default, ["count": 1]))
        }
        let alice = container.privateDatabase(for: "alice")
        for name in ["old", "twice"] {
            let id = RecordZone.ID(zoneName: name)
            try await alice.save(RecordZone(zoneID: id))
            try await alice.save(maker.record("inside", in: id))
            try await alice.deleteRecordZone(withID: id)
        }
        let twice = RecordZone.ID(zoneName: "twice")
        try await alice.save(RecordZone(zoneID: twice))
        try await alice.save(maker.record("new", in: twice))
        // Changed by another user than its creator.
        let shared = container.publicDatabase(asHost: "bob")
        var record = try await shared.record(for: Record.ID(recordName: "by-alice"))
        record["title"] = "changed by bob"
        try await shared.save(record)
        return maker.files
    }

    /// Fields that are flagged as encrypted.
    private static func encrypted() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 21)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        var record = maker.record("marked", ["open": "seen"])
        record.encryptedValues["secret"] = "hidden"
        record.encryptedValues["numbers"] = [1, 2]
        try await database.save(record)
        record = maker.record("bare")
        record.encryptedValues["numbers"] = []
        try await database.save(record)
        try await container.close()
        return maker.files
    }

    /// All that a user had is gone; one zone was made again. Another user has filled in their
    /// record.
    private static func purged() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 22)
        let container = try maker.open()
        let alice = container.privateDatabase(for: "alice")
        let other = RecordZone.ID(zoneName: "other")
        for id in [zone, other] {
            try await alice.save(RecordZone(zoneID: id))
            try await alice.save(maker.record("inside", in: id))
        }
        try await alice.save(maker.record("plain", in: .default))
        var user = maker.record(
            container.userRecordName(for: "bob"), type: "Users", in: .default)
        user["nickname"] = "Bob"
        try await container.publicDatabase(as: "bob").save(user)
        try await container.purge(user: "alice")
        try await alice.save(RecordZone(zoneID: zone))
        try await alice.save(maker.record("again"))
        try await container.close()
        return maker.files
    }

    /// Several segments, an opening after a crash, a commit longer than a group; closed.
    private static func segments() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 5)
        var container = try maker.open()
        try await maker.fill(
            container.privateDatabase(for: "alice"), saves: 16, length: 900)
        container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        try await maker.fill(database, saves: 4, from: 16, length: 900)
        _ = try await database.modifyRecords(
            saving: (0..<14).map { number in
                maker.record(
                    "batch-\(number)", type: "Batch",
                    ["content": maker.filling(100 + number, count: 1400)])
            }, deleting: [Record.ID(recordName: "note-3", zoneID: zone)])
        var record = try await database.record(
            for: Record.ID(recordName: "note-4", zoneID: zone))
        record["number"] = -4
        try await database.save(record)
        try await container.close()
        return maker.files
    }

    /// A commit over two segments whose last group never came.
    private static func cutLongCommit() async throws -> SampleMaker {
        let maker = SampleMaker(seed: 6)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        try await maker.fill(database, saves: 3)
        _ = try await database.modifyRecords(
            saving: (0..<18).map { number in
                maker.record(
                    "batch-\(number)", ["content": maker.filling(200 + number, count: 900)])
            })
        try maker.edit(1) { $0.zero(from: $0.groups[$0.groups.count - 1]) }
        return maker
    }

    private static func givenUp(_ maker: SampleMaker) async throws -> StoreFiles {
        let container = try maker.open()
        try await maker.fill(container.privateDatabase(for: "alice"), saves: 1, from: 50)
        try await container.close()
        return maker.files
    }

    /// Opened again after a crash, before anything had a name.
    private static func noNamesYet() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 7)
        for name in ["first", "second"] {
            let database = try maker.open().privateDatabase(for: "alice")
            try await database.save(RecordZone(zoneName: name))
        }
        return maker.files
    }

    /// Named points, the first before anything else, one of them removed.
    private static func marks() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 12)
        let container = try maker.open()
        try await container.mark("beginning")
        try await maker.fill(container.privateDatabase(for: "alice"), saves: 2)
        try await container.mark("zwölf Äpfel")
        let removed = try await container.mark("removed")
        try await maker.fill(container.privateDatabase(for: "alice"), saves: 1, from: 2)
        try await container.mark("zwölf Äpfel")
        try await container.removeMark(removed)
        try await container.close()
        return maker.files
    }

    /// Calls with an operationID, saved by others in between, and what devices said.
    private static func operations() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 13)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice", device: "phone")
        try await maker.fill(database, saves: 2)
        let ids = ["note-0", "note-1", "nothing"].map {
            Record.ID(recordName: $0, zoneID: zone)
        }
        let stale = try await database.record(for: ids[1])
        try await database.save(stale)
        for round in 0..<2 {
            _ = try await database.modifyRecords(
                saving: [maker.record("new"), stale], deleting: [ids[0], ids[2]],
                atomically: false, operationID: "first", clientChangeTokenData: Data([1, 2]))
            if round == 0 { try await database.save(maker.record("between")) }
        }
        var edited = try await database.record(for: ids[1])
        edited["number"] = 7
        try await container.privateDatabase(for: "alice").save(
            edited, operationID: "zwölf Äpfel")
        // Longer than a group: the operation tells some offsets whole.
        _ = try await database.modifyRecords(
            saving: (0..<12).map {
                maker.record("long-\($0)", ["content": maker.filling(300 + $0, count: 900)])
            }, operationID: "long", clientChangeTokenData: Data([3]))
        try await container.close()
        return maker.files
    }

    /// The process ended between the trailer and the manifest that lists the next segment.
    private static func sealedLast() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 11)
        let database = try maker.open().privateDatabase(for: "alice")
        var before = maker.files
        var number = 0
        while maker.segmentNames.count < 2 {
            before = maker.files
            try await maker.fill(database, saves: 1, from: number, length: 1500)
            number += 1
        }
        let manifest = before.filter { $0.key.hasPrefix(Manifest.filePrefix) }
        var unused = SegmentImage(try maker.segment(1), base: 2048)
        unused.zero(from: 4096)
        var files = manifest
        files[maker.segmentNames[0]] = try maker.segment(0)
        files[maker.segmentNames[1]] = unused.bytes
        return files
    }

    /// Files that no manifest lists.
    private static func strays() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 8)
        var container = try maker.open()
        try await maker.fill(container.privateDatabase(for: "alice"), saves: 1)
        let older = maker.files.filter { $0.key.hasPrefix(Manifest.filePrefix) }
        try await container.close()
        container = try maker.open()
        var files = maker.files
        files.merge(older) { first, _ in first }
        files["journal-0000000000abcdef"] = [UInt8](repeating: 0, count: 4096)
        files[Manifest.fileName(generation: 9) + LocalStorage.temporarySuffix] = [1, 2, 3]
        files["notes.txt"] = Array("not the store's\n".utf8)
        files["manifest-of-cargo"] = Array("neither\n".utf8)
        return files
    }

    /// A newer version wrote it and says that this one may read it.
    private static func writtenByNewer() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 9)
        let container = try maker.open()
        try await maker.fill(container.privateDatabase(for: "alice"), saves: 1)
        try await container.close()
        return maker.files.mapValues { file in
            // A compatible feature of the segments or of the manifest, and the version.
            SegmentImage.with([8: 2, file[3] == UInt8(ascii: "J") ? 99 : 75: 0x80], file)
        }
    }

    /// Kinds that no reader knows and every reader may pass over.
    private static func ignorableKinds() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 10)
        let container = try maker.open()
        try await maker.fill(container.privateDatabase(for: "alice"), saves: 3)
        var image = SegmentImage(try maker.segment(0), base: 0)
        let frames = image.frames(ofGroup: image.groups[image.groups.count - 1])
        image.set(kind: 0x80 | 64, ofFrame: frames[1])
        maker.replace(image, 0)
        return maker.files
    }
}
