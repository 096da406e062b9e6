import Stratus
import StratusGateway

/// `stratus gc`: deletes unreferenced chunks of assets.
enum Collect {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openForWriting()
        let isDryRun = invocation.has("dry-run")
        let progress = ReadingProgress("reading", in: .items("record"), invocation, output)
        defer { progress.finish() }
        let report = try await container.closing {
            try await container.collectAssets(dryRun: isDryRun, progress: progress.count)
        }
        progress.finish()
        try output.header(schema: "stratus.gc/1")
        for segment in report.segments {
            try output.result("segment", segment.json, text: "\(segment.file): \(segment.text)")
            guard let keeper = segment.keeper else { continue }
            output.warning("gc.kept", keeper.text, file: segment.file)
        }
        try output.summary(report.json(isDryRun), text: report.text(isDryRun))
        return .ok
    }
}

private func size(_ bytes: Int) -> String { Quantities.size(UInt64(bytes)) }

extension CollectionReport.Segment {
    fileprivate var json: JSONObject {
        var object: JSONObject = [
            "file": .string(file), "reason": .string(reason.rawValue), "bytes": .integer(bytes),
            "reclaimedBytes": .integer(reclaimedBytes), "unnamedBytes": .integer(unnamedBytes),
            "copiedBytes": .integer(copiedBytes),
        ]
        object.append("kept", keeper.map { .string($0.rawValue) })
        return object
    }

    fileprivate var text: String {
        switch reason {
        case .unnamed:
            "nothing in it was named: \(size(bytes)), left by a save that was not finished, or by "
                + "a crash"
        case .replaced:
            "no record needs what is in it any more: \(size(reclaimedBytes)) were replaced, removed or "
                + "deleted" + rest
        case .mostlyDead:
            "mostly dead: \(size(reclaimedBytes)) of \(size(bytes)) were replaced, removed or deleted"
                + rest + "; \(size(copiedBytes)) are copied"
        }
    }

    private var rest: String {
        unnamedBytes > 0 ? ", \(size(unnamedBytes)) are of saves that were not finished" : ""
    }
}

extension CollectionReport.Segment.Keeper {
    fileprivate var text: String {
        switch self {
        case .reader: "a reading process may still need the segment"
        case .damage: "what is damaged in the segment was not copied"
        case .checkpoint: "no checkpoint could be taken, without which the segment must stay"
        }
    }
}

extension CollectionReport {
    fileprivate func json(_ isDryRun: Bool) -> JSONObject {
        [
            "dryRun": .boolean(isDryRun), "reclaimedChunks": .integer(reclaimedChunks),
            "reclaimedBytes": .integer(reclaimedBytes), "unnamedBytes": .integer(unnamedBytes),
            "copiedChunks": .integer(copiedChunks), "copiedBytes": .integer(copiedBytes),
            "deletedSegments": .integer(deletedSegments.count),
            "keptSegments": .integer(keptSegments.count), "freedBytes": .integer(freedBytes),
        ]
    }

    fileprivate func text(_ isDryRun: Bool) -> String {
        let would = isDryRun ? "would be " : ""
        return "\(Quantities.count(reclaimedChunks, "chunk")) that no record needs, "
            + "\(size(reclaimedBytes)), \(would)taken back; "
            + "\(Quantities.count(copiedChunks, "chunk")), \(size(copiedBytes)), \(would)copied; "
            + "\(Quantities.count(deletedSegments.count, "segment")) \(would)deleted, "
            + "\(size(unnamedBytes)) of them left by saves that were not finished; "
            + "\(size(max(0, freedBytes))) \(would)freed"
    }
}
