import Stratus
import StratusFiles
import StratusJournal
import Support
import Testing

/// Preambles whose checksums hold and that make no sense, or say something else than the entries
/// before them.
@Suite struct PreambleTests {
    struct Change: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var body: @Sendable (inout PreambleImage) -> Void

        init(_ name: String, _ body: @escaping @Sendable (inout PreambleImage) -> Void) {
            testDescription = name
            self.body = body
        }
    }

    /// Of the frame behind the first group frame.
    private static let byte = 4096 + 72

    @Test func `the preamble that is changed gives three locations`() async throws {
        let maker = try await SampleMaker.wideNames { preamble in
            #expect(preamble.count == 61)
            #expect(preamble.names.count < 31)
            #expect(preamble.locations.map(\.number) == [16, 31, 46])
        }
        #expect(try StoreVerification(maker.disk.storage(writing: false)).findings.isEmpty)
        #expect(try maker.open().information.nameCount == 61)
    }

    static let malformed = [
        Change("more names than a store may have") { $0.count = 65_537 },
        Change("more names repeated than there are") {
            $0.count = $0.names.count - 1
            $0.locations = []
        },
        Change("a name of 256 bytes") { $0.names[0] = [UInt8](repeating: 0x61, count: 256) },
        Change("a name that is not UTF-8") { $0.names[0] = [0xff] },
        Change("fewer names than it says") { $0.repeatedCount = $0.names.count + 40 },
        Change("no locations, though names are missing") { $0.locations = [] },
        Change("locations, though all names are repeated") { $0.count = $0.names.count },
        Change("a first location behind the repeated names") {
            $0.locations[0].number = $0.names.count + 1
        },
        Change("the same number twice") { $0.locations[1].number = $0.locations[0].number },
        Change("numbers that fall") { $0.locations[1].number = $0.locations[2].number + 1 },
        Change("the number of no name") { $0.locations[2].number = $0.count },
        Change("the same offset twice") { $0.locations[1].offset = $0.locations[0].offset },
        Change("offsets that fall") { $0.locations[1].offset = $0.locations[2].offset + 1 },
        Change("offset 0") { $0.locations[0].offset = 0 },
        Change("the offset of the preamble itself") { $0.locations[2].offset = $0.offset },
        Change("an offset that no journal has") { $0.locations[2].offset = 1 << 52 },
        Change("bytes behind the last location") { $0.rest = [0] },
    ]

    @Test(arguments: malformed)
    func `a preamble that makes no sense is refused at the opening and found`(
        change: Change
    ) async throws {
        let maker = try await SampleMaker.wideNames(preamble: change.body)
        let file = maker.segmentNames[1]
        let error = #expect(throws: JournalError.self) { try maker.open() }
        guard case .damaged(let damage)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(damage.kind.identifier == "payload.content")
        #expect(damage.file == file && damage.byte == Self.byte)
        try expectFinding("payload.content", in: maker)
    }

    static let untrue = [
        Change("another count of names") { $0.count += 1 },
        Change("another name") { $0.names[3] = Array("other".utf8) },
        Change("another number") { $0.locations[1].number -= 1 },
        Change("another entry") { $0.locations[1].offset += 1 },
        Change("an entry before its own") { $0.locations[0].number += 1 },
        Change("all names, and one too many") {
            $0.count = $0.names.count + 1
            $0.names.append(Array("more".utf8))
            $0.locations = []
        },
    ]

    @Test(arguments: untrue)
    func `a preamble that says something else than the entries is found, and no opening needs it`(
        change: Change
    ) async throws {
        let maker = try await SampleMaker.wideNames(preamble: change.body)
        try expectFinding("payload.preamble", in: maker)
        let container = try maker.open()
        #expect(container.information.nameCount == 61)
        try await container.close()
    }

    private func expectFinding(_ kind: String, in maker: SampleMaker) throws {
        maker.disk.killProcesses()
        let found = try StoreVerification(maker.disk.storage(writing: false)).findings
        #expect(found.map(\.place.kind) == [kind])
        #expect(found.first?.severity == .damage)
        #expect(found.first?.place.file == maker.segmentNames[1])
        #expect(found.first?.place.byte == Self.byte)
        #expect(found.first?.place.offset == PreambleImage([]).offset)
    }
}
