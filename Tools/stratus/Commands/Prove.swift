import Stratus
import StratusFiles
import StratusGateway

/// Reads every byte of a store and names what is damaged.
enum Verify {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let path = invocation.argument("STORE")
        let progress = ReadingProgress("verifying", invocation, output)
        let result = try await StoreVerification(at: path, progress: progress.update)
        progress.finish()
        for place in result.findings {
            try output.result(
                "finding", place.json,
                text: "\(place.file), byte \(place.byte): \(place.kind)"
                    + (place.record.map {
                        "; record \($0.recordName) of zone \($0.zoneID.zoneName), "
                            + "field \(place.field ?? "")"
                    } ?? "")
                    + (place.cure.map { "; \($0)" } ?? ""))
        }
        if result.findings.isEmpty {
            // The end of the journal is judged as an opening would, and nothing is changed. A group
            // that was being written when the writer died is no damage, but worth a word.
            let report = try await Container.openReadOnly(at: path).recoveryReport
            if report.possibleLoss, let damage = report.damage {
                output.warning(
                    "tail.lastGroup",
                    "the last group is not whole, from byte \(damage.byte) on; the next opening "
                        + "for writing ends the journal there", file: damage.file)
            }
        }
        let count = result.findings.count
        try output.summary(
            result.json,
            text: "\(count == 0 ? "no damage" : "\(count) findings") in "
                + "\(Quantities.count(UInt64(result.entryCount))) entries of "
                + "\(Quantities.count(UInt64(result.commitCount))) commits, "
                + "\(Quantities.size(UInt64(result.bytesRead))) in \(result.segmentCount) segments"
                + (result.hasCheckpoint
                    ? "; \(Quantities.size(UInt64(result.tableBytes))) in "
                        + "\(result.tableCount) tables of the index"
                    : "; there is no checkpoint yet")
                + (result.chunkCount > 0
                    ? "; \(Quantities.size(UInt64(result.chunkBytes))) in "
                        + "\(result.chunkCount) chunks of assets" : ""))
        return count == 0 ? .ok : .differences
    }
}

/// Writes the hash of what a store holds.
enum Hash {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let database = try invocation.readDatabase(of: container, at: container.snapshot())
        let zoneID = invocation.has("zone") ? invocation.zoneID : nil
        let total =
            try zoneID.map { try database.recordCount(inZoneWith: $0) }
            ?? database.usage().recordCount
        var progress = Progress(
            "hashing", .items("record"), total: UInt64(total), invocation.progress, to: output,
            at: Clock.monotonicNanoseconds)
        let hash = try database.contentHash(
            of: zoneID, includingSystem: invocation.has("system")
        ) { done in progress.update(UInt64(done), at: Clock.monotonicNanoseconds) }
        progress.finish(at: Clock.monotonicNanoseconds)
        try output.result(
            "hash", ["hash": .string(hash.description), "records": .integer(hash.recordCount)],
            text: hash.description)
        return .ok
    }
}
