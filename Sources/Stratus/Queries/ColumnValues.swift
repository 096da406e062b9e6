internal import StratusEngine
internal import StratusIndex
internal import StratusLanguage

/// What a predicate says of the columns of an index on several fields, or of a unique one.
struct ColumnValues {
    private let index: FieldIndex
    /// Of the columns that must be equal to something, in all ways.
    private let equal: [IndexColumns]
    /// What is said of the last one of an index that has an order.
    private let last: [[QueryPath.Values]]

    /// Nil where the predicate does not say what each column but the last is equal to, and of a unique
    /// index the last, too.
    init?(_ parts: some Collection<RecordPredicate>, _ index: FieldIndex, _ schema: Schema) {
        func kind(_ field: UInt32) -> FieldKind? {
            schema.columnKind(field, of: index.type)
        }
        func isBinary(_ field: UInt32) -> Bool { index.binaryColumns.contains(field) }
        var equal = [IndexColumns()]
        for column in index.isUnique ? index.columns : index.leading {
            guard let name = schema.columnName(column), let kind = kind(column),
                let values = parts.lazy.compactMap({
                    $0.values(equalIn: name, kind, isBinary: isBinary(column))
                }).first,
                equal.count * values.count <= QueryPath.valueLimit
            else { return nil }
            equal = equal.flatMap { columns in
                values.map { value in
                    var columns = columns
                    columns.add(value, isBinary: isBinary(column))
                    return columns
                }
            }
        }
        self.index = index
        self.equal = equal
        guard !index.isUnique, let name = schema.columnName(index.field),
            let kind = kind(index.field)
        else {
            last = []
            return
        }
        last = parts.compactMap { part in
            part.fields.first?.name == name ? part.values(index, kind) : nil
        }
    }

    /// The rows among which all records lie that satisfy the predicate: a path for each thing that it
    /// says of the last column.
    func paths(_ sorting: (field: UInt32, ascending: Bool)?) -> [QueryPath] {
        if index.isUnique {
            // Without a value in one of the columns a record has no row.
            guard equal.allSatisfy(\.isWhole) else { return [] }
            let values = equal.map { QueryPath.Values(low: $0.digest, high: $0.digest) }
            return [QueryPath(index, values, group: nil, order: nil)]
        }
        let groups = equal.map(\.group)
        var order: IndexDirection?
        if let sorting, sorting.field == index.field, index.form.hasOrder {
            order = sorting.ascending ? .forward : .backward
        }
        // Of a form without an order, records without a value have no row.
        let last = last.isEmpty && index.form.hasOrder ? [[QueryPath.Values()]] : last
        return last.compactMap { values in
            guard groups.count * values.count <= QueryPath.valueLimit else { return nil }
            let ranges = groups.flatMap { group in
                values.map { value in
                    QueryPath.Values(
                        low: value.low?.grouped(by: group) ?? IndexedValue(hash: group),
                        high: (value.high ?? IndexedValue(hash: .max)).grouped(by: group))
                }
            }
            let group = ranges.count == 1 ? groups[0] : nil
            return QueryPath(index, ranges, group: group, order: order)
        }
    }
}

extension RecordPredicate {
    /// The values that a field of that kind must be equal to one of, nil for none at all; nil where the
    /// predicate says no such thing.
    fileprivate func values(
        equalIn field: String, _ kind: FieldKind, isBinary: Bool
    ) -> [PredicateValue?]? {
        if kind.isList { return nil }
        switch form {
        case .isNil(let name): return name == field ? [nil] : nil
        case .comparison(let comparison):
            guard comparison.field == field, comparison.quantifier == nil,
                comparison.isServed(isBinary: isBinary)
            else { return nil }
            let wanted: [PredicateValue]
            switch comparison.test {
            case .relation(.equal, let value): wanted = [value]
            case .isIn(let values): wanted = values
            default: return nil
            }
            let found = wanted.map { $0.equal(in: kind) }
            return found.contains { $0 == nil } ? nil : Array(Set(found))
        default: return nil
        }
    }
}
