import FoundationEssentials
import Stratus
import StratusFiles
import Support
import Testing

/// Who may do something in a store that was made of another one.
struct RestoredAccessTests {
    private let store = SmallStore(seed: Campaign.seed)
    private static let zone = RecordZone.ID(zoneName: "notes")

    /// Alice shares a tree with bob, who has accepted, and through a link that anyone may use; carol
    /// shares a zone with dave; eve has a role.
    private func shared() async throws -> (container: Container, link: String) {
        let container = try store.open()
        let alice = container.privateDatabase(for: "alice")
        try await alice.save(RecordZone(zoneID: Self.zone))
        let root = Record(
            recordType: "Note", recordID: Record.ID(recordName: "root", zoneID: Self.zone))
        var share = Share(rootRecord: root, shareID: Record.ID(recordName: "s", zoneID: Self.zone))
        share.publicPermission = .readOnly
        let result = try await alice.modifyRecords(saving: [root, share.record])
        let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
        let link = try #require(saved?.shortGUID)
        try await container.acceptShare(link, as: "bob")
        let carol = container.privateDatabase(for: "carol")
        try await carol.save(RecordZone(zoneName: "all"))
        let all = Share(recordZoneID: RecordZone.ID(zoneName: "all"))
        _ = try await carol.modifyRecords(saving: [all.record])
        try await container.importSchema(
            "DEFINE SCHEMA CREATE ROLE editor; RECORD TYPE Post (text STRING, GRANT WRITE TO editor);"
        )
        try await container.setRoles(["editor"], of: "eve")
        return (container, link)
    }

    @Test func `a restored store has all access, and lists it`() async throws {
        let (container, link) = try await shared()
        _ = try await container.backup(to: store.archivePath("a"))
        let archive = try await store.openArchive("a")
        let report = try await archive.restore(to: "restored")
        #expect(report.access.map(\.user) == ["alice", "carol", "eve"])
        #expect(report.access[0].share?.recordName == "s")
        #expect(report.access[0].publicPermission == .readOnly)
        #expect(report.access[0].participants == ["bob"])
        #expect(report.access[2].share == nil && report.access[2].roles == ["editor"])
        let restored = try store.opening("restored").open()
        #expect(try await restored.sharedDatabase(for: "bob").allRecordZones().count == 1)
        try await restored.acceptShare(link, as: "frank")
        #expect(try await restored.roles(of: "eve") == ["editor"])
        try await restored.close()
    }

    @Test(arguments: [false, true])
    func `a clone has access only where that is asked for`(keeps: Bool) async throws {
        let (container, link) = try await shared()
        _ = try await container.backup(to: store.archivePath("a"))
        let archive = try await store.openArchive("a")
        let report = try await archive.restore(
            to: "clone", cloning: true, keepingAccess: keeps)
        #expect(report.access.count == (keeps ? 3 : 0))
        let clone = try store.opening("clone").open()
        #expect(
            try await clone.sharedDatabase(for: "bob").allRecordZones().count == (keeps ? 1 : 0))
        #expect(try await clone.roles(of: "eve") == (keeps ? ["editor"] : []))
        let joins = (try? await clone.acceptShare(link, as: "frank")) != nil
        #expect(joins == keeps)
        // What was shared is still its owner's, without the records of the shares.
        let zone = try await clone.privateDatabase(for: "alice")
            .records(inZoneWith: Self.zone).records
        #expect(zone.map(\.recordID.recordName).sorted() == (keeps ? ["root", "s"] : ["root"]))
        #expect(
            zone.first { $0.recordID.recordName == "root" }?.share?.recordID.recordName
                == (keeps ? "s" : nil))
        #expect(report.recordCount == (keeps ? 3 : 1))
        try await clone.close()
        #expect(try store.opening("clone").verification(scratch: "clone").findings.isEmpty)
    }
}
