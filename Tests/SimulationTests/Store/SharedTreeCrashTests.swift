import Stratus
import StratusJournal
import Support
import Testing

/// Sharing a large tree takes several commits: after a crash amid them the share is there with all
/// of its members, or not at all. Moving or unsharing a tree is one commit.
struct SharedTreeCrashTests {
    private static let zone = RecordZone.ID(zoneName: "notes")
    /// More than two pieces of 4,096.
    private static let count = 9000

    private static func id(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: zone)
    }

    private static func record(_ name: String, below parent: String?) -> Record {
        var record = Record(recordType: "Note", recordID: id(name))
        record.parent = parent.map { Reference(recordID: id($0)) }
        return record
    }

    private static func store(on disk: SimulatedDisk) -> SmallStore {
        var store = SmallStore(on: disk, seed: Campaign.seed)
        // A share in pieces is long.
        store.options.segmentLength = 1 << 20
        return store
    }

    /// What can be done with the tree.
    enum Change: CaseIterable { case share, move, end }

    private static func share(_ container: Container) async throws -> Share {
        let database = container.privateDatabase(for: "alice")
        let root = try await database.record(for: id("root"))
        var share = Share(rootRecord: root, shareID: id("share"))
        share.publicPermission = .readOnly
        let result = try await database.modifyRecords(saving: [root, share.record])
        if let failure = result.partialFailure { throw failure }
        let saved = Share(try #require(try result.saveResults[share.recordID]?.get()))
        return try #require(saved)
    }

    /// A store with the tree, as it is before the change; the tree of `other` is shared with bob.
    private static func begin(_ change: Change) async throws -> SmallStore {
        let store = store(on: SimulatedDisk())
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: zone))
        var records = [record("root", below: nil), record("other", below: nil)]
        records += (0..<count).map { record("r\($0)", below: $0 % 100 == 0 ? "root" : "r0") }
        let result = try await database.modifyRecords(saving: records)
        if let failure = result.partialFailure { throw failure }
        if change != .share {
            let link = try #require(try await share(container).shortGUID)
            try await container.acceptShare(link, as: "bob")
        }
        try await container.checkpoint()
        try await container.close()
        store.disk.killProcesses()
        return store
    }

    private static func apply(_ change: Change, _ container: Container) async throws {
        let database = container.privateDatabase(for: "alice")
        switch change {
        case .share: _ = try await share(container)
        case .move: try await database.save(record("r0", below: "other"), savePolicy: .changedKeys)
        case .end: try await database.deleteRecord(withID: id("share"))
        }
    }

    /// How many records bob sees, the share's too; nil: not the zone.
    private static func seen(_ container: Container) async throws -> Int? {
        let owner = container.userRecordName(for: "alice")
        let zone = RecordZone.ID(zoneName: zone.zoneName, ownerName: owner)
        let bob = container.sharedDatabase(for: "bob")
        var count = 0
        var token: ChangeToken?
        var moreComing = true
        while moreComing {
            let page: RecordZoneChanges
            do throws(StoreError) {
                page = try await bob.recordZoneChanges(
                    inZoneWith: zone, since: token, desiredKeys: [], resultsLimit: 5000)
            } catch {
                guard error.code == .zoneNotFound else { throw error }
                return nil
            }
            count += page.modifications.count
            token = page.changeToken
            moreComing = page.moreComing
        }
        return count
    }

    /// Opens the store after the crash. Returns what bob then sees where the share is there.
    private static func found(_ store: SmallStore, _ change: Change) async throws -> Int? {
        let container = try store.open()
        let database = container.privateDatabase(for: "alice")
        let root = try await database.record(for: id("root"))
        var link: String?
        if root.share != nil {
            link = Share(try await database.record(for: id("share")))?.shortGUID
        }
        if change == .share {
            // A share that was dropped can be made again at once.
            if link == nil { link = try await share(container).shortGUID }
            try await container.acceptShare(try #require(link), as: "bob")
        }
        let seen = try await seen(container)
        try await container.close()
        return seen
    }

    @Test(arguments: Change.allCases)
    func `a tree is shared, moved and unshared whole or not at all, wherever the power goes`(
        change: Change
    ) async throws {
        let store = try await Self.begin(change)
        let all = Self.count + 2
        // All below r0 goes with it, all but the hundreds below the root.
        let left = Self.count / 100 + 1
        let expected: Set<Int?> =
            switch change {
            case .share: [all]
            case .move: [all, left]
            case .end: [all, nil]
            }
        let disk = SimulatedDisk(copying: store.disk)
        disk.keepsCrashPoints = true
        let container = try Self.store(on: disk).open()
        try await Self.apply(change, container)
        let points = disk.crashPoints
        #expect(!points.isEmpty)
        var outcomes: Set<Int?> = []
        let stride = max(1, points.count / 12)
        for (number, point) in points.enumerated()
        where number % stride == 0 || number == points.count - 1 {
            let crashed = Self.store(on: point.crashed(seed: Campaign.seed &+ UInt64(number)))
            let seen = try await Self.found(crashed, change)
            outcomes.insert(seen)
            #expect(expected.contains(seen), "call \(point.call): \(seen ?? -1)")
        }
        #expect(outcomes.isSubset(of: expected))
        try await container.close()
    }
}
