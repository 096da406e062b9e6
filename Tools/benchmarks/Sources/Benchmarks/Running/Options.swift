import FoundationEssentials

/// What was asked for on the command line.
struct Options {
    var words: [String] = []
    private var values: [String: String] = [:]

    static let usage = """
        Benchmarks run all|WORKLOAD... [--scale F] [--repeats N] [--engines A,B] [--dir DIR]
                                       [--page DIR] [--keep] [--fresh]
        Benchmarks compare [WORKLOAD...] --before EXECUTABLE --names BEFORE,NOW
                                         [--scale F] [--repeats N] [--dir DIR] [--check]
        Benchmarks write STORE SECONDS
        Benchmarks visible STORE COUNT
        Workloads: raw, W1, W1-sync, W2, W2-1000, commit, W3, W4, W5, W6, W7, W8, W10, W10-5M, or a part:
        raw-small, raw-large, raw-filled, raw-reserved, W3-zones, W5-2, W6a-newest, W6a-random, W6b, W7-warm, W7-cold, W7-kill
        """

    private static let flags: Set = ["--keep", "--fresh", "--check"]

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if Self.flags.contains(argument) {
                values[argument] = ""
            } else if argument.hasPrefix("--") {
                guard let value = rest.popFirst() else {
                    throw BenchmarkError("\(argument) takes a value")
                }
                values[argument] = value
            } else {
                words.append(argument)
            }
        }
    }

    func has(_ flag: String) -> Bool { values[flag] != nil }
    func text(_ name: String) -> String? { values[name] }

    func number<Number: LosslessStringConvertible>(
        _ name: String, _ usual: Number
    ) throws -> Number {
        guard let text = values[name] else { return usual }
        guard let number = Number(text) else { throw BenchmarkError("\(name) takes a number") }
        return number
    }

    /// How often each workload is run.
    func repeats(_ usual: Int) throws -> Int {
        let repeats = try number("--repeats", usual)
        guard repeats > 0 else { throw BenchmarkError("--repeats takes a number above 0") }
        return repeats
    }

    /// Where stores are made: a real disk, not memory.
    func directory() throws -> String {
        let build = CommandLine.arguments[0].split(separator: "/", omittingEmptySubsequences: false)
            .dropLast().joined(separator: "/")
        let directory = values["--dir"] ?? "\(build.isEmpty ? "." : build)/benchmark-stores"
        try Disk.make(directory)
        if Disk.isMemory(directory) {
            throw BenchmarkError("\(directory) lies in memory; give another as --dir")
        }
        return directory
    }

    func engines() throws -> Set<EngineName> {
        guard let text = values["--engines"] else { return Set(EngineName.allCases) }
        return Set(
            try text.split(separator: ",").map { name in
                guard let engine = EngineName(rawValue: String(name)) else {
                    throw BenchmarkError("there is no engine \(name)")
                }
                return engine
            })
    }

    /// One run, as the process above asked for it.
    func setting() throws -> Setting {
        guard let directory = values["--dir"],
            let engine = values["--engine"].flatMap({ EngineName(rawValue: $0) })
        else { throw BenchmarkError("--dir and --engine are missing") }
        let name = values["--workload"] ?? Workload.w1.rawValue
        guard let workload = Workload(rawValue: name) else {
            throw BenchmarkError("there is no workload \(name)")
        }
        return Setting(
            directory: directory, scale: try number("--scale", 1.0), engine: engine,
            workload: workload, turn: try number("--turn", 1))
    }
}
