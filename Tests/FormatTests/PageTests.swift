import FoundationEssentials
import Stratus
import StratusArchive
import StratusBytes
import StratusJournal
import Support
import Testing
import StratusEngine

/// The pages say what the code refers to, and the samples are all listed.
@Suite struct PageTests {
    private static let pages = PackageFiles.names(in: "Formats").filter { $0.hasSuffix(".md") }

    /// A page that a comment cites, and the section it names, if any.
    struct Citation: Hashable, CustomTestStringConvertible {
        var page: String
        var section: String?
        var testDescription: String { section.map { "\(page), \($0)" } ?? page }
    }

    /// Citations are written `Formats/Page.md`, with the section's name in double quotes behind.
    static let citations: [Citation] = {
        var found: Set<Citation> = []
        for path in PackageFiles.paths(below: "Sources") where path.hasSuffix(".swift") {
            let text = (PackageFiles.text(path) ?? "").replacing(#/\n\s*/{2,3} /#, with: " ")
            for match in text.matches(of: /`Formats\/([A-Za-z\/]+\.md)`(?:, "([^"]+)")?/) {
                let section = match.output.2.map(String.init)
                found.insert(Citation(page: String(match.output.1), section: section))
            }
        }
        return found.sorted { $0.testDescription < $1.testDescription }
    }()

    @Test(arguments: citations)
    func `a page and a section that code cites are there`(citation: Citation) throws {
        let page = try #require(PackageFiles.text("Formats/\(citation.page)"))
        guard let section = citation.section else { return }
        let lines = page.split(separator: "\n")
        #expect(lines.contains { $0 == "## \(section)" }, "\(citation.testDescription)")
    }

    @Test func `code cites the pages, and the rule on versions is stated`() throws {
        let sections = Set(Self.citations.map(\.testDescription))
        #expect(sections.contains("Journal.md, Recovery"))
        #expect(sections.contains("README.md, Order of checks"))
        let page = try #require(PackageFiles.text("Formats/README.md"))
        #expect(page.contains("**Rule R26"))
    }

    @Test(arguments: pages)
    func `a page has short lines, tables aside`(page: String) throws {
        let text = try #require(PackageFiles.text("Formats/\(page)"))
        for line in text.split(separator: "\n") where !line.hasPrefix("|") {
            #expect(line.count <= 110, "\(line)")
        }
    }

