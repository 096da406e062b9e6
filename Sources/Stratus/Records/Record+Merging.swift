internal import StratusEngine

extension Record {
    /// The name under which a merge asks for the parent, which is no field.
    public static let parentKey = "___parent"

    /// Decides what a field is that client and server changed differently: its name, then what it
    /// is in the client's record, was in the ancestor, and is in the server's; nil where it is not
    /// there. What it returns is saved, nil removes the field.
    public typealias ConflictResolver = (
        _ key: String, _ client: RecordValue?, _ ancestor: RecordValue?, _ server: RecordValue?
    ) throws(StoreError) -> RecordValue?

    /// The server's record with the client's changes in it, to be saved instead of the client's.
    ///
    /// A field that only one of them changed since the ancestor is as that one has it, one that
    /// both changed alike is as both have it, and of all others `resolve` decides. What a record
    /// does not show, since it was fetched in part, counts as unknown: nothing that is sent is
    /// taken for unchanged because of it, and what the client does not show is the server's.
    /// Without an ancestor every field that differs is a conflict. The parent is merged likewise,
    /// as a reference under ``parentKey``.
    ///
    /// - Throws: what `resolve` throws.
    public static func merging(
        client: Record, ancestor: Record?, server: Record, resolve: ConflictResolver
    ) throws(StoreError) -> Record {
        var merged = server
        for key in Set(client.allKeys).union(client.changedKeys).sorted() {
            let merge = Merge(
                client: client[key], ancestor: ancestor?[key], server: server[key],
                isAncestorKnown: ancestor?.shows(key) ?? false, isServerKnown: server.shows(key))
            if let value = try merge.decide(key, resolve) { merged[key] = value.value }
        }
        let parents = Merge(
            client: client.parent.map(RecordValue.reference),
            ancestor: ancestor?.parent.map(RecordValue.reference),
            server: server.parent.map(RecordValue.reference),
            isAncestorKnown: ancestor != nil, isServerKnown: true)
        // A record made from scratch that says nothing of its parent does not take it away.
        if client.changesParent || client.system != nil,
            let value = try parents.decide(parentKey, resolve)
        {
            merged.parent = value.value?.referenceValue
        }
        return merged
    }

    /// The record as it was before the caller's edits, as far as it was fetched.
    fileprivate var base: Record? {
        system.map {
            Record(
                recordType: recordType, recordID: recordID, system: $0, parent: storedParent,
                stored: stored, assets: assets)
        }
    }

    /// Whether anything would be sent.
    fileprivate var hasEdits: Bool { !edits.all.isEmpty || parent != storedParent }

    /// Whether it is known what the field is, be it nothing.
    private func shows(_ key: String) -> Bool {
        guard let visible = stored.visible, edits.edit(of: key) == nil else { return true }
        return stored.schema.number(key).map(visible.contains) ?? (stored.count > 0)
    }
}

/// One field of three records.
private struct Merge {
    /// What to write over the server's.
    struct Decision {
        var value: RecordValue?
    }

    var client: RecordValue?
    var ancestor: RecordValue?
    var server: RecordValue?
    var isAncestorKnown: Bool
    var isServerKnown: Bool

    /// Nil where the server's stays.
    func decide(
        _ key: String, _ resolve: Record.ConflictResolver
    ) throws(StoreError) -> Decision? {
        if isServerKnown, client == server { return nil }
        if isAncestorKnown, client == ancestor { return nil }
        if isAncestorKnown, isServerKnown, server == ancestor { return Decision(value: client) }
        let value = try resolve(key, client, ancestor, server)
        return isServerKnown && value == server ? nil : Decision(value: value)
    }
}

extension Database {
    /// Saves a record. Where another client saved it since, merges the changes into that version,
    /// as ``Record/merging(client:ancestor:server:resolve:)`` does, and tries again until a save
    /// succeeds.
    ///
    /// - Returns: the record as it is in the store now. Where another client made all the changes
    ///   already, that is its version.
    /// - Throws: ``StoreError`` with everything that ``save(_:savePolicy:operationID:)`` throws but
    ///   `serverRecordChanged`, with `operationCancelled`, and with what `resolve` throws.
    @discardableResult
    public nonisolated(nonsending) func save(
        _ record: Record, resolving resolve: Record.ConflictResolver
    ) async throws(StoreError) -> Record {
        var client = record
        while true {
            do throws(StoreError) {
                return try await save(client)
            } catch {
                guard error.code == .serverRecordChanged, let server = error.serverRecord else {
                    throw error
                }
                if Task.isCancelled {
                    throw StoreError(.operationCancelled, "cancelled before it was committed")
                }
                client = try Record.merging(
                    client: client, ancestor: error.ancestorRecord ?? client.base,
                    server: server, resolve: resolve)
                if !client.hasEdits { return server }
            }
        }
    }
}
