import Stratus
import StratusFiles
import StratusGateway

/// Commands about the index of a store, which is a cache of its journal.
enum Maintain {
    static func stats(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        if invocation.has("assets") { return try await Assets.statistics(invocation, output) }
        let container = try await invocation.openStore()
        let statistics = try await container.indexStatistics()
        try output.header(schema: "stratus.stats/1")
        var lines: [(name: String, value: String)] = []
        for keyspace in statistics.keyspaces {
            try output.object("keyspace", keyspace.json)
            lines.append((keyspace.name, size(keyspace.entries, keyspace.bytes)))
        }
        for run in statistics.runs {
            try output.object("run", run.json)
            let tables = " in " + Quantities.count(run.tables, "table")
            lines.append(("run \(run.level)", size(run.entries, run.bytes) + tables))
        }
        try output.summary(statistics.json)
        let memory = size(statistics.memtableEntries, statistics.memtableBytes)
        let cache = "\(Quantities.size(UInt64(statistics.cacheBytes))) of "
        let rate = statistics.cacheHitRate.map { ", \(Int($0 * 100))% found there" } ?? ""
        lines += [
            ("in memory", memory),
            ("cache", cache + Quantities.size(UInt64(statistics.cacheLimit)) + rate),
            ("checkpoint", statistics.checkpointText),
        ]
        try Show.write(lines, to: output)
        return .ok
    }

    static func checkpoint(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openForWriting()
        let statistics = try await container.closing {
            try await container.checkpoint()
            return try await container.indexStatistics()
        }
        try output.summary(
            statistics.json(replayed: container.recoveryReport.replayedCommits),
            text: "checkpoint at \(statistics.place); the index has \(statistics.total)")
        return .ok
    }

    static func reindex(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let start = Clock.monotonicNanoseconds
        let progress = ReadingProgress("reindexing", invocation, output)
        let container = try await Container.reindex(
            at: invocation.argument("STORE"), progress: progress.update)
        progress.finish()
        let statistics = try await container.closing { try await container.indexStatistics() }
        let commits = container.recoveryReport.replayedCommits
        let seconds = Double(Clock.monotonicNanoseconds - start) / 1e9
        var object = statistics.json(replayed: commits)
        object.append("seconds", .double(seconds))
        try output.summary(
            object,
            text: "the index was rebuilt from \(Quantities.count(commits, "commit")) in "
                + "\(Quantities.duration(seconds: seconds)): \(statistics.total)")
        return .ok
    }

    private static func size(_ entries: Int, _ bytes: Int) -> String {
        "\(Quantities.count(entries, "entry")), \(Quantities.size(UInt64(bytes)))"
    }
}

extension IndexStatistics.Keyspace {
    fileprivate var json: JSONObject {
        ["name": .string(name), "entries": .integer(entries), "bytes": .integer(bytes)]
    }
}

extension IndexStatistics.Run {
    fileprivate var json: JSONObject {
        [
            "level": .integer(level), "tables": .integer(tables), "entries": .integer(entries),
            "bytes": .integer(bytes),
        ]
    }
}

extension IndexStatistics {
    fileprivate var place: String { checkpoint.map { "offset \($0)" } ?? "the beginning" }
    fileprivate var total: String {
        "\(Quantities.size(UInt64(bytes))) in \(Quantities.count(tables, "table"))"
    }

    /// For a line that is named `checkpoint`.
    var checkpointText: String {
        let length = Quantities.size(UInt64(journalBytesSinceCheckpoint))
        return checkpoint.map { "offset \($0), \(length) of journal behind it" }
            ?? "none: an opening reads all \(length) of the journal"
    }
}
