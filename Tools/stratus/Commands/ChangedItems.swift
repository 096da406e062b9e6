import Stratus
import StratusFiles
import StratusGateway

/// `stratus changes`: what a client that synchronizes would be given, or a worker that follows all of
/// the store.
enum ChangedItems {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        try invocation.refuse("all", with: ["zone", "as", "database", "at"])
        try invocation.refuse("follow", with: ["at"])
        let limit = try invocation.limit()
        let follows = invocation.has("follow")
        var token = try invocation.sinceToken()
        let container = try await invocation.openStore()
        if follows { Terminal.catchStopSignals() }
        // Who follows is shown each new state.
        var database =
            invocation.has("all") ? nil : try await invocation.readDatabase(of: container)
        var left = limit ?? .max
        var isIncomplete = false
        while true {
            let page = try await page(
                invocation, container, database, since: token, limit.map { _ in left }, output)
            token = page.token
            left -= page.count
            isIncomplete = isIncomplete || page.isIncomplete
            guard follows, left > 0 else {
                // A page holds no more than the store likes; what was asked for may be more than one.
                if page.moreComing, left > 0, limit != nil { continue }
                try finish(page, isIncomplete: isIncomplete, output)
                return isIncomplete ? .partial : .ok
            }
            if page.count > 0 || page.isIncomplete {
                try output.result(
                    "token", page.position(isIncomplete), text: "token \(page.token)")
            }
            try output.flush()
            let signal =
                page.moreComing ? Terminal.requestedStop : try await container.waitForChanges()
            if let signal {
                try finish(page, isIncomplete: isIncomplete, output)
                return .signal(signal)
            }
            if database != nil { database = try await invocation.readDatabase(of: container) }
        }
    }

    private struct Page {
        var count: Int
        var token: ChangeToken
        var moreComing: Bool
        var isIncomplete = false

        /// Where it ends; `isIncomplete` says so of all pages.
        func position(_ isIncomplete: Bool) -> JSONObject {
            var object: JSONObject = [
                "token": .string(token.description), "moreComing": .boolean(moreComing),
            ]
            if isIncomplete { object.append("incomplete", .boolean(true)) }
            return object
        }
    }

    /// Writes what changed since `token`, at most so much, in a database or, where that is nil, in all.
    private static func page(
        _ invocation: Invocation, _ container: Container, _ database: DatabaseSnapshot?,
        since token: ChangeToken?, _ limit: Int?, _ output: Output
    ) async throws -> Page {
        let skips = invocation.has("skip-damaged")
        guard let database else {
            let page = try await container.changes(
                since: token, resultsLimit: limit, skippingDamaged: skips)
            return try write(page, output)
        }
        guard invocation.has("zone") else {
            return try write(database.databaseChanges(since: token, resultsLimit: limit), output)
        }
        return try write(
            database.recordZoneChanges(
                inZoneWith: invocation.zoneID(in: container), since: token, resultsLimit: limit,
                skippingDamaged: skips), output)
    }

    private static func write(_ page: StoreChanges, _ output: Output) throws -> Page {
        output.skipped(page.skipped)
        for zone in page.zones {
            var object = JSONObject()
            zone.zoneID.append(to: &object)
            object.append(databaseOf: zone.owner)
            object.append("reason", zone.deletion.map { .string("\($0)") })
            try output.result(
                zone.deletion == nil ? "zoneChanged" : "zoneDeleted", object,
                text: "\(zone.deletion == nil ? "~" : "-") \(Output.escaped(zone.zoneID.text))  "
                    + (zone.owner ?? "public"))
        }
        return Page(
            count: page.zones.count, token: page.changeToken, moreComing: page.moreComing,
            isIncomplete: !page.skipped.isEmpty)
    }

    private static func write(_ page: DatabaseChanges, _ output: Output) throws -> Page {
        for zone in page.modifications {
            var object = JSONObject()
            zone.append(to: &object)
            try output.result("zoneChanged", object, text: "~ \(Output.escaped(zone.text))")
        }
        for deletion in page.deletions {
            var object = JSONObject()
            deletion.zoneID.append(to: &object)
            object.append("reason", .string("\(deletion.reason)"))
            try output.result(
                "zoneDeleted", object, text: "- \(Output.escaped(deletion.zoneID.text))")
        }
        return Page(
            count: page.modifications.count + page.deletions.count, token: page.changeToken,
            moreComing: page.moreComing)
    }

    private static func write(_ page: RecordZoneChanges, _ output: Output) throws -> Page {
        output.skipped(page.skipped)
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
        return Page(
            count: page.modifications.count + page.deletions.count, token: page.changeToken,
            moreComing: page.moreComing, isIncomplete: page.isIncomplete)
    }

    private static func finish(_ page: Page, isIncomplete: Bool, _ output: Output) throws {
        try output.summary(page.position(isIncomplete))
        try output.line(
            "token \(page.token)" + (page.moreComing ? " (more to come)" : "")
                + (isIncomplete ? " (incomplete: damaged changes were skipped)" : ""))
    }
}

extension Container {
    /// Waits until the store has anything new. The signal, where the process is to stop instead.
    func waitForChanges() async throws -> Int32? {
        while true {
            if let signal = Terminal.requestedStop { return signal }
            if try await refresh() { return nil }
            Thread.pause(microseconds: 20_000)
        }
    }
}
