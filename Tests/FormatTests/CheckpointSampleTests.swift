import StratusFiles
import StratusJournal
import Support
import Testing

/// Samples whose manifest holds a checkpoint, read by the journal alone.
@Suite struct CheckpointSampleTests {
    private static let samples = Sample.stores.filter { $0.name.contains("/checkpoint") }

    private static func report(
        _ sample: Sample, refusing: Bool = false
    ) throws -> RecoveryReport {
        let storage = try SimulatedDisk(holding: sample.files).storage(writing: false)
        let manifest = try #require(try Journal.newestManifest(in: storage))
        var reader = JournalReader(manifest, in: storage, fold: NoFold()) { _ in
            refusing ? nil : NoFold()
        }
        try reader.read(.toTheEnd)
        return reader.report
    }

    @Test func `the whole one is begun at, and reading all of the journal ends in the same way`()
        throws
    {
        let sample = Sample(name: "valid/checkpoint")
        let report = try Self.report(sample)
        let whole = try Self.report(sample, refusing: true)
        #expect(report.checkpoint != nil)
        #expect(report.discardedCheckpoint == nil)
        #expect(whole.discardedCheckpoint?.kind == .checkpoint("refused"))
        #expect(report.end == whole.end)
        #expect(report.row == whole.row)
        #expect(report.replayedCommits == 2)
        #expect(whole.replayedCommits == 11)
    }

    @Test(arguments: samples.filter { $0.name.hasPrefix("damaged/") })
    func `one that is of no use is named as the table says`(sample: Sample) throws {
        let page = try #require(PackageFiles.text("Formats/samples/README.md"))
        let row = try #require(
            page.split(separator: "\n").first { $0.hasPrefix("| `\(sample.name)` |") })
        let cells = row.split(separator: "|").map { $0.filter { $0 != "`" }.dropFirst().dropLast() }
        let report = try Self.report(sample)
        let damage = try #require(report.discardedCheckpoint)
        #expect(cells[3] == damage.kind.identifier)
        #expect(cells[4] == "\(damage.file) \(damage.byte)")
        #expect(report.checkpoint == nil)
        #expect(report.end == (try Self.report(Sample(name: "valid/checkpoint"))).end)
    }

    @Test(arguments: samples)
    func `a full verification finds what is wrong with a checkpoint`(sample: Sample) throws {
        let storage = try SimulatedDisk(holding: sample.files).storage(writing: false)
        let manifest = try #require(try Journal.newestManifest(in: storage))
        var verifier = JournalVerifier(manifest, in: storage)
        try verifier.run { _, _ in nil }
        #expect(verifier.findings.isEmpty == sample.name.hasPrefix("valid/"))
    }
}
