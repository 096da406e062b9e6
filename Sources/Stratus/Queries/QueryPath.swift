internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusLanguage

/// Where a query looks for records that may satisfy its predicate, which tests each of them.
struct QueryPath: Sendable {
    /// Values of an index, both ends included; nil: to the end.
    struct Values: Hashable, Sendable {
        var low: IndexedValue?
        var high: IndexedValue?

        /// Those that are in both.
        func intersection(_ other: Values) -> Values {
            Values(
                low: [low, other.low].compactMap(\.self).max(),
                high: [high, other.high].compactMap(\.self).min())
        }
    }

    /// Nil: all records of the type, or those of certain names.
    private(set) var index: FieldIndex?
    /// The hashes of these names, each once and in order.
    private(set) var names: [Hash128]?
    /// The rows of the index that are looked at; empty: all.
    private var values: [Values] = []
    /// Indexes on other fields, of which the same rows are looked at.
    private var others: [FieldIndex] = []
    /// Whether a record may have several of the rows.
    private(set) var mayRepeat = false
    /// In which direction the rows are in the order of the query; nil: in none, but perhaps in the
    /// store's own.
    private(set) var order: IndexDirection?
    /// Of an index on several fields: what its rows have of all but the last, where that is one value.
    private var group: UInt64?
    /// Other paths on which all records lie that are found, each of one value, so that their rows are in
    /// the order of the hashes of names: a record without a row there need not be read.
    private(set) var intersected: [QueryPath] = []

    /// All records of the type.
    static let scan = QueryPath(index: nil)

    /// Whether records come in the store's own order.
    var isInStoreOrder: Bool {
        guard order == nil else { return false }
        guard let index else { return true }
        guard others.isEmpty, values.count == 1, let low = values[0].low else { return false }
        return low == values[0].high && low.count == index.length
    }

    /// Of the keys that are walked through in a zone.
    func ranges(_ zone: UInt32, type: UInt32) -> [Range<IndexKey>] {
        guard let index else {
            let all = KeySpace.types.key(zone: zone).appending(type)
            return names?.map { all.appending($0).asPrefix } ?? [all.asPrefix]
        }
        return ([index] + others).flatMap { index in
            let prefix = IndexKey.declared(zone, index.number)
            if values.isEmpty { return [prefix.asPrefix] }
            return values.map { values in
                let low = values.low.map { IndexKey.declared(zone, index.number, $0) } ?? prefix
                let high = values.high.map { IndexKey.declared(zone, index.number, $0) } ?? prefix
                return low < high.afterPrefix ? low..<high.afterPrefix : low..<low
            }
        }
    }

    /// The row of a record, on a path of one value.
    func row(of name: Hash128, in zone: UInt32) -> IndexKey? {
        guard let index, let value = values.first?.low else { return nil }
        return IndexKey.declared(zone, index.number, value).appending(name)
    }

    /// The same without what is up to a record, on a path in the store's own order.
    func ranges(_ zone: UInt32, type: UInt32, behind name: Hash128) -> [Range<IndexKey>] {
        // Few, which the page leaves out that it does not want.
        if names != nil { return ranges(zone, type: type) }
        // Of one value all keys have the same length, and the name stands at their end.
        return ranges(zone, type: type).map { range in
            let first = range.lowerBound.appending(name)
            return first < range.upperBound ? first.afterPrefix..<range.upperBound : range
        }
    }

    /// What its rows have of the field by which records with that key are sorted first; nil where they
    /// are not in that order.
    func value(of key: SortKey) -> IndexedValue? {
        guard let order, let index else { return nil }
        let value = IndexedValue(key, index.form, ascending: order == .forward)
        return group.map { value.grouped(by: $0) } ?? value
    }

    /// Leaves out what is ahead of records with that key, where rows are in the order of the query.
    mutating func begin(at key: SortKey) {
        guard let value = value(of: key) else { return }
        var rest = values.first ?? Values()
        if order == .backward { rest.high = value } else { rest.low = value }
        values = [rest]
    }
}

