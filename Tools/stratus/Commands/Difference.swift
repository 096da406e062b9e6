import Stratus
import StratusFiles
import StratusGateway

/// `stratus diff`: what two states of stores differ in.
struct Difference {
    /// What of the memory for one store each of two may take.
    private static let memory = Invocation.streamingMemory / 2

    /// Both; either may be of an archive that has some zones only.
    private let snapshots: [Snapshot]
    private let before: [NamedDatabase]
    private let after: [NamedDatabase]
    /// Whether the one is the other in an earlier state.
    private let isOfOneStore: Bool
    private let zoneName: String?
    private var writer: DifferenceWriter
    private let progress: ReadingProgress
    /// How many records were compared.
    private var compared = 0

    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let old = try await container(at: invocation.argument("BEFORE"), invocation)
        let path = invocation.optionalArgument("AFTER")
        if path == nil, !invocation.has("at") {
            throw ToolError.usage("diff", "name AFTER, or the moment to begin at with --at")
        }
        let new = if let path { try await container(at: path, invocation) } else { old }
        let (before, after) = (
            try await invocation.snapshot(of: old), try await invocation.snapshot(of: new, "until")
        )
        var difference = Difference(
            snapshots: [before, after], before: try invocation.namedDatabases(of: before, in: old),
            after: try invocation.namedDatabases(of: after, in: new), isOfOneStore: path == nil,
            zoneName: invocation.value("zone"), writer: DifferenceWriter(invocation, output),
            progress: ReadingProgress(
                "comparing", in: .items("record"), invocation, output, writesResults: true))
        defer { difference.progress.finish() }
        try output.header(schema: "stratus.diff/1", columns: "change  record  type  zone  user")
        try await difference.write()
        difference.progress.finish()
        return try difference.writer.finish() ? .ok : .differences
    }

    /// The store or the archive at a path.
    private static func container(
        at path: String, _ invocation: Invocation
    ) async throws -> Container {
        if ToolError.isFile(path) {
            return try await Archive.opened(path).container(memoryLimit: memory)
        }
        return try await invocation.openStore(at: path, memoryLimit: memory)
    }

    private mutating func write() async throws {
        // The public database first, which is in every store.
        var users: [String?] = [nil]
        for user in (before + after).compactMap(\.user).sorted(by: { $0.precedes($1) })
        where !users[users.count - 1].isSame(as: user) {
            users.append(user)
        }
        for user in users {
            try await write(
                before.first { $0.isOf(user) }, after.first { $0.isOf(user) }, user)
        }
    }

    private mutating func write(
        _ old: NamedDatabase?, _ new: NamedDatabase?, _ user: String?
    ) async throws {
        let (oldZones, newZones) = (
            try old?.zones(named: zoneName) ?? [], try new?.zones(named: zoneName) ?? []
        )
        let zones = Set(oldZones + newZones).sorted { $0.zoneName.precedes($1.zoneName) }
        // Where one of them does not have a zone, the zone may have been there all the same.
        for zone in zones
        where snapshots.allSatisfy({ $0.covers(zone: zone.zoneName, of: user) }) {
            let old = oldZones.contains(zone) ? old : nil
            let new = newZones.contains(zone) ? new : nil
            if old == nil, !zone.isDefault { try writer.zone(zone, isAdded: true, user) }
            if new == nil, !zone.isDefault {
                try writer.zone(zone, isAdded: false, user)
                // Its records go with it.
                if writer.isPatch { continue }
            }
            var keys = try keys(in: zone, old, new)
            while case let part = try keys.next(NamedDatabase.batch), !part.isEmpty {
                let (oldRecords, newRecords) = (
                    try old?.records(part, in: zone) ?? [:],
                    try new?.records(part, in: zone) ?? [:]
                )
                for key in part {
                    try writer.record(
                        oldRecords[key].flatMap { old?.line($0) },
                        newRecords[key].flatMap { new?.line($0) })
                }
                compared += part.count
                progress.count(compared)
            }
        }
    }

    /// The keys of the records that may differ.
    private func keys(
        in zone: RecordZone.ID, _ old: NamedDatabase?, _ new: NamedDatabase?
    ) throws -> SortedNames {
        var sorter = NameSorter()
        if isOfOneStore, let old, let new,
            var changed = try ChangedRecords(of: zone, in: new.database, since: old.database)
        {
            while case let ids = try changed.next(), !ids.isEmpty {
                for id in ids { try sorter.insert(new.users.key(of: id.recordName)) }
                progress.count(compared)
            }
            return try sorter.sorted()
        }
        for database in [old, new] {
            try database?.forEachKey(in: zone) {
                try sorter.insert($0)
                progress.count(compared)
            }
        }
        return try sorter.sorted()
    }
}

