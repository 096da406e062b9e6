internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

// A record can be saved as it was given in JSON, where an asset is its checksum and size.

extension Database {
    /// The items with assets of their records in the places of checksums. One that stands for
    /// nothing leaves its record to fail.
    nonisolated(nonsending) func findingHeldAssets(
        _ items: [RecordItem]
    ) async throws(EngineError) -> [RecordItem] {
        try await answer { view throws(EngineError) in
            try view.findingHeldAssets(items)
        }
    }

    /// The same on the calling thread, which waits.
    func findingHeldAssetsAndWait(
        _ items: [RecordItem]
    ) throws(EngineError) -> [RecordItem] {
        try current.waiting.findingHeldAssets(items)
    }
}

extension RecordItem {
    /// Whether checksums stand in the places of assets.
    var namesHeldAssets: Bool { !heldChecksums.isEmpty }

    /// The checksums in the record that stand for assets.
    fileprivate var heldChecksums: Set<String> {
        guard case .save(let record, _) = self, record.edits.hasAssets else { return [] }
        return Set(
            record.edits.all.flatMap { $0.value?.assets ?? [] }.compactMap(\.heldChecksum))
    }
}

extension Asset {
    fileprivate var heldChecksum: String? {
        if case .held(let checksum, _)? = request { checksum } else { nil }
    }
}

extension DatabaseView {
    fileprivate func findingHeldAssets(
        _ items: [RecordItem]
    ) throws(EngineError) -> [RecordItem] {
        try items.map { item throws(EngineError) in try findingHeldAssets(item) }
    }

    private func findingHeldAssets(
        _ item: RecordItem
    ) throws(EngineError) -> RecordItem {
        let checksums = item.heldChecksums
        guard case .save(var record, let rule) = item, !checksums.isEmpty else {
            return item
        }
        var held: [String: Asset] = [:]
        var failure = StoreError.notHeld
        do throws(EngineError) {
            held = try assets(of: record.recordID, checksums)
        } catch {
            if error.wouldBlock { throw error }
            failure = StoreError(error)
        }
        for edit in record.edits.all {
            guard let value = edit.value, value.hasAssets else { continue }
            record[edit.key] = value.mappingAssets { asset in
                guard case .held(let checksum, let size)? = asset.request else { return asset }
                guard let found = held[checksum], size == nil || size == found.size else {
                    return Asset(.failed(failure))
                }
                return found
            }
        }
        return .save(record, rule)
    }

    /// The assets of those checksums that the versions of a record have, from the latest back: all
    /// of them the caller could read when they were current.
    private func assets(
        of id: Record.ID, _ checksums: Set<String>
    ) throws(EngineError) -> [String: Asset] {
        let reading = try reading
        let name = reading.hash(id.recordName)
        guard let used = try usedZone(id.zoneID, reading),
            let value = try reading.value(.record(used.place.number, name))
        else { return [:] }
        let (zone, shared) = (used.place, used.shared)
        guard try shared?.mayRead(name, self, reading) ?? true else { return [:] }
        let reader = try PublicReader(self, reading)
        var assets: [String: Asset] = [:]
        var users = UserNames(reading)
        var next: JournalEntry? = try reading.entry(EntryLocation(value))
        while let entry = next, assets.count < checksums.count {
            next = try reading.version(before: entry, of: zone.database)
            if let shared, let former = next {
                // In another zone, before it was moved here, it was the owner's alone.
                let isKnown = try shared.sawAlready(name, at: former.version, reading)
                if former.zone != zone.number || !isKnown { next = nil }
            }
            guard entry.kind == .record, try entry.isRecord(named: id.recordName),
                try entry.recordHead().head.assetBytes != nil
            else { continue }
            let record = try reading.record(entry, in: id.zoneID, &users)
            guard reader?.refusal(of: record) == nil else { continue }
            for asset in record.allKeys.flatMap({ record[$0]?.assets ?? [] }) {
                guard let checksum = asset.fileChecksum, checksums.contains(checksum),
                    assets[checksum] == nil
                else { continue }
                assets[checksum] = asset
            }
        }
        return assets
    }
}

extension StoreReading {
    /// What a record or tombstone replaced or, of a record that was moved, what it was in the zone
    /// before, where that zone lives; nil where there was nothing, or nothing that is kept.
    fileprivate func version(
        before entry: JournalEntry, of database: UInt32
    ) throws(EngineError) -> JournalEntry? {
        if let replaced = try keptEntry(replacedBy: entry) { return replaced }
        guard entry.kind == .record, let origin = try entry.recordHead().head.origin,
            let zone = try zone(origin.zone), zone.isAlive, zone.database == database,
            origin.version.offset < entry.offset,
            let former = try keptEntry(of: origin.version, in: origin.zone),
            former.kind == .record
        else { return nil }
        return former
    }
}

extension StoreError {
    fileprivate static let notHeld = StoreError(
        .assetNotAvailable, "no version of the record has an asset of this checksum and size")
}
