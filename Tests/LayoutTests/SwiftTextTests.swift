import Testing

@Test func `comments, strings and raw identifiers are not code`() {
    let text = SwiftText(
        #"""
        let a = "one // \" two" // three
        /* four /* five */ six */ let b = #"seven " eight"#
        func `nine ten`() {}
        """#)
    #expect(words(of: text.code) == ["let", "a", "let", "b", "func"])
    #expect(words(of: text.comments) == ["three", "four", "five", "six"])
}

@Test func `what is interpolated is code, and the string goes on behind it`() {
    let text = SwiftText(##"let a = "one \(two(three) + "four \(five)") six"; seven"##)
    #expect(words(of: text.code) == ["let", "a", "two", "three", "five", "seven"])
}

@Test func `a string of several lines may hold quotes`() {
    let text = SwiftText("let a = \"\"\"\n    one \"two\" {\n    \"\"\"\nlet b = 1\n")
    #expect(text.lines.count == 4)
    #expect(words(of: text.code) == ["let", "a", "let", "b", "1"])
    #expect(text.tokens.last?.line == 4)
}

private func words(of lines: [String]) -> [String] {
    SwiftText.tokens(in: lines).map(\.text).filter { $0.first?.isLetter ?? false || $0 == "1" }
}
