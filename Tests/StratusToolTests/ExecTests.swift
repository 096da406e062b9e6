import FoundationEssentials
import Stratus
import StratusGateway
import StratusTool
import Support
import Synchronization
import Testing

/// `stratus exec`: lines in, lines out.
@Suite struct ExecTests {
    /// How many requests are sent at once: STRATUS_EXEC_REQUESTS.
    private static let requestCount =
        ProcessInfo.processInfo.environment["STRATUS_EXEC_REQUESTS"].flatMap { Int($0) } ?? 10_000

    private static let makeZone =
        #"{"id":"z","as":"a","call":"zones/modify","body":{"operations":["#
        + #"{"operationType":"create","zone":{"zoneID":{"zoneName":"n"}}}]}}"#

    private static func save(_ id: Int, name: String? = nil) -> String {
        let name = name ?? "r\(id)"
        return #"{"id":\#(id),"as":"a","call":"records/modify","body":{"zoneID":{"zoneName":"n"},"#
            + #""operations":[{"operationType":"forceUpdate","record":{"recordName":"\#(name)","#
            + #""recordType":"T","fields":{"x":{"value":\#(id)}}}}]}}"#
    }

    /// What the command says to `input`, in reads that end anywhere.
    private func exec(
        _ options: String, _ input: [UInt8], in place: Place, readLimit: Int = 65_536
    ) async throws -> (code: ExitCode, lines: [String]) {
        let capture = Capture()
        let rest = Mutex(input[...])
        let words = "exec \(place.path)/store \(options)".split(separator: " ").map(String.init)
        let invocation = try ArgumentParser.parse(words, .stratus)
        let output = capture.output()
        let code = try await Exec.run(invocation, output) {
            rest.withLock { rest in
                defer { rest = rest.dropFirst(readLimit) }
                return Array(rest.prefix(readLimit))
            }
        }
        try output.flush()
        return (code, capture.results.split(separator: "\n").map(String.init))
    }

