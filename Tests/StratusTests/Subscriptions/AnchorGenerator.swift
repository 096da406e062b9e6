import FoundationEssentials
import Stratus
import Support

/// Makes predicate texts of every form, and records that some of them match.
struct AnchorGenerator {
    var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// The fields of records: one of each kind.
    static let fields = [
        "text", "count", "size", "day", "place", "tags", "numbers", "friend", "raw",
    ]

    private static let texts = [
        "", "a", "A", "ab", "Ab", "AB", "abc", "b", "Straße", "STRASSE", "strasse", "Étage",
        "étage", "e\u{301}tage", "z\u{0}", "z", "\u{1F600}", "\u{1F600}\u{1F600}",
        "İstanbul", "i\u{307}stanbul", "sixteen bytes ab", "Sixteen bytes abc and more",
        "ééééééééé", "éééééééé\u{1F600}", "the red boat", "a red, red boat", "Boats", "of the",
    ]
    private static let searches = ["red", "RED boat", "boat étage", "the", "", "ab z", "İstanbul"]
    private static let integers: [Int64] = [
        .min, -2, -1, 0, 1, 2, 3, 7, 8, 1 << 53, (1 << 53) + 1, .max - 1, .max,
    ]
    private static let reals: [Double] = [
        -.infinity, -0x1p63, -1.5, -0.0, 0, .leastNonzeroMagnitude, 0.25, 1, 2, 7.5, 0x1p53,
        0x1p63, .infinity, .nan,
    ]
    private static let degrees: [Double] = [0, 0.001, 10, 45, 89.9, 90, 179.95, 180]
    private static let kilometres: [Double] = [-1, 0, 0.001, 15, 500, 6_000, 30_000, .infinity]

    mutating func one<Element>(of values: [Element]) -> Element {
        values[random.below(values.count)]
    }

    private mutating func text() -> String { one(of: Self.texts) }
    private mutating func date() -> Date {
        Date(timeIntervalSinceReferenceDate: Double(random.below(9)) / 2 - 2)
    }
    private mutating func location() -> Location {
        let latitude = one(of: Self.degrees) / 2
        let isPole = random.oneIn(3)
        return Location(
            latitude: (isPole ? 90 - latitude / 100 : latitude) * (random.oneIn(2) ? 1 : -1),
            longitude: one(of: Self.degrees) * (random.oneIn(2) ? 1 : -1))
    }
    private mutating func reference(in zone: RecordZone.ID) -> RecordValue {
        .reference(
            Reference(
                recordID: Record.ID(recordName: "r\(random.below(4))", zoneID: zone)))
    }
    private mutating func bytes() -> RecordValue {
        .bytes(Data((0..<random.below(3)).map { UInt8($0 * 100) }))
    }
    private mutating func number() -> RecordValue {
        random.oneIn(2) ? .int64(one(of: Self.integers)) : .double(one(of: Self.reals))
    }

    /// A value that a field can have.
    private mutating func value(of field: String, in zone: RecordZone.ID) -> RecordValue {
        switch field {
        case "text": .string(text())
        case "count": .int64(one(of: Self.integers))
        case "size": .double(one(of: Self.reals))
        case "day": .date(date())
        case "place": .location(location())
        case "tags": .list((0...random.below(3)).map { _ in .string(text()) })
        case "numbers": .list((0...random.below(3)).map { _ in .int64(one(of: Self.integers)) })
        case "friend": reference(in: zone)
        default: bytes()
        }
    }

    /// A value that a field is compared with.
    private mutating func constant(of field: String, in zone: RecordZone.ID) -> RecordValue {
        switch field {
        case "count", "size", "numbers": number()
        case "tags": .string(text())
        default: value(of: field, in: zone)
        }
    }

    /// Gives a record all fields, so that their kinds are known.
    mutating func fillAll(_ record: inout Record) {
        for field in Self.fields { record[field] = value(of: field, in: record.recordID.zoneID) }
        record["tags"] = ["tag"]
        record["numbers"] = [1]
        record["size"] = 1.5
    }

