import StratusTool
import Testing

struct SuggestionTests {
    @Test(arguments: [
        ("", "", 0), ("", "abc", 3), ("abc", "abc", 0), ("abc", "ABC", 0), ("imprt", "import", 1),
        ("improt", "import", 1), ("zonse", "zones", 1), ("kitten", "sitting", 3), ("a", "b", 1),
    ])
    func `the distance counts edits`(left: String, right: String, distance: Int) {
        #expect(Suggestion.distance(from: left, to: right) == distance)
        #expect(Suggestion.distance(from: right, to: left) == distance)
    }

    @Test(arguments: [
        ("hsah", "hash"), ("recrods", "records"), ("lgo", "log"), ("remove", nil), ("l", nil),
        ("zo", "zones"),
        ("ve", nil), ("xy", nil),
        (String(repeating: "log", count: 1_000), nil),
    ])
    func `only a slip or a beginning is answered with a name`(word: String, name: String?) {
        let names = CommandTable.stratus.commands.map(\.name)
        #expect(Suggestion.nearest(to: word, among: names) == name)
    }
}
