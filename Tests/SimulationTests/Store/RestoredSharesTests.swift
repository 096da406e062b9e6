import FoundationEssentials
import Stratus
import StratusFiles
import Support
import Testing

/// Shares of a zone that is brought back.
struct RestoredSharesTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")

    private func id(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: Self.zone)
    }

    private func alice(_ container: Container) -> Database {
        container.privateDatabase(for: "alice")
    }

    private func save(
        _ name: String, below parent: String? = nil, in container: Container
    ) async throws {
        var record = Record(recordType: "Note", recordID: id(name))
        record["text"] = .string("text of \(name)")
        if let parent {
            record.parent = Reference(recordID: id(parent), action: .none)
        }
        try await alice(container).save(record)
    }

    /// Shares the record of that name; returns the link.
    @discardableResult
    private func share(
        _ root: String, as name: String, in container: Container,
        _ edit: (inout Share) throws -> Void
    ) async throws -> String {
        let record = try await alice(container).record(for: id(root))
        var share = Share(rootRecord: record, shareID: id(name))
        try edit(&share)
        let result = try await alice(container).modifyRecords(saving: [record, share.record])
        let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
        return try #require(saved?.shortGUID)
    }

    private func participant(
        _ user: String, _ permission: Share.Permission, in container: Container
    ) async throws -> Share.Participant {
        // From here on it is known what the host calls the user.
        try await container.setUserProfile(UserProfile(), for: user)
        let name = container.userRecordID(for: user)
        return Share.Participant(
            UserIdentity.LookupInfo(userRecordID: name), permission: permission)
    }

    /// Of alice: a tree that bob has joined and may write, to which carol and dave are invited; a record
    /// that anyone may read with the link, as frank does; one that is not shared.
    private func shared() async throws -> Container {
        let container = try store.open()
        try await alice(container).save(RecordZone(zoneID: Self.zone))
        for name in ["tree", "page", "alone"] { try await save(name, in: container) }
        try await save("leaf", below: "tree", in: container)
        let bob = try await participant("bob", .readWrite, in: container)
        let carol = try await participant("carol", .readOnly, in: container)
        let tree = try await share("tree", as: "s1", in: container) { share in
            share.title = "The tree"
            try share.addParticipant(bob)
            try share.addParticipant(carol)
            try share.addParticipant(
                Share.Participant(UserIdentity.LookupInfo(emailAddress: "dave@example.org")))
        }
        try await container.acceptShare(tree, as: "bob")
        let page = try await share("page", as: "s2", in: container) {
            $0.publicPermission = .readOnly
        }
        try await container.acceptShare(page, as: "frank")
        return container
    }

    private func archived(_ container: Container) async throws -> DatabaseSnapshot {
        _ = try await container.backup(to: store.archivePath("a"))
        return try await store.openArchive("a").container().snapshot().privateDatabase(for: "alice")
    }

    /// The names of all that is shared with a user.
    private func seen(by user: String, in container: Container) async throws -> [String] {
        let database = container.sharedDatabase(for: user)
        var names: [String] = []
        for zone in try await database.allRecordZones() {
            names += try await database.records(inZoneWith: zone.zoneID).records
                .map(\.recordID.recordName)
        }
        return names.sorted()
    }

    @Test(arguments: [false, true])
    func `the shares of a zone come back where that is asked for`(keeps: Bool) async throws {
        let source = try await archived(try await shared())
        let target = try store.opening("other").open()
        let planned = try await alice(target).restore(
            Self.zone, from: source, dryRun: true, keepingAccess: keeps)
        #expect(try await seen(by: "bob", in: target).isEmpty)
        let done = try await alice(target).restore(
            Self.zone, from: source, keepingAccess: keeps)
        #expect(planned.access == done.access)
        #expect(done.keepsHistory && done.isProved)
        guard keeps else {
            #expect(done.access.isEmpty)
            #expect(try await seen(by: "bob", in: target).isEmpty)
            return
        }
        #expect(done.access.map(\.user) == ["alice", "alice"])
        #expect(done.access.map { $0.share?.recordName } == ["s1", "s2"])
        #expect(done.access.map(\.publicPermission) == [.none, .readOnly])
        let participants = done.access.map { $0.participants.sorted() }
        #expect(participants == [["bob", "carol", "dave@example.org"], ["frank"]])
        #expect(try await seen(by: "bob", in: target) == ["leaf", "s1", "tree"])
        #expect(try await seen(by: "frank", in: target) == ["page", "s2"])
        var share = try #require(Share(try await alice(target).record(for: id("s1"))))
        #expect(share.title == "The tree" && share.rootRecordID == id("tree"))
        #expect(share.participants.count == 4)
        let joined = try #require(
            share.participants.first { $0.role != .owner && $0.acceptanceStatus == .accepted })
        #expect(joined.userIdentity.userRecordID == target.userRecordID(for: "bob"))
        #expect(joined.permission == .readWrite)
        let invited = share.participants.filter { $0.acceptanceStatus == .pending }
        #expect(
            invited.compactMap(\.userIdentity.lookupInfo?.emailAddress) == ["dave@example.org"])
        // The owner goes on from there.
        try share.addParticipant(try await participant("eve", .readOnly, in: target))
        try await alice(target).save(share.record)
        try await target.acceptShare(try #require(share.shortGUID), as: "carol")
        #expect(try await seen(by: "carol", in: target) == ["leaf", "s1", "tree"])
        // Bob may write what he could, frank may not.
        for (user, name, isAllowed) in [("bob", "leaf", true), ("frank", "page", false)] {
            let database = target.sharedDatabase(for: user)
            let zone = try #require(try await database.allRecordZones().first).zoneID
            var record = try await database.record(
                for: Record.ID(recordName: name, zoneID: zone))
            record["text"] = .string("another")
            let isSaved = (try? await database.save(record)) != nil
            #expect(isSaved == isAllowed, "\(user)")
        }
        // Once more there is nothing to be done.
        let again = try await alice(target).restore(
            Self.zone, from: source, mode: .skip, keepingAccess: true)
        #expect(again.access.isEmpty && again.isEmpty)
        try await target.close()
        #expect(try store.opening("other").verification(scratch: "other").findings.isEmpty)
    }

    @Test func `what is shared by now stays as it is`() async throws {
        let source = try await archived(try await shared())
        let target = try store.opening("other").open()
        try await alice(target).save(RecordZone(zoneID: Self.zone))
        for name in ["tree", "page"] { try await save(name, in: target) }
        try await save("leaf", below: "tree", in: target)
        // The leaf alone, and the page without participants.
        try await share("leaf", as: "other", in: target) { $0.publicPermission = .readOnly }
        try await share("page", as: "mine", in: target) { _ in }
        for dryRun in [true, false] {
            let done = try await alice(target).restore(
                Self.zone, from: source, mode: .skip, dryRun: dryRun, keepingAccess: true)
            #expect(done.access.isEmpty && done.sharingFailures.isEmpty)
        }
        #expect(try await seen(by: "bob", in: target).isEmpty)
        #expect(try await seen(by: "frank", in: target).isEmpty)
        let page = try await alice(target).record(for: id("page"))
        #expect(page.share?.recordID.recordName == "mine")
    }

    @Test func `a share that was deleted comes back from the past of its store`() async throws {
        let container = try await shared()
        let mark = try await container.mark("before")
        _ = try await alice(container).modifyRecords(
            saving: [], deleting: [id("leaf"), id("tree"), id("s2")])
        #expect(try await seen(by: "bob", in: container).isEmpty)
        // Meanwhile another record has the name of the share.
        try await save("s1", in: container)
        let past = try await container.snapshot(at: .mark(mark)).privateDatabase(for: "alice")
        // The root of the other share is still there, and is not meant.
        let alone = try await alice(container).restore(
            Self.zone, from: past, records: ["alone"], keepingAccess: true)
        #expect(alone.access.isEmpty)
        for dryRun in [true, false] {
            let done = try await alice(container).restore(
                Self.zone, from: past, records: ["tree"], dryRun: dryRun, keepingAccess: true)
            #expect(done.access.map { $0.share?.recordName } == ["s1-2"])
        }
        #expect(try await seen(by: "bob", in: container) == ["leaf", "s1-2", "tree"])
        #expect(try await seen(by: "frank", in: container).isEmpty)
    }

    @Test func `a whole zone is shared again, also under another name and with its new owner`()
        async throws
    {
        let container = try store.open()
        try await alice(container).save(RecordZone(zoneID: Self.zone))
        try await save("page", in: container)
        var share = Share(recordZoneID: Self.zone)
        for user in ["bob", "carol"] {
            try share.addParticipant(try await participant(user, .readOnly, in: container))
        }
        let result = try await alice(container).modifyRecords(saving: [share.record])
        let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
        let link = try #require(saved?.shortGUID)
        for user in ["bob", "carol"] { try await container.acceptShare(link, as: user) }
        let source = try await archived(container)
        let target = try store.opening("other").open()
        let zone = RecordZone.ID(zoneName: "copy")
        let done = try await target.privateDatabase(for: "bob").restore(
            Self.zone, from: source, to: zone, keepingAccess: true)
        #expect(done.access.map(\.user) == ["bob"])
        #expect(done.access.map(\.participants) == [["carol"]])
        #expect(
            try await seen(by: "carol", in: target) == [Share.zoneWideRecordName, "page"].sorted())
        #expect(try await seen(by: "bob", in: target).isEmpty)
    }

    @Test func `fields, and what is no private zone, come back without shares`() async throws {
        let container = try await shared()
        let source = try await archived(container)
        let target = try store.opening("other").open()
        var error = await #expect(throws: StoreError.self) {
            try await alice(target).restore(
                Self.zone, from: source, records: ["tree"], fields: ["text"], keepingAccess: true)
        }
        #expect(error?.code == .invalidArguments)
        let bobs = container.snapshot().sharedDatabase(for: "bob")
        let zone = RecordZone.ID(
            zoneName: "notes", ownerName: container.userRecordID(for: "alice").recordName)
        error = await #expect(throws: StoreError.self) {
            try await target.privateDatabase(for: "bob").restore(
                zone, from: bobs, keepingAccess: true)
        }
        #expect(error?.code == .invalidArguments)
        #expect(try await target.privateDatabase(for: "bob").allRecordZones().count <= 1)
    }

    @Test func `a user whose name was never known is invited to a share of another store`()
        async throws
    {
        let container = try store.open()
        try await alice(container).save(RecordZone(zoneID: Self.zone))
        try await save("page", in: container)
        let name = container.userRecordID(for: "bob")
        let link = try await share("page", as: "s", in: container) {
            try $0.addParticipant(
                Share.Participant(UserIdentity.LookupInfo(userRecordID: name)))
        }
        try await container.acceptShare(link, as: "bob")
        let source = try await archived(container)
        let target = try store.opening("other").open()
        try await alice(target).restore(Self.zone, from: source, keepingAccess: true)
        let share = try #require(Share(try await alice(target).record(for: id("s"))))
        #expect(share.participants.map(\.acceptanceStatus).contains(.pending))
        // In the store itself it is the same user.
        try await alice(container).deleteRecord(withID: id("s"))
        try await alice(container).restore(
            Self.zone, from: source, mode: .skip, keepingAccess: true)
        #expect(try await seen(by: "bob", in: container) == ["page", "s"])
    }

    @Test func `a share that the store refuses leaves the others`() async throws {
        let container = try await shared()
        var tree = try await alice(container).record(for: id("s1"))
        tree["color"] = 1
        try await alice(container).save(tree)
        let source = try await archived(container)
        let target = try store.opening("other").open()
        // There the field is a text.
        let carol = target.privateDatabase(for: "carol")
        try await carol.save(RecordZone(zoneID: Self.zone))
        var share = Share(recordZoneID: Self.zone)
        share["color"] = "red"
        _ = try await carol.modifyRecords(saving: [share.record])
        let done = try await alice(target).restore(
            Self.zone, from: source, keepingAccess: true)
        #expect(done.isProved)
        #expect(done.access.map { $0.share?.recordName } == ["s2"])
        #expect(done.sharingFailures.keys.map(\.recordName) == ["s1"])
        #expect(try await seen(by: "frank", in: target) == ["page", "s2"])
    }

    @Test func `after a restore that broke off, the next one makes the shares that are missing`()
        async throws
    {
        let source = try await archived(try await shared())
        let target = try store.opening("other").open()
        try await alice(target).restore(Self.zone, from: source)
        // Where the first one ended: the first share was saved, no participant has accepted it.
        let bob = try await participant("bob", .readWrite, in: target)
        try await share("tree", as: "s1", in: target) { try $0.addParticipant(bob) }
        let done = try await alice(target).restore(
            Self.zone, from: source, mode: .skip, keepingAccess: true)
        #expect(done.access.map { $0.share?.recordName } == ["s2"])
        #expect(try await seen(by: "frank", in: target) == ["page", "s2"])
    }
}
