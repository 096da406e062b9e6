internal import StratusBytes
internal import StratusEngine
internal import StratusLanguage

/// The fields of one state of a record, encoded.
protocol EncodedFields {
    associatedtype Kept: EncodedFields = Self

    /// The same, while those of other records are looked at.
    var kept: Kept { get }
    /// Nil where the record has no such field.
    func encodedValue(of field: UInt32) -> EncodedValue?
    var encodedValues: [EncodedValue] { get }
}

extension EncodedFields where Kept == Self {
    var kept: Self { self }
}

/// The value of a field as it lies among other bytes.
struct EncodedValue {
    var kind: FieldKind
    var bytes: [UInt8]
    var range: Range<Int>
    /// Whether it is that of the version before.
    var isKept = false
}

extension StoredFields: EncodedFields {
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

/// A record of which only the fields are at hand, as predicates see it that ask for named ones.
struct EncodedRecord<Fields: EncodedFields>: PredicateRecord {
    let fields: Fields
    let schema: Schema
    let zone: AnchorZone

    func value(ofField name: String) -> PredicateValue? {
        guard let number = schema.number(name), let value = fields.encodedValue(of: number),
            let decoded = try? ValueFormat.value(
                value.bytes, in: value.range, kind: value.kind, zone: zone.id)
        else { return nil }
        return PredicateValue(decoded)
    }

    var searchableFields: [String] { [] }
}
