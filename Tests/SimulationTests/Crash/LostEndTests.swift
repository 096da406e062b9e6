import StratusFiles
import StratusJournal
import Support
import Testing

/// What was acknowledged by a clean close is protected to the last byte of every file of the
/// journal: an end that is lost is damage by name, at the opening or for a verification.
struct LostEndTests {
    /// What is found where the end of a file was.
    private enum Loss: String, CaseIterable {
        case cut = "cut off"
        case zeros = "zeros"
        case garbage = "random bytes"
        case olderFile = "an earlier state of the file"
    }

    /// A store that a random workload left closed.
    private struct ClosedStore {
        let run: CrashRun
        let disk: SimulatedDisk
        let manifest: Manifest
        /// The files of the journal, and how many bytes of each are part of it.
        let files: [(name: String, live: Int)]

        /// Nil where the workload did not end with a close.
        init?(seed: UInt64) throws {
            var run = CrashRun(seed: seed)
            run.run()
            guard run.problems.isEmpty, run.isClosed else { return nil }
            self.run = run
            // A run logs its calls, which nothing here needs.
            disk = SimulatedDisk(run.store.disk.snapshot())
            disk.crash(seed: seed)
            manifest = try LostEndTests.manifest(on: disk)
            let segments = manifest.segments.filter { !$0.isEmpty }
                .map { (name: $0.fileName, live: $0.end.bytes(since: $0.base)) }
            let length = disk.contents(run.store.path(manifest.fileName)).count
            files = segments + [(manifest.fileName, length)]
        }
    }

    private static func manifest(on disk: SimulatedDisk) throws -> Manifest {
        let storage = try LocalStorage(at: TestStore.directory, .reading, on: disk.process())
        return try #require(try Journal.newestManifest(in: storage))
    }

    @Test func `after a clean close no end of a journal file is lost unnoticed`() throws {
        let wanted = max(2, Campaign.crashPoints / 1_000)
        var counts: [Loss: (lost: Int, refused: Int)] = [:]
        var problems: [String] = []
        var (number, stores) = (UInt64(0), 0)
        while stores < wanted, problems.count < 20 {
            number += 1
            let seed = Campaign.seed &* 2_000_003 &+ number
            guard let store = try ClosedStore(seed: seed) else { continue }
            stores += 1
            var generator = SeededGenerator(seed: seed)
            for (name, live) in store.files {
                for loss in Loss.allCases {
                    for _ in 0..<8 {
                        let start = generator.below(live)
                        guard let disk = Self.inflict(loss, at: start, of: name, store, &generator)
                        else { continue }
                        let problem = try Self.objection(to: disk, name, store)
                        counts[loss, default: (0, 0)].lost += 1
                        if problem.isRefused { counts[loss]?.refused += 1 }
                        if let text = problem.text {
                            problems.append("seed \(seed), \(name), \(loss) at \(start): \(text)")
                        }
                    }
                }
            }
        }
        let rows = Loss.allCases.map { loss in
            let count = counts[loss] ?? (0, 0)
            return [loss.rawValue, "\(count.lost)", "\(count.refused)"]
        }
        CampaignReport.add(
            "Ends of files that are lost after a clean close, of \(stores) stores:\n")
        CampaignReport.add(Campaign.table(["end", "lost", "opening refused"], rows))
        for problem in problems { Issue.record("STRATUS_SEED=\(Campaign.seed) \(problem)") }
        for loss in Loss.allCases { #expect(counts[loss, default: (0, 0)].refused > 0, "\(loss)") }
    }

    /// A copy of the disk on which the end of the file is lost; nil where that changes nothing of
    /// what is part of the store.
    private static func inflict(
        _ loss: Loss, at start: Int, of name: String, _ store: ClosedStore,
        _ generator: inout SeededGenerator
    ) -> SimulatedDisk? {
        let disk = SimulatedDisk(copying: store.disk)
        let path = store.run.store.path(name)
        let live = store.files.first { $0.name == name }?.live ?? 0
        let before = disk.contents(path)
        switch loss {
        case .cut: disk.setLength(path, start)
        case .zeros:
            let zeros = [UInt8](repeating: 0, count: before.count - start)
            disk.overwrite(path, at: start, with: zeros)
        case .garbage:
            disk.overwrite(path, at: start, with: generator.bytes(before.count - start))
        case .olderFile:
            let point = store.run.points[generator.below(store.run.points.count)]
            let older = SimulatedDisk(point.snapshot)
            guard older.exists(path) else { return nil }
            disk.replaceContents(path, older.contents(path))
        }
        return disk.contents(path).prefix(live) == before.prefix(live) ? nil : disk
    }

    /// Whether the opening was refused, and why its answer or a verification's is wrong.
    private static func objection(
        to disk: SimulatedDisk, _ name: String, _ store: ClosedStore
    ) throws -> (text: String?, isRefused: Bool) {
        if let text = try verification(of: disk, name) { return (text, false) }
        var opening = TestStore(on: disk, seed: 99, preamble: store.run.store.preamble)
        opening.policy = store.run.store.policy
        do {
            // What lies before a checkpoint is not read, and so nothing of it is missing.
            let numbers = try opening.open().recovered.map(\.number)
            return (numbers == store.run.history ? nil : "commits \(numbers)", false)
        } catch JournalError.refused(_, let damage), JournalError.damaged(let damage),
            JournalError.newerFormat(let damage)
        {
            return (damage.file == name ? nil : "the opening names \(damage)", true)
        } catch {
            return ("the opening: \(error)", true)
        }
    }

    /// Why a verification's answer is wrong; nil where it names the file.
    private static func verification(of disk: SimulatedDisk, _ name: String) throws -> String? {
        do {
            let storage = try LocalStorage(at: TestStore.directory, .reading, on: disk.process())
            var verifier = JournalVerifier(try manifest(on: disk), in: storage)
            try verifier.run { _, _ in nil }
            guard verifier.findings.contains(where: { $0.damage.file == name }) else {
                return "a verification finds \(verifier.findings)"
            }
            return nil
        } catch let damage as JournalDamage {
            return damage.file == name ? nil : "a verification names \(damage)"
        }
    }
}
