/// A record as the server holds it.
package struct ModelRecord: Hashable, Sendable {
    package var id: ModelID
    package var type: String
    package var fields: [String: ModelValue] = [:]
    /// The name of its parent, which is in the same zone.
    package var parent: ModelID?
    /// Which accepted save made it: a number that is used once in a container.
    package var revision: Int
    /// The revision that it was created with.
    package var creation: Int
    package var creator: Int
    package var modifier: Int

    /// With no fields but these; nil keeps all.
    func keeping(_ keys: Set<String>?) -> Self {
        guard let keys else { return self }
        var record = self
        record.fields = fields.filter { keys.contains($0.key) }
        return record
    }
}

/// What a client says about a field that it changed.
package enum ModelEdit<Value: Hashable & Sendable>: Hashable, Sendable {
    case set(Value)
    case removed

    package var value: Value? { if case .set(let value) = self { value } else { nil } }
}

/// A record as a client holds it: made from scratch, or fetched, in part or whole, and edited.
package struct ModelCopy: Hashable, Sendable {
    package var id: ModelID
    package var type: String
    /// Of the record on the server that it was made from. Nil from scratch.
    package var revision: Int?
    /// The fields that came from the server.
    package var loaded: [String: ModelValue] = [:]
    /// Whether these are all that the record had.
    package var isWhole = false
    package var edits: [String: ModelEdit<ModelValue>] = [:]
    package var loadedParent: ModelID?
    package var parentEdit: ModelEdit<ModelID>?

    /// One from scratch.
    package init(_ id: ModelID, type: String) {
        self.id = id
        self.type = type
    }

    /// One as it was fetched.
    package init(_ record: ModelRecord, isWhole: Bool) {
        self.init(record.id, type: record.type)
        revision = record.revision
        loaded = record.fields
        self.isWhole = isWhole
        loadedParent = record.parent
    }

    /// What an application that kept the system fields only begins with.
    package var systemFieldsOnly: Self {
        var copy = unedited
        copy.loaded = [:]
        copy.isWhole = false
        return copy
    }

    package var unedited: Self {
        var copy = self
        copy.edits = [:]
        copy.parentEdit = nil
        return copy
    }

    /// Sets a field, or removes it with nil.
    package mutating func edit(_ key: String, _ value: ModelValue?) {
        if let value {
            edits[key] = .set(value)
        } else if revision != nil {
            edits[key] = .removed
        } else {
            // Semantics 1.8: what never was saved is not removed.
            edits[key] = nil
        }
    }

    package mutating func edit(parent: ModelID?) {
        parentEdit =
            if let parent { .set(parent) } else if revision != nil { .removed } else { nil }
    }

    /// All that it shows, edits included.
    var shown: [String: ModelValue] {
        var fields = loaded
        for (key, edit) in edits { fields[key] = edit.value }
        return fields
    }

    var shownParent: ModelID? { parentEdit.map(\.value) ?? loadedParent }
}
