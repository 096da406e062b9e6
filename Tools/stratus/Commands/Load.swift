import Stratus
import StratusFiles
import StratusGateway

/// `stratus load`: makes records what the lines of a dump say, those of a zone in one commit.
enum Load {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        var lines = try InputLines(of: invocation.optionalArgument("FILE"))
        let isDryRun = invocation.has("dry-run")
        let container = try await invocation.openForWriting(
            invocation.argument("STORE"), creating: !isDryRun)
        return try await container.closing {
            try output.header(schema: "stratus.load/1")
            var loader = try Loader(invocation, output, container, isDryRun: isDryRun)
            while let (bytes, number) = try lines.next() {
                guard let line = try line(bytes, number) else { continue }
                try await loader.take(line)
            }
            try await loader.bringAbout()
            return .ok
        }
    }

    private static func line(_ bytes: [UInt8], _ number: Int) throws(ToolError) -> DumpLine? {
        do throws(StoreError) {
            return try DumpLine(bytes.span)
        } catch {
            throw ToolError(.invalidBackup, id: "dump.line", "line \(number): \(error.reason)")
        }
    }
}

/// Gathers what lines say of one zone, and brings it about when they go on to another one.
private struct Loader {
    private struct ZoneLines {
        let user: String?
        let zone: RecordZone.ID
        var records: [Record] = []
        var deleted: Set<String> = []
        /// The names of all of them.
        var names: Set<String> = []
        /// How many lines name a record again; only counted, where nothing is done.
        var repeatedCount = 0
    }

    private let invocation: Invocation
    private let output: Output
    private let container: Container
    private let isDryRun: Bool
    private let mode: RestoreMode
    private var gathered: ZoneLines?
    /// Whose the lines were that go to the database which the command line chooses; nil: there was
    /// none yet.
    private var source: String??
    /// The users and the names of the zones that were mirrored.
    private var mirrored: Set<[String]> = []

    init(
        _ invocation: Invocation, _ output: Output, _ container: Container, isDryRun: Bool
    ) throws(ToolError) {
        try invocation.refuseShared()
        self.invocation = invocation
        self.output = output
        self.container = container
        self.isDryRun = isDryRun
        mode = invocation.value("mode").flatMap(RestoreMode.init) ?? .replace
    }

    mutating func take(_ line: DumpLine) async throws {
        if let zone = invocation.value("zone"), zone != line.zoneID.zoneName { return }
        if invocation.choosesDatabase {
            guard (source ?? line.user).isSame(as: line.user) else {
                throw ToolError.usage(
                    "load", "the lines are of several databases, which cannot become one",
                    hint: "leave out --as and --database")
            }
            source = line.user
        }
        if case .record(let record) = line.content,
            line.userOfRecord != nil || record.recordID.recordName.hasPrefix("_")
        {
            return try await bringAbout(
                record, of: line.userOfRecord ?? record.recordID.recordName, in: line.user)
        }
        if !goesOn(with: line) {
            try await bringAbout()
            gathered = ZoneLines(user: line.user, zone: line.zoneID)
        }
        let isRepeated =
            line.recordName.map { gathered?.names.insert($0).inserted == false } ?? false
        switch line.content {
        case .record where isRepeated: gathered?.repeatedCount += 1
        case .record(let record): gathered?.records.append(record)
        case .deletedRecord(let id, _): gathered?.deleted.insert(id.recordName)
        case .deletedZone(let id):
            gathered = nil
            try await delete(id, of: line.user)
        case .zone: break
        }
    }

    /// Whether the line is of the zone of those before it, and none of them names its record: what
    /// they say of that is done first. A dry run does nothing of either.
    private func goesOn(with line: DumpLine) -> Bool {
        guard let gathered, gathered.user.isSame(as: line.user), gathered.zone == line.zoneID else {
            return false
        }
        return isDryRun || line.recordName.map { !gathered.names.contains($0) } ?? true
    }

    private func database(of user: String?) -> Database {
        if invocation.choosesDatabase { return invocation.database(of: container) }
        return user.map { container.privateDatabase(for: $0) }
            ?? container.publicDatabase(asHost: invocation.user)
    }

    private func target(of zone: RecordZone.ID) -> RecordZone.ID {
        invocation.value("as-zone").map { RecordZone.ID(zoneName: $0) } ?? zone
    }

    mutating func bringAbout() async throws {
        guard let lines = gathered else { return }
        gathered = nil
        let database = database(of: lines.user)
        let zone = target(of: lines.zone)
        guard mode != .mirror || mirrored.insert([lines.user ?? "", zone.zoneName]).inserted else {
            throw ToolError(
                .invalidBackup, id: "dump.order",
                "a zone cannot be mirrored of lines that are not in a row: \(zone.zoneName)")
        }
        var records = lines.records
        for index in records.indices {
            try await findAssets(of: &records[index], in: zone, database)
        }
        let done = try await database.restore(
            records, deleting: Array(lines.deleted), in: zone, mode: mode, dryRun: isDryRun)
        try report(done, repeated: lines.repeatedCount, zone, lines.user)
    }

    /// The record of a user, which that user saves: so it becomes one whom the store knows.
    private func bringAbout(_ record: Record, of user: String, in owner: String?) async throws {
        let database =
            invocation.choosesDatabase || owner != nil
            ? database(of: owner) : container.publicDatabase(as: user)
        let zone = target(of: record.recordID.zoneID)
        let id = Record.ID(recordName: container.userRecordName(for: user), zoneID: zone)
        let done = try await database.restore(
            [record.copied(as: id)], in: zone, mode: mode == .mirror ? .replace : mode,
            dryRun: isDryRun)
        try report(done, zone, owner)
    }

