import FoundationEssentials
import Stratus
package import StratusFiles
import StratusGateway

/// Writes a tree that `import` brought into a zone back to a directory.
package enum Export {
    /// The directory and the store are in `system`.
    package static func run(
        _ invocation: Invocation, _ output: Output, on system: any FileSystem = LinuxFileSystem()
    ) async throws -> ExitCode {
        let container = try await invocation.openStore(
            on: system, memoryLimit: Invocation.streamingMemory)
        let database = try await invocation.readDatabase(of: container)
        let zoneID = try invocation.zoneID(in: container)
        // Before the directory is made: there may be no such zone, or no tree in it.
        let skipsDamaged = invocation.has("skip-damaged")
        try Exporter.demandTree(in: zoneID, of: database, skippingDamaged: skipsDamaged)
        let directory = invocation.argument("DIR")
        let tree: TreeWriter
        do throws(SystemError) {
            try FileBounds.checkOutsideStores(directory, on: system)
            tree = try TreeWriter(directory, on: system)
        } catch {
            throw ToolError(error, "cannot make the directory", directory)
        }
        var exporter = Exporter(
            database, zoneID, keepsAllBits: invocation.has("preserve-permissions"),
            skipsDamaged: skipsDamaged, output: output,
            progress: Progress(
                "exporting", .items("entry"), invocation.progress, to: output,
                at: Clock.monotonicNanoseconds))
        Terminal.catchStopSignals()
        try await exporter.write(to: tree)
        return try exporter.finish()
    }
}

/// One export: folder by folder, the files of some at a time, and each folder finished when nothing
/// is written in it any more. What it holds in memory grows neither with the number of entries nor,
/// but for a few bytes a level, with their depth.
private struct Exporter {
    private struct Made: Sendable {
        var path: [UInt8]
        /// The number of the folder that it lies in.
        var folder: Int
        var outcome: ExportOutcome
    }

    /// A folder that is being written.
    private struct Level {
        var number: Int
        /// Nil at the top.
        var entry: ExportEntry?
        var children: RecordChildren<ExportEntry>
    }

    private let database: DatabaseSnapshot
    private let zoneID: RecordZone.ID
    private let keepsAllBits: Bool
    private let skipsDamaged: Bool
    private let output: Output
    private var progress: Progress
    private var clearedCount = 0
    private var doneCount = 0
    private var byteCount = 0
    private var skippedCount = 0
    private var damagedCount = 0
    /// Of the zone, and those among them that were come to.
    private var recordCount = 0
    private var metCount = 0
    /// Those that are no entries, and the first of them.
    private var otherCount = 0
    private var firstOther: String?
    /// The files that are being written, by the numbers of their folders.
    private var running: [Int: Int] = [:]
    /// Folders that were left while files in them were being written.
    private var unfinished: [Int: (folder: TreeWriter.Folder, entry: ExportEntry)] = [:]
    private let start = Clock.monotonicNanoseconds

    /// So many files are written at once.
    private static let width = min(max(2, ProcessInfo.processInfo.activeProcessorCount), 8)

    init(
        _ database: DatabaseSnapshot, _ zoneID: RecordZone.ID, keepsAllBits: Bool,
        skipsDamaged: Bool, output: Output, progress: Progress
    ) {
        self.database = database
        self.zoneID = zoneID
        self.keepsAllBits = keepsAllBits
        self.output = output
        self.progress = progress
        self.skipsDamaged = skipsDamaged
    }

    /// Fails where a zone has records and none of them is an entry at the top of a tree.
    static func demandTree(
        in zoneID: RecordZone.ID, of database: DatabaseSnapshot, skippingDamaged: Bool
    ) throws {
        var top = RecordChildren<Never>(of: nil)
        var count = 0
        while let records = try top.next(
            in: zoneID, of: database, depth: 1, skippingDamaged: skippingDamaged,
            look: { count += $0.records.count })
        {
            if records.contains(where: { ExportEntry($0) != nil }) { return }
        }
        guard count > 0 else { return }
        throw ToolError(
            .notFound, id: "zone.no-tree",
            "the zone \(zoneID.zoneName) holds no file tree: of its "
                + "\(Quantities.count(count, "record")) none is a file, folder or link at the top of "
                + "one", hint: "'stratus import DIR STORE --zone NAME' makes one")
    }

    mutating func write(to tree: TreeWriter) async throws {
        var walk = tree.walk()
        var levels = [Level(number: 0, children: RecordChildren(of: nil))]
        var number = 0
        try await withThrowingTaskGroup(of: Made.self) { group in
            while var level = levels.popLast(), Terminal.requestedStop == nil {
                if let entry = level.children.waiting.popLast() {
                    levels.append(level)
                    try walk.enter(entry.name)
                    number += 1
                    levels.append(
                        Level(
                            number: number, entry: entry,
                            children: RecordChildren(of: entry.recordName)))
                } else if let records = try nextRecords(&level, depth: levels.count + 1) {
                    for record in records {
                        try await make(record, in: &level, walk, &group)
                        if Terminal.requestedStop != nil { break }
                    }
                    levels.append(level)
                } else if let entry = level.entry {
                    let folder = walk.folder
                    try walk.leave()
                    unfinished[level.number] = (folder, entry)
                    try finishFolder(level.number)
                }
            }
            while let made = try await group.next() { try take(made) }
        }
        if Terminal.requestedStop == nil { tellOthers() }
    }

