package import Stratus
package import StratusFiles

/// Makes records what the lines of a dump say, those of a zone in one commit.
///
/// What lines say of one zone is gathered, and brought about when they go on to another one.
package struct DumpLoader {
    /// How lines are taken.
    package struct Options: Sendable {
        package var mode = RestoreMode.replace
        package var isDryRun = false
        /// Only what is said of zones of that name; nil: all.
        package var zoneName: String?
        /// The zone that becomes what is said; nil: the one of the same name.
        package var targetZone: String?
        /// The directory with the files of assets, named by their checksums; nil: there is none.
        package var assetFolder: String?
        /// The files that may be read; nil: any.
        package var files: HostFiles?
        /// The database that all lines are for; nil: each says its own.
        package var database: Database?
        /// The name under which the public database is changed.
        package var host: String

        package init(host: String) { self.host = host }
    }

    /// Why lines cannot be loaded.
    package enum Fault: Error {
        /// A line has no meaning.
        case line(number: Int, String)
        /// Lines of several databases cannot become one.
        case severalDatabases
        /// Of a zone that is to be mirrored not all lines are in a row.
        case isNotInARow(zone: String)
        /// An asset is neither in the store nor among the files.
        case noAsset(record: String, field: String)
    }

    /// What was done.
    package enum Step {
        /// Records of a zone; of some there was a line more.
        case records(RestoredRecords, repeated: Int, RecordZone.ID, user: String?)
        case deletedZone(RecordZone.ID, user: String?)
    }

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

    private let container: Container
    private let options: Options
    private let report: (Step) throws -> Void
    private var gathered: ZoneLines?
    /// Whose the lines were where all are for one database; nil: there was none yet.
    private var source: String??
    /// The users and the names of the zones that were mirrored.
    private var mirrored: Set<[String]> = []

    /// - Parameter report: is told of each step when it was done.
    package init(
        into container: Container, _ options: Options, _ report: @escaping (Step) throws -> Void
    ) {
        self.container = container
        self.options = options
        self.report = report
    }

    /// Takes the next line.
    ///
    /// - Throws: ``Fault``, or ``StoreError`` as of ``Database/restore(_:deleting:in:mode:dryRun:progress:)``.
    package mutating func take(_ bytes: [UInt8], number: Int) async throws {
        let line: DumpLine?
        do throws(StoreError) {
            line = try DumpLine(bytes.span)
        } catch {
            throw Fault.line(number: number, error.reason)
        }
        if let line { try await take(line) }
    }

    /// Brings the last zone about.
    package mutating func finish() async throws { try await bringAbout() }

    private mutating func take(_ line: DumpLine) async throws {
        if let zone = options.zoneName, zone != line.zoneID.zoneName { return }
        if options.database != nil {
            guard (source ?? line.user).isSame(as: line.user) else {
                throw Fault.severalDatabases
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
        return options.isDryRun || line.recordName.map { !gathered.names.contains($0) } ?? true
    }

    private func database(of user: String?) -> Database {
        options.database ?? user.map { container.privateDatabase(for: $0) }
            ?? container.publicDatabase(asHost: options.host)
    }

    private func target(of zone: RecordZone.ID) -> RecordZone.ID {
        options.targetZone.map { RecordZone.ID(zoneName: $0) } ?? zone
    }

    private mutating func bringAbout() async throws {
        guard let lines = gathered else { return }
        gathered = nil
        let database = database(of: lines.user)
        let zone = target(of: lines.zone)
        let isFirst = mirrored.insert([lines.user ?? "", zone.zoneName]).inserted
        guard isFirst || options.mode != .mirror else {
            throw Fault.isNotInARow(zone: zone.zoneName)
        }
        var records = lines.records
        for index in records.indices {
            try await findAssets(of: &records[index], in: zone, database)
        }
        let done = try await database.restore(
            records, deleting: Array(lines.deleted), in: zone, mode: options.mode,
            dryRun: options.isDryRun)
        try report(.records(done, repeated: lines.repeatedCount, zone, user: lines.user))
    }

    /// The record of a user, which that user saves: so it becomes one whom the store knows.
    private func bringAbout(_ record: Record, of user: String, in owner: String?) async throws {
        let isOfDatabase = options.database != nil || owner != nil
        let database =
            isOfDatabase ? database(of: owner) : container.publicDatabase(as: user)
        let zone = target(of: record.recordID.zoneID)
        let id = Record.ID(recordName: container.userRecordName(for: user), zoneID: zone)
        let done = try await database.restore(
            [record.copied(as: id)], in: zone,
            mode: options.mode == .mirror ? .replace : options.mode, dryRun: options.isDryRun)
        try report(.records(done, repeated: 0, zone, user: owner))
    }

    private func delete(_ zone: RecordZone.ID, of user: String?) async throws {
        let zone = target(of: zone)
        if !options.isDryRun {
            do throws(StoreError) {
                try await database(of: user).deleteRecordZone(withID: zone)
            } catch {
                // It is none already.
                guard error.isOfNoZone else { throw error }
            }
        }
        try report(.deletedZone(zone, user: user))
    }
}

// Assets, of which a dump has the checksums only.
extension DumpLoader {
    /// Gives the record the assets that its lines name: those it has in the store already, or files.
    private func findAssets(
        of record: inout Record, in zone: RecordZone.ID, _ database: Database
    ) async throws {
        var held: [String: Asset]?
        for key in record.allKeys {
            guard let value = record[key], value.hasAssets else { continue }
            if held == nil { held = try await heldAssets(of: record, in: zone, database) }
            record[key] = try value.mappingAssets { asset throws(Fault) in
                guard case .held(let checksum, _) = asset.request else { return asset }
                if let asset = held?[checksum] ?? file(checksum) { return asset }
                throw .noAsset(record: record.recordID.recordName, field: key)
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
        for asset in own.assets {
            if let sum = asset.fileChecksum { held[sum] = asset }
        }
        return held
    }

    /// The file that bears the checksum as its name.
    private func file(_ checksum: String) -> Asset? {
        // Names never become paths.
        guard checksum.allSatisfy(\.isHexDigit), let folder = options.assetFolder else {
            return nil
        }
        let path = "\(folder)/\(checksum)"
        return FilePlace(path).length(on: LinuxFileSystem()).map { _ in
            options.files?.uncheckedAsset(at: path) ?? Asset(file: path)
        }
    }
}

/// The lines of a file, each with its number.
package struct InputLines {
    private static let lineLimit = 64 << 20
    private static let bufferLength = 256 << 10

    package typealias Read = (_ position: Int, _ limit: Int) throws(SystemError) -> [UInt8]

    private let read: Read
    /// How many bytes were read.
    package private(set) var position = 0
    private var reader = LineReader(limit: lineLimit)
    private var hasEnded = false

    /// - Parameter read: gives at most so many bytes from a place on, none at the end.
    package init(read: @escaping Read) { self.read = read }

    /// Those of the file at `path`.
    package init(ofFile path: String) throws(SystemError) {
        let file = try SourceFile(FilePlace(path), on: LinuxFileSystem())
        self.init { position, limit throws(SystemError) in
            try file.read(at: position, upTo: limit)
        }
    }

    /// The next line; nil at the end.
    ///
    /// - Throws: ``DumpLoader/Fault`` for one that is too long, or what a reading fails with.
    package mutating func next() throws -> (bytes: [UInt8], number: Int)? {
        while true {
            var line = reader.next()
            if line == nil {
                if hasEnded { return nil }
                let bytes = try read(position, Self.bufferLength)
                position += bytes.count
                hasEnded = bytes.isEmpty
                if hasEnded { line = reader.last() } else { reader.append(bytes) }
            }
            switch line {
            case .line(let bytes, let number): return (bytes, number)
            case .tooLong(let number):
                throw DumpLoader.Fault.line(
                    number: number, "the line is longer than \(Self.lineLimit >> 20) MiB")
            case nil: break
            }
        }
    }
}
