import FoundationEssentials
import StratusLanguage
import Support
import Testing

/// Texts of all sorts: each is a schema or has an error in a place that it has.
/// STRATUS_SCHEMA_TEXTS says how many of each sort.
struct SchemaFuzzTests {
    private static let count =
        ProcessInfo.processInfo.environment["STRATUS_SCHEMA_TEXTS"].flatMap { Int($0) } ?? 25_000
    private static let seed =
        ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) } ?? 1

    private static let valid = [SchemaSamples.boats, SchemaSamples.export].map { Array($0.utf8) }
    private static let fragments =
        [
            "DEFINE", "SCHEMA", "CREATE", "ROLE", "RECORD", "TYPE", "GRANT", "READ", "TO", "(", ")",
            ",", ";", "<", ">", "LIST", "STRING", "ENCRYPTED", "NUMBER", "PREFERRED", "AS", "INT64",
            "ASSET", "QUERYABLE", "SORTABLE", "\"", "\"a\"", "\"_world\"", "a", "_b", "c.d", "//",
            "--", "/*", "*/", "\n", "\r", "\r\n", "// stratus:", "INDEX", "UNIQUE", "ON", "DESC",
            "COLLATION", "BINARY", "é", "\u{0}", "\u{FEFF}", "e\u{301}", "👩‍🚀",
        ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0x80], [0xED, 0xA0, 0x80], [0xF5]]

    /// The number of texts that are schemas.
    private func parse(_ text: (Int, inout SeededGenerator) -> [UInt8]) -> Int {
        var random = SeededGenerator(seed: Self.seed)
        var schemas = 0
        var longest = Duration.zero
        for number in 0..<Self.count {
            let text = text(number, &random)
            let start = ContinuousClock.now
            defer { longest = max(longest, start.duration(to: .now)) }
            do throws(SchemaSyntaxError) {
                let document = try Schema(parsing: text)
                schemas += 1
                if try Schema(parsing: document.text) != document { record(number, text) }
                _ = document.validate()
                _ = Schema.differences(from: document, to: document.sorted(), in: .development)
            } catch {
                let isKnown = error.message.hasPrefix("expected ")
                if !isKnown || !has(error.place, text) { record(number, text) }
            }
        }
        CampaignReport.add(
            "- \(Self.count) texts, \(schemas) of them schemas; the longest took \(longest)")
        return schemas
    }

    private func record(_ number: Int, _ text: [UInt8]) {
        let text = String(decoding: text, as: UTF8.self).debugDescription
        Issue.record("seed \(Self.seed), \(number): \(text)")
    }

    /// Whether a text has that place, or ends there. What is not UTF-8 has no columns to compare.
    private func has(_ place: SchemaPlace, _ text: [UInt8]) -> Bool {
        guard let text = String(validating: text, as: UTF8.self) else { return place.line > 0 }
        var lengths = [0]
        var last: Unicode.Scalar = " "
        for scalar in text.unicodeScalars {
            if scalar == "\r" || scalar == "\n" && last != "\r" {
                lengths.append(0)
            } else if scalar != "\n" {
                lengths[lengths.count - 1] += 1
            }
            last = scalar
        }
        return lengths.indices.contains(place.line - 1)
            && 1...lengths[place.line - 1] + 1 ~= place.column
    }

    @Test func `random bytes are no schema and do no harm`() {
        let schemas = parse { _, random in random.bytes(random.below(200)) }
        #expect(schemas == 0)
    }

    @Test func `random words are rarely a schema and do no harm`() {
        let start = Array("DEFINE SCHEMA ".utf8)
        let schemas = parse { number, random in
            let words = (0..<random.below(number % 50 + 1)).map { _ in
                Self.fragments[random.below(Self.fragments.count)]
            }
            return start + words.joined(separator: random.oneIn(2) ? [0x20] : [])
        }
        #expect((1...Self.count / 2).contains(schemas))
    }

    @Test func `a schema that is cut off anywhere does no harm`() {
        let schemas = parse { number, random in
            let text = Self.valid[number % Self.valid.count]
            return Array(text.prefix(number / Self.valid.count % (text.count + 1)))
        }
        #expect((1...Self.count / 2).contains(schemas))
    }

    @Test func `a schema that is damaged at random does no harm`() {
        let schemas = parse { number, random in
            var text = Self.valid[number % Self.valid.count]
            for _ in 0...random.below(3) where !text.isEmpty {
                let place = random.below(text.count)
                let end = min(text.count, place + 1 + random.below(12))
                let fragment = Self.fragments[random.below(Self.fragments.count)]
                switch random.below(5) {
                case 0: text[place] ^= 1 << UInt8(random.below(8))
                case 1: text.removeSubrange(place..<end)
                case 2: text.insert(contentsOf: text[place..<end], at: random.below(text.count))
                case 3: text.insert(contentsOf: fragment, at: place)
                default: text.replaceSubrange(place..<end, with: fragment)
                }
            }
            return text
        }
        #expect((Self.count / 100...Self.count / 2).contains(schemas))
    }
}
