internal import StratusGateway

/// The commands that need no store.
extension Tool {
    /// Of the tool; a store's format has a version of its own.
    package static let version = "0.1.0"

    package static func informing(about table: CommandTable) -> [String: Handler] {
        [
            "help": { invocation, output in try help(table, invocation, output) },
            "completion": { invocation, output in
                guard let shell = Completion.Shell(rawValue: invocation.argument("SHELL")) else {
                    preconditionFailure("a shell that is declared and not written for")
                }
                let script = Completion.script(for: shell, table)
                if output.isJSON {
                    try output.object(
                        "completion",
                        ["shell": .string(shell.rawValue), "script": .string(script)])
                } else {
                    try output.verbatim(script)
                }
                return .ok
            },
            "version": { _, output in
                try output.result(
                    "version", ["tool": .string(table.tool), "version": .string(version)],
                    text: "\(table.tool) \(version)")
                return .ok
            },
        ]
    }

    private static func help(
        _ table: CommandTable, _ invocation: Invocation, _ output: Output
    ) throws -> ExitCode {
        try invocation.refuse("man", with: ["json"])
        let topic = invocation.optionalArgument("COMMAND").flatMap(table.command(named:))
        if output.isJSON {
            if topic == nil { try output.object("tool", Help.object(of: table)) }
            for command in topic.map({ [$0] }) ?? table.commands {
                try output.object("command", Help.object(of: command, table))
            }
            return .ok
        }
        if invocation.has("man") {
            try output.verbatim(
                topic.map { ManPage.page(of: $0, table) } ?? ManPage.overview(table))
            return .ok
        }
        let columns = output.settings.columns
        let page =
            topic.map { Help.page(of: $0, table, columns: columns) }
            ?? Help.overview(table, columns: columns)
        for line in page { try output.line(line.text, line.isHeading ? .bold : .plain) }
        return .ok
    }
}
