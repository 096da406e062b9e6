import Testing

// A file is read in one sitting and a function in one look.

private let mostLinesOfFile = 400
private let mostLinesOfFunction = 60
private let mostColumns = 100

/// Files that may be larger, each with the reason.
private let exceptions: [String: String] = [:]

func sizeViolations(path: String, text: String) -> [String] {
    if exceptions[path] != nil { return [] }
    let swift = SwiftText(text)
    var found: [String] = []
    if swift.lines.count > mostLinesOfFile { found.append("\(swift.lines.count) lines") }
    for (number, line) in swift.lines.enumerated() where line.count > mostColumns {
        found.append("line \(number + 1): \(line.count) columns")
    }
    guard path.hasSuffix(".swift") else { return found }
    for function in functions(in: swift) where function.count > mostLinesOfFunction {
        found.append("line \(function.lowerBound): a function of \(function.count) lines")
    }
    return found
}

/// The lines of every function that has a body, from its `func` or `init` to its closing brace.
func functions(in text: SwiftText) -> [ClosedRange<Int>] {
    text.tokens.indices.compactMap { place in
        guard beginsFunction(at: place, in: text), let body = body(after: place, in: text) else {
            return nil
        }
        var depth = 0
        for end in text.tokens[body...].indices {
            if text.tokens[end].text == "{" { depth += 1 }
            if text.tokens[end].text == "}" { depth -= 1 }
            if depth == 0 { return text.tokens[place].line...text.tokens[end].line }
        }
        return nil
    }
}

private func beginsFunction(at place: Int, in text: SwiftText) -> Bool {
    let next = text.token(at: place, 1)
    // `x.init(…)` calls; `init:` labels.
    guard text.token(at: place, -1) != "." else { return false }
    return switch text.token(at: place) {
    case "func": next != ":"
    case "init", "subscript": ["(", "<", "?", "!"].contains(next)
    case "deinit": next == "{"
    default: false
    }
}

/// The place of the brace that opens a function's body; a protocol's requirement has none.
private func body(after start: Int, in text: SwiftText) -> Int? {
    let goesOn: Set = ["{", "where", "-", "throws", "async", "rethrows"]
    var depth = 0
    for place in text.tokens.indices.dropFirst(start + 1) {
        let token = text.tokens[place]
        let isFirstOfLine = token.line > text.tokens[place - 1].line
        let isOpen = [",", ":", "&", "<"].contains(text.token(at: place, -1))
        if depth == 0, isFirstOfLine, !isOpen, !goesOn.contains(token.text) { return nil }
        switch token.text {
        case "(", "[": depth += 1
        case ")", "]": depth -= 1
        case "{" where depth == 0: return place
        case "}" where depth == 0: return nil
        default: break
        }
    }
    return nil
}

@Test(arguments: SourceFile.all + SourceFile.allInC)
func `a file, its functions and its lines stay small`(file: SourceFile) {
    #expect(sizeViolations(path: file.path, text: file.text) == [])
}

@Test func `a file that is too long is found`() {
    let line = "let a = 1\n"
    #expect(sizeViolations(path: "A.swift", text: String(repeating: line, count: 400)) == [])
    #expect(
        sizeViolations(path: "A.swift", text: String(repeating: line, count: 401)) == ["401 lines"])
}

@Test func `a line that is too long is found, in columns and not in bytes`() {
    let line = "// " + String(repeating: "é", count: 97)
    #expect(sizeViolations(path: "A.swift", text: line) == [])
    #expect(sizeViolations(path: "A.h", text: line + "e") == ["line 1: 101 columns"])
}

@Test(arguments: [
    "func a(\n    _ b: Int = { 1 }()\n) throws\n    -> Int\n",
    "init?<T>(_ a: T)\nwhere T: B,\n    T: C\n",
    "static func < (a: A, b: A) -> Bool", "subscript(a: Int) -> Int", "deinit",
])
func `a function that is too long is found`(head: String) {
    let lines = head.split(separator: "\n", omittingEmptySubsequences: false).count
    let inside = 60 - lines - 1
    let short = head + " {\n" + String(repeating: "a(\"}\") // }\n", count: inside) + "}\n"
    let long = head + " {\n" + String(repeating: "if a { b }\n", count: inside + 1) + "}\n"
    #expect(sizeViolations(path: "A.swift", text: short) == [])
    #expect(
        sizeViolations(path: "A.swift", text: "\n" + long) == ["line 2: a function of 61 lines"])
}

@Test func `a requirement has no body, and a call of an initialiser is no function`() {
    let text = """
        protocol A {
            func a() -> [Int]
            init(_ a: Int)
            func b() throws
        }
        struct B {
            let c = Int.init(1)
            func d() { e() }
        }
        """
    #expect(functions(in: SwiftText(text)) == [8...8])
}
