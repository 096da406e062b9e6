import Stratus
import StratusGateway

/// Commands that change single records, for hands.
enum Edit {
    static func put(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let texts = try invocation.allArguments("FIELD=VALUE").map { text throws(ToolError) in
            try FieldText(text, "FIELD=VALUE")
        }
        let container = try await invocation.openForWriting()
        return try await container.closing {
            let database = invocation.database(of: container)
            var record = try await record(of: invocation, database, in: container)
            try set(texts, in: &record, container)
            for field in invocation.allValues("unset") { record[field] = nil }
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

    /// What a record must not hold the command line said.
    private static func save(_ record: Record, _ database: Database) async throws -> Record {
        do throws(StoreError) {
            return try await database.save(record)
        } catch {
            var refusal = ToolError(describing: error)
            if refusal.id == "store.refused" {
                (refusal.code, refusal.id) = (.usage, "usage.refused")
            }
            throw refusal
        }
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

    private static let listSuffix = "_LIST"

    /// Gives a record the values that texts stand for. A list gets them in their order.
    private static func set(
        _ texts: [FieldText], in record: inout Record, _ container: Container
    ) throws(ToolError) {
        var lists: [String: [RecordValue]] = [:]
        var fields: Set<String> = []
        for text in texts {
            let declared = container.fieldType(text.field, of: record.recordType) ?? "STRING"
            let isList = declared.hasSuffix(Self.listSuffix)
            let element = isList ? String(declared.dropLast(Self.listSuffix.count)) : declared
            let kind = text.kind ?? TypedValueKind(rawValue: element.lowercased()) ?? .string
            guard let value = RecordValue(typed: text.value, kind, in: record.recordID.zoneID)
            else {
                throw .usage(
                    "bad-value", "\(text.field) takes \(kind.form), not '\(text.value)'")
            }
            if isList {
                lists[text.field, default: []].append(value)
            } else if fields.insert(text.field).inserted {
                record[text.field] = value
            } else {
                throw .usage("repeated-field", "\(text.field) is no list, and is given again")
            }
        }
        for (field, values) in lists { record[field] = .list(values) }
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
            for id in ids {
                guard let result = there[id] else { continue }
                _ = try result.get()
            }
            let result = try await database.modifyRecords(saving: [], deleting: ids)
            if let failure = result.partialFailure { throw failure }
            for id in ids {
                try output.result(
                    "recordDeleted", ["recordName": .string(id.recordName)],
                    text: "- \(Output.escaped(id.recordName))")
            }
            return .ok
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
