internal import StratusBytes
internal import StratusEngine
internal import StratusLanguage

/// The records that a query finds, in whatever order is fastest: for those who bring them into order
/// outside of memory, where each page would look at all of them again.
package struct QueryWalk {
    /// A record that was found. One may be found twice.
    package struct Found {
        package let recordID: Record.ID
        /// Bytes in whose order the records come that the query asks for.
        package let order: [UInt8]
        /// Of its entry, in bytes.
        package let length: Int
    }

    /// Whether they come in the order that the query asks for, so that no page of it looks at the
    /// records of others.
    package let isInOrder: Bool

    private let database: DatabaseSnapshot
    private let plan: QueryPlan
    private var scan: QueryScan
    private var isAtEnd = false

    /// Why records that may belong here are missing: as of ``QueryPage/skipped``.
    package var skipped: [StoreError] { scan.skipped.errors }

    fileprivate init(_ database: DatabaseSnapshot, _ plan: QueryPlan, _ scan: QueryScan) {
        self.database = database
        self.plan = plan
        self.scan = scan
        isInOrder = plan.isSorted ? scan.path.order != nil : scan.path.isInStoreOrder
    }

    /// The next ones, which may be none; nil at the end.
    package mutating func next() throws(StoreError) -> [Found]? {
        if isAtEnd { return nil }
        var (scan, found) = (scan, [Found]())
        let isMore = try database.answer { view throws(EngineError) in
            try scan.step(QueryStep.long, of: view, where: { _, _ in true }) { candidate in
                guard let key = plan.key(of: candidate.record) else { return }
                let position = QueryPosition(key: key, zone: candidate.zone, name: candidate.name)
                found.append(
                    Found(
                        recordID: candidate.record.recordID, order: position.bytes,
                        length: candidate.length))
            }
        }
        self.scan = scan
        isAtEnd = !isMore
        return found
    }
}

extension DatabaseSnapshot {
    /// All that a query finds, unordered.
    ///
    /// - Throws: as ``records(matching:inZoneWith:desiredKeys:resultsLimit:from:skippingDamaged:)``.
    package func walk(
        matching query: Query, inZoneWith zoneID: RecordZone.ID? = nil,
        skippingDamaged: Bool = false
    ) throws(StoreError) -> QueryWalk {
        try answer { view throws(EngineError) in
            let plan = try QueryPlan(query, in: zoneID, of: view, snapshot.profile)
            let zones = try view.queriedZones(zoneID)
            let path = try plan.path(in: zones, isDistinct: false, view.reading)
            return QueryWalk(
                self, plan,
                QueryScan(path, of: plan.type, in: zones, skippingDamaged: skippingDamaged))
        }
    }
}

extension QueryPosition {
    /// In the order of positions. No key is the beginning of another one.
    fileprivate var bytes: [UInt8] {
        var bytes = key.bytes
        for (value, width) in [(UInt64(zone), 4), (name.high, 8), (name.low, 8)] {
            for place in (0..<width).reversed() {
                bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * place)))
            }
        }
        return bytes
    }
}
