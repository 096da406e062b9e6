package import Stratus

extension RestoredRecords: JSONBody {
    enum Key: String { case added, replaced, deleted, kept, unchanged, proved, history }

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        self.init()
        added = try keys.required(.added)
        replaced = try keys.required(.replaced)
        deleted = try keys.required(.deleted)
        kept = try keys.required(.kept)
        unchangedCount = try keys.required(.unchanged)
        isProved = try keys.required(.proved)
        keepsHistory = try keys.required(.history)
    }

    /// For answers and output: the names of records in their order.
    package var json: JSONObject {
        [
            "added": .strings(added.sorted()), "replaced": .strings(replaced.sorted()),
            "deleted": .strings(deleted.sorted()), "kept": .strings(kept.sorted()),
            "unchanged": .integer(unchangedCount), "proved": .boolean(isProved),
            "history": .boolean(keepsHistory),
        ]
    }

    /// What an answer to `store/restore` or `store/revert` says.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where it says something else.
    package init(answer: JSONObject) throws(StoreError) {
        do throws(Mismatch) {
            try self.init(JSONKeys(answer))
        } catch {
            throw StoreError(error)
        }
    }
}

extension RestoreMode: JSONWord {}
