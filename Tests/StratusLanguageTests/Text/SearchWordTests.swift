import StratusLanguage
import Testing

@Suite struct SearchWordTests {
    @Test(
        arguments: [
            ("The Quick BROWN fox", ["quick", "brown", "fox"]),
            ("Café CAFE\u{301}", ["cafe", "cafe"]),
            ("to be or not to be", []),
            ("--- ... !?", []),
            ("", []),
            ("Straße 3.14", ["strasse", "3.14"]),
            ("İstanbul ISPARTA ılık", ["istanbul", "isparta", "ılık"]),
            ("東京タワー", ["東", "京", "タワー"]),
            ("ok 👨‍👩‍👧!", ["ok", "👨‍👩‍👧"]),
        ])
    func `words are folded, in order, without stop words`(text: String, words: [String]) {
        #expect(SearchWords(text).map(\.text) == words)
    }

    @Test func `all stop words of CloudKit are left out, in any case`() {
        let words =
            "A an and are as at be but by for if in into is it no not of on or such that the their "
            + "then there these they this to was will WITH"
        #expect(SearchWords(words).map(\.text) == [])
        #expect(SearchWords("the then than").map(\.text) == ["than"])
    }

    @Test func `words are equal that have the same scalars`() throws {
        let one = try #require(SearchWords("が").first { _ in true })
        let two = try #require(SearchWords("か\u{3099}").first { _ in true })
        #expect(one != two, "the standard library holds the two texts for equal")
        #expect(Set(SearchWords("Fox fox FOX")).count == 1)
    }
}
