import Stratus
import StratusGateway
import StratusLanguage

/// Commands that read and change single records by hand.
enum Edit {
    static func get(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let (id, field) = (try invocation.recordID(in: container), invocation.argument("FIELD"))
        let record = try await invocation.readDatabase(of: container).record(
            for: id, desiredKeys: [field])
        guard let value = record[field] else {
            throw ToolError(
                .notFound, id: "field.none",
                "the record \(id.recordName) has no value in the field \(field)")
        }
        if output.isJSON {
            try output.object("field", ["fieldName": .string(field), "field": value.json])
            return .ok
        }
        guard let texts = value.typedTexts else {
            throw ToolError.usage(
                "asset", "the field \(field) has an asset",
                hint: "'stratus asset' writes it to a file")
        }
        // A text goes to another program as it is, and to a terminal so that it does no harm there.
        for text in texts {
            if output.settings.resultsAreOnTerminal {
                try output.line(Output.escaped(text))
            } else {
                try output.verbatim(text + "\n")
            }
        }
        return .ok
    }

    static func put(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let texts = try invocation.allArguments("FIELD=VALUE").map { text throws(ToolError) in
            try FieldText(text)
        }
        let container = try await invocation.openForWriting()
        return try await container.closing {
            let database = invocation.database(of: container)
            var record = try await record(of: invocation, database, in: container)
            let schema = try await container.schemaDocument()
            let declared = schema.types.first { $0.name.text == record.recordType }?.fields ?? []
            try set(texts, in: &record, declared)
            try unset(invocation.allValues("unset"), texts, in: &record)
            if let parent = invocation.value("parent") {
                record.parent = Reference(
                    recordID: Record.ID(recordName: parent, zoneID: record.recordID.zoneID),
                    action: .none)
            }
            let saved = try await save(record, database)
            let name = Output.escaped(saved.recordID.recordName)
            try output.result(
                "record", saved.json,
                text: "\(name)  \(saved.recordType)  \(saved.recordChangeTag ?? "")")
            return .ok
        }
    }

    /// The record as it is, or a new one.
    private static func record(
        of invocation: Invocation, _ database: Database, in container: Container
    ) async throws -> Record {
        let id = try invocation.recordID(in: container)
        let type = invocation.value("type")
        guard let record = try await present(id, database) else {
            guard let type else {
                throw ToolError(
                    .notFound, id: "record.none", "there is no record \(id.recordName)",
                    hint: "with --type TYPE it is made")
            }
            return Record(recordType: type, recordID: id)
        }
        guard type == nil || type == record.recordType else {
            throw ToolError.usage(
                "type", "the record \(id.recordName) is of type \(record.recordType)")
        }
        let isEdited = ["unset", "parent"].contains { invocation.has($0) }
        guard isEdited || !invocation.allArguments("FIELD=VALUE").isEmpty else {
            throw ToolError.usage("nothing", "nothing is to be changed: name a FIELD=VALUE")
        }
        return record
    }

    private static func present(
        _ id: Record.ID, _ database: Database
    ) async throws(StoreError) -> Record? {
        do throws(StoreError) {
            return try await database.record(for: id)
        } catch {
            guard error.code == .unknownItem else { throw error }
            return nil
        }
    }

    /// Gives a record the values that texts stand for. A list gets them in their order.
    private static func set(
        _ texts: [FieldText], in record: inout Record, _ declared: [SchemaDocument.Field]
    ) throws(ToolError) {
        let types = Dictionary(
            declared.map { ($0.name.text, $0.type) }, uniquingKeysWith: { first, _ in first })
        var values: [String: [RecordValue]] = [:]
        for text in texts {
            let type = types[text.field]
            let kinds = text.kind.map { [$0] } ?? type?.element.typedKinds ?? [.string]
            let zone = record.recordID.zoneID
            let value = kinds.lazy.compactMap { RecordValue(typed: text.value, $0, in: zone) }.first
            guard let value else {
                throw .usage(
                    "bad-value", "\(text.field): expected \(kinds[0].form), found '\(text.value)'")
            }
            values[text.field, default: []].append(value)
        }
        for (field, values) in values {
            let type = types[field]
            let isList = type?.isList == true
            guard isList || values.count == 1 else {
                throw .usage("repeated-field", "\(field) is no list, and is given again")
            }
            let value = isList ? .list(values) : values[0]
            if type?.isEncrypted == true {
                record.encryptedValues[field] = value
            } else {
                record[field] = value
            }
        }
    }

    private static func unset(
        _ fields: [String], _ texts: [FieldText], in record: inout Record
    ) throws(ToolError) {
        for field in fields {
            guard !texts.contains(where: { $0.field == field }) else {
                throw .usage("contradiction", "\(field) is given a value and unset")
            }
            guard record[field] != nil else {
                throw ToolError(
                    .notFound, id: "field.none",
                    "the record \(record.recordID.recordName) has no field \(field)")
            }
            record[field] = nil
        }
    }

    private static func save(
        _ record: Record, _ database: Database
    ) async throws(ToolError) -> Record {
        do throws(StoreError) {
            return try await database.save(record)
        } catch {
            throw refusal(error)
        }
    }

    /// What the store refuses of a change is wrong on the command line.
    private static func refusal(_ error: StoreError) -> ToolError {
        var refusal = ToolError(describing: error)
        let refused: [StoreError.Code] = [
            .invalidArguments, .referenceViolation, .limitExceeded,
        ]
        if refused.contains((error.firstCause ?? error).code) {
            (refusal.code, refusal.id) = (.usage, "usage.refused")
        }
        return refusal
    }

    static func delete(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openForWriting()
        return try await container.closing {
            let database = invocation.database(of: container)
            let zone = try invocation.zoneID(in: container)
            let ids = invocation.allArguments("RECORD").map {
                Record.ID(recordName: $0, zoneID: zone)
            }
            // One that is not there is a slip of the hand, and then none is deleted.
            let there = try await database.records(for: ids, desiredKeys: [])
            for id in ids { _ = try there[id]?.get() }
            let result = try await database.modifyRecords(saving: [], deleting: ids)
            for id in ids {
                guard case .success? = result.deleteResults[id] else { continue }
                try output.result(
                    "recordDeleted", ["recordName": .string(id.recordName)],
                    text: "- \(Output.escaped(id.recordName))")
            }
            if let failure = result.partialFailure { throw refusal(failure) }
            return .ok
        }
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
