internal import StratusBytes
internal import StratusEngine
internal import StratusIndex

/// The rows of unique indexes that a commit adds and removes in a zone: what tells whether two records
/// would have the same values once it is done.
struct UniqueRows {
    /// An item that is to fail, since another record has the values that it wants.
    struct Conflict {
        var item: Int
        var index: UInt32
        var other: Hash128
    }

    /// A row that an item adds, its key without the record.
    private struct Wanted {
        var key: IndexKey
        var index: UInt32
        var name: Hash128
        var item: Int
    }

    /// In the order of the items.
    private var wanted: [Wanted] = []
    /// Rows that go with a record, and those that go with a save of it.
    private var deleted: Set<IndexKey> = []
    private var left: [IndexKey: Int] = [:]

    /// Notes what an entry says of a record; a tombstone belongs to no item.
    mutating func add(
        _ rows: IndexStatement, of recordName: String, in zone: ZonePlace, item: Int? = nil,
        _ reading: StoreReading
    ) {
        for row in rows.rows where reading.indexes.isUnique(row.index) {
            let name = reading.hash(recordName)
            let key = IndexKey.declared(zone.number, row.index, row.value)
            switch (item, row.isRemoved) {
            case (nil, _): deleted.insert(key.appending(name))
            case (let item?, true): left[key.appending(name)] = item
            case (let item?, false):
                wanted.append(Wanted(key: key, index: row.index, name: name, item: item))
            }
        }
    }

    /// Whether nothing that it knows can be in conflict.
    var isEmpty: Bool { wanted.isEmpty }

    /// The items that cannot be done: those that want values which a record keeps, and of others that
    /// want the same all but the first. An item that fails leaves its record the values that it has.
    ///
    /// - Parameters:
    ///   - ranges: on which rows that relies.
    ///   - isThere: whether a record stays that the commit does not save.
    func conflicts(
        _ reading: StoreReading, relyingOn ranges: inout [Range<IndexKey>],
        where isThere: (Hash128) throws(EngineError) -> Bool
    ) throws(EngineError) -> [Int: Conflict] {
        var outcome = Outcome()
        var kept: [Conflict] = []
        for row in wanted {
            ranges.append(row.key.asPrefix)
            try reading.scan(row.key.asPrefix) { key, _ throws(EngineError) in
                guard let name = key.namedRecord, name != row.name, !deleted.contains(key) else {
                    return true
                }
                let conflict = Conflict(item: row.item, index: row.index, other: name)
                if let item = left[key] {
                    outcome.waiting[item, default: []].append(conflict)
                } else if try isThere(name) {
                    kept.append(conflict)
                    return false
                }
                return true
            }
        }
        for conflict in kept { outcome.fail(conflict) }
        // Where one fails along that had taken values, others may have them after all.
        while !take(&outcome) {}
        return outcome.conflicts
    }

    private struct Outcome {
        var conflicts: [Int: Conflict] = [:]
        /// By items: who fails where they do.
        var waiting: [Int: [Conflict]] = [:]

        mutating func fail(_ first: Conflict) {
            var next = [first]
            while let conflict = next.popLast() {
                if conflicts[conflict.item] != nil { continue }
                conflicts[conflict.item] = conflict
                next += waiting[conflict.item] ?? []
            }
        }
    }

    /// Gives each item its values, in their order, unless one before it has them. False where it has
    /// given some to an item that fails.
    private func take(_ outcome: inout Outcome) -> Bool {
        var takers: [IndexKey: Wanted] = [:]
        var start = 0
        while start < wanted.count {
            let item = wanted[start].item
            let end = wanted[start...].firstIndex { $0.item != item } ?? wanted.count
            let rows = wanted[start..<end]
            start = end
            if outcome.conflicts[item] != nil { continue }
            if let row = rows.first(where: { takers[$0.key] != nil }), let taker = takers[row.key] {
                outcome.fail(Conflict(item: item, index: row.index, other: taker.name))
                if takers.values.contains(where: { outcome.conflicts[$0.item] != nil }) {
                    return false
                }
            } else {
                for row in rows { takers[row.key] = row }
            }
        }
        return true
    }
}

