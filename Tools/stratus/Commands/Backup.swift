import FoundationEssentials
import Stratus
import StratusFiles
import StratusGateway

/// `stratus backup` and `stratus backups`: archives of stores.
enum Backup {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let target = try invocation.archiveTarget(output)
        for option in ["as", "database"] where invocation.has(option) {
            throw ToolError.usage("backup", "--only names what is backed up, not --\(option)")
        }
        if let seconds = invocation.number("follow") {
            for option in ["mark", "no-mark"] where invocation.has(option) {
                throw ToolError.usage(
                    "backup",
                    "--\(option) does not go with --follow, which leaves the store to a service")
            }
            let container = try await invocation.openStore()
            return try await follow(container, every: seconds, in: target, invocation, output)
        }
        if invocation.has("full-every") {
            throw ToolError.usage("backup", "--full-every goes with --follow")
        }
        try invocation.refuse("no-mark", with: ["mark"])
        if invocation.has("no-mark") {
            return try await write(invocation.openStore(), to: target, invocation, output)
        }
        guard let name = invocation.value("mark") else {
            // A store that no service has open is only read. A service may hang: the archive goes on without it.
            guard let service = try ServiceWriter(invocation, answeringWithin: 60) else {
                return try await write(invocation.openStore(), to: target, invocation, output)
            }
            return try await write(service, marking: .standard, to: target, invocation, output)
        }
        let mark = BackupMark.named(name)
        let container: Container
        do throws(StoreError) {
            container = try await invocation.openForWriting()
        } catch {
            guard case .locked? = error.cause else { throw error }
            if let service = try ServiceWriter(invocation) {
                return try await write(service, marking: mark, to: target, invocation, output)
            }
            output.warning(
                "backup.mark",
                "no mark is left: another process has the store open, and no gateway of it listens")
            let code = try await write(invocation.openStore(), to: target, invocation, output)
            return code == .ok ? .partial : code
        }
        return try await container.closing {
            try await write(container, marking: mark, to: target, invocation, output)
        }
    }

    private static func write(
        _ writer: any BackupWriter, marking mark: BackupMark = .none, to target: String?,
        _ invocation: Invocation, _ output: Output
    ) async throws -> ExitCode {
        let progress = ReadingProgress("copying", invocation, output)
        defer { progress.finish() }
        guard let path = invocation.value("since") else {
            return try await write(
                writer, since: nil, marking: mark, to: target, invocation, output, progress)
        }
        do {
            let base = try await Archive.opened(path)
            return try await write(
                writer, since: base, marking: mark, to: target, invocation, output, progress)
        } catch {
            // Behind the first bytes of an archive no other one can begin.
            guard invocation.has("or-full"), isOfBase(error), !output.hasBytes else { throw error }
            let reason = ToolError(describing: error)
            output.warning("backup.full", "\(reason.message); the archive is full", file: path)
            return try await write(
                writer, since: nil, marking: mark, to: target, invocation, output, progress)
        }
    }

    /// Writes an archive into a directory whenever something changed, until it is stopped.
    private static func follow(
        _ container: Container, every seconds: UInt64, in target: String?,
        _ invocation: Invocation, _ output: Output
    ) async throws -> ExitCode {
        if invocation.has("since") {
            throw ToolError.usage("backup", "--follow goes on from the newest archive in -o DIR")
        }
        if let target { _ = try ResultFolder(target) }
        guard let target, (try? LocalStorage(at: target, .reading)) != nil else {
            throw ToolError.usage("backup", "--follow writes into a directory: name it with -o DIR")
        }
        guard invocation.number("full-every") != 0 else {
            throw ToolError.usage("backup", "--full-every takes 1 or more, not 0")
        }
        guard (1...86_400 * 365).contains(seconds) else {
            throw ToolError.usage("backup", "--follow takes from 1 second to a year")
        }
        var options = ArchiveSeries.Options()
        options.parts = invocation.archiveParts
        options.keepsHistory = invocation.has("history")
        options.contentHashes = !invocation.has("no-hash")
        options.chainLimit = Int(clamping: invocation.number("full-every") ?? 1000)
        var series = ArchiveSeries(of: container, in: target, options: options)
        Terminal.catchStopSignals()
        try output.header(schema: "stratus.backups/1")
        var count = 0
        while true {
            let begin = Clock.monotonicNanoseconds
            let progress = ReadingProgress("copying", invocation, output)
            let archive = try await series.next(progress: progress.update)
            progress.finish()
            if let archive {
                count += 1
                let kind = archive.information.baseID == nil ? "full" : "since"
                try output.result(
                    "archive", archive.information.json(archive.path),
                    text: "\(kind)  \(archive.text)")
                try output.flush()
            }
            repeat {
                if let stop = Terminal.requestedStop {
                    try output.summary(
                        ["archives": .integer(count)],
                        text: "\(Quantities.count(count, "archive")) written")
                    return .signal(stop)
                }
                Thread.pause(microseconds: 50_000)
            } while Clock.monotonicNanoseconds - begin < seconds * 1_000_000_000
        }
    }

    /// Whether it is the archive of `--since` that is missing or cannot be gone on from.
    private static func isOfBase(_ error: any Error) -> Bool {
        switch error {
        case let error as StoreError: error.needsFullBackup
        case let error as ToolError: error.id == ToolError.noArchive
        default: false
        }
    }

    /// To a file, or where `target` is nil to standard output.
    private static func write(
        _ writer: any BackupWriter, since base: Archive?, marking mark: BackupMark,
        to target: String?, _ invocation: Invocation, _ output: Output, _ progress: ReadingProgress
    ) async throws -> ExitCode {
        let request = BackupRequest(
            of: invocation.archiveParts, since: base, keepsHistory: invocation.has("history"),
            contentHashes: !invocation.has("no-hash"), progress: progress.update,
            hashing: progress.hashing,
            unmarked: {
                output.warning("backup.mark", "the archive is made without a mark: \($0.reason)")
            }, isStopped: { Terminal.requestedStop != nil })
        guard let target else {
            try await writer.backup(request, marking: mark) { try output.bytes($0) }
            return .ok
        }
        let archive = try await writer.backup(request, to: target, marking: mark)
        progress.finish()
        try output.summary(archive.information.json(archive.path), text: archive.text)
        return .ok
    }

    static func look(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let path = invocation.argument("PATH")
        switch invocation.argument("WHAT") {
        case "list": return try await list(path, output)
        case "verify": return try await verify(path, invocation, output)
        case "merge": return try await merge(path, invocation, output)
        case "forget": return try await forget(path, invocation, output)
        default: return try await show(path, output)
        }
    }

    private static func list(_ path: String, _ output: Output) async throws -> ExitCode {
        try output.header(
            schema: "stratus.backups/1", columns: "end  start  size  made  file")
        let found = try await Archive.naming(folder: path) { () async throws(StoreError) in
            try await Archive.list(in: path)
        }
        for archive in found.archives {
            let information = archive.information
            try output.result(
                "archive", information.json(archive.path),
                text: "\(information.range.upperBound)  \(information.range.lowerBound)  "
                    + "\(size(information.length))  \(output.date(information.created))  "
                    + Output.escaped(archive.path))
        }
        for (file, error) in found.refused {
            let kind = error.place.map { ": \($0.kind)" } ?? ""
            output.warning("backup.damaged", error.reason + kind, file: file)
        }
        return found.refused.isEmpty ? .ok : .differences
    }

    private static func show(_ path: String, _ output: Output) async throws -> ExitCode {
        let archive = try await Archive.opened(path)
        let information = archive.information
        try output.header(schema: "stratus.backup/1")
        if output.isJSON {
            try await archive.forEachZone { try output.object("zone", $0.json) }
        }
        try output.summary(information.json(archive.path))
        var lines: [(name: String, value: String)] = [
            ("file", Output.escaped(archive.path)),
            ("archive", information.archiveID + (information.baseID == nil ? ", full" : "")),
            ("store", information.storeID),
            ("made", output.date(information.created)),
            ("last commit", information.lastCommit.map { output.date($0) } ?? "none"),
            ("offsets", "\(information.range.lowerBound) to \(information.range.upperBound)"),
            ("incarnation", "\(information.incarnation)"), ("chain", information.journalChain),
            ("size", size(information.length)),
        ]
        if let base = information.baseID {
            lines.insert(
                ("goes on from", "\(base), \(information.chainLength) archives in all"), at: 2)
        }
        if !information.parts.isEmpty {
            let parts = information.parts.map { Output.escaped($0.text) }
            lines.append(("of", parts.joined(separator: ", ")))
        }
        if information.keepsHistory { lines.append(("history", "from \(information.floor) on")) }
        try Show.write(lines, to: output)
        if output.isJSON { return .ok }
        try await archive.forEachZone { zone in
            try output.line(
                "\(Quantities.count(zone.recordCount, "record"))  "
                    + "\(Output.escaped(zone.zoneName))  \(Output.escaped(zone.owner ?? "public"))")
        }
        return .ok
    }

    private static func verify(
        _ path: String, _ invocation: Invocation, _ output: Output
    ) async throws -> ExitCode {
        let archive = try await Archive.opened(path)
        let progress = ReadingProgress("verifying", invocation, output)
        let findings = try await archive.verify(progress: progress.update)
        progress.finish()
        try output.header(schema: "stratus.verify/1")
        for place in findings {
            try output.result(
                "finding",
                [
                    "severity": "damage", "file": .string(place.file), "byte": .integer(place.byte),
                    "kind": .string(place.kind),
                ], text: "damage: \(place.text)")
        }
        try output.summary(
            archive.information.json(archive.path),
            text: findings.isEmpty ? "\(archive.text): all of it is whole" : nil)
        return findings.isEmpty ? .ok : .differences
    }

    private static func merge(
        _ path: String, _ invocation: Invocation, _ output: Output
    ) async throws -> ExitCode {
        let target = try invocation.archiveTarget(output)
        let archive = try await Archive.opened(path)
        let progress = ReadingProgress("merging", invocation, output)
        defer { progress.finish() }
        let keepsHistory = archive.information.keepsHistory
        let container = try await archive.container()
        guard let target else {
            try await container.backup(
                keepingHistory: keepsHistory, marking: .none, progress: progress.update
            ) { try output.bytes($0) }
            return .ok
        }
        let merged = try await container.backup(
            to: target, keepingHistory: keepsHistory, marking: .none, progress: progress.update)
        progress.finish()
        try output.summary(merged.information.json(merged.path), text: merged.text)
        return .ok
    }
}

