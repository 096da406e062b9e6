internal import StratusEngine
internal import StratusLanguage

/// What can be said of all records that a query finds. Beyond CloudKit.
public struct QueryTotals: Sendable, Equatable {
    /// How many there are.
    public internal(set) var count = 0
    /// How many of them have a value in the field, which is no list.
    public internal(set) var valueCount = 0
    /// The sum of the numbers in the field: an integer where all are and it is not too large, else
    /// rounded, in no certain order. Nil where there are none.
    public internal(set) var sum: RecordValue?
    /// The first value in the order of sorting, of equal ones that of the first record in the store's
    /// own order; nil where there is none that has an order.
    public internal(set) var minimum: RecordValue?
    /// The last value, likewise.
    public internal(set) var maximum: RecordValue?
}

/// Adds up what a query finds: from the rows of an index, where these tell all of it, or else from the
/// records.
struct QuerySum: QueryWork {
    private enum Source {
        case rows(CoveringRows)
        case records(QueryScan, QueryPlan)
    }

    private let field: String?
    private var source: Source
    private var sum: RunningTotals

    init(
        _ query: Query, of field: String?, in zone: RecordZone.ID?, of view: DatabaseView,
        _ profile: Profile?
    ) throws(EngineError) {
        let plan = try QueryPlan(query, in: zone, of: view, profile)
        self.field = field
        let equality = try field.map { field throws(EngineError) in
            try view.reading.schema.equality(field, of: plan.type)
        }
        sum = RunningTotals(equality ?? .folded)
        if let field { try plan.checkSummable(field, view.reading) }
        let zones = try view.queriedZones(zone)
        if let rows = try CoveringRows(plan, of: field, in: zones, view) {
            source = .rows(rows)
        } else {
            let path = try plan.path(in: zones, isDistinct: true, view.reading)
            source = .records(QueryScan(path, of: plan.type, in: zones), plan)
        }
    }

    mutating func step(_ count: Int, of view: DatabaseView) throws(EngineError) -> Bool {
        switch source {
        case .rows(var rows):
            let isMore = try rows.step(count, of: view, &sum)
            source = .rows(rows)
            return isMore
        case .records(var scan, let plan):
            let isMore = try scan.step(count, of: view) { _, _ in
                true
            } _: { candidate in
                guard plan.key(of: candidate.record) != nil else { return }
                sum.add(
                    field.flatMap { candidate.record[$0] },
                    at: QueryPosition(
                        key: SortKey(), zone: candidate.zone, name: candidate.name))
            }
            source = .records(scan, plan)
            return isMore
        }
    }

    /// What was found so far.
    var totals: QueryTotals { sum.totals }
}

/// Totals of the records that were met so far.
struct RunningTotals {
    private var found = QueryTotals()
    /// Of the integers, which are too few to overflow it, and of the other numbers.
    private var integers: Int128?
    private var reals: Double?
    private var least: Extreme?
    private var greatest: Extreme?
    /// Of strings.
    private let equality: TextEquality

    init(_ equality: TextEquality) { self.equality = equality }

    /// Adds so many records, without a field.
    mutating func add(count: Int) { found.count += count }

    private struct Extreme {
        var key: SortKey
        /// Of the record that has it.
        var place: QueryPosition?

        func isBefore(_ place: QueryPosition?) -> Bool {
            if let own = self.place, let place { own < place } else { true }
        }
    }

    /// Adds a record, by its value in the field and its place in the store's own order; nil: equal values
    /// are the same.
    mutating func add(_ value: RecordValue?, at place: QueryPosition? = nil) {
        found.count += 1
        guard let value else { return }
        if case .list = value { return }
        found.valueCount += 1
        switch value {
        case .int64(let number): integers = (integers ?? 0) + Int128(number)
        case .double(let number): reals = (reals ?? 0) + number
        default: break
        }
        var key = SortKey()
        key.append(PredicateValue(value), equality)
        guard key.beginsWithValue else { return }
        let new = Extreme(key: key, place: place)
        if least.map({ key < $0.key || key == $0.key && !$0.isBefore(place) }) ?? true {
            (least, found.minimum) = (new, value)
        }
        if greatest.map({ $0.key < key || key == $0.key && !$0.isBefore(place) }) ?? true {
            (greatest, found.maximum) = (new, value)
        }
    }

    var totals: QueryTotals {
        var totals = found
        if let reals {
            totals.sum = .double(reals + Double(integers ?? 0))
        } else if let integers {
            totals.sum = Int64(exactly: integers).map { .int64($0) } ?? .double(Double(integers))
        }
        return totals
    }
}
