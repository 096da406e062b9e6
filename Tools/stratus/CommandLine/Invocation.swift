/// A command line that was understood: a command, and what it was given.
///
/// The parser has checked names, counts and contents, so that a command only reads.
package struct Invocation: Sendable {
    package let command: Command
    /// In which times are given that name no time zone.
    package var localTime = LocalTime.utc
    /// What the stores say that the command opens.
    let openings = Openings()
    /// By the names of the arguments.
    private let arguments: [String: [String]]
    /// By the long names of the options; a switch that was given has no values.
    private let options: [String: [String]]

    package init(
        _ command: Command, arguments: [String: [String]] = [:], options: [String: [String]] = [:]
    ) {
        self.command = command
        self.arguments = arguments
        self.options = options
    }

    /// The argument `name`, which the command requires.
    package func argument(_ name: String) -> String {
        guard let value = arguments[name]?.first else {
            preconditionFailure("\(command.name) requires no \(name)")
        }
        return value
    }

    package func optionalArgument(_ name: String) -> String? {
        arguments[name]?.first
    }

    package func allArguments(_ name: String) -> [String] {
        arguments[name] ?? []
    }

    /// Whether the option `name` was given.
    package func has(_ name: String) -> Bool {
        options[name] != nil
    }

    package func value(_ name: String) -> String? {
        options[name]?.first
    }

    /// The value of the option `name`, which the command requires.
    package func requiredValue(_ name: String) -> String {
        guard let value = value(name) else {
            preconditionFailure("\(command.name) requires no --\(name)")
        }
        return value
    }

    package func allValues(_ name: String) -> [String] {
        options[name] ?? []
    }

    /// Fails where an option was given along with one that contradicts it.
    package func refuse(_ option: String, with others: [String]) throws(ToolError) {
        for other in others where has(option) && has(other) {
            throw .usage("contradiction", "--\(option) does not go with --\(other)")
        }
    }

    /// The value of an option declared as a number.
    package func number(_ name: String) -> UInt64? {
        value(name).flatMap { UInt64($0) }
    }
}

/// Which of a container's databases a command reads.
package enum DatabaseChoice: String, CaseIterable, Sendable {
    case `private`
    case `public`
    /// What others share with the user.
    case shared
}

/// What every command takes.
extension Invocation {
    package static let defaultUser = "local"

    package var wantsJSON: Bool { has("json") }
    package var isQuiet: Bool { has("quiet") }
    package var wantsHeader: Bool { has("header") }
    package var refusesColor: Bool { has("no-color") }
    package var refusesInput: Bool { has("no-input") }

    package var progress: Progress.Mode {
        value("progress").flatMap(Progress.Mode.init) ?? .auto
    }

    package var database: DatabaseChoice {
        value("database").flatMap(DatabaseChoice.init) ?? .private
    }

    package var user: String { value("as") ?? Self.defaultUser }

    /// The file to write to; nil for standard output.
    package var outputPath: String? {
        command.writesFile ? nil : value("output").flatMap { $0 == "-" ? nil : $0 }
    }
}
