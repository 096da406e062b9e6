import FoundationEssentials
import Stratus
import StratusFiles
import StratusTool
import Support
import Testing

/// Trees that come out of a store.
@Suite struct ExportTests {
    /// Brings what was exported into a store of its own. Where the zones hash alike, names, modes,
    /// dates, targets and contents are the same.
    private func expectSame(_ place: Place, _ directory: String) async throws {
        let again = try await place.run("import @/\(directory) @/second --zone files")
        #expect(again.code == .ok, "\(again.messages)")
        let first = try await place.run("hash @/store --zone files").results
        #expect(try await place.run("hash @/second --zone files").results == first)
        #expect(first.count == 65)
    }

    private func names(_ path: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
    }

    @Test func `an unusual tree comes back as it was`() async throws {
        let place = try Place()
        let tree = try UnusualTree(at: place.path + "/unusual")
        let code = try await place.run("import @/unusual @/store --zone files").code
        #expect(code == .ok)
        let export = try await place.run(
            "export @/store @/again --zone files --preserve-permissions", json: true)
        #expect(export.code == .ok, "\(export.messages)")
        #expect(export.results.contains(#""entries":\#(tree.entryCount),"#))
        #expect(export.results.contains(#""clearedModes":0,"#))
        try await expectSame(place, "again")
        try tree.shorten(place.path + "/unusual")
        try tree.shorten(place.path + "/again")
    }

    @Test func `set-user and set-group bits are kept only with --preserve-permissions`()
        async throws
    {
        let place = try Place()
        let writer = try TreeWriter(place.path + "/bits")
        let top = try writer.folder([])
        let modes = [0o4755, 0o2755, 0o6711, 0o755, 0o1777, 0o2770]
        for (number, mode) in modes.enumerated() {
            let name = Array("e\(number)".utf8)
            if number < 4 {
                try top.makeFile(name, length: 0).finish(mode: mode, modifiedNanoseconds: 1)
            } else {
                try top.makeFolder(name)
                try writer.folder(name).finish(mode: mode, modifiedNanoseconds: 1)
            }
        }
        _ = try await place.run("import @/bits @/store --zone files")
        func found(_ directory: String) throws -> [Int] {
            let folder = try FileTree("\(place.path)/\(directory)").folder([])
            return try folder.names().map { try folder.entry($0).mode }
        }
        #expect(try found("bits") == modes)
        let safe = try await place.run("export @/store @/safe --zone files", json: true)
        #expect(safe.code == .ok && safe.results.contains(#""clearedModes":5,"#))
        #expect(safe.messages.contains("--preserve-permissions keeps them"))
        #expect(try found("safe") == modes.map { $0 & 0o777 })
        let all = try await place.run(
            "export @/store @/all --zone files --preserve-permissions", json: true)
        #expect(all.code == .ok && all.messages.isEmpty)
        #expect(try found("all") == modes)
    }

