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
    ///
    /// - Parameter isBinary: whether strings count as bytes, not folded.
    package mutating func add(_ value: PredicateValue?, isBinary: Bool) {
        switch value {
        case .string(let text): add(text.indexedBytes(isBinary: isBinary))
        case .reference(let target): add(target.recordName.utf8)
        case .bytes(let bytes): add(bytes)
        case .int64, .double, .date, .location, .asset, .list, nil:
            add(number: value.flatMap { SortKey.bits(of: $0) })
        }
    }

    /// The same of a value of a record; kinds that are in no column have none.
    mutating func add(_ value: EncodedValue?, isBinary: Bool) throws(FormatError) {
        guard let value, FieldIndex.Form.digest.fits(value.kind), let kind = value.kind.element
        else {
            return add(number: nil)
        }
        switch try IndexedPart(kind, value.bytes.span, value.range, isBinary: isBinary) {
        case .number(let bits): add(number: bits)
        case .text(let text): add(text)
        case .bytes(let range): add(value.bytes[range])
        case nil: add(number: nil)
        }
    }

    private mutating func add(number bits: UInt64?) {
        guard let bits else {
            writer.uint8(0)
            isWhole = false
            return
        }
        writer.uint8(1)
        writer.uint8(8)
        IndexedValue(hash: bits).write(to: &writer)
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

    /// What its rows have of a version of a record, each once and in order.
    package func values(
        of head: RecordHead, _ fields: StoredFields
    ) throws(FormatError) -> [IndexedValue] {
        try values { head.encodedValue(ofColumn: $0) ?? fields.encodedValue(of: $0) }
    }

    /// What its rows have of a record, each once and in order; `value` gives what the record has in a
    /// column.
    package func values(
        of value: (UInt32) -> EncodedValue?
    ) throws(FormatError) -> [IndexedValue] {
        var columns = IndexColumns()
        for column in leading {
            try columns.add(value(column), isBinary: binaryColumns.contains(column))
        }
        let last = value(field)
        if isUnique {
            try columns.add(last, isBinary: isBinary)
            return columns.isWhole ? [columns.digest] : []
        }
        let own =
            if let last {
                try values(of: last.kind, at: last.range, in: last.bytes.span)
            } else {
                form.valuesOfNone
            }
        if leading.isEmpty { return own }
        let group = columns.group
        return own.map { $0.grouped(by: group) }
    }
}

/// What of a value counts in an index.
enum IndexedPart {
    /// A number or a date in order; nil: NaN.
    case number(UInt64?)
    case text([UInt8])
    /// Those in this range: the name of a reference's target, or bytes.
    case bytes(Range<Int>)

    /// Of a value that is no list and lies in `range`; nil of kinds of which nothing counts as a whole.
    init?(
        _ kind: ValueKind, _ bytes: Span<UInt8>, _ range: Range<Int>, isBinary: Bool
    ) throws(FormatError) {
        switch kind {
        case .string where isBinary:
            guard bytes.text(in: range) != nil else { throw .text }
            self = .text(bytes.array(in: range))
        case .string:
            var text = FoldedBytes()
            guard text.fold(bytes, in: range) else { throw .text }
            self = .text(text.bytes)
        case .int64:
            var cursor = ByteCursor(at: range.lowerBound)
            let number = try cursor.signedVarint(bytes.extracting(0..<range.upperBound))
            self = .number(SortKey.bits(of: .int64(number)))
        case .double, .date:
            guard range.count == 8 else { throw .value("length") }
            let number = Double(bitPattern: bytes.uint64(at: range.lowerBound))
            self = .number(SortKey.bits(of: .double(number)))
        case .reference: self = .bytes(try ReferenceFields.read(bytes, in: range).target)
        case .bytes: self = .bytes(range)
        case .location, .asset: return nil
        }
    }
}
