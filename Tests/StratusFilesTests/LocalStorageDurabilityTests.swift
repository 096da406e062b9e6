import StratusFiles
import Support
import Testing

struct LocalStorageDurabilityTests {
    /// A process died between making the folder and syncing the one above; the next one found it
    /// there and relied on it.
    @Test func `the folder of a store is durable, whichever process made it`() throws {
        let disk = SimulatedDisk()
        let process = disk.process()
        try process.makeDirectory("store")
        process.kill()
        let storage = try LocalStorage(at: "store", .writing(creating: true), on: disk.process())
        try storage.put("a", [1])
        for seed in UInt64(0)..<20 {
            let copy = SimulatedDisk(copying: disk)
            copy.crash(seed: seed)
            #expect(copy.exists("store/a"))
        }
    }

    @Test func `bytes written again are durable though a sync of them had failed`() throws {
        let disk = SimulatedDisk()
        let storage = try LocalStorage(at: "store", .writing(creating: true), on: disk.process())
        let file = try storage.create("a", length: 16 << 10)
        try file.append([UInt8](repeating: 5, count: 600).span, at: 0)
        disk.faults = [DiskFault(.fail(.inputOutput), at: disk.callCount + 1)]
        #expect(throws: StorageError.self) { try file.sync() }
        disk.faults = []
        try file.sync()
        func isKept(_ disk: SimulatedDisk, seed: UInt64) -> Bool {
            let copy = SimulatedDisk(copying: disk)
            copy.crash(seed: seed)
            return copy.contents("store/a").prefix(600).allSatisfy { $0 == 5 }
        }
        // The sync that succeeded covers nothing that the failed one left.
        #expect(!(UInt64(0)..<20).allSatisfy { isKept(disk, seed: $0) })
        try file.rewrite(0..<600)
        try file.sync()
        #expect((UInt64(0)..<20).allSatisfy { isKept(disk, seed: $0) })
    }

    @Test func `where the usual reservation does not fit, what is needed may`() throws {
        let disk = SimulatedDisk()
        var policy = WritePolicy()
        policy.zeroFill = 0
        let storage = try LocalStorage(
            at: "store", .writing(creating: true), on: disk.process(), policy: policy)
        let file = try storage.create("a", length: 8 << 20)
        disk.options.capacity = 64 << 10
        try file.append([UInt8](repeating: 5, count: 8 << 10).span, at: 0)
        #expect(throws: StorageError.self) {
            try file.append([UInt8](repeating: 5, count: 128 << 10).span, at: 8 << 10)
        }
        try file.append([UInt8](repeating: 6, count: 8 << 10).span, at: 8 << 10)
        #expect(disk.contents("store/a")[16_383] == 6)
    }

    @Test func `zeros are written ahead of small appends, but not of one behind a large one`()
        throws
    {
        let disk = SimulatedDisk()
        let storage = try LocalStorage(at: "store", .writing(creating: true), on: disk.process())
        let file = try storage.create("a", length: 4 << 20)
        try file.append([UInt8](repeating: 5, count: 4096).span, at: 0)
        var end = 4096
        func calls(appending count: Int) throws -> Int {
            let before = disk.callCount
            try file.append([UInt8](repeating: 5, count: count).span, at: end)
            end += count
            return disk.callCount - before
        }
        // As commits of many records are, and the empty groups behind them.
        for count in [100_000, 160, 100_000, 160] {
            #expect(try calls(appending: count) == 1, "\(count)")
        }
        #expect(try calls(appending: 160) == 2)
        #expect(try calls(appending: 160) == 1)
    }
}
