import Support
import Testing

// `Tests/Statements.md` says what shows each statement about the store. What it names is there.

/// What stands in backquotes in the cells of the page's tables that name a proof or a bug.
struct Statements {
    /// `Suite/name of a test`.
    var tests: [String] = []
    /// `Tools/campaign NAME` and the like.
    var commands: [String] = []
    /// What a planted bug breaks.
    var bugs: [String] = []
    /// Rows that name nothing, or something of an unknown form.
    var problems: [String] = []

    init(_ page: String) {
        for line in page.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.drop { $0 == " " } }
            guard cells.count >= 2, cells[0].first != "-", !cells[0].hasPrefix("statement")
            else { continue }
            let proofs = Self.quoted(cells[1])
            if proofs.isEmpty { problems.append("nothing shows: \(cells[0])") }
            for proof in proofs {
                if proof.hasPrefix("Tools/") {
                    commands.append(proof)
                } else if proof.split(separator: "/", maxSplits: 1).count == 2 {
                    tests.append(proof)
                } else {
                    problems.append("neither a test nor a command: \(proof)")
                }
            }
            if cells.count > 2 { bugs += Self.quoted(cells[2]) }
        }
    }

    /// A name that holds a backquote itself cannot be named.
    private static func quoted(_ cell: Substring) -> [String] {
        let parts = cell.split(separator: "`", omittingEmptySubsequences: false)
        return parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) }
    }
}

/// All tests, each as `Suite/name`: the suite is the type around it, or else the file.
func testNames(path: String, text: String) -> [String] {
    let file = path.split(separator: "/").last?.dropLast(".swift".count) ?? ""
    var suite = String(file)
    var names: [String] = []
    for line in text.split(separator: "\n") {
        let words = line.split(separator: " ")
        let kinds: Set<Substring> = ["struct", "class", "extension"]
        if !line.hasPrefix(" "), let place = words.firstIndex(where: { kinds.contains($0) }),
            place + 1 < words.count
        {
            suite = String(words[place + 1].prefix { $0.isLetter || $0.isNumber })
        }
        let parts = line.split(separator: "`", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].hasSuffix("func ") else { continue }
        // A test outside of any type stands at the beginning of its line.
        let owner = line.hasPrefix("@") || line.hasPrefix("func") ? String(file) : suite
        names.append("\(owner)/\(parts[1])")
    }
    return names
}

struct StatementsTests {
    private static let statements = Statements(PackageFiles.text("Tests/Statements.md") ?? "")

    @Test func `every statement names what shows it`() {
        #expect(Self.statements.problems == [])
        #expect(Self.statements.tests.count > 100)
    }

    @Test func `every test that a statement names is there`() {
        let known = Set(
            SourceFile.all.filter { $0.path.hasPrefix("Tests/") }
                .flatMap { testNames(path: $0.path, text: $0.text) })
        #expect(Self.statements.tests.filter { !known.contains($0) } == [])
    }

    @Test func `every command that a statement names is there`() {
        let campaigns = PackageFiles.names(in: "Tools/campaigns")
        let workloads = PackageFiles.text("Tools/benchmarks/README.md") ?? ""
        for command in Self.statements.commands {
            let words = command.split(separator: " ").map(String.init)
            switch (words[0], words.dropFirst().first) {
            case ("Tools/campaign", let name?):
                #expect(campaigns.contains(name), "\(command)")
            case ("Tools/benchmarks/run", let name?):
                #expect(name == "all" || workloads.contains("`\(name)"), "\(command)")
            default: #expect(PackageFiles.text(words[0]) != nil, "\(command)")
            }
        }
        #expect(Self.statements.commands.count > 10)
    }

    @Test func `every bug that a statement names can be planted`() {
        let table = PackageFiles.text("Tools/campaigns/mutants") ?? ""
        let bugs = table.split(separator: "\n").map {
            $0.split(separator: "~", omittingEmptySubsequences: false)
        }.filter { $0.count == 4 }
        #expect(bugs.count > 40)
        let known = Set(bugs.map { String($0[3]) })
        #expect(Self.statements.bugs.filter { !known.contains($0) } == [])
        #expect(bugs.filter { PackageFiles.text(String($0[0])) == nil }.map { $0[0] } == [])
        // And the tests that should notice it are there.
        let all = SourceFile.all.flatMap { file -> [String] in
            testNames(path: file.path, text: file.text)
        }
        let suites = Set(all.map { String($0.prefix { $0 != "/" }) })
        for bug in bugs {
            for suite in bug[1].split(separator: "|") {
                #expect(suites.contains { $0.contains(suite) }, "\(suite)")
            }
        }
    }

    @Test func `a row that names nothing is found, and one that does is taken apart`() {
        let page = """
            | statement | shown by | bug |
            |---|---|---|
            | one | `ATests/a b/c`, `Tools/campaign x` | `it breaks` |
            | two | | |
            | three | `ATests` |
            """
        let statements = Statements(page)
        #expect(statements.tests == ["ATests/a b/c"])
        #expect(statements.commands == ["Tools/campaign x"])
        #expect(statements.bugs == ["it breaks"])
        #expect(statements.problems.count == 2)
    }

    @Test func `tests are known by their suites`() {
        let text = """
            @Suite struct ATests {
                @Test func `one`() {}
                func `with arguments`(a: Int) {}
            }
            @Test func `at the top`() {}
            extension BTests {
                @Test func `two`() {}
            }
            """
        let names = testNames(path: "Tests/X/File.swift", text: text)
        #expect(
            names == ["ATests/one", "ATests/with arguments", "File/at the top", "BTests/two"])
    }
}
