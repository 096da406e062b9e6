package import Stratus
internal import StratusLanguage

/// What a hand changes in a record, as it is typed.
package struct RecordEdit: Sendable {
    /// The type of a record that is made; nil: the record must be there.
    package var type: String?
    package var values: [FieldText]
    /// The fields that lose their values.
    package var unset: [String]
    /// The name of the record that becomes the parent; nil: it stays.
    package var parent: String?

    package init(type: String?, values: [FieldText], unset: [String], parent: String?) {
        self.type = type
        self.values = values
        self.unset = unset
        self.parent = parent
    }

    /// Why an edit makes no sense.
    package enum Fault: String, Error, JSONWord {
        /// The record is not there, and no type is given.
        case noRecord
        case otherType
        case nothing
        case badValue
        case repeatedField
        case contradiction
        /// A field that is to lose its value has none.
        case noField
    }

    /// The same with what it is about.
    package struct Refusal: Error {
        package var fault: Fault
        package var reason: String
    }

    /// Changes the record `id` in its newest state, or makes it.
    ///
    /// - Parameters:
    ///   - files: those that it may name; nil: any.
    ///   - directory: where paths among these begin that are not absolute; nil: where `files` does.
    /// - Throws: ``Refusal``, or ``StoreError`` as a save.
    package nonisolated(nonsending) func run(
        on id: Record.ID, _ database: Database, in container: Container, files: HostFiles? = nil,
        from directory: String? = nil
    ) async throws -> Record {
        var record = try await present(id, database)
        let schema = try await container.schemaDocument()
        let declared = schema.types.first { $0.name.text == record.recordType }?.fields ?? []
        try await set(in: &record, declared, files, from: directory)
        for field in unset {
            guard !values.contains(where: { $0.field == field }) else {
                throw Refusal(
                    fault: .contradiction, reason: "\(field) is given a value and unset")
            }
            guard record[field] != nil else {
                throw Refusal(
                    fault: .noField,
                    reason: "the record \(id.recordName) has no field \(field)")
            }
            record[field] = nil
        }
        if let parent {
            record.parent = Reference(
                recordID: Record.ID(recordName: parent, zoneID: record.recordID.zoneID),
                action: .none)
        }
        return try await database.save(record)
    }

    /// The record as it is, or a new one.
    private nonisolated(nonsending) func present(
        _ id: Record.ID, _ database: Database
    ) async throws -> Record {
        let record: Record
        do throws(StoreError) {
            record = try await database.record(for: id)
        } catch {
            guard error.code == .unknownItem else { throw error }
            guard let type else {
                throw Refusal(
                    fault: .noRecord, reason: "there is no record \(id.recordName)")
            }
            return Record(recordType: type, recordID: id)
        }
        guard type == nil || type == record.recordType else {
            throw Refusal(
                fault: .otherType,
                reason: "the record \(id.recordName) is of type \(record.recordType)")
        }
        guard !values.isEmpty || !unset.isEmpty || parent != nil else {
            throw Refusal(
                fault: .nothing, reason: "nothing is to be changed: name a FIELD=VALUE")
        }
        return record
    }

    /// Gives the record the values that the texts stand for. A list gets them in their order.
    private nonisolated(nonsending) func set(
        in record: inout Record, _ declared: [SchemaDocument.Field], _ files: HostFiles?,
        from directory: String?
    ) async throws {
        let types = Dictionary(
            declared.map { ($0.name.text, $0.type) }, uniquingKeysWith: { first, _ in first })
        var found: [String: [RecordValue]] = [:]
        var lists = Set(types.filter(\.value.isList).keys)
        for text in values {
            // What is given again of a field that is new is a list.
            let isAgain = types[text.field] == nil && found[text.field] != nil
            if text.isOfList || isAgain { lists.insert(text.field) }
            let kinds =
                text.kind.map { [$0] } ?? types[text.field]?.element.typedKinds ?? [.string]
            let zone = record.recordID.zoneID
            let typed = kinds.lazy.compactMap { RecordValue(typed: text.value, $0, in: zone) }
            guard var value = typed.first else {
                throw Refusal(
                    fault: .badValue,
                    reason: "\(text.field): expected \(kinds[0].form), found '\(text.value)'")
            }
            if case .asset = value, let files {
                let isWhole = text.value.hasPrefix("/")
                let start = isWhole ? "" : directory.map { $0 + "/" } ?? ""
                value = .asset(try await files.asset(at: start + text.value))
            }
            found[text.field, default: []].append(value)
        }
        for (field, values) in found {
            let isList = lists.contains(field)
            guard isList || values.count == 1 else {
                throw Refusal(
                    fault: .repeatedField, reason: "\(field) is no list, and is given again")
            }
            let value = isList ? RecordValue.list(values) : values[0]
            if types[field]?.isEncrypted == true {
                record.encryptedValues[field] = value
            } else {
                record[field] = value
            }
        }
    }
}

extension RecordEdit.Refusal {
    /// For answers.
    package var json: JSONObject {
        ["kind": .string(fault.rawValue), "reason": .string(reason)]
    }

    private struct Body: JSONBody {
        enum Key: String { case kind, reason }

        let refusal: RecordEdit.Refusal

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            refusal = RecordEdit.Refusal(
                fault: try keys.required(.kind), reason: try keys.required(.reason))
        }
    }

    /// What an answer to `store/put` says in place of a record; nil where it has one.
    package init?(answer: JSONObject) {
        guard let fault = answer["fault"], let body = try? Body(fault) else { return nil }
        self = body.refusal
    }
}

extension SchemaDocument.Element {
    /// What a text may be, the first that it can be.
    fileprivate var typedKinds: [TypedValueKind] {
        switch self {
        case .asset: [.asset]
        case .bytes: [.bytes]
        case .double, .numberAsDouble: [.double]
        case .int64, .numberAsInt64: [.int64]
        case .location: [.location]
        case .number: [.int64, .double]
        case .reference: [.reference]
        case .string: [.string]
        case .timestamp: [.timestamp]
        }
    }
}

extension TypedValueKind {
    /// What a text of it looks like.
    fileprivate var form: String {
        switch self {
        case .string: "text"
        case .int64: "a whole number of 64 bits"
        case .double: "a number"
        case .timestamp: "a time such as 2026-11-23T14:30:00Z"
        case .bytes: "base64"
        case .location: "LATITUDE,LONGITUDE"
        case .reference: "the name of a record"
        case .asset: "the path of a file"
        }
    }
}
