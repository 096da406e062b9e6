import FoundationEssentials
import Stratus
import StratusTool
import Support
import Testing

/// What lies at an offset or a byte of a store.
@Suite struct ExplainTests {
    private static let notes = RecordZone.ID(zoneName: "notes")

    /// A store with two versions of a record, and one of another that was deleted.
    private func makeStore() async throws -> Place {
        let place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: Self.notes))
        var note = Record(
            recordType: "Note", recordID: Record.ID(recordName: "a", zoneID: Self.notes))
        note["n"] = 1
        note = try await database.save(note)
        note["n"] = 2
        _ = try await database.save(note)
        let other = Record(
            recordType: "Note", recordID: Record.ID(recordName: "b", zoneID: Self.notes))
        _ = try await database.save(other)
        try await database.deleteRecord(withID: other.recordID)
        try await container.close()
        return place
    }

    /// The lines of the log, split: offset, file and byte, kind and the rest.
    private func entries(_ place: Place) async throws -> [[String]] {
        let log = try await place.run("log @/store").results
        return log.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            line.split(separator: "  ").map(String.init)
        }
    }

    @Test func `an offset and a byte of an entry lead to it, from everywhere inside`() async throws
    {
        let place = try await makeStore()
        let entries = try await entries(place)
        let records = entries.filter { $0.count > 4 && $0[4] == "a" }
        try #require(records.count == 2)
        for (number, record) in records.enumerated() {
            let (offset, file) = (try #require(UInt64(record[0])), record[1])
            let own = try await place.run("explain @/store \(offset)")
            #expect(own.code == .ok)
            #expect(own.results.contains("record   a\n") && own.results.contains("type     Note\n"))
            #expect(own.results.contains("zone     alice/notes\n"))
            let fate =
                number == 0
                ? "version  an earlier one: the newest is at offset \(records[1][0])\n"
                : "version  the newest of the record\n"
            #expect(own.results.hasSuffix(fate), "\(own.results)")
            #expect(try await place.run("explain @/store \(offset + 3)").results == own.results)
            let colon = try #require(file.lastIndex(of: ":"))
            let byte = try #require(Int(file[file.index(after: colon)...]))
            let name = file[..<colon]
            for inside in [byte, byte + 1, byte + 47] {
                let found = try await place.run("explain @/store \(name):\(inside)")
                #expect(found.results == own.results, "\(inside)")
            }
            let before = try await place.run("explain @/store \(name):\(byte - 1)", json: true)
            #expect(!before.results.contains("\"offset\":\(offset),"))
        }
        let gone = try #require(entries.first { $0.count > 4 && $0[4] == "b" })
        let json = try await place.run("explain @/store \(gone[0])", json: true).results
        #expect(json.contains("\"newest\":false,\"newestOffset\":"), "\(json)")
    }

    @Test func `what is no entry is told, too`() async throws {
        let place = try await makeStore()
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path + "/store")
        let journal = try #require(names.first { $0.hasPrefix("journal-") })
        let manifest = try #require(names.first { $0.hasPrefix("manifest-") })
        for (argument, part) in [
            ("0", "the header of a segment"), ("\(journal):4095", "the header of a segment"),
            ("99999999", "behind the end of the journal"),
            ("\(journal):900000", "behind the end of"), ("512", "the frame of a group"),
            ("\(manifest):0", "the head of a manifest"),
            ("\(manifest):130", "what a manifest says of journal-0000000000000000"),
            ("\(manifest):205", "the checksum of a manifest"),
            ("\(manifest):300", "the checkpoint of a manifest"),
            ("writer", "usage"), ("writer:0", "who has, or had, the store open"),
        ] {
            let found = try await place.run("explain @/store \(argument)")
            if part == "usage" {
                #expect(found.code == .usage)
            } else {
                #expect(found.code == .ok && found.results.hasPrefix("part"), "\(argument)")
                #expect(found.results.contains(part), "\(argument): \(found.results)")
            }
        }
        for missing in ["nothing:0", "\(manifest):99999999", "writer:-1"] {
            let found = try await place.run("explain @/store \(missing)")
            #expect(found.code != .ok, "\(missing): \(found.code)")
        }
    }

    @Test func `an entry that was compacted is found by its offset, and its block by a byte`()
        async throws
    {
        let place = try Place()
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let path = root.appending(path: "Formats/samples/valid/compacted").path
        try FileManager.default.copyItem(atPath: path, toPath: place.path + "/store")
        let kept = try await entries(place).filter { $0[1].hasPrefix("compacted-") }
        let offsets = Set(kept.compactMap { UInt64($0[0]) })
        let first = try #require(kept.first { $0.count > 4 })
        let own = try await place.run("explain @/store \(first[0])").results
        #expect(own.contains("an entry, in a block of a compacted segment"), "\(own)")
        #expect(own.contains("  \(first[4])\n"), "\(own)")
        let offset = try #require(
            UInt64(first[0]).map { $0 + 1 }.flatMap { next in
                offsets.contains(next) ? nil : next
            })
        let dropped = try await place.run("explain @/store \(offset)").results
        #expect(dropped.contains("nothing that was kept"), "\(dropped)")
        let file = try #require(first[1].split(separator: ":").first)
        let block = try await place.run("explain @/store \(file):300").results
        #expect(block.contains("a block of a compacted segment, with the entries from"), "\(block)")
        let head = try await place.run("explain @/store \(file):10").results
        #expect(head.contains("the header of a compacted segment"), "\(head)")
    }
}

/// Who reads a store, and what is kept for it.
@Suite struct PinTests {
    private static let notes = RecordZone.ID(zoneName: "notes")

    @Test func `a process that reads an earlier generation is named, with what is kept for it`()
        async throws
    {
        let place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: Self.notes))
        let note = Record(
            recordType: "Note", recordID: Record.ID(recordName: "a", zoneID: Self.notes))
        _ = try await database.save(note)
        #expect(try await place.run("pins @/store").results == "")
        let reader = try ToolProcess(["log", place.path + "/store", "--follow"])
        _ = reader.readLine()
        // It stays where it is, instead of following.
        reader.send(19)
        try await container.checkpoint()
        try await container.close()
        // An opening for writing deletes the generations that no process reads.
        try await (try await Container.open(at: place.path + "/store")).close()
        let listed = try await place.run("pins @/store", json: true).results
        #expect(listed.contains("\"processes\":[\(reader.processID)]"), "\(listed)")
        #expect(listed.contains("\"newest\":false"), "\(listed)")
        reader.send(9)
        _ = reader.wait()
        try await (try await Container.open(at: place.path + "/store")).close()
        #expect(try await place.run("pins @/store").results == "")
    }
}
