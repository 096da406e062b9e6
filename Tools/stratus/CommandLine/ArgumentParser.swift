/// Turns the words of a command line into an ``Invocation``, or says what is wrong with them.
///
/// Options and arguments may come in any order, before the command too. A name is never guessed:
/// an unknown one is refused with the nearest known one as a hint, and nothing is run.
package struct ArgumentParser {
    private let table: CommandTable

    package static func parse(
        _ words: [String], _ table: CommandTable
    ) throws(ToolError) -> Invocation {
        try ArgumentParser(table: table).parse(words)
    }

    /// Whether the words ask for JSON, known even where they are wrong otherwise, so that the
    /// error can be written as asked.
    package static func wantsJSON(_ words: [String]) -> Bool {
        words.prefix { $0 != "--" }.contains("--json")
    }

    private func parse(_ words: [String]) throws(ToolError) -> Invocation {
        let place = placeOfCommand(in: words)
        let name = place.map { words[$0] }
        if let command = commandOfSwitch(in: words) {
            return informing(command, about: name, words)
        }
        // Nothing but options asks for nothing: the help says what can be asked for.
        let command = try command(named: name ?? "help")
        var reading = Reading(command: command, options: table.options(of: command))
        var rest = words
        if let place { rest.remove(at: place) }
        try reading.read(rest, tool: table.tool)
        return try reading.invocation(of: table)
    }

    private func command(named name: String) throws(ToolError) -> Command {
        if let command = table.command(named: name) { return command }
        let names = table.commands.map(\.name)
        let hint =
            Suggestion.nearest(to: name, among: names).map { "did you mean '\($0)'?" }
            ?? "'\(table.tool) help' lists the commands"
        throw .usage("unknown-command", "unknown command '\(name)'", hint: hint)
    }
}

/// The help and the version are given wherever they are asked for, whatever else is wrong.
extension ArgumentParser {
    private func commandOfSwitch(in words: [String]) -> Command? {
        let words = words.prefix { $0 != "--" }
        if words.contains("--help") || words.contains("-h") {
            return table.command(named: "help")
        }
        return words.contains("--version") ? table.command(named: "version") : nil
    }

    private func informing(
        _ command: Command, about name: String?, _ words: [String]
    ) -> Invocation {
        var options: [String: [String]] = [:]
        for option in table.commonOptions where option.value == nil {
            if words.contains("--" + option.name) { options[option.name] = [] }
        }
        guard let topic = command.arguments.first, let name, table.command(named: name) != nil
        else { return Invocation(command, options: options) }
        return Invocation(command, arguments: [topic.name: [name]], options: options)
    }
}

extension ArgumentParser {
    /// The first word that is neither an option nor an option's value, as far as that can be told
    /// before the command is known. An option is the same wherever it is declared, so it can.
    private func placeOfCommand(in words: [String]) -> Int? {
        var place = 0
        while place < words.count {
            let word = words[place]
            if word == "--" { return place + 1 < words.count ? place + 1 : nil }
            guard word.isOption else { return place }
            place += takesNextWord(word) && words[(place + 1)...].first?.isOption == false ? 2 : 1
        }
        return nil
    }

    private func takesNextWord(_ word: String) -> Bool {
        let options = table.commonOptions + table.commands.flatMap(\.options)
        return options.contains { $0.isSpelled(word) && $0.value != nil }
    }
}

extension String {
    /// A lone dash means a standard stream and is a value.
    fileprivate var isOption: Bool { hasPrefix("-") && self != "-" }
}

extension Command.Option {
    fileprivate func isSpelled(_ word: String) -> Bool {
        word == "--" + name || letter.map { word == "-" + String($0) } == true
    }
}

/// One pass over the words of a known command.
private struct Reading {
    let command: Command
    let options: [Command.Option]
    var positions: [String] = []
    var values: [String: [String]] = [:]

    init(command: Command, options: [Command.Option]) {
        self.command = command
        self.options = options
    }

