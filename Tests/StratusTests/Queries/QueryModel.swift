import FoundationEssentials
import Stratus
import Support

/// A condition that says on its own what holds, without the predicates of the library.
indirect enum Condition {
    case compare(String, Comparison, RecordValue)
    case between(String, RecordValue, RecordValue)
    case isIn(String, [RecordValue])
    case hasPrefix(String, String)
    case listContains(String, RecordValue)
    case listContainsAny(String, [RecordValue])
    case near(String, Location, kilometres: Double)
    /// Of words one at least stands in a field of strings, or all do.
    case search([String], needsAll: Bool)
    case isMissing(String)
    case and(Condition, Condition)
    case or(Condition, Condition)
    case not(Condition)

    enum Comparison: String, CaseIterable {
        case equal = "="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
    }
}

extension Condition {
    /// The condition as predicate text with arguments.
    func text(_ arguments: inout [RecordValue?]) -> String {
        switch self {
        case .compare(let field, let comparison, let value):
            arguments.append(value)
            return "\(field) \(comparison.rawValue) %@"
        case .between(let field, let low, let high):
            arguments += [low, high]
            return "\(field) BETWEEN {%@, %@}"
        case .isIn(let field, let values):
            arguments.append(.list(values))
            return "\(field) IN %@"
        case .hasPrefix(let field, let text):
            arguments.append(.string(text))
            return "\(field) BEGINSWITH %@"
        case .listContains(let field, let value):
            arguments += [.string(field), value]
            return "%K CONTAINS %@"
        case .listContainsAny(let field, let values):
            arguments.append(.list(values))
            return "ANY \(field) IN %@"
        case .near(let field, let center, let kilometres):
            arguments += [.location(center), .double(kilometres)]
            return "distanceToLocation:fromLocation:(\(field), %@) < %@"
        case .search(let words, let needsAll):
            arguments.append(.string(words.joined(separator: " ")))
            return needsAll ? "allTokens TOKENMATCHES[cdl] %@" : "self CONTAINS %@"
        case .isMissing(let field): return "\(field) = NULL"
        case .and(let left, let right):
            return "(\(left.text(&arguments))) AND (\(right.text(&arguments)))"
        case .or(let left, let right):
            return "(\(left.text(&arguments))) OR (\(right.text(&arguments)))"
        case .not(let part): return "NOT (\(part.text(&arguments)))"
        }
    }

    /// The condition through typed fields.
    var typed: Query.Predicate {
        switch self {
        case .compare(let field, let comparison, let value):
            let key = FieldKey<RecordValue>(field)
            return switch comparison {
            case .equal: key == value
            case .notEqual: key != value
            case .less: key < value
            case .lessOrEqual: key <= value
            case .greater: key > value
            case .greaterOrEqual: key >= value
            }
        case .between(let field, let low, let high):
            return FieldKey<RecordValue>(field).isBetween(low, high)
        case .isIn(let field, let values): return FieldKey<RecordValue>(field).isIn(values)
        case .hasPrefix(let field, let text): return FieldKey<String>(field).hasPrefix(text)
        case .listContains(let field, let value):
            return FieldKey<[RecordValue]>(field).contains(value)
        case .listContainsAny(let field, let values):
            return FieldKey<[RecordValue]>(field).containsAny(of: values)
        case .near(let field, let center, let kilometres):
            return FieldKey<Location>(field).isWithin(kilometres: kilometres, of: center)
        case .search(let words, let needsAll):
            let text = words.joined(separator: ", ")
            return Query.Predicate { $0.search(text, needsAll: needsAll) }
        case .isMissing(let field): return FieldKey<RecordValue>(field).isMissing
        case .and(let left, let right): return left.typed && right.typed
        case .or(let left, let right): return left.typed || right.typed
        case .not(let part): return !part.typed
        }
    }

