internal import FoundationEssentials
internal import StratusFiles

@main
struct EntryPoint {
    /// Not asynchronous: nothing has needed a thread of the runtime's pool yet when it is found out
    /// whether there are any.
    static func main() {
        Terminal.openStandardStreams()
        Terminal.ignoreBrokenPipes()
        Terminal.receiveStopSignals()
        let surroundings = Surroundings.current
        do {
            // The pool's, those that the runtime serves it with, and one that may wait.
            try Thread.probe(ProcessInfo.processInfo.activeProcessorCount + 3)
        } catch {
            Output(Output.Settings(surroundings)).report(ToolError(describing: error))
            Terminal.exit(ExitCode.internal.number)
        }
        let code = Outcome<ExitCode>()
        Task.detached {
            code.finish(await Tool.stratus.run(Terminal.arguments, surroundings))
        }
        Terminal.exit(code.wait().number)
    }
}
