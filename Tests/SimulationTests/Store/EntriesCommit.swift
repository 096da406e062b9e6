import StratusEngine
import StratusJournal

/// A commit of entries, whatever else is in the store.
struct EntriesCommit: Transaction {
    let buffer: CommitBuffer

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) -> Draft? {
        var draft = Draft(reading)
        draft.buffer = buffer
        return draft
    }
}
