import Testing

// What the compiler cannot check stays in few places, each with the reason why it holds.

/// Files of other layers that may hold unsafe code, each with the reason.
private let unsafeFiles: [String: String] = [
    "Tests/Support/ToolProcess.swift": "starts processes, for which only C has calls"
]

/// What stands in no file, in comments neither where it is a word of prose.
private let wordsOfCode = [
    ["@", "unchecked"], ["nonisolated", "(", "unsafe"], ["try", "!"], ["as", "!"],
    ["fatalError", "("],
]
private let wordsOfComments: Set = ["TODO", "FIXME"]

func wordViolations(path: String, text: String) -> [String] {
    let swift = SwiftText(text)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    var found = wordsOfCode.flatMap { pattern in
        swift.places(of: pattern).map { (swift.tokens[$0].line, pattern.joined()) }
    }
    // `try !done` is a `try` and a `!`.
    found.removeAll { line, word in word.hasSuffix("!") && !lines[line - 1].contains(word) }
    if mayBeUnsafe(path) { found.removeAll { $0.1 == "@unchecked" } }
    found += (swift.tokens + SwiftText.tokens(in: swift.comments))
        .filter { wordsOfComments.contains($0.text) }.map { ($0.line, $0.text) }
    if !mayBeUnsafe(path) {
        found += swift.places(of: ["unsafe"]).map { (swift.tokens[$0].line, "unsafe") }
    }
    return found.sorted { $0.0 < $1.0 }.map { "line \($0.0): \($0.1)" }
}

private func mayBeUnsafe(_ path: String) -> Bool {
    path.hasPrefix("Sources/StratusBytes/") || path.hasPrefix("Sources/StratusFiles/")
        || unsafeFiles[path] != nil
}

/// The uses of `unsafe` without a `Safe:` in the six lines above, on the line itself, or in the
/// comment over a declaration or statement around it.
func safetyViolations(text: String) -> [String] {
    let swift = SwiftText(text)
    var open: [Int] = []
    var found: [String] = []
    for token in swift.tokens {
        switch token.text {
        case "{": open.append(token.line)
        case "}": _ = open.popLast()
        case "unsafe":
            let isNear = saysSafe(swift, max(1, token.line - 6)...token.line)
            let isAround = open.contains { line in
                commentOver(line, in: swift).map { saysSafe(swift, $0) } ?? false
            }
            if !isNear && !isAround { found.append("line \(token.line): unsafe without Safe:") }
        default: break
        }
    }
    return found
}

private func saysSafe(_ text: SwiftText, _ lines: ClosedRange<Int>) -> Bool {
    lines.contains { text.comments[$0 - 1].contains("Safe:") }
}

/// The lines of the comment over what opens its brace on a line, which may be its last of several.
private func commentOver(_ line: Int, in text: SwiftText) -> ClosedRange<Int>? {
    func isCode(_ line: Int) -> Bool { !text.code[line - 1].allSatisfy(\.isWhitespace) }
    func isComment(_ line: Int) -> Bool { !isCode(line) && text.comments[line - 1].contains("/") }
    func endsStatement(_ line: Int) -> Bool { text.code[line - 1].contains { "{};".contains($0) } }

    var first = line
    while first > 1, isCode(first - 1), !endsStatement(first - 1) { first -= 1 }
    var top = first
    while top > 1, isComment(top - 1) { top -= 1 }
    return top < first ? top...(first - 1) : nil
}

@Test(arguments: SourceFile.all)
func `a word that gives up a check stands only where it may`(file: SourceFile) {
    #expect(wordViolations(path: file.path, text: file.text) == [])
}

@Test(arguments: SourceFile.all)
func `every unsafe expression says why it is safe`(file: SourceFile) {
    #expect(safetyViolations(text: file.text) == [])
}

@Test(arguments: [
    "unsafe a()", "let a = try! b()", "let a = b as! C", "final class A: @unchecked Sendable {}",
    "fatalError(a)", "// TODO: later", "/* FIXME */ let a = 1", "let a = \"\\(b as! C)\"",
])
func `a word that stands where it may not is found`(text: String) {
    #expect(wordViolations(path: "Sources/Stratus/Container.swift", text: text).count == 1)
    #expect(wordViolations(path: "Sources/StratusIndex/Run.swift", text: text).count == 1)
    #expect(wordViolations(path: "Tests/StratusTests/RecordTests.swift", text: text).count == 1)
}

@Test func `unsafe may stand in the lowest layers, switching off isolation nowhere`() {
    let path = "Sources/StratusBytes/Checksum.swift"
    #expect(wordViolations(path: path, text: "unsafe a()") == [])
    #expect(
        wordViolations(path: path, text: "nonisolated(unsafe) var a = 1")
            == ["line 1: nonisolated(unsafe"])
}

@Test func `prose, strings and other words are let through`() {
    let text = """
        // unsafe, try! and as! are words
        let a = "fatalError(" + withUnsafeBytes(try? b)
        """
    #expect(wordViolations(path: "Sources/Stratus/Container.swift", text: text) == [])
}

@Test(arguments: [
    "unsafe a()", "// Safe: far above.\n\n\n\n\n\n\nunsafe a()", "let a = \"Safe:\"; unsafe a()",
    "// Safe: another's.\nfunc a() {\n\n\n\n\n\n}\nfunc b() {\n    unsafe c()\n}",
])
func `an unsafe expression without a reason is found`(text: String) {
    #expect(safetyViolations(text: text).count == 1)
}

@Test(arguments: [
    "// Safe: above.\n\n\n\n\n\nunsafe a()", "unsafe a() // Safe: beside.",
    "/// A type.\n///\n/// Safe: around.\nstruct A:\n    B\n{\n\n\n\n\n    let a = unsafe c()\n}",
])
func `an unsafe expression with a reason is let through`(text: String) {
    #expect(safetyViolations(text: text) == [])
}
