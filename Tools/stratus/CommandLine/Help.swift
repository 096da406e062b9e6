/// The help pages, made from the table.
package enum Help {
    package struct Line: Equatable, Sendable {
        package var text: String
        package var isHeading = false
    }

    /// `stratus zones STORE [options]`.
    package static func usage(of command: Command, _ table: CommandTable) -> String {
        var words = [table.tool, command.name] + command.arguments.map(\.shownName)
        for option in command.options where option.isRequired {
            words += ["--" + option.name] + [option.value?.name].compactMap(\.self)
        }
        return words.joined(separator: " ") + " [options]"
    }

    /// The page of one command: examples first, common things last.
    package static func page(
        of command: Command, _ table: CommandTable, columns: Int
    ) -> [Line] {
        var page = Page(columns: columns)
        page.heading("\(table.tool) \(command.name)")
        page.paragraph(command.summary + ".", indent: 2)
        page.heading("Usage")
        page.paragraph(usage(of: command, table), indent: 2)
        page.heading("Examples")
        for example in command.examples {
            page.add("  " + example.line)
            page.paragraph(example.purpose, indent: 6)
        }
        page.heading("Description")
        page.paragraphs(command.details, indent: 2)
        for list in command.lists(table) { page.list(list.title, list.items) }
        return page.lines
    }

    /// The page of the tool.
    package static func overview(_ table: CommandTable, columns: Int) -> [Line] {
        var page = Page(columns: columns)
        page.heading(table.tool)
        page.paragraph(table.summary + ".", indent: 2)
        page.heading("Usage")
        page.add("  \(table.tool) COMMAND [arguments] [options]")
        page.heading("Examples")
        for example in table.firstExamples {
            page.add("  " + example.line)
            page.paragraph(example.purpose, indent: 6)
        }
        page.list("Commands", table.commands.map { ($0.name, $0.summary) })
        page.list("Common options", table.commonOptions.map { ($0.shownName, $0.description) })
        page.list("Exit codes", ExitCode.descriptions)
        page.add("")
        page.paragraph("'\(table.tool) help COMMAND' shows what a command takes.", indent: 0)
        return page.lines
    }
}

extension Command {
    /// What it takes, as names and what they mean, by headings.
    func lists(
        _ table: CommandTable
    ) -> [(title: String, items: [(name: String, summary: String)])] {
        [
            ("Arguments", arguments.map { ($0.shownName, $0.summary) }),
            ("Options", options.map { ($0.shownName, $0.description) }),
            ("Common options", table.commonOptions.map { ($0.shownName, $0.description) }),
        ]
    }
}

extension CommandTable {
    /// For the page of the tool.
    var firstExamples: [Command.Example] { commands.prefix(3).compactMap(\.examples.first) }
}

extension Command.Argument {
    package var shownName: String {
        let text = isVariadic ? name + "..." : name
        return isOptional ? "[\(text)]" : text
    }
}

extension Command.Option {
    package var shownName: String {
        let letter = letter.map { "-\($0), " } ?? ""
        return "\(letter)--\(name)" + (value.map { " " + $0.name } ?? "")
    }

    var description: String {
        var text = summary
        if case .oneOf(let allowed) = value?.content {
            text += "; one of " + allowed.joined(separator: ", ")
        }
        if isRequired { text += "; required" }
        if isRepeatable { text += "; may be repeated" }
        return text
    }
}

/// Lines that fit the width of a terminal.
private struct Page {
    private static let widestName = 24

    let width: Int
    private(set) var lines: [Help.Line] = []

    /// Between what is too narrow for the lists and what is too wide to read.
    init(columns: Int) {
        width = min(max(columns, 40), 100)
    }

    mutating func add(_ text: String) {
        lines.append(Help.Line(text: text))
    }

    mutating func heading(_ text: String) {
        if !lines.isEmpty { add("") }
        lines.append(Help.Line(text: text, isHeading: true))
    }

    mutating func paragraphs(_ text: String, indent: Int) {
        let parts = text.split(separator: "\n\n")
        for (place, part) in parts.enumerated() {
            if place > 0 { add("") }
            paragraph(String(part), indent: indent)
        }
    }

    mutating func paragraph(_ text: String, indent: Int) {
        let margin = String(repeating: " ", count: indent)
        for line in Self.wrapped(text, to: width - indent) { add(margin + line) }
    }

    mutating func list(_ title: String, _ items: [(name: String, summary: String)]) {
        if items.isEmpty { return }
        heading(title)
        let column = min(items.map(\.name.count).max() ?? 0, Self.widestName)
        let margin = String(repeating: " ", count: column + 4)
        for item in items {
            var start = "  " + item.name
            if item.name.count > column {
                add(start)
                start = ""
            }
            start += String(repeating: " ", count: margin.count - start.count)
            for line in Self.wrapped(item.summary, to: width - margin.count) {
                add(start + line)
                start = margin
            }
        }
    }

    private static func wrapped(_ text: String, to width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(whereSeparator: \.isWhitespace) {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return line.isEmpty ? lines : lines + [line]
    }
}
