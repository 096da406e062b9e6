internal import StratusBytes
package import StratusLanguage

// System fields as columns of indexes: `Formats/Record.md`, "Index".
extension SystemField {
    /// The number of the column, beyond those of all names; nil of what is no column.
    package var column: UInt32? { columnPlace.map { UInt32(Schema.nameLimit) + $0 } }

    package init?(column: UInt32) {
        // Most columns are fields.
        guard column >= Schema.nameLimit,
            let field = Self.allCases.first(where: { $0.column == column })
        else { return nil }
        self = field
    }

    /// Of what an index has of it: of a user the number, so that rows are in no order of names.
    fileprivate var columnKind: FieldKind { FieldKind(isUser ? .int64 : .date) }
}

extension Schema {
    /// The number of a column of indexes: that of a field's name, or of a system field.
    package func columnNumber(_ name: String) -> UInt32? {
        if let field = SystemField(rawValue: name) { return field.column }
        return number(name)
    }

    /// The name of a field, or of a system field, with that number.
    package func columnName(_ number: UInt32) -> String? {
        number < Self.nameLimit ? name(number) : SystemField(column: number)?.rawValue
    }

    package static func isColumn(_ number: UInt32) -> Bool {
        number < nameLimit || SystemField(column: number) != nil
    }

    /// Those of the columns of an index on a type whose strings are compared by their bytes.
    package func binaryColumns(of index: FieldIndex) -> Set<UInt32> {
        if binaryColumns.isEmpty { return [] }
        return Set(
            index.columns.filter { binaryColumns.contains(Column(type: index.type, field: $0)) })
    }

    /// What a column of indexes holds of a type's records; nil where it is not known.
    package func columnKind(_ number: UInt32, of type: UInt32) -> FieldKind? {
        number < Self.nameLimit
            ? kind(of: Column(type: type, field: number)) : SystemField(column: number)?.columnKind
    }
}

extension RecordHead {
    /// What a record has of a system field; nil of columns that are fields.
    package func encodedValue(ofColumn number: UInt32) -> EncodedValue? {
        guard let field = SystemField(column: number) else { return nil }
        var writer = ByteWriter(capacity: 10)
        switch field {
        case .creationDate: writer.double(Self.referenceSeconds(created))
        case .modificationDate: writer.double(Self.referenceSeconds(modified))
        case .creatorUserRecordID: writer.signedVarint(Int64(creator))
        case .lastModifiedUserRecordID: writer.signedVarint(Int64(modifier))
        case .recordID, .parent, .share: return nil
        }
        return EncodedValue(
            kind: field.columnKind, bytes: writer.bytes, range: 0..<writer.count)
    }

    /// Of milliseconds since 1970, as fields have dates: seconds since 2001.
    private static func referenceSeconds(_ milliseconds: Int64) -> Double {
        Double(milliseconds) / 1000 - 978_307_200
    }
}
