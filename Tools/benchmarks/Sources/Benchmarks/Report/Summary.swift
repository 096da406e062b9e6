/// One engine on one workload: the medians of its runs.
struct Summary {
    let workload: Workload
    let engine: EngineName
    let runs: [Measurement]
    let failures: [String]

    /// All runs of a workload, Stratus first, then the best.
    static func all(_ workload: Workload, _ measurements: [Measurement]) -> [Summary] {
        let own = measurements.filter { $0.workload == workload.rawValue }
        let all = EngineName.allCases.compactMap { engine -> Summary? in
            let runs = own.filter { $0.engine == engine.rawValue }
            if runs.isEmpty { return nil }
            return Summary(
                workload: workload, engine: engine, runs: runs.filter { $0.failure == nil },
                failures: runs.compactMap(\.failure))
        }
        return all.filter { !$0.engine.isRival }
            + all.filter(\.engine.isRival).sorted { $0.merit > $1.merit }
    }

    static func figure(_ run: Measurement, _ metric: Metric) -> Double? {
        switch metric {
        case .rate: run.seconds > 0 ? run.rate : nil
        case .latency: run.p50
        case .memory: run.memory.map { Double($0) }
        }
    }

    private var figures: [Double] {
        runs.compactMap { Self.figure($0, workload.metric) }
    }

    /// What is compared.
    var figure: Double? { Number.median(figures) }

    var figureText: String {
        if let figure { return Table.text(figure, workload.metric) }
        return failures.isEmpty ? "not measured" : "failed"
    }

    /// More is better.
    var merit: Double {
        guard let figure, figure > 0 else { return 0 }
        if case .rate = workload.metric { return figure }
        return 1 / figure
    }

    /// The least and the most, as parts of the median.
    var spread: String {
        guard let figure, let least = figures.min(), let most = figures.max(), figures.count > 1
        else { return "" }
        let low = Number.fixed((least / figure - 1) * 100, 0)
        return "\(low) to +\(Number.fixed((most / figure - 1) * 100, 0)) %"
    }

    func median(_ value: (Measurement) -> Double?) -> Double? {
        Number.median(runs.compactMap(value))
    }

    func text(_ value: (Measurement) -> Double?) -> String {
        median(value).map { Number.short($0) } ?? ""
    }
}

extension [Summary] {
    /// How many times as good as the best rival; nil where there is no rival.
    func ratio(_ summary: Summary) -> Double? {
        let rivals = filter(\.engine.isRival)
        guard let best = rivals.map(\.merit).max(), best > 0, summary.merit > 0 else { return nil }
        return summary.merit / best
    }
}
