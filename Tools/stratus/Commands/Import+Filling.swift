import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles

// What a record says of an entry.

extension Importer {
    /// Sets what differs; false where nothing does.
    mutating func fill(
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
        case .directory, .other: break
        }
        return isNew || !record.changedKeys.isEmpty
    }

    private mutating func fillContents(
        of record: inout Record, from entry: FileTree.Entry, in folder: FileTree.Folder
    ) throws {
        let file = try folder.file(entry)
        var contents: [UInt8] = []
        while contents.count <= Self.inlineLimit {
            let bytes = try file.read(
                at: contents.count, upTo: Self.inlineLimit + 1 - contents.count)
            if bytes.isEmpty { break }
            contents += bytes
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
        batch.paths[record.recordID] = entry.path
    }
}

/// Why an entry is left as it is in the store.
struct Skipped: Error {
    var reason: String
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
}
