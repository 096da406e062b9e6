import StratusGateway
import StratusTool
import Testing

struct OutputTests {
    private let capture = Capture()

    @Test(arguments: [
        ("plain", "plain"), ("a\\b", "a\\\\b"), ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\u{1B}[31mred", "\\u{1B}[31mred"), ("\u{9B}2J", "\\u{9B}2J"), ("\u{0}", "\\u{0}"),
        ("photo\u{202E}gpj.exe", "photo\\u{202E}gpj.exe"), ("grün 世 👩‍🚀", "grün 世 👩‍🚀"),
    ])
    func `data is shown and never obeyed`(data: String, expected: String) throws {
        #expect(Output.escaped(data) == expected)
        let output = capture.output()
        try output.line(Output.escaped(data))
        try output.flush()
        #expect(capture.results == expected + "\n")
    }

    @Test func `a line that forgot to escape harms nothing`() throws {
        let output = capture.output()
        try output.line("name\t\u{1B}]0;title\u{7}")
        try output.flush()
        #expect(capture.results == "name\t\\u{1B}]0;title\\u{7}\n")
    }

    @Test(arguments: [
        (false, "NAME\nz\nsummed\n"),
        (
            true,
            """
            {"type":"header","schema":"stratus.zones/1"}
            {"type":"zone","name":"z"}
            {"type":"summary","count":1}

            """
        ),
    ])
    func `a command says its results in both forms and one is written`(
        isJSON: Bool, expected: String
    ) throws {
        let output = capture.output {
            $0.isJSON = isJSON
            $0.hasHeader = true
        }
        try output.header(schema: "stratus.zones/1", columns: "NAME")
        try output.result("zone", ["name": "z"], text: "z")
        try output.summary(["count": 1], text: "summed")
        try output.flush()
        #expect(capture.results == expected)
        #expect(capture.messages.isEmpty)
    }

    @Test func `quiet leaves out what is not data`() throws {
        let output = capture.output { $0.isQuiet = true }
        try output.header(schema: "stratus.zones/1", columns: "NAME")
        output.message("one moment")
        try output.summary([:], text: "summed")
        output.report(ToolError(.noStore, id: "store.none", "no store", hint: "make one"))
        try output.flush()
        #expect(capture.results.isEmpty)
        #expect(capture.messages == "stratus: no store\n")
    }

    @Test func `the first line leaves at once, and others gather to 64 KiB and leave whole`() throws
    {
        let output = capture.output()
        try output.line("first")
        #expect(capture.writes == ["first\n"])
        let line = String(repeating: "x", count: 999)
        for _ in 0..<65 { try output.line(line) }
        #expect(capture.writes == ["first\n"])
        try output.line(line)
        #expect(capture.writes.map(\.utf8.count) == [6, 66_000])
        try output.line("rest")
        try output.flush()
        try output.flush()
        #expect(capture.writes.dropFirst(2) == ["rest\n"])
    }

    @Test func `on a terminal a line leaves at once`() throws {
        let output = capture.output { $0.resultsAreOnTerminal = true }
        try output.line("one")
        #expect(capture.writes == ["one\n"])
    }

    @Test(arguments: [(true, true), (true, false), (false, true)])
    func `colors need a terminal that wants them`(isTerminal: Bool, isStyled: Bool) throws {
        let output = capture.output {
            $0.resultsAreOnTerminal = isTerminal
            $0.isStyled = isStyled
        }
        try output.line("title", .bold)
        try output.flush()
        let isBold = isTerminal && isStyled
        #expect(capture.results == (isBold ? "\u{1B}[1mtitle\u{1B}[0m\n" : "title\n"))
    }

    @Test(arguments: [
        (["NO_COLOR": "1"], "info s", false), (["NO_COLOR": ""], "info s", true),
        (["TERM": "dumb"], "info s", false), (["TERM": "xterm"], "info s", true),
        (["TERM": "xterm"], "info s --no-color", false),
    ])
    func `the surroundings can refuse colors`(
        environment: [String: String], line: String, isStyled: Bool
    ) throws {
        var surroundings = Surroundings(environment: environment)
        surroundings.errorIsTerminal = true
        let settings = Output.Settings(try parse(line), surroundings)
        #expect(settings.isStyled == isStyled)
        #expect(settings.isAnimated == (environment["TERM"] != "dumb"))
    }

    @Test func `results in a file are not on the terminal`() throws {
        var surroundings = Surroundings()
        surroundings.outputIsTerminal = true
        #expect(Output.Settings(try parse("info s"), surroundings).resultsAreOnTerminal)
        #expect(!Output.Settings(try parse("info s -o f"), surroundings).resultsAreOnTerminal)
    }

    private let error = ToolError(
        .damaged, id: "frame.crc", "a frame\u{1B} is damaged", hint: "stratus verify",
        file: "1.seg", byte: 4_096, offset: 9_007_199_254_740_993)

    @Test func `an error is a line and a hint`() {
        capture.output().report(error)
        let place = "(file 1.seg, byte 4096, offset 9007199254740993)"
        let text = "stratus: a frame\\u{1B} is damaged \(place)\nhint: stratus verify\n"
        #expect(capture.messages == text)
    }

    @Test func `an error is an object under json`() {
        capture.output { $0.isJSON = true }.report(error)
        let start =
            #"{"type":"error","code":13,"id":"frame.crc","message":"a frame\u001b is damaged","#
        let place = #""file":"1.seg","byte":4096,"offset":"9007199254740993","#
        #expect(capture.messages == start + place + #""hint":"stratus verify"}"# + "\n")
    }

    @Test func `an error comes after the results before it`() throws {
        let output = capture.output()
        try output.line("found")
        output.report(error)
        #expect(capture.results == "found\n")
    }

    @Test func `a warning names its file`() {
        capture.output().warning("import.kind", "skipped: a socket", file: "a\nb")
        capture.output { $0.isJSON = true }.warning(
            "import.kind", "skipped: a socket", file: "a\nb")
        let object =
            #"{"type":"warning","id":"import.kind","message":"skipped: a socket","file":"a\nb"}"#
        #expect(capture.messages == "stratus: a\\nb: skipped: a socket\n" + object + "\n")
    }

    @Test func `results without a reader end the command`() throws {
        let output = capture.output()
        capture.closeReader()
        #expect(throws: Output.Closed.self) { try output.line("x") }
        // What could not be written is gone, and so the end of the process fails no second time.
        try output.flush()
    }
}
