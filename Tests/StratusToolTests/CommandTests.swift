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
        #expect(lines.contains { $0.contains("\"target\":\"a.txt\"") })
        #expect(lines.contains { $0.contains("\"name\":\"sub\"") && $0.contains("Folder") })
        #expect(
            lines.contains {
                $0.contains("\"name\":\"b.txt\"") && $0.contains("\"size\":3")
                    && $0.contains("\"contents\":{\"$bytes\":\"dHdv\"}")
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
        #expect(info.results.contains("\"records\":4") && info.results.contains("\"zones\":2"))
        #expect(info.results.contains("\"closedCleanly\":true"))
        let zones = try await place.run("zones @/store")
        #expect(zones.results == "0  _defaultZone\n4  files\n")
        let list = try await place.run("records @/store --zone files --type Link")
        let name = try #require(list.results.split(separator: " ").first)
        let shown = try await place.run("show @/store \(name) --zone files")
        #expect(shown.results.contains("target") && shown.results.contains("a.txt"))
        let changes = try await place.run("changes @/store --zone files --limit 3", json: true)
        #expect(changes.results.split(separator: "\n").count == 4)
        #expect(changes.results.contains("\"moreComing\":true"))
        let log = try await place.run("log @/store")
        #expect(log.results.contains("closing mark") && log.results.contains("  zone  files"))
    }

    @Test func `log shows a stretch of the journal`() async throws {
        let place = try Place()
        try await place.importTree()
        let all = try await place.run("log @/store").results.split(separator: "\n")
        let offsets = try all.map { try #require($0.split(separator: " ").first) }
        #expect(offsets.count > 4)
        let part = try await place.run("log @/store --from \(offsets[2]) --to \(offsets[4])")
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
    ])
    func `what cannot be done gives its code`(line: String, code: UInt8) async throws {
        let place = try Place()
        try await place.importTree()
        let result = try await place.run(line)
        #expect(result.code.number == Int32(code))
        #expect(result.messages.hasPrefix("stratus: "))
    }

    @Test(arguments: [
        ("manifest-newer-format", 12), ("segment-newer-format", 12),
        ("manifest-flipped", 13), ("row-a-sealed-segment", 13), ("row-f-torn-tail", 0),
    ])
    func `a damaged sample gives its code`(sample: String, code: UInt8) async throws {
        let place = try Place()
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let path = root.appending(path: "Formats/samples/damaged/\(sample)").path
        let result = try await place.run("info \(path)", json: true)
        #expect(result.code.number == Int32(code))
        #expect(code == 0 || result.messages.contains("\"code\":\(code)"))
    }

    @Test func `a second writer is told who holds the store`() async throws {
        let place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        let result = try await place.run("import @/tree @/store --zone files")
        #expect(result.code == .locked)
        #expect(result.messages.contains("process"))
        try await container.close()
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
