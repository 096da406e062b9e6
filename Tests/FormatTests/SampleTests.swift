import FoundationEssentials
import Stratus
import StratusArchive
import StratusBytes
import StratusFiles
import StratusJournal
import Support
import Testing

/// Reads every sample on a disk in memory; nothing in the repository is ever written.
@Suite struct SampleTests {
    /// All of `expected.txt` that can be found out about a store.
    private static func description(of files: StoreFiles) async throws -> [String] {
        let diagnosis = try await Diagnosis.opening(SimulatedDisk(holding: files))
        if diagnosis.first == "opens no" { return diagnosis }
        return diagnosis + (try await StoreDump.content(of: SimulatedDisk(holding: files)))
    }

    /// The same of what archives hold.
    private static func description(ofArchives archives: StoreFiles) async throws -> [String] {
        do {
            return try await description(of: ArchiveImage.files(of: archives))
        } catch let damage as ArchiveDamage {
            let cause = damage.identifier.hasPrefix("format.newer") ? "newerFormat" : "damaged"
            return [
                "opens no", "cause \(cause)",
                "damage \(damage.file) byte \(damage.byte) kind \(damage.identifier)",
            ]
        }
    }

    @Test(arguments: Sample.archives)
    func `an archive is read as its expectation says`(sample: Sample) async throws {
        let expected = Self.lines(sample.expected)
        #expect(!expected.isEmpty)
        let described = try await Self.description(ofArchives: sample.files)
        #expect(described == expected, "\(sample.name)")
    }

    private static func lines(_ text: String?) -> [String] {
        (text ?? "").split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            .dropLast()
    }

    @Test(arguments: Sample.stores)
    func `a store is read as its expectation says`(sample: Sample) async throws {
        let expected = Self.lines(sample.expected)
        #expect(!expected.isEmpty)
        let described = try await Self.description(of: sample.files)
        #expect(described == expected, "\(sample.name)")
    }

    @Test(arguments: Sample.stores)
    func `an opening for reading changes nothing and says the same`(sample: Sample) async throws {
        let expected = Self.lines(sample.expected)
        let disk = try SimulatedDisk(holding: sample.files)
        do {
            let container = try Container(reading: disk.storage(writing: false))
            #expect(expected.contains("opens yes"))
            #expect(expected.contains("row \(container.recoveryReport.row)"))
        } catch {
            #expect(Diagnosis.refusal(error) == expected)
        }
        #expect(disk.storeFiles == sample.files)
        #expect(!disk.exists("\(storePath)/writer"))
    }

    @Test(arguments: Sample.stores)
    func `the public interface names cause and place`(sample: Sample) async throws {
        let expected = Self.lines(sample.expected)
        do throws(StoreError) {
            let path = "\(PackageFiles.root)/\(sample.path)"
            _ = try await Container.openReadOnly(at: path)
            #expect(expected.contains("opens yes"))
        } catch {
            let said = Diagnosis.refusal(error)
            #expect(said.allSatisfy { expected.contains($0) }, "\(said)")
            #expect(error.code == .internalError)
        }
    }

    @Test(arguments: Sample.stores)
    func `what was recovered stays as it is through two more openings`(
        sample: Sample
    ) async throws {
        let expected = Self.lines(sample.expected)
        guard expected.contains("opens yes") else { return }
        let disk = try SimulatedDisk(holding: sample.files)
        _ = try await Diagnosis.opening(disk)
        let second = try await Diagnosis.opening(disk)
        #expect(second.prefix(3) == ["opens yes", "row K", "clean yes"])
        let content = try await StoreDump.content(of: disk)
        #expect(content == Array(expected.drop { $0 != "" }))
    }

    @Test(arguments: Sample.stores)
    func `a damaged store that is refused is not changed by the refusal`(
        sample: Sample
    ) async throws {
        let disk = try SimulatedDisk(holding: sample.files)
        let diagnosis = try await Diagnosis.opening(disk)
        if diagnosis.first == "opens no" { #expect(disk.storeFiles == sample.files) }
        #expect(diagnosis.count > 1)
    }

    @Test(arguments: RecoveryRow.allCases)
    func `every row of the table of recovery has a sample`(row: RecoveryRow) async throws {
        let line = "row \(row.rawValue)"
        if row == .readError { return try await expectReadErrorIsRefused() }
        let rows = Sample.damaged.filter {
            $0.name.hasPrefix("damaged/row-\(row.rawValue.lowercased())-")
        }
        #expect(!rows.isEmpty)
        for sample in rows { #expect(Self.lines(sample.expected).contains(line)) }
    }

    /// Row H: a medium that cannot be read is no sample.
    private func expectReadErrorIsRefused() async throws {
        let sample = Sample(name: "valid/segments")
        var number = 1
        while true {
            let disk = try SimulatedDisk(holding: sample.files)
            // From there on: of a manifest that cannot be read once, blocks are read one by one.
            disk.faults = [DiskFault(.fail(.inputOutput), at: number, of: .read, lasting: true)]
            let diagnosis = try await Diagnosis.opening(disk)
            if diagnosis.first == "opens yes" { break }
            #expect(diagnosis.last?.contains("inputOutput") == true, "read \(number)")
            #expect(disk.storeFiles == sample.files, "read \(number)")
            number += 1
        }
        #expect(number > 10)
    }

    @Test func `a sample of 16 KiB and more lies in several segments`() {
        let segments = Sample(name: "valid/segments").files.filter {
            $0.key.hasPrefix("journal-")
        }
        #expect(segments.count > 3)
        let live = segments.values.reduce(0) { sum, bytes in
            sum + bytes.count { $0 != 0 }
        }
        #expect(live > 16 << 10)
    }

    @Test func `what the store writes today is what the valid samples hold`() async throws {
        for (name, files) in try await SampleMaker.all() where name.hasPrefix("valid/") {
            let sample = Sample(name: name).files
            #expect(sample.keys.sorted() == files.keys.sorted(), "\(name)")
            let different = files.keys.filter { files[$0] != sample[$0] }
            #expect(different == [], "\(name)")
        }
    }
}

extension SampleTests {
    /// See `Formats/samples/README.md`. Nothing else in the package writes samples.
    @Test(.enabled(if: SampleFolder.wanted != nil))
    func `samples are made in the folder that is asked for`() async throws {
        let folder = try #require(SampleFolder.wanted)
        for (name, files) in try await SampleMaker.all() {
            let path = "\(folder)/\(name)"
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
            for (file, bytes) in files {
                try Data(bytes).write(to: URL(filePath: "\(path)/\(file)"))
            }
            var lines: [String]
            if let text = files[Sample.tokens] {
                lines = TokenTests.description(of: text)
            } else if let text = files[Sample.systemFields] {
                lines = SystemFieldsTests.description(of: text)
            } else if files.keys.contains(where: Sample.isArchive) {
                lines = try await Self.description(ofArchives: files)
            } else if files[Sample.description] != nil {
                lines = try IndexSampleTests.description(of: files)
            } else {
                lines = try await Self.description(of: files)
            }
            lines.append("")
            try Data(lines.joined(separator: "\n").utf8)
                .write(to: URL(filePath: "\(path)/\(Sample.expectation)"))
        }
    }
}

private enum SampleFolder {
    static let wanted = ProcessInfo.processInfo.environment["STRATUS_MAKE_SAMPLES"]
}
