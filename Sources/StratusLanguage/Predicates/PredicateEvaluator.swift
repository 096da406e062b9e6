/// A record, as far as a predicate asks for it.
package protocol PredicateRecord {
    /// The value of a field, which may be a ``SystemField`` under its own name; nil where there is
    /// none.
    func value(ofField name: String) -> PredicateValue?

    /// The fields that a search of all fields looks into: those marked SEARCHABLE, strings or lists
    /// of them.
    var searchableFields: [String] { get }
}

/// Whether `=`, `<`, `IN`, `BETWEEN` and the membership of lists see the case of strings.
package enum TextEquality: Sendable {
    /// They do not, as CloudKit's documentation has it.
    case folded
    /// They do, scalar by scalar.
    case exact
}

/// Decides for many records whether they satisfy one predicate.
///
/// Of a missing field nothing holds, neither a test nor its negation; only the test for nil does. The
/// same goes for a value of another kind than the constant, and for NaN.
package struct PredicateEvaluator: Sendable {
    private let root: Node

    /// Fails for a predicate deeper than ``RecordPredicate/depthLimit`` and for a pattern of `LIKE`
    /// above 1,024 scalars.
    ///
    /// - Parameter equality: of the strings of a field, by its name.
    package init(
        _ predicate: RecordPredicate, equality: (String) -> TextEquality = { _ in .folded }
    ) throws(UnsupportedPredicate) {
        try predicate.checkDepth()
        root = try Node(predicate, equality)
    }

    package func matches(_ record: some PredicateRecord) -> Bool { root.truth(record) == .yes }
}

/// A predicate with its constants prepared. As deep as the predicate.
private indirect enum Node: Sendable {
    case constant(Truth)
    case and([Node])
    case or([Node])
    case not(Node)
    case isNil(String)
    case test(String, FieldComparison.Quantifier?, ValueTest)
    case distance(String, GreatCircle?, Relation, kilometres: Double)
    case search(field: String?, words: Set<SearchWord>, needsAll: Bool)

    init(
        _ predicate: RecordPredicate, _ equality: (String) -> TextEquality
    ) throws(UnsupportedPredicate) {
        switch predicate.form {
        case .constant(let value): self = .constant(Truth(value))
        case .and(let parts): self = .and(try Self.nodes(parts, equality))
        case .or(let parts): self = .or(try Self.nodes(parts, equality))
        case .not(let part): self = .not(try Node(part, equality))
        case .isNil(let field): self = .isNil(field)
        case .comparison(let comparison):
            let equality = equality(comparison.field)
            guard let test = ValueTest(comparison.test, comparison.options, equality) else {
                let limit = WildcardPattern.limit
                throw UnsupportedPredicate(
                    "a pattern of LIKE has at most \(limit) characters", at: predicate.place)
            }
            self = .test(comparison.field, comparison.quantifier, test)
        case .distance(let distance):
            self = .distance(
                distance.field, GreatCircle(from: distance.center), distance.relation,
                kilometres: distance.kilometres)
        case .search(let search):
            self = .search(
                field: search.field, words: Set(SearchWords(search.text)), needsAll: search.needsAll
            )
        }
    }

    private static func nodes(
        _ parts: [RecordPredicate], _ equality: (String) -> TextEquality
    ) throws(UnsupportedPredicate) -> [Node] {
        var nodes: [Node] = []
        for part in parts { nodes.append(try Node(part, equality)) }
        return nodes
    }

    func truth(_ record: some PredicateRecord) -> Truth {
        switch self {
        case .constant(let truth): return truth
        case .and(let nodes): return nodes.all { $0.truth(record) }
        case .or(let nodes): return nodes.any { $0.truth(record) }
        case .not(let node): return node.truth(record).negated
        case .isNil(let field): return Truth(record.value(ofField: field) == nil)
        case .test(let field, let quantifier, let test):
            guard let value = record.value(ofField: field) else { return .unknown }
            guard let quantifier else { return test.holds(value) }
            guard case .list(let elements) = value else { return .unknown }
            return quantifier == .any ? elements.any(test.holds) : elements.all(test.holds)
        case .distance(let field, let circle, let relation, let limit):
            guard case .location(let point)? = record.value(ofField: field),
                let distance = circle?.kilometres(to: point),
                let order = ValueOrder(numbers: distance, limit)
            else { return .unknown }
            return relation.holds(order)
        case .search(let field, let words, let needsAll):
            return Self.search(record, field, words, needsAll: needsAll)
        }
    }

    /// A search without words, or with stop words only, finds nothing.
    private static func search(
        _ record: some PredicateRecord, _ field: String?, _ words: Set<SearchWord>, needsAll: Bool
    ) -> Truth {
        let texts: [String]
        if let field {
            guard let found = record.value(ofField: field)?.texts else { return .unknown }
            texts = found
        } else {
            texts = record.searchableFields.flatMap { record.value(ofField: $0)?.texts ?? [] }
        }
        var missing = words
        for word in texts.lazy.flatMap({ SearchWords($0) }) where missing.remove(word) != nil {
            if missing.isEmpty || !needsAll { return .yes }
        }
        return .no
    }
}
