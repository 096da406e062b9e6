import StratusFiles
import StratusJournal
import Support
import Testing

/// A writer whose files are removed or replaced acknowledges nothing that its store does not keep.
struct TakenStoreTests {
    /// What another process does to the files of a running writer.
    private enum Taking: String, CaseIterable {
        case holderRemoved = "the file that names the writer removed"
        case holderReplaced = "the file that names the writer replaced"
        case manifestRemoved = "the manifest removed"
        case manifestReplaced = "the manifest replaced"
        case newerManifest = "a newer manifest added"
        case segmentRemoved = "the active segment removed"
        case segmentReplaced = "the active segment replaced"
        case directoryMoved = "the directory moved away"
        case directoryReplaced = "the directory replaced by a copy"

        /// The lock lies on the directory: nothing is decided by the file.
        var leavesTheStore: Bool { self == .holderRemoved || self == .holderReplaced }
        var isOfDirectory: Bool { self == .directoryMoved || self == .directoryReplaced }
    }

    /// A writer in the middle of its work.
    private struct Trial {
        let store: TestStore
        var generator: SeededGenerator
        var number: UInt64 = 0
        let session: TestStore.Session

        init(seed: UInt64) throws {
            generator = SeededGenerator(seed: seed)
            var store = TestStore(seed: seed, preamble: [4], maps: seed % 2 == 1)
            store.policy.reservation = generator.oneIn(2) ? 16 << 10 : 4 << 20
            store.options.groupLimit = generator.oneIn(2) ? 4 << 10 : 1 << 20
            self.store = store
            session = try store.open()
            // At least one commit, or there is no segment yet.
            work(1 + generator.below(40))
        }

        mutating func work(_ count: Int) {
            for _ in 0..<count {
                number += 1
                session.commit([ModelCommit(number, [20 + generator.below(4_000)])])
                if generator.oneIn(4) { session.idle() }
                if generator.oneIn(8), let frozen = session.frozen() { try? session.take(frozen) }
            }
        }

        /// Does it, and says how it is undone.
        func inflict(_ taking: Taking) throws -> () -> Void {
            let disk = store.disk
            let manifest = store.path(session.manifest.fileName)
            let segment = store.path(try #require(session.manifest.segments.last))
            func removed(_ path: String) -> () -> Void {
                disk.move(path, to: "taken")
                return { disk.move("taken", to: path) }
            }
            func replaced(_ path: String) -> () -> Void {
                let undo = removed(path)
                disk.duplicate("taken", to: path)
                return undo
            }
            switch taking {
            case .holderRemoved: return removed(store.path("writer"))
            case .holderReplaced: return replaced(store.path("writer"))
            case .manifestRemoved: return removed(manifest)
            case .manifestReplaced: return replaced(manifest)
            case .newerManifest:
                let newer = store.path(
                    Manifest.fileName(generation: session.manifest.generation + 1))
                disk.duplicate(manifest, to: newer)
                return { disk.delete(newer) }
            case .segmentRemoved: return removed(segment)
            case .segmentReplaced: return replaced(segment)
            case .directoryMoved: return removed(TestStore.directory)
            case .directoryReplaced:
                let names = disk.paths.filter { $0.hasPrefix(TestStore.directory + "/") }
                let undo = removed(TestStore.directory)
                try disk.process().makeDirectory(TestStore.directory)
                for path in names {
                    disk.duplicate("taken" + path.dropFirst(TestStore.directory.count), to: path)
                }
                return {
                    disk.move(TestStore.directory, to: "copy")
                    undo()
                }
            }
        }
    }

    @Test func `a writer whose files are taken acknowledges nothing that is not kept`() throws {
        var counts: [Taking: Int] = [:]
        var problems: [String] = []
        for number in 0..<max(90, Campaign.crashPoints / 50) where problems.count < 20 {
            let taking = Taking.allCases[number % Taking.allCases.count]
            let seed = Campaign.seed &* 3_000_017 &+ UInt64(number)
            counts[taking, default: 0] += 1
            if let problem = try Self.problem(with: taking, seed: seed) {
                problems.append("seed \(seed), \(taking): \(problem)")
            }
        }
        CampaignReport.add("Files taken from a running writer:\n")
        let rows = Taking.allCases.map { [$0.rawValue, "\(counts[$0, default: 0])"] }
        CampaignReport.add(Campaign.table(["what", "times"], rows))
        for problem in problems { Issue.record("STRATUS_SEED=\(Campaign.seed) \(problem)") }
    }

    private static func problem(with taking: Taking, seed: UInt64) throws -> String? {
        var trial = try Trial(seed: seed)
        let before = trial.session.outcomes.acknowledged
        guard before.count == Int(trial.number) else { return "\(trial.number) commits: \(before)" }
        let undo = try trial.inflict(taking)
        // A copy of the directory is another store, for who finds it there.
        if !taking.isOfDirectory, !isRefused(trial.store) { return "a second writer was let in" }
        trial.work(1 + trial.generator.below(5))
        let after = trial.session.outcomes.acknowledged
        if taking.leavesTheStore {
            guard after.count == Int(trial.number) else { return "not acknowledged: \(after)" }
        } else {
            guard after == before else { return "acknowledged: \(after.dropFirst(before.count))" }
            for outcome in trial.session.outcomes.all.dropFirst(before.count) {
                guard case .poisoned(let error)? = outcome.failure, error.kind == .fencedOut,
                    !error.file.isEmpty
                else { return "refused by \(String(describing: outcome.failure))" }
            }
        }
        if trial.generator.oneIn(2) { try? trial.session.committer.close() }
        trial.session.kill()
        undo()
        trial.store.disk.crash(seed: seed)
        let numbers = try trial.store.open().recovered.map(\.number)
        return numbers.starts(with: after) ? nil : "acknowledged \(after), kept \(numbers)"
    }

    private static func isRefused(_ store: TestStore) -> Bool {
        do {
            _ = try store.open(holder: "a second writer")
            return false
        } catch let error as StorageError {
            guard case .locked = error.kind else { return false }
            return true
        } catch {
            return false
        }
    }
}
