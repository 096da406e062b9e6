import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusGateway

/// Brings a directory into a zone: a record for each entry, only what has changed since.
enum Import {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let tree = try FileTree(invocation.argument("DIR"))
        let container = try await Container.open(
            at: invocation.argument("STORE"), creating: true,
            durability: invocation.durability)
        do {
            Terminal.catchStopSignals()
            let database = invocation.database(of: container)
            let zoneID = invocation.zoneID
            if try await !database.allRecordZones().contains(where: { $0.zoneID == zoneID }) {
                try await database.save(RecordZone(zoneID: zoneID))
            }
            var importer = Importer(
                tree: tree, database: database, zoneID: zoneID,
                comparesContent: invocation.has("checksum"), output: output,
                progress: Progress(
                    "importing", .items("entries"), invocation.progress, to: output,
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
private struct Importer {
    let tree: FileTree
    let database: Database
    let zoneID: RecordZone.ID
    let comparesContent: Bool
    let output: Output
    var progress: Progress

    private var batch: [Record] = []
    private var batchLength = 0
    /// The names of all entries that were met, to know which records are of none.
    private var met: Set<String> = []
    private var isComplete = true
    private var savedCount = 0
    private var unchangedCount = 0
    private var deletedCount = 0
    private var skippedCount = 0
    private var byteCount = 0
    private let start = Clock.monotonicNanoseconds

    /// Contents up to so many bytes are kept in the record; of more they are an asset. Shorter ones
    /// are a chunk by themselves, which takes more room than it saves.
    private static let inlineLimit = 16 << 10
    private static let batchLimit = 200
    private static let batchLengthLimit = 4 << 20

    init(
        tree: FileTree, database: Database, zoneID: RecordZone.ID, comparesContent: Bool,
        output: Output, progress: Progress
    ) {
        self.tree = tree
        self.database = database
        self.zoneID = zoneID
        self.comparesContent = comparesContent
        self.output = output
        self.progress = progress
    }

    mutating func run() async throws {
        try await walk([])
        try await flush()
        // A tree of which something could not be read says nothing about what is gone there.
        if isComplete { try await deleteWhatIsGone() }
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

    /// Folders come before what is in them, so that a parent is there before its children.
    private mutating func walk(_ top: [UInt8]) async throws {
        var stack: [[UInt8]] = [top]
        while let folder = stack.popLast() {
            let names: [[UInt8]]
            do {
                names = try tree.names(in: folder)
            } catch {
                skip(folder, error.description, isFolder: true)
                continue
            }
            var folders: [[UInt8]] = []
            for name in names {
                if Terminal.requestedStop != nil {
                    isComplete = false
                    return
                }
                let path = folder.isEmpty ? name : folder + [UInt8(ascii: "/")] + name
                do {
                    let entry = try tree.entry(path)
                    if entry.kind == .folder { folders.append(path) }
                    try await take(entry)
                } catch let error as SystemError {
                    // What cannot even be looked at may be a folder full of things.
                    skip(path, error.description, isFolder: true)
                }
            }
            stack += folders.reversed()
        }
    }

    private mutating func take(_ entry: FileTree.Entry) async throws {
        let name = Self.recordName(entry.path)
        guard entry.kind != .other else {
            return skip(entry.path, "neither file, folder nor link")
        }
        met.insert(name)
        progress.update(UInt64(met.count), at: Clock.monotonicNanoseconds)
        let id = Record.ID(recordName: name, zoneID: zoneID)
        var existing: Record?
        do {
            existing = try await database.record(for: id)
        } catch {
            if error.code != .unknownItem { throw error }
        }
        let type = entry.kind == .folder ? "Folder" : entry.kind == .link ? "Link" : "File"
        if let known = existing, known.recordType != type {
            // A record's type never changes: what is another kind of thing now is another record,
            // and what lay in a folder is gone with it.
            try await deleteTree(id)
            existing = nil
        }
        var record = existing ?? Record(recordType: type, recordID: id)
        guard try await fill(&record, from: entry, isNew: existing == nil) else {
            unchangedCount += 1
            return
        }
        batch.append(record)
        // What is acknowledged is never far behind.
        batchLength += entry.kind == .file ? min(entry.size, Self.batchLengthLimit / 8) : 0
        if batch.count == Self.batchLimit || batchLength >= Self.batchLengthLimit {
            try await flush()
        }
    }

    /// Sets what differs; false where nothing does.
    private mutating func fill(
        _ record: inout Record, from entry: FileTree.Entry, isNew: Bool
    ) async throws -> Bool {
        let size = entry.kind == .file ? entry.size : nil
        let isTouched =
            record["size"]?.int64Value != size.map { Int64($0) }
            || record["mode"]?.int64Value != Int64(entry.mode)
            || record["modifiedNanoseconds"]?.int64Value != Int64(entry.modifiedNanoseconds)
        if !isNew, !isTouched, !(comparesContent && entry.kind == .file) { return false }
        if isNew {
            if let name = String(validating: entry.name, as: UTF8.self) {
                record["name"] = .string(name)
            } else {
                record["nameBytes"] = .bytes(Data(entry.name))
            }
            record.parent = entry.parent.map {
                Reference(recordID: Record.ID(recordName: Self.recordName($0), zoneID: zoneID))
            }
        }
        record.setIfChanged("mode", .int64(Int64(entry.mode)))
        record.setIfChanged("modifiedNanoseconds", .int64(Int64(entry.modifiedNanoseconds)))
        switch entry.kind {
        case .link:
            let target = try tree.target(entry.path)
            let text = String(validating: target, as: UTF8.self)
            record.setIfChanged("target", text.map { .string($0) } ?? .bytes(Data(target)))
        case .file where entry.size > Self.inlineLimit:
            try await fillAsset(of: &record, from: entry)
        case .file: try fillContents(of: &record, from: entry)
        case .folder, .other: break
        }
        return isNew || !record.changedKeys.isEmpty
    }

    private mutating func fillContents(
        of record: inout Record, from entry: FileTree.Entry
    ) throws(SystemError) {
        var hash = SHA256()
        var contents: [UInt8] = []
        var length = 0
        try tree.read(entry.path) { piece throws(SystemError) in
            hash.update(piece)
            length += piece.count
            if length <= Self.inlineLimit { contents += piece.array }
        }
        byteCount += length
        record.setIfChanged("size", .int64(Int64(length)))
        record.setIfChanged("sha256", .bytes(Data(hash.finish())))
        // One that has grown since it was looked at is met again by the next import.
        record.setIfChanged(
            "contents", length <= Self.inlineLimit ? .bytes(Data(contents)) : nil)
        record.setIfChanged("asset", nil)
    }

    private mutating func fillAsset(
        of record: inout Record, from entry: FileTree.Entry
    ) async throws {
        byteCount += entry.size
        record.setIfChanged("size", .int64(Int64(entry.size)))
        record.setIfChanged("sha256", nil)
        record.setIfChanged("contents", nil)
        if comparesContent, let asset = record["asset"]?.assetValue,
            try await asset.hasBytes(ofFile: tree.systemPath(entry.path))
        {
            return
        }
        record["asset"] = .asset(Asset(file: tree.systemPath(entry.path)))
    }

    private mutating func flush() async throws {
        if batch.isEmpty { return }
        let result = try await database.modifyRecords(saving: batch)
        if let failure = result.partialFailure {
            guard skipUnreadable(failure) else {
                throw failure.partialErrors.values.first { $0.code != .batchRequestFailed }
                    ?? failure
            }
            return try await flush()
        }
        savedCount += batch.count
        let saved = batch.compactMap { try? result.saveResults[$0.recordID]?.get() }
        let last = saved.max { $0.versionNumber < $1.versionNumber }
        var token: ChangeToken?
        if let last { token = try await database.zoneToken(after: last) }
        try acknowledge(
            token, saved: batch.map(\.recordID.recordName), deleted: [])
        batch = []
        batchLength = 0
    }

    /// Leaves out of the batch the files that were gone or changed when their turn came; false
    /// where there is none.
    private mutating func skipUnreadable(_ failure: StoreError) -> Bool {
        let count = batch.count
        for (item, error) in failure.partialErrors {
            guard error.code == .assetFileNotFound || error.code == .assetFileModified,
                case .record(let id) = item
            else { continue }
            batch.removeAll { $0.recordID == id }
            skippedCount += 1
            output.warning("import.skipped", error.reason, file: error.filePath)
        }
        return batch.count < count
    }

    private mutating func deleteWhatIsGone() async throws {
        var cursor: RecordPage.Cursor?
        var gone: [Record.ID] = []
        var folders: [Record.ID: Record.ID] = [:]
        repeat {
            let page = try await database.records(
                inZoneWith: zoneID, desiredKeys: [], from: cursor)
            gone += page.records.map(\.recordID).filter { !met.contains($0.recordName) }
            for record in page.records { folders[record.recordID] = record.parent?.recordID }
            cursor = page.cursor
        } while cursor != nil
        // What lies in a folder goes before it.
        gone = Self.deepestFirst(gone, folders)
        for start in stride(from: 0, to: gone.count, by: Self.batchLimit) {
            let part = Array(gone[start..<min(start + Self.batchLimit, gone.count)])
            let result = try await database.modifyRecords(saving: [], deleting: part)
            if let failure = result.partialFailure { throw failure }
            deletedCount += part.count
            try acknowledge(nil, saved: [], deleted: part.map(\.recordName))
        }
    }

    /// Deletes a folder and all below it.
    @inline(never)
    private func deleteTree(_ id: Record.ID) async throws {
        var cursor: RecordPage.Cursor?
        var folders: [Record.ID: Record.ID] = [:]
        repeat {
            let page = try await database.records(
                inZoneWith: zoneID, desiredKeys: [], from: cursor)
            for record in page.records { folders[record.recordID] = record.parent?.recordID }
            cursor = page.cursor
        } while cursor != nil
        let below = folders.keys.filter { Self.folders(above: $0, folders).contains(id) }
        let result = try await database.modifyRecords(saving: [], deleting: [id] + below)
        if let failure = result.partialFailure { throw failure }
    }

    private static func folders(
        above id: Record.ID, _ folders: [Record.ID: Record.ID]
    ) -> [Record.ID] {
        var above: [Record.ID] = []
        var next = folders[id]
        while let folder = next {
            above.append(folder)
            next = folders[folder]
        }
        return above
    }

    private static func deepestFirst(
        _ ids: [Record.ID], _ folders: [Record.ID: Record.ID]
    ) -> [Record.ID] {
        let depths = ids.map { Self.folders(above: $0, folders).count }
        return ids.indices.sorted { depths[$0] > depths[$1] }.map { ids[$0] }
    }

    /// Says what is safe now: whoever reads it can hold the store to it.
    private func acknowledge(
        _ token: ChangeToken?, saved: [String], deleted: [String]
    ) throws {
        var object = JSONObject()
        object.append("token", token.map { .string($0.description) })
        object.append("saved", .strings(saved))
        object.append("deleted", .strings(deleted))
        try output.object("commit", object)
        if output.isJSON { try output.flush() }
    }

    private mutating func skip(_ path: [UInt8], _ reason: String, isFolder: Bool = false) {
        skippedCount += 1
        isComplete = isComplete && !isFolder
        // What cannot be read is not gone.
        met.insert(Self.recordName(path))
        output.warning("import.skipped", reason, file: String(decoding: path, as: UTF8.self))
    }

    /// 32 hexadecimal digits of the SHA-256 of the path.
    private static func recordName(_ path: [UInt8]) -> String {
        Hex.encode(SHA256.hash(path).prefix(16))
    }
}

extension StoreError {
    /// The file that could not be read.
    fileprivate var filePath: String? {
        if case .inputOutput(let path) = cause { path } else { nil }
    }
}

extension Record {
    fileprivate mutating func setIfChanged(_ key: String, _ value: RecordValue?) {
        // As bytes: texts that look alike may differ, and so do the files.
        let isSame: Bool =
            if case .string(let old)? = self[key], case .string(let new)? = value {
                old.utf8.elementsEqual(new.utf8)
            } else {
                self[key] == value
            }
        if !isSame { self[key] = value }
    }

    /// The tag as the number it is.
    fileprivate var versionNumber: UInt64 { recordChangeTag.flatMap { UInt64($0) } ?? 0 }
}
