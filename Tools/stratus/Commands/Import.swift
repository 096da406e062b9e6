import FoundationEssentials
import Stratus
import StratusBytes
package import StratusFiles
import StratusGateway

/// Brings a directory into a zone: a record for each entry, only what has changed since.
package enum Import {
    /// The directory and the store are in `system`.
    package static func run(
        _ invocation: Invocation, _ output: Output, on system: any FileSystem = LinuxFileSystem()
    ) async throws -> ExitCode {
        let directory = invocation.argument("DIR")
        let tree: FileTree
        do throws(SystemError) {
            tree = try FileTree(directory, on: system)
        } catch {
            throw ToolError(error, "cannot read the directory", directory)
        }
        let container = try await invocation.openForWriting(
            invocation.argument("STORE"), creating: true, on: system,
            memoryLimit: Invocation.streamingMemory)
        do {
            Terminal.catchStopSignals()
            let database = invocation.database(of: container)
            let zoneID = invocation.zoneID
            if try await !database.allRecordZones().contains(where: { $0.zoneID == zoneID }) {
                try await database.save(RecordZone(zoneID: zoneID))
            }
            var importer = Importer(
                tree: tree, database: database,
                before: invocation.database(of: container.snapshot()),
                zoneID: zoneID,
                store: try? FileTree(invocation.argument("STORE"), on: system).status(),
                comparesContent: invocation.has("checksum"), output: output,
                progress: Progress(
                    "importing", .items("entry"), invocation.progress, to: output,
                    at: Clock.monotonicNanoseconds))
            try await importer.run()
            try await container.close()
            return try importer.finish()
        } catch {
            // What was acknowledged stays; the error that stopped the import is the one to tell.
            try? await container.close()
            throw error
        }
    }
}

/// One import: walks the tree, compares with what is there, saves in batches.
struct Importer {
    let tree: FileTree
    let database: Database
    /// As it was when the import began.
    let before: DatabaseSnapshot
    let zoneID: RecordZone.ID
    /// The directory of the store, which may lie in the tree.
    let store: FileStatus?
    let comparesContent: Bool
    let output: Output
    var progress: Progress

    /// Records that are saved in one call.
    struct Batch: Sendable {
        var records: [Record] = []
        /// What they weigh: ``Importer/weight(of:)``.
        var length = 0
        /// The files that the save reads.
        var paths: [Record.ID: [UInt8]] = [:]
    }

    var batch = Batch()
    /// The batch that is being saved while the next one is gathered.
    private var saving: (batch: Batch, task: Task<ModifyRecordsResult, any Error>)?
    private var metCount = 0
    private var savedCount = 0
    private var unchangedCount = 0
    var deletedCount = 0
    private var skippedCount = 0
    var byteCount = 0
    private let start = Clock.monotonicNanoseconds

    /// Contents up to so many bytes are kept in the record; of more they are an asset. Shorter ones
    /// are a chunk by themselves, which takes more room than it saves.
    static let inlineLimit = 16 << 10
    static let batchLimit = 200
    private static let batchLengthLimit = 4 << 20

    init(
        tree: FileTree, database: Database, before: DatabaseSnapshot, zoneID: RecordZone.ID,
        store: FileStatus?,
        comparesContent: Bool, output: Output, progress: Progress
    ) {
        self.tree = tree
        self.database = database
        self.before = before
        self.zoneID = zoneID
        self.store = store
        self.comparesContent = comparesContent
        self.output = output
        self.progress = progress
    }

    mutating func run() async throws {
        do {
            try await walk()
            try await flush()
            try await settle()
            try await deleteWhatIsGone()
        } catch {
            // What was given is saved, and said to be, whatever became of the rest.
            try? await settle()
            throw error
        }
        progress.finish(at: Clock.monotonicNanoseconds)
    }