    @Test func `the pages list every kind of entry and every keyspace`() throws {
        let registry = ProjectionRegistry.store
        let journal = try #require(PackageFiles.text("Formats/Journal.md"))
        let kinds = journal.matches(of: #/\n\| (\d+) \| ([a-z ]+) \| yes \|/#)
            .map { "\($0.output.1) \($0.output.2)" }
        #expect(kinds == registry.forms.map { "\($0.kind.rawValue) \($0.name)" })
        let page = try #require(PackageFiles.text("Formats/Index.md"))
        let index = try #require(page.split(separator: "\n## Layout").first)
        let keyspaces = index.matches(of: #/\n\| (\d+) \| ([A-Za-z]+) \| /#)
            .map { "\($0.output.1) \($0.output.2)" }
        #expect(keyspaces == registry.allKeyspaces.map { "\($0.rawValue) \($0.name)" })
    }

    /// A power of two as the pages write it.
    private static func size(_ bytes: Int) -> String {
        bytes >= 1 << 20 ? "\(bytes >> 20) MiB" : "\(bytes >> 10) KiB"
    }

    private static func thousands(_ number: Int) -> String {
        let rest = String(number % 1000)
        if number < 1000 { return rest }
        let zeros = String(repeating: "0", count: 3 - rest.count)
        return "\(thousands(number / 1000)),\(zeros)\(rest)"
    }

    /// What a page says of a limit, out of the constant that the code checks.
    static let limits: [(page: String, text: String)] = {
        let segments = SegmentHeader.leastLength...SegmentHeader.greatestLength
        let usual = JournalWriter.leastSegment...JournalWriter.greatestSegment
        let payload = FrameFormat.payloadLimit
        let power = segments.upperBound.trailingZeroBitCount
        let incarnations = Version.incarnationLimit
        let totals = "| at most 2^\(Manifest.Checkpoint.totalLimit.trailingZeroBitCount) |"
        return [
            ("Journal.md", "| at most \(size(payload)) (\(thousands(payload))) |"),
            ("Journal.md", "| \(GroupHeader.frameLength) to 2^\(power), multiple of 8 |"),
            ("Journal.md", "from \(size(segments.lowerBound)) to \(size(segments.upperBound))"),
            (
                "Journal.md",
                "for tests have \(size(usual.lowerBound)) to \(size(usual.upperBound))"
            ),
            ("Journal.md", "at most 1/\(SegmentHeader.preambleShare) of the segment's length"),
            ("Manifest.md", "| of the file in bytes | at most 2^\(power) |"),
            ("Manifest.md", "| at most \(thousands(Manifest.segmentLimit)) |"),
            (
                "Manifest.md",
                "at most \(size(Manifest.lengthLimit)) (\(thousands(Manifest.lengthLimit)) bytes)"
            ),
            (
                "Manifest.md",
                "how many names follow | at most \(thousands(Manifest.Checkpoint.fileLimit)) |"
            ),
            ("Manifest.md", "a varint length, at most \(Manifest.Checkpoint.nameLimit), and"),
            ("Manifest.md", "| at most \(size(Manifest.Checkpoint.stateLimit)) |"),
            ("Manifest.md", "| of versions that this store hands out | below \(incarnations) |"),
            ("Manifest.md", "how many ancestors follow | below \(Manifest.ancestorLimit) |"),
            ("Manifest.md", "and to less than \(StoreIdentity.incarnationLimit), and begins"),
            ("Manifest.md", "counted up to the offset \(totals)"),
            ("Manifest.md", "| commitCount | likewise \(totals)"),
            ("Journal.md", "| incarnation | | below \(incarnations) |"),
            (
                "Journal.md",
                "the newest, where there are more | at most \(StoreIdentity.ancestorLimit) |"
            ),
            ("Backup.md", "incarnation below \(ArchiveTable.incarnationLimit);"),
        ]
    }()

    @Test(arguments: limits)
    func `a limit of a page is that of the code`(page: String, limit: String) throws {
        let text = try #require(PackageFiles.text("Formats/\(page)"))
        #expect(text.replacing(#/\n/#, with: " ").contains(limit), "\(limit)")
    }

    @Test func `every sample is listed, and what is listed is there`() throws {
        let page = try #require(PackageFiles.text("Formats/samples/README.md"))
        let listed = page.matches(of: /\| `((?:valid|damaged)\/[a-z-]+)` \|/).map {
            String($0.output.1)
        }
        #expect(listed.sorted() == Sample.all.map(\.name).sorted())
    }

    /// Row, damage and place stand in the table as in the expectation.
    @Test(arguments: Sample.damaged)
    func `the table says of a damaged sample what its expectation says`(sample: Sample) throws {
        let page = try #require(PackageFiles.text("Formats/samples/README.md"))
        let row = try #require(
            page.split(separator: "\n").first { $0.hasPrefix("| `\(sample.name)` |") })
        let cells = row.split(separator: "|").map { $0.filter { $0 != "`" }.dropFirst().dropLast() }
        let expected = try #require(sample.expected)
        let line = /damage (.+?) byte (\d+)(?: offset \d+)? kind (.+)\n/
        if let match = expected.firstMatch(of: line) {
            #expect(cells[3] == match.output.3)
            #expect(cells[4] == "\(match.output.1) \(match.output.2)")
        }
        let decided = expected.firstMatch(of: /row (.)\n/)?.output.1
        #expect(cells[2] == decided ?? "–")
    }

    @Test func `the test vectors of the journal's page hold`() throws {
        let page = try #require(PackageFiles.text("Formats/Journal.md"))
        let rows = page.matches(of: /\| (hex|zeros) ?([0-9a-f]*) \| (\d+) \| ([0-9a-f]{16}) \|/)
        #expect(rows.count == 8)
        for row in rows {
            let isHex = row.output.1 == "hex"
            let input =
                isHex
                ? try #require(Hex.decode(row.output.2))
                : [UInt8](repeating: 0, count: try #require(Int(row.output.2)))
            let seed = try #require(UInt64(row.output.3))
            #expect(Hex.encode(Checksum.xxh3(input.span, seed: seed)) == row.output.4)
        }
    }

    @Test func `the test vector of the chain holds`() throws {
        let page = try #require(PackageFiles.text("Formats/Journal.md"))
            .replacing("\n", with: " ")
        let vector =
            /after the chain `(.{16})` and [^`]+ `(.{16})`, `(.{16})` and `(.{16})` comes the chain `(.{16})`/
        let words = try #require(page.firstMatch(of: vector)?.output)
        var writer = ByteWriter()
        writer.uint64(try #require(UInt64(words.2, radix: 16)))
        writer.uint64(try #require(UInt64(words.3, radix: 16)))
        writer.uint64(try #require(UInt64(words.4, radix: 16)))
        let seed = try #require(UInt64(words.1, radix: 16))
        #expect(Hex.encode(Checksum.xxh3(writer.bytes.span, seed: seed)) == words.5)
    }

    /// Lines of hex in a page's example: an address, bytes, and words behind three spaces.
    @Test(arguments: [
        ("Journal.md", "valid/one-zone", "journal-0000000000000000"),
        ("Manifest.md", "valid/one-zone", "manifest-0000000000000004"),
        ("Record.md", "valid/users", "journal-0000000000000000"),
        ("Index.md", "valid/index-versions", "index-0000000000000002"),
        ("Assets.md", "valid/assets", SampleMaker.chunkFile),
    ])
    func `the bytes of an example are those of the sample`(
        page: String, sample: String, file: String
    ) throws {
        let text = try #require(PackageFiles.text("Formats/\(page)"))
        let bytes = try #require(Sample(name: sample).files[file])
        let lines = text.matches(of: /\n    ([0-9a-f]{4})((?: [ ]?[0-9a-f]{2})+)(?=   |\n)/)
        #expect(lines.count >= 15)
        for line in lines {
            let place = try #require(Int(line.output.1, radix: 16))
            let stated = try #require(Hex.decode(line.output.2.filter { $0 != " " }))
            #expect(Array(bytes[place..<place + stated.count]) == stated, "\(line.output.0)")
        }
    }

    @Test func `the system fields of the example are the second sample`() throws {
        let text = try #require(PackageFiles.text("Formats/SystemFields.md"))
        let lines = text.matches(of: /\n    [0-9a-f]{2} ((?: [0-9a-f]{2})+)(?=   |\n)/)
        let stated = lines.map { $0.output.1.filter { $0 != " " } }.joined()
        let sample = Sample(name: "valid/system-fields")
        let file = try #require(sample.files[Sample.systemFields])
        #expect(String(decoding: file, as: UTF8.self).split(separator: "\n")[1] == stated)
    }

    @Test func `the token of the example is the second sample`() throws {
        let text = try #require(PackageFiles.text("Formats/Token.md"))
        let lines = text.matches(of: /\n    [0-9a-f]{2} ((?: [0-9a-f]{2})+)(?=   |\n)/)
        let bytes = try #require(
            Hex.decode(lines.map { $0.output.1.filter { $0 != " " } }.joined()))
        let token = Data(bytes).base64EncodedString()
        #expect(text.contains("\n    \(token)\n"))
        let tokens = try #require(Sample(name: "valid/tokens").files[Sample.tokens])
        #expect(String(decoding: tokens, as: UTF8.self).split(separator: "\n")[1] == token)
    }
}