/// Writes differences, and counts them.
private struct DifferenceWriter {
    private let output: Output
    let isPatch: Bool
    private let isSummary: Bool
    private var counts: [Change: Int] = [:]
    private var zoneCount = 0

    private enum Change: String, CaseIterable {
        case added, removed, changed

        var sign: String {
            switch self {
            case .added: "+"
            case .removed: "-"
            case .changed: "M"
            }
        }
    }

    init(_ invocation: Invocation, _ output: Output) {
        self.output = output
        isPatch = invocation.has("patch")
        isSummary = invocation.has("summary")
    }

    mutating func zone(_ id: RecordZone.ID, isAdded: Bool, _ user: String?) throws {
        zoneCount += 1
        if isPatch { return try line(isAdded ? .zone(id) : .deletedZone(id), user) }
        if isSummary { return }
        let change: Change = isAdded ? .added : .removed
        var object = identity(of: change, user)
        object.append("zoneName", .string(id.zoneName))
        try output.result(
            "zoneDifference", object,
            text: "\(change.sign)  zone \(Output.escaped(id.zoneName))  "
                + Output.escaped(user ?? "public"))
    }

    /// Takes what a dump of each of the states says of a record.
    mutating func record(_ old: DumpLine?, _ new: DumpLine?) throws {
        guard let line = new ?? old, case .record(let record) = line.content else { return }
        let (before, after) = (Self.json(old), Self.json(new))
        if before == after { return }
        // That of a user is there as long as the user is.
        if new == nil, record.recordType == Record.userRecordType { return }
        let change: Change = old == nil ? .added : new == nil ? .removed : .changed
        counts[change, default: 0] += 1
        if isPatch { return try patch(old, new) }
        if isSummary { return }
        let fields = change == .changed ? Self.differences(before, after) : []
        var object = identity(of: change, line.user)
        object.append("userOfRecord", line.userOfRecord.map(JSONValue.string))
        object.append("before", before.map(JSONValue.object))
        object.append("after", after.map(JSONValue.object))
        object.append("fields", change == .changed ? .strings(fields) : nil)
        let columns = [
            change.sign, line.userOfRecord ?? record.recordID.recordName, record.recordType,
            record.recordID.zoneID.zoneName, line.user ?? "public",
        ]
        try output.result(
            "difference", object,
            text: (columns + (fields.isEmpty ? [] : [fields.joined(separator: ", ")]))
                .map { Output.escaped($0) }.joined(separator: "  "))
    }

    private static func json(_ line: DumpLine?) -> JSONObject? {
        guard let line, case .record(let record) = line.content else { return nil }
        return line.json(record)
    }

    private func patch(_ old: DumpLine?, _ new: DumpLine?) throws {
        if let old, case .record(let record) = old.content {
            var keepsType = false
            // A record keeps its type: another one takes its name.
            if case .record(let other) = new?.content {
                keepsType = other.recordType == record.recordType
            }
            if !keepsType {
                try line(.deletedRecord(record.recordID, type: record.recordType), old.user)
            }
        }
        if let new { try output.verbatim(line: new.bytes) }
    }

    private func line(_ content: DumpLine.Content, _ user: String?) throws {
        try output.verbatim(line: DumpLine(content, of: user).bytes)
    }

    private func identity(of change: Change, _ user: String?) -> JSONObject {
        var object: JSONObject = ["change": .string(change.rawValue)]
        object.append(databaseOf: user)
        return object
    }

    /// The fields with other values, and what else is another.
    private static func differences(_ before: JSONObject?, _ after: JSONObject?) -> [String] {
        func fields(_ object: JSONObject?) -> [String: JSONValue] {
            guard case .object(let fields) = object?["fields"] else { return [:] }
            return Dictionary(fields.members.map { ($0.name, $0.value) }) { first, _ in first }
        }
        let (old, new) = (fields(before), fields(after))
        let changed = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
        return changed
            + ["recordType", "parent"].filter { before?[$0] != after?[$0] }.map { "(\($0))" }
    }

    /// Returns whether there was no difference.
    func finish() throws -> Bool {
        let isEqual = counts.isEmpty && zoneCount == 0
        if isPatch { return isEqual }
        var object: JSONObject = [:]
        for change in Change.allCases {
            object.append(change.rawValue, .integer(counts[change] ?? 0))
        }
        object.append("zones", .integer(zoneCount))
        let parts = Change.allCases.map { "\(counts[$0] ?? 0) \($0.rawValue)" }
        try output.summary(
            object,
            text: isEqual
                ? "no difference"
                : "records: " + parts.joined(separator: ", ")
                    + (zoneCount > 0 ? "; \(Quantities.count(zoneCount, "zone"))" : ""))
        return isEqual
    }
}
