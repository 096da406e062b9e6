import StratusTool
import Testing

/// Commands whose work may take long show how far they have come.
@Suite struct LongWorkTests {
    /// A store with four records in the zone `files`, one of them with an asset; a copy, an archive, a dump
    /// and a mark of it.
    private static func world() async throws -> Place {
        let place = try Place()
        try place.write(Place.text(numbers: 9_000), "tree/large.txt")
        try await place.importTree()
        for line in [
            "mark @/store before", "copy @/store @/copy", "backup @/store -o @/full.archive",
            "dump @/store -o @/store.jsonl",
        ] {
            let run = try await place.run(line)
            #expect(run.code == .ok, "\(line): \(run.messages)")
        }
        return place
    }

    /// The titles that `line` tells of, each with whether anything of it was done.
    private static func told(_ line: String, in place: Place) async throws -> [String: Bool] {
        let run = try await place.run(line + " --progress always")
        #expect(run.code == .ok, "\(line): \(run.messages)")
        var told: [String: Bool] = [:]
        for line in run.messages.split(separator: "\n") {
            let title = String(line.prefix { $0 != " " })
            let isDone = !line.dropFirst(title.count).hasPrefix("  0 ")
            told[title] = told[title] == true || isDone
        }
        return told
    }

    @Test(arguments: [
        ("dump @/store -o @/again.jsonl", ["dumping"]), ("diff @/store @/copy", ["comparing"]),
        ("load @/copy @/store.jsonl", ["loading"]), ("certify @/store", ["certifying"]),
        ("repair @/store", ["verifying"]), ("tree @/store", ["reading"]),
        ("gc @/store --dry-run", ["reading"]), ("compact @/copy --dry-run", ["looking"]),
        ("backups merge @/full.archive -o -", ["merging"]),
        ("restore @/full.archive @/new", ["restoring", "indexing", "proving"]),
        ("restore @/full.archive @/new --rehearse", ["rehearsing", "indexing", "proving"]),
        ("copy @/store @/new", ["copying", "indexing", "proving"]),
        ("restore @/full.archive @/copy --zone files --as-zone again", ["reading", "proving"]),
        ("revert @/store --zone files --at mark:before", ["reading"]),
    ])
    func `long work is told of`(line: String, titles: [String]) async throws {
        let place = try await Self.world()
        let told = try await Self.told(line, in: place)
        for title in titles { #expect(told[title] == true, "\(line): \(title), \(told)") }
    }

    @Test func `a revert that changes something proves what came out`() async throws {
        let place = try await Self.world()
        try place.write("changed", "tree/a.txt")
        try await place.importTree()
        let told = try await Self.told(
            "revert @/store --zone files --at mark:before", in: place)
        #expect(told["reading"] == true && told["proving"] == true, "\(told)")
    }

    @Test func `the last line of each part is written once`() async throws {
        let place = try await Self.world()
        let run = try await place.run("certify @/store --progress always")
        let lines = run.messages.split(separator: "\n")
        #expect(lines.last.map { $0.hasPrefix("certifying  ") } == true)
        #expect(Set(lines).count == lines.count || lines.count <= 2, "\(run.messages)")
    }
}
