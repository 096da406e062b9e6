// Which kinds of fields may have which options, and be columns of indexes.

extension SchemaDocument.Element {
    /// References and assets are not: the store must see the ones, and the others are encrypted
    /// anyway. The grammar has no encrypted NUMBER.
    package var isEncryptable: Bool {
        switch self {
        case .bytes, .double, .int64, .location, .string, .timestamp: true
        case .asset, .number, .numberAsDouble, .numberAsInt64, .reference: false
        }
    }

    /// Whether an index can keep its values in order.
    package var isOrdered: Bool {
        switch self {
        case .double, .int64, .number, .numberAsDouble, .numberAsInt64, .string, .timestamp: true
        case .asset, .bytes, .location, .reference: false
        }
    }
}

extension SchemaDocument.FieldType {
    /// What a store does about an option of a field.
    package enum OptionSupport: Sendable {
        case served
        /// CloudKit takes it and its exports have it; there is nothing for it to do.
        case unused
        case refused
    }

    package func support(for option: SchemaDocument.Option) -> OptionSupport {
        if isEncrypted || element == .asset { return .refused }
        switch option {
        case .queryable: return .served
        case .searchable: return element == .string ? .served : .refused
        // Exports have it on bytes and on lists; locations are ordered by distance.
        case .sortable:
            return !isList && (element.isOrdered || element == .location) ? .served : .unused
        }
    }

    /// Whether it can be a column of a composite or unique index.
    package var isIndexable: Bool {
        let hasEquality = element.isOrdered || element == .reference || element == .bytes
        return hasEquality && !isList && !isEncrypted
    }

    package var isCollatable: Bool { element == .string && !isEncrypted }
}
