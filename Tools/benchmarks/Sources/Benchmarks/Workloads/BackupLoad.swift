import FoundationEssentials
import Stratus
import Synchronization

/// What a caller that goes on saving in a zone sees while the zone is backed up, one backup after the
/// other; and that the last archive, restored elsewhere, is what it says of the zone.
enum BackupLoad {
    private static let usage = "Benchmarks backing DIRECTORY RECORDS SECONDS"

    private final class End: Sendable {
        let isThere = Atomic(false)
    }

    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3, let count = Int(arguments[1]),
            let seconds = Double(arguments[2]), count >= SaveLoad.batch,
            count % SaveLoad.batch == 0, seconds > 0
        else { throw BenchmarkError(usage) }
        let container = try await SaveLoad.filled(arguments[0] + "/backing", count: count)
        let archives = arguments[0] + "/backing.archives"
        // A run that was stopped leaves them.
        for path in [archives, arguments[0] + "/backing.restored"] { Disk.remove(path) }
        try FileManager.default.createDirectory(
            atPath: archives, withIntermediateDirectories: true)
        var next = count
        let before = try await SaveLoad(in: container, from: &next, for: seconds)
        let end = End()
        let backing = Task.detached {
            defer { end.isThere.store(true, ordering: .relaxed) }
            let part = Archive.Part.zone(SaveLoad.zone.zoneName, of: SaveLoad.user)
            var made: [Archive] = []
            let start = now()
            repeat {
                made.append(
                    try await container.backup(of: [part], to: archives + "/\(made.count)"))
            } while now() - start < seconds
            return made
        }
        let meanwhile = try await SaveLoad(in: container, from: &next) {
            !end.isThere.load(ordering: .relaxed)
        }
        let made = try await backing.value
        let after = try await SaveLoad(in: container, from: &next, for: seconds)
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

        print("before: \(before.text)")
        print("meanwhile, \(made.count) backups: \(meanwhile.text)")
        print("after: \(after.text)")
        let usual = (before.p99 + after.p99) / 2
        print(
            "p99 \(Number.short(meanwhile.p99 / usual)) (aim 1.3), rate "
                + "\(Number.short(meanwhile.rate * 2 / (before.rate + after.rate))); the last archive "
                + "has \(done.added.count) records, and its zone was proved in another store")
        for name in ["backing", "backing.archives", "backing.restored"] {
            Disk.remove(arguments[0] + "/" + name)
        }
    }
}
