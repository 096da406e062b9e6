internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusLanguage

extension RecordPredicate {
    /// The parts that must all hold.
    var conjuncts: [RecordPredicate] {
        if case .and(let parts) = form { parts } else { [self] }
    }

    /// What an index on its field would need to have; nil where none helps.
    var wantedOptions: [RecordIndex.Option]? {
        switch form {
        case .isNil: [.sortable]
        case .comparison(let comparison):
            switch comparison.test {
            case .relation(.equal, _), .isIn, .contains: [.queryable, .sortable]
            case .relation(.notEqual, _): nil
            case .relation, .between, .text(.beginsWith, _): [.sortable]
            case .text: nil
            }
        case .search: [.searchable]
        case .distance(let distance): distance.isNear ? [.queryable] : nil
        case .constant, .and, .or, .not: nil
        }
    }

    /// The rows of indexes among which all records lie that satisfy the predicate.
    func paths(_ indexes: [FieldIndex], _ schema: Schema) -> [QueryPath] {
        let name: String
        switch form {
        case .isNil(let field): name = field
        case .comparison(let comparison): name = comparison.field
        case .distance(let distance): name = distance.field
        default: return []
        }
        guard let field = schema.columnNumber(name) else { return [] }
        return indexes.compactMap { index in
            guard index.field == field, let kind = schema.columnKind(field, of: index.type),
                index.form.fits(kind), let values = values(index, kind),
                values.count <= QueryPath.valueLimit
            else { return nil }
            return QueryPath(index, values, isList: kind.isList)
        }
    }

    /// The same with the numbers of users, as indexes have them, in place of what names them; 0 is the
    /// number of none.
    func numberingUsers(
        _ reading: StoreReading
    ) throws(EngineError) -> RecordPredicate {
        guard case .comparison(var comparison) = form,
            SystemField(rawValue: comparison.field)?.isUser == true
        else { return self }
        var numbers: [PredicateValue] = []
        for target in comparison.equalReferences ?? [] {
            let user = UserID(recordName: target.recordName)
            let number = if let user { try reading.user(user) } else { nil as UInt32? }
            numbers.append(.int64(Int64(number ?? 0)))
        }
        comparison.test = .isIn(numbers)
        return numbers.isEmpty ? self : .comparison(comparison)
    }

    /// The hashes of the names of which a record must have one, each once and in order; nil where the
    /// predicate says no such thing.
    func recordNames(_ reading: StoreReading) -> [Hash128]? {
        guard case .comparison(let comparison) = form,
            comparison.field == SystemField.recordID.rawValue,
            let targets = comparison.equalReferences, targets.count <= QueryPath.valueLimit
        else { return nil }
        return Set(targets.map { reading.hash($0.recordName) }).sorted()
    }

    /// The values in an index of fields of that kind that the predicate, which is of one field, can be
    /// satisfied by; nil where the index does not tell.
    func values(_ index: FieldIndex, _ kind: FieldKind) -> [QueryPath.Values]? {
        switch form {
        case .isNil:
            guard index.form.hasOrder, !kind.isList else { return nil }
            let missing = IndexedValue.missing(index.form)
            return [QueryPath.Values(low: missing, high: missing)]
        case .comparison(let comparison): return comparison.values(index, kind)
        case .distance(let distance): return index.form == .cell ? distance.values : nil
        default: return nil
        }
    }
}

extension DistanceComparison {
    /// Whether it asks for places near a point.
    fileprivate var isNear: Bool {
        switch relation {
        case .less, .lessOrEqual, .equal: true
        case .notEqual, .greater, .greaterOrEqual: false
        }
    }

    /// The cells in which all places lie that satisfy it; nil where that tells nothing.
    fileprivate var values: [QueryPath.Values]? {
        guard isNear, kilometres >= 0, GreatCircle(from: center) != nil else { return nil }
        return EarthCell.numbers(around: center, kilometres: kilometres).map {
            QueryPath.Values(
                low: IndexedValue(hash: $0.lowerBound), high: IndexedValue(hash: $0.upperBound))
        }
    }
}

extension FieldComparison {
    /// The references of which the field, which is no list, must be equal to one; nil where the test is
    /// another one.
    fileprivate var equalReferences: [ReferenceTarget]? {
        let values: [PredicateValue]
        switch test {
        case .relation(.equal, let value): values = [value]
        case .isIn(let list): values = list
        default: return nil
        }
        if quantifier != nil { return nil }
        let targets = values.compactMap { value in
            if case .reference(let target) = value { target } else { nil }
        }
        return targets.count == values.count ? targets : nil
    }

