internal import StratusEngine
internal import StratusIndex
internal import StratusLanguage

/// How a query finds its records. Beyond CloudKit.
public struct QueryExplanation: Sendable, Hashable {
    /// An index that a query could use if it were declared.
    public struct MissingIndex: Sendable, Hashable {
        /// The field.
        public var field: String
        /// What the index would serve.
        public var option: RecordIndex.Option
    }

    /// The index that is read; nil: all records of the type are looked at, or those that are named.
    public var index: RecordIndex?
    /// Indexes that are read beside it, so that only records are looked at that all of them have: each
    /// once, in no order that counts.
    public var intersected: [RecordIndex]
    /// Whether only the records are looked at that the query names.
    public var isByName: Bool
    /// Whether the records come in the order that was asked for, so that a page ends the search.
    public var isInOrder: Bool
    /// Indexes that are not there, and that might serve the query better.
    public var missing: [MissingIndex]
}

extension Database {
    /// How ``records(matching:inZoneWith:desiredKeys:resultsLimit:from:skippingDamaged:)`` would find
    /// its records now.
    ///
    /// - Throws: as that does.
    public nonisolated(nonsending) func explanation(
        of query: Query, inZoneWith zoneID: RecordZone.ID? = nil
    ) async throws(StoreError) -> QueryExplanation {
        let profile = container.limits?.profile
        return try await read { view throws(EngineError) in
            let plan = try QueryPlan(query, in: zoneID, of: view, profile)
            // The path tells how many records there are.
            try view.checkReadsAll()
            return try plan.explanation(in: view.queriedZones(zoneID), view.reading)
        }
    }
}

extension DatabaseSnapshot {
    /// How a query of this state finds its records: as of ``Database``.
    public func explanation(
        of query: Query, inZoneWith zoneID: RecordZone.ID? = nil
    ) throws(StoreError) -> QueryExplanation {
        try answer { view throws(EngineError) in
            let plan = try QueryPlan(query, in: zoneID, of: view, snapshot.profile)
            // The path tells how many records there are.
            try view.checkReadsAll()
            return try plan.explanation(in: view.queriedZones(zoneID), view.reading)
        }
    }
}

extension QueryPlan {
    fileprivate func explanation(
        in zones: [ZonePlace], _ reading: StoreReading
    ) throws(EngineError) -> QueryExplanation {
        let path = try path(in: zones, isDistinct: false, reading)
        let index = path.index.flatMap { RecordIndex($0, reading.schema) }
        var intersected: [RecordIndex] = []
        for other in path.intersected {
            let other = other.index.flatMap { RecordIndex($0, reading.schema) }
            if let other, !intersected.contains(other) { intersected.append(other) }
        }
        return QueryExplanation(
            index: index, intersected: intersected, isByName: path.names != nil,
            isInOrder: isSorted ? path.order != nil : path.isInStoreOrder,
            missing: try wantedIndexes(reading))
    }

    /// Those that would serve a part of the predicate or the order, and are not complete.
    private func wantedIndexes(
        _ reading: StoreReading
    ) throws(EngineError) -> [QueryExplanation.MissingIndex] {
        guard let type else { return [] }
        var missing: [QueryExplanation.MissingIndex] = []
        for wanted in wantedFields {
            guard let (option, form) = try wanted.index(ofType: type, reading),
                let field = reading.schema.columnNumber(wanted.name)
            else { continue }
            let isThere = reading.completeIndexes(of: type).contains {
                $0.columns == [field]
                    && ($0.form == form || $0.isUnique && option == .queryable)
            }
            let index = QueryExplanation.MissingIndex(field: wanted.name, option: option)
            if !isThere, !missing.contains(index) { missing.append(index) }
        }
        return missing
    }
}

extension QueryPlan.WantedField {
    /// The first of the options of which the rows tell what they have to.
    fileprivate func index(
        ofType type: UInt32, _ reading: StoreReading
    ) throws(EngineError) -> (option: RecordIndex.Option, form: FieldIndex.Form)? {
        let schema = reading.schema
        guard let field = schema.columnNumber(name), let kind = schema.columnKind(field, of: type)
        else { return nil }
        let isBinary = schema.binaryColumns.contains(Schema.Column(type: type, field: field))
        let part = try part?.numberingUsers(reading)
        for option in options {
            guard let form = option.form(kind, of: field) else { continue }
            let index = FieldIndex(
                number: 0, type: type, field: field, binaryColumns: isBinary ? [field] : [],
                form: form)
            if part?.paths([index], schema).isEmpty != true { return (option, form) }
        }
        return nil
    }
}
