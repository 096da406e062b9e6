import Stratus

// What is gone from the tree goes from the zone.

extension Importer {
    /// Deletes the records whose entries were not met.
    mutating func deleteWhatIsGone() async throws {
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
    func deleteTree(_ id: Record.ID) async throws {
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
}
