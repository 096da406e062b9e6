import Stratus
import StratusGateway

/// Shows the records of zones below their parents.
enum Tree {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        var listing = try Listing(invocation)
        let container = try await invocation.openStore()
        try listing.begin(output, schema: "stratus.tree/1", columns: "record  type")
        let progress = ReadingProgress(
            "reading", in: .items("record"), invocation, output, writesResults: true)
        defer { progress.finish() }
        var count = 0
        for listed in try await databases(invocation, of: container) where !listing.isFull {
            for zone in try listed.database.allRecordZones() where !listing.isFull {
                guard invocation.shows(zone.zoneID, in: container) else { continue }
                count += 1
                if !listing.isCount { try write(zone.zoneID, of: listed, to: output) }
                try write(zone.zoneID, of: listed, &listing, progress, to: output)
            }
        }
        progress.finish()
        if let name = invocation.value("zone"), count == 0 {
            throw ToolError(.notFound, id: "zone.none", "there is no such zone: \(name)")
        }
        try listing.finish(output)
        return .ok
    }

    /// Those that the command line chooses; of a user that it names the private and the shared one.
    private static func databases(
        _ invocation: Invocation, of container: Container
    ) async throws -> [ListedDatabase] {
        guard invocation.has("as"), !invocation.has("database") else {
            return try await invocation.databases(of: container)
        }
        let user = try container.demandUser(invocation.user)
        let snapshot = try await invocation.snapshot(of: container)
        return [
            ListedDatabase(
                database: snapshot.privateDatabase(for: user.recordName), number: 0,
                recordName: user.recordName, userName: user.userName),
            ListedDatabase(
                database: snapshot.sharedDatabase(for: user.recordName), number: 0,
                recordName: user.recordName, userName: user.userName, isShared: true),
        ]
    }

    private static func write(
        _ zoneID: RecordZone.ID, of listed: ListedDatabase, to output: Output
    ) throws {
        let wholeZone = Record.ID(recordName: Share.zoneWideRecordName, zoneID: zoneID)
        let share = try listed.database.share(wholeZone)
        var object = JSONObject()
        zoneID.append(to: &object)
        listed.append(to: &object)
        share?.append(to: &object)
        let columns = [zoneID.text, listed.text].map { Output.escaped($0) }
        try output.result(
            "zone", object,
            text: (columns + [share?.rightsText].compactMap(\.self)).joined(separator: "  "))
    }

    /// Writes the records of a zone, each above its children.
    private static func write(
        _ zoneID: RecordZone.ID, of listed: ListedDatabase, _ listing: inout Listing,
        _ progress: ReadingProgress, to output: Output
    ) throws {
        var levels = [RecordChildren<Record>(of: nil)]
        while !listing.isFull, var level = levels.popLast() {
            if let record = level.waiting.popLast() {
                levels.append(level)
                try listing.take {
                    try write(record, depth: levels.count, in: listed.database, to: output)
                }
                progress.count(listing.found)
                levels.append(RecordChildren(of: record.recordID.recordName))
            } else if let records = try level.next(
                in: zoneID, of: listed.database, depth: levels.count + 1)
            {
                // The records of shares are told with what they share.
                level.waiting = records.reversed().filter { $0.recordType != Record.shareType }
                levels.append(level)
            }
        }
    }

    private static func write(
        _ record: Record, depth: Int, in database: DatabaseSnapshot, to output: Output
    ) throws {
        let share = try record.share.flatMap { try database.share($0.recordID) }
        var object: JSONObject = [
            "recordName": .string(record.recordID.recordName),
            "recordType": .string(record.recordType), "depth": .integer(depth),
        ]
        object.append("parent", record.parent.map { .string($0.recordID.recordName) })
        share?.append(to: &object)
        let columns = [record.recordID.recordName, record.recordType].map { Output.escaped($0) }
        try output.result(
            "record", object,
            text: String(repeating: "  ", count: depth)
                + (columns + [share?.rightsText].compactMap(\.self)).joined(separator: "  "))
    }
}

extension Invocation {
    /// Whether `--zone` names that zone, with or without its owner, or no zone at all.
    fileprivate func shows(_ id: RecordZone.ID, in container: Container) -> Bool {
        guard let text = value("zone") else { return true }
        if text == id.zoneName { return true }
        let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
        return parts.count == 2 && parts[1] == id.zoneName
            && container.userRecordName(for: parts[0]) == id.ownerName
    }
}

extension DatabaseSnapshot {
    /// The share of that record, nil where the caller sees none.
    fileprivate func share(_ id: Record.ID) throws -> Share? {
        do throws(StoreError) {
            return Share(try record(for: id))
        } catch {
            guard error.code == .unknownItem else { throw error }
            return nil
        }
    }
}

extension Share {
    /// What the caller may do: `owner`, `readOnly`, `readWrite`.
    private var rights: String {
        guard let participant = currentUserParticipant else { return "\(publicPermission)" }
        guard participant.role != .owner else { return "owner" }
        return publicPermission == .readWrite ? "readWrite" : "\(participant.permission)"
    }

    fileprivate var rightsText: String {
        "shared: \(rights), \(Quantities.count(others.count, "participant"))"
    }

    fileprivate func append(to object: inout JSONObject) {
        object.append("share", .string(recordID.recordName))
        object.append("rights", .string(rights))
        object.append("participants", .integer(others.count))
    }
}