    /// Whether the condition holds of a record; nil where that cannot be said.
    ///
    /// - Parameter binary: the fields in which the case of strings counts.
    func holds(_ record: Record, binary: Set<String> = []) -> Bool? {
        func order(_ field: String, _ left: RecordValue, _ right: RecordValue) -> Int? {
            left.order(to: right, isBinary: binary.contains(field))
        }
        switch self {
        case .compare(let field, let comparison, let value):
            guard let found = record[field], let order = order(field, found, value) else {
                return nil
            }
            return switch comparison {
            case .equal: order == 0
            case .notEqual: order != 0
            case .less: order < 0
            case .lessOrEqual: order <= 0
            case .greater: order > 0
            case .greaterOrEqual: order >= 0
            }
        case .between(let field, let low, let high):
            return Self.and(
                Condition.compare(field, .greaterOrEqual, low).holds(record, binary: binary),
                Condition.compare(field, .lessOrEqual, high).holds(record, binary: binary))
        case .isIn(let field, let values):
            guard let found = record[field] else { return nil }
            return values.contains { order(field, found, $0) == 0 }
        case .hasPrefix(let field, let text):
            return record[field]?.stringValue.map { $0.utf8.starts(with: text.utf8) }
        case .listContains(let field, let value):
            return record[field]?.listValue.map { $0.contains { order(field, $0, value) == 0 } }
        case .listContainsAny(let field, let values):
            return record[field]?.listValue.map { list in
                list.contains { element in values.contains { order(field, element, $0) == 0 } }
            }
        case .near(let field, let center, let kilometres):
            return record[field]?.locationValue.map { $0.kilometres(to: center) < kilometres }
        case .search(let words, let needsAll):
            let texts = [record["text"]?.stringValue].compactMap(\.self)
            let tags = record["tags"]?.listValue?.compactMap(\.stringValue) ?? []
            let there = Set((texts + tags).compactMap { QueryGenerator.words[$0] })
            let wanted = Set(words.compactMap { QueryGenerator.words[$0] })
            return needsAll
                ? !wanted.isEmpty && wanted.isSubset(of: there) : !wanted.isDisjoint(with: there)
        case .isMissing(let field): return record[field] == nil
        case .and(let left, let right):
            return Self.and(left.holds(record, binary: binary), right.holds(record, binary: binary))
        case .or(let left, let right):
            let (left, right) = (
                left.holds(record, binary: binary), right.holds(record, binary: binary)
            )
            if left == true || right == true { return true }
            return left == nil || right == nil ? nil : false
        case .not(let part): return part.holds(record, binary: binary).map { !$0 }
        }
    }

    private static func and(_ left: Bool?, _ right: Bool?) -> Bool? {
        if left == false || right == false { return false }
        return left == nil || right == nil ? nil : true
    }
}

extension RecordValue {
    /// Below 0: less; 0: equal; above 0: greater. Nil of kinds that are not compared here.
    func order(to other: RecordValue, isBinary: Bool = false) -> Int? {
        func order<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
            left < right ? -1 : left > right ? 1 : 0
        }
        switch (self, other) {
        case (.string(let left), .string(let right)):
            return isBinary
                ? order(ModelText(left), ModelText(right))
                : order(left.modelFolding, right.modelFolding)
        case (.int64(let left), .int64(let right)): return order(left, right)
        case (.date(let left), .date(let right)): return order(left, right)
        case (.reference(let left), .reference(let right)):
            return left.recordID == right.recordID ? 0 : 1
        default:
            guard let left = doubleValue, let right = other.doubleValue, !left.isNaN, !right.isNaN
            else { return nil }
            return order(left, right)
        }
    }
}

extension String {
    /// The folding of the few letters that the tests use.
    fileprivate var modelFolding: ModelText {
        ModelText(
            scalars: unicodeScalars.flatMap { scalar in
                scalar == "ß"
                    ? Array("ss".unicodeScalars)
                    : Array(scalar.properties.lowercaseMapping.unicodeScalars)
            })
    }
}

