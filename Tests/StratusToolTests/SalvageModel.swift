import FoundationEssentials
import Stratus
import StratusEngine
import StratusJournal

/// What a store holds, read from the entries of its journal.
struct SalvageModel {
    /// An entry, and where it lies in a file.
    struct Entry {
        var offset: UInt64
        var kind: EntryKind
        var file: String
        /// Of its frame; in a compacted segment of the block that holds it.
        var bytes: Range<Int>
    }

    struct Name: Hashable {
        var zone: UInt32
        var record: String
    }

    private(set) var entries: [Entry] = []
    /// The versions and deletions of each record, in their order.
    private(set) var states: [Name: [(offset: UInt64, isDeleted: Bool)]] = [:]
    /// What became of each zone last.
    private(set) var zones: [UInt32: ZoneEntry] = [:]
    /// The entries that gave users, zones and names their numbers, and made or deleted zones.
    private(set) var definitions: Set<UInt64> = []

    /// Reads the store in the directory `path`, which is whole.
    init(_ path: String) async throws {
        let store = try await Container.openReadOnly(at: path)
        var log = store.log()
        while let line = try log.nextLine() {
            let entry = line.entry
            guard entry.kind.isEntry else { continue }
            var length = entry.header.frameLength
            if entry.isOfCompleteCommit {
                length = try Self.blockLength(path + "/" + line.file, at: line.entry.byte)
            }
            entries.append(
                Entry(
                    offset: entry.offset.rawValue, kind: entry.kind, file: line.file,
                    bytes: entry.byte..<entry.byte + length))
            try note(entry)
        }
        try await store.close()
    }

    private mutating func note(_ entry: JournalEntry) throws {
        let offset = entry.offset.rawValue
        switch entry.kind {
        case .zone:
            let zone = try entry.withPayload { try ZoneEntry($0) }
            zones[zone.number] = zone
            definitions.insert(offset)
        case .user, .names: definitions.insert(offset)
        case .record, .tombstone:
            let text = ProjectionRegistry.store.describe(entry, .empty)
            states[Name(zone: entry.zone, record: text.recordName ?? ""), default: []]
                .append((offset, entry.kind == .tombstone))
        default: break
        }
    }

    /// `Formats/Compacted.md`, "Blocks".
    private static func blockLength(_ path: String, at place: Int) throws -> Int {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        return 24 + bytes[place + 12..<place + 16].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// The entries that are lost where a byte of a file is changed.
    func lost(file: String, byte: Int) -> Set<UInt64> {
        Set(entries.filter { $0.file == file && $0.bytes.contains(byte) }.map(\.offset))
    }

    /// Those records of living zones that are there, with the offset of their newest versions.
    var living: [(name: Name, offset: UInt64)] {
        states.compactMap { name, versions in
            guard zones[name.zone]?.state == .alive, let last = versions.last, !last.isDeleted
            else { return nil }
            return (name, last.offset)
        }
    }
}