// Finding the cheapest.
extension QueryPath {
    /// Of fewer rows all are read and sorted.
    private static let fewRows = 4096
    /// So many rows are counted to compare paths.
    private static let mostCounted = 1 << 20
    /// Of a range in which blocks tell of more they are not counted one by one.
    private static let exactLimit = 512
    /// In so many zones.
    private static let zoneLimit = 16
    /// Of so many parts of a predicate.
    private static let partLimit = 32
    /// So many values of one comparison are looked up one by one.
    static let valueLimit = 1000

    /// - Parameters:
    ///   - sorting: the field by which records are sorted first, where its values have an order.
    ///   - isDistinct: whether no record may come twice.
    init(
        _ predicate: RecordPredicate, of type: UInt32, in zones: [ZonePlace],
        sorting: (field: UInt32, ascending: Bool)?, isDistinct: Bool, _ reading: StoreReading
    ) throws(EngineError) {
        self = .scan
        let complete = reading.completeIndexes(of: type)
        let indexes = complete.filter(\.isPlain)
        var paths: [QueryPath] = []
        var parts: [RecordPredicate] = []
        for part in predicate.conjuncts.prefix(Self.partLimit) {
            parts.append(try part.numberingUsers(reading))
        }
        for index in complete where !index.isPlain {
            paths += ColumnValues(parts, index, reading.schema)?.paths(sorting) ?? []
        }
        for part in parts {
            if let names = part.recordNames(reading) { paths.append(QueryPath(names: names)) }
            paths += part.paths(indexes, reading.schema)
            guard case .search(let search) = part.form else { continue }
            paths += try Self.paths(search, of: type, indexes, in: zones, reading)
        }
        let usable = Self.merged(paths).filter { !isDistinct || !$0.mayRepeat }
        var least: Int?
        if sorting == nil, usable.count == 1 {
            // Nothing else is to be had, whatever it costs.
            self = usable[0]
        } else {
            for path in usable {
                let count = try path.count(
                    upTo: least.map { $0 + $0 / 3 + 1 } ?? Self.mostCounted, in: zones, type,
                    reading)
                if isWorse(than: path, sorting != nil, count, least) {
                    self = path
                    least = count
                }
            }
        }
        // What is found in order need not be read to its end.
        if let sorting, least ?? Self.fewRows >= Self.fewRows {
            if let sorted = paths.first(where: { $0.order != nil }) {
                self = sorted
            } else if let sorted = indexes.first(where: {
                $0.field == sorting.field && $0.form.hasOrder
                    && reading.schema.columnKind($0.field, of: type).map($0.form.fits) == true
            }) {
                self = QueryPath(
                    index: sorted, order: sorting.ascending ? .forward : .backward)
            }
        }
        intersect(paths)
    }

    /// Whether a path with `count` rows is to be preferred to this one, which has `least`; nil: it is none yet.
    ///
    /// Of many rows about as many count as the same: then those are walked through that are in the order of
    /// the query, since pages go on in them where the last one ended, and rows of other indexes can be read
    /// beside them.
    private func isWorse(than other: QueryPath, _ isSorted: Bool, _ count: Int, _ least: Int?)
        -> Bool
    {
        guard let least else { return true }
        func isInOrder(_ path: QueryPath) -> Bool {
            isSorted ? path.order != nil : path.isInStoreOrder
        }
        if count <= Self.exactLimit || isInOrder(self) == isInOrder(other) { return count < least }
        return isInOrder(other) ? count <= least + least / 3 : count < least - least / 4
    }

    private init(names: [Hash128]) {
        self.init(index: nil)
        self.names = names
    }

    /// Leaves out the records that have no row on one of these paths.
    private mutating func intersect(_ paths: [QueryPath]) {
        guard names == nil, index?.isUnique != true else { return }
        for path in paths where path.isInStoreOrder {
            guard let other = path.index, other != index || path.values != values else { continue }
            // All of an index on several fields that are walked through agree in it.
            if index?.leading.contains(other.field) == true { continue }
            intersected.append(path)
        }
    }

