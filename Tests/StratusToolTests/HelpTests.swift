import FoundationEssentials
import StratusGateway
import StratusTool
import Testing

struct HelpTests {
    private let table = CommandTable.stratus

    @Test func `the page of a command`() throws {
        let command = try #require(table.command(named: "follow"))
        let page = Help.page(of: command, table, columns: 80).map(\.text).joined(separator: "\n")
        #expect(page == Self.followPage)
    }

    private static let followPage = """
        stratus follow
          keep a second store equal to a store.

        Usage
          stratus follow STORE --into OTHER [options]

        Examples
          stratus follow ./store --into ./copy
              Keeps ./copy equal until stopped.
          stratus follow ./store --into ./copy --once
              Brings ./copy up to date and ends.

        Description
          Reads the changes of STORE and applies them to the store OTHER, which is made
          where there is none. Goes on until it is stopped; with --once, until OTHER has
          all that STORE had. Each line has a token to go on from with --since; without
          one it begins at the beginning. The default zone has no change feed and is not
          followed.

        Arguments
          STORE  the directory of the store

        Options
          --into OTHER   the store to keep equal; required
          --since TOKEN  begin after TOKEN
          --once         end when there is nothing more to read

        Common options
          --json               write one JSON object per line
          -o, --output FILE|-  write to FILE instead of standard output (-)
          --header             begin with a line that names what follows
          -q, --quiet          write data and errors only
          --progress WHEN      show progress on standard error (default: auto); one of
                               auto, always, never, json
          --no-color           write without colors, as with NO_COLOR or TERM=dumb set
          --no-input           never ask
          --database WHICH     the database meant (default: private; of listings of the
                               whole store, all); one of private, public, shared
          --as USER            the user who asks (default: local)
          --strict             refuse a store whose last commits may be lost
          -h, --help           show the help of the command
          --version            show the version of the tool
        """

    @Test(arguments: [10, 40, 79, 80, 300])
    func `a page fits the terminal where it can`(columns: Int) {
        let pages =
            [Help.overview(table, columns: columns)]
            + table.commands.map { Help.page(of: $0, table, columns: columns) }
        for line in pages.joined() where !line.text.contains("  stratus ") {
            #expect(line.text.count <= min(max(columns, 40), 100))
        }
    }

    @Test func `the overview names every command and exit code`() {
        let lines = Help.overview(table, columns: 80).map(\.text)
        for command in table.commands {
            #expect(lines.contains { $0.hasPrefix("  \(command.name) ") })
        }
        for code in ExitCode.published {
            #expect(lines.contains { $0.hasPrefix("  \(code.number) ") })
        }
    }

    @Test func `the exit codes are those that are published, and the help says the same`() {
        let published: [(Int32, String)] = [
            (0, "done"), (1, "differences or damage found"),
            (2, "the command line is not understood"),
            (3, "done in part: some items were skipped"),
            (4, "done, but the last writes to the store may be lost"), (10, "no store there"),
            (11, "another writer holds the store"), (12, "the store has a newer format"),
            (13, "the store is damaged and cannot be opened"),
            (14, "no such zone, record, field, offset, token or path"),
            (15, "the token has expired, or that moment is not kept"), (16, "no space left"),
            (17, "not permitted"),
            (18, "the backup is not valid"), (19, "the name is taken, and nothing was replaced"),
            (70, "the tool has failed"),
        ]
        #expect(ExitCode.published.map(\.number) == published.map(\.0))
        #expect(ExitCode.published.map(\.meaning) == published.map(\.1))
        let lines = Help.overview(table, columns: 100).map(\.text)
        for (number, meaning) in published {
            #expect(lines.contains { $0.hasPrefix("  \(number) ") && $0.hasSuffix(" " + meaning) })
        }
        #expect(lines.contains("  128+N  stopped by signal N"))
    }

    @Test(arguments: ["help --json", "--json", "-h --json"])
    func `help as JSON has the tool and each command`(line: String) async throws {
        let capture = Capture()
        let output = capture.output { $0.isJSON = true }
        #expect(await Tool.stratus.perform(try parse(line), output) == .ok)
        let lines = capture.results.split(separator: "\n")
        #expect(lines.first?.hasPrefix(#"{"type":"tool","name":"stratus","#) == true)
        let commands = table.commands.map { #"{"type":"command","name":"\#($0.name)","# }
        #expect(zip(lines.dropFirst(), commands).allSatisfy { $0.hasPrefix($1) })
        #expect(lines.count == commands.count + 1)
    }

    @Test(arguments: [nil] + CommandTable.stratus.commands.map { Optional($0.name) })
    func `a page for man has all that the help has`(name: String?) async throws {
        let capture = Capture()
        let given = ["help", "--man"] + [name].compactMap(\.self)
        #expect(
            await Tool.stratus.perform(
                try ArgumentParser.parse(given, .stratus), capture.output()) == .ok)
        let lines = capture.results.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.first?.hasPrefix(".TH STRATUS") == true && lines.last == "")
        let requests: Set = [".TH", ".SH", ".PP", ".TP", ".RS", ".RE", ".nf", ".fi"]
        for line in lines where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(requests.contains(String(line.prefix(3))), "\(line)")
        }
        // A dash that is typed is not a hyphen, and a quote is straight.
        #expect(!capture.results.replacing("\\-", with: "").contains("-"))
        #expect(!capture.results.contains("'"))
        // As it is shown, words one after the other.
        func words(_ text: String) -> String {
            text.replacing("\\(aq", with: "'").replacing("\\(ga", with: "`")
                .replacing("\\&", with: "").replacing("\\fB", with: "").replacing("\\fR", with: "")
                .replacing("\\-", with: "-").replacing("\\e", with: "\\")
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        let shown = words(capture.results)
        let command = name.flatMap(table.command(named:))
        let help =
            command.map { Help.page(of: $0, table, columns: 100) }
            ?? Help.overview(table, columns: 100)
        for line in help where !line.isHeading && line.text.hasPrefix("  stratus ") {
            #expect(shown.contains(words(line.text)), "\(line.text)")
        }
        let options = (command?.options ?? []) + table.commonOptions
        for text in options.map(\.summary) + [command?.details ?? table.summary] {
            // A paragraph is a text of its own.
            for part in text.split(separator: "\n\n") {
                #expect(shown.contains(words(String(part))))
            }
        }
    }

    @Test func `help as JSON of a command has all that is declared`() throws {
        let command = try #require(table.command(named: "records"))
        let line = String(
            decoding: JSONWriter.line(type: "command", Help.object(of: command, table)),
            as: UTF8.self)
        let limit = """
            {"name":"limit","letter":"n","summary":"at most N records","isRequired":false,\
            "isRepeatable":false,"value":"N","content":"number"}
            """
        #expect(line.contains(limit))
    }
}
