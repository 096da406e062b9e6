import FoundationEssentials
import Stratus
import StratusFiles
import StratusGateway
import Synchronization

/// Commands about the contents of assets.
enum Assets {
    static func read(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let path = invocation.optionalArgument("FILE").flatMap { $0 == "-" ? nil : $0 }
        if path == nil { try demandRoom(invocation, output) }
        let container = try await invocation.openStore()
        let database = try await invocation.readDatabase(of: container)
        let (id, field) = (try invocation.recordID(in: container), invocation.argument("FIELD"))
        let record = try database.record(for: id, desiredKeys: [field])
        guard let asset = record[field]?.assetValue, let size = asset.size else {
            throw ToolError(
                .notFound, id: "field.none",
                "the record \(id.recordName) has no asset in the field \(field)")
        }
        let start = min(Int(clamping: invocation.number("offset") ?? 0), size)
        let length = min(Int(clamping: invocation.number("length") ?? .max), size - start)
        let range = start..<start + length
        guard let path else {
            for try await chunk in try asset.chunks(in: range) { try output.bytes(Array(chunk)) }
            return .ok
        }
        Terminal.catchStopSignals()
        let progress = Progress(
            "writing", .bytes, total: UInt64(length), invocation.progress, to: output,
            at: Clock.monotonicNanoseconds)
        guard try await write(asset, range, to: path, in: container, progress) else {
            return .signal(Terminal.requestedStop ?? 0)
        }
        try output.summary(
            [
                "bytes": .integer(length), "size": .integer(size),
                "fileChecksum": .string(asset.fileChecksum ?? ""),
            ],
            text: "\(Quantities.size(UInt64(length))) of \(Quantities.size(UInt64(size)))")
        return .ok
    }

    /// Fails where the bytes of an asset must not be written as a result.
    private static func demandRoom(_ invocation: Invocation, _ output: Output) throws(ToolError) {
        if output.isJSON {
            throw .usage(
                "file", "with --json the results are objects: name a FILE for the asset")
        }
        let isMeant = [invocation.optionalArgument("FILE"), invocation.value("output")]
            .contains("-")
        if output.settings.resultsAreOnTerminal, !isMeant {
            throw .usage(
                "terminal", "an asset may be no text: name a FILE, or - to have it shown")
        }
    }

    /// False where the process was asked to stop; then there is no file.
    private static func write(
        _ asset: Asset, _ range: Range<Int>, to path: String, in container: Container,
        _ progress: Progress
    ) async throws -> Bool {
        let state = Mutex((progress: progress, written: 0))
        defer { state.withLock { $0.progress.finish(at: Clock.monotonicNanoseconds) } }
        do {
            let file = try container.makeFile(path, length: range.count)
            try await asset.copy(stopping: range) { slices, position throws(SystemError) in
                try file.write(slices, at: position)
                state.withLock { state in
                    state.written += slices.reduce(0) { $0 + $1.count }
                    state.progress.update(
                        UInt64(state.written), at: Clock.monotonicNanoseconds)
                }
            }
            try file.place()
            return true
        } catch is CancellationError {
            return false
        } catch let error as SystemError {
            throw ToolError(error, "cannot make the file", path)
        }
    }

    static func statistics(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let found = try await container.assetStatistics()
        try output.header(schema: "stratus.assets/1")
        for length in found.lengths {
            try output.object(
                "chunks", ["below": .integer(length.limit), "count": .integer(length.count)])
        }
        var object: JSONObject = [
            "assets": .integer(found.assetCount), "logicalBytes": .integer(found.logicalBytes),
            "chunks": .integer(found.chunkCount), "uniqueBytes": .integer(found.uniqueBytes),
            "storedBytes": .integer(found.storedBytes), "segments": .integer(found.segmentCount),
        ]
        object.append("deduplication", found.deduplicationRatio.map(JSONValue.double))
        object.append("compression", found.compressionRatio.map(JSONValue.double))
        try output.summary(object)
        func size(_ bytes: Int) -> String { Quantities.size(UInt64(bytes)) }
        func ratio(_ ratio: Double?) -> String {
            ratio.map { ", \(Double(Int($0 * 100)) / 100) to 1" } ?? ""
        }
        var lines = [
            (
                "logical",
                "\(size(found.logicalBytes)) in \(Quantities.count(found.assetCount, "asset"))"
            ),
            (
                "unique",
                "\(size(found.uniqueBytes)) in \(Quantities.count(found.chunkCount, "chunk"))"
                    + ratio(found.deduplicationRatio)
            ),
            (
                "stored",
                "\(size(found.storedBytes)) in \(Quantities.count(found.segmentCount, "segment"))"
                    + ratio(found.compressionRatio)
            ),
        ]
        lines += found.lengths.map {
            ("below \(size($0.limit))", Quantities.count($0.count, "chunk"))
        }
        try Show.write(lines, to: output)
        return .ok
    }
}