    init(_ index: FieldIndex, _ values: [Values], isList: Bool) {
        let values = values.count > 1 ? Array(Set(values)) : values
        self.init(index: index, values: values, mayRepeat: isList && values.count > 1)
    }

    /// Rows of an index on several fields, or of a unique one.
    ///
    /// - Parameter group: as the path has it; only then may the rows be in an order.
    init(_ index: FieldIndex, _ values: [Values], group: UInt64?, order: IndexDirection?) {
        self.init(index, values, isList: false)
        self.group = group
        if group != nil { self.order = order }
    }

    /// The rows of the words of a search, where all fields that it looks into have an index: a path for
    /// each word that is needed, or one for all.
    private static func paths(
        _ search: TokenSearch, of type: UInt32, _ indexes: [FieldIndex], in zones: [ZonePlace],
        _ reading: StoreReading
    ) throws(EngineError) -> [QueryPath] {
        let named = search.field.map { reading.schema.number($0) }
        let fields =
            if let named { [named].compactMap(\.self) } else {
                reading.schema.searchableFields(of: type)
            }
        let words = indexes.filter { $0.form == .word }
        let asked = fields.compactMap { field in words.first { $0.field == field } }
        guard !asked.isEmpty, asked.count == fields.count else { return [] }
        let values = Set(SearchWords(search.text)).map { word in
            Values(low: .word(word), high: .word(word))
        }
        guard values.count <= valueLimit else { return [] }
        if values.isEmpty {
            // Without a word it finds nothing.
            let none = Values(low: IndexedValue(hash: 1), high: IndexedValue(hash: 0))
            return [QueryPath(asked[0], [none], isList: false)]
        }
        // A record with very many words has none of their rows.
        var many: [Values] = []
        if try hasAny(.many, asked, in: zones, reading) {
            many = [Values(low: .many, high: .many)]
        }
        let lists = search.needsAll ? values.map { [$0] } : [values]
        return lists.map { values in
            var path = QueryPath(asked[0], values + many, isList: true)
            path.others = Array(asked.dropFirst())
            path.mayRepeat = path.mayRepeat || !path.others.isEmpty
            return path
        }
    }

    /// Whether a row of that value may be in any of the zones.
    private static func hasAny(
        _ value: IndexedValue, _ indexes: [FieldIndex], in zones: [ZonePlace],
        _ reading: StoreReading
    ) throws(EngineError) -> Bool {
        var isAny = zones.count > zoneLimit
        for index in indexes where !isAny {
            for zone in zones where !isAny {
                let prefix = IndexKey.declared(zone.number, index.number, value)
                try reading.scan(prefix.asPrefix) { _, _ in
                    isAny = true
                    return false
                }
            }
        }
        return isAny
    }

    /// The same with one path in place of several that are a range of one index each.
    private static func merged(_ paths: [QueryPath]) -> [QueryPath] {
        var merged: [QueryPath] = []
        for path in paths {
            let same = merged.firstIndex {
                $0.index == path.index && path.isRange && $0.isRange
            }
            if let same {
                merged[same].values = [merged[same].values[0].intersection(path.values[0])]
            } else {
                merged.append(path)
            }
        }
        return merged
    }

    /// Whether all records between two values are meant, each of which has one.
    private var isRange: Bool { index?.form.hasOrder == true && values.count == 1 }

    /// How many rows it has, as far as they are counted: of each of its ranges by the blocks between its
    /// ends or, where these say that there are few, one by one.
    private func count(
        upTo limit: Int, in zones: [ZonePlace], _ type: UInt32, _ reading: StoreReading
    ) throws(EngineError) -> Int {
        var count = 0
        for zone in zones.prefix(Self.zoneLimit) {
            for range in ranges(zone.number, type: type) where count < limit {
                let estimate = try reading.estimatedCount(range)
                if estimate > Self.exactLimit {
                    count += estimate
                    continue
                }
                // What is in memory alone is not estimated, and may be much.
                let bound = min(limit, count + Self.fewRows)
                try reading.scan(range) { _, _ in
                    count += 1
                    return count < bound
                }
            }
        }
        return count
    }
}
