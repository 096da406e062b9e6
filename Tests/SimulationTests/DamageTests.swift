import StratusFiles
import StratusJournal
import Support
import Testing

/// Every byte of a closed store is changed, and every file is cut at every length.
struct DamageTests {
    /// What an opening made of a damaged store.
    private enum Answer: Hashable {
        /// Damage was reported, of the right file.
        case named
        /// The same answer, though a byte was changed.
        case same
        /// Another answer, no damage, or damage elsewhere.
        case wrong(String)
    }

    private let snapshot: DiskSnapshot
    private let manifest: Manifest
    private let commits: [FoldedCommit]

    /// Makes the sample: two segments that hold 16 KiB and more, a third, and a clean end.
    init() throws {
        let store = TestStore(preamble: [1, 2, 3])
        var generator = SeededGenerator(seed: 3)
        let batches = (1...30).map { number in
            [ModelCommit(UInt64(number), [16 + generator.below(200), 3_000])]
        }
        let first = try store.write(Array(batches[..<10]), idling: true)
        // One segment that a recovery ended, one that is full, and one that was closed.
        first.kill()
        let session = try store.write(Array(batches[10...]), idling: true)
        commits = session.outcomes.published
        try session.committer.close()
        manifest = session.manifest
        // The name of the writer is never synced.
        for path in store.disk.paths {
            store.disk.replaceContents(path, store.disk.contents(path))
        }
        snapshot = store.disk.snapshot()
    }

    private func answer(to disk: SimulatedDisk, file: String) -> Answer {
        do {
            let opened = try TestStore(on: disk, seed: 2, preamble: [1, 2, 3]).open()
            if let damage = opened.report.damage ?? opened.report.manifestDamage {
                guard damage.file == file else { return .wrong("names \(damage)") }
                return opened.recovered == commits ? .named : .wrong("row \(opened.report.row)")
            }
            return opened.recovered == commits ? .same : .wrong("other commits, no damage")
        } catch JournalError.refused(_, let damage), JournalError.damaged(let damage),
            JournalError.newerFormat(let damage)
        {
            return damage.file == file ? .named : .wrong("names \(damage)")
        } catch {
            return .wrong("\(error)")
        }
    }

    /// Up to where a file is part of the store: no byte before may be changed unseen.
    private func liveLength(_ name: String, _ length: Int) -> Int {
        guard let number = manifest.segments.firstIndex(where: { $0.fileName == name }) else {
            return name == "writer" ? 0 : length
        }
        let segment = manifest.segments[number]
        return segment.end.bytes(since: segment.base)
    }

    private var files: [(path: String, name: String, length: Int, live: Int)] {
        let disk = SimulatedDisk(snapshot)
        return disk.paths.map { path in
            let name = String(path.split(separator: "/").last ?? "")
            let length = disk.contents(path).count
            return (path, name, length, liveLength(name, length))
        }
    }

    @Test func `the sample has three ways for a segment to end and 16 KiB of live bytes`() {
        #expect(manifest.segments.map(\.state).prefix(2) == [.ended, .sealed])
        #expect(manifest.segments.last?.state == .closed)
        #expect(files.map(\.live).reduce(0, +) >= 16 << 10)
        #expect(answer(to: SimulatedDisk(snapshot), file: "") == .same)
    }

    @Test func `a changed byte is named, or lies where it was declared to mean nothing`() {
        var rows: [[String]] = []
        var problems: [String] = []
        var (liveCount, ignoredCount) = (0, 0)
        for (path, name, length, live) in files {
            var counts: [Answer: Int] = [:]
            // The first group of a segment and the last one are decided about in their own way.
            let edges = [SegmentHeader.length..<SegmentHeader.length + 300, live - 300..<live]
            for byte in 0..<length
            where byte % Campaign.byteStride == 0
                || edges.contains(where: { $0.contains(byte) })
            {
                let disk = SimulatedDisk(snapshot)
                disk.flip(path, at: byte, mask: UInt8(1) << UInt8(byte % 8))
                let answer = answer(to: disk, file: name)
                counts[answer, default: 0] += 1
                switch answer {
                case .wrong(let what): problems.append("\(name), byte \(byte): \(what)")
                case .same where byte < live: problems.append("\(name), byte \(byte): not seen")
                case .named, .same: break
                }
                if byte < live || name == "writer" { liveCount += 1 }
                if name == "writer" { ignoredCount += 1 }
            }
            rows.append([
                name, "\(length)", "\(live)", "\(counts[.named, default: 0])",
                "\(counts[.same, default: 0])",
            ])
        }
        CampaignReport.add("Changed bytes:\n")
        CampaignReport.add(
            Campaign.table(["file", "bytes", "live", "named", "ignored"], rows))
        #expect(problems.prefix(20) == [])
        #expect(ignoredCount * 20 < liveCount, "under 5 % of the live part")
    }

    @Test func `a file that was cut is named, at whatever length`() {
        var problems: [String] = []
        var rows: [[String]] = []
        for (path, name, length, _) in files where name != "writer" {
            var count = 0
            for cut in Swift.stride(from: 0, to: length, by: Campaign.byteStride) {
                let disk = SimulatedDisk(snapshot)
                disk.setLength(path, cut)
                count += 1
                let answer = answer(to: disk, file: name)
                if answer != .named { problems.append("\(name) cut at \(cut): \(answer)") }
            }
            rows.append([name, "\(count)"])
        }
        CampaignReport.add("Cut files:\n")
        CampaignReport.add(Campaign.table(["file", "lengths"], rows))
        #expect(problems.prefix(20) == [])
    }
}
