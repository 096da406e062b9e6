import FoundationEssentials
import Stratus
import StratusGateway

/// Commands that show what is in a store.
enum Show {
    /// So many databases `info` shows.
    private static let shownDatabases = 10

    static func info(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let databases = try await invocation.databases(of: container)
        var store = try await StoreReport(of: container)
        var counts: [(zones: Int, records: Int)] = []
        for listed in databases {
            let count = (
                zones: try listed.database.zoneCount(),
                records: try listed.database.usage().recordCount
            )
            store.count(zones: count.zones, records: count.records)
            counts.append(count)
        }
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
                    + "read; 'stratus reindex STORE' writes both anew", file: place.file)
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
            ("users", Quantities.count(UInt64(information.userCount))),
            ("zones", Quantities.count(UInt64(store.zoneCount))),
            ("records", Quantities.count(UInt64(store.recordCount))),
        ]
        // How much each database holds, so that a user need not search them.
        for (listed, count) in zip(databases, counts).prefix(shownDatabases) {
            let held =
                Quantities.count(count.zones, "zone") + ", "
                + Quantities.count(count.records, "record")
            lines.append(
                listed.recordName == nil ? ("public", held) : ("user", "\(listed.text): \(held)"))
        }
        if databases.count > shownDatabases {
            let rest = Quantities.count(databases.count - shownDatabases, "user")
            lines.append(("more", "\(rest): 'stratus users STORE' lists them"))
        }
        try write(lines, to: output)
        return .ok
    }

    static func records(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        try invocation.refuse("count", with: ["limit", "reverse"])
        let filter = try RecordFilter(invocation)
        let container = try await invocation.openStore()
        let database = try await invocation.readDatabase(of: container)
        let zoneID = try invocation.zoneID(in: container)
        let isCount = invocation.has("count")
        let limit = try invocation.limit() ?? .max
        var found = 0
        var cursor: RecordPage.Cursor?
        var hasSkipped = false
        if !isCount { try output.header(schema: "stratus.records/1", columns: "record  type  tag") }
        repeat {
            let page = try database.records(
                inZoneWith: zoneID, type: invocation.value("type"),
                desiredKeys: isCount ? filter.fields : nil,
                resultsLimit: filter.takesAll ? min(limit - found, 1000) : 1000, from: cursor,
                skippingDamaged: invocation.has("skip-damaged"),
                reversed: invocation.has("reverse"))
            output.skipped(page.skipped)
            hasSkipped = hasSkipped || !page.skipped.isEmpty
            for record in page.records where found < limit && filter.takes(record) {
                found += 1
                if isCount { continue }
                let name = Output.escaped(record.recordID.recordName)
                try output.result(
                    "record", record.json,
                    text: "\(name)  \(record.recordType)  \(record.recordChangeTag ?? "")")
            }
            cursor = page.cursor
        } while cursor != nil && found < limit
        if isCount { try output.result("count", ["count": .integer(found)], text: String(found)) }
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
