/// What the tool can be asked to do, as data.
///
/// Parsing, help, `help --json` and the completions of three shells all read this one table, so
/// that none of them can know a command or an option that the others do not.
package struct CommandTable: Sendable {
    package var tool: String
    package var summary: String
    package var commands: [Command]
    /// What every command takes beside its own options.
    package var commonOptions: [Command.Option]

    package init(
        tool: String, summary: String, commands: [Command], commonOptions: [Command.Option]
    ) {
        self.tool = tool
        self.summary = summary
        self.commands = commands
        self.commonOptions = commonOptions
    }

    package func command(named name: String) -> Command? {
        commands.first { $0.name == name }
    }

    /// The options of `command`, its own first.
    package func options(of command: Command) -> [Command.Option] {
        command.options + commonOptions
    }
}

/// A command: what it takes, and what it says about itself.
package struct Command: Sendable {
    package var name: String
    /// One line, without a full stop.
    package var summary: String
    /// Paragraphs, separated by empty lines.
    package var details: String
    package var arguments: [Argument]
    package var options: [Option]
    package var examples: [Example]
    /// Whether `--output` names a file that the command makes, which is not its results.
    package var writesFile: Bool
    package var whenStopped: WhenStopped

    /// What a command does when a signal is to end the process.
    package enum WhenStopped: Sendable {
        /// It ends at once, unless its code handles the signal.
        case ends
        /// It looks for the signal, and undoes what it has begun.
        case undoes
        /// The directory that it makes is removed first, unless that is complete.
        case removesDirectory
    }

    package init(
        _ name: String, _ summary: String, details: String, arguments: [Argument] = [],
        options: [Option] = [], examples: [Example], writesFile: Bool = false,
        whenStopped: WhenStopped = .ends
    ) {
        self.name = name
        self.summary = summary
        self.details = details
        self.arguments = arguments
        self.options = options
        self.examples = examples
        self.writesFile = writesFile
        self.whenStopped = whenStopped
    }
}

extension Command {
    /// A value that is told by its place.
    package struct Argument: Sendable {
        /// Upper-case, as help shows it.
        package var name: String
        package var summary: String
        package var content: Content
        package var isOptional: Bool
        /// Takes all that is left; only the last argument of a command may.
        package var isVariadic: Bool

        package init(
            _ name: String, _ summary: String, _ content: Content = .text,
            isOptional: Bool = false, isVariadic: Bool = false
        ) {
            self.name = name
            self.summary = summary
            self.content = content
            self.isOptional = isOptional
            self.isVariadic = isVariadic
        }
    }

    /// A value that is told by a name before it, or a mere switch.
    package struct Option: Sendable {
        /// Without the dashes.
        package var name: String
        package var letter: Character?
        package var summary: String
        /// Nil where the option is a switch.
        package var value: Value?
        package var isRequired: Bool
        package var isRepeatable: Bool

        package init(
            _ name: String, letter: Character? = nil, taking value: Value? = nil,
            _ summary: String, isRequired: Bool = false, isRepeatable: Bool = false
        ) {
            self.name = name
            self.letter = letter
            self.value = value
            self.summary = summary
            self.isRequired = isRequired
            self.isRepeatable = isRepeatable
        }
    }

    /// What follows an option.
    package struct Value: Sendable {
        /// Upper-case, as help shows it.
        package var name: String
        package var content: Content

        package init(_ name: String, _ content: Content = .text) {
            self.name = name
            self.content = content
        }
    }

    /// What a value may be. The parser refuses everything else; completion offers what it can.
    package enum Content: Equatable, Sendable {
        case text
        /// A path of the file system, for completion; any text is one.
        case path
        /// A whole number from 0 to 2^64 - 1.
        case number
        case oneOf([String])
        case command
    }

    package struct Example: Sendable {
        /// As typed, with the tool's name.
        package var line: String
        /// What it does, a sentence.
        package var purpose: String

        package init(_ line: String, _ purpose: String) {
            self.line = line
            self.purpose = purpose
        }
    }
}
