import FoundationEssentials
import Stratus
import StratusFiles
import StratusGateway

/// Writes a tree that `import` brought into a zone back to a directory.
enum Export {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let snapshot = container.snapshot()
        let database =
            switch invocation.database {
            case .private: snapshot.privateDatabase(for: invocation.user)
            case .public: snapshot.publicDatabase(as: invocation.user)
            }
        // Read before the directory is made: there may be no such zone.
        var exporter = try Exporter(
            database, invocation.zoneID, keepsAllBits: invocation.has("preserve-permissions"),
            output: output,
            progress: Progress(
                "exporting", .items("entries"), invocation.progress, to: output,
                at: Clock.monotonicNanoseconds))
        let directory = invocation.argument("DIR")
        let tree: TreeWriter
        do throws(SystemError) {
            tree = try TreeWriter(directory)
        } catch {
            throw ToolError(error, "cannot make the directory", directory)
        }
        Terminal.catchStopSignals()
        try await exporter.write(to: tree)
        return try exporter.finish()
    }
}

/// One export: folder by folder, the files of some at a time, and each folder finished when nothing
/// is written below it any more.
private struct Exporter {
    private struct Made: Sendable {
        var path: [UInt8]
        var outcome: ExportOutcome
    }

    private let database: DatabaseSnapshot
    private let output: Output
    private var progress: Progress
    /// By the names of their folders' records; those that were met are taken out.
    private var waiting: [String?: [ExportEntry]] = [:]
    /// The names of records that are no entries.
    private var others: [String] = []
    private var clearedCount = 0
    private var doneCount = 0
    private var byteCount = 0
    private var skippedCount = 0
    private var damagedCount = 0
    private let start = Clock.monotonicNanoseconds

    /// So many files are written at once.
    private static let width = min(max(2, ProcessInfo.processInfo.activeProcessorCount), 8)

    init(
        _ database: DatabaseSnapshot, _ zoneID: RecordZone.ID, keepsAllBits: Bool, output: Output,
        progress: Progress
    ) throws {
        self.database = database
        self.output = output
        self.progress = progress
        var cursor: RecordPage.Cursor?
        repeat {
            let page = try database.records(
                inZoneWith: zoneID, desiredKeys: ExportEntry.keys, from: cursor)
            for record in page.records {
                guard var entry = ExportEntry(record) else {
                    others.append(record.recordID.recordName)
                    continue
                }
                if entry.hasSpecialBits, !keepsAllBits {
                    entry.clearSpecialBits()
                    clearedCount += 1
                }
                waiting[entry.parent, default: []].append(entry)
            }
            cursor = page.cursor
        } while cursor != nil
    }

    mutating func write(to tree: TreeWriter) async throws {
        var folders: [(path: [UInt8], entry: ExportEntry)] = []
        try await withThrowingTaskGroup(of: Made.self) { group in
            var stack: [(path: [UInt8], recordName: String?)] = [([], nil)]
            var running = 0
            while let (path, recordName) = stack.popLast() {
                guard var entries = waiting.removeValue(forKey: recordName) else { continue }
                entries.sort(by: ExportEntry.isBefore)
                let folder = try tree.folder(path)
                let first = folders.count
                for entry in entries {
                    if Terminal.requestedStop != nil { break }
                    let place = path.isEmpty ? entry.name : path + [UInt8(ascii: "/")] + entry.name
                    guard entry.kind == .file else {
                        let outcome = try await entry.make(in: folder, from: database)
                        take(Made(path: place, outcome: outcome))
                        if case .made = outcome, entry.kind == .folder {
                            folders.append((place, entry))
                        }
                        continue
                    }
                    if running == Self.width, let made = try await group.next() {
                        take(made)
                        running -= 1
                    }
                    group.addTask { [database] in
                        Made(path: place, outcome: try await entry.make(in: folder, from: database))
                    }
                    running += 1
                }
                stack += folders[first...].reversed().map {
                    ($0.path, $0.entry.recordID.recordName)
                }
            }
            while let made = try await group.next() { take(made) }
        }
        if Terminal.requestedStop != nil { return }
        // What lies in a folder was made after it.
        for (path, entry) in folders.reversed() {
            try tree.folder(path).finish(
                mode: entry.mode, modifiedNanoseconds: entry.modifiedNanoseconds)
        }
        for name in others.sorted() { skip("record \(name): no entry of a tree") }
        for name in waiting.values.joined().map(\.recordID.recordName).sorted() {
            skip("record \(name): its folder is not there")
        }
    }

    mutating func finish() throws -> ExitCode {
        progress.finish(at: Clock.monotonicNanoseconds)
        if clearedCount > 0 {
            output.message(
                "left out: the set-user, set-group or sticky bits of \(clearedCount) entries; "
                    + "--preserve-permissions keeps them")
        }
        let seconds = Double(Clock.monotonicNanoseconds - start) / 1e9
        try output.summary(
            [
                "entries": .integer(doneCount), "bytes": .integer(byteCount),
                "skipped": .integer(skippedCount), "damaged": .integer(damagedCount),
                "clearedModes": .integer(clearedCount), "seconds": .double(seconds),
            ],
            text: "\(doneCount) entries, \(Quantities.size(UInt64(byteCount))), "
                + "\(skippedCount) skipped, \(damagedCount) damaged in "
                + Quantities.duration(seconds: seconds))
        if let signal = Terminal.requestedStop { return .signal(signal) }
        if damagedCount > 0 { return .differences }
        return skippedCount == 0 ? .ok : .partial
    }

    private mutating func take(_ made: Made) {
        let path = String(decoding: made.path, as: UTF8.self)
        switch made.outcome {
        case .made(let count):
            doneCount += 1
            byteCount += count
            progress.update(UInt64(doneCount), at: Clock.monotonicNanoseconds)
        case .skipped(let reason): skip(reason, path)
        case .damaged(let error):
            damagedCount += 1
            output.warning("export.damaged", error.message + error.place, file: path)
        case .stopped: break
        }
    }

    private mutating func skip(_ reason: String, _ path: String? = nil) {
        skippedCount += 1
        output.warning("export.skipped", reason, file: path)
    }
}
