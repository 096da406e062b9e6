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
        Terminal.catchStopSignals()
        var exporter = Exporter(
            tree: try TreeWriter(invocation.argument("DIR")), output: output,
            progress: Progress(
                "exporting", .items("entries"), invocation.progress, to: output,
                at: Clock.monotonicNanoseconds))
        try await exporter.run(database, invocation.zoneID)
        return try exporter.finish()
    }
}

private struct Exporter {
    private struct Item {
        var type: String
        var name: [UInt8]
        var parent: String?
        var mode: Int
        var modified: Int

        /// Nil where the record is none of a tree.
        init?(_ record: Record) {
            guard ["Folder", "File", "Link"].contains(record.recordType),
                let mode = record["mode"]?.int64Value,
                let modified = record["modifiedNanoseconds"]?.int64Value
            else { return nil }
            type = record.recordType
            name =
                record["nameBytes"]?.bytesValue.map { Array($0) }
                ?? Array((record["name"]?.stringValue ?? "").utf8)
            parent = record.parent?.recordID.recordName
            self.mode = Int(mode)
            self.modified = Int(modified)
            // Names come from the store, which may be anybody's.
            guard TreeWriter.isName(name) else { return nil }
        }
    }

    let tree: TreeWriter
    let output: Output
    var progress: Progress
    /// By the names of the records.
    private var items: [String: Item] = [:]
    private var paths: [String: [UInt8]] = [:]
    private var doneCount = 0
    private var byteCount = 0
    private var skippedCount = 0
    private let start = Clock.monotonicNanoseconds

    init(tree: TreeWriter, output: Output, progress: Progress) {
        self.tree = tree
        self.output = output
        self.progress = progress
    }

    mutating func run(_ database: DatabaseSnapshot, _ zoneID: RecordZone.ID) async throws {
        for record in try Self.records(database, zoneID) {
            if let item = Item(record) {
                items[record.recordID.recordName] = item
            } else {
                skip(record.recordID.recordName, "no entry of a tree")
            }
        }
        for name in items.keys { paths[name] = path(of: name) }
        let names = items.keys.sorted {
            (paths[$0] ?? []).lexicographicallyPrecedes(paths[$1] ?? [])
        }
        let ordered = names.filter { paths[$0] != nil }.sorted { depth($0) < depth($1) }
        for name in names where paths[name] == nil { skip(name, "its folder is not there") }
        let tree = tree
        for name in ordered where items[name]?.type == "Folder" {
            try make(name) { path, _ throws(SystemError) in try tree.makeFolder(path) }
        }
        for name in ordered where items[name]?.type == "File" {
            if Terminal.requestedStop != nil { return }
            try await writeFile(name, database, zoneID)
        }
        // Now that nothing is written below any more.
        for name in ordered where items[name]?.type == "Link" {
            let target = try target(of: name, database, zoneID)
            try make(name) { path, item throws(SystemError) in
                try tree.makeLink(path, to: target, modifiedNanoseconds: item.modified)
            }
        }
        for name in ordered.reversed() where items[name]?.type == "Folder" {
            guard let item = items[name], let path = paths[name] else { continue }
            try tree.finishFolder(path, mode: item.mode, modifiedNanoseconds: item.modified)
        }
        progress.finish(at: Clock.monotonicNanoseconds)
    }

    func finish() throws -> ExitCode {
        let seconds = Double(Clock.monotonicNanoseconds - start) / 1e9
        try output.summary(
            [
                "entries": .integer(doneCount), "bytes": .integer(byteCount),
                "skipped": .integer(skippedCount), "seconds": .double(seconds),
            ],
            text: "\(doneCount) entries, \(Quantities.size(UInt64(byteCount))), "
                + "\(skippedCount) skipped in " + Quantities.duration(seconds: seconds))
        if let signal = Terminal.requestedStop { return .signal(signal) }
        return skippedCount == 0 ? .ok : .partial
    }

    private static func records(
        _ database: DatabaseSnapshot, _ zoneID: RecordZone.ID
    ) throws -> [Record] {
        var records: [Record] = []
        var cursor: RecordPage.Cursor?
        let keys = ["name", "nameBytes", "mode", "modifiedNanoseconds"]
        repeat {
            let page = try database.records(inZoneWith: zoneID, desiredKeys: keys, from: cursor)
            records += page.records
            cursor = page.cursor
        } while cursor != nil
        return records
    }

    /// The path of an entry; nil where a folder above it is not there.
    private func path(of name: String) -> [UInt8]? {
        guard let item = items[name] else { return nil }
        var path = item.name
        var next = item.parent
        var steps = 0
        while let parent = next {
            // Parents that go round in a circle are no tree.
            guard let folder = items[parent], folder.type == "Folder", steps < 4096 else {
                return nil
            }
            path = folder.name + [UInt8(ascii: "/")] + path
            next = folder.parent
            steps += 1
        }
        return path
    }

    private func depth(_ name: String) -> Int {
        paths[name]?.count { $0 == UInt8(ascii: "/") } ?? 0
    }

    private mutating func make(
        _ name: String, _ body: ([UInt8], Item) throws(SystemError) -> Void
    ) throws {
        guard let item = items[name], let path = paths[name] else { return }
        do throws(SystemError) {
            try body(path, item)
        } catch {
            guard error.code == .exists else { throw error }
            return skip(name, "another entry has its path")
        }
        count()
    }

    private mutating func writeFile(
        _ name: String, _ database: DatabaseSnapshot, _ zoneID: RecordZone.ID
    ) async throws {
        let record = try database.record(for: Record.ID(recordName: name, zoneID: zoneID))
        let contents = record["contents"]?.bytesValue
        let asset = record["asset"]?.assetValue
        guard contents != nil || asset != nil else {
            return skip(name, "the record has no contents")
        }
        var made: TreeFile?
        let tree = tree
        try make(name) { path, _ throws(SystemError) in made = try tree.makeFile(path) }
        guard let file = made, let item = items[name] else { return }
        var position = 0
        if let contents {
            try file.write(contents.span, at: 0)
            position = contents.count
        } else if let asset {
            for try await piece in try asset.chunks() {
                try file.write(piece.span, at: position)
                position += piece.count
            }
        }
        byteCount += position
        try file.finish(mode: item.mode, modifiedNanoseconds: item.modified)
    }

    private func target(
        of name: String, _ database: DatabaseSnapshot, _ zoneID: RecordZone.ID
    ) throws -> [UInt8] {
        let record = try database.record(for: Record.ID(recordName: name, zoneID: zoneID))
        return record["target"]?.bytesValue.map { Array($0) }
            ?? Array((record["target"]?.stringValue ?? "").utf8)
    }

    private mutating func count() {
        doneCount += 1
        progress.update(UInt64(doneCount), at: Clock.monotonicNanoseconds)
    }

    private mutating func skip(_ name: String, _ reason: String) {
        skippedCount += 1
        output.warning("export.skipped", "record \(name): \(reason)")
    }
}
