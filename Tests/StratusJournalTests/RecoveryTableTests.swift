import StratusFiles
import StratusJournal
import Support
import Testing

/// The table of recovery, row by row: each situation is built on a simulated disk and decided
/// twice.
struct RecoveryTableTests {
    private static let preamble: [UInt8] = [7, 7]

    /// What an opening has to say.
    struct Verdict: Equatable {
        var row: RecoveryRow
        /// Of the damage that is named; the file's number among the segments.
        var place: Place?
        /// The commits that are there; nil where the store is refused.
        var numbers: [UInt64]?

        struct Place: Equatable {
            var segment: Int
            var byte: Int
        }
    }

    /// Where a checkpoint lies in the store.
    enum CheckpointPlace: CaseIterable {
        /// At the end that an opening stated for the segment before the last one.
        case earlierSegment
        /// In the last segment, before the damage.
        case lastSegment
        /// Behind everything.
        case end
    }

    /// A store on a disk where nothing is pending, and what is to be decided about it.
    private struct Situation {
        var store: TestStore
        var verdict: Verdict
        /// Where the journal ends, in the segment that was written last.
        var endByte: Int?
        var fault: DiskFault?
    }

    @Test(arguments: RecoveryRow.allCases)
    func `a row is decided as the table says, twice, and no byte of a segment changes`(
        row: RecoveryRow
    ) throws {
        try decide(Self.situation(row), from: nil)
    }

    @Test(arguments: RecoveryRow.allCases, CheckpointPlace.allCases)
    func `a row is decided in the same way from a checkpoint on`(
        row: RecoveryRow, place: CheckpointPlace
    ) throws {
        // What lies before a checkpoint is not read.
        let isUnread =
            switch row {
            case .damageInSealedSegment: true
            case .cleanTail, .tornTail, .staleBytes, .readError, .behindStatedEnd: false
            default: place == .end
            }
        if !isUnread { try decide(Self.situation(row, place), from: place) }
    }

