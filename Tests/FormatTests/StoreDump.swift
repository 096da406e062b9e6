import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusJournal
import Support

/// What a store holds, as text: the form of `expected.txt`, described in
/// `Formats/samples/README.md`.
struct StoreDump {
    private(set) var lines: [String] = []
    private let container: Container
    /// By the number of a zone: the version of the last deletion that is forgotten.
    private var horizons: [UInt32: UInt64] = [:]

    /// Reads the store on `disk` without writing.
    static func content(of disk: SimulatedDisk) async throws -> [String] {
        let storage = try disk.storage(writing: false)
        let users = try users(in: storage)
        var dump = StoreDump(try Container(reading: storage))
        try await dump.add(dump.container.publicDatabase(), "public")
        for user in users { try await dump.add(dump.container.privateDatabase(for: user), user) }
        dump.lines += try IndexDump.lines(storage)
        for mark in try await dump.container.marks() {
            let time = Int64((mark.date.timeIntervalSince1970 * 1_000_000).rounded())
            dump.lines.append("mark \(mark.name) at \(time) offset \(mark.offset)")
            dump.lines.append("  chain \(Hex.encode(mark.chain))")
            try await dump.addState(at: .mark(mark), users)
        }
        if let floor = try await dump.container.history().floor {
            dump.lines.append("history from \(floor)")
            var log = dump.container.log(from: floor)
            while let entry = try log.nextLine()?.entry {
                guard entry.commitTime != nil else { continue }
                let end = entry.offset.rawValue + 1
                dump.lines.append("state \(end)")
                try await dump.addState(at: .offset(end), users)
            }
        }
        return dump.lines
    }

    /// The hashes of what the databases held once.
    private mutating func addState(at point: PastPoint, _ users: [String]) async throws {
        let snapshot = try await container.snapshot(at: point)
        let databases =
            [("public", snapshot.publicDatabase())]
            + users.map { ($0, snapshot.privateDatabase(for: $0)) }
        for (name, database) in databases {
            let hash = try database.contentHash(includingSystem: true)
            lines.append("  system-hash \(name) \(hash)")
        }
    }

    private init(_ container: Container) {
        self.container = container
        var log = container.log()
        while let entry = try? log.nextLine()?.entry {
            guard entry.kind.rawValue == 44 else { continue }
            let through = entry.payload.span.uint64(at: 0)
            horizons[entry.zone] = entry.version.rawValue & ~((1 << 52) - 1) | through
        }
    }

    /// The user record names in the order of their numbers.
    private static func users(in storage: any Storage) throws -> [String] {
        guard let manifest = try Journal.newestManifest(in: storage) else { return [] }
        var reader = JournalReader(manifest, in: storage, fold: UserFold())
        try reader.read(.toTheEnd)
        return reader.fold.names
    }

    private mutating func add(_ database: Database, _ name: String) async throws {
        lines.append("")
        lines.append("database \(name)")
        var hash = DatabaseHash(withSystem: false)
        var systemHash = DatabaseHash(withSystem: true)
        for zone in try await database.allRecordZones() {
            lines.append("zone \(zone.zoneID.zoneName) capabilities \(zone.capabilities.rawValue)")
            let records = try await Self.records(of: zone.zoneID, in: database)
            for record in records { await add(record) }
            let counted = records.filter { $0.recordType != Record.shareType }
            hash.add(zone.zoneID, counted)
            systemHash.add(zone.zoneID, counted)
            if zone.capabilities.contains(.fetchChanges) {
                try await addFeed(of: zone.zoneID, in: database)
            }
        }
        if name != "public" { try await addFeed(of: database) }
        // The library's own hash, which is written from the same page, stands for nothing if it
        // says something else.
        let own = try await database.contentHash()
        let ownSystem = try await database.contentHash(includingSystem: true)
        lines.append(own.description == hash.finished ? "hash \(own)" : "hash differs")
        lines.append(
            ownSystem.description == systemHash.finished
                ? "system-hash \(ownSystem)" : "system-hash differs")
    }

    private static func records(
        of zone: RecordZone.ID, in database: Database
    ) async throws -> [Record] {
        var records: [Record] = []
        var page = try await database.records(inZoneWith: zone, resultsLimit: 7)
        records += page.records
        while let cursor = page.cursor {
            page = try await database.records(inZoneWith: zone, resultsLimit: 7, from: cursor)
            records += page.records
        }
        return records.sorted { $0.recordID.recordName < $1.recordID.recordName }
    }

    private mutating func add(_ record: Record) async {
        let system = SystemValues(record)
        lines.append("record \(record.recordID.recordName)")
        lines.append("  type \(record.recordType)")
        lines.append("  tag \(system.tag)")
        lines.append("  created \(system.created) by \(system.creator)")
        lines.append("  modified \(system.modified) by \(system.modifier)")
        if let parent = record.parent { lines.append("  parent \(parent.recordID.recordName)") }
        for key in record.allKeys {
            guard let value = record[key] else { continue }
            let flag = record.encryptedValues[key] == nil ? "" : "encrypted "
            lines.append(
                "  field \(key) \(flag)\(ValueBytes.name(of: value)) \(Self.text(value))")
            for asset in Self.assets(value) { lines.append(await Self.content(of: asset)) }
        }
    }

