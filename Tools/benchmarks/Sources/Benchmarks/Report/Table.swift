/// The table of one workload, as aligned Markdown: for terminals and pages alike.
struct Table {
    let workload: Workload
    let summaries: [Summary]

    /// What is compared, of one run.
    static func figure(_ run: Measurement) -> String {
        guard let workload = Workload(rawValue: run.workload),
            let figure = Summary.figure(run, workload.metric)
        else { return run.note ?? "-" }
        return text(figure, workload.metric)
    }

    static func text(_ figure: Double, _ metric: Metric) -> String {
        switch metric {
        case .rate: Number.short(figure) + "/s"
        case .latency: Number.short(figure) + " µs"
        case .memory: Number.megabytes(Int(figure)) + " MB"
        }
    }

    private static let heads = [
        "engine", "median", "of the best rival", "spread", "mean µs", "p50 µs", "p99 µs",
        "second half /s", "CPU µs", "allocations", "peak MB", "anonymous MB", "disk MB", "space",
        "peak space", "write amp.", "syncs", "flushes",
    ]

    private func row(_ summary: Summary) -> [String] {
        let metric = workload.metric
        return [
            summary.engine.rawValue, summary.figureText,
            summaries.ratio(summary).map { Number.short($0) } ?? "", summary.spread,
            metric == .latency ? summary.text(\.mean) : "",
            metric == .rate ? summary.text(\.p50) : "", summary.text { $0.p99 },
            summary.text { $0.rateOfSecondHalf },
            summary.text { $0.seconds > 0 ? $0.perItem($0.cpuSeconds * 1e6) : nil },
            summary.text { $0.perItem(Double($0.allocations)) },
            summary.text { Double($0.peakMemory) / 1e6 },
            summary.text { $0.anonymousMemory.map { Double($0) / 1e6 } },
            summary.text { $0.bytesOnDisk.map { Double($0) / 1e6 } },
            summary.text { $0.space($0.bytesOnDisk) },
            summary.text { $0.space($0.mostBytesOnDisk) },
            summary.text { $0.writeAmplification },
            summary.text { $0.perCommit(Double($0.syncs)) },
            summary.text { run in
                run.bytesToDevice > 0 ? run.perCommit(Double(run.flushesOfDevice)) : nil
            },
        ]
    }

    var text: String {
        Self.aligned([Self.heads] + summaries.map { row($0) })
    }

    /// Rows of cells, the heads first, as Markdown; the first column is text, the others figures.
    static func aligned(_ rows: [[String]]) -> String {
        // A column without figures is left out.
        let columns = rows[0].indices.filter { column in
            column == 0 || rows.dropFirst().contains { !$0[column].isEmpty }
        }
        let widths = columns.map { column in rows.map { $0[column].count }.max() ?? 0 }
        var lines = rows.map { row in
            let cells = zip(columns, widths).map { column, width in
                let space = String(repeating: " ", count: width - row[column].count)
                return column == 0 ? row[column] + space : space + row[column]
            }
            return "| " + cells.joined(separator: " | ") + " |"
        }
        let rules = zip(columns, widths).map { column, width in
            String(repeating: "-", count: column == 0 ? width : width - 1)
                + (column == 0 ? "" : ":")
        }
        lines.insert("| " + rules.joined(separator: " | ") + " |", at: 1)
        return lines.joined(separator: "\n")
    }

    /// What the figures alone do not say.
    var notes: [String] {
        summaries.flatMap { summary in
            var seen: [String] = []
            for text in summary.runs.compactMap(\.note) + summary.failures
            where !seen.contains(text) { seen.append(text) }
            return seen.map { "\(summary.engine.rawValue): \($0)." }
        }
    }
}
