extension Completion {
    static func fish(_ table: CommandTable) -> String {
        let tool = table.tool
        var lines = [
            "# Completion of \(tool) for fish. Use: \(tool) completion fish | source",
            "complete -c \(tool) -f",
        ]
        for command in table.commands {
            lines.append(
                "complete -c \(tool) -n __fish_use_subcommand -a \(command.name)"
                    + " -d \(fishQuoted(command.summary))")
        }
        for option in table.commonOptions {
            lines.append("complete -c \(tool)" + fishOption(option, table))
        }
        for command in table.commands {
            let start = "complete -c \(tool) -n '__fish_seen_subcommand_from \(command.name)'"
            lines += command.options.map { start + fishOption($0, table) }
            for argument in command.arguments {
                if let words = choices(argument.content, table) {
                    lines.append(start + " -a " + fishQuoted(words.joined(separator: " ")))
                }
            }
            if command.arguments.contains(where: { $0.content == .path }) {
                lines.append(start + " -F")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func fishOption(_ option: Command.Option, _ table: CommandTable) -> String {
        var text = option.letter.map { " -s \($0)" } ?? ""
        text += " -l \(option.name)"
        if let value = option.value {
            text += value.content == .path ? " -r -F" : " -x"
            if let words = choices(value.content, table) {
                text += " -a " + fishQuoted(words.joined(separator: " "))
            }
        }
        return text + " -d " + fishQuoted(option.summary)
    }

    private static func fishQuoted(_ text: String) -> String {
        var quoted = ""
        for character in text {
            if "'\\".contains(character) { quoted += "\\" }
            quoted.append(character)
        }
        return "'" + quoted + "'"
    }
}
