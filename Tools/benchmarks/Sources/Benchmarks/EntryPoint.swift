import FoundationEssentials
import Glibc

@main
struct EntryPoint {
    /// `run` and `compare` are for Tools/benchmarks/run; `one` and `killed` are the processes that
    /// they start; the others are for campaigns.
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            let options = try Options(Array(arguments.dropFirst()))
            switch arguments.first {
            case "write": try await Writer.run(options.words)
            case "peak": try await Peak.run(options.words)
            case "asset": try await Peak.asset(options.words)
            case "snapshots": try await Peak.snapshots(options.words)
            case "zones": try await Peak.zones(options.words)
            case "visible": try await Visibility.run(options.words)
            case "subscriptions": try await SubscriptionCost.run(options.words)
            case "listeners": try await ListenerCost.run(options.words)
            case "indexes": try await IndexCost.run(options.words)
            case "building": try await IndexBuild.run(options.words)
            case "compacting": try await CompactionCost.run(options.words)
            case "backing": try await BackupLoad.run(options.words)
            case "queries": try await QueryCost.run(options.words)
            case "sharing": try await SharingCost.run(options.words)
            case "one": try await one(try options.setting())
            case "killed":
                try await Engines.writeUntilKilled(
                    try options.setting(), startingAt: try options.number("--first", 0))
            case "run": try run(options)
            case "compare": try Comparison(options).run(checkingOnly: options.has("--check"))
            default: throw BenchmarkError(Options.usage)
            }
        } catch {
            say("\(error)")
            exit(1)
        }
    }

    private static func one(_ setting: Setting) async throws {
        var result: Measurement
        do {
            result = try await Task.detached { try await Engines.run(setting) }.value
        } catch {
            result = Measurement(
                workload: setting.workload.rawValue, engine: setting.engine.rawValue,
                turn: setting.turn)
            result.failure = "\(error)"
        }
        print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
    }

    private static func run(_ options: Options) throws {
        let session = try Session(options)
        let start = now()
        let measurements = try session.run()
        let report = Report(
            measurements, scale: try options.number("--scale", 1), seconds: now() - start)
        print(report.text)
        let folder: String
        if let page = options.text("--page") {
            folder = page
        } else {
            folder = try options.directory()
        }
        try report.write(to: folder)
        session.finish(keepingStores: options.has("--keep"))
        say("results.md and results.svg lie in \(folder)")
        if measurements.contains(where: { $0.failure != nil }) {
            throw BenchmarkError("some runs failed")
        }
    }
}

/// A line of progress, on standard error; results go to standard output.
func say(_ line: String) {
    fflush(nil)
    let bytes = Array((line + "\n").utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
}
