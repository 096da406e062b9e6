package import StratusBytes
package import StratusLanguage

/// The values of several columns of an index as one string of bytes: the same for records that agree
/// in all of them. `Formats/Index.md`, "Declared indexes".
package struct IndexColumns {
    private var writer = ByteWriter(capacity: 64)
    /// Whether each of them has a value.
    package private(set) var isWhole = true

    package init() {}

    /// Of the next column; nil: there is no value.
    package mutating func add(_ value: PredicateValue?) {
        switch value {
        case .string(let text): add(text.folded(.case).utf8)
        case .reference(let target): add(target.recordName.utf8)
        case .bytes(let bytes): add(bytes)
        case .int64, .double, .date, .location, .asset, .list, nil:
            guard let bits = value.flatMap({ SortKey.bits(of: $0) }) else {
                writer.uint8(0)
                isWhole = false
                return
            }
            writer.uint8(1)
            writer.uint8(8)
            IndexedValue(hash: bits).write(to: &writer)
        }
    }

    private mutating func add(_ bytes: some Collection<UInt8>) {
        writer.uint8(1)
        writer.varint(bytes.count)
        writer.append(contentsOf: bytes)
    }

    /// What keeps the rows of records together that agree in these columns.
    package var group: UInt64 { Checksum.xxh3(writer.bytes.span) }

    /// What stands for the values of a unique index: no two have it in common.
    package var digest: IndexedValue {
        let hash = SHA256.hash(writer.bytes)
        return IndexedValue(hash.span.extracting(0..<16))
    }
}

extension FieldIndex {
    /// Of the values of all its rows, in bytes.
    package var length: Int {
        isPlain || isUnique ? form.length : min(8 + form.length, IndexedValue.lengthLimit)
    }

    /// What its rows have of a record, each once and in order; `value` gives what the record has of a
    /// field.
    package func values(
        of value: (UInt32) -> EncodedValue?
    ) throws(FormatError) -> [IndexedValue] {
        var columns = IndexColumns()
        for column in leading { columns.add(try value(column)?.asColumn()) }
        let last = value(field)
        if isUnique {
            columns.add(try last?.asColumn())
            return columns.isWhole ? [columns.digest] : []
        }
        let own =
            if let last {
                try form.values(of: last.kind, at: last.range, in: last.bytes.span)
            } else {
                form.valuesOfNone
            }
        if leading.isEmpty { return own }
        let group = columns.group
        return own.map { $0.grouped(by: group) }
    }
}

extension EncodedValue {
    /// The value in a column of an index; nil of kinds that are in none.
    fileprivate func asColumn() throws(FormatError) -> PredicateValue? {
        if kind.isList || kind.isEncrypted { return nil }
        switch kind.element {
        case .string:
            guard let text = bytes.span.text(in: range) else { throw .text }
            return .string(text)
        case .int64:
            var cursor = ByteCursor(at: range.lowerBound)
            return .int64(try cursor.signedVarint(bytes.span.extracting(0..<range.upperBound)))
        case .double, .date:
            guard range.count == 8 else { throw .value("length") }
            return .double(Double(bitPattern: bytes.span.uint64(at: range.lowerBound)))
        case .reference:
            let (_, name) = try ReferenceFields.read(bytes.span, in: range)
            guard let text = bytes.span.text(in: name) else { throw .text }
            return .reference(ReferenceTarget(recordName: text))
        case .bytes: return .bytes(Array(bytes[range]))
        case .location, .asset, nil: return nil
        }
    }
}

extension ValueKind {
    /// Whether such values can stand in a column of an index.
    package var isColumn: Bool {
        switch self {
        case .string, .int64, .double, .date, .reference, .bytes: true
        case .location, .asset: false
        }
    }
}
