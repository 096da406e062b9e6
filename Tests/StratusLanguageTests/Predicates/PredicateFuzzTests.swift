import FoundationEssentials
import StratusLanguage
import Support
import Testing

/// Text damaged at random is parsed or refused, in proportional work, and nothing else happens.
/// STRATUS_PREDICATE_MUTATIONS says how many, SEED which.
@Suite struct PredicateFuzzTests {
    private static let count = number("STRATUS_PREDICATE_MUTATIONS") ?? 100_000
    private static let seed = number("SEED") ?? 1

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    private static let fragments = [
        "(", ")", "{", "}", "'", "\"", "\\", "%@", "%K", "%d", "$x", "#", "[c]", "[", " AND ",
        " OR ",
        "NOT ", "!", "!=", "=", "<", "nil", "self", "ANY ", "ALL ", "NONE ", " IN ", "BETWEEN",
        "CAST(",
        "now()", "1e", "-", ".", "0x", "99999999999999999999", "\\u12", "é", "\u{0}",
        "TRUEPREDICATE",
        "distanceToLocation:fromLocation:(", "tokenize:using:(", "allTokens", "((((((((((",
        "!!!!!!!!",
    ].map { Array($0.utf8) }

    private func damaged(_ text: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var text = text
        for _ in 0..<random.below(3) where !text.isEmpty {
            let place = random.below(text.count)
            let end = min(text.count, place + 1 + random.below(10))
            switch random.below(6) {
            case 0: text[place] = UInt8(random.below(256))
            case 1: text[place] = text[random.below(text.count)]
            case 2: text.removeSubrange(place..<end)
            case 3: text.insert(contentsOf: text[place..<end], at: random.below(text.count))
            case 4: text.replaceSubrange(place..<end, with: fragment(&random))
            default: text.insert(contentsOf: fragment(&random), at: place)
            }
        }
        return text
    }

    private func fragment(_ random: inout SeededGenerator) -> [UInt8] {
        Self.fragments[random.below(Self.fragments.count)]
    }

    @Test func `text of random bytes and damaged predicates is parsed or refused`() throws {
        var predicates = RandomPredicate(random: SeededGenerator(seed: UInt64(Self.seed)))
        var random = SeededGenerator(seed: UInt64(Self.seed) + 1)
        let record = predicates.record()
        let arguments = PredicateArguments(
            [.string("a"), .int64(1)], variables: ["x": .list([.int64(1)])], now: 0)
        var parsed = 0
        var messages: [String: Int] = [:]
        var longest = Duration.zero
        for number in 0..<Self.count {
            let bytes =
                switch number % 4 {
                case 0: random.bytes(random.below(60))
                case 1: (0..<random.below(12)).flatMap { _ in fragment(&random) }
                default:
                    damaged(Array(predicates.tree(depth: 1 + number % 3).description.utf8), &random)
                }
            let text = String(decoding: bytes, as: UTF8.self)
            let length = text.utf8.count
            let uses = number % 4 == 1 ? arguments : PredicateArguments(now: 0)
            let start = ContinuousClock.now
            var parser = try PredicateParser(text, uses)
            do throws(PredicateTextError) {
                let tree = try parser.parse()
                parsed += 1
                let again = try PredicateParser.parse(tree.description)
                if again != tree || tree.depth > 64 {
                    Issue.record("seed \(Self.seed), \(number): \(text)")
                }
                _ = tree.firstUnsupportedByCloudKit()
                if let evaluator = try? PredicateEvaluator(tree) { _ = evaluator.matches(record) }
            } catch {
                messages[String(error.message.prefix(12)), default: 0] += 1
                if !(0...length).contains(error.place.offset) {
                    Issue.record("seed \(Self.seed), \(number): \(text) -> \(error)")
                }
            }
            longest = max(longest, start.duration(to: .now))
            if parser.work > 4 * length + 100 {
                Issue.record(
                    "seed \(Self.seed), \(number): work \(parser.work) for \(length) bytes: \(text)"
                )
            }
        }
        // Both happen often, and for many reasons.
        #expect(parsed > Self.count / 20)
        #expect(messages.count > 25, "\(messages)")
        CampaignReport.add(
            "- \(Self.count) texts of predicates, \(parsed) of them predicates; the longest took \(longest)"
        )
    }
}
