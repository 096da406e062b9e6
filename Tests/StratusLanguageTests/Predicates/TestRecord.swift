import StratusLanguage

/// A record in memory.
struct TestRecord: PredicateRecord {
    var fields: [String: PredicateValue]
    var searchableFields: [String] = []

    func value(ofField name: String) -> PredicateValue? { fields[name] }
}

extension PredicateValue {
    static func strings(_ texts: String...) -> PredicateValue { .list(texts.map { .string($0) }) }
}