    private static func assets(_ value: RecordValue) -> [Asset] {
        switch value {
        case .asset(let asset): [asset]
        case .list(let values): values.compactMap(\.assetValue)
        default: []
        }
    }

    /// What an asset holds, or why it cannot be read.
    private static func content(of asset: Asset) async -> String {
        var hash = SHA256()
        do throws(StoreError) {
            for try await chunk in try asset.chunks() { hash.update(chunk.span) }
            return "    holds sha256 \(Hex.encode(hash.finish()))"
        } catch {
            guard let place = error.place else { return "    is not there" }
            return "    damage \(place.file) byte \(place.byte) kind \(place.kind)"
        }
    }

    /// Everything that happened in a zone, from a token at its beginning on.
    private mutating func addFeed(of zone: RecordZone.ID, in database: Database) async throws {
        let all = try await Self.pages(of: zone, in: database, since: nil)
        // Without a token no deletion is told of.
        let since = try await Self.pages(
            of: zone, in: database, since: all.token.atBeginning(horizons))
        lines += all.changed.map { "changed \($0)" }
        lines += since.deleted.map { "deleted \($0)" }
        lines.append("token \(all.token)")
        if since.token != all.token { lines.append("token differs") }
    }

    private static func pages(
        of zone: RecordZone.ID, in database: Database, since token: ChangeToken?
    ) async throws -> (changed: [String], deleted: [String], token: ChangeToken) {
        var changes = try await database.recordZoneChanges(
            inZoneWith: zone, since: token, resultsLimit: 3)
        var changed: [String] = []
        var deleted: [String] = []
        while true {
            changed += changes.modifications.map(\.recordID.recordName)
            deleted += changes.deletions.map { "\($0.recordID.recordName) \($0.recordType)" }
            if !changes.moreComing { return (changed, deleted, changes.changeToken) }
            changes = try await database.recordZoneChanges(
                inZoneWith: zone, since: changes.changeToken, resultsLimit: 3)
        }
    }

    private mutating func addFeed(of database: Database) async throws {
        let last = try await database.databaseChanges().changeToken
        let changes = try await database.databaseChanges(since: try last.atBeginning())
        lines += changes.modifications.map { "zone-changed \($0.zoneName)" }
        lines += changes.deletions.map { "zone-\($0.reason) \($0.zoneID.zoneName)" }
        lines.append("token \(changes.changeToken)")
    }

    /// Text between double quotes; numbers in decimals; floating-point numbers and dates as the
    /// 16 digits of their bits; of many bytes their number and hash.
    private static func text(_ value: RecordValue) -> String {
        switch value {
        case .string(let text): quoted(text)
        case .int64(let number): String(number)
        case .double(let number): bits(number)
        case .date(let date): bits(date.timeIntervalSinceReferenceDate)
        case .bytes(let data):
            data.count > 64
                ? "\(data.count) bytes of sha256 \(Hex.encode(SHA256.hash([UInt8](data))))"
                : "x" + Hex.encode([UInt8](data))
        case .location(let location):
            ValueBytes.numbers(of: location).map { bits($0) }.joined(separator: ",")
        case .reference(let reference):
            "\(reference.action.rawValue):\(reference.recordID.recordName)"
        case .asset(let asset): "\(asset.size ?? 0) bytes of \(asset.fileChecksum ?? "")"
        case .list(let values): "[" + values.map { text($0) }.joined(separator: " ") + "]"
        }
    }

    private static func bits(_ number: Double) -> String { Hex.encode(number.bitPattern) }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\" + String(scalar)
            case "\n": quoted += "\\n"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

extension ChangeToken {
    /// The token of the same feed from before anything was in it.
    /// From here on everything is told of.
    fileprivate func atBeginning(_ horizons: [UInt32: UInt64] = [:]) throws -> ChangeToken {
        var fields = TokenFields([UInt8](data))
        fields.position = horizons[fields.zone] ?? 0
        return try ChangeToken(data: Data(fields.encoded))
    }
}

/// The users that a journal names.
private struct UserFold: JournalFold {
    var names: [String] = []

    mutating func apply(
        _ header: FrameHeader, at offset: JournalOffset, payload: Span<UInt8>
    ) throws(JournalDamage.Kind) {
        guard header.kind.rawValue == 35 else { return }
        var cursor = ByteCursor()
        do throws(FormatError) {
            _ = try cursor.varint(payload)
            let high = try cursor.uint64(payload)
            names.append("_" + Hex.encode(high) + Hex.encode(try cursor.uint64(payload)))
        } catch {
            throw .payload("content")
        }
    }

    mutating func complete(end: JournalOffset, time: Int64) {}
    mutating func endGroup() {}
    mutating func setSavepoint() {}
    mutating func rollBack() {}
}
