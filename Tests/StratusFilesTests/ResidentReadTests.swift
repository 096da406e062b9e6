import StratusFiles
import Support
import Testing

/// Reads that must not wait.
struct ResidentReadTests {
    private func simulated(
        _ bytes: [UInt8], missesOneIn: Int
    ) throws -> (SimulatedDisk, any StorageFile) {
        let disk = SimulatedDisk()
        disk.options.missesOneIn = missesOneIn
        let storage = try LocalStorage(at: "store", .writing(creating: true), on: disk.process())
        try storage.put("a", bytes)
        return (disk, try storage.open("a"))
    }

    @Test func `what memory holds is read without waiting`() throws {
        let (_, file) = try simulated([1, 2, 3], missesOneIn: 0)
        #expect(try file.read(1..<3, .resident) == [2, 3])
        let memory = MemoryStorage()
        try memory.put("a", [1, 2, 3])
        #expect(try memory.open("a").read(0..<2, .resident) == [1, 2])
    }

    @Test func `what memory does not hold is not resident, and a blocking read has it`() throws {
        let (disk, file) = try simulated([1, 2, 3], missesOneIn: 1)
        disk.logsCalls = true
        #expect(throws: StorageError(.notResident, file: "a")) { try file.read(0..<3, .resident) }
        #expect(disk.log.map(\.call) == [.readResident])
        #expect(try file.read(0..<3, .blocking) == [1, 2, 3])
    }

    @Test(arguments: UInt64(0)..<20)
    func `an interrupted or partial resident read is whole or not resident`(seed: UInt64) throws {
        let bytes = (0..<2_000).map { UInt8(truncatingIfNeeded: $0) }
        let (disk, file) = try simulated(bytes, missesOneIn: 4)
        disk.options.missSeed = seed
        disk.misbehave(seed: seed, oneIn: 2)
        var outcomes: Set<Bool> = []
        for _ in 0..<40 {
            do throws(StorageError) {
                #expect(try file.read(7..<1_999, .resident) == Array(bytes[7..<1_999]))
                outcomes.insert(true)
            } catch {
                #expect(error.kind == .notResident)
                outcomes.insert(false)
            }
        }
        #expect(outcomes == [true, false])
    }
}
