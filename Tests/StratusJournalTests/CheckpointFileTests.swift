import StratusBytes
import StratusFiles
import StratusJournal
import Support
import Testing

/// Files of the layer above that checkpoints name, and readers that still use them.
struct CheckpointFileTests {
    private let store = TestStore(preamble: [1, 2])
    private var disk: SimulatedDisk { store.disk }

    private func commit(_ number: UInt64, _ session: TestStore.Session) {
        session.commit([ModelCommit(number, [3_000])])
        session.idle()
    }

    /// A commit and a checkpoint of it; returns the checkpoint's file.
    private func checkpoint(_ number: UInt64, _ session: TestStore.Session) throws -> String {
        commit(number, session)
        let frozen = try #require(session.frozen())
        try session.take(frozen)
        return frozen.file
    }

    @Test func `a released file goes when no generation names it any more`() throws {
        let session = try store.open()
        let first = try checkpoint(1, session)
        #expect(store.checkpointFiles == [first])
        // Still named by the manifest in force.
        session.committer.release([first])
        #expect(store.checkpointFiles == [first])
        let second = try checkpoint(2, session)
        #expect(store.checkpointFiles == [second])
    }

    @Test func `a file that a pinned generation names stays until the pin ends`() throws {
        let session = try store.open()
        let first = try checkpoint(1, session)
        var follower: TestFollower? = try TestFollower(store)
        try follower?.follow()
        #expect(follower?.reader.report.checkpoint != nil)
        let second = try checkpoint(2, session)
        let third = try checkpoint(3, session)
        // The second one no reader ever saw.
        #expect(store.checkpointFiles == [first, third].sorted())
        #expect(second != third)
        try follower?.follow()
        #expect(follower?.commits.map(\.number) == [1, 2, 3])
        follower = nil
        session.committer.release([])
        #expect(store.checkpointFiles == [third])
    }

    @Test func `an opening leaves what a pinned generation names, and takes everything else`()
        throws
    {
        var session = try store.open()
        let first = try checkpoint(1, session)
        var follower: TestFollower? = try TestFollower(store)
        let second = try checkpoint(2, session)
        let stray = Manifest.Checkpoint.filePrefix + "stray"
        try session.storage.put(stray, [1])
        session.kill()
        session = try store.open()
        #expect(session.report.discardedFiles == [stray])
        #expect(store.checkpointFiles == [first, second].sorted())
        try follower?.follow()
        follower = nil
        session.kill()
        session = try store.open()
        // With the generation that named it.
        #expect(session.report.discardedFiles.filter { !$0.contains("manifest") } == [first])
        #expect(store.checkpointFiles == [second])
    }

    @Test func `a follower begins at the checkpoint and goes on over later ones`() throws {
        let session = try store.open()
        for number in UInt64(1)...60 { commit(number, session) }
        _ = try checkpoint(61, session)
        disk.logsCalls = true
        var follower = try TestFollower(store)
        try follower.follow()
        let first = session.manifest.segments[0].fileName
        #expect(!disk.log.contains { $0.name == first })
        #expect(follower.commits == session.outcomes.published)
        for number in UInt64(62)...100 {
            if number % 5 == 0 {
                _ = try checkpoint(number, session)
            } else {
                commit(number, session)
            }
            try follower.follow()
            #expect(follower.commits == session.outcomes.published)
        }
        #expect(follower.reader.report.checkpoint != nil)
    }

    @Test func `a manifest keeps its checkpoint, and any changed byte of it takes only it away`()
        throws
    {
        let session = try store.open()
        let file = try checkpoint(1, session)
        session.kill()
        let storage = try LocalStorage(at: TestStore.directory, .reading, on: disk.process())
        let manifest = try #require(try Journal.newestManifest(in: storage))
        #expect(manifest.checkpoint?.files == [file])
        let bytes = manifest.encoded()
        let place = manifest.checkpointPlace
        let end = place + Int(bytes.span.uint64(at: 64))
        #expect(try Manifest(bytes, file: manifest.fileName) == manifest)
        for byte in place..<end {
            var changed = bytes
            changed[byte] ^= 0x10
            let read = try Manifest(changed, file: manifest.fileName)
            #expect(read.checkpoint == nil)
            #expect(read.checkpointDamage?.kind == .checkpoint("checksum"))
            #expect(read.segments == manifest.segments)
        }
        for length in place..<end {
            let read = try Manifest(Array(bytes[..<length]), file: manifest.fileName)
            #expect(read.checkpointDamage?.kind == .checkpoint("length"))
            #expect(read.checkpointDamage?.byte == place)
        }
    }
}
