import StratusFiles
import StratusJournal
import Support
import Testing

/// Openings that begin at a checkpoint, and those that may not.
struct CheckpointTests {
    private let store = TestStore(segmentLength: 16 << 10, preamble: [1, 2])
    private var disk: SimulatedDisk { store.disk }

    private func commit(_ numbers: ClosedRange<UInt64>, _ session: TestStore.Session) {
        for number in numbers { session.commit([ModelCommit(number, [3_000])]) }
    }

    /// Forty commits in ten segments, a checkpoint behind the thirtieth, ten of them later.
    private func sample(closing: Bool = false) throws -> TestStore.Session.Frozen {
        let session = try store.open()
        commit(1...30, session)
        let frozen = try #require(session.frozen())
        commit(31...35, session)
        try session.take(frozen)
        commit(36...40, session)
        if closing { try session.committer.close() } else { session.kill() }
        disk.killProcesses()
        return frozen
    }

    private func newest() throws -> Manifest {
        let storage = try LocalStorage(at: TestStore.directory, .reading, on: disk.process())
        return try #require(try Journal.newestManifest(in: storage))
    }

    private func editManifest(_ body: (inout Manifest) throws -> Void) throws {
        var manifest = try newest()
        try body(&manifest)
        disk.replaceContents(store.path(manifest.fileName), manifest.encoded())
    }

    @Test(arguments: [false, true])
    func `an opening begins at the checkpoint and opens nothing that lies before`(
        closing: Bool
    ) throws {
        let frozen = try sample(closing: closing)
        let before = try newest().segments.filter { $0.limit <= frozen.position.offset }
        #expect(before.count >= 5)
        var whole = TestStore(on: SimulatedDisk(copying: disk), preamble: [1, 2])
        whole.refusesCheckpoints = true
        for store in [store, whole] { store.disk.logsCalls = true }
        _ = try whole.open()
        let session = try store.open()
        let names = Set(disk.log.map(\.name))
        #expect(names.isDisjoint(with: before.map(\.fileName)))
        let counts = [store, whole].map { $0.disk.log.count { $0.call == .read } }
        #expect(counts[0] + before.count < counts[1])
        #expect(session.recovered.map(\.number) == Array(1...40))
        #expect(session.report.checkpoint == frozen.position.offset)
        #expect(session.report.replayedCommits == 10)
        #expect(session.report.wasClean == closing)
        // It is carried on, and what comes behind it is sealed with the right counts.
        commit(41...60, session)
        session.kill()
        let again = try store.open()
        #expect(again.recovered.map(\.number) == Array(1...60))
        #expect(again.report.checkpoint == frozen.position.offset)
        var verifier = JournalVerifier(again.manifest, in: again.storage)
        try verifier.run { _, _ in nil }
        #expect(verifier.findings == [])
        #expect(verifier.commitCount == 60)
    }