extension Backup {
    private static func forget(
        _ path: String, _ invocation: Invocation, _ output: Output
    ) async throws -> ExitCode {
        func count(_ name: String) -> Int { Int(clamping: invocation.number("keep-\(name)") ?? 0) }
        let isDryRun = invocation.has("dry-run")
        let policy = ArchiveRetention(
            last: count("last"), daily: count("daily"), weekly: count("weekly"),
            monthly: count("monthly"))
        guard ["last", "daily", "weekly", "monthly"].contains(where: { count($0) > 0 }) else {
            throw ToolError.usage(
                "backups",
                "forget takes --keep-last, --keep-daily, --keep-weekly or "
                    + "--keep-monthly: name at least one, with 1 or more")
        }
        let done = try await Archive.naming(folder: path) { () async throws(StoreError) in
            try await Archive.forget(in: path, keeping: policy, dryRun: isDryRun)
        }
        try output.header(schema: "stratus.forget/1")
        for (word, sign, files) in [("forgotten", "-", done.forgotten), ("kept", "=", done.kept)] {
            for file in files {
                try output.result(
                    "archive", ["file": .string(file), "change": .string(word)],
                    text: "\(sign)  \(Output.escaped(file))")
            }
        }
        let would = isDryRun ? "would be " : ""
        try output.summary(
            [
                "dryRun": .boolean(isDryRun), "forgotten": .integer(done.forgotten.count),
                "kept": .integer(done.kept.count),
            ],
            text: "\(Quantities.count(done.forgotten.count, "archive")) \(would)deleted, "
                + "\(done.kept.count) kept")
        return .ok
    }
}

