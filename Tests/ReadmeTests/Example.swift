import FoundationEssentials
import Stratus

func example() async throws {
    let container = try await Container.open(at: "/tmp/notes.stratus", creating: true)
    let database = container.privateDatabase(for: "alice")
    let zone = try await database.save(RecordZone(zoneName: "Notes"))

    var note = Record(recordType: "Note", recordID: .init(recordName: "n1", zoneID: zone.zoneID))
    note["title"] = "Shopping"
    note["items"] = ["bread", "milk"]
    note = try await database.save(note)  // durable when it returns

    note["done"] = true  // only what was edited is sent, and never over another client's save
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
    print(others.count, try database.contentHash())  // of the same moment, despite later saves
}

func past(of container: Container, _ id: Record.ID) async throws {
    try await container.setHistoryPolicy(.age(seconds: 30 * 86_400))  // none unless set
    let mark = try await container.mark("before the import")
    // Or as of a time, an offset of the journal, a change token.
    let past = try await container.snapshot(at: .mark(mark)).privateDatabase(for: "alice")
    let before = try past.records(inZoneWith: id.zoneID).records
    let versions = try await container.privateDatabase(for: "alice").history(of: id).versions
    print(before.count, versions.count)  // `blame` says which of them set each field
}

func queries(of container: Container, _ database: Database, _ zone: RecordZone.ID) async throws {
    try await container.addIndex(on: "done", of: "Note", .queryable)  // or by a schema as text
    let query = Query(
        recordType: "Note", predicate: try .init("done = 1 AND title BEGINSWITH %@", "Shop"),
        sortDescriptors: [.init(key: "title")])
    let page = try await database.records(matching: query, inZoneWith: zone, resultsLimit: 20)
    print(page.records.count, page.cursor != nil)  // the next page begins there, be it tomorrow
}

func migrations(of container: Container) async throws {
    try await container.migrate(
        "Note",
        [
            .rename("titel", to: "title"), .add("stars", .int64, value: 0),
            .change("due", to: .timestamp) { old in
                old.doubleValue.map { .date(Date(timeIntervalSince1970: $0)) }
            },
        ], asHost: "service")
}

func rules(of database: Database, _ note: Record) async throws {
    let zone = note.recordID.zoneID
    var item = Record(recordType: "Item", recordID: .init(recordName: "i1", zoneID: zone))
    item["note"] = .reference(Reference(recordID: note.recordID, action: .deleteSelf))
    // One commit. Asked for again under its ID, be it after a crash, it changes nothing more.
    let result = try await database.modifyRecords(saving: [item], operationID: "import 1")
    if let failure = result.partialFailure { throw failure }
    // What only one side has changed is merged; where both have, the closure decides.
    try await database.save(note) { _, mine, _, theirs in mine ?? theirs }
    try await database.deleteRecord(withID: note.recordID)  // and the item with it
    for try await page in database.liveRecordZoneChanges(inZoneWith: zone) {
        print(page.modifications.count, page.deletions.count)
        if !page.moreComing { break }  // or go on, and wait for what comes next
    }
}

func notifications(of container: Container, _ database: Database, _ note: Record) async throws {
    let done = try Query.Predicate("done = 1")
    try await database.save(
        Subscription(.query(done, recordType: "Note", zoneID: nil, options: .firesOnRecordUpdate)))
    let token = try await container.notificationChanges(for: "alice").notificationToken
    var note = note
    note["done"] = 1
    try await database.save(note)
    // All that the user was told since; or `notifications(for:device:since:)`, as they come.
    let told = try await container.notificationChanges(for: "alice", since: token)
    print(told.notifications.map { $0.recordID?.recordName ?? "" })
}

func assets(of database: Database, _ zone: RecordZone.ID, _ path: String) async throws {
    var photo = Record(recordType: "Photo", recordID: .init(recordName: "p1", zoneID: zone))
    photo["image"] = .asset(Asset(file: path))
    photo = try await database.save(photo)
    guard let image = photo["image"]?.assetValue else { return }
    print(image.size ?? 0, try await image.data(in: 0..<16).count)  // reads what it needs of it
}

func sharing(of container: Container, _ album: Record) async throws {
    let owner = container.privateDatabase(for: "alice")
    let bob = UserIdentity.LookupInfo(userRecordID: container.userRecordID(for: "bob"))
    var share = Share(rootRecord: album)
    try share.addParticipant(.init(bob, permission: .readWrite))
    // A root and its share are saved in one call; what lies below the root is shared with it.
    let saved = try await owner.modifyRecords(saving: [album, share.record])
    guard let record = try saved.saveResults[share.recordID]?.get(),
        let link = Share(record)?.shortGUID
    else { return }
    let accepted = try await container.acceptShare(link, as: "bob")
    let database = container.sharedDatabase(for: "bob")
    let changes = try await database.recordZoneChanges(inZoneWith: accepted.zoneID)
    print(changes.modifications.count)  // the album, all below it, its share, nothing else
}

func backups(of container: Container, _ zone: RecordZone.ID, _ folder: String) async throws {
    let archive = try await container.backup(to: folder)  // or `since:` an earlier one
    try await archive.restore(to: folder + "/restored")  // a store, proved before it gets its name
    // What was deleted comes back, in one commit; what was changed since stays.
    let then = try await archive.container().snapshot().privateDatabase(for: "alice")
    let database = container.privateDatabase(for: "alice")
    let back = try await database.restore(zone, from: then, mode: .keep)
    print(back.added, back.kept)
}
