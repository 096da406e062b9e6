import FoundationEssentials
import Stratus
import StratusGateway

/// Commands that show what is in a store.
enum Show {
    static func info(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let database = invocation.database(of: container)
        let store = try await StoreReport(of: container, in: database)
        let (information, report, statistics) = (
            store.information, store.recovery, store.statistics
        )
        if let place = report.discardedCheckpoint {
            output.warning(
                "checkpoint.discarded",
                "the checkpoint is of no use (\(place.kind)): the whole journal was read; "
                    + "'stratus reindex STORE' makes another", file: place.file)
        }
        try output.object("info", store.json(path: invocation.argument("STORE")))
        let state =
            report.possibleLoss
            ? "not closed cleanly; the last group is damaged and may have been acknowledged"
            : report.wasClean ? "closed cleanly, or being written" : "not closed cleanly"
        let lines: [(String, String)] = [
            ("store", invocation.argument("STORE")), ("id", information.storeID),
            ("created", Timestamp.text(information.created)),
            ("last commit", information.lastCommit.map { Timestamp.text($0) } ?? "none"),
            ("format", String(information.formatVersion)), ("state", state),
            ("head", "offset \(information.head)"),
            (
                "journal",
                "\(Quantities.size(UInt64(information.journalLength))) in "
                    + "\(information.segmentCount) segments"
            ),
            ("checkpoint", statistics.checkpointText),
            ("users", Quantities.count(UInt64(information.userCount))),
            ("zones", Quantities.count(UInt64(store.zoneCount)) + " in this database"),
            ("records", Quantities.count(UInt64(store.recordCount)) + " in this database"),
        ]
        try write(lines, to: output)
        return .ok
    }

    static func zones(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let database = invocation.database(of: container)
        try output.header(schema: "stratus.zones/1", columns: "records  zone")
        for zone in try await database.allRecordZones() {
            let count = try await database.recordCount(inZoneWith: zone.zoneID)
            try output.result(
                "zone",
                [
                    "zoneName": .string(zone.zoneID.zoneName), "records": .integer(count),
                    "capabilities": .strings(zone.capabilities.names),
                ], text: "\(count)  \(Output.escaped(zone.zoneID.zoneName))")
        }
        return .ok
    }

    static func records(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let database = invocation.database(of: container)
        var left = invocation.number("limit").map { Int(clamping: $0) } ?? .max
        var cursor: RecordPage.Cursor?
        try output.header(schema: "stratus.records/1", columns: "record  type  tag")
        while left > 0 {
            let page = try await database.records(
                inZoneWith: invocation.zoneID, type: invocation.value("type"),
                resultsLimit: min(left, 1000), from: cursor)
            for record in page.records {
                let name = Output.escaped(record.recordID.recordName)
                try output.result(
                    "record", record.json,
                    text: "\(name)  \(record.recordType)  \(record.recordChangeTag ?? "")")
            }
            left -= page.records.count
            cursor = page.cursor
            if cursor == nil { break }
        }
        return .ok
    }

    static func record(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let id = Record.ID(
            recordName: invocation.argument("RECORD"), zoneID: invocation.zoneID)
        let record = try await invocation.database(of: container).record(for: id)
        try output.object("record", record.json)
        try write(record.lines, to: output)
        return .ok
    }

    static func changes(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let database = invocation.database(of: container)
        let token = try invocation.sinceToken()
        let limit = invocation.number("limit").map { Int(clamping: $0) }
        guard invocation.has("zone") else {
            let page = try await database.databaseChanges(since: token, resultsLimit: limit)
            for zone in page.modifications {
                try output.result(
                    "zoneChanged", ["zoneName": .string(zone.zoneName)],
                    text: "~ \(Output.escaped(zone.zoneName))")
            }
            for deletion in page.deletions {
                try output.result(
                    "zoneDeleted",
                    [
                        "zoneName": .string(deletion.zoneID.zoneName),
                        "reason": .string("\(deletion.reason)"),
                    ], text: "- \(Output.escaped(deletion.zoneID.zoneName))")
            }
            try finish(page.changeToken, page.moreComing, output)
            return .ok
        }
        let page = try await database.recordZoneChanges(
            inZoneWith: invocation.zoneID, since: token, resultsLimit: limit)
        for record in page.modifications {
            try output.result(
                "recordChanged", record.json,
                text: "~ \(Output.escaped(record.recordID.recordName))  \(record.recordType)")
        }
        for deletion in page.deletions {
            let name = deletion.recordID.recordName
            try output.result(
                "recordDeleted",
                ["recordName": .string(name), "recordType": .string(deletion.recordType)],
                text: "- \(Output.escaped(name))  \(deletion.recordType)")
        }
        try finish(page.changeToken, page.moreComing, output)
        return .ok
    }

    private static func finish(
        _ token: ChangeToken, _ moreComing: Bool, _ output: Output
    ) throws {
        try output.summary(
            ["token": .string(token.description), "moreComing": .boolean(moreComing)])
        try output.line("token \(token)" + (moreComing ? " (more to come)" : ""))
    }

    static func write(_ lines: [(name: String, value: String)], to output: Output) throws {
        let width = lines.map(\.name.count).max() ?? 0
        for (name, value) in lines {
            let space = String(repeating: " ", count: width - name.count + 2)
            try output.line(Output.escaped(name) + space + Output.escaped(value))
        }
    }
}
