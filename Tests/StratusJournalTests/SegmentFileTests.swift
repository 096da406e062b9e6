import StratusBytes
import StratusFiles
import StratusJournal
import Support
import Testing

/// Segments are opened when they are read, and not too many at once.
struct SegmentFileTests {
    private let store = TestStore(segmentLength: 16 << 10)
    private var disk: SimulatedDisk { store.disk }

    /// Three commits fill a segment.
    private func session(commits count: UInt64) throws -> TestStore.Session {
        try store.write((1...count).map { [ModelCommit($0, [3_000])] })
    }

    private func read(
        _ commit: FoldedCommit, _ view: JournalView, _ mode: ReadMode
    ) throws(JournalError) -> [UInt8] {
        let length = 40 + 3_000 + 8
        return try view.entry(
            at: JournalOffset(rawValue: commit.offsets[0]), frameLength: length, mode
        ).payload
    }

    @Test func `after an opening from a checkpoint every earlier entry can be read`() throws {
        let first = try session(commits: 30)
        try first.take(try #require(first.frozen()))
        first.kill()
        let session = try store.open()
        let view = try #require(session.outcomes.view)
        for commit in session.recovered {
            let expected = ModelCommit(commit.number, commit.lengths).payload(0)
            #expect(try read(commit, view, .blocking) == expected)
        }
    }

    @Test func `without waiting, a file that is not open is not resident`() throws {
        let first = try session(commits: 12)
        try first.take(try #require(first.frozen()))
        first.kill()
        disk.options.missesOneIn = 0
        let session = try store.open()
        let view = try #require(session.outcomes.view)
        let commit = session.recovered[0]
        let name = session.manifest.segments[0].fileName
        #expect(throws: JournalError.storage(StorageError(.notResident, file: name))) {
            try read(commit, view, .resident)
        }
        let bytes = try read(commit, view, .blocking)
        #expect(try read(commit, view, .resident) == bytes)
        disk.options.missesOneIn = 1
        #expect(throws: JournalError.storage(StorageError(.notResident, file: name))) {
            try read(commit, view, .resident)
        }
    }

    @Test func `an entry that is cut off does not hide those that are read with it`() throws {
        try session(commits: 12).kill()
        let session = try store.open()
        let view = try #require(session.outcomes.view)
        let commits = Array(session.recovered.prefix(3))
        #expect(try read(commits[0], view, .blocking).count == 3_000)
        let segment = session.manifest.segments[0]
        let last = JournalOffset(rawValue: commits[2].offsets[0])
        disk.setLength(
            TestStore.directory + "/" + segment.fileName,
            last.bytes(since: segment.base) + 1_000)
        var found: [Int] = []
        var failures: [JournalError] = []
        view.forEachEntry(
            at: commits.map { (JournalOffset(rawValue: $0.offsets[0]), 40 + 3_000 + 8) }, .blocking
        ) { number, entry in
            switch entry {
            case .success(let entry): found.append(number + entry.payloadRange.count)
            case .failure(let error): failures.append(error)
            }
            return true
        }
        #expect(found == [3_000, 3_001])
        #expect(failures == [.storage(StorageError(.truncated, file: segment.fileName))])
    }

