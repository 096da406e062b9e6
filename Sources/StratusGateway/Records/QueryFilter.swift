internal import Stratus

/// A condition on records, as Web Services writes it: a comparator, a field and a value.
struct QueryFilter: JSONBody {
    enum Key: String, QueryFieldKey {
        case comparator, fieldName, systemFieldName, fieldValue, distance, radiusInKilometers
    }

    private let comparator: Comparator
    /// Nil: all searchable fields.
    private let field: QueryField?
    private let fieldValue: FieldInput
    /// The radius of the circle of `NEAR`.
    private let kilometres: Double

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        comparator = try keys.required(.comparator)
        field = try QueryField(keys)
        if field == nil, !comparator.searchesWords { try keys.refuse(.fieldName, "is missing") }
        fieldValue = try keys.required(.fieldValue)
        kilometres = try Self.kilometres(keys, comparator)
    }

    private static func kilometres(
        _ keys: JSONKeys<Key>, _ comparator: Comparator
    ) throws(Mismatch) -> Double {
        let metres = try keys.optional(.distance, as: RealNumber.self)?.value
        let kilometres = try keys.optional(.radiusInKilometers, as: RealNumber.self)?.value
        let key: Key = metres == nil ? .radiusInKilometers : .distance
        guard comparator == .near else {
            if metres != nil || kilometres != nil { try keys.refuse(key, "is for NEAR only") }
            return 0
        }
        guard (metres == nil) != (kilometres == nil) else {
            throw Mismatch("has either a distance in metres or radiusInKilometers")
        }
        let radius = kilometres ?? (metres ?? 0) / 1000
        guard radius.isFinite, radius >= 0 else { try keys.refuse(key, "must be 0 or more") }
        return radius
    }

    /// The same as a predicate.
    func predicate(_ scope: QueryScope) throws(Mismatch) -> Query.Predicate {
        guard let field else {
            // Only a search needs no field.
            let words = try text()
            return Query.Predicate { $0.search(words, needsAll: comparator == .containsAllTokens) }
        }
        return try predicate(comparator, field, scope)
    }
}

/// By their names in Web Services and, where CKTool has others, also by these.
private enum Comparator: String, JSONWord {
    case equals = "EQUALS"
    case notEquals = "NOT_EQUALS"
    case lessThan = "LESS_THAN"
    case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
    case greaterThan = "GREATER_THAN"
    case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
    case near = "NEAR"
    case containsAllTokens = "CONTAINS_ALL_TOKENS"
    case containsAnyTokens = "CONTAINS_ANY_TOKENS"
    case isIn = "IN"
    case notIn = "NOT_IN"
    case beginsWith = "BEGINS_WITH"
    case notBeginsWith = "NOT_BEGINS_WITH"
    case listContains = "LIST_CONTAINS"
    case notListContains = "NOT_LIST_CONTAINS"
    case listNotContains = "LIST_NOT_CONTAINS"
    case listContainsAny = "LIST_CONTAINS_ANY"
    case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
    case listNotContainsAny = "LIST_NOT_CONTAINS_ANY"
    case listContainsAll = "LIST_CONTAINS_ALL"
    case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
    case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
    case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"

    var searchesWords: Bool { self == .containsAllTokens || self == .containsAnyTokens }
}

/// What each comparator asks.
extension QueryFilter {
    private func predicate(
        _ comparator: Comparator, _ field: QueryField, _ scope: QueryScope
    ) throws(Mismatch) -> Query.Predicate {
        let key = FieldKey<RecordValue>(field.name)
        switch comparator {
        case .equals:
            guard let value = try value(of: field, scope, scope.type(of: field)) else {
                return key.isMissing
            }
            return try Self.predicate("%K =", field, value, orElse: key == value)
        case .lessThan: return try key < one(field, scope)
        case .lessThanOrEquals: return try key <= one(field, scope)
        case .greaterThan: return try key > one(field, scope)
        case .greaterThanOrEquals: return try key >= one(field, scope)
        case .isIn:
            let values = try many(field, scope)
            return try Self.predicate("%K IN", field, .list(values), orElse: key.isIn(values))
        case .beginsWith: return FieldKey<String>(field.name).hasPrefix(try text())
        case .listContains: return try Self.has([one(field, scope)], field)
        case .listContainsAny: return try Self.has(many(field, scope), field)
        case .listContainsAll: return try containsAll(field, scope)
        case .listMemberBeginsWith: return FieldKey<[String]>(field.name).containsPrefix(try text())
        case .near:
            guard case .location(let center)? = try read(.one(.location)) else {
                throw mismatch("must be a location")
            }
            return FieldKey<Location>(field.name).isWithin(kilometres: kilometres, of: center)
        case .containsAllTokens: return try search("%K TOKENMATCHES[cdl] %@", field)
        case .containsAnyTokens: return try search("ANY %K TOKENMATCHES[cdl] %@", field)
        case .notEquals: return try !predicate(.equals, field, scope)
        case .notIn: return try !predicate(.isIn, field, scope)
        case .notBeginsWith: return try !predicate(.beginsWith, field, scope)
        case .notListContains, .listNotContains:
            return try !predicate(.listContains, field, scope)
        case .notListContainsAny, .listNotContainsAny:
            return try !predicate(.listContainsAny, field, scope)
        case .notListContainsAll: return try !predicate(.listContainsAll, field, scope)
        case .notListMemberBeginsWith:
            return try !predicate(.listMemberBeginsWith, field, scope)
        }
    }

