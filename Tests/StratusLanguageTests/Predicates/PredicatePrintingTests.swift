import StratusLanguage
import Support
import Testing

@Suite struct PredicatePrintingTests {
    @Test(
        arguments: [
            "a = 1", "NOT a = 1", "NOT NOT a = 1", "a = 1 AND b = 2 OR c = 3",
            "(a = 1 OR b = 2) AND c = 3", "NOT (a = 1 OR b = 2)", "NOT a = 1 AND b = 2",
            "a =[cdl] 'it\\'s'", "a BETWEEN {1, 2.5}", "a IN {'x', 'y'}", "a IN {}", "a = NULL",
            "ANY a BEGINSWITH[n] 'x'", "ALL a != 1", "SELF CONTAINS 'x'", "#in LIKE '*'",
            "allTokens TOKENMATCHES[cdl] 'x'", "ANY a TOKENMATCHES[cdl] 'x'", "TRUEPREDICATE",
            "distanceToLocation:fromLocation:(a, CAST({1.0, -2.5}, 'CLLocation')) < 10.0",
            "___createTime > CAST(1.5, 'NSDate')", "a = CAST({'r', '', 'o'}, 'CKReference')",
            "a = CAST({'r'}, 'CKReference')", "a = CAST('00ff', 'NSData')", "a = '\\u0007\\n\\\\'",
            "a = CAST('-inf', 'double')", "a = CAST({}, 'CKAsset')", "a = 1e+300",
        ])
    func `a predicate is printed in one way`(text: String) throws {
        #expect(try parsed(text).description == text)
    }

    @Test func `what is printed parses to the same tree`() throws {
        var random = RandomPredicate(random: SeededGenerator(seed: 19))
        for number in 0..<20_000 {
            let tree = random.tree(depth: 1 + number % 7)
            let text = tree.description
            let again = try PredicateParser.parse(text)
            if again != tree || again.description != text {
                Issue.record("\(number): \(text) -> \(again)")
            }
        }
    }

    @Test func `the deepest tree that there may be is printed and parsed`() throws {
        var tree = RecordPredicate.isNil(field: "a")
        while tree.depth < RecordPredicate.depthLimit {
            let other = RecordPredicate.isNil(field: "b")
            switch tree.depth % 3 {
            case 0: tree = .and([tree, other])
            case 1: tree = .or([other, tree])
            default: tree = .not(tree)
            }
        }
        #expect(try parsed(tree.description) == tree)
    }

    @Test func `compounds are flattened, and those of fewer than two parts are replaced`() throws {
        let part = RecordPredicate.isNil(field: "a")
        #expect(RecordPredicate.and([]) == .constant(true))
        #expect(RecordPredicate.or([]) == .constant(false))
        #expect(RecordPredicate.and([part]) == part)
        #expect(RecordPredicate.or([part]) == part)
        let flat = RecordPredicate.and([part, part, part])
        #expect(RecordPredicate.and([part, .and([part, part])]) == flat)
        #expect(flat.depth == 2)
        #expect(RecordPredicate.and([part, .or([part, part])]).depth == 3)
    }
}