    mutating func fill(_ record: inout Record) {
        for field in Self.fields {
            switch random.below(5) {
            case 0: record[field] = nil
            case 1: break
            default: record[field] = value(of: field, in: record.recordID.zoneID)
            }
        }
    }
}

/// The text of a predicate, with its arguments.
struct AnchorPredicate: CustomStringConvertible {
    var text: String
    var arguments: [RecordValue?] = []

    var predicate: Query.Predicate {
        get throws { try Query.Predicate(text, arguments: arguments) }
    }

    var description: String { "\(text) with \(arguments)" }

    fileprivate static func joined(_ parts: [AnchorPredicate], by word: String) -> AnchorPredicate {
        AnchorPredicate(
            text: parts.map { "(\($0.text))" }.joined(separator: " \(word) "),
            arguments: parts.flatMap { $0.arguments })
    }
}

// Predicates.
extension AnchorGenerator {
    private static let relations = ["=", "!=", "<", "<=", ">", ">="]

    /// A predicate on records, whose references point into a zone.
    mutating func predicate(depth: Int, in zone: RecordZone.ID) -> AnchorPredicate {
        guard depth > 0, !random.oneIn(3) else { return leaf(in: zone) }
        let count = 2 + random.below(3)
        switch random.below(6) {
        case 0...2:
            let parts = (0..<count).map { _ in predicate(depth: depth - 1, in: zone) }
            return .joined(parts, by: "AND")
        case 3, 4:
            let parts = (0..<count).map { _ in predicate(depth: depth - 1, in: zone) }
            return .joined(parts, by: "OR")
        default:
            let part = predicate(depth: depth - 1, in: zone)
            return AnchorPredicate(text: "NOT (\(part.text))", arguments: part.arguments)
        }
    }

    private mutating func leaf(in zone: RecordZone.ID) -> AnchorPredicate {
        switch random.below(16) {
        case 0...2: return relation(in: zone)
        case 3: return bounds(in: zone)
        case 4, 5: return membership(in: zone)
        case 6, 7: return textTest()
        case 8, 9: return listTest(in: zone)
        case 10, 11: return distance()
        case 12, 13: return search()
        case 14: return systemField(in: zone)
        default:
            let field = one(of: Self.fields)
            return AnchorPredicate(
                text: one(of: [
                    "\(field) = NULL", "\(field) != NULL", "TRUEPREDICATE", "FALSEPREDICATE",
                ]))
        }
    }

    private mutating func options() -> String {
        one(of: ["", "", "[c]", "[d]", "[cd]", "[n]"])
    }

    private mutating func relation(in zone: RecordZone.ID) -> AnchorPredicate {
        let field = one(of: ["text", "text", "count", "count", "size", "day", "friend", "raw"])
        let relation = field == "friend" ? one(of: ["=", "!="]) : one(of: Self.relations)
        let options = field == "text" ? options() : ""
        return AnchorPredicate(
            text: "\(field) \(relation)\(options) %@",
            arguments: [constant(of: field, in: zone)])
    }

    /// An interval in one of its spellings.
    private mutating func bounds(in zone: RecordZone.ID) -> AnchorPredicate {
        let field = one(of: ["text", "count", "count", "size", "day"])
        let values = [constant(of: field, in: zone), constant(of: field, in: zone)]
        let form = one(of: [
            "\(field) BETWEEN {%@, %@}", "\(field) >= %@ AND \(field) <= %@",
            "\(field) > %@ AND \(field) < %@", "\(field) < %@ OR \(field) > %@",
        ])
        return AnchorPredicate(text: form, arguments: values.map { $0 })
    }