    /// That the list has one of `values`.
    private static func has(
        _ values: [RecordValue], _ field: QueryField
    ) throws(Mismatch) -> Query.Predicate {
        // Unlike `CONTAINS`, this never looks into a string.
        let typed = FieldKey<[RecordValue]>(field.name).containsAny(of: values)
        return try predicate("ANY %K IN", field, .list(values), orElse: typed)
    }

    private func containsAll(
        _ field: QueryField, _ scope: QueryScope
    ) throws(Mismatch) -> Query.Predicate {
        let values = try many(field, scope)
        // Every list has all of no values; a record without the field has no list.
        if values.isEmpty { return try !Self.has([], field) }
        var parts: [Query.Predicate] = []
        for value in values { parts.append(try Self.has([value], field)) }
        return .conjunction(of: parts)
    }

    private func search(
        _ text: String, _ field: QueryField
    ) throws(Mismatch) -> Query.Predicate {
        try Query.Predicate.reading(text, [.string(field.name), .string(self.text())])
    }

    /// `typed`, or where `value` has a reference without a zone the same as text: only text can
    /// leave the zone open.
    private static func predicate(
        _ text: String, _ field: QueryField, _ value: RecordValue, orElse typed: Query.Predicate
    ) throws(Mismatch) -> Query.Predicate {
        guard value.hasReferenceWithoutZone, let literal = literal(value) else { return typed }
        return try Query.Predicate.reading("\(text) \(literal)", [.string(field.name)])
    }

    /// References as predicate text has them: an empty name stands for one that is not said.
    private static func literal(_ value: RecordValue) -> String? {
        switch value {
        case .reference(let reference):
            let id = reference.recordID
            let owner = id.zoneID.ownerName
            let names = [
                id.recordName, id.zoneID.zoneName, owner == RecordZone.ID.currentUser ? "" : owner,
            ]
            return "CAST({\(names.map(quoted).joined(separator: ", "))}, 'CKReference')"
        case .list(let values):
            let literals = values.compactMap(literal)
            guard literals.count == values.count else { return nil }
            return "{\(literals.joined(separator: ", "))}"
        default: return nil
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "'"
    }
}

/// Reading the value.
extension QueryFilter {
    /// The value as the field has values; nil where it is null.
    private func value(
        of field: QueryField, _ scope: QueryScope, _ declared: FieldType?
    ) throws(Mismatch) -> RecordValue? {
        guard let value = try read(declared) else { return nil }
        return scope.resolve(field.system?.converting(value, in: scope.container) ?? value)
    }

    private func one(
        _ field: QueryField, _ scope: QueryScope
    ) throws(Mismatch) -> RecordValue {
        let value = try value(of: field, scope, scope.type(of: field)?.ofElement)
        guard let value else { throw mismatch("is null, which is for EQUALS and NOT_EQUALS") }
        if case .list = value { throw mismatch("must not be a list") }
        return value
    }

    private func many(
        _ field: QueryField, _ scope: QueryScope
    ) throws(Mismatch) -> [RecordValue] {
        let value = try value(of: field, scope, scope.type(of: field)?.ofList)
        guard let values = value?.listValue else { throw mismatch("must be a list") }
        return values
    }

    private func text() throws(Mismatch) -> String {
        guard let text = try read(.one(.string))?.stringValue else {
            throw mismatch("must be text")
        }
        return text
    }

    /// The value as the request has it.
    ///
    /// - Parameter declared: the type of a value that is given without one. One that does not fit
    ///   has the type that it shows by itself: the store then says that the field has another.
    private func read(_ declared: FieldType?) throws(Mismatch) -> RecordValue? {
        do throws(Mismatch) {
            return try fieldValue.value { declared }
        } catch {
            guard !error.isUnknownKey, let value = try? fieldValue.value({ nil }) else {
                throw error.under(Key.fieldValue.rawValue)
            }
            return value
        }
    }

    private func mismatch(_ reason: String) -> Mismatch {
        Mismatch(reason).under(FieldInput.Key.value.rawValue).under(Key.fieldValue.rawValue)
    }
}

extension FieldType {
    fileprivate var ofElement: FieldType {
        if case .list(let type) = self { .one(type) } else { self }
    }

    fileprivate var ofList: FieldType {
        if case .one(let type) = self { .list(type) } else { self }
    }
}
