import StratusFiles
import StratusJournal
import Support
import Testing

/// Reading beside a writer, by offset, and from more than one process.
struct ReaderTests {
    private let store = TestStore(preamble: [4])
    private var disk: SimulatedDisk { store.disk }

    private func commit(_ number: UInt64, _ length: Int = 3_000) -> [ModelCommit] {
        [ModelCommit(number, [length])]
    }

    @Test func `a reader stops where the writer has not said yet that it is durable`() throws {
        let session = try store.write([commit(1), commit(2)])
        var follower = try TestFollower(store)
        try follower.follow()
        #expect(follower.commits.map(\.number) == [1])
        session.idle()
        try follower.follow()
        #expect(follower.commits.map(\.number) == [1, 2])
        #expect(follower.commits == session.outcomes.published)
    }

    @Test func `a follower goes over ten changes of segment and three openings`() throws {
        var session = try store.open()
        var follower = try TestFollower(store)
        for number in UInt64(1)...250 {
            session.commit(commit(number))
            if number % 7 == 0 {
                session.idle()
                try follower.follow()
                #expect(follower.commits == session.outcomes.published)
            }
            if number == 80 { session.kill() }
            if number == 160 { try session.committer.close() }
            if number == 80 || number == 160 { session = try store.open() }
        }
        #expect(session.committer.withStage { $0.writer.manifest.segments.count } > 10)
        session.idle()
        try follower.follow()
        #expect(follower.commits.map(\.number) == Array(1...250))
        var late = try TestFollower(store)
        try late.follow()
        #expect(late.commits == follower.commits)
    }

    /// The follower had read a segment that the recovery then found to hold nothing of the store.
    @Test(arguments: [6, 30])
    func `a follower goes on where a recovery dropped a commit that was open`(parts: Int) throws {
        let lengths = [Int](repeating: 4_000, count: 60)
        let session = try store.write([commit(1)], idling: true)
        disk.faults = [
            DiskFault(.fail(.inputOutput), at: disk.callCount + 2 * parts, lasting: true)
        ]
        session.commit([ModelCommit(2, lengths, .long(entriesPerPart: 1))])
        disk.faults = []
        var follower = try TestFollower(store)
        try follower.follow()
        #expect(follower.commits.map(\.number) == [1])
        session.kill()
        let again = try store.write([commit(3)], idling: true)
        try follower.follow()
        #expect(follower.commits == again.outcomes.published)
        #expect(follower.commits.map(\.number) == [1, 3])
    }

    @Test func `a reader of what a power loss took is told that history has changed`() throws {
        var lazy = store
        lazy.durability = .none
        try lazy.write([commit(1)]).committer.close()
        let session = try lazy.write([commit(2), commit(3)])
        session.kill()
        // There is no writer, so that all of it belongs to the store.
        let storage = try LocalStorage(at: TestStore.directory, .reading, on: disk.process())
        let manifest = try #require(try Journal.newestManifest(in: storage))
        var reader = JournalReader(manifest, in: storage, fold: ModelFold(preamble: [4]))
        try reader.read(.toTheEnd)
        #expect(reader.fold.numbers == [1, 2, 3])
        let path = store.path(try #require(manifest.segments.last))
        #expect(manifest.segments.count == 1)
        disk.overwrite(
            path, at: manifest.segments[0].end.bytes(since: .zero),
            with: [UInt8](repeating: 0, count: 16 << 10))
        let again = try store.open()
        #expect(again.recovered.map(\.number) == [1])
        #expect(throws: JournalError.historyChanged) { try reader.replace(again.manifest) }
        var other = again.manifest
        other.storeID.low ^= 1
        #expect(throws: JournalError.historyChanged) { try reader.replace(other) }
    }

    @Test func `amid an entry there is no frame, and in gaps no entry`() throws {
        let session = try store.write([commit(1), commit(2)])
        session.kill()
        let again = try store.write([commit(3)])
        let view = try #require(again.outcomes.view)
        for folded in again.outcomes.published {
            let offset = JournalOffset(rawValue: folded.offsets[0])
            let entry = try view.entry(at: offset)
            #expect(entry.payload == ModelCommit(folded.number, folded.lengths).payload(0))
            #expect(entry.commitTime == folded.time)
            let amid = offset.advanced(byBytes: 8)
            let error = #expect(throws: JournalError.self) { try view.entry(at: amid) }
            guard case .damaged(let damage) = error else {
                Issue.record("no damage but \(String(describing: error))")
                continue
            }
            #expect(damage.isNoFrame && damage.offset == amid)
        }
        let first = again.manifest.segments[0]
        let places = [.zero, first.base.advanced(byBytes: 4_000), first.end, first.limit]
        let far = JournalOffset(rawValue: 1 << 51)
        for offset in places + [far] {
            #expect(throws: JournalError.noEntry(offset)) { try view.entry(at: offset) }
            #expect(throws: JournalError.noEntry(offset)) {
                try view.entry(at: offset, frameLength: 48)
            }
        }
    }

    @Test func `an entry that was damaged since is named`() throws {
        let session = try store.write([commit(1)])
        let view = try #require(session.outcomes.view)
        let offset = JournalOffset(rawValue: session.outcomes.published[0].offsets[0])
        let entry = try view.entry(at: offset)
        let path = store.path(session.manifest.segments[0])
        disk.flip(path, at: offset.bytes(since: .zero) + 500)
        let damage = JournalDamage(
            .frame(.payloadChecksum), file: session.manifest.segments[0].fileName,
            byte: offset.bytes(since: .zero), offset: offset)
        #expect(throws: JournalError.damaged(damage)) {
            try view.entry(at: offset, frameLength: entry.header.frameLength)
        }
    }

    @Test func `a second writer is refused and told who the first one is`() throws {
        let session = try store.open(holder: "process 17 on elsewhere")
        for _ in 0..<2 {
            do {
                _ = try store.open()
                Issue.record("two writers")
            } catch let error as StorageError {
                #expect(error.kind == .locked(holder: "process 17 on elsewhere"))
            }
        }
        // In the same process too.
        do {
            _ = try LocalStorage(
                at: TestStore.directory, .writing(creating: false), on: session.process)
            Issue.record("two writers")
        } catch {
            #expect(error.kind == .locked(holder: "process 17 on elsewhere"))
        }
        try session.committer.close()
        #expect(try store.open().report.wasClean)
    }

    @Test func `a manifest that a reader has pinned stays until the pin ends`() throws {
        let session = try store.open()
        var follower: TestFollower? = try TestFollower(store)
        let pinned = store.path(session.manifest.fileName)
        session.commit((1...40).map { ModelCommit($0, [3_000]) })
        #expect(session.committer.withStage { $0.writer.manifest.generation } >= 3)
        #expect(disk.exists(pinned))
        let manifests = disk.paths.filter { $0.contains("manifest-") }
        #expect(manifests.count == 2)
        #expect(try follower?.storage.hasWriter() == true)
        follower = nil
        session.commit((41...60).map { ModelCommit($0, [3_000]) })
        #expect(!disk.exists(pinned))
    }

    @Test func `readers write nothing`() throws {
        let session = try store.write((1...60).map { commit($0) }, idling: true)
        disk.logsCalls = true
        let before = disk.log.count
        var follower = try TestFollower(store)
        try follower.follow()
        #expect(follower.commits == session.outcomes.published)
        let calls = disk.log.dropFirst(before)
        #expect(calls.count > 10)
        #expect(calls.filter { $0.call.changesDisk && $0.call != .open } == [])
        #expect(disk.paths.count == store.segments.count + 2)
    }
}
