import Stratus
import StratusJournal
import Testing

/// The log of a journal, the last entry first.
@Suite struct ReversedLogTests {
    private static func offsets(
        _ nextLine: () throws -> JournalLog.Line?
    ) throws -> [UInt64] {
        var offsets: [UInt64] = []
        while let line = try nextLine() { offsets.append(line.entry.offset.rawValue) }
        return offsets
    }

    private static func forward(
        _ container: Container, from start: UInt64 = 0, to end: UInt64? = nil
    ) throws -> [UInt64] {
        var log = container.log(from: start, to: end)
        return try offsets { try log.nextLine() }
    }

    private static func reversed(
        _ container: Container, from start: UInt64 = 0, to end: UInt64? = nil
    ) throws -> [UInt64] {
        var log = container.reversedLog(from: start, to: end)
        return try offsets { try log.nextLine() }
    }

    @Test(arguments: [false, true])
    func `it has the same entries, of a journal of several stretches`(
        isCompacted: Bool
    ) async throws {
        let (container, database) = try await makeDatabase()
        let text = String(repeating: "a text ", count: 9_000)
        // Some entries begin in one stretch and end in the next.
        for number in 0..<60 {
            try await database.save(note("\(number)", ["text": .string(text)]))
        }
        if isCompacted { try await container.maintenance.compact() }
        let all = try Self.forward(container)
        #expect(container.information.head > 3 << 17)
        #expect(try Self.reversed(container) == all.reversed())
        for place in stride(from: 0, to: all.count, by: 7) {
            for (start, end) in [
                (all[place], nil), (0, all[place]), (all[place] + 1, all.last),
                (all[place], all[place]), (all[place], all[place] + 1),
            ] {
                let forward = try Self.forward(container, from: start, to: end)
                let backward = try Self.reversed(container, from: start, to: end)
                #expect(backward == forward.reversed(), "\(start), \(String(describing: end))")
            }
        }
    }
}
