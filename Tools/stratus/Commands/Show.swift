import FoundationEssentials
import Stratus
import StratusGateway

/// Commands that show what is in a store.
enum Show {
    static func info(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let snapshot = try await invocation.snapshot(of: container)
        let holdings = try Holdings(invocation.databases(of: container, at: snapshot))
        guard !invocation.has("at") else {
            try write(holdings, of: container, at: snapshot, invocation, output)
            return .ok
        }
        var store = try await StoreReport(of: container)
        store.count(zones: holdings.zoneCount, records: holdings.recordCount)
        let history = try await container.history()
        let (information, report, statistics) = (
            store.information, store.recovery, store.statistics
        )
        if let place = report.discardedCheckpoint {
            output.warning(
                "checkpoint.discarded",
                "the checkpoint is of no use (\(place.kind)): the whole journal was read; "
                    + "'stratus reindex STORE' makes another", file: place.file)
        }
        if let place = report.manifestDamage {
            output.warning(
                "manifest.copied",
                "one of the two copies of the manifest is damaged (\(place.kind)), the other was "
                    + "read; 'stratus reindex STORE' rebuilds both", file: place.file)
        }
        let writer = try container.writer()
        var object = store.json(path: invocation.argument("STORE"))
        object.append("writer", writer.map(JSONValue.string))
        object.append("history", .string(history.policy.text))
        object.append("historyFrom", history.floor.map(JSONValue.offset))
        object.append("deletions", .string(history.deletions.text))
        try output.object("info", object)
        let state =
            if writer != nil {
                "being written"
            } else if report.possibleLoss {
                "not closed cleanly; the last group is damaged and may have been acknowledged"
            } else {
                report.wasClean ? "closed cleanly" : "not closed cleanly"
            }
        var lines: [(String, String)] = [
            ("store", invocation.argument("STORE")), ("id", information.storeID),
            ("created", output.date(information.created)),
            ("last commit", information.lastCommit.map { output.date($0) } ?? "none"),
            ("format", String(information.formatVersion)),
            ("environment", information.environment.rawValue), ("state", state),
            ("writer", writer ?? "none"),
            ("head", "offset \(information.head)"),
            (
                "journal",
                "\(Quantities.size(UInt64(information.journalLength))) in "
                    + Quantities.count(information.segmentCount, "segment")
            ),
            ("checkpoint", statistics.checkpointText),
            (
                "history",
                history.policy.text + (history.floor.map { ", from offset \($0)" } ?? "")
            ),
            ("deletions", "remembered: \(history.deletions.text)"),
        ]
        lines += holdings.lines(users: information.userCount)
        try write(lines, to: output)
        return .ok
    }

    /// Writes what a store held at an earlier moment. What its files are like is known as of now alone.
    private static func write(
        _ holdings: Holdings, of container: Container, at snapshot: Snapshot,
        _ invocation: Invocation, _ output: Output
    ) throws {
        let (path, users) = (invocation.argument("STORE"), try snapshot.allUsers().count)
        let storeID = container.information.storeID
        try output.object(
            "info",
            [
                "path": .string(path), "storeID": .string(storeID),
                "offset": .offset(snapshot.offset), "users": .integer(users),
                "zones": .integer(holdings.zoneCount), "records": .integer(holdings.recordCount),
            ])
        let lines = [("store", path), ("id", storeID), ("as of", "offset \(snapshot.offset)")]
        try write(lines + holdings.lines(users: users), to: output)
    }

    static func records(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        var listing = try Listing(invocation)
        let filter = try RecordFilter(invocation)
        let container = try await invocation.openStore()
        let database = try await invocation.readDatabase(of: container)
        let zoneID = try invocation.zoneID(in: container)
        let type = invocation.value("type")
        let fields = listing.isCount ? filter.fields : nil
        let (skipsDamaged, isReversed) = (
            invocation.has("skip-damaged"), invocation.has("reverse")
        )
        func reading(_ left: Int, from cursor: RecordPage.Cursor?) -> Task<RecordPage, any Error> {
            let limit = filter.takesAll ? min(left, 1000) : 1000
            return Task {
                try database.records(
                    inZoneWith: zoneID, type: type, desiredKeys: fields, resultsLimit: limit,
                    from: cursor, skippingDamaged: skipsDamaged, reversed: isReversed)
            }
        }
        var hasSkipped = false
        try listing.begin(output, schema: "stratus.records/1", columns: "record  type  tag")
        var next: Task<RecordPage, any Error>? = reading(listing.left, from: nil)
        while !listing.isFull, let page = try await next.take()?.value {
            // The next one is read while this one is written.
            let left = filter.takesAll ? listing.left - page.records.count : listing.left
            if let cursor = page.cursor, left > 0 { next = reading(left, from: cursor) }
            output.skipped(page.skipped)
            hasSkipped = hasSkipped || !page.skipped.isEmpty
            for record in page.records where !listing.isFull && filter.takes(record) {
                try listing.take {
                    let name = Output.escaped(record.recordID.recordName)
                    try output.result(
                        "record", record.json,
                        text: "\(name)  \(record.recordType)  \(record.recordChangeTag ?? "")")
                }
            }
        }
        try listing.finish(output)
        return hasSkipped ? .partial : .ok
    }

    static func record(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let record = try await invocation.readDatabase(of: container).record(
            for: invocation.recordID(in: container))
        try output.object("record", record.json)
        try write(record.lines(output), to: output)
        return .ok
    }

    static func write(_ lines: [(name: String, value: String)], to output: Output) throws {
        let width = lines.map(\.name.count).max() ?? 0
        for (name, value) in lines {
            let space = String(repeating: " ", count: width - name.count + 2)
            try output.line(Output.escaped(name) + space + Output.escaped(value))
        }
    }
}

/// How much databases hold at one moment.
private struct Holdings {
    /// So many of them are shown.
    private static let shownDatabases = 10

    private let databases: [(listed: ListedDatabase, zones: Int, records: Int)]

    init(_ databases: [ListedDatabase]) throws {
        self.databases = try databases.map {
            ($0, try $0.database.zoneCount(), try $0.database.usage().recordCount)
        }
    }

    var zoneCount: Int { databases.reduce(0) { $0 + $1.zones } }
    var recordCount: Int { databases.reduce(0) { $0 + $1.records } }

    /// All together, and each database, so that a user need not search them.
    func lines(users: Int) -> [(String, String)] {
        var lines = [
            ("users", Quantities.count(UInt64(users))),
            ("zones", Quantities.count(UInt64(zoneCount))),
            ("records", Quantities.count(UInt64(recordCount))),
        ]
        for (listed, zones, records) in databases.prefix(Self.shownDatabases) {
            let held = Quantities.count(zones, "zone") + ", " + Quantities.count(records, "record")
            lines.append(
                listed.recordName == nil ? ("public", held) : ("user", "\(listed.text): \(held)"))
        }
        if databases.count > Self.shownDatabases {
            let rest = Quantities.count(databases.count - Self.shownDatabases, "user")
            lines.append(("more", "\(rest): 'stratus users STORE' lists them"))
        }
        return lines
    }
}
