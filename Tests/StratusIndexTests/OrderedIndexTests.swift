import FoundationEssentials
import StratusBytes
import StratusFiles
import StratusIndex
import Support
import Testing

/// An index against a model that forgets nothing.
@Suite struct OrderedIndexTests {
    /// How many seeds, and how many steps each: for the campaign.
    private static let seeds = number("STRATUS_INDEX_SEEDS") ?? 10
    private static let steps = number("STRATUS_INDEX_STEPS") ?? 10_000
    private static let firstSeed = UInt64(number("STRATUS_SEED") ?? 0)

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    @Test(arguments: firstSeed..<firstSeed + UInt64(seeds))
    func `random changes, points and jobs leave what the model says`(seed: UInt64) throws {
        var run = IndexRun(seed: seed, in: MemoryStorage())
        for _ in 0..<Self.steps { try run.step() }
        try run.check()
        // Most of what was expected stands where the run reads.
        #expect(run.found >= Self.steps / 100)
    }

    @Test(arguments: firstSeed..<firstSeed + UInt64(seeds))
    func `what memory cannot answer is answered when it is asked again`(seed: UInt64) throws {
        let disk = SimulatedDisk()
        disk.options.missesOneIn = 3
        disk.options.missSeed = seed
        let storage = try LocalStorage(
            at: "store", .writing(creating: true), on: disk.process())
        var run = IndexRun(seed: seed, in: storage)
        for _ in 0..<Self.steps { try run.step() }
        try run.check()
        // Most of what was expected stands where the run reads.
        #expect(run.found >= Self.steps / 100)
    }
}
