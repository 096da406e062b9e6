import Support
import Testing

// `Tests/StratusTests/CASES.md` says which test shows which behaviour case. Every case is in it,
// and every test that it names is there and names the case in the comment above it.

/// A row of the table.
struct CaseRow: Sendable, CustomTestStringConvertible {
    let number: Int
    let tests: [String]
    /// What a case that is left out needs.
    let needs: String?

    var testDescription: String { "C\(number)" }

    static let page = "Tests/StratusTests/CASES.md"
    static let all = rows(of: PackageFiles.text(page) ?? "")

    /// The cases that the record rules are made of.
    static let expected = Array(1...73) + Array(117...123) + [126, 127]
    /// What a case may wait for; nothing else counts as a reason.
    static let reasons: Set = [
        "assets", "shares", "queries", "subscriptions", "accounts", "a sync engine",
    ]

    /// The rows of a table whose first column is a case, and whose last are tests in backquotes,
    /// or `left out: ` and what it needs.
    static func rows(of page: String) -> [CaseRow] {
        page.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.drop { $0 == " " } }
            guard cells.count >= 2, cells[0].hasPrefix("C"),
                let number = Int(cells[0].dropFirst().prefix { $0.isNumber })
            else { return nil }
            let cell = cells[cells.count - 1]
            let parts = cell.split(separator: "`", omittingEmptySubsequences: false)
            let tests = parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) }
            let mark = "left out: "
            let reason = cell.hasPrefix(mark) ? String(cell.dropFirst(mark.count)) : nil
            return CaseRow(
                number: number, tests: tests,
                needs: reason.map { String($0.reversed().drop { $0 == " " }.reversed()) })
        }
    }
}

/// The tests of a file, and the numbers of the cases in the comments above each.
func casesOfTests(in text: String) -> [String: Set<Int>] {
    var found: [String: Set<Int>] = [:]
    var numbers: Set<Int> = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        let words = line.drop { $0 == " " }
        if words.hasPrefix("//") {
            numbers.formUnion(caseNumbers(in: words))
        } else if words.isEmpty || words == "}" {
            numbers = []
        }
        let parts = line.split(separator: "`", omittingEmptySubsequences: false)
        if parts.count == 3, parts[0].hasSuffix("func ") {
            found[String(parts[1])] = numbers
            numbers = []
        }
    }
    return found
}

/// C12 in a comment is 12.
private func caseNumbers(in comment: Substring) -> [Int] {
    comment.split { !$0.isLetter && !$0.isNumber }.compactMap { word in
        word.first == "C" ? Int(word.dropFirst()) : nil
    }
}

private let testsOfCases = SourceFile.all.filter { $0.path.hasPrefix("Tests/") }
    .reduce(into: [String: Set<Int>]()) { found, file in
        found.merge(casesOfTests(in: file.text)) { $0.union($1) }
    }

@Test func `every behaviour case of the record rules is in the table, once`() {
    #expect(CaseRow.all.map(\.number) == CaseRow.expected)
}

@Test(arguments: CaseRow.all)
func `a behaviour case has tests that name it, or waits for what is not there`(row: CaseRow) {
    if let needs = row.needs {
        #expect(CaseRow.reasons.contains(needs), "\(needs) is no reason")
        #expect(row.tests == [])
    } else {
        #expect(row.tests != [])
    }
    for test in row.tests {
        let cases = testsOfCases[test]
        #expect(cases != nil, "there is no test '\(test)'")
        #expect(cases?.contains(row.number) != false, "'\(test)' does not name C\(row.number)")
    }
}

@Test func `a test is found with the cases above it, and one without has none`() {
    let text = """
            // C1, C23 and more.
            @Test(arguments: [1])
            func `one`(number: Int) {}

            // Semantics 2.2.
            @Test func `two`() {
            }
            /// C4: a longer
            /// comment.
            @Test func `three`() {}
        """
    #expect(casesOfTests(in: text) == ["one": [1, 23], "two": [], "three": [4]])
}

@Test func `a row of the table is read, whatever else is on the page`() {
    let page = """
        # Cases
        | case | rule | tests |
        |---|---|---|
        | C1 | a rule | `one`, `two` |
        | C2 | another | left out: assets |
        """
    let rows = CaseRow.rows(of: page)
    #expect(rows.map(\.number) == [1, 2])
    #expect(rows.map(\.tests) == [["one", "two"], []])
    #expect(rows.map(\.needs) == [nil, "assets"])
}