    private mutating func nextRecords(_ level: inout Level, depth: Int) throws -> [Record]? {
        var skipped: [StoreError] = []
        var count = 0
        // Every record of the zone is come to at the top, where each that is damaged is named.
        let records = try level.children.next(
            in: zoneID, of: database, depth: depth, skippingDamaged: skipsDamaged
        ) { page in
            count = page.records.count
            skipped = page.skipped
        }
        output.skipped(skipped)
        damagedCount += skipped.count
        recordCount += count
        metCount += records?.count ?? 0
        return records
    }

    private mutating func make(
        _ record: Record, in level: inout Level, _ walk: TreeWriter.Walk,
        _ group: inout ThrowingTaskGroup<Made, any Error>
    ) async throws {
        guard var entry = ExportEntry(record) else {
            otherCount += 1
            firstOther = firstOther ?? record.recordID.recordName
            return
        }
        if entry.hasSpecialBits, !keepsAllBits {
            entry.clearSpecialBits()
            clearedCount += 1
        }
        let (folder, number) = (walk.folder, level.number)
        let path = walk.path.isEmpty ? entry.name : walk.path + [UInt8(ascii: "/")] + entry.name
        guard entry.kind == .file else {
            let outcome = try await entry.make(record, in: folder)
            count(outcome, path)
            if entry.kind == .folder, case .made = outcome { level.children.waiting.append(entry) }
            return
        }
        if running.values.reduce(0, +) == Self.width, let made = try await group.next() {
            try take(made)
        }
        running[number, default: 0] += 1
        group.addTask { [entry] in
            Made(path: path, folder: number, outcome: try await entry.make(record, in: folder))
        }
    }

    /// Gives a folder that was left what it has, once its last file is there: a file changes the
    /// time of its folder.
    private mutating func finishFolder(_ number: Int) throws {
        guard running[number] == nil, let (folder, entry) = unfinished.removeValue(forKey: number)
        else { return }
        try folder.finish(mode: entry.mode, modifiedNanoseconds: entry.modifiedNanoseconds)
    }

    private mutating func take(_ made: Made) throws {
        count(made.outcome, made.path)
        let left = (running[made.folder] ?? 1) - 1
        running[made.folder] = left == 0 ? nil : left
        try finishFolder(made.folder)
    }

    /// Says what of the zone is in no tree, each kind once.
    private mutating func tellOthers() {
        if let firstOther {
            let rest =
                otherCount == 1 ? "" : " and \(Quantities.count(UInt64(otherCount - 1))) more"
            skip("record \(firstOther)\(rest): no entry of a tree", count: otherCount)
        }
        let belowCount = recordCount - metCount
        if belowCount > 0 {
            skip(
                "\(Quantities.count(belowCount, "record")) below what was not written, or below no "
                    + "folder", count: belowCount)
        }
    }

    mutating func finish() throws -> ExitCode {
        progress.finish(at: Clock.monotonicNanoseconds)
        if clearedCount > 0 {
            output.message(
                "left out: the set-user, set-group or sticky bits of \(Quantities.count(clearedCount, "entry")); "
                    + "--preserve-permissions keeps them")
        }
        let seconds = Double(Clock.monotonicNanoseconds - start) / 1e9
        try output.summary(
            [
                "entries": .integer(doneCount), "bytes": .integer(byteCount),
                "skipped": .integer(skippedCount), "damaged": .integer(damagedCount),
                "clearedModes": .integer(clearedCount), "seconds": .double(seconds),
            ],
            text: "\(Quantities.count(doneCount, "entry")), \(Quantities.size(UInt64(byteCount))), "
                + "\(skippedCount) skipped, \(damagedCount) damaged in "
                + Quantities.duration(seconds: seconds))
        if let signal = Terminal.requestedStop { return .signal(signal) }
        if damagedCount > 0 { return .differences }
        return skippedCount == 0 ? .ok : .partial
    }

    private mutating func count(_ outcome: ExportOutcome, _ path: [UInt8]) {
        switch outcome {
        case .made(let count):
            doneCount += 1
            byteCount += count
            progress.update(UInt64(doneCount), at: Clock.monotonicNanoseconds)
        case .skipped(let reason): skip(reason, String(decoding: path, as: UTF8.self))
        case .damaged(let error):
            damagedCount += 1
            output.warning(
                "export.damaged", error.message + error.place,
                file: String(decoding: path, as: UTF8.self))
        case .stopped: break
        }
    }

    private mutating func skip(_ reason: String, _ path: String? = nil, count: Int = 1) {
        skippedCount += count
        output.warning("export.skipped", reason, file: path)
    }
}