    @Test func `a file with a damaged chunk is left out and named, and all else is written`()
        async throws
    {
        let place = try Place()
        for name in ["first", "sub/second"] {
            try place.write(Place.text(numbers: 20_000, after: name), "tree/" + name)
        }
        try await place.importTree()
        let folder = place.path + "/store/"
        let file = try #require(
            try FileManager.default.contentsOfDirectory(atPath: folder)
                .first { $0.hasPrefix("chunks-") })
        // The first file that was brought in has the first chunk.
        var bytes = try Data(contentsOf: URL(filePath: folder + file))
        bytes[64 + 80 + 100] ^= 1
        try bytes.write(to: URL(filePath: folder + file))
        let export = try await place.run("export @/store @/again --zone files", json: true)
        #expect(export.code == .differences)
        #expect(export.results.contains(#""skipped":0,"damaged":1,"#))
        let warning = try #require(export.messages.split(separator: "\n").first)
        #expect(warning.contains(#""id":"export.damaged""#))
        #expect(warning.contains(#""file":"first""#))
        #expect(warning.contains("chunk.checksum") && warning.contains("(file \(file), byte 64)"))
        let left = try names(place.path + "/tree").filter { $0 != "first" }
        #expect(try names(place.path + "/again") == left)
        let text = try await place.run("export @/store @/text --zone files")
        #expect(text.messages.hasPrefix("stratus: first: an asset is damaged"))
        #expect(text.results.contains("0 skipped, 1 damaged in "))
    }

    @Test func `a tree of 400 levels and thousands of files comes back as it was`() async throws {
        let place = try Place()
        let writer = try TreeWriter(place.path + "/large")
        var walk = writer.walk()
        func file(_ name: String, _ number: Int) throws {
            let text = Array("\(number)".utf8)
            let file = try walk.folder.makeFile(Array(name.utf8), length: text.count)
            try file.write([text[...]], at: 0)
            try file.finish(mode: 0o600 + number % 0o100, modifiedNanoseconds: number << 30)
        }
        func leave() throws {
            let folder = walk.folder
            try walk.leave()
            try folder.finish(mode: 0o711, modifiedNanoseconds: 1)
        }
        for level in 0..<400 {
            try file("file", level)
            // Beside the way, too.
            for name in ["a", "b"] {
                try walk.folder.makeFolder(Array(name.utf8))
                try walk.enter(Array(name.utf8))
                try file("beside", level)
                try leave()
            }
            try walk.folder.makeFolder(Array("d".utf8))
            try walk.enter(Array("d".utf8))
        }
        for _ in 0..<400 { try leave() }
        try walk.folder.makeFolder(Array("many".utf8))
        try walk.enter(Array("many".utf8))
        for number in 0..<2_000 { try file("\(number)", number) }
        try leave()
        let code = try await place.run("import @/large @/store --zone files").code
        #expect(code == .ok)
        let export = try await place.run("export @/store @/again --zone files", json: true)
        #expect(export.code == .ok, "\(export.messages)")
        #expect(export.results.contains(#""entries":\#(400 * 6 + 2_001),"#))
        try await expectSame(place, "again")
        // All of it goes again where all of it is gone.
        try FileManager.default.createDirectory(
            atPath: place.path + "/none", withIntermediateDirectories: false)
        let emptied = try await place.run("import @/none @/store --zone files")
        #expect(emptied.results.hasPrefix("0 saved, 0 unchanged, 4401 deleted, 0 skipped"))
        #expect(try await place.run("records @/store --zone files").results.isEmpty)
    }

    @Test func `a zone that holds no file tree is refused in one line, and nothing is made`()
        async throws
    {
        let place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        let database = container.privateDatabase(for: "local")
        let zone = try await database.save(RecordZone(zoneName: "notes")).zoneID
        let records = (0..<50).map {
            Record(recordType: "Note", recordID: Record.ID(recordName: "n\($0)", zoneID: zone))
        }
        #expect(try await database.modifyRecords(saving: records).partialFailure == nil)
        try await container.close()
        let export = try await place.run("export @/store @/again --zone notes")
        #expect(export.code == .notFound && export.results.isEmpty)
        #expect(
            export.messages.hasPrefix(
                "stratus: the zone notes holds no file tree: of its 50 records none is"))
        #expect(export.messages.split(separator: "\n").count == 2)
        #expect(!FileManager.default.fileExists(atPath: place.path + "/again"))
    }

    @Test func `what is no entry, or has no place, is counted, and nothing leads out`()
        async throws
    {
        let place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        let database = container.privateDatabase(for: "local")
        let zone = try await database.save(RecordZone(zoneName: "files")).zoneID
        func record(
            _ name: String, _ type: String, in parent: String? = nil,
            _ fields: [String: RecordValue] = [:]
        ) -> Record {
            var record = Record(
                recordType: type, recordID: Record.ID(recordName: name, zoneID: zone))
            record["mode"] = 0o600
            record["modifiedNanoseconds"] = 0
            record["name"] = .string(name)
            for (key, value) in fields { record[key] = value }
            record.parent = parent.map {
                Reference(recordID: Record.ID(recordName: $0, zoneID: zone))
            }
            return record
        }
        let contents: [String: RecordValue] = ["contents": .bytes(Data("x".utf8))]
        let result = try await database.modifyRecords(saving: [
            record("note", "Note"), record("up", "File", ["name": "../up"]),
            record("dots", "Folder", ["name": ".."]), record("in", "File", in: "dots", contents),
            record("empty", "File"), record("link", "Link"),
            record("zero", "Link", ["targetBytes": .bytes(Data([65, 0, 66]))]),
            record("a", "Link", ["name": "taken", "target": .string(place.path)]),
            record("b", "Link", ["name": "taken", "target": .string(place.path)]),
            record("below", "File", in: "b", contents), record("good", "File", contents),
        ])
        #expect(result.partialFailure == nil)
        try await container.close()
        let export = try await place.run("export @/store @/again --zone files")
        #expect(export.code == .partial)
        let lines = export.messages.split(separator: "\n").map(String.init)
        #expect(lines.contains { $0.hasSuffix(" and 2 more: no entry of a tree") }, "\(lines)")
        for line in [
            "2 records below what was not written, or below no folder",
            "empty: the record has no contents", "link: the record has no target of a link",
            "zero: the record has no target of a link", "taken: another entry has its place",
        ] { #expect(lines.contains("stratus: " + line), "\(line) in \(lines)") }
        let made = try FileManager.default.contentsOfDirectory(atPath: place.path + "/again")
        #expect(made.sorted() == ["good", "taken"])
        #expect(!FileManager.default.fileExists(atPath: place.path + "/up"))
        #expect(!FileManager.default.fileExists(atPath: place.path + "/below"))
    }

    @Test func `where nothing can be written nothing is begun`() async throws {
        let place = try Place()
        try await place.importTree()
        let taken = try await place.run("export @/store @/tree --zone files")
        #expect(taken.code == .exists)
        #expect(taken.messages.contains("cannot make the directory: mkdir: the name exists"))
        #expect(taken.messages.contains("(file \(place.path)/tree)"))
        let unknown = try await place.run("export @/store @/again --zone none")
        #expect(unknown.code == .notFound)
        #expect(!FileManager.default.fileExists(atPath: place.path + "/again"))
        let far = try await place.run("export @/store @/no/where --zone files")
        #expect(far.code == .notFound)
        let source = try await place.run("import @/nowhere @/third --zone files")
        #expect(source.code == .notFound)
        #expect(!FileManager.default.fileExists(atPath: place.path + "/third"))
    }

    @Test func `a store in the directory that is brought in is left out`() async throws {
        let place = try Place()
        for _ in 0..<2 {
            let done = try await place.run("import @ @/store --zone files")
            #expect(done.code == .ok)
            #expect(done.messages == "left out: the store itself, which lies in the directory\n")
        }
        let records = try await place.run("records @/store --zone files", json: true).results
        #expect(records.split(separator: "\n").count == 5)
        #expect(!records.contains(#""name":"store""#))
    }
}
