import StratusTool
import Testing

struct CompletionTests {
    private let table = CommandTable.stratus

    @Test(arguments: Completion.Shell.allCases)
    func `a script has every command and option`(shell: Completion.Shell) {
        let script = Completion.script(for: shell, table)
        for command in table.commands {
            #expect(script.contains(command.name))
            for option in table.options(of: command) {
                #expect(script.contains(shell == .fish ? "-l \(option.name)" : "--\(option.name)"))
            }
        }
        #expect(script.hasSuffix("\n"))
    }

    @Test(arguments: [
        (Completion.Shell.bash, #"compgen -W "full interval none" -- "$word""#),
        (
            .zsh,
            "'--durability=[what a commit waits for\\: full, the disk; interval, the disk within a second; none, nothing (default\\: full)]:WHEN:(full interval none)'"
        ),
        (.fish, "-l durability -x -a 'full interval none'"),
    ])
    func `a script offers the allowed values`(shell: Completion.Shell, part: String) {
        #expect(Completion.script(for: shell, table).contains(part))
    }

    @Test(arguments: [
        (Completion.Shell.zsh, #"'a:don'\''t [x]'"#), (.fish, #"'don\'t [x]'"#),
    ])
    func `a quote in a summary stays text`(shell: Completion.Shell, part: String) {
        let command = Command("a", "don't [x]", details: "", examples: [])
        let table = CommandTable(tool: "t", summary: "", commands: [command], commonOptions: [])
        #expect(Completion.script(for: shell, table).contains(part))
    }
}
