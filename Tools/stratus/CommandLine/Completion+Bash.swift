extension Completion {
    /// Where nothing is offered, readline completes file names, so that paths need no words here.
    static func bash(_ table: CommandTable) -> String {
        let tool = table.tool
        let names = table.commands.map(\.name)
        let common = table.commonOptions.flatMap(\.spellings).joined(separator: " ")
        return """
            # Completion of \(tool) for bash. Use: source <(\(tool) completion bash)
            _\(tool)() {
                local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
                local command= place
                # bash takes --option=value for three words.
                if [[ $word == "=" ]]; then
                    word=
                elif [[ $previous == "=" ]]; then
                    previous=${COMP_WORDS[COMP_CWORD-2]}
                fi
                COMPREPLY=()
                for ((place = 1; place < COMP_CWORD; place++)); do
                    case ${COMP_WORDS[place]} in
                        \(names.joined(separator: "|")))
                            command=${COMP_WORDS[place]}
                            break
                            ;;
                    esac
                done
                case $previous in
            \(bashValues(table))
                esac
                local words=
                case $command in
                    "") words="\((names + [common]).joined(separator: " "))" ;;
            \(bashCommands(table, common: common))
                esac
                [[ $word == -* || -z $command || $words != -* ]] &&
                    COMPREPLY=($(compgen -W "$words" -- "$word"))
                return 0
            }
            complete -o default -F _\(tool) \(tool)

            """
    }

    /// A branch for every option that takes a value. Options of one name are alike everywhere.
    private static func bashValues(_ table: CommandTable) -> String {
        var seen: Set<String> = []
        var lines: [String] = []
        for option in table.commonOptions + table.commands.flatMap(\.options) {
            guard let value = option.value, seen.insert(option.name).inserted else { continue }
            let offered = choices(value.content, table).map { words in
                "COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$word\")) ; "
            }
            let spellings = option.spellings.joined(separator: "|")
            lines.append("        \(spellings)) \(offered ?? "")return 0 ;;")
        }
        return lines.joined(separator: "\n")
    }

    /// The words of a command begin with an option's dash unless its arguments are words too.
    private static func bashCommands(_ table: CommandTable, common: String) -> String {
        table.commands.map { command in
            let words = command.arguments.compactMap { choices($0.content, table) }.flatMap(\.self)
            let options = command.options.flatMap(\.spellings)
            let all = (words + options + [common]).joined(separator: " ")
            return "        \(command.name)) words=\"\(all)\" ;;"
        }.joined(separator: "\n")
    }
}
