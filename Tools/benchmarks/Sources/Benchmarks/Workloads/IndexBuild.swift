import FoundationEssentials
import Stratus
import Synchronization

/// What a caller that goes on saving sees while an index is built on many records.
enum IndexBuild {
    private static let usage = "Benchmarks building DIRECTORY RECORDS SECONDS"
    private final class Build: Sendable {
        let isOver = Atomic(false)
    }

    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3, let count = Int(arguments[1]),
            let seconds = Double(arguments[2]), count >= SaveLoad.batch,
            count % SaveLoad.batch == 0, seconds > 0
        else { throw BenchmarkError(usage) }
        let container = try await SaveLoad.filled(arguments[0] + "/building", count: count)
        var next = count
        let before = try await SaveLoad(in: container, from: &next, for: seconds)
        let memory = Memory.status("RssAnon")
        let build = Build()
        let start = now()
        var during: SaveLoad?
        var took = 0.0
        let peak = try await Peak.sample {
            let building = Task.detached {
                defer { build.isOver.store(true, ordering: .relaxed) }
                try await container.addIndex(on: "count", of: "Item", .queryable)
                return now() - start
            }
            during = try await SaveLoad(in: container, from: &next) {
                !build.isOver.load(ordering: .relaxed)
            }
            took = try await building.value
        }
        guard let meanwhile = during else { return }
        let after = try await SaveLoad(in: container, from: &next, for: seconds)
        // Rows of all records, of those that were saved meanwhile, too.
        let query = Query(recordType: "Item", predicate: try Query.Predicate("count >= 0"))
        let found = try await container.privateDatabase(for: SaveLoad.user)
            .totals(matching: query, inZoneWith: SaveLoad.zone).count
        guard found == next else { throw BenchmarkError("\(found) rows of \(next) records") }
        try await container.close()

        print("before: \(before.text)")
        print("meanwhile: \(meanwhile.text); built in \(Number.short(took)) s")
        print("after, with the index: \(after.text)")
        let (rate, p99) = (meanwhile.rate / before.rate, meanwhile.p99 / before.p99)
        print(
            "rate \(Number.short(rate)) (aim 0.6), p99 \(Number.short(p99)) (aim 3), memory "
                + "\(Number.megabytes(peak.bytes - memory)) MB above \(Number.megabytes(memory)) "
                + "(limit \(Number.megabytes(64 << 20)))")
    }
}
