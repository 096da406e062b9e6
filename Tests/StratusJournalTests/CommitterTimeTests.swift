import StratusFiles
import StratusJournal
import Support
import Testing

/// What a committer does between commits and at its end.
struct CommitterTimeTests {
    private let disk = SimulatedDisk()

    private func store(_ durability: Durability) -> TestStore {
        var store = TestStore(on: disk)
        store.durability = durability
        return store
    }

    private func syncs(_ body: () throws -> Void) rethrows -> Int {
        disk.logsCalls = true
        let before = disk.log.count
        try body()
        return disk.log.dropFirst(before).count { $0.call == .synchronizeData }
    }

    @Test func `with an interval the sync follows when it is due, and says so to readers`() throws {
        let store = store(.interval(milliseconds: 1_000_000))
        let session = try store.open()
        var follower = try TestFollower(store)
        #expect(syncs { session.committer.commit([ModelCommit(1, [16])]) } == 0)
        #expect(session.outcomes.acknowledged == [1])
        var due: UInt64?
        #expect(syncs { due = session.committer.idle(now: 0) } == 0)
        #expect(due != nil)
        try follower.follow()
        #expect(follower.commits.isEmpty)
        #expect(syncs { session.idle() } == 1)
        try follower.follow()
        #expect(follower.commits.map(\.number) == [1])
        #expect(session.committer.idle(now: .max) == nil)
    }

    @Test func `without durability nothing is due, and closing syncs`() throws {
        let session = try store(.none).open()
        #expect(syncs { session.committer.commit([ModelCommit(1, [16])]) } == 0)
        #expect(session.committer.idle(now: .max) == nil)
        try session.committer.close()
        disk.crash(seed: 0)
        #expect(try store(.none).open().recovered.map(\.number) == [1])
    }

    @Test func `an idle group follows the last commit once, and none a refusal`() throws {
        let session = try store(.full).open()
        func head() -> JournalOffset { session.committer.withStage { $0.writer.head } }
        session.committer.commit([ModelCommit(1, [16])])
        let before = head()
        session.idle()
        #expect(head().bytes(since: before) == GroupHeader.frameLength)
        let after = head()
        session.idle()
        session.committer.commit([ModelCommit(2, [16], .refused)])
        session.idle()
        #expect(head() == after)
        #expect(session.outcomes.all.map(\.commit.number) == [1, 2])
    }

    @Test func `a closed committer refuses commits, and the next opening finds a clean end`() throws
    {
        let session = try store(.full).open()
        session.committer.commit([ModelCommit(1, [16])])
        try session.committer.close()
        try session.committer.close()
        session.committer.commit([ModelCommit(2, [16])])
        #expect(session.outcomes.failure(of: 2) == .closed)
        #expect(session.committer.idle(now: .max) == nil)
        let again = try store(.full).open()
        #expect(again.report.wasClean)
        #expect(again.recovered.map(\.number) == [1])
    }

    /// A segment that was begun and closed before its first commit stayed without a preamble.
    @Test func `every segment begins with the preamble, however it was opened`() throws {
        var store = store(.full)
        store.preamble = [5, 6]
        try store.write([[ModelCommit(1, [16])]]).kill()
        try store.open().committer.close()
        let session = try store.open()
        session.committer.commit([ModelCommit(2, [16])])
        #expect(session.manifest.segments.count == 2)
        session.kill()
        let manifest = try store.open().manifest
        let second = manifest.segments[1]
        let bytes = disk.contents(store.path(second))
        // Behind the closing mark's group, a group frame, and then the preamble's.
        let place = SegmentHeader.length + 120 + GroupHeader.frameLength
        #expect(bytes[place + 36] == EntryKind.preamble.rawValue)
    }

    /// The room for the preamble was not counted, and the group ran over the segment's end.
    @Test func `a preamble longer than what is left goes into a segment that holds it`() throws {
        var store = store(.full)
        store.preamble = [UInt8](repeating: 3, count: 50_000)
        try store.write([[ModelCommit(1, [16])]]).kill()
        let session = try store.open()
        session.committer.commit([ModelCommit(2, [15_000])])
        #expect(session.outcomes.acknowledged == [2])
        session.kill()
        #expect(try store.open().recovered.map(\.number) == [1, 2])
    }
}
