/// The scripts that let a shell complete the tool's command lines, made from the table.
package enum Completion {
    package enum Shell: String, CaseIterable, Sendable {
        case bash
        case zsh
        case fish
    }

    package static func script(for shell: Shell, _ table: CommandTable) -> String {
        switch shell {
        case .bash: bash(table)
        case .zsh: zsh(table)
        case .fish: fish(table)
        }
    }

    /// The values that can be offered for `content`; nil where anything may stand.
    static func choices(_ content: Command.Content, _ table: CommandTable) -> [String]? {
        switch content {
        case .oneOf(let allowed): allowed
        case .command: table.commands.map(\.name)
        case .text, .path, .number: nil
        }
    }
}

extension Command.Option {
    /// As typed: `-o`, `--output`.
    var spellings: [String] {
        (letter.map { ["-\($0)"] } ?? []) + ["--" + name]
    }
}
