import StratusLanguage
import Testing

@Suite struct TokenSearchTests {
    private let fields: [String: PredicateValue] = [
        "title": .string("The Café in Zürich"), "notes": .string("open on Sunday, 10-18"),
        "tags": .strings("Kaffee", "kuchen und mehr"), "hidden": .string("secret"),
        "count": .int64(7), "bare": .list([]),
    ]

    private func finds(_ text: String) throws -> Bool {
        try holds(text, fields, searchable: ["title", "notes", "tags", "gone", "count"])
    }

    @Test(
        arguments: [
            "self CONTAINS 'cafe'", "self CONTAINS 'CAFÉ tea'", "self CONTAINS 'tea sunday'",
            "self CONTAINS 'zurich'", "self CONTAINS 'kuchen'", "self CONTAINS 'the sunday'",
            "self CONTAINS 'cafe' AND self CONTAINS 'sunday'", "self CONTAINS '18'",
            "allTokens TOKENMATCHES[cdl] 'sunday cafe'", "allTokens TOKENMATCHES 'the cafe'",
            "title TOKENMATCHES 'cafe zurich'", "ANY title TOKENMATCHES 'cafe tea'",
            "hidden TOKENMATCHES 'secret'", "tags TOKENMATCHES 'kaffee mehr'",
            "NOT title TOKENMATCHES 'cafe tea'", "NOT bare TOKENMATCHES 'x'",
            "NOT self CONTAINS 'tea'", "self CONTAINS tokenize:using:('Sunday', 'cdl')",
        ])
    func `words are found whole, without case and diacritics`(text: String) throws {
        #expect(try finds(text))
    }

    @Test(
        arguments: [
            "self CONTAINS 'caf'", "self CONTAINS 'secret'", "self CONTAINS 'the'",
            "self CONTAINS 'the of'", "self CONTAINS ''", "self CONTAINS '...'",
            "self CONTAINS 'cafe' AND self CONTAINS 'tea'", "self CONTAINS '7'",
            "allTokens TOKENMATCHES 'sunday tea'", "allTokens TOKENMATCHES 'the'",
            "title TOKENMATCHES 'cafe sunday'", "ANY title TOKENMATCHES 'tea sunday'",
            "gone TOKENMATCHES 'x'", "NOT gone TOKENMATCHES 'x'", "bare TOKENMATCHES 'x'",
        ])
    func `other words, parts of words and ignored words are not found`(text: String) throws {
        #expect(try !finds(text))
    }

    @Test func `a search without any word but ignored ones finds nothing`() throws {
        #expect(try !finds("self CONTAINS 'the' AND self CONTAINS 'cafe'"))
    }

    @Test func `every ideograph is a word`() throws {
        #expect(try holds("f TOKENMATCHES '京都'", ["f": .string("東京都")]))
        #expect(try holds("ANY f TOKENMATCHES '大阪'", ["f": .string("東京都")]) == false)
    }
}
