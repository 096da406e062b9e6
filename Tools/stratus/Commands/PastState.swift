import FoundationEssentials
import Stratus
import StratusGateway

// What the store was at the moment that --at names.

extension Invocation {
    /// The state that the command reads: the newest, or the one that `--at` or another option names.
    func snapshot(of container: Container, _ option: String = "at") async throws -> Snapshot {
        guard let text = value(option) else { return container.snapshot() }
        return try await container.snapshot(at: try await point(text, in: container))
    }

    /// The database that the command line chooses, in the state that the command reads.
    func readDatabase(of container: Container) async throws -> DatabaseSnapshot {
        try readDatabase(of: container, at: await snapshot(of: container))
    }

    /// The moment that `--at` names, which the command was given.
    func point(in container: Container) async throws -> PastPoint {
        try await point(requiredValue("at"), in: container)
    }

    /// An offset, a change token, a time, or `mark:` and the name of a mark.
    func point(_ text: String, in container: Container) async throws -> PastPoint {
        let text = try pointText(text)
        let point: PastPoint
        do throws(StoreError) {
            point = try await container.point(text)
        } catch {
            if error.code == .invalidArguments { throw ToolError.usage("bad-value", error.reason) }
            guard error.code == .unknownItem else { throw error }
            throw ToolError.noMark(error.reason)
        }
        let end = container.snapshot().offset
        if case .offset(let offset) = point, offset > end {
            throw ToolError(
                .notFound, id: "offset.none",
                "there is no offset \(offset) yet: the journal ends at \(end)")
        }
        return point
    }

    /// A point as a service takes it: a time of the user's clocks in UTC, all else as it is.
    func pointText(_ text: String) throws(ToolError) -> String {
        try localTime.date(text).map { Timestamp.text($0) } ?? text
    }

    /// The latest mark of a name.
    static func mark(_ name: String, in container: Container) async throws -> Mark {
        guard let mark = try await container.marks().last(where: { $0.name == name }) else {
            throw ToolError.noMark("the store has no mark \(name)")
        }
        return mark
    }
}

extension ToolError {
    fileprivate static func noMark(_ reason: String) -> ToolError {
        ToolError(
            .notFound, id: "mark.none", reason, hint: "'stratus mark STORE' lists the marks")
    }
}

/// The history of records.
enum Past {
    static func history(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let database = try await invocation.readDatabase(of: container)
        let recordID = try invocation.recordID(in: container)
        var left = try invocation.limit() ?? .max
        try output.header(
            schema: "stratus.history/1", columns: "offset  date  user  tag  zone")
        func write(_ version: RecordVersion) throws {
            guard left > 0 else { return }
            left -= 1
            try output.result("version", version.json, text: version.text(output))
        }
        guard invocation.has("reverse") else {
            var next: UInt64?
            repeat {
                let page = try database.history(
                    of: recordID, resultsLimit: min(left, 1000), before: next)
                for version in page.versions { try write(version) }
                next = page.nextOffset
            } while next != nil && left > 0
            return .ok
        }
        // Versions are found from the newest on: where pages begin is kept, and they are read once more.
        var starts: [UInt64?] = [nil]
        while let next = try database.history(
            of: recordID, desiredKeys: [], resultsLimit: 1000, before: starts.last ?? nil
        ).nextOffset { starts.append(next) }
        for start in starts.reversed() where left > 0 {
            let page = try database.history(of: recordID, resultsLimit: 1000, before: start)
            for version in page.versions.reversed() { try write(version) }
        }
        return .ok
    }

    static func blame(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let database = try await invocation.readDatabase(of: container)
        let recordID = try invocation.recordID(in: container)
        let origins = try database.blame(recordID).sorted { $0.key < $1.key }
        try output.header(
            schema: "stratus.blame/1", columns: "field  offset  date  user  tag  zone")
        for (key, origin) in origins {
            var object: JSONObject = ["field": .string(key)]
            object.append(origin.version.identity)
            object.append("certain", .boolean(origin.isCertain))
            try output.result(
                "field", object,
                text: "\(Output.escaped(key))  \(origin.version.text(output))"
                    + (origin.isCertain ? "" : "  (or before)"))
        }
        return .ok
    }
}

extension RecordVersion {
    fileprivate func text(_ output: Output) -> String {
        let zone = record.map { Output.escaped($0.recordID.zoneID.text) } ?? ""
        return "\(offset)  \(output.date(date))  \(userRecordID.recordName)  "
            + "\(recordChangeTag ?? "deleted")  \(zone)"
    }

    /// Without the record itself.
    fileprivate var identity: JSONObject {
        var object: JSONObject = [
            "offset": .offset(offset), "date": .date(date),
            "userRecordName": .string(userRecordID.recordName),
        ]
        object.append("recordChangeTag", recordChangeTag.map(JSONValue.string))
        object.append("zoneName", (record?.recordID.zoneID.zoneName).map(JSONValue.string))
        return object
    }

    fileprivate var json: JSONObject {
        var object = identity
        object.append("deleted", .boolean(record == nil))
        object.append("followsPrevious", .boolean(isNext))
        object.append("record", (record?.json).map(JSONValue.object))
        return object
    }
}
