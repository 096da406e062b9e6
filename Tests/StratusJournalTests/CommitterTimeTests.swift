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
        // The first commit of an opening makes a segment.
        session.commit([ModelCommit(0, [16])])
        session.idle()
        var follower = try TestFollower(store)
        #expect(syncs { session.commit([ModelCommit(1, [16])]) } == 0)
        #expect(session.outcomes.acknowledged == [0, 1])
        var due: UInt64?
        #expect(syncs { due = session.committer.idle(now: 0) } == 0)
        #expect(due != nil)
        try follower.follow()
        #expect(follower.commits.map(\.number) == [0])
        #expect(syncs { session.idle() } == 1)
        try follower.follow()
        #expect(follower.commits.map(\.number) == [0, 1])
        #expect(session.committer.idle(now: .max) == nil)
    }

    @Test func `without durability nothing is due, and closing syncs`() throws {
        let session = try store(.none).open()
        session.commit([ModelCommit(0, [16])])
        #expect(syncs { session.commit([ModelCommit(1, [16])]) } == 0)
        #expect(session.committer.idle(now: .max) == nil)
        try session.committer.close()
        disk.crash(seed: 0)
        #expect(try store(.none).open().recovered.map(\.number) == [0, 1])
    }

    @Test func `an idle group follows the last commit once, and none a refusal`() throws {
        let session = try store(.full).open()
        func head() -> JournalOffset { session.committer.withStage { $0.writer.head } }
        session.commit([ModelCommit(1, [16])])
        let before = head()
        session.idle()
        #expect(head().bytes(since: before) == GroupHeader.frameLength)
        let after = head()
        session.idle()
        session.commit([ModelCommit(2, [16], .refused)])
        session.idle()
        #expect(head() == after)
        #expect(session.outcomes.all.map(\.commit.number) == [1, 2])
    }

    @Test(arguments: Array(stride(from: 0, through: 2 * GroupHeader.frameLength, by: 8)))
    func `a reader sees the last commit also where its segment has no room for an idle group`(
        rest: Int
    ) throws {
        var store = store(.full)
        store.options.segmentLength = 16 << 10
        let session = try store.open()
        session.commit([ModelCommit(0, [16])])
        session.idle()
        var follower = try TestFollower(store)
        func head() -> JournalOffset { session.committer.withStage { $0.writer.head } }
        let limit = session.manifest.segments[0].limit
        // The second commit leaves so many bytes of the segment behind those of the trailer.
        let end =
            GroupHeader.frameLength + FrameFormat.frameLength(payload: Trailer.payloadLength) + rest
        let frames = GroupHeader.frameLength + FrameFormat.frameLength(payload: 0, isLast: true)
        session.commit([ModelCommit(1, [limit.bytes(since: head()) - frames - end])])
        #expect(head().advanced(byBytes: end) == limit)
        session.idle()
        try follower.follow()
        #expect(follower.commits.map(\.number) == [0, 1])
        let segments = session.manifest.segments.count
        #expect(segments == (rest < GroupHeader.frameLength ? 2 : 1))
        session.idle()
        #expect(session.manifest.segments.count == segments)
    }

    @Test func `a closed committer refuses commits, and the next opening finds a clean end`() throws
    {
        let session = try store(.full).open()
        session.commit([ModelCommit(1, [16])])
        try session.committer.close()
        try session.committer.close()
        session.commit([ModelCommit(2, [16])])
        #expect(session.outcomes.failure(of: 2) == .closed)
        #expect(session.committer.idle(now: .max) == nil)
        let again = try store(.full).open()
        #expect(again.report.wasClean)
        #expect(again.recovered.map(\.number) == [1])
    }

    @Test func `every segment begins with the preamble, however it was opened`() throws {
        var store = store(.full)
        store.preamble = [5, 6]
        try store.write([[ModelCommit(1, [16])]]).kill()
        try store.open().committer.close()
        let session = try store.write([[ModelCommit(2, [16])]])
        #expect(session.manifest.segments.count == 2)
        for segment in session.manifest.segments {
            let bytes = disk.contents(store.path(segment))
            let place = SegmentHeader.length + GroupHeader.frameLength
            #expect(bytes[place + 36] == EntryKind.preamble.rawValue)
        }
    }

    @Test func `an opening that writes nothing leaves no segment and states no other end`() throws {
        let store = store(.full)
        try store.open().kill()
        try store.open().committer.close()
        #expect(store.segments.isEmpty)
        try store.write([[ModelCommit(1, [16])]]).kill()
        let names = store.segments.keys.sorted()
        for _ in 0..<20 {
            try store.open().kill()
            disk.crash(seed: 3)
            try store.open().committer.close()
        }
        #expect(store.segments.keys.sorted() == names)
        let session = try store.write([[ModelCommit(2, [16])]])
        #expect(session.recovered.map(\.number) == [1])
        // Behind what a crash ended comes a new segment; what was closed is gone on with.
        #expect(session.manifest.segments.count == 2)
        try session.committer.close()
        let next = try store.write([[ModelCommit(3, [16])]])
        #expect(next.manifest.segments.map(\.state) == [.ended, .active])
        #expect(next.recovered.map(\.number) == [1, 2])
    }

    @Test func `an opening gives back what was prepared behind the end of a crashed segment`()
        throws
    {
        var store = store(.full)
        store.options.segmentLength = 1 << 20
        store.policy.zeroFill = 0
        let session = try store.write([[ModelCommit(1, [16])]])
        let path = store.path(session.manifest.segments[0])
        session.kill()
        #expect(disk.blockBytes(path) == 1 << 20)
        let report = try store.open().report
        #expect(report.row == .cleanTail)
        #expect(disk.blockBytes(path) <= SegmentHeader.length + 512)
        #expect(disk.contents(path).count == 1 << 20)
    }

    /// The room for the preamble was not counted, and the group ran over the segment's end.
    @Test func `a group that leaves no room for the preamble goes into a longer segment`() throws {
        var store = store(.full)
        store.options.segmentLength = 16 << 10
        store.preamble = [UInt8](repeating: 3, count: 256)
        try store.write([[ModelCommit(1, [16])]]).kill()
        let session = try store.open()
        session.commit([ModelCommit(2, [11_800])])
        #expect(session.outcomes.acknowledged == [2])
        #expect(session.manifest.segments.map(\.lengthInBytes) == [16 << 10, 32 << 10])
        session.kill()
        #expect(try store.open().recovered.map(\.number) == [1, 2])
    }
}