    func finish() throws -> ExitCode {
        let seconds = Double(Clock.monotonicNanoseconds - start) / 1e9
        try output.summary(
            [
                "saved": .integer(savedCount), "unchanged": .integer(unchangedCount),
                "deleted": .integer(deletedCount), "skipped": .integer(skippedCount),
                "bytes": .integer(byteCount), "seconds": .double(seconds),
            ],
            text: "\(savedCount) saved, \(unchangedCount) unchanged, \(deletedCount) deleted, "
                + "\(skippedCount) skipped; \(Quantities.size(UInt64(byteCount))) read in "
                + Quantities.duration(seconds: seconds))
        if let signal = Terminal.requestedStop { return .signal(signal) }
        return skippedCount == 0 ? .ok : .partial
    }

    /// Folders come before what is in them, so that a parent is there before its children. Of what
    /// is still to be walked, the names of the folders beside the way are in memory, and no more.
    private mutating func walk() async throws {
        var walk = tree.walk()
        var levels = [try await takeEntries(of: walk.folder)]
        while var folders = levels.popLast(), Terminal.requestedStop == nil {
            if let name = folders.popLast() {
                levels.append(folders)
                do throws(SystemError) {
                    try walk.enter(name)
                } catch {
                    skip(walk.folder.child(name), error.description)
                    continue
                }
                levels.append(try await takeEntries(of: walk.folder))
            } else {
                // Where the way back is gone, so is what was still to be walked there.
                while !levels.isEmpty {
                    do throws(SystemError) {
                        try walk.leave()
                        break
                    } catch {
                        skip(walk.path, error.description)
                        levels.removeLast()
                    }
                }
            }
        }
    }

    /// Takes what lies in a folder; returns the names of the folders among it, the first one last.
    private mutating func takeEntries(
        of folder: FileTree.Folder
    ) async throws -> NameList {
        let names: NameList
        do throws(SystemError) {
            names = try folder.names()
        } catch {
            skip(folder.path, error.description)
            return NameList()
        }
        var folders = NameList()
        for name in names {
            if Terminal.requestedStop != nil { break }
            guard let entry = look(at: name, in: folder) else { continue }
            if entry.kind == .directory { folders.append(name) }
            do {
                try await take(entry, in: folder)
            } catch let error as SystemError {
                skip(entry.path, error.description)
            } catch let error as Skipped {
                skip(entry.path, error.reason)
            }
        }
        folders.reverse()
        return folders
    }

    /// Nil where there is nothing to take.
    private mutating func look(
        at name: [UInt8], in folder: FileTree.Folder
    ) -> FileTree.Entry? {
        do throws(SystemError) {
            let entry = try folder.entry(name)
            guard isStore(entry) else { return entry }
            output.message("left out: the store itself, which lies in the directory")
            return nil
        } catch {
            skip(folder.child(name), error.description)
            return nil
        }
    }

    /// Whether the entry is the directory of the store.
    func isStore(_ entry: FileTree.Entry) -> Bool {
        store.map { entry.status.isSameFile(as: $0) } ?? false
    }

    private mutating func take(
        _ entry: FileTree.Entry, in folder: FileTree.Folder
    ) async throws {
        let name = Self.recordName(entry.path)
        guard entry.kind != .other else {
            return skip(entry.path, "neither file, folder nor link")
        }
        metCount += 1
        progress.update(UInt64(metCount), at: Clock.monotonicNanoseconds)
        let id = Record.ID(recordName: name, zoneID: zoneID)
        var existing: Record?
        do {
            existing = try await database.record(for: id)
        } catch {
            if error.code != .unknownItem { throw error }
        }
        let type = entry.kind == .directory ? "Folder" : entry.kind == .link ? "Link" : "File"
        if let known = existing, known.recordType != type {
            // A record's type never changes: what is another kind of thing now is another record,
            // and what lay in a folder is gone with it.
            try await settle()
            try await deleteTree(id.recordName)
            existing = nil
        }
        var record = existing ?? Record(recordType: type, recordID: id)
        guard try await fill(&record, from: entry, in: folder, isNew: existing == nil) else {
            unchangedCount += 1
            return
        }
        batch.records.append(record)
        // What is acknowledged is never far behind.
        batch.length += weight(of: entry)
        if batch.records.count == Self.batchLimit || batch.length >= Self.batchLengthLimit {
            try await flush()
        }
    }

