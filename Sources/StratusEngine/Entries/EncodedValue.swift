/// The value of a field as it lies among other bytes.
package struct EncodedValue {
    package var kind: FieldKind
    package var bytes: [UInt8]
    package var range: Range<Int>
    /// Whether it is that of the version before.
    package var isKept: Bool

    package init(kind: FieldKind, bytes: [UInt8], range: Range<Int>, isKept: Bool = false) {
        self.kind = kind
        self.bytes = bytes
        self.range = range
        self.isKept = isKept
    }
}

extension StoredFields {
    package func encodedValue(of field: UInt32) -> EncodedValue? {
        self.field(field).map { EncodedValue(kind: $0.kind, bytes: bytes, range: $0.range) }
    }

    package var encodedValues: [EncodedValue] {
        var values: [EncodedValue] = []
        forEach { field in
            values.append(EncodedValue(kind: field.kind, bytes: bytes, range: field.range))
            return true
        }
        return values
    }
}
