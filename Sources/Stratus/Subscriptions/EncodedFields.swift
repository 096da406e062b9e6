internal import StratusBytes
internal import StratusEngine
internal import StratusLanguage

/// The fields of one state of a record, encoded, as predicates see them that ask for named ones.
protocol EncodedFields: PredicateRecord {
    /// With the numbers of the fields.
    var schema: Schema { get }
    /// Where the record lies.
    var zone: AnchorZone { get }
    /// Nil where the record has no such field.
    func encodedValue(of field: UInt32) -> EncodedValue?
    var encodedValues: [EncodedValue] { get }
}

extension EncodedFields {
    func value(ofField name: String) -> PredicateValue? {
        guard let number = schema.number(name), let value = encodedValue(of: number),
            let decoded = try? ValueFormat.value(
                value.bytes, in: value.range, kind: value.kind, zone: zone.id)
        else { return nil }
        return PredicateValue(decoded)
    }

    var searchableFields: [String] { [] }
}

/// A version that is in the store.
struct EncodedVersion: EncodedFields {
    let fields: StoredFields
    let schema: Schema
    let zone: AnchorZone

    func encodedValue(of field: UInt32) -> EncodedValue? { fields.encodedValue(of: field) }

    var encodedValues: [EncodedValue] { fields.encodedValues }
}
