import FoundationEssentials
import Glibc

/// All runs that were asked for, engines in turn, each in a process of its own. What is done is
/// kept in a file, from which an interrupted session goes on.
struct Session {
    /// What a session must have in common with an interrupted one to go on from it.
    private struct Plan: Codable, Equatable {
        var executable: String
        var scale: Double
        var repeats: Int
        var workloads: [Workload]
        var engines: [EngineName]
    }

    private struct Run: Hashable {
        var workload: Workload
        var engine: EngineName
        var turn: Int
    }

    private let plan: Plan
    private let directory: String
    private var path: String { directory + "/runs.jsonl" }

    init(_ options: Options) throws {
        directory = try options.directory()
        let workloads = try Workload.chosen(by: options.words)
        let engines = try options.engines()
        var status = stat()
        stat("/proc/self/exe", &status)
        plan = Plan(
            executable: "\(status.st_size) \(status.st_mtim.tv_sec)",
            scale: try options.number("--scale", 1), repeats: try options.repeats(3),
            workloads: workloads, engines: EngineName.allCases.filter { engines.contains($0) })
        if options.has("--fresh") { Disk.remove(path) }
    }

    /// Every run in order: each workload on all engines in turn, then the next repeat of all. No
    /// engine is always the first after another.
    private var runs: [Run] {
        (1...plan.repeats).flatMap { turn in
            plan.workloads.flatMap { workload in
                let engines = workload.engines.filter { plan.engines.contains($0) }
                let shift = engines.isEmpty ? 0 : (turn - 1) * 2 % engines.count
                return (engines[shift...] + engines[..<shift]).map { engine in
                    Run(workload: workload, engine: engine, turn: turn)
                }
            }
        }
    }

    func run() throws -> [Measurement] {
        try forgetStoresOfOthers()
        var done = try resume()
        let known = Set(done.map { "\($0.workload) \($0.engine) \($0.turn)" })
        for run in runs
        where !known.contains("\(run.workload.rawValue) \(run.engine.rawValue) \(run.turn)") {
            if let base = run.workload.base { try prepare(base, run) }
            let start = now()
            let result = try measure(run.workload, run)
            done.append(result)
            try append(String(decoding: JSONEncoder().encode(result), as: UTF8.self))
            Self.report(result, seconds: now() - start)
        }
        return done
    }

    /// Nothing of it is needed any more.
    func finish(keepingStores: Bool) {
        Disk.remove(path)
        if !keepingStores { Disk.remove(directory + "/bases") }
    }

    private static func report(_ result: Measurement, seconds: Double) {
        let took = Number.short(seconds)
        let text = result.failure ?? Table.figure(result)
        say("\(result.workload) \(result.engine) \(result.turn): \(text) (\(took) s)")
    }

    /// Shared stores of another build may have another format.
    private func forgetStoresOfOthers() throws {
        let bases = directory + "/bases"
        let stamp = bases + "/executable"
        if kernelText(stamp) == plan.executable { return }
        Disk.remove(bases)
        try Disk.make(bases)
        try Data(plan.executable.utf8).write(toPath: stamp)
    }

    private func resume() throws -> [Measurement] {
        let lines = kernelText(path).split(separator: "\n").map { Data($0.utf8) }
        let decoder = JSONDecoder()
        if let first = lines.first, let old = try? decoder.decode(Plan.self, from: first),
            old == plan
        {
            return lines.dropFirst().compactMap { try? decoder.decode(Measurement.self, from: $0) }
        }
        Disk.remove(path)
        try append(String(decoding: JSONEncoder().encode(plan), as: UTF8.self))
        return []
    }

    private func append(_ line: String) throws {
        guard let file = fopen(path, "a") else { throw BenchmarkError("cannot write \(path)") }
        fputs(line + "\n", file)
        fclose(file)
    }

    private func prepare(_ base: Workload, _ run: Run) throws {
        let result = try measure(base, run)
        if let failure = result.failure {
            throw BenchmarkError("\(run.engine.rawValue): \(failure)")
        }
        if result.count > 0 {
            say("\(base.rawValue) \(run.engine.rawValue): \(Table.figure(result))")
        }
    }

    private func measure(_ workload: Workload, _ run: Run) throws -> Measurement {
        try Setting(
            directory: directory, scale: plan.scale, engine: run.engine, workload: workload,
            turn: run.turn
        ).measuredByProcess()
    }
}

extension Setting {
    /// What a process of its own, of this build or another, measures; `Options.setting()` is how that
    /// process reads its arguments. A process that gives no measurement of the workload has failed.
    func measuredByProcess(executable: String = "/proc/self/exe") throws -> Measurement {
        let child = try ChildProcess(
            [
                "one", "--engine", engine.rawValue, "--workload", workload.rawValue,
                "--dir", directory, "--scale", String(scale), "--turn", String(turn),
            ], executable: executable)
        let output = child.readAll()
        let status = child.wait()
        let last = output.split(separator: "\n").last.map { Data($0.utf8) } ?? Data()
        if let result = try? JSONDecoder().decode(Measurement.self, from: last),
            result.workload == workload.rawValue
        {
            return result
        }
        var failed = Measurement(workload: workload.rawValue, engine: engine.rawValue, turn: turn)
        failed.failure = "gave no measurement that this build can read (status \(status))"
        return failed
    }
}

extension Data {
    func write(toPath path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: self) else {
            throw BenchmarkError("cannot write \(path)")
        }
    }
}
