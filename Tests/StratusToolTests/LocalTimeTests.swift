import FoundationEssentials
import Stratus
import StratusGateway
import StratusTool
import Support
import Testing

/// Times as the clocks around the user show them.
@Suite struct LocalTimeTests {
    /// As in Berlin, of the clocks' changes of 2026 alone: on 29 March and 25 October, at 01:00 UTC.
    private static let berlin = LocalTime { seconds in
        (1_774_746_000..<1_792_890_000).contains(seconds) ? 7200 : 3600
    }

    @Test(arguments: [
        ("2026-11-30T10:06:07.250Z", "2026-11-30 11:06:07.250 +01:00"),
        ("2026-07-01T22:00:00.000Z", "2026-07-02 00:00:00.000 +02:00"),
        ("2026-12-31T23:30:00.000Z", "2027-01-01 00:30:00.000 +01:00"),
        ("2026-03-29T00:59:59.999Z", "2026-03-29 01:59:59.999 +01:00"),
        ("2026-03-29T01:00:00.000Z", "2026-03-29 03:00:00.000 +02:00"),
    ])
    func `a time is shown as clocks showed it, and what is shown names it`(
        utc: String, local: String
    ) throws {
        let date = try #require(Date(typed: utc))
        #expect(Self.berlin.text(date) == local)
        for localTime in [Self.berlin, .utc] {
            #expect(try localTime.date(local).map { Timestamp.text($0) } == utc)
        }
    }

    @Test(arguments: [
        (-12_600, "2026-11-30 08:30:00.000 -03:30"), (20_700, "2026-11-30 17:45:00.000 +05:45"),
        (3_208, "2026-11-30 12:53:28.000 +00:53:28"), (0, "2026-11-30 12:00:00.000 +00:00"),
    ])
    func `the distance from UTC stands behind a time`(offset: Int, expected: String) throws {
        let date = try #require(Date(typed: "2026-11-30T12:00:00Z"))
        #expect(LocalTime { _ in offset }.text(date) == expected)
    }

    @Test func `a time that has no date is told in seconds`() {
        #expect(Self.berlin.text(Date(timeIntervalSince1970: 1e15)) == "1000000000000000.0 s")
        #expect(Self.berlin.text(Date(timeIntervalSince1970: .infinity)) == "inf s")
    }

    @Test(arguments: [
        ("2026-11-30", "2026-11-29T23:00:00.000Z"),
        ("2026-11-30T11:06", "2026-11-30T10:06:00.000Z"),
        ("2026-11-30 11:06", "2026-11-30T10:06:00.000Z"),
        ("2026-11-30 11:06:07", "2026-11-30T10:06:07.000Z"),
        ("2026-11-30T11:06:07.250", "2026-11-30T10:06:07.250Z"),
        ("2026-07-01T00:30:00", "2026-06-30T22:30:00.000Z"),
        ("2026-03-29 03:00", "2026-03-29T01:00:00.000Z"),
        ("2026-10-25 02:30 +02:00", "2026-10-25T00:30:00.000Z"),
        ("2026-10-25 02:30 +01:00", "2026-10-25T01:30:00.000Z"),
        ("2026-11-30T11:06:07Z", "2026-11-30T11:06:07.000Z"),
    ])
    func `a time without a time zone is one of the clocks here`(text: String, utc: String) throws {
        #expect(try Self.berlin.date(text).map { Timestamp.text($0) } == utc)
    }

    @Test(arguments: [
        "4711", "mark:2026-11-30", "2026-11", "2026-11-31", "2026-11-30 ", "2026-11-30 11",
        "2026-11-30 25:00", "2026-11-30 11:60", "2026-11-30 11:06:07:08", "2026-11-30x",
        "2026-11-30 11:06 CET", "2026-13-01T00:00:00",
    ])
    func `what is no date and time is none`(text: String) throws {
        #expect(try Self.berlin.date(text) == nil)
    }

    @Test(arguments: [
        ("2026-03-29 02:30", "never showed"), ("2026-10-25 02:30", "+02:00 or +01:00"),
    ])
    func `a time that clocks skipped or showed twice is refused`(text: String, word: String) {
        let error = #expect(throws: ToolError.self) { try Self.berlin.date(text) }
        #expect(error?.code == .usage && error?.message.contains(word) == true)
    }

    @Test(arguments: [
        "info @/store", "mark @/store", "log @/store", "backups show @/full.archive",
        "backups list @", "show @/store 18b7cb099a9ea3f50ba899b5ba81e0d3 --zone files",
        "history @/store 18b7cb099a9ea3f50ba899b5ba81e0d3 --zone files",
        "blame @/store 18b7cb099a9ea3f50ba899b5ba81e0d3 --zone files",
    ])
    func `on a terminal dates are local, elsewhere and in JSON they are UTC`(line: String)
        async throws
    {
        let place = try Place()
        try await place.importTree()
        for command in ["mark @/store first", "backup @/store -o @/full.archive"] {
            #expect(try await place.run(command).code == .ok)
        }
        let local = /[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]{12} \+05:30/
        let utc = /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{12}Z/
        let india = LocalTime { _ in 19_800 }
        let shown = try await place.run(line, onTerminalIn: india).results
        #expect(shown.contains(local) && !shown.contains(utc), "\(shown)")
        let json = try await place.run(line, json: true, onTerminalIn: india).results
        // A record has milliseconds there.
        #expect(json.contains(utc) != line.hasPrefix("show "), "\(json)")
        #expect(!json.contains(local), "\(json)")
        let piped = try await place.run(line).results
        #expect(piped.contains(utc) && !piped.contains(local), "\(piped)")
    }

    @Test func `a point is a local time, by TZ`() async throws {
        let place = try Place()
        try await place.importTree()
        #expect(try await place.run("retention @/store --history everything").code == .ok)
        #expect(try await place.run("mark @/store before").code == .ok)
        let before = try await place.run("hash @/store").results
        let container = try await Container.openReadOnly(at: place.path + "/store")
        let mark = try #require(try await container.marks().first)
        try await container.close()
        try await Task.sleep(for: .milliseconds(10))
        try place.write("changed", "tree/a.txt")
        try await place.importTree()
        // Half a day ahead of UTC: read as UTC the time would be to come, and the state the newest.
        let ahead = LocalTime { _ in 43_200 }
        let point = ahead.text(mark.date.addingTimeInterval(0.004)).split(separator: " ").dropLast()
            .joined(separator: " ")
        for text in [point, point.replacing(" ", with: "T")] {
            let process = try ToolProcess(
                ["hash", place.path + "/store", "--at", text], environment: ["TZ": "AAA-12"])
            #expect(process.readLine() + "\n" == before, "\(text)")
            #expect(process.wait() == 0)
        }
    }

    @Test func `an offset behind the end of the journal is refused`() async throws {
        let place = try Place()
        try await place.importTree()
        #expect(try await place.run("backup @/store -o @/full.archive --history").code == .ok)
        for line in [
            "hash @/store --at 99999999", "records @/store --zone files --at 99999999",
            "diff @/store --at 99999999", "revert @/store --zone files --at 99999999",
            "restore @/full.archive @/restored --at 99999999",
        ] {
            let run = try await place.run(line)
            #expect(run.code == .notFound, "\(line): \(run.messages)")
            #expect(run.messages.contains("the journal ends at "), "\(run.messages)")
        }
        // The end itself is the newest state.
        let mark = try await place.run("mark @/store now").results
        let offset = try #require(mark.split(separator: " ").first)
        #expect(try await place.run("hash @/store --at \(offset)").code == .ok)
    }
}
