import FoundationEssentials
import StratusTool
import Support
import Testing

/// What `verify` writes, and how it ends.
@Suite struct VerifyTests {
    private func verify(
        _ sample: String, json: Bool = false
    ) async throws -> (code: ExitCode, lines: [String]) {
        let (code, results, messages) = try await Place().run(
            "verify \(PackageFiles.root)/Formats/samples/\(sample)", json: json)
        #expect(messages == "")
        return (code, results.split(separator: "\n").map(String.init))
    }

    @Test(arguments: [
        ("valid/segments", ExitCode.ok, "", "no damage in"),
        (
            "valid/one-zone", .ok, "",
            "no damage in 2 entries of 1 commit, 216 B in 1 segment; there is no checkpoint yet"
        ),
        (
            "damaged/row-f-torn-tail", .ok,
            "journal-0000000000000000, byte 5872: frame.header checksum, offset OFFSET; a write was cut off",
            "no damage, but a torn tail, in"
        ),
        (
            "damaged/row-j-last-group", .differences,
            "journal-0000000000000000, byte 5696: frame.payload checksum, offset OFFSET; the next opening for "
                + "writing ends the journal there, and something acknowledged may be missing",
            "1 finding"
        ),
        (
            "damaged/row-d-before-stated-end", .differences,
            "journal-0000000000000000, byte 5200: frame.header checksum, offset OFFSET", "1 finding"
        ),
    ])
    func `the exit code is 1 where something is damaged or may be lost`(
        sample: String, code: ExitCode, finding: String, summary: String
    ) async throws {
        let text = try await verify(sample)
        #expect(text.code == code)
        #expect(text.lines.count == (finding.isEmpty ? 1 : 2))
        let first = text.lines.first.map { $0.replacing(/offset [0-9]+/, with: "offset OFFSET") }
        #expect(first?.hasPrefix(finding) == true, "\(text.lines)")
        #expect(text.lines.last?.hasPrefix(summary) == true)
    }

    @Test(arguments: [
        ("row-f-torn-tail", "checkpoint"), ("row-j-last-group", "diff"),
        ("row-d-before-stated-end", "salvage"), ("compacted-payload", "salvage"),
        ("chunk-checksum", "salvage"), ("chunk-segment-missing", "salvage"),
        ("checkpoint-flipped", "reindex"), ("manifest-flipped", "reindex"),
    ])
    func `each finding has its next command`(sample: String, command: String) async throws {
        let text = try await verify("damaged/\(sample)").lines.dropLast()
        #expect(!text.isEmpty && text.allSatisfy { $0.contains("; 'stratus ") }, "\(text)")
        #expect(text.allSatisfy { $0.contains("'stratus \(command) ") }, "\(text)")
        let json = try await verify("damaged/\(sample)", json: true).lines.dropLast()
        #expect(json.count == text.count)
        #expect(json.allSatisfy { $0.contains(#""hint":"'stratus "#) }, "\(json)")
    }

    @Test func `with --strict nothing is done where the last commits may be lost`() async throws {
        let place = try Place()
        let root = PackageFiles.root + "/Formats/samples/"
        for (name, sample) in [
            ("lost", "damaged/row-j-last-group"), ("torn", "damaged/row-f-torn-tail"),
        ] {
            try FileManager.default.copyItem(
                atPath: root + sample, toPath: place.path + "/" + name)
        }
        let journal = place.path + "/lost/journal-0000000000000000"
        let before = FileManager.default.contents(atPath: journal)
        for command in ["info", "hash", "checkpoint", "compact"] {
            let run = try await place.run("\(command) @/lost --strict")
            #expect(run.code == .damaged, "\(command)")
            #expect(run.messages.contains("byte 5696"), "\(command): \(run.messages)")
        }
        #expect(FileManager.default.contents(atPath: journal) == before)
        // What was never acknowledged is no loss.
        #expect(try await place.run("checkpoint @/torn --strict").code == .ok)
        #expect(try await place.run("checkpoint @/lost").code == .possibleLoss)
        #expect(try await place.run("checkpoint @/lost --strict").code == .ok)
    }

    @Test(arguments: [
        ("valid/segments", ""), ("damaged/row-f-torn-tail", "tornTail"),
        ("damaged/row-j-last-group", "possibleLoss"), ("damaged/row-d-before-stated-end", "damage"),
    ])
    func `the counts of the summary are those of the findings`(
        sample: String, severity: String
    ) async throws {
        let lines = try await verify(sample, json: true).lines
        let found = lines.filter { $0.contains(#""type":"finding""#) }
        let summary = try #require(lines.last)
        #expect(summary.contains(#""findings":\#(found.count),"#))
        for name in ["damage", "possibleLoss", "tornTail"] {
            let count = found.count { $0.contains(#""severity":"\#(name)""#) }
            #expect(count == (name == severity ? 1 : 0))
            #expect(summary.contains(#""\#(name)":\#(count),"#))
        }
    }

    @Test func `a store is verified bit by bit, and then anew`() async throws {
        let place = try Place()
        let store = "\(PackageFiles.root)/Formats/samples/valid/segments"
        let whole = try await verify("valid/segments", json: true).lines
        #expect(whole.last?.contains(#""segments":5,"#) == true)
        var runs: [String] = []
        repeat {
            let run = try await place.run(
                "verify \(store) --max-duration 0s --resume @/place", json: true)
            #expect(run.code == .ok && run.messages == "")
            runs.append(run.results)
        } while runs.last?.contains(#""next":"journal-"#) == true && runs.count < 9
        #expect(runs.count == 5 && runs.allSatisfy { $0.contains(#""segments":1,"#) })
        #expect(runs.last?.contains(#""next":"#) == false)
        // The store was read to its end.
        let next = try await place.run(
            "verify \(store) --max-duration 0s --resume @/place", json: true)
        #expect(next.results == runs.first)
        let text = try await place.run("verify \(store) --max-duration 0s --resume @/place")
        #expect(text.results.hasPrefix("no damage in ") && text.results.hasSuffix(" is next\n"))
    }

    @Test(arguments: [
        (#"{"type":"place","storeID":"00000000000000000000000000000000"}"#, "of another store"),
        ("", "does not say"), ("{}", "does not say"),
        (#"{"type":"place","next":"journal-12"}"#, "does not say"),
    ])
    func `a file that says nothing of the store is refused, and stays`(
        text: String, words: String
    ) async throws {
        let place = try Place()
        try place.write(text, "place")
        let store = "\(PackageFiles.root)/Formats/samples/valid/segments"
        let run = try await place.run("verify \(store) --resume @/place")
        #expect(run.code == .usage && run.messages.contains(words))
        #expect(FileManager.default.contents(atPath: place.path + "/place") == Data(text.utf8))
    }

    @Test(arguments: [
        "--subset 3", "--subset 0/3", "--subset 4/3", "--subset 1/2/3", "--max-duration 2",
        "--subset 1/2 --against @/certificate",
    ])
    func `a part that is none is refused`(options: String) async throws {
        let store = "\(PackageFiles.root)/Formats/samples/valid/segments"
        let run = try await Place().run("verify \(store) \(options)")
        #expect(run.code == .usage)
    }

    @Test func `a part says which one it is`() async throws {
        let store = "\(PackageFiles.root)/Formats/samples/valid/segments"
        let run = try await Place().run("verify \(store) --subset 2/3")
        #expect(run.code == .ok && run.results.hasPrefix("no damage in part 2 of 3: "))
    }
}
