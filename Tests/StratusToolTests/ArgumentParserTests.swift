import StratusTool
import Testing

struct ArgumentParserTests {
    @Test(arguments: [
        "records s --zone z --limit 5", "records --zone=z --limit=5 s",
        "--zone z records s --limit 5",
        "--limit 5 --zone z -- records s", "records --limit 5 --zone z -- s",
    ])
    func `options and arguments come in any order`(line: String) throws {
        let invocation = try parse(line)
        #expect(invocation.command.name == "records")
        #expect(invocation.argument("STORE") == "s")
        #expect(invocation.value("zone") == "z")
        #expect(invocation.number("limit") == 5)
        #expect(invocation.value("type") == nil)
    }

    @Test func `what a command line leaves out has its default`() throws {
        let invocation = try parse("info s")
        #expect(!invocation.wantsJSON && !invocation.isQuiet && !invocation.refusesColor)
        #expect(invocation.progress == .auto)
        #expect(invocation.database == .private)
        #expect(invocation.user == "local")
        #expect(invocation.outputPath == nil)
    }

    @Test func `every command takes the common options`() throws {
        let line = "--json -q --no-color --no-input --progress json --database public --as anna"
        let invocation = try parse("info s -o out " + line)
        #expect(invocation.wantsJSON && invocation.isQuiet)
        #expect(invocation.refusesColor && invocation.refusesInput)
        #expect(invocation.progress == .json)
        #expect(invocation.database == .public)
        #expect(invocation.user == "anna")
        #expect(invocation.outputPath == "out")
    }

    @Test(arguments: ["info -", "info - -o -", "-o - info -"])
    func `a lone dash is a value`(line: String) throws {
        let invocation = try parse(line)
        #expect(invocation.argument("STORE") == "-")
        #expect(invocation.outputPath == nil)
    }

    @Test func `after two dashes all is an argument`() throws {
        let invocation = try parse("show s --zone z -- --help")
        #expect(invocation.command.name == "show")
        #expect(invocation.argument("RECORD") == "--help")
    }

    @Test func `a value may hold an equals sign and begin with a dash`() throws {
        #expect(try parse("show s r --zone=-a=b").value("zone") == "-a=b")
    }

    @Test(arguments: [
        ("", nil), ("--json", nil), ("-h", nil), ("--bogus --help", nil), ("bogus -h", nil),
        ("import --zone --help", "import"), ("-h log --limit x", "log"), ("help log", "log"),
    ])
    func `help is given wherever it is asked for`(line: String, topic: String?) throws {
        let invocation = try parse(line)
        #expect(invocation.command.name == "help")
        #expect(invocation.optionalArgument("COMMAND") == topic)
        #expect(invocation.wantsJSON == line.contains("--json"))
    }

    @Test(arguments: ["--version", "import --version", "--version --json"])
    func `the version is given wherever it is asked for`(line: String) throws {
        #expect(try parse(line).command.name == "version")
    }

    @Test(arguments: [
        ("imprt a b", "unknown-command", "did you mean 'import'?"),
        ("imp a b", "unknown-command", "did you mean 'import'?"),
        ("remove a b", "unknown-command", "'stratus help' lists the commands"),
        ("help imfo", "unknown-command", "did you mean 'info'?"),
        ("info s --jsn", "unknown-option", "did you mean '--json'?"),
        ("--jsn info s", "unknown-option", "did you mean '--json'?"),
        ("info s -json", "unknown-option", "did you mean '--json'?"),
        ("info s --js", "unknown-option", "did you mean '--json'?"),
        ("info s -x", "unknown-option", "'stratus help info' lists the options"),
        ("info s --zone z", "unknown-option", "'stratus help info' lists the options"),
        ("info", "missing-argument", "usage: stratus info STORE [options]"),
        ("info a b", "extra-argument", "usage: stratus info STORE [options]"),
        ("show s r", "missing-option", "usage: stratus show STORE RECORD --zone NAME [options]"),
        ("info s --database publik", "bad-value", "did you mean 'public'?"),
        ("info s --json=1", "unexpected-value", nil),
        ("info s --json --json", "repeated-option", nil),
        ("records s --zone a --zone b", "repeated-option", nil),
        ("info s -q --quiet", "repeated-option", nil), ("info s --as=", "empty-value", nil),
        ("records s --zone z --limit ten", "bad-value", nil),
        ("records s --zone z --limit +1", "bad-value", nil),
        ("log s --limit 18446744073709551616", "bad-value", nil),
        ("completion tcsh", "bad-value", nil),
    ])
    func `a wrong command line is refused`(line: String, id: String, hint: String?) throws {
        let error = try #require(throws: ToolError.self) { try parse(line) }
        #expect(error.code == .usage)
        #expect(error.id == "usage." + id)
        #expect(error.hint == hint)
    }

    @Test(arguments: ["records s --zone", "records s --zone --limit 5", "records s --zone -q"])
    func `an option is not taken for the value of another`(line: String) throws {
        let error = try #require(throws: ToolError.self) { try parse(line) }
        #expect(error.id == "usage.missing-value")
    }

    @Test func `an empty argument is refused`() throws {
        let error = try #require(throws: ToolError.self) {
            try ArgumentParser.parse(["info", ""], .stratus)
        }
        #expect(error.message == "STORE is empty")
    }

    @Test func `what may be repeated and variadic keeps all its values`() throws {
        let command = Command(
            "join", "join files", details: "",
            arguments: [
                .init("FILE", "a file", .path),
                .init("MORE", "more files", .path, isOptional: true, isVariadic: true),
            ],
            options: [.init("tag", taking: .init("TAG"), "a tag", isRepeatable: true)],
            examples: [])
        let table = CommandTable(
            tool: "tool", summary: "", commands: [command], commonOptions: [])
        let words = ["join", "a", "--tag", "x", "b", "--tag=y", "c"]
        let invocation = try ArgumentParser.parse(words, table)
        #expect(invocation.argument("FILE") == "a")
        #expect(invocation.allArguments("MORE") == ["b", "c"])
        #expect(invocation.allValues("tag") == ["x", "y"])
    }
}
