package import StratusGateway

extension Help {
    /// The tool as a whole: what every command shares.
    package static func object(of table: CommandTable) -> JSONObject {
        let codes = ExitCode.published.map { code in
            JSONValue.object([
                "code": .integer(Int(code.number)), "meaning": .string(code.meaning),
            ])
        }
        return [
            "name": .string(table.tool), "summary": .string(table.summary),
            "commonOptions": .array(table.commonOptions.map(\.json)), "exitCodes": .array(codes),
        ]
    }

    package static func object(of command: Command, _ table: CommandTable) -> JSONObject {
        let examples = command.examples.map { example in
            JSONValue.object(["line": .string(example.line), "purpose": .string(example.purpose)])
        }
        return [
            "name": .string(command.name), "summary": .string(command.summary),
            "usage": .string(usage(of: command, table)), "details": .string(command.details),
            "arguments": .array(command.arguments.map(\.json)),
            "options": .array(command.options.map(\.json)), "examples": .array(examples),
        ]
    }
}

extension Command.Argument {
    fileprivate var json: JSONValue {
        var object: JSONObject = [
            "name": .string(name), "summary": .string(summary),
            "isOptional": .boolean(isOptional), "isVariadic": .boolean(isVariadic),
        ]
        content.describe(in: &object)
        return .object(object)
    }
}

extension Command.Option {
    fileprivate var json: JSONValue {
        var object: JSONObject = ["name": .string(name)]
        object.append("letter", letter.map { .string(String($0)) })
        object.append("summary", .string(summary))
        object.append("isRequired", .boolean(isRequired))
        object.append("isRepeatable", .boolean(isRepeatable))
        if let value {
            object.append("value", .string(value.name))
            value.content.describe(in: &object)
        }
        return .object(object)
    }
}

extension Command.Content {
    fileprivate func describe(in object: inout JSONObject) {
        switch self {
        case .text: object.append("content", "text")
        case .path: object.append("content", "path")
        case .number: object.append("content", "number")
        case .command: object.append("content", "command")
        case .oneOf(let allowed):
            object.append("content", "choice")
            object.append("allowed", .strings(allowed))
        }
    }
}
