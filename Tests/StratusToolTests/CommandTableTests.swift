import StratusTool
import Testing

struct CommandTableTests {
    private static let table = CommandTable.stratus

    @Test func `the table has the commands of the first part`() {
        let names = [
            "import", "export", "dump", "load", "diff", "get", "put", "delete", "exec", "follow",
            "info",
            "users", "zones", "types", "records", "show", "query", "tree", "shares", "why",
            "who-can", "what-can", "subscriptions", "notifications", "devices", "log", "explain",
            "changes", "token", "history", "blame", "mark", "retention", "backup", "backups",
            "restore", "revert", "copy", "verify", "certify", "repair", "salvage", "hash", "asset",
            "stats", "pins",
            "gc", "compact", "checkpoint", "reindex", "schema", "help", "completion", "version",
        ]
        #expect(Self.table.commands.map(\.name) == names)
    }

    @Test(arguments: table.commands.map(\.name))
    func `a command has two examples that parse`(name: String) throws {
        let command = try #require(Self.table.command(named: name))
        #expect(command.examples.count >= 2)
        for example in command.examples {
            let words = example.line.split(separator: " ").map(String.init)
            #expect(words.first == Self.table.tool)
            let invocation = try ArgumentParser.parse(Array(words.dropFirst()), Self.table)
            #expect(invocation.command.name == name)
            #expect(example.purpose.hasSuffix("."))
        }
    }

    /// Their words mean something else of an archive, or of the journal, than of a feed or of a store.
    private static let exceptions: [String: Set<String>] = [
        "backup": ["since", "history", "follow"], "log": ["since"],
    ]

    @Test func `an option is the same wherever it is declared`() {
        var known: [String: Command.Option] = [:]
        for (name, options) in Self.exceptions {
            let command = Self.table.command(named: name)
            #expect(options.isSubset(of: command?.options.map(\.name) ?? []))
        }
        let all = Self.table.commands.flatMap { command in
            command.options.filter {
                Self.exceptions[command.name]?.contains($0.name) != true
            }
        }
        for option in Self.table.commonOptions + all {
            let first = known[option.name] ?? option
            known[option.name] = first
            #expect(first.letter == option.letter)
            #expect(first.isRepeatable == option.isRepeatable)
            // A common option is declared once, so that none of a command can hide it.
            #expect(first.value?.name == option.value?.name)
            #expect(first.value?.content == option.value?.content)
        }
    }

    @Test(arguments: table.commands.map(\.name))
    func `the names of a command's options are its own`(name: String) throws {
        let options = Self.table.options(of: try #require(Self.table.command(named: name)))
        #expect(Set(options.map(\.name)).count == options.count)
        let letters = options.compactMap(\.letter)
        #expect(Set(letters).count == letters.count)
    }

    @Test(arguments: table.commands.map(\.name))
    func `no argument stands after one that may be missing`(name: String) throws {
        let arguments = try #require(Self.table.command(named: name)).arguments
        #expect(arguments.dropLast().allSatisfy { !$0.isOptional && !$0.isVariadic })
    }

    @Test func `the exit codes are the published ones`() {
        let numbers: [Int32] = [0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 70]
        #expect(ExitCode.published.map(\.number) == numbers)
        #expect(ExitCode.signal(2).number == 130)
    }
}