    private func report(
        _ done: RestoredRecords, repeated: Int = 0, _ zone: RecordZone.ID, _ user: String?
    ) throws {
        let added = done.added.count + repeated
        var object = identity(of: zone, user)
        object.append("dryRun", .boolean(isDryRun))
        object.append("added", .integer(added))
        object.append("replaced", .integer(done.replaced.count))
        object.append("deleted", .integer(done.deleted.count))
        object.append("kept", .integer(done.kept.count))
        object.append("unchanged", .integer(done.unchangedCount))
        try output.result(
            "zone", object,
            text: "\(Output.escaped(zone.zoneName)) (\(Output.escaped(user ?? "public"))): "
                + "\(added) \(isDryRun ? "would be " : "")added, "
                + "\(done.replaced.count) replaced, \(done.deleted.count) deleted; "
                + "\(done.kept.count) kept, \(done.unchangedCount) unchanged")
    }

    private func delete(_ zone: RecordZone.ID, of user: String?) async throws {
        let zone = target(of: zone)
        if !isDryRun {
            do throws(StoreError) {
                try await database(of: user).deleteRecordZone(withID: zone)
            } catch {
                // It is none already.
                guard error.isOfNoZone else { throw error }
            }
        }
        var object = identity(of: zone, user)
        object.append("zoneDeleted", true)
        try output.result(
            "zone", object,
            text: "\(Output.escaped(zone.zoneName)) (\(Output.escaped(user ?? "public"))): "
                + (isDryRun ? "the zone would be deleted" : "the zone is deleted"))
    }

    private func identity(of zone: RecordZone.ID, _ user: String?) -> JSONObject {
        var object: JSONObject = ["zoneName": .string(zone.zoneName)]
        object.append(databaseOf: user)
        return object
    }
}

/// Assets, of which a dump has the checksums only.
extension Loader {
    /// Gives the record the assets that its lines name: those it has in the store already, or files.
    private func findAssets(
        of record: inout Record, in zone: RecordZone.ID, _ database: Database
    ) async throws {
        var held: [String: Asset]?
        for key in record.allKeys {
            guard let value = record[key], value.hasAssets else { continue }
            if held == nil { held = try await heldAssets(of: record, in: zone, database) }
            record[key] = try value.mappingAssets { asset throws(ToolError) in
                guard case .held(let checksum, _) = asset.request else { return asset }
                if let asset = held?[checksum] ?? file(checksum) { return asset }
                throw ToolError(
                    .notFound, id: "asset.none",
                    "the asset in the field \(key) of the record \(record.recordID.recordName) is "
                        + "not at hand",
                    hint: "'stratus dump --asset-files DIR' writes assets as files, 'stratus load "
                        + "--asset-files DIR' reads them")
            }
        }
    }

    private func heldAssets(
        of record: Record, in zone: RecordZone.ID, _ database: Database
    ) async throws -> [String: Asset] {
        let id = Record.ID(recordName: record.recordID.recordName, zoneID: zone)
        guard let own = try await database.records(for: [id])[id], let own = try? own.get() else {
            return [:]
        }
        var held: [String: Asset] = [:]
        for asset in own.assets { if let sum = asset.fileChecksum { held[sum] = asset } }
        return held
    }

    /// The file that bears the checksum as its name.
    private func file(_ checksum: String) -> Asset? {
        // Names never become paths.
        guard checksum.allSatisfy(\.isHexDigit), let folder = invocation.value("asset-files") else {
            return nil
        }
        let path = "\(folder)/\(checksum)"
        return FilePlace(path).length(on: LinuxFileSystem()).map { _ in Asset(file: path) }
    }
}

/// Lines of a file or of standard input, each with its number.
private struct InputLines {
    private static let lineLimit = 64 << 20
    private static let pieceLength = 256 << 10

    private let path: String?
    private let file: SourceFile?
    private var position = 0
    private var reader = LineReader(limit: lineLimit)
    private var hasEnded = false

    /// - Parameter path: of the file; nil or `-`: standard input.
    init(of path: String?) throws(ToolError) {
        self.path = path == "-" ? nil : path
        do throws(SystemError) {
            file = try self.path.map { path throws(SystemError) in
                try SourceFile(FilePlace(path), on: LinuxFileSystem())
            }
        } catch {
            throw ToolError(error, "cannot read", path ?? "")
        }
    }

    mutating func next() throws(ToolError) -> (bytes: [UInt8], number: Int)? {
        while true {
            var line = reader.next()
            if line == nil {
                if hasEnded { return nil }
                let piece = try read()
                hasEnded = piece.isEmpty
                if hasEnded { line = reader.last() } else { reader.append(piece) }
            }
            switch line {
            case .line(let bytes, let number): return (bytes, number)
            case .tooLong(let number):
                throw ToolError(
                    .invalidBackup, id: "dump.line",
                    "line \(number) is longer than \(Self.lineLimit >> 20) MiB")
            case nil: break
            }
        }
    }

    private mutating func read() throws(ToolError) -> [UInt8] {
        do throws(SystemError) {
            guard let file else { return try Terminal.read(upTo: Self.pieceLength) ?? [] }
            let piece = try file.read(at: position, upTo: Self.pieceLength)
            position += piece.count
            return piece
        } catch {
            throw ToolError(error, "cannot read", path ?? "standard input")
        }
    }
}