    @Test func `the position knows the time of the last commit, whatever lies between`() throws {
        let session = try store.open()
        #expect(session.frozen()?.position == nil, "nothing was ever written")
        commit(1...20, session)
        let last = try #require(session.outcomes.published.last?.time)
        #expect(session.frozen()?.position.totals.lastTime == last)
        try session.take(try #require(session.frozen()))
        session.kill()
        for _ in 0..<2 {
            let again = try store.open()
            #expect(again.frozen()?.position.totals.lastTime == last)
            again.kill()
        }
    }

    @Test func `a store that changed nothing since begins where it ends`() throws {
        var session = try store.open()
        commit(1...9, session)
        for _ in 0..<4 {
            try session.take(try #require(session.frozen()))
            session.kill()
            session = try store.open()
            #expect(session.report.checkpoint == session.report.end)
            #expect(session.recovered.map(\.number) == Array(1...9))
        }
        commit(10...10, session)
        try session.committer.close()
        #expect(try store.open().report.replayedCommits == 1)
    }

    /// The power goes anywhere in a commit over many segments. The next opening gives the commit up,
    /// which leaves segments that hold nothing of the journal; the one after it goes on behind them.
    @Test func `a checkpoint behind segments that were given up is good`() throws {
        let session = try store.open()
        commit(1...3, session)
        disk.keepsCrashPoints = true
        let lengths = [Int](repeating: 2_000, count: 20)
        session.commit([ModelCommit(4, lengths, .long(entriesPerPart: 1))])
        var emptySegments = 0
        for point in disk.crashPoints {
            let store = TestStore(on: point.crashed(seed: 1), preamble: store.preamble)
            try store.open().kill()
            let session = try store.open()
            emptySegments += session.manifest.segments.count(where: \.isEmpty)
            let frozen = try #require(session.frozen())
            try session.take(frozen)
            #expect(try session.findings() == [])
            session.kill()
            let again = try store.open()
            #expect(again.report.discardedCheckpoint == nil)
            #expect(again.report.checkpoint == frozen.position.offset)
            #expect(again.recovered.map(\.number).prefix(3) == [1, 2, 3])
            // Their files must be there all the same.
            let manifest = again.manifest
            again.kill()
            if let empty = manifest.segments.first(where: \.isEmpty) {
                store.disk.delete(store.path(empty))
                var verifier = JournalVerifier(
                    manifest,
                    in: try LocalStorage(
                        at: TestStore.directory, .reading, on: store.disk.process()))
                try verifier.run { _, _ in nil }
                #expect(verifier.findings.map(\.damage.kind) == [.missingFile])
            }
        }
        #expect(emptySegments > 20)
    }

    /// What is wrong with a checkpoint whose checksum holds.
    enum Fault: CaseIterable {
        case refused, fileMissing, behindEnd, betweenGroups, chain, counts, amidCommit, otherStore

        var reason: StaticString {
            switch self {
            case .refused, .fileMissing, .otherStore: "refused"
            case .behindEnd: "offset"
            case .betweenGroups, .chain: "chain"
            case .counts, .amidCommit: "journal"
            }
        }
    }

    @Test(arguments: Fault.allCases)
    func `a checkpoint that does not fit is thrown away, and the answer is the same`(
        fault: Fault
    ) throws {
        let frozen = try sample()
        try editManifest { manifest in
            var checkpoint = try #require(manifest.checkpoint)
            let name = store.path(frozen.file)
            switch fault {
            case .refused: checkpoint.state = [9]
            case .fileMissing: disk.delete(name)
            case .behindEnd:
                checkpoint.position.offset = manifest.segments[manifest.segments.count - 1].limit
            case .betweenGroups:
                let offset = checkpoint.position.offset.advanced(byBytes: 8)
                checkpoint.position.offset = offset
            case .chain: checkpoint.position.chain ^= 1
            case .counts: checkpoint.position.totals.entryCount += 1
            case .amidCommit:
                // The fold of the checkpoint holds what it will be given again.
                disk.replaceContents(name, ModelFold().encoded)
                checkpoint.files = []
            case .otherStore: disk.replaceContents(name, disk.contents(name).reversed())
            }
            if fault == .amidCommit {
                let segment = try #require(manifest.segments.first { $0.state == .sealed })
                checkpoint.files = [frozen.file]
                checkpoint.position.offset = segment.firstGroup
                checkpoint.position.chain = segment.chainAtStart
                checkpoint.position.totals.commitCount = 7
            }
            manifest.set(checkpoint)
        }
        let damaged = SimulatedDisk(copying: disk)
        let session = try store.open()
        #expect(session.recovered.map(\.number) == Array(1...40))
        #expect(session.report.checkpoint == nil)
        #expect(session.report.discardedCheckpoint?.kind == .checkpoint(fault.reason))
        #expect(session.report.row == .cleanTail)
        // It is gone, and its file with it.
        #expect(session.manifest.checkpoint == nil)
        #expect(store.checkpointFiles == [])
        if fault != .fileMissing { #expect(session.report.discardedFiles == [frozen.file]) }
        session.kill()
        let again = try store.open()
        #expect(again.report.discardedCheckpoint == nil)
        #expect(again.recovered == session.recovered)
        // A reader that follows the store decides the same.
        var follower = try TestFollower(TestStore(on: damaged, preamble: [1, 2]))
        try follower.follow()
        #expect(follower.reader.report.discardedCheckpoint?.kind == .checkpoint(fault.reason))
    }

    @Test func `damage behind the checkpoint is refused as it is without one`() throws {
        let frozen = try sample(closing: true)
        let manifest = try newest()
        let segment = try #require(
            manifest.segments.first { $0.base > frozen.position.offset && $0.state == .sealed })
        disk.flip(store.path(segment), at: 5_000)
        var damages: [JournalDamage] = []
        for refuses in [false, true] {
            var store = store
            store.refusesCheckpoints = refuses
            do {
                _ = try store.open()
                Issue.record("opened")
            } catch JournalError.refused(.damageInSealedSegment, let damage) {
                damages.append(damage)
            }
            disk.killProcesses()
        }
        #expect(damages.count == 2)
        #expect(damages.first == damages.last)
        #expect(damages.first?.file == segment.fileName)
    }

    @Test func `a checkpoint makes durable what it covers, at every durability`() throws {
        var lazy = store
        lazy.durability = .none
        let session = try lazy.open()
        commit(1...5, session)
        let frozen = try #require(session.frozen())
        commit(6...7, session)
        try session.take(frozen)
        disk.crash(seed: 3)
        let again = try store.open()
        #expect(again.recovered.map(\.number) == Array(1...7))
        #expect(again.report.checkpoint == frozen.position.offset)
    }

    @Test func `a full disk leaves the old checkpoint, a failed sync poisons`() throws {
        let session = try store.open()
        commit(1...5, session)
        let first = try #require(session.frozen())
        try session.take(first)
        commit(6...9, session)
        let second = try #require(session.frozen())
        disk.faults = [DiskFault(.fail(.noSpace), at: 1, of: .write, lasting: true)]
        #expect(throws: JournalError.self) {
            try session.committer.take(
                Manifest.Checkpoint(position: second.position, files: [], state: []))
        }
        disk.faults = []
        commit(10...10, session)
        #expect(session.outcomes.acknowledged == Array(1...10))
        disk.faults = [
            DiskFault(.fail(.inputOutput), at: 1, of: .synchronizeData, lasting: true)
        ]
        commit(11...11, session)
        disk.faults = []
        #expect(session.frozen() == nil)
        #expect(throws: JournalError.self) { try session.take(second) }
        session.kill()
        let again = try store.open()
        #expect(again.report.checkpoint == first.position.offset)
        #expect(again.recovered.map(\.number).starts(with: 1...10))
        try again.committer.close()
        #expect(again.frozen() == nil)
        #expect(throws: JournalError.closed) { try again.take(first) }
    }
}
