internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import StratusLanguage

/// How many records are tested in one step.
enum QueryStep {
    /// On the caller's own thread.
    static let short = 128
    /// On a thread for such work.
    static let long = 2048
}

/// A walk along a path, zone after zone, a few records at a time: a value between two steps, so that
/// a step that must wait for the disk is repeated on a thread that may.
struct QueryScan: Sendable {
    let path: QueryPath
    private let type: UInt32?
    /// By their numbers.
    private let zones: [ZonePlace]
    /// The zone that is walked through.
    private var place = 0
    /// What is left of its ranges of keys, and whether they were found out.
    private var ranges: [Range<IndexKey>]?
    private var intersection: QueryIntersection
    private(set) var skipped: SkippedDamage
    /// Of the last row that was met, in the order of the path.
    private(set) var lastValue: IndexedValue?

    /// A key that was met, of one of the ranges.
    private struct Row {
        var range: Int
        var key: IndexKey
        /// The hash of the record's name.
        var name: Hash128
    }

    /// A record that was not read yet.
    private struct Found {
        /// The hash of its name.
        var name: Hash128
        var place: EntryLocation
    }

    /// A record that is to be tested.
    struct Candidate {
        var record: Record
        var zone: UInt32
        /// The hash of its name.
        var name: Hash128
        /// Of its entry, in bytes.
        var length: Int
    }

    /// - Parameter start: where to begin, on a path in the store's own order: behind that record.
    init(
        _ path: QueryPath, of type: UInt32?, in zones: [ZonePlace],
        behind start: QueryPosition? = nil, skippingDamaged: Bool = false
    ) {
        self.path = path
        self.type = type
        self.zones = zones
        intersection = QueryIntersection(path.intersected)
        skipped = SkippedDamage(isAllowed: skippingDamaged)
        guard let start, let type, path.isInStoreOrder else { return }
        place = zones.firstIndex { $0.number >= start.zone } ?? zones.count
        guard place < zones.count, zones[place].number == start.zone else { return }
        ranges = path.ranges(start.zone, type: type, behind: start.name)
    }

    /// Gives `body` the next records, at most `count`, of those that `mayHold` says of, by zone and hash
    /// of the name, in the order in which they lie in the journal. False at the end.
    mutating func step(
        _ count: Int, of view: DatabaseView, where mayHold: (UInt32, Hash128) -> Bool,
        _ body: (Candidate) -> Void
    ) throws(EngineError) -> Bool {
        let reading = try view.reading
        // Many zones may have none of the type.
        for _ in 0..<Self.emptyZoneLimit {
            guard let type, place < zones.count else { return false }
            let zone = zones[place]
            let found = try next(count, of: type, in: zone, view, reading, mayHold)
            guard !found.isEmpty else { continue }
            try view.forEachRecord(found.map(\.place), in: zone, &skipped) { number, record in
                body(
                    Candidate(
                        record: record, zone: zone.number, name: found[number].name,
                        length: found[number].place.frameLength))
            }
            return true
        }
        return true
    }

    /// So many zones in which nothing is found are passed in one step.
    private static let emptyZoneLimit = 64

    /// Finds the next records in a zone.
    private mutating func next(
        _ count: Int, of type: UInt32, in zone: ZonePlace, _ view: DatabaseView,
        _ reading: StoreReading, _ mayHold: (UInt32, Hash128) -> Bool
    ) throws(EngineError) -> [Found] {
        let shared = try view.sharedZone(zone, reading)
        var ranges = ranges ?? path.ranges(zone.number, type: type)
        var rows: [Row] = []
        var rowCount = 0
        var last: IndexKey?
        var rest: Row?
        for (number, range) in ranges.enumerated() where rest == nil {
            try reading.scan(range, path.order ?? .forward) { key, value in
                guard let name = key.namedRecord else { return true }
                let row = Row(range: number, key: key, name: name)
                guard rowCount < count else {
                    rest = row
                    return false
                }
                rowCount += 1
                last = key
                // Of a type: a record of another one may have taken the name.
                if path.index == nil, EntryLocation(value).isDeleted { return true }
                if mayHold(zone.number, name) { rows.append(row) }
                return true
            }
        }
        let common = try intersection.common(rows.lazy.map(\.name), in: zone.number, reading)
        var found: [Found] = []
        found.reserveCapacity(rows.count)
        var names: Set<Hash128> = []
        var length = 0
        for (place, row) in rows.enumerated() {
            guard length < Page.lengthLimit else {
                rest = row
                last = rows[place - 1].key
                break
            }
            let name = row.name
            if let common, !common.contains(name) { continue }
            // Read once, though it has several of the rows.
            if path.mayRepeat, !names.insert(name).inserted { continue }
            guard try shared?.mayRead(name, view, reading) ?? true else { continue }
            let value = try reading.value(.record(zone.number, name))
            if let place = value.map({ EntryLocation($0) }), !place.isDeleted {
                found.append(Found(name: name, place: place))
                length += place.frameLength
            }
        }
        if path.index != nil { lastValue = last?.indexedValue ?? lastValue }
        if let rest {
            ranges.removeFirst(rest.range)
            ranges[0] =
                path.order == .backward
                ? ranges[0].lowerBound..<rest.key.afterPrefix : rest.key..<ranges[0].upperBound
            self.ranges = ranges
        } else {
            endZone()
        }
        return found
    }

    /// No more of the zone is looked at.
    mutating func endZone() {
        place += 1
        ranges = nil
        lastValue = nil
    }
}

extension DatabaseView {
    /// Gives `body` the records at some places of a zone that the caller may read, as it sees them, each
    /// with its number in `places`, in the order in which they lie in the journal.
    func forEachRecord(
        _ places: [EntryLocation], in zone: ZonePlace, _ skipped: inout SkippedDamage,
        _ body: (Int, Record) -> Void
    ) throws(EngineError) {
        let reading = try reading
        var users = UserNames(reading)
        let id = try sharedID(of: zone, reading)
        let reader = try PublicReader(self, reading)
        try reading.forEachReadable(places, &skipped) { number, entry throws(EngineError) in
            let record = try reading.record(entry, in: id, &users)
            if reader?.refusal(of: record) != nil { return }
            body(number, try reading.shown(record, to: principal, in: scope))
        }
    }

    /// The zones that a query looks into, by their numbers: one or, where none is named, all of a
    /// private database and the default zone of the public one.
    func queriedZones(_ id: RecordZone.ID?) throws(EngineError) -> [ZonePlace] {
        let reading = try reading
        if case .shared = scope, id == nil {
            throw .refused(
                .invalidArguments, "a query of the shared database is one of a zone")
        }
        if let id = id ?? (scope == .public ? .default : nil) {
            return try usedZone(id, reading).map { [$0.place] } ?? []
        }
        try checkHasAll()
        return try livingPlaces(reading).sorted { $0.number < $1.number }
    }
}
