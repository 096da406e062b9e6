import FoundationEssentials
import Stratus
import Synchronization

/// What a caller that goes on saving in a zone sees while the zone is backed up, one backup after the
/// other; and that the last archive, restored elsewhere, is what it says of the zone.
enum BackupLoad {
    private static let usage = "Benchmarks backing DIRECTORY RECORDS SECONDS ROUNDS"

    private final class End: Sendable {
        let isThere = Atomic(false)
    }

    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 4, let count = Int(arguments[1]),
            let seconds = Double(arguments[2]), let rounds = Int(arguments[3]),
            count >= SaveLoad.batch, count % SaveLoad.batch == 0, seconds > 0, rounds > 0
        else { throw BenchmarkError(usage) }
        let container = try await SaveLoad.filled(arguments[0] + "/backing", count: count)
        let archives = arguments[0] + "/backing.archives"
        // A run that was stopped leaves them.
        for path in [archives, arguments[0] + "/backing.restored"] { Disk.remove(path) }
        try FileManager.default.createDirectory(
            atPath: archives, withIntermediateDirectories: true)
        var next = 0
        var (alone, beside) = (SaveLoad(), SaveLoad())
        var made: [Archive] = []
        for _ in 0..<rounds {
            try await alone.run(in: container, from: &next, of: count, for: seconds)
            for _ in 1...2 {
                made += try await save(
                    in: container, from: &next, for: seconds, of: count, into: &beside,
                    beside: archives + "/\(made.count)")
            }
            try await alone.run(in: container, from: &next, of: count, for: seconds)
        }
        try await container.close()

        let target = try await Container.open(
            at: arguments[0] + "/backing.restored", creating: true)
        guard let last = made.last else { return }
        let source = try await last.container().snapshot()
            .privateDatabase(for: SaveLoad.user)
        let done = try await target.privateDatabase(for: SaveLoad.user)
            .restore(SaveLoad.zone, from: source)
        guard done.isProved, done.keepsHistory,
            done.added.count == last.information.recordCount
        else { throw BenchmarkError("the zone came out different") }
        try await target.close()

        print("alone: \(alone.text)")
        print("beside \(made.count) backups: \(beside.text)")
        print(
            "p99 \(Number.short(beside.p99 / alone.p99)) (aim 1.3), rate "
                + "\(Number.short(beside.rate / alone.rate)); the last archive has "
                + "\(done.added.count) records, and its zone was proved in another store")
        for name in ["backing", "backing.archives", "backing.restored"] {
            Disk.remove(arguments[0] + "/" + name)
        }
    }

    /// Saves for as long as backups are made, for so many seconds at least.
    private static func save(
        in container: Container, from next: inout Int, for seconds: Double, of count: Int,
        into load: inout SaveLoad, beside path: String
    ) async throws -> [Archive] {
        let end = End()
        let backing = Task.detached {
            defer { end.isThere.store(true, ordering: .relaxed) }
            let part = Archive.Part.zone(SaveLoad.zone.zoneName, of: SaveLoad.user)
            var made: [Archive] = []
            let start = now()
            repeat {
                made.append(try await container.backup(of: [part], to: path + "-\(made.count)"))
            } while now() - start < seconds
            return made
        }
        try await load.run(in: container, from: &next, of: count) {
            !end.isThere.load(ordering: .relaxed)
        }
        return try await backing.value
    }
}