    /// The values in an index of fields of that kind that the test can be satisfied by; nil where the
    /// index does not tell.
    fileprivate func values(
        _ index: FieldIndex, _ kind: FieldKind
    ) -> [QueryPath.Values]? {
        if quantifier == .all || !isServed(isBinary: index.isBinary) { return nil }
        if kind.isList != (quantifier == .any), !isMembership { return nil }
        switch test {
        case .relation(.equal, let value): return Self.equal([value], index, kind)
        case .isIn(let values): return Self.equal(values, index, kind)
        case .contains(let value):
            // Of an element it asks for a part.
            guard kind.isList, quantifier == nil else { return nil }
            return Self.equal([value], index, kind)
        case .relation(let relation, let value):
            guard let value = ordered(value, index, kind) else { return nil }
            switch relation {
            case .less, .lessOrEqual: return [.init(low: .first(index.form), high: value)]
            // Behind all values nothing comes.
            case .greater, .greaterOrEqual: return [.init(low: value)]
            case .equal, .notEqual: return nil
            }
        case .between(let low, let high):
            guard let low = ordered(low, index, kind), let high = ordered(high, index, kind) else {
                return nil
            }
            return [.init(low: low, high: high)]
        case .text(.beginsWith, let text):
            guard index.form == .prefix, kind.element == .string else { return nil }
            return [index.values(prefixedBy: text)]
        case .text: return nil
        }
    }

    /// The values in an index with an order that the test is satisfied by, each of them, and no others; nil
    /// where that is no single range. An empty range has its bounds in the other order.
    func exactValues(_ index: FieldIndex, _ kind: FieldKind) -> QueryPath.Values? {
        guard index.form.hasOrder, quantifier == nil, isServed(isBinary: index.isBinary) else {
            return nil
        }
        if case .text(.beginsWith, let text) = test {
            guard index.form == .prefix, kind.element == .string,
                index.isBinary
                    || options.intersection([.caseInsensitive, .normalized]) == .caseInsensitive,
                index.length(of: text) <= IndexedValue.prefixLimit
            else { return nil }
            return index.values(prefixedBy: text)
        }
        func exact(_ value: PredicateValue) -> IndexedValue? {
            if case .string(let text) = value,
                index.length(of: text) > IndexedValue.wholeTextLimit
            {
                return nil
            }
            return ordered(value, index, kind)
        }
        switch test {
        case .between(let first, let last):
            guard let low = exact(first), let high = exact(last) else { return nil }
            return .init(low: low, high: high)
        case .relation(let relation, let value):
            guard let value = exact(value) else { return nil }
            return switch relation {
            case .equal: .init(low: value, high: value)
            case .less: .init(low: .first(index.form), high: value.previous)
            case .lessOrEqual: .init(low: .first(index.form), high: value)
            case .greater: .init(low: value.next)
            case .greaterOrEqual: .init(low: value)
            case .notEqual: nil
            }
        case .isIn, .contains, .text: return nil
        }
    }

    /// Whether case counts where strings are compared, of a field where it does or does not.
    private func seesCase(isBinary: Bool) -> Bool {
        options.contains(.normalized) || isBinary && !options.contains(.caseInsensitive)
    }

    /// Whether an index of such strings tells what may be equal. Marks that do not count are in none, and
    /// one of bytes does not tell what is equal without case.
    func isServed(isBinary: Bool) -> Bool {
        !options.contains(.diacriticInsensitive) && (!isBinary || seesCase(isBinary: true))
    }

    private var isMembership: Bool { if case .contains = test { true } else { false } }

    private static func equal(
        _ values: [PredicateValue], _ index: FieldIndex, _ kind: FieldKind
    ) -> [QueryPath.Values]? {
        var found: [QueryPath.Values] = []
        for value in values {
            guard let value = indexed(value, index, kind) else { return nil }
            found.append(.init(low: value, high: value))
        }
        return found
    }

    /// A bound; where case counts, an index of folded texts has another order.
    private func ordered(
        _ value: PredicateValue, _ index: FieldIndex, _ kind: FieldKind
    ) -> IndexedValue? {
        guard index.form.hasOrder, !kind.isList,
            seesCase(isBinary: index.isBinary) == index.isBinary
        else { return nil }
        return Self.indexed(value, index, kind)
    }

    /// What an index has of a value that equals a constant; nil where none of its kind does.
    private static func indexed(
        _ value: PredicateValue, _ index: FieldIndex, _ kind: FieldKind
    ) -> IndexedValue? {
        value.equal(in: kind).flatMap { index.value(of: $0) }
    }
}

extension FieldIndex {
    /// So many bytes of a text count in its rows.
    fileprivate func length(of text: String) -> Int {
        IndexedValue.length(of: text.indexedBytes(isBinary: isBinary))
    }

    /// Those of texts that begin so.
    fileprivate func values(prefixedBy text: String) -> QueryPath.Values {
        let bytes = text.indexedBytes(isBinary: isBinary)
        return QueryPath.Values(
            low: IndexedValue(text: bytes), high: IndexedValue(lastPrefixedBy: bytes))
    }
}

extension PredicateValue {
    /// The value of a field of that kind that equals this one; nil where none does, or where it cannot
    /// stand in an index.
    func equal(in kind: FieldKind) -> PredicateValue? {
        switch (kind.element, self) {
        case (.string, .string), (.reference, .reference), (.bytes, .bytes), (.int64, .int64),
            (.double, .double), (.date, .date):
            self
        case (.int64, .double(let number)): Int64(exactly: number).map { .int64($0) }
        case (.double, .int64(let number)): Double(exactly: number).map { .double($0) }
        default: nil
        }
    }
}
