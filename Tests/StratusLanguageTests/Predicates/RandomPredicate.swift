import StratusLanguage
import Support

/// Random predicates and values. Small domains, so that many comparisons hold.
struct RandomPredicate {
    var random: SeededGenerator

    private static let fields = [
        "a", "b", "c", "in", "allTokens", "___recordID", "___createTime", "x_9", "self",
    ]
    private static let letters: [Unicode.Scalar] = [
        "a", "A", "b", "B", "é", "É", " ", "*", "?", "\\", "'", "\"", "\n", "\u{7}", "👍", "%",
    ]
    private static let numbers: [Double] = [
        0, -0.0, 0.5, 1, 2, -1.5, 9_007_199_254_740_992, 1e300, -1e300, .leastNonzeroMagnitude,
        .infinity,
    ]
    private static let integers: [Int64] = [
        0, 1, 2, -1, -2, 9_007_199_254_740_993, .max, .min,
    ]

    mutating func pick<Value>(_ values: [Value]) -> Value { values[random.below(values.count)] }

    mutating func field() -> String { pick(Self.fields) }

    mutating func text() -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<random.below(5) { text.append(pick(Self.letters)) }
        return String(text)
    }

    /// On two meridians that are one circle, where distances need no trigonometry.
    mutating func point() -> GeographicPoint {
        GeographicPoint(
            latitude: pick([-90, -45, 0, 0.5, 30, 90]), longitude: pick([0, 180, -180]))
    }

    mutating func single() -> PredicateValue {
        switch random.below(9) {
        case 0, 1: .string(text())
        case 2, 3: .int64(pick(Self.integers))
        case 4: .double(pick(Self.numbers))
        case 5: .date(pick(Self.numbers))
        case 6: .bytes(random.bytes(random.below(3)))
        case 7: .location(point())
        default:
            .reference(
                ReferenceTarget(
                    recordName: pick(["r", "s"]), zone: pick([nil, "z", "y"]),
                    owner: pick([nil, nil, "o"])))
        }
    }

    /// Elements of one kind mostly.
    mutating func list() -> [PredicateValue] {
        let first = single()
        return (0..<random.below(4)).map { _ in
            for _ in 0..<20 {
                let value = single()
                if value.type == first.type { return value }
            }
            return first
        }
    }

    mutating func value() -> PredicateValue {
        switch random.below(8) {
        case 0, 1: .list(list())
        case 2: .asset
        default: single()
        }
    }

    mutating func options() -> TextOptions { TextOptions(rawValue: UInt8(random.below(16))) }

    private mutating func test() -> FieldComparison.Test {
        switch random.below(6) {
        case 0, 1: .relation(pick(Relation.allCases), value())
        case 2: .between(single(), single())
        case 3: .isIn(list())
        case 4: .text(pick(TextRelation.allCases), text())
        default: .contains(single())
        }
    }

    private mutating func leaf() -> RecordPredicate {
        switch random.below(10) {
        case 0: .constant(random.oneIn(2))
        case 1: .isNil(field: field())
        case 2:
            .search(
                TokenSearch(
                    text(), needsAll: random.oneIn(2), field: random.oneIn(2) ? field() : nil))
        case 3:
            .distance(
                DistanceComparison(
                    field: field(), from: point(), pick(Relation.allCases),
                    kilometres: pick([0.001, 100, 5_000.5, 10_001, 20_100])))
        default:
            .comparison(
                FieldComparison(
                    field: field(), test(), options: options(),
                    quantifier: pick([nil, nil, .any, .all]))
            )
        }
    }

    mutating func tree(depth: Int) -> RecordPredicate {
        if depth <= 1 || random.oneIn(4) { return leaf() }
        switch random.below(3) {
        case 0: return .not(tree(depth: depth - 1))
        case 1: return .and((0..<random.below(4)).map { _ in tree(depth: depth - 1) })
        default: return .or((0..<random.below(4)).map { _ in tree(depth: depth - 1) })
        }
    }

    mutating func record() -> TestRecord {
        var record = TestRecord(fields: [:], searchableFields: ["a", "b", "c"])
        for field in Self.fields where !random.oneIn(4) { record.fields[field] = value() }
        return record
    }
}
