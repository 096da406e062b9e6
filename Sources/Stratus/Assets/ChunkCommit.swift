internal import StratusAssets
internal import StratusBytes
internal import StratusJournal
internal import StratusEngine

/// The places of chunks become part of the store before any record names them: of a large asset, so
/// that none of it has to be held in memory.
struct ChunkCommit: Transaction {
    let rows: [ChunkEntry.Row]

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        try draft.buffer.add(rows, limit: context.payloadLimit)
        return draft
    }
}

extension CommitBuffer {
    /// Adds the places of chunks, in as many entries as it takes.
    mutating func add(_ rows: [ChunkEntry.Row], limit: Int) throws(EngineError) {
        let most = max(1, (limit - 64) / ChunkEntry.rowLimit)
        for start in stride(from: 0, to: rows.count, by: most) {
            let part = rows[start..<min(rows.count, start + most)]
            try add(.chunks, limit: limit) { ChunkEntry.write(part, to: &$0) }
        }
    }
}
