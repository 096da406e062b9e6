import StratusLanguage
import Testing

/// The pieces of `text`, those that are words in brackets.
private func divided(_ text: String) -> [String] {
    let bytes = Array(text.utf8)
    return WordSegments(text).map { segment in
        let piece = String(decoding: bytes[segment.range], as: UTF8.self)
        return segment.isWord ? "[\(piece)]" : piece
    }
}

@Suite struct WordSegmentTests {
    @Test func `texts of Unicode's own test are divided as it says`() throws {
        let cases = wordBreakSamples.split(separator: ";")
        #expect(cases.count > 1_400)
        for sample in cases {
            let pieces = try sample.split(separator: "|").map { piece in
                try piece.split(separator: " ").map { digits in
                    try #require(UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init))
                }
            }
            let texts = pieces.map { String(String.UnicodeScalarView($0)) }
            // Joined by their bytes, since pieces may begin with a mark.
            let text = texts.map { Array($0.utf8) }.joined()
            let found = WordSegments(String(decoding: Array(text), as: UTF8.self))
            #expect(found.map(\.range.count) == texts.map(\.utf8.count), "\(sample)")
        }
    }

    @Test(
        arguments: [
            ("", []),
            ("Hello, world!", ["[Hello]", ",", " ", "[world]", "!"]),
            ("can't 3.14 a.b 1,000", ["[can't]", " ", "[3.14]", " ", "[a.b]", " ", "[1,000]"]),
            ("foo_bar-baz", ["[foo_bar]", "-", "[baz]"]),
            ("one\r\ntwo", ["[one]", "\r\n", "[two]"]),
        ])
    func `words are divided from spaces and punctuation`(text: String, pieces: [String]) {
        #expect(divided(text) == pieces)
    }

    @Test(
        arguments: [
            ("東京に行く", ["[東]", "[京]", "[に]", "[行]", "[く]"]),
            ("カタカナ語", ["[カタカナ]", "[語]"]),
            ("서울 사람", ["[서울]", " ", "[사람]"]),
        ])
    func `an ideograph is a word, katakana and hangul run together`(text: String, pieces: [String])
    {
        #expect(divided(text) == pieces)
    }

    @Test func `a combining mark belongs to the letter before it`() {
        #expect(divided("e\u{301}te\u{301} x") == ["[e\u{301}te\u{301}]", " ", "[x]"])
        // A mark with nothing before it is no word.
        #expect(divided("\u{301}") == ["\u{301}"])
    }

    @Test func `an emoji is one word, whatever it is joined of`() {
        let family = "👨\u{200d}👩\u{200d}👧"
        let thumb = "👍🏽"
        #expect(divided("\(family)\(thumb)") == ["[\(family)]", "[\(thumb)]"])
        #expect(divided("🇩🇪🇫🇷🇮") == ["[🇩🇪]", "[🇫🇷]", "[🇮]"])
    }

    @Test func `the pieces cover every text, also one of a quote with a million marks`() {
        let text = "a'" + String(repeating: "\u{301}", count: 1_000_000) + " b"
        #expect(WordSegments(text).map(\.range.count) == [1, 2_000_001, 1, 1])
    }
}
