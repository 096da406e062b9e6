import FoundationEssentials
import Glibc

/// All that was measured, with the machine it was measured on.
struct Report {
    let machine: [String]
    let versions: [String: String]
    let scale: Double
    let measurements: [Measurement]

    init(_ measurements: [Measurement], scale: Double, seconds: Double) {
        self.measurements = measurements
        self.scale = scale
        versions = Engines.versions()
        machine = Machine.lines(seconds: seconds)
    }

    private var tables: [Table] {
        Workload.allCases.compactMap { workload in
            let summaries = Summary.all(workload, measurements)
            return summaries.isEmpty ? nil : Table(workload: workload, summaries: summaries)
        }
    }

    /// Stratus against the best rival of each workload.
    private var overview: String {
        var lines = ["| workload | Stratus | best rival | ratio |", "|---|--:|--:|--:|"]
        for table in tables {
            guard let best = table.summaries.first(where: \.engine.isRival) else { continue }
            for own in table.summaries where !own.engine.isRival {
                guard let ratio = table.summaries.ratio(own) else { continue }
                let name =
                    table.workload.rawValue + (own.engine == .stratus ? "" : " mapped") + " "
                    + table.workload.title
                lines.append(
                    "| \(name) | \(own.figureText) | \(best.engine.rawValue) \(best.figureText) | "
                        + "\(Number.short(ratio)) |")
            }
        }
        if let share = shareOfRaw { lines.append("\n" + share) }
        return lines.joined(separator: "\n")
    }

    /// Single saves against the disk alone.
    private var shareOfRaw: String? {
        guard let raw = Summary.all(.rawSmall, measurements).first?.figure else { return nil }
        let shares = [Workload.w1, .w1Sync].compactMap { workload in
            Summary.all(workload, measurements).first { $0.engine == .stratus }?.figure
                .map { "\(Number.fixed($0 / raw, 2)) (\(workload.rawValue))" }
        }
        if shares.isEmpty { return nil }
        return "Single saves of Stratus a second, as a share of raw write + fdatasync: "
            + "\(shares.joined(separator: ", "))."
    }

    var text: String {
        let parts = tables.map { table in
            let notes = table.notes.map { "- " + $0 }.joined(separator: "\n")
            return "## \(table.workload.rawValue): \(table.workload.title)\n\n\(table.text)\n"
                + (notes.isEmpty ? "" : "\n\(notes)\n")
        }
        return parts.joined(separator: "\n") + "\n## Stratus and the best rival\n\n\(overview)\n"
    }

    private var page: String {
        let scaled = scale == 1 ? "" : "Counts are scaled by \(scale): no basis for claims.\n\n"
        let facts = machine + versions.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return """
            # Results

            \(scaled)\(facts.map { "- " + $0 }.joined(separator: "\n"))

            ![ratios to the best rival](results.svg)

            \(Explanations.columns)

            \(Explanations.settings)

            \(text)
            """
    }

    /// The section on assets is measured by itself: it stays at the end of the page.
    func write(to folder: String) throws {
        try Disk.make(folder)
        let path = folder + "/results.md"
        let assets = kernelText(path).split(separator: "\n", omittingEmptySubsequences: false)
            .drop { !$0.hasPrefix("## Assets ") }
        let text = assets.isEmpty ? page : page + "\n" + assets.joined(separator: "\n")
        try Data(text.utf8).write(toPath: path)
        try Data(Chart(tables).text.utf8).write(toPath: folder + "/results.svg")
    }
}

enum Machine {
    static func lines(seconds: Double) -> [String] {
        func value(_ path: String, _ name: String) -> String? {
            kernelText(path).split(separator: "\n").first { $0.hasPrefix(name) }
                .flatMap { $0.split { ":=".contains($0) }.dropFirst().first }
                .map { $0.trimming { " \t\"".contains($0) } }
        }
        let environment = ProcessInfo.processInfo.environment
        let memory =
            value("/proc/meminfo", "MemTotal").flatMap { $0.split(separator: " ").first }
            .flatMap { Int($0) } ?? 0
        let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        let kernel = kernelText("/proc/sys/kernel/osrelease").trimming { $0 == "\n" }
        var lines = [
            "\(value("/proc/cpuinfo", "model name") ?? "processor"), \(cores) cores, "
                + "\(memory >> 20) GiB",
            "\(value("/etc/os-release", "PRETTY_NAME") ?? "Linux"), Linux \(kernel)",
        ]
        for name in ["FILESYSTEM", "COMMIT", "SWIFT"] {
            if let text = environment["BENCHMARKS_" + name], !text.isEmpty { lines.append(text) }
        }
        var time = time_t()
        Glibc.time(&time)
        let date = Date(timeIntervalSince1970: Double(time)).formatted(.iso8601)
        return lines + ["\(date), \(Number.short(seconds / 60)) minutes since the last start"]
    }
}

extension StringProtocol {
    fileprivate func trimming(_ isSpace: (Character) -> Bool) -> String {
        var part = self[...]
        while let first = part.first, isSpace(first) { part = part.dropFirst() }
        while let last = part.last, isSpace(last) { part = part.dropLast() }
        return String(part)
    }
}
