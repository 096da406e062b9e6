internal import Stratus

struct StoreInfo: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        // Without a user there is no private database to report on.
        let database =
            session.request.user == nil
            ? session.container.publicDatabase() : try session.database()
        var report = try await StoreReport(of: session.container)
        report.count(
            zones: try await database.allRecordZones().count,
            records: try await database.usage().recordCount)
        return report.json()
    }
}

struct StoreVerify: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        let result = try await StoreVerification(of: session.container)
        var body = result.json()
        body.append("found", .array(result.findings.map { .object($0.json) }))
        return body
    }
}

/// Rewrites what of the journal is mostly needed no longer.
struct StoreCompact: Call {
    enum Key: String { case dryRun }

    private let isDryRun: Bool

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { isDryRun = try keys.optional(.dryRun) ?? false }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        return try await session.container.maintenance.compact(dryRun: isDryRun).json(isDryRun)
    }
}

/// Writes an archive of the store, or of parts of it, to a file.
struct StoreBackup: Call {
    enum Key: String { case path, since, parts, history, hashes, mark }

    private let path: String
    private let base: String?
    private let parts: [Archive.Part]
    private let keepsHistory: Bool
    private let contentHashes: Bool
    private let mark: BackupMark

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        path = try keys.required(.path)
        base = try keys.optional(.since)
        parts = try keys.optional(.parts, as: [String].self)?.map { Archive.Part(text: $0) } ?? []
        keepsHistory = try keys.optional(.history) ?? false
        contentHashes = try keys.optional(.hashes) ?? true
        let name: String? = try keys.optional(.mark)
        mark = name.map { $0.isEmpty ? .none : .named($0) } ?? .standard
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        try await session.checkFile(path, isNew: true)
        // It may be a directory, in which the file gets a name, or a link to one.
        try await session.checkFile(path)
        var since: Archive?
        if let base {
            try await session.checkFile(base)
            since = try await Archive.open(at: base)
        }
        let archive = try await session.container.backup(
            of: parts, to: path, since: since, keepingHistory: keepsHistory,
            contentHashes: contentHashes, marking: mark)
        return archive.information.json(archive.path)
    }
}

struct StoreCheckpointCall: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        try await session.container.checkpoint()
        let statistics = try await session.container.indexStatistics()
        return statistics.json(replayed: session.container.recoveryReport.replayedCommits)
    }
}

/// Marks this moment.
struct StoreMark: Call {
    enum Key: String { case name }

    private let name: String

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { name = try keys.required(.name) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        return try await session.container.mark(name).json
    }
}

/// Removes the latest mark of a name, or the one of that name at an offset.
struct StoreUnmark: Call {
    enum Key: String { case name, offset }

    private let name: String
    private let offset: String?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        name = try keys.required(.name)
        offset = try keys.optional(.offset)
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try session.demand(.maintenance)
        let mark = try await session.container.marks().last { mark in
            mark.name == name && (offset ?? String(mark.offset)) == String(mark.offset)
        }
        guard let mark else {
            throw StoreError(.unknownItem, "the store has no mark of that name")
        }
        try await session.container.removeMark(mark)
        return mark.json
    }
}

extension Mark {
    /// For answers and output.
    package var json: JSONObject {
        ["name": .string(name), "offset": .offset(offset), "date": .date(date)]
    }
}
