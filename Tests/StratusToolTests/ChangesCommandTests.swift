import FoundationEssentials
import Stratus
import StratusTool
import Support
import Testing

/// What changed, of a zone, a database or the whole store, and as it comes.
@Suite struct ChangesCommandTests {
    private static let notes = RecordZone.ID(zoneName: "notes")

    private static func note(_ name: String) -> Record {
        Record(recordType: "Note", recordID: Record.ID(recordName: name, zoneID: notes))
    }

    @Test func `the zones of all databases that changed are listed, each with its owner`()
        async throws
    {
        let place = try Place()
        try await place.importTree()
        let first = try await place.run("changes @/store --all")
        let container = try await Container.open(at: place.path + "/store")
        let alice = container.userRecordName(for: "alice")
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: Self.notes))
        _ = try await database.save(Self.note("a"))
        try await container.close()
        let local = try await place.run("users @/store").results.split(separator: " ")[1]
        #expect(first.results.hasPrefix("~ files  \(local)\ntoken "))
        let token = try #require(first.results.split(separator: " ").last).dropLast()
        let second = try await place.run("changes @/store --all --since \(token)", json: true)
        let zone =
            #"{"type":"zoneChanged","zoneName":"notes","database":"private","user":"\#(alice)"}"#
        #expect(second.results.hasPrefix("\(zone)\n{\"type\":\"summary\",\"token\":\""))
        let one = try await place.run("changes @/store --all --limit 1")
        #expect(
            one.results.hasPrefix("~ files  \(local)\ntoken ") && one.results.hasSuffix("come)\n"))
        for options in ["--all --zone files", "--all --as alice", "--follow --at 700"] {
            #expect(try await place.run("changes @/store \(options)").code == .usage)
        }
    }

    @Test(arguments: ["--all", "--as alice", "--as alice --zone notes"])
    func `following shows what another process commits, until it is stopped`(
        options: String
    ) async throws {
        let place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        let database = container.privateDatabase(for: "alice")
        try await database.save(RecordZone(zoneID: Self.notes))
        _ = try await database.save(Self.note("a"))
        let process = try ToolProcess(
            ["changes", place.path + "/store", "--follow"]
                + options.split(separator: " ").map(String.init))
        let isZone = options.hasSuffix("notes")
        #expect(process.readLine().hasPrefix(isZone ? "~ a  Note" : "~ notes"))
        #expect(process.readLine().hasPrefix("token "))
        _ = try await database.save(Self.note("b"))
        #expect(process.readLine().hasPrefix(isZone ? "~ b  Note" : "~ notes"))
        #expect(process.readLine().hasPrefix("token "))
        process.send(15)
        #expect(process.readLine().hasPrefix("token "))
        #expect(process.wait() == 128 + 15)
        try await container.close()
    }
}