extension RecordBatch {
    /// The items that would give a record values that another one has, under a unique index.
    ///
    /// - Parameter isThere: whether a record stays that the commit does not save.
    func duplicates(
        _ encoder: borrowing RecordEncoder, _ draft: inout Draft,
        where isThere: (Hash128) throws(EngineError) -> Bool = { _ in true }
    ) throws(EngineError) -> [Int: StoreError] {
        if encoder.unique.isEmpty { return [:] }
        let (reading, zone) = (encoder.reading, encoder.zone)
        var ranges: [Range<IndexKey>] = []
        let conflicts = try encoder.unique.conflicts(
            reading, relyingOn: &ranges, where: isThere)
        // A serial preparation excludes other commits.
        if !encoder.context.isSerial { draft.readRanges += ranges }
        if conflicts.isEmpty { return [:] }
        var saved: [Hash128: Record.ID] = [:]
        for (item, result) in zip(items, draft.results) where !result.hasFailed {
            if case .save(let record, _) = item {
                saved[reading.hash(record.recordID.recordName)] = record.recordID
            }
        }
        var failures: [Int: StoreError] = [:]
        for (item, conflict) in conflicts {
            var other = saved[conflict.other]
            if other == nil { other = try readable(conflict.other, in: zone, reading) }
            failures[item] = StoreError.duplicate(reading.columns(of: conflict.index), of: other)
                .with(items[item].recordID)
        }
        return failures
    }

    /// A record that the caller may read; nil where it may not.
    private func readable(
        _ name: Hash128, in zone: ZonePlace, _ reading: StoreReading
    ) throws(EngineError) -> Record.ID? {
        guard let id = try reading.recordID(name, in: zone, as: zoneID),
            try sees(id.recordName, reading)
        else { return nil }
        if let reader = try publicReader(reading),
            let place = try reading.value(.record(zone.number, name)),
            try !reader.mayRead(EntryLocation(place), reading)
        {
            return nil
        }
        return id
    }
}

extension StoreReading {
    /// The names of the fields of an index.
    func columns(of index: UInt32) -> [String] {
        indexes.all[Int(index)].columns.compactMap { schema.columnName($0) }
    }

    /// A record that is there, by the hash of its name; `id` is its zone.
    func recordID(
        _ name: Hash128, in zone: ZonePlace, as id: RecordZone.ID
    ) throws(EngineError) -> Record.ID? {
        guard let value = try value(.record(zone.number, name)) else { return nil }
        return try entry(EntryLocation(value)).recordName.map {
            Record.ID(recordName: $0, zoneID: id)
        }
    }
}

extension StoreError {
    /// That a record would have the same values in these fields as another one, if that may be named.
    static func duplicate(_ fields: [String], of other: Record.ID?) -> StoreError {
        let record = other.map { "record '\($0.recordName)'" } ?? "another record"
        let values = fields.count == 1 ? "the same value" : "the same values"
        var error = StoreError(
            .constraintViolation, "\(record) has \(values) in \(quoted(fields))")
        error.cause = .duplicate(fields: fields, of: other)
        return error
    }

    /// That an index of these fields cannot be unique: some of the records in the way, and how many there
    /// are.
    static func notUnique(
        _ fields: [String], _ duplicates: [StoreError], _ count: Int
    ) -> StoreError {
        let listed = duplicates.prefix(10).map { duplicate in
            "\(duplicate.recordID?.recordName ?? ""): \(duplicate.reason)"
        }
        var error = StoreError(
            .constraintViolation,
            "\(quoted(fields)) cannot be unique, \(count) records have what another one has: "
                + listed.joined(separator: "; ") + (count > listed.count ? "; …" : ""))
        error.partialErrors = Dictionary(
            duplicates.compactMap { duplicate in duplicate.item.map { ($0, duplicate) } },
            uniquingKeysWith: { first, _ in first })
        return error
    }

    private static func quoted(_ names: [String]) -> String {
        names.map { "'\($0)'" }.joined(separator: ", ")
    }
}
