import FoundationEssentials
import Stratus
import StratusFiles

/// A record as the entry of a tree.
struct ExportEntry: Sendable {
    enum Kind: String {
        case folder = "Folder"
        case file = "File"
        case link = "Link"
    }

    let recordName: String
    let kind: Kind
    let name: [UInt8]
    private(set) var mode: Int
    let modifiedNanoseconds: Int

    /// The set-user, set-group and sticky bits. An export clears them by default: the record may
    /// have been written by another user, whose programs must not run as the exporting one.
    private static let specialBits = 0o7000

    /// Nil where the record is none of a tree. Any client may have written it: no value is trusted.
    init?(_ record: Record) {
        guard let kind = Kind(rawValue: record.recordType),
            let mode = record["mode"]?.int64Value,
            let modified = record["modifiedNanoseconds"]?.int64Value
        else { return nil }
        recordName = record.recordID.recordName
        self.kind = kind
        name =
            record["nameBytes"]?.bytesValue.map { Array($0) }
            ?? Array((record["name"]?.stringValue ?? "").utf8)
        self.mode = Int(mode)
        modifiedNanoseconds = Int(modified)
        guard TreeWriter.isName(name) else { return nil }
    }

    /// Whether it would give away rights. Links have none.
    var hasSpecialBits: Bool { kind != .link && mode & Self.specialBits != 0 }

    mutating func clearSpecialBits() { mode &= ~Self.specialBits }
}

/// What became of an entry.
enum ExportOutcome: Sendable {
    /// It is there; a file, with so many bytes.
    case made(Int)
    case skipped(String)
    /// The store has bytes of it that are not what was stored.
    case damaged(ToolError)
    /// The process was asked to stop, and it is not there.
    case stopped
}

extension ExportEntry {
    /// Makes the entry of `record`; throws what ends the export.
    func make(_ record: Record, in folder: TreeWriter.Folder) async throws -> ExportOutcome {
        do {
            switch kind {
            case .folder:
                try folder.makeFolder(name)
                return .made(0)
            case .file: return try await makeFile(record, in: folder)
            case .link: return try makeLink(record, in: folder)
            }
        } catch let error as SystemError {
            switch error.code {
            case .noSpace, .inputOutput: throw error
            case .exists: return .skipped("another entry has its place")
            default: return .skipped(error.description)
            }
        } catch let error as StoreError where error.isDamage {
            return .damaged(ToolError(error))
        }
    }

    private func makeFile(
        _ record: Record, in folder: TreeWriter.Folder
    ) async throws -> ExportOutcome {
        let contents = record["contents"]?.bytesValue
        let asset = record["asset"]?.assetValue
        guard let size = contents?.count ?? asset?.size else {
            return .skipped("the record has no contents")
        }
        // It has no name before it is finished.
        let file = try folder.makeFile(name, length: size)
        if let contents {
            try file.write([Array(contents)[...]], at: 0)
        } else if let asset {
            do {
                try await asset.copy(stopping: 0..<size) { slices, position throws(SystemError) in
                    try file.write(slices, at: position)
                }
            } catch is CancellationError {
                return .stopped
            }
        }
        try file.finish(mode: mode, modifiedNanoseconds: modifiedNanoseconds)
        return .made(size)
    }

    private func makeLink(
        _ record: Record, in folder: TreeWriter.Folder
    ) throws -> ExportOutcome {
        let target =
            record["targetBytes"]?.bytesValue.map { Array($0) }
            ?? Array((record["target"]?.stringValue ?? "").utf8)
        guard TreeWriter.isTarget(target) else {
            return .skipped("the record has no target of a link")
        }
        try folder.makeLink(name, to: target, modifiedNanoseconds: modifiedNanoseconds)
        return .made(0)
    }
}

extension StoreError {
    /// Whether bytes of the store are lost or wrong, of which others need not be.
    fileprivate var isDamage: Bool {
        switch cause {
        case .damaged, .inputOutput: true
        default: code == .assetNotAvailable
        }
    }
}
