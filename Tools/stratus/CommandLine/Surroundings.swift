internal import FoundationEssentials
internal import StratusFiles

/// What the process was started in, as far as it changes how output looks.
package struct Surroundings: Sendable {
    package var outputIsTerminal = false
    package var errorIsTerminal = false
    /// Of the terminal on standard error, or else on standard output.
    package var columns: Int?
    /// NO_COLOR is set to anything but nothing.
    package var refusesColor = false
    /// TERM says that the terminal can only add text at the end.
    package var isDumb = false
    package var localTime = LocalTime.utc
    /// Whether the process is there for one command alone, and ends with it.
    package var isProcess = false

    package init() {}

    package init(environment: [String: String]) {
        refusesColor = environment["NO_COLOR"]?.isEmpty == false
        isDumb = environment["TERM"] == "dumb"
    }

    package static var current: Surroundings {
        var surroundings = Surroundings(environment: ProcessInfo.processInfo.environment)
        surroundings.outputIsTerminal = Terminal.isTerminal(.output)
        surroundings.errorIsTerminal = Terminal.isTerminal(.error)
        surroundings.columns = Terminal.columns(.error) ?? Terminal.columns(.output)
        surroundings.localTime = .system
        surroundings.isProcess = true
        return surroundings
    }
}