    /// How much of a batch the entry is. Bytes of an asset are stored before the commit, whose sync
    /// many of them should share.
    private func weight(of entry: FileTree.Entry) -> Int {
        guard entry.kind == .file else { return 0 }
        return entry.size > Self.inlineLimit ? entry.size / 16 : entry.size
    }

    /// Has the batch saved, when the one before it is.
    private mutating func flush() async throws {
        try await settle()
        save(batch)
        batch = Batch()
    }

    private mutating func save(_ batch: Batch) {
        if batch.records.isEmpty { return }
        let task = Task { [database] in try await database.modifyRecords(saving: batch.records) }
        saving = (batch, task)
    }

    /// Waits for the batch that is being saved, and says that it is saved.
    private mutating func settle() async throws {
        while let (batch, task) = saving {
            let result = try await task.value
            saving = nil
            if let failure = result.partialFailure {
                guard let rest = readable(of: batch, failure) else {
                    throw failure.partialErrors.values.first { $0.code != .batchRequestFailed }
                        ?? failure
                }
                save(rest)
                continue
            }
            savedCount += batch.records.count
            let saved = batch.records.compactMap { try? result.saveResults[$0.recordID]?.get() }
            let last = saved.max { $0.versionNumber < $1.versionNumber }
            var token: ChangeToken?
            if let last { token = try await database.zoneToken(after: last) }
            try acknowledge(
                token, saved: batch.records.map(\.recordID.recordName), deleted: [])
        }
    }

    /// The batch without the files that were gone or changed when their turn came; nil where there
    /// is none.
    private mutating func readable(of batch: Batch, _ failure: StoreError) -> Batch? {
        var rest = batch
        for (item, error) in failure.partialErrors {
            guard error.code == .assetFileNotFound || error.code == .assetFileModified,
                case .record(let id) = item, let path = batch.paths[id],
                let place = rest.records.firstIndex(where: { $0.recordID == id })
            else { continue }
            byteCount -= Int(rest.records.remove(at: place)["size"]?.int64Value ?? 0)
            skip(path, error.reason + error.callText(of: path))
        }
        return rest.records.count < batch.records.count ? rest : nil
    }

    /// Says what is durable now: a program that reads this may rely on it.
    func acknowledge(
        _ token: ChangeToken?, saved: [String], deleted: [String]
    ) throws {
        var object = JSONObject()
        object.append("token", token.map { .string($0.description) })
        object.append("saved", .strings(saved))
        object.append("deleted", .strings(deleted))
        try output.object("commit", object)
        if output.isJSON { try output.flush() }
    }

    /// What cannot be read is not gone: its record stays.
    private mutating func skip(_ path: [UInt8], _ reason: String) {
        skippedCount += 1
        output.warning("import.skipped", reason, file: String(decoding: path, as: UTF8.self))
    }

    /// 32 hexadecimal digits of the SHA-256 of the path.
    static func recordName(_ path: [UInt8]) -> String {
        Hex.encode(SHA256.hash(path).prefix(16))
    }
}

extension StoreError {
    /// Which call of the system failed at the file, and why, in parentheses; or nothing.
    fileprivate func callText(of path: [UInt8]) -> Substring {
        guard case .inputOutput(let text) = cause else { return "" }
        return text.dropFirst(String(decoding: path, as: UTF8.self).count)
    }
}

extension Record {
    /// The tag as the number it is.
    fileprivate var versionNumber: UInt64 { recordChangeTag.flatMap { UInt64($0) } ?? 0 }
}
