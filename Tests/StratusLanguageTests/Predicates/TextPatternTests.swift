import StratusLanguage
import Testing

/// All short texts against all short patterns of few letters, where patterns overlap themselves.
@Suite struct TextPatternTests {
    private func all(_ letters: [String], upTo length: Int) -> [String] {
        var texts = [""]
        var longest = texts
        for _ in 0..<length {
            longest = longest.flatMap { text in letters.map { text + $0 } }
            texts += longest
        }
        return texts
    }

    private func evaluator(_ relation: String, _ pattern: String) throws -> PredicateEvaluator {
        try PredicateEvaluator(PredicateParser.parse("f \(relation) '\(pattern)'"))
    }

    private func record(_ text: String) -> TestRecord { TestRecord(fields: ["f": .string(text)]) }

    @Test func `prefixes, suffixes and parts are found as by comparing at every place`() throws {
        let texts = all(["a", "b"], upTo: 7)
        for pattern in all(["a", "b"], upTo: 5) {
            let prefix = try evaluator("BEGINSWITH", pattern)
            let suffix = try evaluator("ENDSWITH", pattern)
            let part = try evaluator("CONTAINS", pattern)
            let wrong = texts.filter { text in
                let places = (0...text.count).filter { text.dropFirst($0).hasPrefix(pattern) }
                let record = record(text)
                return prefix.matches(record) != text.hasPrefix(pattern)
                    || suffix.matches(record) != text.hasSuffix(pattern)
                    || part.matches(record) != !places.isEmpty
            }
            #expect(wrong == [], "\(pattern)")
        }
    }

    @Test func `wildcards are matched as by trying every length`() throws {
        func like(_ text: Substring, _ pattern: Substring) -> Bool {
            guard let first = pattern.first else { return text.isEmpty }
            let rest = pattern.dropFirst()
            if first == "*" { return (0...text.count).contains { like(text.dropFirst($0), rest) } }
            guard let letter = text.first else { return false }
            return (first == "?" || first == letter) && like(text.dropFirst(), rest)
        }
        let texts = all(["a", "b"], upTo: 5)
        for pattern in all(["a", "b", "?", "*"], upTo: 4) {
            let evaluator = try evaluator("LIKE", pattern)
            let wrong = texts.filter {
                evaluator.matches(record($0)) != like($0[...], pattern[...])
            }
            #expect(wrong == [], "\(pattern)")
        }
    }

    @Test(arguments: ["x", "é"])
    func `patterns of more than 64 characters are matched like short ones`(letter: String) throws {
        let text = String(repeating: letter, count: 200)
        for count in [63, 64, 65, 127, 128, 129, 199, 200] {
            let start = String(repeating: letter, count: count)
            #expect(try evaluator("LIKE", start).matches(record(text)) == (count == 200))
            #expect(try evaluator("LIKE", start + "*").matches(record(text)))
            #expect(try evaluator("LIKE", "*" + start + "y").matches(record(text + "y")))
            #expect(try !evaluator("LIKE", start + "y*").matches(record(text)))
        }
    }
}
