import StratusFiles
import StratusJournal
import Support
import Testing

/// A commit that is given up after some of it was written.
struct RollbackTests {
    private let store = TestStore(segmentLength: 16 << 10, preamble: [1, 2])
    private var disk: SimulatedDisk { store.disk }

    private func commit(_ number: UInt64) -> ModelCommit { ModelCommit(number, [100]) }

    /// How many parts are written before the commit is given up: within a segment, and over some.
    @Test(arguments: [1, 3, 12])
    func `a long commit that is given up leaves no bytes, and the journal goes on`(
        count: Int
    ) throws {
        let session = try store.write([[commit(1)]])
        let lengths = [Int](repeating: 2_000, count: count)
        let names = store.segments.keys.sorted()
        let before = store.segments
        session.commit([ModelCommit(2, lengths, .abandoned(afterParts: count))])
        if count < 4 {
            #expect(store.segments == before)
        } else {
            // The segments behind are gone, and what was written of the first one reads as zeros.
            #expect(store.segments.keys.sorted() == names)
            let path = names[0]
            let end = session.manifest.segments[0].end.bytes(since: .zero)
            #expect(session.manifest.segments[0].state == .ended)
            #expect(disk.contents(path)[end...].allSatisfy { $0 == 0 })
        }
        session.commit([commit(3)])
        #expect(session.outcomes.acknowledged.suffix(1) == [3])
        disk.crash(seed: UInt64(count))
        let again = try store.open()
        #expect(again.recovered.map(\.number) == [1, 3])
        #expect(again.report.droppedBytes == 0)
        #expect(try again.findings().isEmpty)
    }

    @Test func `a follower goes on over segments that were given up`() throws {
        let session = try store.write([[commit(1)]], idling: true)
        var follower = try TestFollower(store)
        try follower.follow()
        let lengths = [Int](repeating: 2_000, count: 20)
        session.commit([ModelCommit(2, lengths, .abandoned(afterParts: 20))])
        try follower.follow()
        for number in UInt64(3)...12 {
            session.commit([commit(number)])
            session.idle()
            try follower.follow()
        }
        #expect(follower.commits.map(\.number) == [1] + Array(3...12))
    }

    @Test func `what a pinned generation lists stays readable when a commit is given up`() throws {
        let session = try store.write([[commit(1)]], idling: true)
        let lengths = [Int](repeating: 2_000, count: 20)
        // A reader that has seen the segments of a commit which is then given up.
        session.commit([ModelCommit(2, lengths, .long(entriesPerPart: 1))])
        let follower = try TestFollower(store)
        session.commit([ModelCommit(3, lengths, .abandoned(afterParts: 20))])
        let before = store.segments.count
        session.commit([commit(4)])
        #expect(session.outcomes.acknowledged.suffix(1) == [4])
        #expect(store.segments.count == before + 1)
        _ = follower
        session.kill()
        #expect(try store.open().recovered.map(\.number) == [1, 2, 4])
    }

    @Test func `a full disk that has no room to take a commit back stays healthy`() throws {
        let session = try store.write([[commit(1)]])
        let lengths = [Int](repeating: 2_000, count: 40)
        for capacity in stride(from: 24 << 10, to: 120 << 10, by: 4 << 10) {
            disk.options.capacity = capacity
            session.commit([ModelCommit(2, lengths, .abandoned(afterParts: 40))])
        }
        disk.options.capacity = nil
        session.commit([commit(3)])
        #expect(session.outcomes.acknowledged.suffix(1) == [3])
        session.kill()
        #expect(try store.open().recovered.map(\.number) == [1, 3])
    }

    @Test func `the first commit of a store may be given up`() throws {
        let session = try store.open()
        let lengths = [Int](repeating: 2_000, count: 20)
        session.commit([ModelCommit(1, lengths, .abandoned(afterParts: 20))])
        #expect(store.segments.isEmpty)
        session.commit([commit(2)])
        try session.committer.close()
        #expect(try store.open().recovered.map(\.number) == [2])
    }
}