    private func id(_ line: String) -> String {
        String(line.dropFirst(#"{"id":"#.count).prefix { $0 != "," })
    }

    @Test func `requests that are sent at once are answered once each, in their order`()
        async throws
    {
        let place = try Place()
        let lines = [Self.makeZone] + (0..<Self.requestCount).map { Self.save($0) }
        let (code, answers) = try await exec(
            "--create --durability none", Array(lines.joined(separator: "\n").utf8), in: place)
        #expect(code == .ok)
        #expect(answers.map(id) == ["\"z\""] + (0..<Self.requestCount).map(String.init))
        #expect(answers.allSatisfy { $0.contains(#""status":200,"#) && !$0.contains("ErrorCode") })
    }

    @Test func `a path that is not absolute begins where the process was started`() async throws {
        let place = try Place()
        let names = try FileManager.default.contentsOfDirectory(atPath: ".")
        let name = try #require(names.first { FileManager.default.contents(atPath: $0) != nil })
        let size = try #require(FileManager.default.contents(atPath: name)).count
        let line = #"{"id":1,"as":"a","call":"assets/upload","body":{"path":"\#(name)"}}"#
        let (_, answers) = try await exec("--create", Array(line.utf8), in: place)
        #expect(answers.first?.contains(#""size":\#(size)"#) == true, "\(answers)")
    }

    @Test func `--files bounds the paths that requests may name`() async throws {
        let place = try Place()
        func upload(_ path: String, _ options: String) async throws -> String {
            let line = #"{"id":1,"as":"a","call":"assets/upload","body":{"path":"\#(path)"}}"#
            return try await exec("--create \(options)", Array(line.utf8), in: place).lines[0]
        }
        let (inside, outside) = ("\(place.path)/tree/sub/b.txt", "\(place.path)/tree/a.txt")
        let box = "--files \(place.path)/tree/sub"
        for (path, options, isPermitted) in [
            (outside, "", true), (inside, box, true), ("b.txt", box, true), (outside, box, false),
            ("../a.txt", box, false), (inside, "--files none", false),
            ("b.txt", "--files none", false), ("\(place.path)/store/lock", "", false),
        ] {
            let answer = try await upload(path, options)
            #expect(
                answer.contains(isPermitted ? #""status":200"# : "ACCESS_DENIED"),
                "\(path) \(options): \(answer)")
        }
    }

    @Test func `a caller may be named by a user record name`() async throws {
        let place = try Place()
        let name = "_00112233445566778899aabbccddeeff"
        let line = #"{"id":1,"as":"\#(name)","call":"users/caller"}"#
        let (_, answers) = try await exec("--create", Array(line.utf8), in: place)
        #expect(answers.first?.contains(#""userRecordName":"\#(name)""#) == true, "\(answers)")
    }

    @Test func `with jobs each request is answered once`() async throws {
        let place = try Place()
        _ = try await exec("--create", Array(Self.makeZone.utf8), in: place)
        let lines = (0..<Self.requestCount).map { Self.save($0) + "\n" }
        let (_, answers) = try await exec(
            "--jobs 64 --durability none", Array(lines.joined().utf8), in: place)
        #expect(answers.count == Self.requestCount)
        #expect(Set(answers.map(id)) == Set((0..<Self.requestCount).map(String.init)))
        #expect(answers.allSatisfy { !$0.contains("ErrorCode") })
        let hash = try await place.run("hash @/store --as a", json: true).results
        #expect(hash.contains(#""records":\#(Self.requestCount)"#))
    }

    @Test(arguments: ["", "--seed 1 --now 2026-01-31T12:00:00Z"])
    func `a reader beside a running exec sees every change that was answered`(
        options: String
    ) async throws {
        let place = try Place()
        let process = try ToolProcess(
            ["exec", "\(place.path)/store", "--create"]
                + options.split(separator: " ").map(String.init))
        process.write(Self.makeZone)
        #expect(process.readLine().contains(#""status":200,"#))
        let reader = try await Container.openReadOnly(at: place.path + "/store")
        let zone = RecordZone.ID(zoneName: "n")
        for id in 0..<5 {
            process.write(Self.save(id))
            #expect(process.readLine().hasPrefix(#"{"id":\#(id),"status":200,"#))
            // Its input is open, and nothing further comes.
            try await reader.refresh()
            let record = try await reader.privateDatabase(for: "a").record(
                for: Record.ID(recordName: "r\(id)", zoneID: zone))
            #expect(record["x"]?.int64Value == Int64(id))
        }
        let other = try await place.run("info @/store --as a", json: true)
        #expect(other.results.contains(#""records":5"#))
        process.closeInput()
        #expect(process.wait() == 0)
    }

    @Test func `a line that is no request is answered with its number, and the next is served`()
        async throws
    {
        let place = try Place()
        let nested = String(repeating: "[", count: 100_000)
        let lines = [
            Self.makeZone, "", "  \r", "nonsense", Self.save(1) + "\r", nested, #"{"id":1e999}"#,
            Self.save(2), #"{"id":3,"call":"zones/list","as":"a","x":0}"#, Self.save(4),
        ]
        let (code, answers) = try await exec(
            "--create", Array(lines.joined(separator: "\n").utf8), in: place, readLimit: 7)
        #expect(code == .ok)
        #expect(answers.map(id) == ["\"z\"", "null", "1", "null", "null", "2", "3", "4"])
        let numbers = answers.filter { id($0) == "null" }.map {
            $0.split(separator: #""line":"#).last.map { $0.prefix { $0 != "," } }
        }
        #expect(numbers == ["4", "6", "7"])
        #expect(answers[6].contains(#""status":400"#))
    }

    /// Lines that are no requests, by what is wrong with them.
    private static let hostileText: [(what: String, line: String)] = [
        ("nonsense", "nonsense"),
        ("half an object", #"{"id":1,"call":"zones/list""#),
        ("nested lists", String(repeating: "[", count: 100_000)),
        ("nested objects", String(repeating: #"{"a":"#, count: 100_000)),
        ("a body nested deeper than 64", #"{"id":1,"call":"zones/list","body":\#(nested)}"#),
        ("a number beyond a Double", #"{"id":1e999,"call":"zones/list"}"#),
        ("a number of 100,000 digits", #"{"id":1,"call":"zones/list","as":\#(digits)}"#),
        ("a number that is none", #"{"id":NaN,"call":"zones/list"}"#),
        ("a wrong type", #"{"id":1,"call":"zones/list","as":7}"#),
        ("a body that is no object", #"{"id":1,"call":"zones/list","body":[]}"#),
        ("an unknown key of the envelope", #"{"id":1,"call":"zones/list","user":"a"}"#),
        ("an unknown key of the body", #"{"id":1,"as":"a","call":"zones/list","body":{"x":0}}"#),
        ("a key twice", #"{"id":1,"call":"zones/list","id":2}"#),
        ("an unknown call", #"{"id":1,"as":"a","call":"zones/lists"}"#),
        ("NUL in text", "{\"id\":1,\"call\":\"zones/list\u{0}\"}"),
        ("half of a surrogate pair", #"{"id":1,"call":"\ud800"}"#),
    ]
    private static let nested =
        String(repeating: #"{"a":"#, count: 70) + "1" + String(repeating: "}", count: 70)
    private static let digits = String(repeating: "9", count: 100_000)

    private static let hostile: [(what: String, line: [UInt8])] = {
        var lines: [(what: String, line: [UInt8])] = hostileText.map {
            ($0.what, Array($0.line.utf8))
        }
        let begun: [UInt8] = Array(#"{"id":1,"call":""#.utf8)
        lines.append(("text that is not UTF-8", begun + [0xC3, 0x28, 0x22, 0x7D]))
        lines.append(("a line of NUL", [UInt8](repeating: 0, count: 1000)))
        let random = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 37) | 0x80 }
        lines.append(("bytes at random", random))
        return lines
    }()

    @Test(arguments: hostile.indices)
    func `a hostile line is refused as a bad request, and the next one is served`(
        number: Int
    ) async throws {
        let (what, line) = Self.hostile[number]
        let next = Array(#"{"id":"next","as":"a","call":"zones/list"}"#.utf8)
        // Without an end at the end of the input it is a line all the same.
        for input in [line + [0x0A] + next, next + [0x0A] + line] {
            let (code, answers) = try await exec(
                "--create", input, in: try Place(), readLimit: 4096)
            #expect(code == .ok && answers.count == 2, "\(what)")
            let refused = answers.filter { id($0) != "\"next\"" }
            #expect(refused.count == 1, "\(what)")
            #expect(refused.allSatisfy { $0.contains(#""status":400,"#) }, "\(what): \(refused)")
            #expect(refused.allSatisfy { $0.contains(#""serverErrorCode":"BAD_REQUEST""#) })
            #expect(answers.contains { $0.hasPrefix(#"{"id":"next","status":200,"#) }, "\(what)")
        }
    }

    @Test func `a line of a hundred mebibytes is refused, and the next one is served`() {
        var reader = LineReader(limit: 1 << 20)
        let block = [UInt8](repeating: UInt8(ascii: "x"), count: 256 << 10)
        for _ in 0..<400 {
            reader.append(block)
            #expect(reader.next() == nil)
        }
        reader.append(Array("\nnext\n".utf8))
        #expect(reader.next() == .tooLong(number: 1))
        #expect(reader.next() == .line(Array("next".utf8), number: 2))
    }

    @Test func `a line that is too long is passed over`() {
        var reader = LineReader(limit: 10)
        var lines: [LineReader.Line] = []
        let text = "0123456789\n0123456789a\nb\n\n" + String(repeating: "c", count: 100) + "\nd"
        for byte in text.utf8 {
            reader.append([byte])
            while let line = reader.next() { lines.append(line) }
        }
        if let line = reader.last() { lines.append(line) }
        #expect(
            lines == [
                .line(Array("0123456789".utf8), number: 1), .tooLong(number: 2),
                .line([UInt8(ascii: "b")], number: 3), .tooLong(number: 5),
                .line([UInt8(ascii: "d")], number: 6),
            ])
    }

    @Test(arguments: ["none", "full"])
    func `the same input makes the same store and the same answers`(
        durability: String
    ) async throws {
        var random = SeededGenerator(seed: 5)
        var lines = [Self.makeZone]
        for id in 0..<300 { lines.append(Self.save(id, name: "r\(random.below(50))")) }
        lines.append(
            #"{"id":9,"as":"a","call":"records/modify","body":{"operations":"#
                + #"[{"operationType":"create","record":{"recordType":"T"}}]}}"#)
        lines.append("bad")
        let input = Array(lines.joined(separator: "\n").utf8)
        let options = "--create --seed 7 --now 2026-01-31T12:00:00.5Z --durability \(durability)"
        let (first, second) = (try Place(), try Place())
        let answers = try await exec(options, input, in: first, readLimit: 1000).lines
        #expect(try await exec(options, input, in: second, readLimit: 333).lines == answers)
        #expect(answers[1].contains(#""timestamp":1769860800500"#))
        let files = FileManager.default
        let names = try files.contentsOfDirectory(atPath: first.path + "/store").sorted()
        #expect(try files.contentsOfDirectory(atPath: second.path + "/store").sorted() == names)
        for name in names {
            let contents = files.contents(atPath: "\(first.path)/store/\(name)")
            #expect(contents == files.contents(atPath: "\(second.path)/store/\(name)"), "\(name)")
        }
    }

    @Test func `a store is made only where that is asked for, and read only where that is`()
        async throws
    {
        let place = try Place()
        await #expect(throws: (any Error).self) {
            try await exec("", Array(Self.makeZone.utf8), in: place)
        }
        _ = try await exec("--create", Array(Self.makeZone.utf8), in: place)
        let input = [Self.save(1), #"{"id":2,"as":"a","call":"zones/list"}"#]
        let (_, answers) = try await exec(
            "--read-only", Array(input.joined(separator: "\n").utf8), in: place)
        #expect(answers[0].contains(#""serverErrorCode":"ACCESS_DENIED""#))
        #expect(answers[1].contains(#""zoneName":"n""#))
    }

    /// The status of the answer to a query.
    private func status(of query: String, _ options: String, in place: Place) async throws -> Int {
        let line = #"{"id":1,"as":"a","call":"records/query","body":{"query":{\#(query)}}}"#
        let answer = try #require(
            try await exec("--create \(options)", Array(line.utf8), in: place).lines.first)
        return answer.contains(#""status":200,"#) ? 200 : answer.contains(#"":12,"#) ? 400 : 0
    }

    @Test(arguments: [
        ("", 200), ("--profile unlimited", 200), ("--profile cloudKit", 400),
        ("--queries extended", 200), ("--queries service", 400),
        ("--profile cloudKit --queries extended", 200),
        ("--profile unlimited --queries service", 400),
    ])
    func `--queries says which predicates a query may have, whatever the profile says`(
        options: String, expected: Int
    ) async throws {
        let query = #""recordType":"T","predicate":"x = 1 OR x = 2""#
        let place = try Place()
        // Of a field that has an index, which CloudKit's profile demands.
        let save = Self.save(1).replacing(#""zoneID":{"zoneName":"n"},"#, with: "")
        _ = try await exec("--create --profile cloudKit", Array(save.utf8), in: place)
        #expect(try await status(of: query, options, in: place) == expected)
    }

    @Test func `--now is the moment of now() in predicates`() async throws {
        let query = #""recordType":"T","predicate":"creationDate = now() AND x = 1""#
        let save = Self.save(1).replacing(#""zoneID":{"zoneName":"n"},"#, with: "")
        let line = #"{"id":2,"as":"a","call":"records/query","body":{"query":{\#(query)}}}"#
        let (_, answers) = try await exec(
            "--create --now 2026-01-31T12:00:00.5Z", Array("\(save)\n\(line)".utf8),
            in: try Place())
        #expect(answers.last?.contains(#""recordName":"r1""#) == true, "\(answers)")
    }

    @Test func `the example in the README does what it says`() async throws {
        let readme = try #require(PackageFiles.text("README.md"))
        let lines = readme.split(separator: "\n").filter { $0.hasPrefix(#"{"id":"#) }
        #expect(lines.count >= 3)
        let (_, answers) = try await exec(
            "--create", Array(lines.joined(separator: "\n").utf8), in: try Place())
        #expect(answers.map(id) == (1...lines.count).map(String.init))
        #expect(answers.allSatisfy { $0.contains(#""status":200"#) && !$0.contains("ErrorCode") })
    }
}
