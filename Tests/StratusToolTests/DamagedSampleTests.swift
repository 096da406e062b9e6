import FoundationEssentials
import StratusTool
import Support
import Testing

/// Commands end with the right code on every sample of `Formats/samples/damaged`: with the one that
/// follows from what `Formats/samples/README.md` states of it.
@Suite struct DamagedSampleTests {
    private static let folder = "Formats/samples/damaged"

    /// What a row of the table states.
    struct Sample: Sendable, CustomTestStringConvertible {
        var name: String
        /// Of the table of recovery; `–` where there is none.
        var row: String
        /// The name of the damage; nil: nothing is damaged.
        var damage: String?
        var file: String
        var byte: Int?

        var testDescription: String { name }
        var path: String { "\(PackageFiles.root)/\(folder)/\(name)" }
        var files: [String] { PackageFiles.names(in: "\(folder)/\(name)") }

        /// `| sample | what is wrong | row | code | file and byte |`
        init?(row line: some StringProtocol) {
            let cells = line.split(separator: "|").map {
                $0.split(separator: " ").joined(separator: " ").replacing("`", with: "")
            }
            guard cells.count == 5, cells[0].hasPrefix("damaged/") else { return nil }
            name = String(cells[0].dropFirst("damaged/".count))
            row = cells[2]
            damage = cells[3] == "–" ? nil : cells[3]
            let place = cells[4].split(separator: " ")
            file = place.dropLast().joined(separator: " ")
            byte = place.last.flatMap { Int($0) }
        }

        var archive: String? { files.last { $0.hasSuffix(".archive") } }
        var isStore: Bool {
            archive == nil
                && files.contains { $0.hasPrefix("journal-") || $0.hasPrefix("manifest-") }
        }

        /// "Rows C, E, F, G, J and K are opened; everything else is refused".
        var opens: Bool { ["C", "E", "F", "G", "J", "K"].contains(row) }

        /// What of `Formats/README.md`, "Damage", is none.
        var isNewer: Bool {
            [
                "format.newer", "frame.newer", "frame.unknown kind", "chunk segment.newer",
                "chunk.newer",
            ].contains { damage?.hasPrefix($0) == true }
        }
    }

    static let samples: [Sample] = {
        let page = PackageFiles.text("Formats/samples/README.md") ?? ""
        return page.split(separator: "\n").compactMap { Sample(row: $0) }
    }()

    private static let stores = samples.filter(\.isStore)
    private static let archives = samples.filter { $0.archive != nil }
    private static let others = samples.filter { !$0.isStore && $0.archive == nil }

    @Test func `every damaged sample has a row, and is a store, an archive or a part`() {
        let names = PackageFiles.names(in: Self.folder)
        #expect(Self.samples.map(\.name).sorted() == names.sorted())
        #expect(Self.stores.count > 100 && Self.archives.count > 5 && Self.others.count > 5)
    }

    /// What refuses a store, and how a command ends that reads it.
    private func reading(_ sample: Sample) -> ExitCode {
        // What was acknowledged last may be missing.
        if sample.row == "C" || sample.row == "J" { return .possibleLoss }
        if sample.opens { return .ok }
        return sample.isNewer ? .newerFormat : .damaged
    }

    private func verification(_ sample: Sample) -> ExitCode {
        if sample.opens {
            // A write that was cut off and never acknowledged is no damage.
            let isTail = sample.row == "F" || sample.row == "G"
            return sample.damage == nil || isTail ? .ok : .differences
        }
        if sample.isNewer { return .newerFormat }
        // Without a manifest nothing says what there is to be verified.
        return sample.file.hasPrefix("manifest-") ? .damaged : .differences
    }

    /// Chunks are copied as they lie: their frames are checked, not what the bytes in them mean.
    private func backup(_ sample: Sample) -> ExitCode {
        let isOfFrame =
            sample.file.hasPrefix("chunks-")
            && !["chunk.address", "chunk.compression", "chunk.list"].contains(sample.damage ?? "")
        guard sample.opens, isOfFrame else { return reading(sample) }
        return sample.isNewer ? .newerFormat : .damaged
    }

