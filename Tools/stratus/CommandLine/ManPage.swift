/// The help as pages for `man`, in roff with the macros of man(7).
package enum ManPage {
    /// The page of the tool.
    package static func overview(_ table: CommandTable) -> String {
        var page = Roff(table.tool, table.summary)
        page.section("SYNOPSIS")
        page.text("\(table.tool) COMMAND [arguments] [options]")
        page.list("COMMANDS", table.commands.map { ($0.name, $0.summary) })
        page.list("COMMON OPTIONS", table.commonOptions.map { ($0.shownName, $0.description) })
        page.list("EXIT STATUS", ExitCode.descriptions)
        page.examples(table.firstExamples)
        page.section("SEE ALSO")
        page.text(table.commands.map { "\(table.tool)-\($0.name)(1)" }.joined(separator: ", "))
        return page.source
    }

    /// The page of one command.
    package static func page(of command: Command, _ table: CommandTable) -> String {
        var page = Roff("\(table.tool)-\(command.name)", command.summary)
        page.section("SYNOPSIS")
        page.text(Help.usage(of: command, table))
        page.section("DESCRIPTION")
        for part in command.details.split(separator: "\n\n") { page.paragraph(String(part)) }
        for list in command.lists(table) { page.list(list.title.uppercased(), list.items) }
        page.examples(command.examples)
        page.section("SEE ALSO")
        page.text("\(table.tool)(1)")
        return page.source
    }
}

private struct Roff {
    private(set) var source: String
    /// Whether nothing stands below the last heading yet.
    private var isSectionEmpty = true

    init(_ name: String, _ summary: String) {
        source =
            ".TH \(Self.escaped(name.uppercased())) 1 \"\" \"stratus \(Tool.version)\" Stratus\n"
        section("NAME")
        text("\(name) - \(summary)")
    }

    mutating func section(_ title: String) {
        source += ".SH \(title)\n"
        isSectionEmpty = true
    }

    /// A line, which is filled with those before and behind it.
    mutating func text(_ text: String) {
        let line = Self.escaped(text.split(whereSeparator: \.isWhitespace).joined(separator: " "))
        isSectionEmpty = false
        // One that begins with a dot is a request.
        source += (line.hasPrefix(".") ? "\\&" : "") + line + "\n"
    }

    mutating func paragraph(_ text: String) {
        if !isSectionEmpty { source += ".PP\n" }
        self.text(text)
    }

    mutating func list(_ title: String, _ items: [(name: String, summary: String)]) {
        if items.isEmpty { return }
        section(title)
        for item in items {
            source += ".TP\n\\fB\(Self.escaped(item.name))\\fR\n"
            text(item.summary)
        }
    }

    mutating func examples(_ examples: [Command.Example]) {
        section("EXAMPLES")
        for example in examples {
            paragraph(example.purpose)
            source += ".RS 4\n.nf\n\\&\(Self.escaped(example.line))\n.fi\n.RE\n"
        }
    }

    /// Dashes, quotes and backslashes as they are typed, so that a line can be copied.
    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
            .replacing("'", with: "\\(aq").replacing("`", with: "\\(ga")
    }
}
