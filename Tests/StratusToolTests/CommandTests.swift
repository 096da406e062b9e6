import FoundationEssentials
import Stratus
import StratusTool
import Testing

/// The commands, each on a store that was made by `import` from a small tree.
@Suite struct CommandTests {
    @Test func `every declared command is built in`() {
        #expect(
            Set(Tool.stratus.handlers.keys) == Set(CommandTable.stratus.commands.map(\.name)))
    }

    @Test func `import makes a record for each entry and says what it did`() async throws {
        let place = try Place()
        let first = try await place.run("import @/tree @/store --zone files")
        #expect(first.code == .ok)
        #expect(first.results.hasPrefix("4 saved, 0 unchanged, 0 deleted, 0 skipped"))
        let records = try await place.run("records @/store --zone files", json: true)
        let lines = records.results.split(separator: "\n")
        #expect(lines.count == 4)
        // The name of a record is the hash of its path: here of `a.txt`.
        #expect(
            lines.contains { $0.contains("\"recordName\":\"18b7cb099a9ea3f50ba899b5ba81e0d3\"") })
        #expect(lines.contains { $0.contains("\"target\":{\"value\":\"a.txt\"") })
        #expect(
            lines.contains { $0.contains("\"name\":{\"value\":\"sub\"") && $0.contains("Folder") })
        #expect(
            lines.contains {
                $0.contains("\"name\":{\"value\":\"b.txt\"")
                    && $0.contains("\"size\":{\"value\":3")
                    && $0.contains("\"contents\":{\"value\":\"dHdv\",\"type\":\"BYTES\"}")
            })
    }

    @Test func `a second import saves what changed and deletes what is gone`() async throws {
        let place = try Place()
        try await place.importTree()
        try place.write("changed", "tree/a.txt")
        try FileManager.default.removeItem(atPath: place.path + "/tree/sub/b.txt")
        let second = try await place.run("import @/tree @/store --zone files")
        #expect(second.code == .ok)
        // The folder's time changed with what was in it.
        #expect(second.results.hasPrefix("2 saved, 1 unchanged, 1 deleted, 0 skipped"))
        let third = try await place.run("import @/tree @/store --zone files")
        #expect(third.results.hasPrefix("0 saved, 3 unchanged, 0 deleted, 0 skipped"))
    }

    @Test func `an import deletes what was stored below a folder that is gone, and nothing else`()
        async throws
    {
        let place = try Place()
        let files = FileManager.default
        for path in ["x/y/z", "x/w"] {
            try files.createDirectory(
                atPath: "\(place.path)/tree/sub/\(path)", withIntermediateDirectories: true)
            try place.write("deep", "tree/sub/\(path)/f")
        }
        try await place.importTree()
        try files.removeItem(atPath: place.path + "/tree/sub/x")
        // A folder in the place of a file, and the other way round.
        try files.removeItem(atPath: place.path + "/tree/a.txt")
        try files.createDirectory(
            atPath: place.path + "/tree/a.txt", withIntermediateDirectories: false)
        let second = try await place.run("import @/tree @/store --zone files")
        #expect(second.code == .ok, "\(second.messages)")
        #expect(second.results.hasPrefix("2 saved, 2 unchanged, 7 deleted, 0 skipped"))
        _ = try await place.run("import @/tree @/fresh --zone files")
        #expect(try await hash(place, "store") == hash(place, "fresh"))
        try files.removeItem(atPath: place.path + "/tree/sub")
        try place.write("file now", "tree/sub")
        _ = try await place.run("import @/tree @/store --zone files")
        _ = try await place.run("import @/tree @/other --zone files")
        #expect(try await hash(place, "store") == hash(place, "other"))
    }

    @Test func `only --checksum finds a change under the same size and time`() async throws {
        let place = try Place()
        try await place.importTree()
        let path = place.path + "/tree/a.txt"
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        let date = try #require(attributes[.modificationDate] as? Date)
        try place.write("ONE", "tree/a.txt")
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        // The time has nanoseconds, which a Date may round: bring both to the same.
        _ = try await place.run("import @/tree @/store --zone files")
        try place.write("TWO", "tree/a.txt")
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        let plain = try await place.run("import @/tree @/store --zone files")
        #expect(plain.results.hasPrefix("0 saved"))
        let checked = try await place.run("import @/tree @/store --zone files --checksum")
        #expect(checked.results.hasPrefix("1 saved"))
    }

    @Test func `what cannot be imported is skipped, named, and gives code 3`() async throws {
        let place = try Place()
        // The folder of a running process holds things that are there and cannot be read.
        let result = try await place.run("import /proc/self/ns @/store --zone files")
        #expect(result.code == .ok)
        let devices = try await place.run("import /dev/pts @/store --zone devices", json: true)
        #expect(devices.code == .partial)
        #expect(devices.messages.contains("\"id\":\"import.skipped\""))
        #expect(devices.results.contains("\"skipped\":"))
        let missing = try await place.run("import @/nowhere @/store --zone files")
        #expect(missing.messages.contains("no such file"))
    }

    @Test func `a copy that begins anew is given no deletions from before`() async throws {
        let place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        let database = container.privateDatabase(for: "local")
        let zone = try await database.save(RecordZone(zoneName: "notes")).zoneID
        let ids = (0..<1100).map { Record.ID(recordName: "r\($0)", zoneID: zone) }
        _ = try await database.modifyRecords(
            saving: ids.map { Record(recordType: "Note", recordID: $0) })
        _ = try await database.modifyRecords(saving: [], deleting: Array(ids.suffix(60)))
        try await container.close()
        let first = try await place.run("follow @/store --into @/copy --once", json: true)
        #expect(first.code == .ok, "\(first.messages)")
        let summary = try #require(first.results.split(separator: "\n").last)
        #expect(summary.contains(#""changes":1040,"deletions":0,"#), "\(summary)")
    }

    @Test func `a copy that follows has the same hash, from the beginning and from a token`()
        async throws
    {
        let place = try Place()
        try await place.importTree()
        let first = try await place.run("follow @/store --into @/copy --once", json: true)
        #expect(first.code == .ok)
        let summary = try #require(first.results.split(separator: "\n").last)
        let token = try #require(
            summary.split(separator: "\"token\":\"").last?.split(separator: "\"").first)
        #expect(try await hash(place, "store") == hash(place, "copy"))
        try place.write("new", "tree/new.txt")
        try await place.importTree()
        #expect(try await hash(place, "store") != hash(place, "copy"))
        let second = try await place.run(
            "follow @/store --into @/copy --once --since \(token)", json: true)
        #expect(second.code == .ok)
        #expect(try await hash(place, "store") == hash(place, "copy"))
        // The folder's own record does not exist at the top: the new file alone came.
        #expect(second.results.contains("\"changes\":1"))
        // What is deleted goes there, too.
        try FileManager.default.removeItem(atPath: place.path + "/tree/new.txt")
        try await place.importTree()
        #expect(try await hash(place, "store") != hash(place, "copy"))
        let third = try await place.run(
            "follow @/store --into @/copy --once --since \(token)", json: true)
        #expect(third.results.contains("\"deletions\":1"))
        #expect(try await hash(place, "store") == hash(place, "copy"))
    }

    @Test func `hash of a zone and of a database differ, and --system counts tags`() async throws {
        let place = try Place()
        try await place.importTree()
        let database = try await hash(place, "store")
        let zone = try await place.run("hash @/store --zone files").results
        let system = try await place.run("hash @/store --system").results
        #expect(Set([database, zone, system]).count == 3)
        #expect(database.count == 65)
    }

    @Test func `info, zones, show, changes and log say what is there`() async throws {
        let place = try Place()
        try await place.importTree()
        let info = try await place.run("info @/store", json: true)
        // The default zones of the public database and of the user count, too.
        #expect(info.results.contains("\"records\":4") && info.results.contains("\"zones\":3"))
        #expect(info.results.contains("\"closedCleanly\":true"))
        let zones = try await place.run("zones @/store")
        #expect(
            zones.results
                == "0  _defaultZone  public\n0  _defaultZone  local\n4  files  local\n")
        let list = try await place.run("records @/store --zone files --type Link")
        let name = try #require(list.results.split(separator: " ").first)
        let shown = try await place.run("show @/store \(name) --zone files")
        #expect(shown.results.contains("target") && shown.results.contains("a.txt"))
        let changes = try await place.run("changes @/store --zone files --limit 3", json: true)
        #expect(changes.results.split(separator: "\n").count == 4)
        #expect(changes.results.contains("\"moreComing\":true"))
        let log = try await place.run("log @/store")
        #expect(log.results.contains("  zone  local/files  files alive"))
    }

    @Test func `log shows a stretch of the journal`() async throws {
        let place = try Place()
        try await place.importTree()
        let all = try await place.run("log @/store").results.split(separator: "\n")
        let reversed = try await place.run("log @/store --reverse").results.split(separator: "\n")
        #expect(reversed == all.reversed())
        let last = try await place.run("log @/store --reverse -n 2").results.split(separator: "\n")
        #expect(last == all.suffix(2).reversed())
        #expect(try await place.run("log @/store --reverse --follow").code == .usage)
        let offsets = try all.map { try #require($0.split(separator: " ").first) }
        #expect(offsets.count > 4)
        let part = try await place.run("log @/store --since \(offsets[2]) --until \(offsets[4])")
        #expect(part.results.split(separator: "\n") == Array(all[2..<4]))
    }

    @Test func `verify finds nothing in a whole store and names a changed byte`() async throws {
        let place = try Place()
        try await place.importTree()
        #expect(try await place.run("verify @/store").code == .ok)
        let path = place.path + "/store/journal-0000000000000000"
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[4500] ^= 1
        try bytes.write(to: URL(filePath: path))
        let damaged = try await place.run("verify @/store")
        #expect(damaged.code == .differences)
        #expect(damaged.results.hasPrefix("journal-0000000000000000, byte "))
        let info = try await place.run("info @/store")
        #expect(info.code == .damaged)
    }

    @Test(arguments: [
        ("info @/none", 10), ("show @/store x --zone files", 14),
        ("records @/store --zone none", 14), ("changes @/store --since rubbish", 2),
        ("changes @/store --database public", 2),
        ("asset @/store 18b7cb099a9ea3f50ba899b5ba81e0d3 none @/file --zone files", 14),
        ("import @/nowhere @/store --zone files", 14), ("export @/store @/a/b --zone files", 14),
        ("export @/store @/tree --zone files", 19), ("export @/store @/a --zone none", 14),
        ("import @/tree/a.txt @/store --zone files", 14), ("info @/tree", 10),
        ("records @/store --zone files --limit 0", 2),
        ("records @/store --zone files --count --reverse", 2), ("exec @/store --jobs 0", 2),
    ])
    func `what cannot be done gives its code`(line: String, code: UInt8) async throws {
        let place = try Place()
        try await place.importTree()
        let result = try await place.run(line)
        #expect(result.code.number == Int32(code))
        #expect(result.messages.hasPrefix("stratus: "))
    }

    @Test func `what no user is named for is shown of all, and never as if there were nothing`()
        async throws
    {
        let place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        let names = ["anna", "ben"].map { container.userRecordName(for: $0) }
        // What the host calls a user is kept, unless it is the record name.
        for name in ["anna", names[1]] {
            let database = container.privateDatabase(for: name)
            let zone = try await database.save(RecordZone(zoneName: "notes")).zoneID
            try await database.save(
                Record(recordType: "T", recordID: Record.ID(recordName: "r", zoneID: zone)))
        }
        try await container.close()
        let users = try await place.run("users @/store")
        #expect(
            users.results
                == "1  \(names[0]) (anna)  2 zones  1 record\n"
                + "2  \(names[1])  2 zones  1 record\n")
        let json = try await place.run("users @/store", json: true).results
        #expect(json.contains(#""recordName":"\#(names[0])","userName":"anna","zones":2,"#))
        #expect(json.contains(#""number":2,"recordName":"\#(names[1])","zones":2,"records":1,"#))
        let zones = try await place.run("zones @/store").results.split(separator: "\n")
        #expect(zones.contains("1  notes  anna") && zones.contains("1  notes  \(names[1])"))
        let info = try await place.run("info @/store")
        #expect(info.results.contains("anna: 2 zones, 1 record\n"))
        #expect(try await place.run("info @/store", json: true).results.contains(#""records":2,"#))
        let one = try await place.run("info @/store --as anna", json: true).results
        #expect(one.contains(#""records":1,"#))
        for line in [
            "records @/store --zone notes", "hash @/store", "changes @/store",
            "export @/store @/again --zone notes", "show @/store r --zone notes",
        ] {
            let result = try await place.run(line)
            #expect(result.code == .usage && result.results.isEmpty, "\(line)")
            #expect(result.messages.contains("name a user with --as"), "\(line)")
        }
        #expect(try await place.run("hash @/store --as anna").code == .ok)
    }

    @Test func `as many changes are shown as --limit asks for, whatever a page holds`()
        async throws
    {
        let place = try Place()
        let container = try await Container.open(
            at: place.path + "/store", creating: true, durability: .none)
        let database = container.privateDatabase(for: "local")
        let zone = try await database.save(RecordZone(zoneName: "files")).zoneID
        // More than the 8 MiB that a page may be long.
        for number in 0..<100 {
            var record = Record(
                recordType: "T", recordID: Record.ID(recordName: "r\(number)", zoneID: zone))
            record["x"] = .bytes(Data(repeating: UInt8(number), count: 100_000))
            try await database.save(record)
        }
        try await container.close()
        for (limit, count) in [(99, 99), (1_000_000, 100)] {
            let line = "changes @/store --zone files --limit \(limit)"
            let shown = try await place.run(line).results.split(separator: "\n")
            #expect(shown.count == count + 1)
            #expect(shown.last?.hasSuffix(" (more to come)") == (count < 100))
        }
        let page = try await place.run("changes @/store --zone files").results
        #expect(page.hasSuffix(" (more to come)\n"))
        let none = try await place.run("changes @/store --limit 0")
        #expect(none.code == .usage && none.messages.contains("1 or more"))
    }

    @Test func `a hash shows its progress, with what is left`() async throws {
        let place = try Place()
        try await place.importTree()
        for line in ["hash @/store", "hash @/store --zone files --system"] {
            let hash = try await place.run(line + " --progress json")
            let last = try #require(hash.messages.split(separator: "\n").last)
            #expect(last.hasPrefix(#"{"type":"progress","title":"hashing","unit":"records","#))
            #expect(last.contains(#""done":4,"total":4,"#))
            #expect(hash.results == (try await place.run(line).results))
        }
    }

    @Test func `an error about a store says which`() async throws {
        let place = try Place()
        for line in ["info @/none", "verify @/none", "exec @/none", "checkpoint @/none"] {
            let result = try await place.run(line)
            #expect(result.code == .noStore, "\(line)")
            #expect(result.messages.contains("\(place.path)/none"), "\(line): \(result.messages)")
        }
        let empty = try await place.run("info @/tree")
        #expect(empty.code == .noStore && empty.messages.contains("(file \(place.path)/tree)"))
        try await place.importTree()
        let target = try await place.run("follow @/store --into @/no/where --once")
        #expect(target.code == .noStore, "\(target.messages)")
        #expect(target.messages.contains("\(place.path)/no"), "\(target.messages)")
    }

    @Test(arguments: [
        ("manifest-newer-format", 12), ("segment-newer-format", 12),
        ("manifest-flipped", 0), ("manifest-flipped-twice", 13), ("row-a-sealed-segment", 13),
        ("row-f-torn-tail", 0), ("row-j-last-group", 4),
    ])
    func `a damaged sample gives its code`(sample: String, code: UInt8) async throws {
        let place = try Place()
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let path = root.appending(path: "Formats/samples/damaged/\(sample)").path
        let result = try await place.run("info \(path)", json: true)
        #expect(result.code.number == Int32(code))
        #expect(code <= 4 || result.messages.contains("\"code\":\(code)"))
    }

    @Test func `a second writer is told who holds the store`() async throws {
        let place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        let result = try await place.run("import @/tree @/store --zone files")
        #expect(result.code == .locked)
        #expect(result.messages.contains("process"))
        try await container.close()
    }

    @Test func `info names the writer while one has the store open`() async throws {
        let place = try Place()
        try await place.importTree()
        let idle = try await place.run("info @/store")
        #expect(
            idle.results.contains("closed cleanly\n") && !idle.results.contains("being written"))
        #expect(!(try await place.run("info @/store", json: true).results.contains(#""writer""#)))
        let container = try await Container.open(at: place.path + "/store")
        let busy = try await place.run("info @/store")
        #expect(busy.code == .ok && busy.results.contains("being written\n"))
        let json = try await place.run("info @/store", json: true).results
        let process = "process \(ProcessInfo.processInfo.processIdentifier)"
        #expect(json.contains(#""writer":"\#(process)"#) && busy.results.contains(process))
        try await container.close()
        #expect(try await place.run("info @/store").results.contains("none"))
    }

    @Test func `a token of another store is expired`() async throws {
        let place = try Place()
        try await place.importTree()
        #expect(try await place.run("import @/tree @/other --zone files").code == .ok)
        let other = try await place.run("changes @/other --zone files", json: true).results
        let token = try #require(
            other.split(separator: "\"token\":\"").last?.split(separator: "\"").first)
        let result = try await place.run("changes @/store --zone files --since \(token)")
        #expect(result.code == .tokenExpired)
    }

    private func hash(_ place: Place, _ store: String) async throws -> String {
        try await place.run("hash @/\(store)").results
    }
}
