internal import StratusEngine
internal import StratusIndex
internal import StratusLanguage

/// Something that is found out by looking at many records, a few at a time.
protocol QueryWork: Sendable {
    /// Looks at the next records, at most `count`. False once there is no more to do. After an error
    /// this is of no use: ``QueryProgress`` keeps the one of before.
    mutating func step(_ count: Int, of view: DatabaseView) throws(EngineError) -> Bool
}

/// A work between two steps.
struct QueryProgress<Work: QueryWork>: Sendable {
    private(set) var work: Work
    private(set) var isDone = false

    init(_ work: Work) { self.work = work }

    /// The same after a step.
    func after(_ count: Int, of view: DatabaseView) throws(EngineError) -> QueryProgress {
        var progress = self
        progress.isDone = try !progress.work.step(count, of: view)
        return progress
    }
}

/// Finds a page of a query.
struct QueryRun: QueryWork {
    private let plan: QueryPlan
    private let desiredKeys: [String]?
    private let limit: Int
    private var scan: QueryScan
    private var rows: QueryRows

    init(
        _ query: Query, in zone: RecordZone.ID?, of view: DatabaseView, _ profile: Profile?,
        desiredKeys: [String]?, resultsLimit: Int?, from cursor: QueryPage.Cursor?,
        skippingDamaged: Bool
    ) throws(EngineError) {
        plan = try QueryPlan(query, in: zone, of: view, profile)
        let reading = try view.reading
        try cursor?.check(plan, reading.identity)
        self.desiredKeys = desiredKeys
        let page = Page(resultsLimit)
        limit = page.limit
        rows = QueryRows(page, behind: cursor?.position)
        let zones = try view.queriedZones(zone)
        var path = try plan.path(in: zones, isDistinct: false, reading)
        if let cursor { path.begin(at: cursor.position.key) }
        scan = QueryScan(
            path, of: plan.type, in: zones, behind: plan.isSorted ? nil : cursor?.position,
            skippingDamaged: skippingDamaged)
    }

    mutating func step(_ count: Int, of view: DatabaseView) throws(EngineError) -> Bool {
        let path = scan.path
        // What comes in order need not be read far beyond the page, but for rows of which few may stay.
        let some = limit + limit / 16 + 2
        let least = path.intersected.isEmpty ? some : max(some, QueryStep.short)
        let count = path.order == nil ? count : min(count, least)
        let (window, isSorted) = (rows.window, plan.isSorted)
        var rows = rows
        let isMore = try scan.step(count, of: view) { zone, name in
            isSorted || window.mayHold(zone, name)
        } _: { candidate in
            guard let key = plan.key(of: candidate.record) else { return }
            let position = QueryPosition(key: key, zone: candidate.zone, name: candidate.name)
            rows.add(candidate.record, at: position, length: candidate.length)
        }
        self.rows = rows
        guard isMore else { return false }
        if let order = path.order { endZone(order) }
        return !path.isInStoreOrder || isSorted || !rows.isFull
    }

    /// Ends the walk through a zone once all that follows is behind the page.
    private mutating func endZone(_ order: IndexDirection) {
        rows.cut()
        guard let bound = rows.window.bound, let last = scan.lastValue,
            let end = scan.path.value(of: bound.key)
        else { return }
        if order == .forward ? end < last : last < end { scan.endZone() }
    }

    /// What was found, once all is done.
    mutating func finish(_ view: DatabaseView) throws(EngineError) -> QueryPage {
        let identity = try view.reading.identity
        let (records, end) = rows.finish()
        return QueryPage(
            records: desiredKeys == nil ? records : records.map { $0.showing(desiredKeys) },
            skipped: scan.skipped.errors,
            cursor: end.map { QueryPage.Cursor($0, of: plan, identity) })
    }
}
