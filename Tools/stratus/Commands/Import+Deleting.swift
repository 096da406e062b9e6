import Stratus
import StratusFiles

// What is gone from the tree goes from the zone.

/// A folder as it was stored.
private struct StoredFolder {
    var recordName: String
    var name: [UInt8]
}

extension Importer {
    /// Deletes the records whose entries are not there any more: goes through the tree as it was
    /// stored before, and looks in the directory for each entry. What cannot be looked at is not
    /// gone, nor is anything in a folder that cannot be looked into.
    mutating func deleteWhatIsGone() async throws {
        var walk = tree.walk()
        var gone = [String]()
        var levels = [RecordChildren<StoredFolder>(of: nil)]
        while var level = levels.popLast(), Terminal.requestedStop == nil {
            if let folder = level.waiting.popLast() {
                levels.append(level)
                // Where that fails, the import has said so.
                guard (try? walk.enter(folder.name)) != nil else { continue }
                levels.append(RecordChildren(of: folder.recordName))
            } else if let records = try level.next(
                in: zoneID, of: before, depth: levels.count + 1)
            {
                for record in records {
                    guard let entry = entry(of: record, in: walk.folder) else {
                        try await deleteTree(record.recordID.recordName, &gone)
                        continue
                    }
                    if entry.isFolder, record.recordType == "Folder" {
                        level.waiting.append(
                            StoredFolder(
                                recordName: record.recordID.recordName, name: entry.name))
                    }
                }
                levels.append(level)
            } else {
                while !levels.isEmpty, (try? walk.leave()) == nil { levels.removeLast() }
            }
        }
        try await delete(&gone)
    }

    /// The entry of the folder that a record is of; nil where it is of none that is there.
    private func entry(
        of record: Record, in folder: FileTree.Folder
    ) -> (name: [UInt8], isFolder: Bool)? {
        let name =
            record["nameBytes"]?.bytesValue.map { Array($0) }
            ?? Array((record["name"]?.stringValue ?? "").utf8)
        guard TreeWriter.isName(name),
            Self.recordName(folder.child(name)) == record.recordID.recordName
        else { return nil }
        do throws(SystemError) {
            let entry = try folder.entry(name)
            return isStore(entry) ? nil : (name, entry.kind == .directory)
        } catch {
            return error.code == .notFound ? nil : (name, false)
        }
    }

    /// Deletes a folder and all that was stored below it.
    mutating func deleteTree(_ recordName: String) async throws {
        var gone = [String]()
        try await deleteTree(recordName, &gone)
        try await delete(&gone)
    }

    /// What lies below a record goes before it.
    private mutating func deleteTree(_ recordName: String, _ gone: inout [String]) async throws {
        var levels = [RecordChildren<String>(of: recordName)]
        while var level = levels.popLast() {
            if let name = level.waiting.popLast() {
                levels += [level, RecordChildren(of: name)]
            } else if let records = try level.next(
                in: zoneID, of: before, depth: levels.count + 1)
            {
                level.waiting = records.map(\.recordID.recordName)
                levels.append(level)
            } else if let name = level.parent {
                gone.append(name)
                if gone.count == Self.batchLimit { try await delete(&gone) }
            }
        }
    }

    private mutating func delete(_ gone: inout [String]) async throws {
        if gone.isEmpty { return }
        let result = try await database.modifyRecords(
            saving: [],
            deleting: gone.map { Record.ID(recordName: $0, zoneID: zoneID) })
        if let failure = result.partialFailure { throw failure }
        deletedCount += gone.count
        try acknowledge(nil, saved: [], deleted: gone)
        gone = []
    }
}
