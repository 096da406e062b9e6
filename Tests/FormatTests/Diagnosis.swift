import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// What an opening says of a store, as text: the first lines of `expected.txt`.
enum Diagnosis {
    /// Opens the store on `disk` for writing and closes it again.
    static func opening(_ disk: SimulatedDisk) async throws -> [String] {
        let container: Container
        do {
            container = try Container(
                writing: disk.storage(writing: true), creating: false, durability: .full,
                options: JournalOptions(), steppedByCaller: true)
        } catch {
            return refusal(error)
        }
        let report = container.recoveryReport
        try await container.close()
        var lines = [
            "opens yes", "row \(report.row)", "clean \(report.wasClean ? "yes" : "no")",
            "possible-loss \(report.possibleLoss ? "yes" : "no")", "end \(report.end)",
            "commits \(report.replayedCommits)", "dropped-bytes \(report.droppedBytes)",
        ]
        lines += report.discardedFiles.map { "discarded \($0)" }
        lines += report.manifestDamage.map { [line($0.file, $0.byte, $0.offset, $0.kind)] } ?? []
        lines += report.damage.map { [line($0.file, $0.byte, $0.offset, $0.kind)] } ?? []
        return lines
    }

    static func refusal(_ error: any Error) -> [String] {
        var lines = ["opens no"]
        if case JournalError.refused(let row, _)? = error as? JournalError {
            lines.append("row \(row.rawValue)")
        }
        switch error {
        case JournalError.refused(_, let damage), JournalError.damaged(let damage):
            lines += ["cause damaged", line(damage)]
        case JournalError.newerFormat(let damage):
            lines += ["cause newerFormat", line(damage)]
        case let damage as JournalDamage:
            return refusal(JournalError(damage))
        case JournalError.noStore:
            lines.append("cause none")
        default:
            lines.append("cause \(error)")
        }
        return lines
    }

    /// What the public interface says of the same.
    static func refusal(_ error: StoreError) -> [String] {
        var lines = [error.cause.map { "cause \($0)" } ?? "cause none"]
        lines += error.place.map { [line($0.file, $0.byte, $0.offset, $0.kind)] } ?? []
        return lines
    }

    private static func line(_ damage: JournalDamage) -> String {
        line(damage.file, damage.byte, damage.offset?.rawValue, damage.kind.identifier)
    }

    private static func line(
        _ file: String, _ byte: Int, _ offset: UInt64?, _ kind: String
    ) -> String {
        "damage \(file) byte \(byte)" + (offset.map { " offset \($0)" } ?? "") + " kind \(kind)"
    }
}

/// The error of a call that must fail.
func failure<Value>(
    _ body: () async throws -> Value, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> StoreError {
    let error = await #expect(throws: StoreError.self, sourceLocation: sourceLocation) {
        _ = try await body()
    }
    return try #require(error, sourceLocation: sourceLocation)
}
