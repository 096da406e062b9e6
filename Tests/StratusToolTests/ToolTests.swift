import StratusTool
import Testing

struct ToolTests {
    private struct Unforeseen: Error {}

    private func run(
        _ line: String, _ capture: Capture, _ handler: @escaping Handler
    ) async throws -> ExitCode {
        let tool = Tool(.stratus, ["info": handler])
        return await tool.perform(try parse(line), capture.output())
    }

    @Test func `a command's results leave at its end and its code is the tool's`() async throws {
        let capture = Capture()
        let code = try await run("info ./s", capture) { invocation, output in
            try output.line(invocation.argument("STORE"))
            return .partial
        }
        #expect(code == .partial)
        #expect(capture.results == "./s\n")
    }

    @Test func `what a command throws is reported and gives the code`() async throws {
        let capture = Capture()
        let code = try await run("info s", capture) { _, _ in
            throw ToolError(.locked, id: "store.locked", "another writer has it")
        }
        #expect(code == .locked)
        #expect(capture.messages == "stratus: another writer has it\n")
    }

    @Test func `an unforeseen error is internal`() async throws {
        let capture = Capture()
        let code = try await run("info s", capture) { _, _ in throw Unforeseen() }
        #expect(code == .internal)
        #expect(capture.messages == "stratus: Unforeseen()\n")
    }

    @Test func `a reader that has gone is a quiet end`() async throws {
        let capture = Capture()
        capture.closeReader()
        let code = try await run("info s", capture) { _, output in
            try output.line("x")
            return .ok
        }
        #expect(code.number == 141)
        #expect(capture.messages.isEmpty)
    }

    @Test func `the version is that of the tool`() async throws {
        let capture = Capture()
        let code = await Tool.stratus.perform(try parse("version"), capture.output())
        #expect(code == .ok)
        #expect(capture.results == "stratus \(Tool.version)\n")
    }

    @Test(arguments: [
        (UInt64(0), "0", "0 B"), (999, "999", "999 B"), (1_023, "1,023", "1023 B"),
        (1_024, "1,024", "1.0 KiB"), (10_239, "10,239", "9.9 KiB"), (10_240, "10,240", "10 KiB"),
        (1_048_575, "1,048,575", "1023 KiB"), (3 << 20, "3,145,728", "3.0 MiB"),
        (.max, "18,446,744,073,709,551,615", "15 EiB"),
    ])
    func `quantities read well`(value: UInt64, count: String, size: String) {
        #expect(Quantities.count(value) == count)
        #expect(Quantities.size(value) == size)
    }

    @Test func `one thing is not told as many`() {
        #expect(Quantities.count(1, "entry") == "1 entry")
        #expect(Quantities.count(0, "entry") == "0 entries")
        #expect(Quantities.count(1_200, "record") == "1,200 records")
    }

    @Test(arguments: [
        (0, "0 ms", "0 s"), (0.25, "250 ms", "1 s"), (2.125, "2.1 s", "3 s"),
        (9.99, "9.9 s", "10 s"), (59.5, "59 s", "1 min 0 s"), (200, "3 min 20 s", "3 min 20 s"),
        (18_720, "5 h 12 min", "5 h 12 min"), (.infinity, "very long", "very long"),
        (.nan, "very long", "very long"), (-3, "0 ms", "0 s"),
    ])
    func `what something took is told as it was, what it will take is not told too short`(
        seconds: Double, took: String, left: String
    ) {
        #expect(Quantities.duration(seconds: seconds) == took)
        #expect(Quantities.remaining(seconds: seconds) == left)
    }
}