    private func decide(_ situation: Situation, from place: CheckpointPlace?) throws {
        let before = situation.store.segments
        let bases = try Self.manifest(situation.store).segments.map(\.fileName)
        for _ in 0..<2 {
            let disk = SimulatedDisk(copying: situation.store.disk)
            var store = situation.store
            store = TestStore(on: disk, seed: 99, preamble: Self.preamble)
            if let fault = situation.fault { disk.faults = [fault] }
            let (verdict, report) = Self.open(store, bases)
            #expect(verdict == situation.verdict)
            if let report { #expect((report.checkpoint == nil) == (place == nil)) }
            #expect(report?.discardedCheckpoint == nil)
            if let report, let endByte = situation.endByte {
                #expect(report.end.bytes(since: .zero) % (64 << 10) == endByte)
            }
            for (path, bytes) in before { #expect(disk.contents(path) == bytes, "\(path)") }
            // What was decided stays decided, also where the power goes at once.
            disk.crash(seed: 5)
            if let numbers = verdict.numbers {
                let again = try store.open()
                #expect(again.recovered.map(\.number) == numbers)
                #expect(again.manifest.segments.count <= bases.count + 2)
            } else if situation.fault == nil {
                #expect(Self.open(store, bases).verdict == verdict)
            }
        }
    }

    /// What a clean close acknowledged is under the protection of the manifest, to the last byte.
    @Test(arguments: [UInt8(0), 0x5a])
    func `a tail that is lost or garbled after a clean close is row D`(
        filling: UInt8
    ) throws {
        for checkpoint in [nil, CheckpointPlace.earlierSegment, .lastSegment] {
            let store = try Self.sample(closing: true, checkpoint)
            let segment = try #require(try Self.manifest(store).segments.last)
            #expect(segment.state == .closed)
            let end = segment.end.bytes(since: segment.base)
            #expect(end == Self.group(5))
            let first = checkpoint == .lastSegment ? Self.group(3) : Self.header
            for start in stride(from: first, to: end, by: 8) {
                let disk = SimulatedDisk(copying: store.disk)
                let count = segment.lengthInBytes - start
                disk.overwrite(
                    store.path(segment), at: start,
                    with: [UInt8](repeating: filling, count: count))
                let damaged = TestStore(on: disk, seed: 99, preamble: Self.preamble)
                do {
                    _ = try damaged.open()
                    Issue.record("opened without what lies behind byte \(start)")
                } catch JournalError.refused(let row, let damage) {
                    #expect(row == .damageBeforeManifestEnd && damage.byte <= start)
                }
            }
        }
    }

    @Test func `an older copy of a segment is refused after a clean close`() throws {
        let store = try Self.sample(closing: true, nil)
        let segment = try #require(try Self.manifest(store).segments.last)
        let path = store.path(segment)
        let older = store.disk.contents(path)
        let session = try store.write(Self.commits(5...5))
        try session.committer.close()
        store.disk.replaceContents(path, older)
        #expect(throws: JournalError.self) { try store.open() }
        let place = Verdict.Place(segment: 1, byte: Self.group(5))
        let verdict = Self.open(store, try Self.manifest(store).segments.map(\.fileName)).verdict
        #expect(verdict == Verdict(row: .damageBeforeManifestEnd, place: place, numbers: nil))
    }

    @Test func `what lies behind the end of a closed store changes no answer`() throws {
        let store = try Self.sample(closing: true, nil)
        let path = try Self.lastPath(store)
        for (place, byte) in [(Self.group(5), UInt8(1)), (Self.group(5) + 4000, 0xff)] {
            store.disk.overwrite(path, at: place, with: [byte])
        }
        let session = try store.open()
        #expect(session.report.row == .behindStatedEnd && session.report.damage == nil)
        #expect(session.recovered.map(\.number) == [1, 2, 3, 4])
    }

    @Test func `every row has a situation of its own`() throws {
        let rows = try RecoveryRow.allCases.map { try Self.situation($0).verdict.row }
        #expect(rows == RecoveryRow.allCases)
        #expect(RecoveryRow.allCases.map(\.rawValue).joined() == "ABCDEFGHJK")
    }

    private static func open(
        _ store: TestStore, _ names: [String]
    ) -> (verdict: Verdict, report: RecoveryReport?) {
        func place(_ damage: JournalDamage) -> Verdict.Place {
            Verdict.Place(
                segment: names.firstIndex(of: damage.file) ?? -1, byte: damage.byte)
        }
        do {
            let opened = try store.open()
            let verdict = Verdict(
                row: opened.report.row, place: opened.report.damage.map(place),
                numbers: opened.recovered.map(\.number))
            return (verdict, opened.report)
        } catch JournalError.refused(let row, let damage) {
            return (Verdict(row: row, place: place(damage), numbers: nil), nil)
        } catch JournalError.storage {
            return (Verdict(row: .readError, place: nil, numbers: nil), nil)
        } catch {
            Issue.record("\(error)")
            return (Verdict(row: .cleanTail, place: nil, numbers: nil), nil)
        }
    }

    private static func manifest(_ store: TestStore) throws -> Manifest {
        let storage = try LocalStorage(at: TestStore.directory, .reading, on: store.disk.process())
        return try #require(try Journal.newestManifest(in: storage))
    }
}

// The situations. A group with a commit of one entry of 100 bytes is 72 + 40 + 100 + 8 bytes and
// 4 more to the next multiple of 8; the preamble adds 48 to the first one.
extension RecoveryTableTests {
    private static let groupLength = 224
    private static let header = 4096

    private static func commits(_ numbers: ClosedRange<UInt64>) -> [[ModelCommit]] {
        numbers.map { [ModelCommit($0, [100])] }
    }

    /// Three commits in groups of their own, behind an ended segment that holds one more.
    private static func sample(
        _ durability: Durability = .full, closing: Bool = false, _ place: CheckpointPlace?
    ) throws -> TestStore {
        var store = TestStore(preamble: preamble)
        store.durability = durability
        var session = try store.write(commits(1...1))
        func checkpoint(_ here: CheckpointPlace) throws {
            if here == place { try session.take(try #require(session.frozen())) }
        }
        try checkpoint(.earlierSegment)
        session.kill()
        session = try store.write(commits(2...2))
        try checkpoint(.lastSegment)
        for batch in commits(3...4) { session.commit(batch) }
        try checkpoint(.end)
        if closing { try session.committer.close() } else { session.kill() }
        if durability == .full { store.disk.crash(seed: 1) }
        return store
    }

    private static func lastPath(_ store: TestStore) throws -> String {
        store.path(try #require(try manifest(store).segments.last))
    }

    /// Where the group of commit `number` begins in the second segment.
    private static func group(_ number: Int) -> Int {
        header + (number == 2 ? 0 : 48) + (number - 2) * groupLength
    }

    private static func situation(
        _ row: RecoveryRow, _ checkpoint: CheckpointPlace? = nil
    ) throws -> Situation {
        let store = try sample(closing: row == .behindStatedEnd, checkpoint)
        let path = try lastPath(store)
        var verdict = Verdict(row: row, place: nil, numbers: [1, 2, 3, 4])
        var end: Int? = group(5)
        var fault: DiskFault?
        func damaged(_ segment: Int, _ byte: Int, _ numbers: [UInt64]?) {
            verdict.place = Verdict.Place(segment: segment, byte: byte)
            verdict.numbers = numbers
            end = numbers == nil ? nil : byte
        }
        switch row {
        case .damageInSealedSegment:
            let first = try #require(try manifest(store).segments.first)
            store.disk.flip(store.path(first), at: header + 120)
            damaged(0, header + 120, nil)
        case .damageBeforeDurableGroup:
            store.disk.flip(path, at: group(3) + 80)
            damaged(1, group(3) + 72, nil)
        case .reorderedUnacknowledged: return try reordered(checkpoint)
        case .damageBeforeManifestEnd: return try beforeManifestEnd(checkpoint)
        case .cleanTail: break
        case .tornTail:
            store.disk.overwrite(path, at: group(5) + 16, with: [1, 2, 3])
            damaged(1, group(5), [1, 2, 3, 4])
        case .staleBytes:
            let first = try #require(try manifest(store).segments.first)
            let offset = first.base.advanced(byBytes: group(5))
            let frame = RawFrame().bytes(at: offset, salt: first.salt)
            store.disk.overwrite(path, at: group(5), with: frame)
            damaged(1, group(5), [1, 2, 3, 4])
        case .readError:
            fault = DiskFault(.fail(.inputOutput), at: 5, of: .read)
            verdict.numbers = nil
            end = nil
        case .lastGroupDamaged:
            store.disk.flip(path, at: group(4) + 80)
            damaged(1, group(4) + 72, [1, 2, 3])
        case .behindStatedEnd:
            store.disk.overwrite(path, at: group(5) + 600, with: [1, 2, 3])
            end = group(5)
        }
        return Situation(store: store, verdict: verdict, endByte: end, fault: fault)
    }

    /// Two groups that no sync covered, the first of which the disk lost.
    private static func reordered(_ checkpoint: CheckpointPlace?) throws -> Situation {
        let store = try sample(.none, checkpoint)
        let path = try lastPath(store)
        store.disk.replaceContents(path, store.disk.contents(path))
        store.disk.overwrite(path, at: group(3), with: [UInt8](repeating: 0, count: groupLength))
        let place = Verdict.Place(segment: 1, byte: group(3))
        return Situation(
            store: store,
            verdict: Verdict(row: .reorderedUnacknowledged, place: place, numbers: [1, 2]),
            endByte: group(3))
    }

    /// A closed store that was written to again: its manifest says where it was durable.
    private static func beforeManifestEnd(_ checkpoint: CheckpointPlace?) throws -> Situation {
        let store = try sample(closing: true, checkpoint)
        try store.write(commits(5...5)).kill()
        store.disk.crash(seed: 1)
        store.disk.flip(try lastPath(store), at: group(4) + 80)
        let place = Verdict.Place(segment: 1, byte: group(4) + 72)
        return Situation(
            store: store, verdict: Verdict(row: .damageBeforeManifestEnd, place: place))
    }
}
