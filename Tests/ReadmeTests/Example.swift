import Stratus

func example() async throws {
    let container = try await Container.open(at: "/tmp/notes.stratus", creating: true)
    let database = container.privateDatabase(for: "alice")
    let zone = try await database.save(RecordZone(zoneName: "Notes"))

    var note = Record(recordType: "Note", recordID: .init(recordName: "n1", zoneID: zone.zoneID))
    note["title"] = "Shopping"
    note["items"] = ["bread", "milk"]
    note = try await database.save(note)  // durable when it returns

    note["done"] = true  // only what was edited is sent, and never over somebody else's save
    try await database.save(note)

    let changes = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
    for record in changes.modifications { print(record.recordID.recordName, record.allKeys) }
    try await container.close()  // keep changes.changeToken: the next fetch goes on from there
}

func snapshots(of container: Container, _ id: Record.ID) throws {
    let snapshot = container.snapshot()
    let database = snapshot.privateDatabase(for: "alice")
    let note = try database.record(for: id)  // without `await`: it may wait for the disk
    let others = try database.records(inZoneWith: id.zoneID, type: note.recordType).records
    print(others.count, try database.contentHash())  // of the same moment, whoever writes meanwhile
}