/// Scalars, compared one by one.
private struct ModelText: Comparable {
    var scalars: [Unicode.Scalar]

    init(scalars: [Unicode.Scalar]) { self.scalars = scalars }

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    static func < (left: ModelText, right: ModelText) -> Bool {
        left.scalars.lexicographicallyPrecedes(right.scalars)
    }
}

extension Location {
    /// By the haversine formula, on a sphere.
    func kilometres(to other: Location) -> Double {
        func half(_ degrees: Double) -> Double { degrees * .pi / 360 }
        func square(_ number: Double) -> Double { number * number }
        let latitude = square(Self.sine(half(other.latitude - latitude)))
        let longitude = square(Self.sine(half(other.longitude - longitude)))
        let angle =
            latitude + Self.sine(.pi / 2 - half(2 * self.latitude))
            * Self.sine(.pi / 2 - half(2 * other.latitude)) * longitude
        return 2 * 6371.0088 * Self.arcSine(angle.squareRoot())
    }

    /// By its series.
    private static func sine(_ angle: Double) -> Double {
        var (sum, term) = (angle, angle)
        for step in 1..<30 {
            term *= -angle * angle / Double(2 * step * (2 * step + 1))
            sum += term
        }
        return sum
    }

    /// By bisection.
    private static func arcSine(_ sine: Double) -> Double {
        var (low, high) = (0.0, Double.pi / 2)
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if self.sine(middle) < sine { low = middle } else { high = middle }
        }
        return low
    }
}

/// Makes records, conditions and orders at random.
struct QueryGenerator {
    var random: SeededGenerator

    static let texts = [
        "", "a", "A", "ab", "Ab", "AB", "abc", "b", "Straße", "STRASSE", "strasse", "Étage",
        "étage", "z\u{0}", "z", "\u{1F600}",
    ]
    /// The word that a text is to a search; the others are stop words, or none.
    static let words = [
        "ab": "ab", "Ab": "ab", "AB": "ab", "abc": "abc", "b": "b", "Straße": "strasse",
        "STRASSE": "strasse", "strasse": "strasse", "Étage": "etage", "étage": "etage",
        "z\u{0}": "z", "z": "z", "\u{1F600}": "\u{1F600}",
    ]
    static let fields = ["text", "count", "size", "day", "place", "tags", "friend"]
    /// Those that can be columns of an index.
    static let columns = ["text", "count", "size", "day", "friend"]

    mutating func text() -> String { Self.texts[random.below(Self.texts.count)] }

    mutating func location() -> Location {
        // Many lie near the poles and the meridian at 180 degrees.
        let latitudes: [Double] = [0, 45, 89.9, -89.9, 90, -90]
        let longitudes: [Double] = [0, 10, 179.95, -179.95, 180, -180]
        return Location(
            latitude: latitudes[random.below(6)] * Double(random.below(3)) / 2,
            longitude: longitudes[random.below(6)] * Double(random.below(3)) / 2)
    }

    mutating func value(of field: String, in zone: RecordZone.ID) -> RecordValue {
        switch field {
        case "text": .string(text())
        case "count": .int64([.min, -2, -1, 0, 1, 2, .max][random.below(7)])
        case "size": .double([-.infinity, -1.5, -0.0, 0, 0.25, 1, 2, .infinity][random.below(8)])
        case "day": .date(Date(timeIntervalSinceReferenceDate: Double(random.below(5)) - 2))
        case "place": .location(location())
        case "tags": .list((0...random.below(3)).map { _ in .string(text()) })
        default:
            .reference(
                Reference(
                    recordID: Record.ID(recordName: "r\(random.below(4))", zoneID: zone)))
        }
    }

    mutating func fill(_ record: inout Record) {
        for field in Self.fields {
            switch random.below(4) {
            case 0: record[field] = nil
            default: record[field] = value(of: field, in: record.recordID.zoneID)
            }
        }
    }

