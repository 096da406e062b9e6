import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusGateway

/// Brings a directory into a zone: a record for each entry, only what has changed since.
enum Import {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let directory = invocation.argument("DIR")
        let tree: FileTree
        do throws(SystemError) {
            tree = try FileTree(directory)
        } catch {
            throw ToolError(error, "cannot read the directory", directory)
        }
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
                store: Self.identity(of: invocation.argument("STORE")),
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

    private static func identity(of directory: String) -> SourceFile.Identity? {
        try? FileTree(directory).folder([]).entry([UInt8(ascii: ".")]).identity
    }
}

/// One import: walks the tree, compares with what is there, saves in batches.
struct Importer {
    let tree: FileTree
    let database: Database
    let zoneID: RecordZone.ID
    /// The directory of the store, which may lie in the tree.
    let store: SourceFile.Identity?
    let comparesContent: Bool
    let output: Output
    var progress: Progress

    private var batch: [Record] = []
    private var batchLength = 0
    /// The files among the batch that the save reads.
    private var paths: [Record.ID: [UInt8]] = [:]
    /// The names of all entries that were met, to know which records are of none.
    private(set) var met: Set<String> = []
    private var isComplete = true
    private var savedCount = 0
    private var unchangedCount = 0
    var deletedCount = 0
    private var skippedCount = 0
    private var byteCount = 0
    private let start = Clock.monotonicNanoseconds

    /// Contents up to so many bytes are kept in the record; of more they are an asset. Shorter ones
    /// are a chunk by themselves, which takes more room than it saves.
    private static let inlineLimit = 16 << 10
    static let batchLimit = 200
    private static let batchLengthLimit = 4 << 20

    init(
        tree: FileTree, database: Database, zoneID: RecordZone.ID, store: SourceFile.Identity?,
        comparesContent: Bool, output: Output, progress: Progress
    ) {
        self.tree = tree
        self.database = database
        self.zoneID = zoneID
        self.store = store
        self.comparesContent = comparesContent
        self.output = output
        self.progress = progress
    }

    mutating func run() async throws {
        try await walk()
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
    private mutating func walk() async throws {
        var stack: [[UInt8]] = [[]]
        while let path = stack.popLast() {
            let folder: FileTree.Folder
            let names: [[UInt8]]
            do throws(SystemError) {
                folder = try tree.folder(path)
                names = try folder.names()
            } catch {
                skip(path, error.description, isFolder: true)
                continue
            }
            var folders: [[UInt8]] = []
            for name in names {
                if Terminal.requestedStop != nil {
                    isComplete = false
                    return
                }
                guard let entry = look(at: name, in: folder) else { continue }
                if entry.kind == .folder { folders.append(entry.path) }
                do {
                    try await take(entry, in: folder)
                } catch let error as SystemError {
                    skip(entry.path, error.description)
                } catch let error as Skipped {
                    skip(entry.path, error.reason)
                }
            }
            stack += folders.reversed()
        }
    }

    /// Nil where there is nothing to take.
    private mutating func look(
        at name: [UInt8], in folder: FileTree.Folder
    ) -> FileTree.Entry? {
        do throws(SystemError) {
            let entry = try folder.entry(name)
            guard let store, entry.identity.isFile(of: store) else { return entry }
            output.message("left out: the store itself, which lies in the directory")
            return nil
        } catch {
            // What cannot even be looked at may be a folder full of things.
            skip(folder.child(name), error.description, isFolder: true)
            return nil
        }
    }

    private mutating func take(
        _ entry: FileTree.Entry, in folder: FileTree.Folder
    ) async throws {
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
        guard try await fill(&record, from: entry, in: folder, isNew: existing == nil) else {
            unchangedCount += 1
            return
        }
        batch.append(record)
        // What is acknowledged is never far behind.
        batchLength += weight(of: entry)
        if batch.count == Self.batchLimit || batchLength >= Self.batchLengthLimit {
            try await flush()
        }
    }

    /// How much of a batch the entry is. Bytes of an asset are stored before the commit, whose sync
    /// many of them should share.
    private func weight(of entry: FileTree.Entry) -> Int {
        guard entry.kind == .file else { return 0 }
        return entry.size > Self.inlineLimit ? entry.size / 16 : entry.size
    }

    /// Sets what differs; false where nothing does.
    private mutating func fill(
        _ record: inout Record, from entry: FileTree.Entry, in folder: FileTree.Folder, isNew: Bool
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
            let target = try folder.target(entry.name)
            let text = String(validating: target, as: UTF8.self)
            // A field has one type.
            record.setIfChanged("target", text.map { .string($0) })
            record.setIfChanged("targetBytes", text == nil ? .bytes(Data(target)) : nil)
        case .file where entry.size > Self.inlineLimit:
            try await fillAsset(of: &record, from: entry, in: folder)
        case .file: try fillContents(of: &record, from: entry, in: folder)
        case .folder, .other: break
        }
        return isNew || !record.changedKeys.isEmpty
    }

