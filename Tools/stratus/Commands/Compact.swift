import Stratus
import StratusGateway

/// `stratus compact`: rewrites segments of the journal without what is needed no longer.
enum Compact {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        if invocation.has("erase") { return try await erase(invocation, output) }
        let container = try await invocation.openForWriting()
        let isDryRun = invocation.has("dry-run")
        let progress = ReadingProgress("looking", in: .items("row"), invocation, output)
        defer { progress.finish() }
        let report = try await container.closing {
            try await container.maintenance.compact(dryRun: isDryRun) { progress.count($0) }
        }
        progress.finish()
        try begin(report, output)
        try output.summary(report.json(isDryRun), text: report.text(isDryRun))
        return report.damage.isEmpty ? .ok : .differences
    }
}

extension Compact {
    private static func begin(_ report: CompactionReport, _ output: Output) throws {
        try output.header(schema: "stratus.compact/1")
        for place in report.damage {
            output.warning(
                "compact.damaged", "the segment is damaged and stays as it is: \(place.text)",
                file: place.file)
        }
    }

    private static func erase(
        _ invocation: Invocation, _ output: Output
    ) async throws -> ExitCode {
        if invocation.has("dry-run") {
            throw ToolError.usage("compact", "--erase and --dry-run exclude each other")
        }
        let container = try await invocation.openForWriting()
        let report = try await container.closing { try await container.maintenance.erase() }
        try begin(report.compaction, output)
        for file in report.heldFiles {
            output.warning(
                "erase.held", "is still read by another process, or is damaged, and stays",
                file: file)
        }
        var object = report.compaction.json(false)
        object.append("assetBytes", .integer(report.assets.freedBytes))
        object.append("heldFiles", .array(report.heldFiles.map(JSONValue.string)))
        let held = report.heldFiles.count
        try output.summary(
            object,
            text: report.compaction.text(false) + "; of assets "
                + "\(size(report.assets.freedBytes)) freed; "
                + (held == 0
                    ? "nothing is left in any file but what the newest state, marks and the history need"
                    : "\(Quantities.count(held, "file")) may still hold some of it"))
        return report.heldFiles.isEmpty ? .ok : .differences
    }
}

private func size(_ bytes: Int) -> String { Quantities.size(UInt64(max(0, bytes))) }

extension CompactionReport {
    fileprivate func text(_ isDryRun: Bool) -> String {
        let would = isDryRun ? "would be " : ""
        return "\(Quantities.count(compactedSegments, "segment")) of \(segmentCount) \(would)"
            + "compacted, \(size(compactedBytes)); \(size(freedBytes)) \(would)freed; about "
            + "\(size(neededBytes)) are needed"
    }
}