/// `stratus restore`, `revert` and `copy`.
enum Restore {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let archive = try await Archive.opened(invocation.argument("ARCHIVE"))
        if invocation.has("zone") { return try await zone(archive, invocation, output) }
        for option in ["record", "fields", "as-zone", "to-user", "mode", "as", "database"]
        where invocation.has(option) {
            throw ToolError.usage("restore", "--\(option) goes with --zone")
        }
        guard archive.information.parts.isEmpty else {
            throw ToolError.usage(
                "restore", "the archive has some zones only: bring them back with --zone")
        }
        let path = invocation.argument("STORE")
        let isRehearsal = invocation.has("rehearse")
        for option in ["clone", "with-access", "dry-run"]
        where isRehearsal && invocation.has(option) {
            throw ToolError.usage("restore", "--\(option) does not go with --rehearse")
        }
        let (isClone, keepsAccess) = (
            invocation.has("clone"), try invocation.keepsAccess("restore")
        )
        var point: PastPoint?
        if invocation.has("at") {
            point = try await invocation.point(in: archive.container())
        }
        if invocation.has("dry-run") {
            let plan = try await archive.restorePlan(
                to: path, at: point, cloning: isClone, keepingAccess: keepsAccess)
            try plan.write(path, isClone: isClone, to: output)
            return .ok
        }
        let progress = ReadingProgress(
            isRehearsal ? "rehearsing" : "restoring", invocation, output)
        defer { progress.finish() }
        let report =
            isRehearsal
            ? try await archive.rehearseRestore(
                to: path, at: point, progress: progress.update, indexing: progress.indexing,
                proving: progress.proving)
            : try await archive.restore(
                to: path, at: point, cloning: isClone, keepingAccess: keepsAccess,
                progress: progress.update, indexing: progress.indexing, proving: progress.proving)
        progress.finish()
        try report.access.write(to: output)
        let made = report.text(path)
        try output.summary(
            report.json,
            text: isRehearsal
                ? "would make \(made); all of it was read, and is deleted again; took "
                    + Quantities.duration(seconds: report.seconds) : made)
        return .ok
    }

    static func copy(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let path = invocation.argument("COPY")
        let container = try await invocation.openStore()
        let progress = ReadingProgress("copying", invocation, output)
        defer { progress.finish() }
        let report = try await container.copy(
            to: path, cloning: invocation.has("clone"),
            keepingAccess: try invocation.keepsAccess("copy"), progress: progress.update,
            indexing: progress.indexing, proving: progress.proving)
        progress.finish()
        try report.access.write(to: output)
        try output.summary(report.json, text: report.text(path))
        return .ok
    }

    static func revert(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let progress = ReadingProgress("reading", in: .items("record"), invocation, output)
        defer { progress.finish() }
        let done = try await invocation.changing { container in
            let snapshot = try await invocation.snapshot(of: container)
            try invocation.demandZone(in: snapshot, of: container)
            return try await bring(
                invocation.database(of: snapshot), to: container, .mirror, invocation, progress)
        } through: { service in
            // So that what is wrong with it is said as of any other command.
            let snapshot = try await invocation.snapshot(of: service.store)
            try invocation.demandZone(in: snapshot, of: service.store)
            let body = try order(invocation, service)
            return try await RestoredRecords(answer: service.call("store/revert", body, invocation))
        }
        progress.finish()
        return try write(done, invocation, output)
    }

    private static func zone(
        _ archive: Archive, _ invocation: Invocation, _ output: Output
    ) async throws -> ExitCode {
        if invocation.has("clone") { throw ToolError.usage("restore", "--clone makes a store") }
        if invocation.has("rehearse") {
            throw ToolError.usage("restore", "with --zone, --dry-run says what would be done")
        }
        let old = try await archive.container()
        let snapshot = try await invocation.snapshot(of: old)
        try invocation.demandZone(in: snapshot, of: old)
        let progress = ReadingProgress("reading", in: .items("record"), invocation, output)
        defer { progress.finish() }
        let done = try await invocation.changing { container in
            try await bring(
                invocation.database(of: snapshot), to: container, .replace, invocation, progress)
        } through: { service in
            var body = try order(invocation, service)
            body.append("archive", .string(invocation.absolutePath(archive.path)))
            body.append("toUser", textOf: invocation.value("to-user"))
            body.append("toZone", textOf: invocation.value("as-zone"))
            return try await RestoredRecords(
                answer: service.call("store/restore", body, invocation))
        }
        progress.finish()
        return try write(done, invocation, output)
    }

    /// What a service is asked of both.
    private static func order(
        _ invocation: Invocation, _ service: Service
    ) throws -> JSONObject {
        var body: JSONObject = ["zoneID": try invocation.zoneObject(in: service.store)]
        let names = invocation.allValues("record")
        if !names.isEmpty { body.append("records", .strings(names)) }
        if let fields = try invocation.restoredFields { body.append("fields", .strings(fields)) }
        body.append("at", textOf: try invocation.value("at").map { try invocation.pointText($0) })
        body.append("mode", textOf: invocation.value("mode"))
        body.append("dryRun", .boolean(invocation.has("dry-run")))
        body.append("withAccess", .boolean(invocation.has("with-access")))
        return body
    }

    private static func bring(
        _ source: DatabaseSnapshot, to container: Container, _ usual: RestoreMode,
        _ invocation: Invocation, _ progress: ReadingProgress
    ) async throws -> RestoredRecords {
        let names = invocation.allValues("record")
        let database =
            if let user = invocation.value("to-user") {
                container.privateDatabase(for: user)
            } else {
                invocation.database(of: container)
            }
        return try await database.restore(
            invocation.zoneID(in: container), from: source,
            to: invocation.value("as-zone").map { RecordZone.ID(zoneName: $0) },
            records: names.isEmpty ? nil : names, fields: invocation.restoredFields,
            mode: invocation.value("mode").flatMap(RestoreMode.init(rawValue:)) ?? usual,
            dryRun: invocation.has("dry-run"), keepingAccess: invocation.has("with-access"),
            reading: progress.count, proving: progress.proving)
    }

    private static func write(
        _ done: RestoredRecords, _ invocation: Invocation, _ output: Output
    ) throws -> ExitCode {
        let isDryRun = invocation.has("dry-run")
        try output.header(schema: "stratus.restore/1")
        for (word, sign, found) in [
            ("added", "+", done.added), ("replaced", "M", done.replaced),
            ("deleted", "-", done.deleted), ("kept", "=", done.kept),
        ] {
            for name in found.sorted() {
                try output.result(
                    "record", ["recordName": .string(name), "change": .string(word)],
                    text: "\(sign)  \(Output.escaped(name))")
            }
        }
        try done.access.write(to: output)
        let failures = done.sharingFailures.sorted { $0.key.recordName < $1.key.recordName }
        for (share, error) in failures {
            output.warning(
                "unshared",
                "the share \(Output.escaped(share.recordName)) was not made again: \(error.reason)")
        }
        let would = isDryRun ? "would be " : ""
        try output.summary(
            [
                "dryRun": .boolean(isDryRun), "added": .integer(done.added.count),
                "replaced": .integer(done.replaced.count),
                "deleted": .integer(done.deleted.count), "kept": .integer(done.kept.count),
                "unchanged": .integer(done.unchangedCount), "proved": .boolean(done.isProved),
                "history": .boolean(done.keepsHistory), "shares": .integer(done.access.count),
                "failures": .integer(failures.count),
            ],
            text: "\(Quantities.count(done.added.count, "record")) \(would)brought back, "
                + "\(done.replaced.count) replaced, \(done.deleted.count) deleted; "
                + "\(done.kept.count) kept, \(done.unchangedCount) are what they were"
                + (done.isProved ? "; proved by the content hash" : "")
                + (done.keepsHistory ? "; change tags and tokens stay good" : "")
                + (done.access.isEmpty
                    ? "" : "; \(Quantities.count(done.access.count, "share")) \(would)made again"))
        return failures.isEmpty ? .ok : .partial
    }
}

