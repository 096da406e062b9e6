public import FoundationEssentials
internal import StratusLanguage

/// A Swift value that a field can have.
public protocol FieldValue: Sendable {
    /// The value as a record has it.
    var recordValue: RecordValue { get }
}

extension String: FieldValue {
    /// A text.
    public var recordValue: RecordValue { .string(self) }
}
extension Int64: FieldValue {
    /// An integer.
    public var recordValue: RecordValue { .int64(self) }
}
extension Int: FieldValue {
    /// An integer.
    public var recordValue: RecordValue { .int64(Int64(self)) }
}
extension Double: FieldValue {
    /// A number.
    public var recordValue: RecordValue { .double(self) }
}
extension Bool: FieldValue {
    /// 0 or 1.
    public var recordValue: RecordValue { .int64(self ? 1 : 0) }
}
extension Date: FieldValue {
    /// A moment.
    public var recordValue: RecordValue { .date(self) }
}
extension Data: FieldValue {
    /// Bytes.
    public var recordValue: RecordValue { .bytes(self) }
}
extension Location: FieldValue {
    /// A place.
    public var recordValue: RecordValue { .location(self) }
}
extension Reference: FieldValue {
    /// A pointer to a record.
    public var recordValue: RecordValue { .reference(self) }
}
extension Record.ID: FieldValue {
    /// A pointer to the record.
    public var recordValue: RecordValue { .reference(Reference(recordID: self)) }
}
extension RecordValue: FieldValue {
    /// Itself.
    public var recordValue: RecordValue { self }
}
extension Array: FieldValue where Element: FieldValue {
    /// A list.
    public var recordValue: RecordValue { .list(map(\.recordValue)) }
}

/// A field and the type of its values, for predicates that the compiler checks.
public struct FieldKey<Value: FieldValue>: Sendable, Hashable {
    /// The name of the field.
    public let name: String

    /// The field of that name.
    public init(_ name: String) { self.name = name }
}

/// The fields that typed predicates name. A service adds its own:
///
///     extension FieldKeys {
///         var berths: FieldKey<Int> { FieldKey("berths") }
///     }
public struct FieldKeys: Sendable {
    /// The record itself, compared with a ``Record/ID``.
    public var recordID: FieldKey<Record.ID> { FieldKey("recordID") }
    /// When records were first saved.
    public var creationDate: FieldKey<Date> { FieldKey("creationDate") }
    /// When records were last saved.
    public var modificationDate: FieldKey<Date> { FieldKey("modificationDate") }
    /// Who saved records first.
    public var creatorUserRecordID: FieldKey<Record.ID> { FieldKey("creatorUserRecordID") }
    /// Who saved records last.
    public var lastModifiedUserRecordID: FieldKey<Record.ID> {
        FieldKey("lastModifiedUserRecordID")
    }
    /// The parents of records. Beyond CloudKit.
    public var parentRecordID: FieldKey<Record.ID> { FieldKey(SystemField.parent.rawValue) }

    init() {}

    /// The records that have one of the words of `text`, or with `needsAll` all of them, in their
    /// searchable fields.
    public func search(_ text: String, needsAll: Bool = false) -> Query.Predicate {
        Query.Predicate(.search(TokenSearch(text, needsAll: needsAll)))
    }
}

extension Query.Predicate {
    /// The predicate that a closure makes of typed fields.
    public init(_ condition: (FieldKeys) -> Query.Predicate) { self = condition(FieldKeys()) }
}

extension FieldKey {
    /// The name under which predicates keep the field; one that no field can have stays as it is,
    /// and nothing is found by it.
    private var canonicalName: String { SystemField.canonicalName(name) ?? name }

    fileprivate func comparison(
        _ test: FieldComparison.Test, _ quantifier: FieldComparison.Quantifier? = nil
    ) -> Query.Predicate {
        Query.Predicate(
            .comparison(FieldComparison(field: canonicalName, test, quantifier: quantifier)))
    }

    private func compared(_ relation: Relation, _ value: Value) -> Query.Predicate {
        comparison(.relation(relation, PredicateValue(value.recordValue)))
    }

    /// Equal; of strings without regard to case.
    public static func == (key: FieldKey, value: Value) -> Query.Predicate {
        key.compared(.equal, value)
    }
    /// Not equal, and not missing.
    public static func != (key: FieldKey, value: Value) -> Query.Predicate {
        key.compared(.notEqual, value)
    }
    /// Less.
    public static func < (key: FieldKey, value: Value) -> Query.Predicate {
        key.compared(.less, value)
    }
    /// Less or equal.
    public static func <= (key: FieldKey, value: Value) -> Query.Predicate {
        key.compared(.lessOrEqual, value)
    }
    /// Greater.
    public static func > (key: FieldKey, value: Value) -> Query.Predicate {
        key.compared(.greater, value)
    }
    /// Greater or equal.
    public static func >= (key: FieldKey, value: Value) -> Query.Predicate {
        key.compared(.greaterOrEqual, value)
    }

    /// Equal to one of `values`.
    public func isIn(_ values: [Value]) -> Query.Predicate {
        comparison(.isIn(values.map { PredicateValue($0.recordValue) }))
    }

    /// From `low` to `high`, both included.
    public func isBetween(_ low: Value, _ high: Value) -> Query.Predicate {
        comparison(.between(PredicateValue(low.recordValue), PredicateValue(high.recordValue)))
    }

    /// Missing.
    public var isMissing: Query.Predicate { Query.Predicate(.isNil(field: canonicalName)) }
}

extension FieldKey<String> {
    /// Begins with `text`, case and all.
    public func hasPrefix(_ text: String) -> Query.Predicate {
        comparison(.text(.beginsWith, text))
    }
    /// Ends with `text`, case and all. Beyond CloudKit.
    public func hasSuffix(_ text: String) -> Query.Predicate {
        comparison(.text(.endsWith, text))
    }
    /// Has `text` in it, case and all. Beyond CloudKit.
    public func contains(_ text: String) -> Query.Predicate {
        comparison(.contains(.string(text)))
    }
    /// Matches a pattern with `*` for any characters and `?` for one. Beyond CloudKit.
    public func isLike(_ pattern: String) -> Query.Predicate {
        comparison(.text(.like, pattern))
    }
}

extension FieldKey<Location> {
    /// Nearer to `center` than that, over the surface of the earth.
    public func isWithin(kilometres: Double, of center: Location) -> Query.Predicate {
        let name = SystemField.canonicalName(name) ?? name
        return Query.Predicate(
            .distance(
                DistanceComparison(
                    field: name, from: GeographicPoint(center), .less, kilometres: kilometres)))
    }
}

extension FieldKey {
    /// The list has the element.
    public func contains<Element>(
        _ element: Element
    ) -> Query.Predicate where Value == [Element] {
        comparison(.contains(PredicateValue(element.recordValue)))
    }

    /// The list has one of the elements.
    public func containsAny<Element>(
        of elements: [Element]
    ) -> Query.Predicate where Value == [Element] {
        comparison(.isIn(elements.map { PredicateValue($0.recordValue) }), .any)
    }

    /// The list has all of the elements.
    public func containsAll<Element>(
        of elements: [Element]
    ) -> Query.Predicate where Value == [Element] {
        elements.reduce(.all) { $0 && contains($1) }
    }
}

extension FieldKey<[String]> {
    /// An element of the list begins with `text`, case and all.
    public func containsPrefix(_ text: String) -> Query.Predicate {
        comparison(.text(.beginsWith, text), .any)
    }
}