    @Test func `no more files are open than the limit says, in whatever order they are read`()
        throws
    {
        let count = UInt64(LocalStorage.descriptorLimit) * 4
        try session(commits: count).kill()
        disk.logsCalls = true
        let session = try store.open()
        #expect(session.manifest.segments.count > LocalStorage.descriptorLimit + 10)
        let view = try #require(session.outcomes.view)
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<300 {
            let commit = session.recovered[generator.below(session.recovered.count)]
            #expect(
                try read(commit, view, .blocking)
                    == ModelCommit(commit.number, commit.lengths).payload(0))
        }
        var open = 0
        var most = 0
        for call in disk.log where call.name.hasPrefix("journal-") {
            if call.call == .open { open += 1 }
            if call.call == .close { open -= 1 }
            most = max(most, open)
        }
        // A few more: while the next is opened, and those that readers and the writer hold.
        let limit = LocalStorage.descriptorLimit
        #expect(limit...limit + 4 ~= most)
    }

    @Test func `too many open files are an error of their own and no damage`() throws {
        let first = try session(commits: 12)
        try first.take(try #require(first.frozen()))
        first.kill()
        let session = try store.open()
        let view = try #require(session.outcomes.view)
        disk.faults = [DiskFault(.fail(.tooManyFiles), at: 1, of: .open, lasting: true)]
        do {
            _ = try read(session.recovered[0], view, .blocking)
            Issue.record("a file was opened")
        } catch {
            guard case .storage(let error) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(error.kind == .tooManyFiles)
        }
        disk.faults = []
        #expect(try read(session.recovered[0], view, .blocking).count == 3_000)
    }

    enum Harm: CaseIterable {
        case missing, cut, header, otherSegment
    }

    @Test(arguments: Harm.allCases)
    func `a file that is missing or damaged is an error of the read that needs it`(
        harm: Harm
    ) throws {
        let first = try session(commits: 12)
        let manifest = first.committer.withStage { $0.writer.manifest }
        try first.take(try #require(first.frozen()))
        first.kill()
        let segment = manifest.segments[0]
        let path = store.path(segment)
        var damage = JournalDamage(.missingFile, file: segment.fileName, byte: 0)
        switch harm {
        case .missing: disk.delete(path)
        case .cut:
            disk.setLength(path, 12 << 10)
            damage = JournalDamage(.fileLength, file: segment.fileName, byte: 12 << 10)
        case .header:
            disk.flip(path, at: 100)
            damage.kind = .segmentHeader("checksum")
        case .otherSegment:
            disk.replaceContents(path, disk.contents(store.path(manifest.segments[1])))
            damage.kind = .segmentHeader("identity")
        }
        let session = try store.open()
        let view = try #require(session.outcomes.view)
        #expect(throws: JournalError.damaged(damage)) {
            try read(session.recovered[0], view, .blocking)
        }
        let last = try #require(session.recovered.last)
        #expect(try read(last, view, .blocking).count == 3_000)
        var log = JournalLog(view, from: .zero, to: session.report.end)
        #expect(throws: JournalError.damaged(damage)) { try log.nextLine() }
        let findings = try session.findings()
        #expect(findings.first?.damage == damage || harm == .cut)
        #expect(!findings.isEmpty)
    }

    @Test func `a trailer with wrong counts is found by a full verification`() throws {
        let session = try session(commits: 9)
        let manifest = session.committer.withStage { $0.writer.manifest }
        let segment = manifest.segments[0]
        #expect(segment.state == .sealed)
        #expect(try session.findings() == [])
        // The trailer's frame, with another number of entries and checksums that hold.
        let end = segment.end.bytes(since: segment.base)
        let place = end - 88
        let path = store.path(segment)
        var frame = RawFrame()
        frame.zone = 0
        frame.kind = EntryKind.trailer.rawValue
        frame.payload = Array(disk.contents(path)[place + 40..<end])
        frame.payload[16] += 1
        disk.overwrite(
            path, at: place,
            with: frame.bytes(at: segment.base.advanced(byBytes: place), salt: segment.salt))
        #expect(try session.findings().map(\.damage.kind).contains(.trailer))
        // Another frame in its place.
        frame.kind = 192
        disk.overwrite(
            path, at: place,
            with: frame.bytes(at: segment.base.advanced(byBytes: place), salt: segment.salt))
        #expect(try session.findings().map(\.damage.kind).contains(.trailer))
    }

    @Test func `a flag of a newer version is no damage, also in a sealed segment`() throws {
        let session = try session(commits: 9)
        let segment = session.manifest.segments[0]
        #expect(segment.state == .sealed)
        let commit = try #require(session.outcomes.published.first)
        session.kill()
        let offset = JournalOffset(rawValue: commit.offsets[0])
        let place = offset.bytes(since: segment.base)
        let path = store.path(segment)
        let bytes = disk.contents(path)
        // The same frame, the only one of its commit, with another flag.
        var frame = RawFrame()
        frame.ordinal = bytes.span.uint32(at: place + 20)
        frame.time = Int64(bitPattern: bytes.span.uint64(at: place + 24))
        frame.zone = bytes.span.uint32(at: place + 40)
        frame.kind = bytes[place + 44]
        frame.flags = 1
        frame.payload = Array(bytes[place + 48..<place + 48 + 3_000])
        disk.overwrite(path, at: place, with: frame.bytes(at: offset, salt: segment.salt))
        let damage = JournalDamage(
            .frame(.newerFlags(1)), file: segment.fileName, byte: place, offset: offset)
        #expect(damage.isNewer)
        #expect(throws: JournalError(damage)) { _ = try store.open() }
    }
}
