import Stratus
import StratusBytes
import StratusFiles

// Records with parents and cascade links.
extension SampleMaker {
    private func link(_ name: String, _ action: Reference.Action) -> RecordValue {
        .reference(
            Reference(
                recordID: Record.ID(recordName: name, zoneID: Self.zone), action: action))
    }

    private func child(
        _ name: String, of parent: String, _ fields: [String: RecordValue] = [:]
    ) -> Record {
        var record = record(name, fields)
        record.parent = Reference(recordID: Record.ID(recordName: parent, zoneID: Self.zone))
        return record
    }

    /// Parents and cascade links set, changed and taken away; a cascade, records moved to another
    /// zone and back, one under an operationID, and a user's record with a field; closed.
    static func links() async throws -> StoreFiles {
        let maker = SampleMaker(seed: 60)
        let container = try maker.open()
        let database = container.privateDatabase(for: "alice")
        let archive = RecordZone.ID(zoneName: "archive")
        for id in [zone, archive] { try await database.save(RecordZone(zoneID: id)) }
        for name in ["top", "other", "owner"] { try await database.save(maker.record(name)) }
        var child = try await database.save(maker.child("child", of: "top"))
        try await database.save(maker.child("leaf", of: "child"))
        child.parent = Reference(recordID: Record.ID(recordName: "other", zoneID: zone))
        child["links"] = .list([
            maker.link("owner", .deleteSelf), maker.link("top", .none),
            maker.link("nobody", .deleteSelf), maker.link("owner", .deleteSelf),
        ])
        child = try await database.save(child)
        child["title"] = "the links stay as they are"
        child = try await database.save(child)
        child["links"] = .list([maker.link("other", .deleteSelf), maker.link("owner", .deleteSelf)])
        child = try await database.save(child)
        try await database.save(
            maker.record(
                "owned", ["one": maker.link("owner", .deleteSelf), "two": maker.link("top", .none)]
            ))
        try await database.save(maker.record("twice", ["one": maker.link("owned", .deleteSelf)]))
        child.parent = nil
        child["links"] = nil
        try await database.save(child)
        try await database.deleteRecord(withID: Record.ID(recordName: "owner", zoneID: zone))
        let id = Record.ID(recordName: "child", zoneID: zone)
        var moved = try await database.moveRecords([id], to: archive)[0]
        moved["title"] = "moved, and changed since"
        try await database.save(moved)
        try await database.moveRecords([Record.ID(recordName: "top", zoneID: zone)], to: archive)
        try await database.moveRecords(
            [Record.ID(recordName: "top", zoneID: archive)], to: zone, operationID: "back")
        let shared = container.publicDatabase(as: "alice")
        var user = try await shared.record(for: container.userRecordID(for: "alice"))
        user["name"] = "Alice"
        try await shared.save(user)
        try await container.close()
        return maker.files
    }

    /// The last entry is a record, or a tombstone, with a parent, and its flags make no sense.
    static func damagedLinks() async throws -> [(String, StoreFiles)] {
        func store(deleting: Bool) async throws -> SampleMaker {
            let maker = SampleMaker(seed: 61)
            let database = try maker.open().privateDatabase(for: "alice")
            try await database.save(RecordZone(zoneID: zone))
            try await database.save(maker.record("top"))
            let child = try await database.save(maker.child("child", of: "top"))
            if deleting { try await database.deleteRecord(withID: child.recordID) }
            return maker
        }
        func change(_ maker: SampleMaker, _ flags: UInt8, at place: (Int) -> Int) throws {
            try maker.edit(0) { image in
                let frame = image.frames(ofGroup: image.groups[image.groups.count - 1])[1]
                let length = Int(image.bytes.span.uint32(at: frame + 16))
                image.overwrite(image.payload(ofFrame: frame) + place(length), with: [flags])
                image.seal(frame)
            }
        }
        let record = try await store(deleting: false)
        // A former parent, of a record that is new.
        try change(record, 4 | 16) { _ in 0 }
        let tombstone = try await store(deleting: true)
        // Behind the flags stands the parent, four bytes.
        try change(tombstone, 8) { $0 - 4 - 1 }
        return [
            ("link-flags-of-record", record.files), ("link-flags-of-tombstone", tombstone.files),
        ]
    }
}