    mutating func read(_ words: [String], tool: String) throws(ToolError) {
        var place = 0
        while place < words.count {
            let word = words[place]
            place += 1
            if word == "--" {
                positions += words[place...]
                return
            }
            guard word.isOption else {
                positions.append(word)
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let spelling = String(parts[0])
            let option = try option(spelled: spelling, tool: tool)
            var attached = parts.count > 1 ? String(parts[1]) : nil
            if option.value != nil, attached == nil, place < words.count, !words[place].isOption {
                attached = words[place]
                place += 1
            }
            try add(attached, to: option, spelling)
        }
    }

    private func option(
        spelled spelling: String, tool: String
    ) throws(ToolError) -> Command.Option {
        if let option = options.first(where: { $0.isSpelled(spelling) }) { return option }
        let word = String(spelling.drop { $0 == "-" })
        let hint =
            Suggestion.nearest(to: word, among: options.map(\.name)).map {
                "did you mean '--\($0)'?"
            } ?? "'\(tool) help \(command.name)' lists the options"
        throw .usage("unknown-option", "\(command.name): unknown option '\(spelling)'", hint: hint)
    }

    private mutating func add(
        _ value: String?, to option: Command.Option, _ spelling: String
    ) throws(ToolError) {
        if values[option.name] != nil, !option.isRepeatable {
            throw .usage("repeated-option", "\(spelling) is given more than once")
        }
        guard let declared = option.value else {
            guard value == nil else {
                throw .usage("unexpected-value", "\(spelling) takes no value")
            }
            values[option.name] = []
            return
        }
        guard let value else {
            throw .usage(
                "missing-value", "\(spelling) needs a value: \(declared.name)",
                hint: "a value that begins with a dash goes after '=': \(spelling)=-x")
        }
        try declared.content.check(value, for: spelling)
        values[option.name, default: []].append(value)
    }
}

extension Reading {
    func invocation(of table: CommandTable) throws(ToolError) -> Invocation {
        let usage = "usage: " + Help.usage(of: command, table)
        var arguments: [String: [String]] = [:]
        var rest = positions[...]
        for argument in command.arguments {
            let taken = argument.isVariadic ? rest : rest.prefix(1)
            rest = rest.dropFirst(taken.count)
            if taken.isEmpty {
                guard argument.isOptional else {
                    throw .usage(
                        "missing-argument", "\(command.name) needs \(argument.name)", hint: usage)
                }
                continue
            }
            for value in taken {
                if argument.content == .command, table.command(named: value) == nil {
                    // For the error that names the nearest.
                    _ = try ArgumentParser.parse([value], table)
                }
                try argument.content.check(value, for: argument.name)
            }
            arguments[argument.name] = Array(taken)
        }
        if let extra = rest.first {
            throw .usage(
                "extra-argument", "\(command.name): unexpected argument '\(extra)'", hint: usage)
        }
        for option in options where option.isRequired && values[option.name] == nil {
            throw .usage(
                "missing-option", "\(command.name) needs --\(option.name)", hint: usage)
        }
        return Invocation(command, arguments: arguments, options: values)
    }
}

extension Command.Content {
    /// Throws where `value` is not what `name` takes.
    fileprivate func check(_ value: String, for name: String) throws(ToolError) {
        // Mostly a variable of the shell that was not set.
        guard !value.isEmpty else {
            throw .usage("empty-value", "\(name) is empty")
        }
        switch self {
        case .text, .path, .command: return
        case .number:
            guard value.utf8.allSatisfy({ 48...57 ~= $0 }), UInt64(value) != nil else {
                throw .usage("bad-value", "\(name) takes a whole number, not '\(value)'")
            }
        case .oneOf(let allowed):
            guard !allowed.contains(value) else { return }
            let hint = Suggestion.nearest(to: value, among: allowed).map { "did you mean '\($0)'?" }
            throw .usage(
                "bad-value", "\(name) takes \(allowed.joined(separator: ", ")), not '\(value)'",
                hint: hint)
        }
    }
}
