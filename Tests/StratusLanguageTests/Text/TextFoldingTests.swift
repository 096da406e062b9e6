import StratusLanguage
import Testing

@Suite struct TextFoldingTests {
    @Test(
        arguments: [
            ("Straße", "strasse"), ("ΌΣΟΣ", "όσοσ"), ("όσος", "όσοσ"), ("ﬁn", "fin"),
            ("ÀÉ", "àé"), ("ДА", "да"), ("Ꭰ", "Ꭰ"), ("ꭰ", "Ꭰ"), ("𐐀", "𐐨"), ("東京", "東京"),
            ("MIXED 123", "mixed 123"),
        ])
    func `case folding is full and the same in every language`(text: String, folded: String) {
        #expect(Array(text.folded(.case).unicodeScalars) == Array(folded.unicodeScalars))
    }

    @Test func `of the Turkish letters dotted capital I is i with a dot, dotless i stays`() {
        #expect(Array("İ".folded(.case).unicodeScalars) == ["i", "\u{307}"])
        #expect("İ".folded([.case, .diacritics]) == "i")
        #expect("I".folded([.case, .diacritics]) == "i")
        #expect("ı".folded([.case, .diacritics]) == "ı")
    }

    @Test(
        arguments: [
            ("Ångström", "Angstrom"), ("e\u{301}", "e"), ("ệ", "e"), ("Йод", "Иод"),
            ("שָׁלוֹם", "שלום"), ("كِتَاب", "كتاب"), ("ά", "α"), ("ø", "ø"), ("\u{301}", ""),
        ])
    func `diacritics are taken off, in one scalar or several`(text: String, bare: String) {
        #expect(Array(text.folded(.diacritics).unicodeScalars) == Array(bare.unicodeScalars))
    }

    @Test(arguments: ["か\u{3099}", "が", "कि", "क्ष", "ไม่", "한글", "👍🏽"])
    func `marks that make another letter stay`(text: String) {
        #expect(Array(text.folded(.diacritics).unicodeScalars) == Array(text.unicodeScalars))
    }

    @Test func `without normalisation a letter with its mark is not the same in two scalars`() {
        #expect("é".folded(.case).utf8.count == 2)
        #expect("e\u{301}".folded(.case).utf8.count == 3)
    }

    @Test func `folding twice is folding once, for every scalar`() {
        var all = String.UnicodeScalarView()
        all.append(contentsOf: (UInt32(0)..<0x11_0000).lazy.compactMap(Unicode.Scalar.init))
        for folding in [.case, .diacritics, [.case, .diacritics]] as [TextFolding] {
            let once = String(String.UnicodeScalarView(FoldedScalars(String(all), folding)))
            let twice = FoldedScalars(once, folding)
            #expect(once.unicodeScalars.elementsEqual(twice))
            #expect(!once.unicodeScalars.elementsEqual(all))
        }
        #expect(TextFolding.unicodeVersion == "15.0.0")
    }

    /// An independent source: the standard library has the mappings to lower case.
    @Test func `letters with a simple lower case fold as the standard library says`() {
        var compared = 0
        for value in UInt32(0x41)..<0x590 {
            guard let scalar = Unicode.Scalar(value), scalar.properties.isUppercase else {
                continue
            }
            compared += 1
            let lower = scalar.properties.lowercaseMapping
            #expect(String(scalar).folded(.case).utf8.elementsEqual(lower.utf8), "\(scalar)")
        }
        #expect(compared > 400)
    }
}
