internal import Stratus

struct StoreInfo: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        // Without a user there is no private database to report on.
        let database =
            session.request.user == nil
            ? session.container.publicDatabase() : try session.database()
        var report = try await StoreReport(of: session.container)
        report.count(
            zones: try await database.allRecordZones().count,
            records: try await database.usage().recordCount)
        return report.json()
    }
}

struct StoreVerify: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        let result = try await StoreVerification(of: session.container)
        var body = result.json()
        body.append("found", .array(result.findings.map { .object($0.json) }))
        return body
    }
}

struct StoreCheckpointCall: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        try await session.container.checkpoint()
        let statistics = try await session.container.indexStatistics()
        return statistics.json(replayed: session.container.recoveryReport.replayedCommits)
    }
}
