import Stratus
import StratusFiles
import StratusGateway
import StratusLanguage

/// `stratus schema`: the text of schemas, as CloudKit's tools read and write it.
enum SchemaText {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let path = invocation.argument("FILE")
        let other = invocation.optionalArgument("NEW")
        let what = invocation.argument("WHAT")
        guard (other != nil) == ["diff", "import", "deploy"].contains(what) else {
            throw ToolError.usage(
                "schema",
                "diff takes two files, import and deploy a store and a file, the others one thing")
        }
        if what == "rename" { return try await rename(path, invocation, output) }
        if what == "show" {
            let container = try await invocation.openStore(at: path)
            try output.verbatim(try await container.schema())
            return .ok
        }
        if what == "reset" { return try await reset(path, invocation, output) }
        if let other, what != "diff" {
            return try await change(
                path, other, isDeployed: what == "deploy", invocation, output)
        }
        let schema = try document(path)
        if let other { return try compare(schema, document(other), invocation, output) }
        if what == "format" {
            try output.verbatim(schema.sorted().text)
            return .ok
        }
        return try validate(schema, path, output)
    }

    private static func change(
        _ store: String, _ path: String, isDeployed: Bool, _ invocation: Invocation,
        _ output: Output
    ) async throws -> ExitCode {
        let text = String(decoding: try text(path), as: UTF8.self)
        let container = try await invocation.openForWriting(store)
        let changes = try await container.closing {
            isDeployed
                ? try await container.deploySchema(text) : try await container.importSchema(text)
        }
        try output.header(schema: "stratus.schema/1")
        for change in changes {
            try output.result("change", ["change": .string(change)], text: change)
        }
        try output.summary(
            ["changes": .integer(changes.count)],
            text: "\(Quantities.count(changes.count, "change")) made")
        return .ok
    }

    private static func rename(
        _ store: String, _ invocation: Invocation, _ output: Output
    ) async throws -> ExitCode {
        let field = invocation.value("field") ?? ""
        let parts = field.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard let name = invocation.value("to"), parts.count == 2 else {
            throw ToolError.usage(
                "schema", "rename takes --field TYPE.FIELD, not '\(field)', and --to NAME")
        }
        let container = try await invocation.openForWriting(store)
        let count = try await container.closing {
            let type = try await container.recordTypes().first { $0.name == parts[0] }
            // Under the new name, where the command is given once more.
            guard type?.fields.contains(where: { [parts[1], name].contains($0.name) }) == true
            else {
                throw ToolError(.notFound, id: "field.none", "there is no such field: \(field)")
            }
            return try await container.migrate(
                parts[0], [.rename(parts[1], to: name)], asHost: invocation.user)
        }
        try output.header(schema: "stratus.schema/1")
        try output.summary(
            ["records": .integer(count)], text: "\(Quantities.count(count, "record")) changed")
        return .ok
    }

    private static func reset(
        _ store: String, _ invocation: Invocation, _ output: Output
    ) async throws -> ExitCode {
        guard invocation.has("yes") else {
            throw ToolError.usage(
                "schema", "reset deletes all records of all users: say --yes if they are to go")
        }
        let container = try await invocation.openForWriting(store)
        try await container.closing { try await container.resetSchema() }
        try output.header(schema: "stratus.schema/1")
        try output.summary([:], text: "all zones and the schema are gone")
        return .ok
    }

    private static func validate(
        _ schema: SchemaDocument, _ path: String, _ output: Output
    ) throws -> ExitCode {
        let findings = schema.validate()
        try output.header(schema: "stratus.schema/1")
        for finding in findings {
            var object: JSONObject = [
                "severity": .string(finding.severity.rawValue), "message": .string(finding.message),
            ]
            object.append("line", (finding.place?.line).map { JSONValue.integer($0) })
            object.append("column", (finding.place?.column).map { JSONValue.integer($0) })
            try output.result(
                "finding", object, text: "\(Output.escaped(path)): \(finding)")
        }
        let errors = findings.count { $0.severity == .error }
        try output.summary(
            [
                "types": .integer(schema.types.count), "errors": .integer(errors),
                "warnings": .integer(findings.count - errors),
            ],
            text: "\(Quantities.count(schema.types.count, "record type")), "
                + "\(Quantities.count(errors, "error")), "
                + Quantities.count(findings.count - errors, "warning"))
        return errors == 0 ? .ok : .differences
    }

    private static func compare(
        _ old: SchemaDocument, _ new: SchemaDocument, _ invocation: Invocation, _ output: Output
    ) throws -> ExitCode {
        let environment: SchemaDocument.Environment =
            invocation.has("production") ? .production : .development
        let changes = SchemaDocument.differences(from: old, to: new, in: environment)
        try output.header(schema: "stratus.schema/1")
        for change in changes {
            let effect =
                switch change.effect {
                case .safe: "safe"
                case .losesData: "losesData"
                case .refused: "refused"
                }
            try output.result(
                "change", ["effect": .string(effect), "change": .string("\(change)")],
                text: "\(change)")
        }
        try output.summary(
            ["changes": .integer(changes.count)], text: Quantities.count(changes.count, "change"))
        return changes.isEmpty ? .ok : .differences
    }

    /// The schema in a file.
    private static func document(_ path: String) throws(ToolError) -> SchemaDocument {
        let text = try text(path)
        do throws(SchemaSyntaxError) {
            return try SchemaDocument(parsing: text)
        } catch {
            throw ToolError(.usage, id: "schema.text", "\(path): \(error)")
        }
    }

    private static func text(_ path: String) throws(ToolError) -> [UInt8] {
        do throws(SystemError) {
            // A byte more than a schema may have shows that it is too long.
            return try SourceFile(FilePlace(path), on: LinuxFileSystem())
                .bytes(limit: SchemaDocument.textLimit + 1)
        } catch {
            throw ToolError(error, "cannot read the schema", path)
        }
    }
}
