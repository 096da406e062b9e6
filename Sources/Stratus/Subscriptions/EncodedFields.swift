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

/// The value of a field as it lies among other bytes.
struct EncodedValue {
    var kind: FieldKind
    var bytes: [UInt8]
    var range: Range<Int>
    /// Whether it is that of the version before.
    var isKept = false
}

extension StoredFields {
    func encodedValue(of field: UInt32) -> EncodedValue? {
        self.field(field).map { EncodedValue(kind: $0.kind, bytes: bytes, range: $0.range) }
    }

    var encodedValues: [EncodedValue] {
        var values: [EncodedValue] = []
        forEach { field in
            values.append(EncodedValue(kind: field.kind, bytes: bytes, range: field.range))
            return true
        }
        return values
    }
}

/// A version that is in the store.
struct EncodedVersion: EncodedFields {
    let fields: StoredFields
    let schema: Schema
    let zone: AnchorZone

    func encodedValue(of field: UInt32) -> EncodedValue? { fields.encodedValue(of: field) }

    var encodedValues: [EncodedValue] { fields.encodedValues }
}