private func size(_ bytes: Int) -> String { Quantities.size(UInt64(max(0, bytes))) }

extension Invocation {
    /// Where `-o` says that an archive is written to; nil: to standard output.
    fileprivate func archiveTarget(_ output: Output) throws(ToolError) -> String? {
        guard let path = value("output") else {
            throw .usage("output", "name the file with -o FILE, or - for standard output")
        }
        if path != "-" {
            if path.hasSuffix("/") { _ = try ResultFolder(path) }
            return path
        }
        if output.isJSON { throw .usage("output", "with --json name a file with -o") }
        if output.settings.resultsAreOnTerminal {
            throw .usage("terminal", "an archive is no text: name a file with -o")
        }
        return nil
    }
}

extension Invocation {
    /// What `--only` names.
    fileprivate var archiveParts: [Archive.Part] {
        allValues("only").map { Archive.Part(text: $0) }
    }
}

extension Invocation {
    /// What of the records that `--record` names is meant; nil: all of them.
    fileprivate var restoredFields: [String]? {
        get throws(ToolError) {
            let fields = try fields()
            guard fields == nil || has("record") else {
                throw .usage("fields", "--fields goes with --record: name the record, too")
            }
            guard fields == nil || !has("with-access") else {
                throw .usage("fields", "--with-access brings shares back, which no field has")
            }
            return fields
        }
    }
}

extension Archive {
    /// For people.
    fileprivate var text: String {
        let information = information
        return "\(Output.escaped(path)): \(size(information.length)), "
            + "\(Quantities.count(information.recordCount, "record")) in "
            + "\(Quantities.count(information.zoneCount, "zone")), "
            + "offsets \(information.range.lowerBound) to \(information.range.upperBound)"
    }
}

extension Invocation {
    /// Whether --with-access is given, which of whole stores only a clone takes.
    fileprivate func keepsAccess(_ command: String) throws -> Bool {
        guard has("with-access") else { return false }
        guard has("clone") else {
            let options = command == "copy" ? "--clone" : "--clone, or with --zone"
            throw ToolError.usage(command, "--with-access goes with \(options)")
        }
        return true
    }
}

/// The parts of a restore behind the first.
extension ReadingProgress {
    fileprivate var indexing: Container.ReadingProgress {
        let tell = part("indexing")
        return { done, total in tell(done, total) }
    }

    fileprivate var proving: Container.RecordProgress { part("proving", .items("record")) }

    fileprivate var hashing: Container.RecordProgress { part("hashing", .items("record")) }
}
