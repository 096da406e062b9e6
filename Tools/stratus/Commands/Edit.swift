import FoundationEssentials
import Stratus
import StratusGateway

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
        let edit = RecordEdit(
            type: invocation.value("type"),
            values: try invocation.allArguments("FIELD=VALUE").map { text throws(ToolError) in
                try FieldText(argument: text)
            }, unset: invocation.allValues("unset"), parent: invocation.value("parent"))
        let saved: JSONObject = try await invocation.changing { container in
            let (id, database) = (
                try invocation.recordID(in: container), invocation.database(of: container)
            )
            return try await refusing {
                try await edit.run(on: id, database, in: container).json
            }
        } through: { service in
            var body: JSONObject = [
                "recordName": .string(invocation.argument("RECORD")),
                "zoneID": try invocation.zoneObject(in: service.store),
                "values": .strings(invocation.allArguments("FIELD=VALUE")),
                "unset": .strings(edit.unset),
                "directory": .string(FileManager.default.currentDirectoryPath),
            ]
            body.append("recordType", textOf: edit.type)
            body.append("parent", textOf: edit.parent)
            return try await refusing {
                let answer = try await service.call("store/put", body, invocation)
                if let refusal = RecordEdit.Refusal(answer: answer) { throw refusal }
                return answer.object("record") ?? JSONObject()
            }
        }
        let columns = ["recordName", "recordType", "recordChangeTag"].map {
            Output.escaped(saved.text($0) ?? "")
        }
        try output.result("record", saved, text: columns.joined(separator: "  "))
        return .ok
    }

    /// What `body` makes; what is refused of it is wrong on the command line.
    private static func refusing<Result>(
        _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let refusal as RecordEdit.Refusal {
            throw ToolError(refusal)
        } catch let error as StoreError {
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
        let names = invocation.allArguments("RECORD")
        let (deleted, failure): ([String], StoreError?) = try await invocation.changing {
            container in
            let zone = try invocation.zoneID(in: container)
            let ids = names.map { Record.ID(recordName: $0, zoneID: zone) }
            return try await refusing {
                let result = try await invocation.database(of: container).deleteByHand(ids)
                return (result.deletedNames(of: ids), result.partialFailure)
            }
        } through: { service in
            let body: JSONObject = [
                "records": .strings(names),
                "zoneID": try invocation.zoneObject(in: service.store),
            ]
            return try await refusing {
                let answer = try await service.call("store/delete", body, invocation)
                let failures = answer.objects("failures")
                let first = failures.first { !StoreError.isOfBatch($0) } ?? failures.first
                return (answer.texts("deleted"), first.map { StoreError(refusal: $0) })
            }
        }
        for name in deleted {
            try output.result(
                "recordDeleted", ["recordName": .string(name)],
                text: "- \(Output.escaped(name))")
        }
        if let failure { throw refusal(failure) }
        return .ok
    }
}

extension FieldText {
    /// As the command line gives it.
    init(argument text: String) throws(ToolError) {
        do throws(StoreError) {
            try self.init(text)
        } catch {
            throw .usage("bad-value", error.reason)
        }
    }
}

extension ToolError {
    fileprivate init(_ refusal: RecordEdit.Refusal) {
        let reason = refusal.reason
        switch refusal.fault {
        case .noRecord:
            self.init(
                .notFound, id: "record.none", reason, hint: "with --type TYPE it is made")
        case .noField: self.init(.notFound, id: "field.none", reason)
        case .otherType: self = .usage("type", reason)
        case .nothing: self = .usage("nothing", reason)
        case .badValue: self = .usage("bad-value", reason)
        case .repeatedField: self = .usage("repeated-field", reason)
        case .contradiction: self = .usage("contradiction", reason)
        }
    }
}
