package import StratusAssets
package import StratusBytes
package import StratusIndex
package import StratusJournal

extension EntryKind {
    package static let chunks = EntryKind(rawValue: 42)
    package static let reclaimedChunks = EntryKind(rawValue: 43)
}

extension KeySpace {
    package static var assets: KeySpace {
        KeySpace(6, "assets", names: .elsewhere, isRestated: true)
    }
    package static var chunks: KeySpace { KeySpace(24, "chunks", names: .parts, isRestated: true) }
}

extension IndexKey {
    package static func chunk(_ address: ChunkAddress) -> IndexKey {
        KeySpace.chunks.key().appending(address.high).appending(address.low)
    }
    /// Of a record that has assets.
    package static func assets(_ zone: UInt32, _ name: Hash128) -> IndexKey {
        KeySpace.assets.key(zone: zone).appending(name)
    }
    /// The address in a key of ``chunk(_:)``.
    package var chunkAddress: ChunkAddress {
        var writer = ByteWriter(capacity: ChunkAddress.length)
        for place in 0..<4 { writer.uint64(uint64(at: 5 + place * 8).byteSwapped) }
        return ChunkAddress(writer.bytes.span, at: 0)
    }
}

extension ChunkLocation {
    /// As the index keeps it: `Formats/Index.md`, "Keys".
    package init?(_ value: IndexValue) {
        self.init(
            number: value.first >> 20, byte: Int(value.second >> 20) * 8,
            storedLength: Int(value.second & 0xfffff), length: Int(value.first & 0xfffff))
        guard isPossible else { return nil }
    }

    package func value(at offset: JournalOffset) -> IndexValue {
        IndexValue(
            stamp: offset.rawValue, first: number << 20 | UInt64(length),
            second: UInt64(byte / 8) << 20 | UInt64(storedLength))
    }
}

/// Where chunks lie, and which records have assets.
struct AssetProjection: Projection {
    package static let entries = [
        EntryForm(.chunks, "chunks", selection: .rewritten),
        // What it takes away may still be there, in what is read before.
        EntryForm(.reclaimedChunks, "reclaimed chunks", retention: .always),
    ]
    package static let alsoReads: [EntryKind] = [.record, .tombstone]
    package static let keyspaces: [KeySpace] = [.assets, .chunks]

    package mutating func apply(
        _ entry: inout FoldedEntry, _ payload: Span<UInt8>, to state: inout FoldState
    ) throws(FormatError) {
        let (offset, stamp) = (entry.offset, entry.stamp)
        switch entry.header.kind {
        case .chunks:
            try ChunkEntry.forEach(payload) { address, place in
                state.index.set(.chunk(address), place.value(at: offset))
            }
        case .reclaimedChunks:
            try ReclaimedChunksEntry.forEach(payload) { address in
                state.index.remove(.chunk(address), at: stamp)
            }
        case .tombstone:
            let tombstone = try entry.tombstone(payload)
            guard tombstone.deletesAssets else { return }
            // A record that was moved has its assets in its new zone.
            if tombstone.entry.destination == nil {
                state.changes?.freedAssetBytes &+= tombstone.entry.assetBytes ?? 0
            }
            state.index.remove(.assets(entry.zone, tombstone.name), at: stamp)
        default:
            let record = try entry.record(payload)
            state.changes?.freedAssetBytes &+= record.head.formerAssetBytes ?? 0
            let key = IndexKey.assets(entry.zone, record.name)
            if record.head.assetBytes != nil {
                let isNew = record.previous == .none
                state.index.set(key, entry.location(), isFresh: isNew)
            } else if record.replacedAssetBytes != nil {
                state.index.remove(key, at: stamp)
            }
        }
    }

    /// The chunks that the zones need.
    package static func selected(
        _ payload: Span<UInt8>, of entry: JournalEntry, by zones: SelectedZones
    ) throws(FormatError) -> SelectedEntry {
        var (all, needed) = (0, [ChunkEntry.Row]())
        try ChunkEntry.forEach(payload) { address, place in
            all += 1
            if zones.mayNeed(address) { needed.append((address, place)) }
        }
        if needed.isEmpty { return .nothing }
        return needed.count == all
            ? .whole : .instead(.chunks, zone: entry.zone) { ChunkEntry.write(needed, to: &$0) }
    }

    package static func validate(
        _ payload: Span<UInt8>, of entry: JournalEntry, _ numbers: inout NumberCheck
    ) throws(FormatError) {
        if entry.kind == .chunks {
            try ChunkEntry.forEach(payload) { _, _ in }
        } else {
            try ReclaimedChunksEntry.forEach(payload) { _ in }
        }
    }

    package static func describe(
        _ payload: Span<UInt8>, _ kind: EntryKind, _ schema: Schema
    ) throws(FormatError) -> EntryDescription {
        var (count, bytes) = (0, 0)
        if kind == .chunks {
            try ChunkEntry.forEach(payload) { _, place in
                count += 1
                bytes += place.storedLength
            }
            return EntryDescription(detail: "\(count) chunks, \(bytes) bytes as stored")
        }
        try ReclaimedChunksEntry.forEach(payload) { _ in count += 1 }
        return EntryDescription(detail: "\(count) chunks")
    }
}
