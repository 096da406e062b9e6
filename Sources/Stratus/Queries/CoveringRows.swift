internal import FoundationEssentials
internal import StratusEngine
internal import StratusIndex
internal import StratusLanguage

/// A walk through rows of which there is one for each record that a query finds, and none for any
/// other, so that no record has to be read to count them or to add up a field.
struct CoveringRows: Sendable {
    private let path: QueryPath
    private let type: UInt32
    /// The kind of the numbers that are added up; nil: records are counted only.
    private let kind: ValueKind?
    /// By their numbers.
    private let zones: [ZonePlace]
    /// The zone that is walked through, and what is left of it.
    private var place = 0
    private var rest: Range<IndexKey>?

    /// So many rows are walked over in the time in which a record is read.
    private static let rowsPerRecord = 32

    /// Nil where records have to be read: since the rows do not tell all, or the caller may not read
    /// all of them.
    init?(
        _ plan: QueryPlan, of field: String?, in zones: [ZonePlace], _ view: DatabaseView
    ) throws(EngineError) {
        let reading = try view.reading
        guard !view.isShared, try PublicReader(view, reading) == nil, let type = plan.type,
            let (path, kind) = plan.coveringPath(of: field, reading)
        else { return nil }
        self.path = path
        self.type = type
        self.kind = field == nil ? nil : kind
        self.zones = zones
    }

    /// Adds up the next rows. False at the end.
    mutating func step(
        _ count: Int, of view: DatabaseView, _ sum: inout RunningTotals
    ) throws(EngineError) -> Bool {
        let reading = try view.reading
        var left = count * Self.rowsPerRecord
        let (ofType, kind) = (path.index == nil, kind)
        while place < zones.count, left > 0 {
            let zone = zones[place].number
            guard let range = rest ?? path.ranges(zone, type: type).first else { break }
            if !ofType, kind == nil {
                let (found, rest) = try reading.count(range, upTo: left)
                sum.add(count: found)
                left -= found
                self.rest = rest
                if rest == nil { place += 1 }
                continue
            }
            var next: IndexKey?
            try reading.scan(range) { key, value in
                guard left > 0 else {
                    next = key
                    return false
                }
                left -= 1
                // Of a type: a record of another one may have taken the name.
                if !ofType || !EntryLocation(value).isDeleted {
                    sum.add(kind.flatMap { key.indexedNumber?.value(of: $0) })
                }
                return true
            }
            rest = next.map { $0..<range.upperBound }
            if next == nil { place += 1 }
        }
        return place < zones.count
    }
}

extension UInt64 {
    /// The value of a number or date that stands so in an index.
    fileprivate func value(of kind: ValueKind) -> RecordValue? {
        let number = Double(bitPattern: self >> 63 == 1 ? self ^ 1 << 63 : ~self)
        return switch kind {
        case .int64: .int64(Int64(bitPattern: self ^ 1 << 63))
        case .double: .double(number)
        case .date: .date(Date(timeIntervalSinceReferenceDate: number))
        default: nil
        }
    }
}