    mutating func condition(depth: Int, in zone: RecordZone.ID) -> Condition {
        if depth > 0, random.oneIn(2) {
            let left = condition(depth: depth - 1, in: zone)
            switch random.below(3) {
            case 0: return .and(left, condition(depth: depth - 1, in: zone))
            case 1: return .or(left, condition(depth: depth - 1, in: zone))
            default: return .not(left)
            }
        }
        if random.oneIn(8) { return .isMissing(Self.fields[random.below(Self.fields.count)]) }
        if random.oneIn(8) { return .hasPrefix("text", text()) }
        if random.oneIn(8) { return .listContains("tags", .string(text())) }
        if random.oneIn(8) {
            return .listContainsAny("tags", (0..<3).map { _ in .string(text()) })
        }
        if random.oneIn(6) {
            return .search(
                (0...random.below(3)).map { _ in text() }, needsAll: random.oneIn(2))
        }
        if random.oneIn(6) {
            return .near(
                "place", location(), kilometres: [0.001, 20, 500, 30_000][random.below(4)])
        }
        let field = ["text", "count", "size", "day"][random.below(4)]
        switch random.below(5) {
        case 0: return .between(field, value(of: field, in: zone), value(of: field, in: zone))
        case 1: return .isIn(field, (0..<3).map { _ in value(of: field, in: zone) })
        case 2:
            let comparison: Condition.Comparison = random.oneIn(2) ? .equal : .notEqual
            return .compare("friend", comparison, value(of: "friend", in: zone))
        default:
            let all = Condition.Comparison.allCases
            return .compare(field, all[random.below(all.count)], value(of: field, in: zone))
        }
    }

    /// One or two fields are equal to something, and something else holds.
    mutating func columnCondition(in zone: RecordZone.ID) -> Condition {
        var found = condition(depth: 0, in: zone)
        for _ in 0...random.below(2) {
            let field = Self.columns[random.below(Self.columns.count)]
            let equal: Condition
            switch random.below(4) {
            case 0: equal = .isMissing(field)
            case 1 where field != "friend":
                equal = .isIn(field, (0..<2).map { _ in value(of: field, in: zone) })
            default: equal = .compare(field, .equal, value(of: field, in: zone))
            }
            found = random.oneIn(2) ? .and(found, equal) : .and(equal, found)
        }
        return found
    }

    /// No order in half of all cases.
    mutating func sortDescriptors() -> [Query.SortDescriptor] {
        if random.oneIn(2) { return [] }
        return (0...random.below(2)).map { _ in
            if random.oneIn(5) {
                return Query.SortDescriptor(key: "place", relativeLocation: location())
            }
            let field = ["text", "count", "size", "day", "creationDate"][random.below(5)]
            return Query.SortDescriptor(key: field, ascending: random.oneIn(2))
        }
    }
}

extension [Query.SortDescriptor] {
    /// Below 0: the first record comes before the second; 0: what they are sorted by is equal.
    func order(_ left: Record, _ right: Record, binary: Set<String> = []) -> Int {
        for descriptor in self {
            func value(_ record: Record) -> RecordValue? {
                if descriptor.key == "creationDate" { return record.creationDate.map { .date($0) } }
                guard let center = descriptor.relativeLocation else {
                    return record[descriptor.key]
                }
                return record[descriptor.key]?.locationValue.map {
                    .double($0.kilometres(to: center))
                }
            }
            let order =
                switch (value(left), value(right)) {
                case (nil, nil): 0
                case (nil, _): -1
                case (_, nil): 1
                case (let left?, let right?):
                    left.order(to: right, isBinary: binary.contains(descriptor.key)) ?? 0
                }
            // Two ways to compute a distance differ a little, and which is less is left open.
            if descriptor.relativeLocation != nil, left[descriptor.key] != right[descriptor.key],
                let left = value(left)?.doubleValue, let right = value(right)?.doubleValue,
                abs(left - right) < 1e-3
            {
                return 0
            }
            if order != 0 { return descriptor.ascending ? order : -order }
        }
        return 0
    }
}
