import FoundationEssentials
import Stratus
import StratusTool
import Support
import Testing

/// Records as lines of JSON: dumps, differences, and what is loaded of them.
@Suite struct DumpTests {
    private static func results(
        _ line: String, in place: Place, code: ExitCode = .ok
    ) async throws -> String {
        let run = try await place.run(line)
        #expect(run.code == code, "\(line): \(run.messages)")
        return run.results
    }

    @Test func `a dump loaded into another store makes it hold the same`() async throws {
        let place = try Place()
        try place.write(Place.text(numbers: 9000), "tree/large")
        try await place.importTree()
        let dump = try await Self.results("dump @/store --asset-files @/assets", in: place)
        #expect(dump.split(separator: "\n").count == 6)
        try place.write(dump, "dump")
        let loaded = try await Self.results("load @/other @/dump --asset-files @/assets", in: place)
        #expect(
            loaded == "files (local): 5 added, 0 replaced, 0 deleted; 0 kept, 0 unchanged\n")
        #expect(try await Self.results("dump @/other", in: place) == dump)
        #expect(
            try await Self.results("hash @/other", in: place)
                == Self.results("hash @/store", in: place))
        // What is there needs no files, and is left alone.
        let again = try await Self.results("load @/other @/dump", in: place)
        #expect(again.hasSuffix("0 added, 0 replaced, 0 deleted; 0 kept, 5 unchanged\n"))
        #expect(try await Self.results("diff @/store @/other", in: place) == "no difference\n")
    }

    @Test func `where one database takes all lines, that is the one that is named`() async throws {
        let place = try Place()
        try await place.importTree()
        try place.write(try await Self.results("dump @/store", in: place), "dump")
        let loaded = try await Self.results(
            "load @/other @/dump --as alice --as-zone tree", in: place)
        #expect(loaded.hasPrefix("tree (alice): 4 added"), "\(loaded)")
        let published = try await Self.results(
            "load @/other @/dump --database public --as-zone _defaultZone", in: place)
        #expect(published.hasPrefix("_defaultZone (public): 4 added"), "\(published)")
        let none = try await place.run("load @/other @/dump --zone typo")
        #expect(none.code == .notFound && none.messages.contains("no line is of the zone typo"))
        try place.write("", "empty")
        let empty = try await place.run("load @/other @/empty")
        #expect(empty.code == .ok && empty.messages.contains("there is no line"), "\(empty)")
    }

    @Test func `the records of a zone that went are differences, too`() async throws {
        let place = try Place()
        try await place.importTree()
        let zone = #"{"type":"zone","database":"private","as":"local","#
        try place.write(zone + #""zone":{"zoneID":{"zoneName":"z"}}}"#, "made")
        _ = try await Self.results("load @/other @/made", in: place)
        let there = try await Self.results(
            "diff @/store @/other --summary --zone files", in: place, code: .differences)
        #expect(there == "records: 0 added, 4 removed, 0 changed; 1 zone\n", "\(there)")
        let back = try await Self.results(
            "diff @/other @/store --summary --zone files", in: place, code: .differences)
        #expect(back == "records: 4 added, 0 removed, 0 changed; 1 zone\n", "\(back)")
        let patch = try await Self.results(
            "diff @/store @/other --patch --zone files", in: place, code: .differences)
        #expect(patch.split(separator: "\n").count == 1)
    }

    @Test func `the line of a zone leaves before its records are sorted`() async throws {
        let place = try Place()
        try await place.importTree()
        let capture = Capture()
        let code = await Tool.stratus.perform(
            try parse("dump \(place.path)/store"), capture.output())
        #expect(code == .ok && capture.writes.count == 2)
        let first = try #require(capture.writes.first)
        #expect(first.hasPrefix(#"{"type":"zone","#) && first.hasSuffix("}\n"))
        #expect(!first.dropLast().contains("\n"))
    }

    @Test func `an asset that is not at hand is named, and nothing is loaded`() async throws {
        let place = try Place()
        try place.write(Place.text(numbers: 9000), "tree/large")
        try await place.importTree()
        let dumped = try await place.run("dump @/store")
        #expect(dumped.code == .ok)
        #expect(dumped.messages.contains("the bytes of 1 asset are not in the dump"))
        try place.write(dumped.results, "dump")
        let run = try await place.run("load @/other @/dump")
        #expect(run.code == .notFound && run.messages.contains("the asset in the field asset of"))
        #expect(try await Self.results("dump @/other", in: place) == "")
    }

    @Test(arguments: [
        ("no JSON", "line 2: no JSON: a value is due here, at byte 0"),
        ("1", "line 2: the line must be an object"),
        (#"{"type":"record"}"#, "line 2: database is missing"),
        (#"{"type":"what","database":"public"}"#, "line 2: type must be one of zone, record"),
        (#"{"type":"record","database":"private"}"#, "line 2: as is missing"),
        (
            #"{"type":"record","database":"public","record":{"recordName":"a"}}"#,
            "line 2: record.zoneID is missing"
        ),
        (
            #"{"type":"record","database":"public","record":{"recordName":"a","recordType":"A","#
                + #""zoneID":{"zoneName":"_defaultZone"},"fields":{"x":{"valu":1}}}}"#,
            "line 2: record.fields.x.valu is no key here"
        ),
    ])
    func `a line that says nothing of a store is named`(line: String, reason: String) async throws {
        let place = try Place()
        try place.write(
            #"{"type":"zone","database":"private","as":"a","zone":{"zoneID":{"zoneName":"z"}}}"#
                + "\n" + line + "\n", "dump")
        let run = try await place.run("load @/store @/dump")
        #expect(run.code == .invalidBackup && run.messages.contains(reason), "\(run.messages)")
    }

    @Test func `lines are loaded by mode, into another zone and of another user`() async throws {
        let place = try Place()
        try await place.importTree()
        let name = "18b7cb099a9ea3f50ba899b5ba81e0d3"
        let dump = try await Self.results("dump @/store", in: place)
        try place.write(dump, "dump")
        try place.write("changed", "tree/a.txt")
        try place.write("new", "tree/new")
        _ = try await Self.results("import @/tree @/store --zone files", in: place)
        let kept = try await Self.results("load @/store @/dump --mode skip", in: place)
        #expect(kept.hasSuffix("0 added, 0 replaced, 0 deleted; 1 kept, 3 unchanged\n"))
        let would = try await Self.results("load @/store @/dump --mode mirror --dry-run", in: place)
        #expect(
            would.hasSuffix("0 would be added, 1 replaced, 1 deleted; 0 kept, 3 unchanged\n"))
        let mirrored = try await Self.results("load @/store @/dump --mode mirror", in: place)
        #expect(mirrored.hasSuffix("0 added, 1 replaced, 1 deleted; 0 kept, 3 unchanged\n"))
        #expect(try await Self.results("dump @/store", in: place) == dump)
        _ = try await Self.results("load @/store @/dump --as bob --as-zone copy", in: place)
        #expect(
            try await Self.results("dump @/store --as bob", in: place)
                == dump.replacing(#""as":"local""#, with: #""as":"bob""#)
                .replacing(#""zoneName":"files""#, with: #""zoneName":"copy""#))
        #expect(
            try await Self.results("dump @/store --zone copy", in: place).contains(name))
        // Two databases cannot become one.
        try place.write(try await Self.results("dump @/store", in: place), "all")
        let run = try await place.run("load @/store @/all --as carol")
        #expect(run.code == .usage && run.messages.contains("several databases"))
    }

    @Test func `a zone that was deleted and made anew differs in all that it had`() async throws {
        let place = try Place()
        let zone = RecordZone.ID(zoneName: "notes")
        let container = try await Container.open(at: place.path + "/store", creating: true)
        let database = container.privateDatabase(for: "alice")
        func save(_ names: [String]) async throws {
            try await database.save(RecordZone(zoneID: zone))
            for name in names {
                try await database.save(
                    Record(
                        recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zone)))
            }
        }
        try await save(["a", "b"])
        _ = try await container.mark("before")
        try await database.deleteRecordZone(withID: zone)
        try await save(["c"])
        try await container.close()
        let found = try await Self.results(
            "diff @/store --at mark:before", in: place, code: .differences)
        let changed = found.split(separator: "\n").map { String($0.prefix(4)) }.sorted()
        #expect(changed == ["+  c", "-  a", "-  b", "reco"], "\(found)")
    }

    @Test func `a difference names zones, records and fields`() async throws {
        let place = try Place()
        try await place.importTree()
        _ = try await Self.results("mark @/store before", in: place)
        try place.write("changed", "tree/a.txt")
        try place.write("new", "tree/new")
        try FileManager.default.removeItem(atPath: place.path + "/tree/link")
        _ = try await Self.results("import @/tree @/store --zone files", in: place)
        _ = try await Self.results("import @/tree/sub @/store --zone other", in: place)
        let line = "diff @/store --at mark:before"
        let found = try await Self.results(line, in: place, code: .differences)
        let lines = found.split(separator: "\n").map(String.init)
        #expect(lines.count == 6)
        #expect(
            lines.contains {
                $0.hasPrefix("M  18b7cb099a9ea3f50ba899b5ba81e0d3  File  files  local  contents, ")
            })
        #expect(lines.contains("-  b1b1bdb480c61d075300d9bff7d9cb69  Link  files  local"))
        #expect(lines.contains("+  zone other  local"))
        #expect(lines[5] == "records: 2 added, 1 removed, 1 changed; 1 zone")
        #expect(
            try await Self.results(line + " --summary", in: place, code: .differences)
                == lines[5] + "\n")
        #expect(
            try await Self.results(line + " --zone none", in: place) == "no difference\n")
        #expect(try await place.run("diff @/store").code == .usage)
        // The same against an archive and a copy, which have no state in common.
        _ = try await Self.results("copy @/store @/copy", in: place)
        _ = try await Self.results("backup @/store -o @/archive", in: place)
        _ = try await Self.results("revert @/store --zone files --at mark:before", in: place)
        for other in ["copy", "archive"] {
            let found = try await place.run("diff @/store @/\(other) --zone files")
            #expect(found.code == .differences)
            #expect(found.results.contains("records: 1 added, 1 removed, 1 changed"))
        }
    }

    @Test func `what is shared is in the databases of its owners alone`() async throws {
        let place = try Place()
        try await place.importTree()
        for line in [
            "dump @/store --database shared", "diff @/store --at 0 --database shared",
            "load @/store @/none --database shared",
        ] {
            #expect(try await place.run(line).code != .ok, "\(line)")
        }
    }

    @Test func `of lines about one record the last one counts`() async throws {
        let place = try Place()
        try await place.importTree()
        let dump = try await Self.results("dump @/store", in: place)
        let record = try #require(dump.split(separator: "\n").last)
        let name = try #require(record.firstMatch(of: /"recordName":"([0-9a-f]+)"/)?.1)
        let gone =
            #"{"type":"record","database":"private","as":"local","record":{"recordName":"\#(name)","#
            + #""recordType":"Folder","zoneID":{"zoneName":"files"},"deleted":true}}"#
        for (lines, count) in [([record, gone[...]], 0), ([gone[...], record], 1)] {
            try place.write(lines.joined(separator: "\n"), "lines")
            _ = try await Self.results("load @/other @/lines", in: place)
            let found = try await Self.results("records @/other --zone files", in: place)
            #expect(found.split(separator: "\n").count == count)
        }
    }

    @Test func `the record of a user is that of the same user in another store`() async throws {
        let place = try Place()
        for (store, nick) in [("store", "Al"), ("other", "Ally")] {
            let container = try await Container.open(at: "\(place.path)/\(store)", creating: true)
            let alice = container.publicDatabase(as: "alice")
            var user = try await alice.record(for: container.userRecordID(for: "alice"))
            user["nick"] = .string(nick)
            try await alice.save(user)
            try await container.close()
        }
        let dump = try await Self.results("dump @/store", in: place)
        #expect(dump.contains(#""user":"alice","record":{"recordType":"Users""#))
        try place.write(dump, "dump")
        let found = try await Self.results("diff @/other @/store", in: place, code: .differences)
        #expect(found.hasPrefix("M  alice  Users  _defaultZone  public  nick\n"))
        // Of a user whom the store does not know, and of one whom it does.
        for store in ["new", "other"] {
            _ = try await Self.results("load @/\(store) @/dump", in: place)
            #expect(try await Self.results("dump @/\(store)", in: place) == dump)
            #expect(
                try await Self.results("diff @/\(store) @/store", in: place) == "no difference\n")
        }
    }

    @Test func `a zone that is gone, and a record of another type, are patched`() async throws {
        let place = try Place()
        func save(_ body: (Database) async throws -> Void) async throws {
            let container = try await Container.open(at: place.path + "/store", creating: true)
            try await body(container.privateDatabase(for: "alice"))
            try await container.close()
        }
        let id = Record.ID(recordName: "r", zoneID: RecordZone.ID(zoneName: "stays"))
        try await save { alice in
            for zone in ["goes", "stays"] {
                try await alice.save(RecordZone(zoneID: RecordZone.ID(zoneName: zone)))
            }
            try await alice.save(Record(recordType: "Old", recordID: id))
        }
        _ = try await Self.results("copy @/store @/copy --clone", in: place)
        try await save { alice in
            try await alice.deleteRecordZone(withID: RecordZone.ID(zoneName: "goes"))
            try await alice.deleteRecord(withID: id)
            try await alice.save(Record(recordType: "New", recordID: id))
        }
        let patch = try await Self.results(
            "diff @/copy @/store --patch", in: place, code: .differences)
        #expect(patch.split(separator: "\n").count == 3)
        try place.write(patch, "patch")
        let would = try await Self.results("load @/copy @/patch --dry-run", in: place)
        #expect(would.hasPrefix("goes (alice): the zone would be deleted\n"))
        _ = try await Self.results("load @/copy @/patch", in: place)
        #expect(
            try await Self.results("dump @/copy", in: place)
                == Self.results("dump @/store", in: place))
    }

    @Test(arguments: 0..<DumpCampaign.stores)
    func `random stores are what is loaded of their dumps and differences`(
        number: Int
    ) async throws {
        let place = try Place()
        let seed = DumpCampaign.seed + UInt64(number)
        func change(_ batches: Int, _ seed: UInt64) async throws {
            let container = try await Container.open(
                at: place.path + "/store", creating: true, durability: .none)
            var store = RandomStore(container, seed: seed)
            try await store.change(batches: batches)
            try await container.close()
        }
        try await change(12, seed)
        let first = try await Self.results("dump @/store --asset-files @/assets", in: place)
        try place.write(first, "first")
        _ = try await Self.results(
            "load @/other @/first --asset-files @/assets --durability none", in: place)
        #expect(try await Self.results("dump @/other", in: place) == first, "seed \(seed)")
        _ = try await Self.results("mark @/store first", in: place)
        try await change(8, seed &* 31)
        let last = try await Self.results("dump @/store --asset-files @/assets", in: place)
        // In one store, by what was changed; between two, by all there is.
        for line in ["@/store --at mark:first", "@/other @/store"] {
            let patch = try await place.run("diff \(line) --patch").results
            #expect(patch.isEmpty == (first == last), "seed \(seed)")
            try place.write(patch, "patch")
            let copy = line.hasPrefix("@/other") ? "@/other" : "@/again"
            _ = try await Self.results(
                "load \(copy) @/first --asset-files @/assets --durability none", in: place)
            _ = try await Self.results(
                "load \(copy) @/patch --asset-files @/assets --durability none", in: place)
            #expect(try await Self.results("dump \(copy)", in: place) == last, "seed \(seed)")
            #expect(
                try await Self.results("hash \(copy) --as alice", in: place)
                    == Self.results("hash @/store --as alice", in: place), "seed \(seed)")
        }
    }
}

/// How much of it: STRATUS_DUMP_STORES, STRATUS_SEED.
private enum DumpCampaign {
    static let stores = number("STRATUS_DUMP_STORES") ?? 20
    static let seed = UInt64(number("STRATUS_SEED") ?? 1)

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }
}

struct NameSorterTests {
    @Test(arguments: [1, 200, 5000, NameSorter.usualLimit])
    func `names come in the order of their bytes, each once`(limit: Int) throws {
        var random = SeededGenerator(seed: UInt64(limit))
        var sorter = NameSorter(limit: limit)
        var expected: Set<[UInt8]> = []
        for _ in 0..<3000 {
            let name = String(
                decoding: random.bytes(random.below(random.oneIn(50) ? 255 : 12)), as: UTF8.self)
            expected.insert(Array(name.utf8))
            try sorter.insert(name)
        }
        var names = try sorter.sorted()
        var found: [[UInt8]] = []
        while case let part = try names.next(70), !part.isEmpty {
            found += part.map { Array($0.utf8) }
        }
        #expect(found == expected.sorted { $0.lexicographicallyPrecedes($1) })
    }
}
