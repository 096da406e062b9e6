/// Two builds of Stratus on the same workloads: this one, and one from before.
///
/// The builds take turns (A B, B A, A B, ...), each run a process of its own with stores of its own
/// build. The ratio is taken of the two runs of a repeat, which follow one another, so that a machine
/// that changes its speed between repeats does not change it.
struct Comparison {
    private struct Build {
        let name: String
        let executable: String
        let directory: String
    }

    /// The two runs of a repeat.
    private struct Pair {
        var before: Measurement
        var now: Measurement
    }

    private let before: Build
    private let now: Build
    private let workloads: [Workload]
    private let scale: Double
    private let repeats: Int

    init(_ options: Options) throws {
        let directory = try options.directory()
        let names = (options.text("--names") ?? "").split(separator: ",").map(String.init)
        guard names.count == 2, let executable = options.text("--before") else {
            throw BenchmarkError("compare takes --before EXECUTABLE and --names BEFORE,NOW")
        }
        before = Build(name: names[0], executable: executable, directory: directory + "/before")
        now = Build(name: names[1], executable: "/proc/self/exe", directory: directory + "/now")
        let usual = ["W1", "W2", "commit", "W3", "W4", "W5", "W6", "W7", "W8"]
        workloads = try Workload.chosen(by: options.words.isEmpty ? usual : options.words)
            .filter { $0.engines.contains(.stratus) }
        guard !workloads.isEmpty else { throw BenchmarkError("no workload of Stratus is named") }
        scale = try options.number("--scale", 1)
        repeats = try options.repeats(4)
    }

    /// Prints the table, or nothing where only the arguments were to be checked. Fails when a workload
    /// failed, after all others were run.
    func run(checkingOnly: Bool) throws {
        if checkingOnly { return }
        var rows = [heads]
        var failures: [(text: String, workloads: [String])] = []
        for workload in workloads {
            do {
                rows.append(row(workload, try pairs(of: workload)))
            } catch let error as BenchmarkError {
                if failures.last?.text != error.description {
                    failures.append((error.description, []))
                }
                failures[failures.count - 1].workloads.append(workload.rawValue)
            }
        }
        if rows.count > 1 {
            print(explanation + "\n\n" + Table.aligned(rows))
        }
        if !failures.isEmpty {
            let texts = failures.map { "\($0.text) (\($0.workloads.joined(separator: ", ")))" }
            throw BenchmarkError(texts.joined(separator: "; "))
        }
    }

    private var explanation: String {
        """
        Scale \(scale), \(repeats) repeats in turns. CPU is user and system time in µs per item; it
        decides. Ratios are \(now.name) to \(before.name): the median of the repeats, the least and the
        most. Of CPU less is better, of the rate (items a second by the clock) more.
        """
    }

    private func pairs(of workload: Workload) throws -> [Pair] {
        for build in [before, now] {
            try Disk.make(build.directory)
            if let base = workload.base { _ = try measure(base, build, turn: 1) }
        }
        return try (1...repeats).map { turn in
            let isSwapped = turn % 2 == 0
            var runs = try (isSwapped ? [now, before] : [before, now]).map {
                try measure(workload, $0, turn: turn)
            }
            if isSwapped { runs.reverse() }
            let pair = Pair(before: runs[0], now: runs[1])
            let figures = [pair.before, pair.now].map { Number.short(Self.cpu($0)) }
            say(
                "\(workload.rawValue) \(turn) of \(repeats): \(before.name) \(figures[0]) µs, "
                    + "\(now.name) \(figures[1]) µs")
            return pair
        }
    }

    private func measure(_ workload: Workload, _ build: Build, turn: Int) throws -> Measurement {
        let setting = Setting(
            directory: build.directory, scale: scale, workload: workload, turn: turn)
        let result = try setting.measuredByProcess(executable: build.executable)
        if let failure = result.failure { throw BenchmarkError("\(build.name): \(failure)") }
        // Where a workload cannot be run, its note says why. A base that is there measures nothing.
        if result.count == 0, workload.base != nil, let note = result.note {
            throw BenchmarkError("\(build.name): \(note)")
        }
        return result
    }
}

// The table.
extension Comparison {
    private static func cpu(_ run: Measurement) -> Double {
        run.perItem(run.cpuSeconds * 1e6)
    }

    private static func allocations(_ run: Measurement) -> Double {
        run.perItem(Double(run.allocations))
    }

    private var heads: [String] {
        [
            "workload", "CPU " + before.name, "CPU " + now.name, "ratio", "least to most",
            "allocations " + before.name, "allocations " + now.name, "rate ratio",
        ]
    }

    private func row(_ workload: Workload, _ pairs: [Pair]) -> [String] {
        func median(_ value: (Pair) -> Double) -> String {
            Number.median(pairs.map(value)).map { Number.short($0) } ?? ""
        }
        let ratios = pairs.map { Self.cpu($0.now) / Self.cpu($0.before) }
        return [
            workload.rawValue, median { Self.cpu($0.before) }, median { Self.cpu($0.now) },
            median { Self.cpu($0.now) / Self.cpu($0.before) },
            "\(Number.short(ratios.min() ?? 0)) to \(Number.short(ratios.max() ?? 0))",
            median { Self.allocations($0.before) }, median { Self.allocations($0.now) },
            median { $0.now.rate / $0.before.rate },
        ]
    }
}
