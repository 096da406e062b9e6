internal import StratusFiles

@main
struct EntryPoint {
    static func main() async {
        Terminal.openStandardStreams()
        Terminal.ignoreBrokenPipes()
        let code = await Tool.stratus.run(Terminal.arguments, Surroundings.current)
        Terminal.exit(code.number)
    }
}
