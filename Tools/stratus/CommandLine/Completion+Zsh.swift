extension Completion {
    static func zsh(_ table: CommandTable) -> String {
        let tool = table.tool
        let commands = table.commands.map { command in
            "        " + zshQuoted("\(command.name):\(command.summary)")
        }
        let branches = table.commands.map { command in
            let specifications =
                table.options(of: command).flatMap { zshOption($0, table) }
                + command.arguments.map { zshArgument($0, table) }
            return """
                            \(command.name))
                                _arguments -S \\
                                    \(specifications.joined(separator: " \\\n                    "))
                                ;;
                """
        }
        let common = table.commonOptions.flatMap { zshOption($0, table) }
        return """
            #compdef \(tool)
            # Completion of \(tool) for zsh. Use: source <(\(tool) completion zsh)
            _\(tool)() {
                local context state state_descr line
                typeset -A opt_args
                local -a commands=(
            \(commands.joined(separator: "\n"))
                )
                _arguments -C -S \\
                    \(common.joined(separator: " \\\n        ")) \\
                    '1:command:->command' \\
                    '*::argument:->argument'
                case $state in
                    command) _describe command commands ;;
                    argument)
                        case $line[1] in
            \(branches.joined(separator: "\n"))
                        esac
                        ;;
                esac
            }
            if [ "$funcstack[1]" = "_\(tool)" ]; then
                _\(tool) "$@"
            else
                compdef _\(tool) \(tool)
            fi

            """
    }

    private static func zshOption(_ option: Command.Option, _ table: CommandTable) -> [String] {
        let summary = "[" + zshEscaped(option.summary) + "]"
        let repeated = option.isRepeatable ? "*" : ""
        return option.spellings.map { spelling in
            guard let value = option.value else { return zshQuoted(repeated + spelling + summary) }
            let equals = spelling.hasPrefix("--") ? "=" : ""
            let action = zshAction(value.content, table)
            return zshQuoted(
                "\(repeated)\(spelling)\(equals)\(summary):\(zshEscaped(value.name)):\(action)")
        }
    }

    private static func zshArgument(
        _ argument: Command.Argument, _ table: CommandTable
    ) -> String {
        let start = argument.isVariadic ? "*:" : argument.isOptional ? "::" : ":"
        return zshQuoted(
            start + zshEscaped(argument.name) + ":" + zshAction(argument.content, table))
    }

    private static func zshAction(_ content: Command.Content, _ table: CommandTable) -> String {
        if let words = choices(content, table) { return "(\(words.joined(separator: " ")))" }
        return content == .path ? "_files" : " "
    }

    /// Inside a specification brackets and colons mean something.
    private static func zshEscaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            if "[]:\\".contains(character) { escaped += "\\" }
            escaped.append(character)
        }
        return escaped
    }

    private static func zshQuoted(_ text: String) -> String {
        let parts = text.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + parts.joined(separator: "'\\''") + "'"
    }
}
