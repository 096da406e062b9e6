// What a difference is reported with: short, since there is much in a call.

extension ModelCall: CustomStringConvertible {
    package var description: String {
        let who = caller.map { "user \($0)" } ?? "an anonymous caller"
        return "\(kind) in \(database) by \(who)"
    }
}

extension ModelDatabaseID: CustomStringConvertible {
    package var description: String {
        switch self {
        case .everybodys: "public"
        case .own(let user): "private \(user)"
        }
    }
}

extension ModelBatch: CustomStringConvertible {
    package var description: String {
        (isAtomic ? "atomic " : "each for itself ")
            + (saves.map(\.description) + deletes.map(\.description)).joined(separator: "; ")
    }
}

extension ModelSave: CustomStringConvertible {
    package var description: String { "\(rule) \(copy)" }
}

extension ModelDelete: CustomStringConvertible {
    package var description: String {
        switch condition {
        case .none: "delete \(id)"
        case .revision(let revision): "delete \(id)@\(revision)"
        }
    }
}

extension ModelCopy: CustomStringConvertible {
    package var description: String {
        var text = "\(type) \(id)" + (revision.map { "@\($0)" } ?? "")
        if revision != nil, !isWhole { text += " partial" }
        for (key, value) in loaded.sorted(by: { $0.key < $1.key }) where !value.references.isEmpty {
            text += " \(key): \(value)"
        }
        if let loadedParent { text += " under \(loadedParent)" }
        for (key, edit) in edits.sorted(by: { $0.key < $1.key }) {
            text += " \(key) = \(edit.value?.description ?? "nil")"
        }
        if let parentEdit { text += " parent = \(parentEdit.value?.description ?? "nil")" }
        return text
    }
}

extension ModelValue: CustomStringConvertible {
    package var description: String {
        switch self {
        case .number(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): "'\(text)'"
        case .bytes(let bytes): "\(bytes.count) bytes"
        case .date(let time): "ms \(time)"
        case .reference(let reference): "\(reference.action) \(reference.target)"
        case .list(let elements): "[\(elements.map(\.description).joined(separator: ", "))]"
        }
    }
}

extension RecordModel {
    /// What a zone holds, for a report.
    package func describe(_ zone: String, in id: ModelDatabaseID) -> String {
        guard let found = databases[id]?.zones[zone] else { return "\(zone) is not there" }
        return found.records.values.sorted { $0.id < $1.id }.map {
            "\n    \(ModelCopy($0, isWhole: true))"
        }.joined()
    }
}
