import Testing

// A test that expects nothing passes for ever.

func assertionViolations(text: String) -> [String] {
    let swift = SwiftText(text)
    let tests = swift.places(of: ["@", "Test"]).count
    let expects = [["#", "expect"], ["#", "require"], ["Issue", ".", "record"]]
    guard tests > 0, expects.allSatisfy({ swift.places(of: $0).isEmpty }) else { return [] }
    return ["\(tests) tests, and nothing is expected"]
}

@Test(arguments: SourceFile.all)
func `a file of tests expects something`(file: SourceFile) {
    #expect(assertionViolations(text: file.text) == [])
}

@Test func `a file of tests that expects nothing is found`() {
    let empty = "@Test func a() {\n    // #expect(b)\n}"
    #expect(assertionViolations(text: empty).count == 1)
    #expect(assertionViolations(text: "@Test func a() { #expect(b) }") == [])
    #expect(assertionViolations(text: "func a() {}") == [])
}