    @Test(arguments: stores)
    func `commands on a store end as its damage says`(sample: Sample) async throws {
        let place = try Place()
        let expected = PackageFiles.text("\(Self.folder)/\(sample.name)/expected.txt") ?? ""
        let user =
            expected.split(separator: "\n").last { $0.hasPrefix("database _") }
            .map { $0.dropFirst("database ".count) } ?? "alice"
        let commands = [
            ("verify \(sample.path)", verification(sample)),
            ("records \(sample.path) --zone notes --as \(user)", reading(sample)),
            ("dump \(sample.path)", reading(sample)), ("log \(sample.path)", reading(sample)),
            ("backup \(sample.path) -o @/archive", backup(sample)),
        ]
        for (line, code) in commands {
            let run = try await place.run(line, json: true)
            #expect(run.code == code, "\(line): \(run.messages)")
            guard code == .damaged || code == .newerFormat else { continue }
            let byte = try #require(sample.byte)
            #expect(run.messages.contains("\"code\":\(code.number),"), "\(line): \(run.messages)")
            #expect(
                run.messages.contains("\"byte\":\(byte)}")
                    || run.messages.contains("\"byte\":\(byte),"), "\(line): \(run.messages)")
        }
        let isThere = FileManager.default.fileExists(atPath: place.path + "/archive")
        #expect(isThere == [.ok, .possibleLoss].contains(backup(sample)))
    }

    @Test(arguments: archives)
    func `commands on an archive end as its damage says`(sample: Sample) async throws {
        let place = try Place()
        let path = try "\(sample.path)/\(#require(sample.archive))"
        // What describes the archive is verified when it is opened, the parts when they are read.
        let isOfPart = sample.damage == "archive.part"
        let refusal: ExitCode = sample.isNewer ? .newerFormat : .invalidBackup
        let commands = [
            ("backups show \(path)", isOfPart ? .ok : refusal),
            ("backups verify \(path)", isOfPart ? .differences : refusal),
            ("backups merge \(path) -o @/merged", refusal),
            ("restore \(path) @/restored", refusal),
            ("restore \(path) @/restored --rehearse", refusal),
        ]
        for (line, code) in commands {
            let run = try await place.run(line)
            #expect(run.code == code, "\(line): \(run.messages)")
        }
        for name in ["merged", "restored"] {
            #expect(!FileManager.default.fileExists(atPath: "\(place.path)/\(name)"))
        }
    }

    @Test(arguments: others)
    func `what is no store is said to be none`(sample: Sample) async throws {
        let place = try Place()
        for command in ["verify", "dump", "log", "info"] {
            let run = try await place.run("\(command) \(sample.path)")
            #expect(run.code == .noStore, "\(command): \(run.messages)")
        }
    }

    @Test func `an asset of which the store has no bytes is not found`() async throws {
        let place = try Place()
        let store = "\(PackageFiles.root)/\(Self.folder)/asset-chunk"
        for line in [
            "asset \(store) long file @/file --zone notes --as alice",
            "dump \(store) --asset-files @/assets",
        ] {
            let run = try await place.run(line)
            #expect(run.code == .notFound, "\(line): \(run.messages)")
        }
    }

    @Test func `a damaged token is refused as one`() async throws {
        let place = try Place()
        try await place.importTree()
        let tokens = try #require(PackageFiles.text("\(Self.folder)/tokens/tokens.txt"))
        // An argument is one word here.
        let lines = tokens.split(separator: "\n").filter { !$0.contains(" ") }
        #expect(lines.count > 10)
        for token in lines {
            #expect(try await place.run("token @/store \(token)").code == .usage, "\(token)")
            let changes = try await place.run("changes @/store --zone files --since \(token)")
            #expect(changes.code == .usage, "\(token)")
        }
    }
}