    private mutating func fillContents(
        of record: inout Record, from entry: FileTree.Entry, in folder: FileTree.Folder
    ) throws {
        let file = try folder.file(entry)
        var contents: [UInt8] = []
        while contents.count <= Self.inlineLimit {
            let piece = try file.read(
                at: contents.count, upTo: Self.inlineLimit + 1 - contents.count)
            if piece.isEmpty { break }
            contents += piece
        }
        // What is stored is the file that was looked at, whatever came in its place since.
        guard file.isMeant, contents.count <= Self.inlineLimit, file.isUnchanged() else {
            throw Skipped(reason: "the file was changed while it was read")
        }
        byteCount += contents.count
        record.setIfChanged("size", .int64(Int64(contents.count)))
        record.setIfChanged("sha256", .bytes(Data(SHA256.hash(contents))))
        record.setIfChanged("contents", .bytes(Data(contents)))
        record.setIfChanged("asset", nil)
    }

    private mutating func fillAsset(
        of record: inout Record, from entry: FileTree.Entry, in folder: FileTree.Folder
    ) async throws {
        byteCount += entry.size
        record.setIfChanged("size", .int64(Int64(entry.size)))
        record.setIfChanged("sha256", nil)
        record.setIfChanged("contents", nil)
        let place = folder.place(of: entry)
        if comparesContent, let asset = record["asset"]?.assetValue {
            do throws(StoreError) {
                if try await asset.hasBytes(ofFile: place) { return }
            } catch {
                // Of a file that cannot be read, the save says so.
                guard error.cause != .damaged else {
                    let told = ToolError(error)
                    throw Skipped(reason: told.message + told.place)
                }
            }
        }
        record["asset"] = .asset(Asset(file: place))
        paths[record.recordID] = entry.path
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
        paths = [:]
    }

    /// Leaves out of the batch the files that were gone or changed when their turn came; false
    /// where there is none.
    private mutating func skipUnreadable(_ failure: StoreError) -> Bool {
        let count = batch.count
        for (item, error) in failure.partialErrors {
            guard error.code == .assetFileNotFound || error.code == .assetFileModified,
                case .record(let id) = item, let path = paths[id],
                let place = batch.firstIndex(where: { $0.recordID == id })
            else { continue }
            byteCount -= Int(batch.remove(at: place)["size"]?.int64Value ?? 0)
            skip(path, error.reason + error.callText(of: path))
        }
        return batch.count < count
    }

    /// Says what is safe now: whoever reads it can hold the store to it.
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

/// Why an entry is left as it is in the store.
private struct Skipped: Error {
    var reason: String
}

extension SourceFile.Identity {
    /// Whether both are of one file or folder, changed or not.
    fileprivate func isFile(of other: Self) -> Bool {
        device == other.device && inode == other.inode
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
