import FoundationEssentials
import Stratus
import StratusTool
import Support
import Testing

/// A store whose last group is damaged, which may have been acknowledged.
@Suite struct PossibleLossTests {
    private let place: Place

    init() throws {
        place = try Place()
        for (name, sample) in [("lost", "row-j-last-group"), ("torn", "row-f-torn-tail")] {
            try FileManager.default.copyItem(
                atPath: PackageFiles.root + "/Formats/samples/damaged/" + sample,
                toPath: place.path + "/" + name)
        }
    }

    @Test(arguments: [
        "info S", "users S", "zones S", "log S", "dump S", "stats S", "mark S", "pins S",
        "schema show S",
        "backup S -o @/a.archive", "copy S @/b", "diff S S", "mark S here", "checkpoint S",
        "compact S", "import @/tree S --zone files",
    ])
    func `every command that opens it says so once, and ends with code 4`(line: String)
        async throws
    {
        let path = place.path + "/lost"
        let run = try await place.run(line.replacing(" S", with: " " + path))
        #expect(run.code == .possibleLoss, "\(line): \(run.messages)")
        let told = run.messages.split(separator: "\n").filter { $0.contains("may be lost") }
        #expect(told.count == 1, "\(line): \(run.messages)")
        #expect(told.first?.contains("the last writes to \(path) may be lost: ") == true)
        #expect(
            told.first?.contains("file journal-0000000000000000, byte 5696; ") == true, "\(told)")
        // What was never acknowledged is no loss.
        let torn = try await place.run(line.replacing(" S", with: " \(place.path)/torn"))
        #expect(torn.code != .possibleLoss && !torn.messages.contains("may be lost"), "\(torn)")
    }

    @Test
    func `a command that writes ends the journal before the damage, and the next is told nothing`()
        async throws
    {
        let first = try await place.run("mark @/lost here")
        #expect(first.messages.contains("the journal was ended there, at offset "), "\(first)")
        let second = try await place.run("info @/lost")
        #expect(second.code == .ok && second.messages.isEmpty, "\(second)")
    }

    @Test func `it is told to programs as a warning with an identifier`() async throws {
        let run = try await place.run("info @/lost", json: true)
        #expect(run.messages.hasPrefix(#"{"type":"warning","id":"store.possible-loss","message":"#))
        #expect(run.results.contains(#""possibleLoss":true"#))
    }

    @Test func `a command that fails keeps its code`() async throws {
        for (line, code) in [
            ("records @/lost --zone none --as nobody", ExitCode.notFound),
            ("info @/lost --strict", .damaged), ("backup @/lost -o @/tree/a.txt", .exists),
        ] {
            let run = try await place.run(line)
            #expect(run.code == code, "\(line): \(run.messages)")
        }
    }

    @Test func `a service says so at its end`() throws {
        let process = try ToolProcess(["exec", place.path + "/lost"])
        process.closeInput()
        #expect(process.wait() == 4)
    }
}
