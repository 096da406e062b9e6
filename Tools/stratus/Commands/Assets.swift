import FoundationEssentials
import Stratus
import StratusGateway

/// Commands about the contents of assets.
enum Assets {
    static func read(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let database = invocation.database(of: container)
        let (name, field) = (invocation.argument("RECORD"), invocation.argument("FIELD"))
        let record = try await database.record(
            for: Record.ID(recordName: name, zoneID: invocation.zoneID), desiredKeys: [field])
        guard let asset = record[field]?.assetValue, let size = asset.size else {
            throw ToolError.usage("field", "the record has no asset in the field \(field)")
        }
        let start = min(Int(clamping: invocation.number("offset") ?? 0), size)
        let length = min(
            Int(clamping: invocation.number("length") ?? .max), size - start)
        try await asset.write(
            to: invocation.argument("FILE"), bytes: start..<start + length)
        try output.summary(
            [
                "bytes": .integer(length), "size": .integer(size),
                "fileChecksum": .string(asset.fileChecksum ?? ""),
            ],
            text: "\(Quantities.size(UInt64(length))) of \(Quantities.size(UInt64(size)))")
        return .ok
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
        let count = Quantities.count(UInt64(found.assetCount))
        var lines = [
            ("logical", "\(size(found.logicalBytes)) in \(count) assets"),
            (
                "unique",
                "\(size(found.uniqueBytes)) in \(Quantities.count(UInt64(found.chunkCount))) chunks"
                    + ratio(found.deduplicationRatio)
            ),
            (
                "stored",
                "\(size(found.storedBytes)) in \(found.segmentCount) segments"
                    + ratio(found.compressionRatio)
            ),
        ]
        lines += found.lengths.map {
            ("below \(size($0.limit))", Quantities.count(UInt64($0.count)) + " chunks")
        }
        try Show.write(lines, to: output)
        return .ok
    }
}
