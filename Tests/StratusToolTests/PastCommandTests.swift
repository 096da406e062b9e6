import FoundationEssentials
import Stratus
import StratusTool
import Testing

/// Looking into the past of a store, as an operator does after a mistake.
@Suite struct PastCommandTests {
    /// The name of the record of `a.txt`.
    private static let name = "18b7cb099a9ea3f50ba899b5ba81e0d3"

    private static func results(_ line: String, in place: Place) async throws -> String {
        let run = try await place.run(line)
        #expect(run.code == .ok, "\(line): \(run.messages)")
        return run.results
    }

    /// Imported and marked.
    private static func marked() async throws -> Place {
        let place = try Place()
        try await place.importTree()
        _ = try await results("mark @/store before", in: place)
        return place
    }

    /// Imported again, after a change and a deletion.
    private static func change(_ place: Place) async throws {
        try place.write("changed", "tree/a.txt")
        try FileManager.default.removeItem(atPath: place.path + "/tree/sub/b.txt")
        _ = try await results("import @/tree @/store --zone files", in: place)
    }

    @Test func `what a mark keeps can be listed, compared and written back`() async throws {
        let place = try await Self.marked()
        let before = try await Self.results("hash @/store", in: place)
        let records = try await Self.results("records @/store --zone files", in: place)
        try await Self.change(place)
        #expect(try await Self.results("hash @/store --at mark:before", in: place) == before)
        #expect(try await Self.results("hash @/store", in: place) != before)
        let old = try await Self.results(
            "records @/store --zone files --at mark:before", in: place)
        #expect(old == records)
        #expect(
            try await Self.results("zones @/store --at mark:before", in: place).contains("4  files")
        )
        _ = try await Self.results("export @/store @/back --zone files --at mark:before", in: place)
        let text = try String(contentsOfFile: place.path + "/back/a.txt", encoding: .utf8)
        #expect(text == "one")
        #expect(FileManager.default.fileExists(atPath: place.path + "/back/sub/b.txt"))
        let shown = try await Self.results(
            "show @/store \(Self.name) --zone files --at mark:before", in: place)
        #expect(shown.contains("size"))
    }

    @Test func `marks are listed, removed, and what they kept is refused then`() async throws {
        let place = try await Self.marked()
        try await Self.change(place)
        let listed = try await Self.results("mark @/store", in: place)
        #expect(listed.hasSuffix("  before\n"))
        let offset = try #require(listed.split(separator: " ").first)
        _ = try await Self.results("records @/store --zone files --at \(offset)", in: place)
        _ = try await Self.results("mark @/store before --remove", in: place)
        #expect(try await Self.results("mark @/store", in: place).isEmpty)
        let refused = try await place.run("records @/store --zone files --at \(offset)")
        #expect(refused.code == .tokenExpired)
        #expect(refused.messages.contains("stratus retention STORE"))
        for line in ["mark @/store before --remove", "hash @/store --at mark:before"] {
            let run = try await place.run(line)
            #expect(run.code == .notFound && run.messages.contains("stratus mark STORE"), "\(line)")
        }
        #expect(try await place.run("mark @/store --remove").code == .usage)
        #expect(try await place.run("hash @/store --at yesterday").code == .usage)
    }

    @Test func `a record's history and who set its fields`() async throws {
        let place = try Place()
        let retention = "retention @/store --history"
        try await place.importTree()
        #expect(try await Self.results("retention @/store", in: place).contains("none"))
        _ = try await Self.results("\(retention) 30d", in: place)
        try await Self.change(place)
        let history = try await Self.results(
            "history @/store \(Self.name) --zone files", in: place
        ).split(separator: "\n")
        #expect(history.count == 2)
        let json = try await place.run(
            "history @/store \(Self.name) --zone files --limit 1", json: true)
        let line = try #require(json.results.split(separator: "\n").first)
        #expect(line.contains(#""followsPrevious":true,"record":{"#))
        let blame = try await Self.results("blame @/store \(Self.name) --zone files", in: place)
            .split(separator: "\n")
        let offsets = history.map { $0.split(separator: " ")[0] }
        #expect(blame.contains { $0.hasPrefix("contents  \(offsets[0])  ") })
        #expect(blame.contains { $0.hasPrefix("name  \(offsets[1])  ") })
        let none = try await place.run("history @/store nobody --zone files")
        #expect(none.code == .notFound)
        let info = try await Self.results("info @/store", in: place)
        #expect(info.contains("30d, from offset "))
    }

    @Test func `a history of several pages is written forward and backward`() async throws {
        let place = try Place()
        let container = try await Container.open(
            at: place.path + "/store", creating: true, durability: .none)
        try await container.setHistoryPolicy(.everything)
        let database = container.privateDatabase(for: "alice")
        let zone = RecordZone.ID(zoneName: "notes")
        try await database.save(RecordZone(zoneID: zone))
        var record = Record(
            recordType: "Note", recordID: Record.ID(recordName: "a", zoneID: zone))
        for number in 0..<2_300 {
            record["number"] = .int64(Int64(number))
            record = try await database.save(record)
        }
        try await container.close()
        func versions(_ options: String) async throws -> [Substring] {
            try await Self.results(
                "history @/store a --zone notes --as alice \(options)", in: place
            )
            .split(separator: "\n")
        }
        let newestFirst = try await versions("")
        #expect(newestFirst.count == 2_300)
        #expect(try await versions("--reverse") == newestFirst.reversed())
        let oldest = Array(newestFirst.suffix(3).reversed())
        #expect(try await versions("--reverse --limit 3") == oldest)
    }

    @Test(arguments: [
        ("45s", "45s"), ("90m", "90m"), ("120m", "2h"), ("30d", "30d"), ("0s", "0s"),
        ("500MiB", "500MiB"), ("1024MiB", "1GiB"), ("8192KiB", "8MiB"),
        ("everything", "everything"),
        ("none", "none"),
    ])
    func `a retention is set, and shown as it can be set`(given: String, shown: String)
        async throws
    {
        let place = try Place()
        try await place.importTree()
        let set = try await Self.results("retention @/store --history \(given)", in: place)
        #expect(set == (try await Self.results("retention @/store", in: place)))
        let json = try await place.run("retention @/store", json: true)
        #expect(json.results.contains(#""history":"\#(shown)""#), "\(json.results)")
        #expect(json.results.contains(#""deletions":"90d""#), "\(json.results)")
        let both = try await place.run("retention @/store --deletions \(given)", json: true)
        #expect(both.results.contains(#""history":"\#(shown)""#), "\(both.results)")
        #expect(both.results.contains(#""deletions":"\#(shown)""#), "\(both.results)")
        let info = try await Self.results("info @/store", in: place)
        #expect(info.contains("remembered: \(shown)"))
    }

    // Of the last but two the seconds and bytes are more than 2^64, by less than a day and by a TiB.
    @Test(arguments: [
        "30", "d", "3w", "99999999999999999999s", "9999999999d", "213503982334602d",
        "16777217TiB", "all",
    ])
    func `a retention that makes no sense is refused`(text: String) async throws {
        let place = try Place()
        try await place.importTree()
        for option in ["history", "deletions"] {
            let run = try await place.run("retention @/store --\(option) \(text)")
            #expect(run.code == .usage, "\(run.messages)")
        }
        #expect(try await Self.results("retention @/store", in: place).contains("none"))
    }
}