    private mutating func membership(in zone: RecordZone.ID) -> AnchorPredicate {
        let field = one(of: ["text", "count", "size", "day", "friend", "raw"])
        let values = (0...random.below(4)).map { _ in constant(of: field, in: zone) }
        let negation = random.oneIn(6) ? "NOT " : ""
        let options = field == "text" ? options() : ""
        let marks = values.map { _ in "%@" }.joined(separator: ", ")
        return AnchorPredicate(
            text: "\(field) \(negation)IN\(options) {\(marks)}", arguments: values.map { $0 })
    }

    private mutating func textTest() -> AnchorPredicate {
        let verb = one(of: [
            "BEGINSWITH", "BEGINSWITH", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE",
        ])
        var text = text()
        if verb == "LIKE" {
            text = one(of: ["*", "?", "a*", "*b", "a?c", "*red*", text])
        } else if random.oneIn(2) {
            text = String(String.UnicodeScalarView(text.unicodeScalars.prefix(1 + random.below(9))))
        }
        return AnchorPredicate(
            text: "text \(verb)\(options()) %@", arguments: [.string(text)])
    }

    private mutating func listTest(in zone: RecordZone.ID) -> AnchorPredicate {
        let field = one(of: ["tags", "numbers"])
        let constant = constant(of: field, in: zone)
        let options = field == "tags" ? options() : ""
        let quantifier = one(of: ["ANY", "ANY", "ALL", "NONE"])
        switch random.below(field == "tags" ? 6 : 5) {
        case 0: return AnchorPredicate(text: "\(field) CONTAINS %@", arguments: [constant])
        case 1:
            return AnchorPredicate(
                text: "\(quantifier) \(field) \(one(of: Self.relations))\(options) %@",
                arguments: [constant])
        case 2:
            return AnchorPredicate(
                text: "\(quantifier) \(field) IN\(options) {%@, %@}",
                arguments: [constant, self.constant(of: field, in: zone)])
        case 3:
            return AnchorPredicate(
                text: "\(quantifier) \(field) BETWEEN {%@, %@}",
                arguments: [constant, self.constant(of: field, in: zone)])
        case 4:
            return AnchorPredicate(
                text: "\(field) \(one(of: ["=", "!="])) %@",
                arguments: [value(of: field, in: zone)])
        default:
            return AnchorPredicate(
                text: "\(quantifier) tags BEGINSWITH\(options) %@", arguments: [constant])
        }
    }

    private mutating func distance() -> AnchorPredicate {
        let relation = one(of: ["<", "<", "<", "<=", ">"])
        return AnchorPredicate(
            text: "distanceToLocation:fromLocation:(place, %@) \(relation) %@",
            arguments: [.location(location()), .double(one(of: Self.kilometres))])
    }

    private mutating func search() -> AnchorPredicate {
        AnchorPredicate(
            text: one(of: [
                "SELF CONTAINS %@", "SELF TOKENMATCHES %@", "ANY SELF TOKENMATCHES %@",
                "text TOKENMATCHES %@", "ANY tags TOKENMATCHES %@",
            ]),
            arguments: [.string(one(of: Self.searches))])
    }

    private mutating func systemField(in zone: RecordZone.ID) -> AnchorPredicate {
        switch random.below(4) {
        case 0:
            return AnchorPredicate(
                text: "recordID \(one(of: ["=", "!="])) %@", arguments: [reference(in: zone)])
        case 1:
            return AnchorPredicate(
                text: "recordID IN {%@, %@}",
                arguments: [reference(in: zone), reference(in: zone)])
        case 2:
            let date = Date(timeIntervalSinceReferenceDate: random.oneIn(2) ? 0 : 10_000_000_000)
            return AnchorPredicate(
                text: one(of: ["creationDate > %@", "modificationDate < %@"]),
                arguments: [.date(date)])
        default:
            return AnchorPredicate(
                text: one(of: ["creatorUserRecordID = %@", "lastModifiedUserRecordID != %@"]),
                arguments: [reference(in: .default)])
        }
    }
}
