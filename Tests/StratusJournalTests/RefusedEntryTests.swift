import StratusBytes
import StratusFiles
import StratusJournal
import Support
import Testing

/// A layer above that cannot read some of what it stages itself: entries of zone 13.
private struct RefusingFold: CommitParticipant {
    private(set) var zones: [UInt32] = []
    private var savepoint: [UInt32] = []

    static func stage(
        _ zone: UInt32, in stage: inout CommitStage<RefusingFold>
    ) throws(JournalError) {
        var buffer = CommitBuffer()
        do {
            for zone in [zone + 100, zone] {
                try buffer.append(EntryKind(rawValue: 32), zone: zone) { $0.uint8(1) }
            }
        } catch {
            throw .entryTooLong
        }
        try stage.append(buffer, isLast: true, time: 1)
    }

    mutating func apply(
        _ header: FrameHeader, at offset: JournalOffset, payload: Span<UInt8>
    ) throws(JournalDamage.Kind) {
        if header.zone == 13 { throw .payload("content") }
        zones.append(header.zone)
    }

    mutating func complete(end: JournalOffset, time: Int64) {}
    mutating func endGroup() {}
    mutating func setSavepoint() { savepoint = zones }
    mutating func rollBack() { zones = savepoint }
    mutating func publish(
        _ view: JournalView, of identity: StoreIdentity, head: JournalOffset
    ) {}
    mutating func takeChanges() {}
}

@Suite struct RefusedEntryTests {
    @Test func `a commit that a reader would refuse fails and is not written`() throws {
        let store = TestStore()
        let storage = try LocalStorage(
            at: TestStore.directory, .writing(creating: true), on: store.disk.process(),
            policy: store.policy)
        func opened() throws -> Journal.Opened<RefusingFold> {
            let manifest = try Journal.manifest(in: storage, creating: true, options: store.options)
            return try Journal.open(
                in: storage, manifest, options: store.options, fold: RefusingFold())
        }
        let committer = Committer(
            try opened().writer, participant: RefusingFold(), durability: .full)
        #expect(committer.commit([1]).failures.isEmpty)
        let refused = committer.commit([13]).failures
        #expect(committer.commit([2, 3]).failures.isEmpty)
        guard case .damaged(let damage)? = refused[0] else {
            Issue.record("\(refused)")
            return
        }
        #expect(damage.kind == .payload("content"))
        try committer.close()
        #expect(try opened().fold.zones == [101, 1, 102, 2, 103, 3])
    }
}
