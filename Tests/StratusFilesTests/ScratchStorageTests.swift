import StratusFiles
import Support
import Testing

/// Temporary files over a storage that is only read.
@Suite struct ScratchStorageTests {
    private let disk = SimulatedDisk()

    private func make() throws -> ScratchStorage {
        try LocalStorage(at: "store", .writing(creating: true), on: disk.process())
            .put("kept", [1, 2, 3])
        disk.killProcesses()
        return ScratchStorage(
            over: try LocalStorage(at: "store", .reading, on: disk.process()), in: "store")
    }

    @Test func `what is put is read again beside what was there, and has no name on the disk`()
        throws
    {
        let storage = try make()
        let names = disk.paths
        try storage.put("b", [4, 5])
        try storage.put("a", [])
        try storage.put("c", [6, 7, 8, 9])
        #expect(try storage.open("b").read(0..<2) == [4, 5])
        #expect(try storage.open("c").read(1..<3) == [7, 8])
        #expect(try storage.open("a").length == 0)
        #expect(try storage.open("kept").read(0..<3) == [1, 2, 3])
        #expect(try storage.list().filter { $0.count == 1 } == ["a", "b", "c"])
        #expect(try storage.list().contains("kept"))
        #expect(fails(.truncated, "b") { _ = try storage.open("b").read(0..<3) })
        for name in ["b", "kept"] { #expect(fails(.exists, name) { try storage.put(name, [1]) }) }
        #expect(disk.paths == names)
    }

    @Test func `what is deleted is gone, and others stay as they are`() throws {
        let storage = try make()
        for number in 0..<3 as Range<UInt8> {
            try storage.put("\(number)", [UInt8](repeating: number, count: 100_000))
        }
        #expect(try storage.delete("1"))
        #expect(fails(.notFound, "1") { _ = try storage.open("1") })
        for number: UInt8 in [0, 2] {
            let bytes = try storage.open("\(number)").read(0..<100_000)
            #expect(bytes == [UInt8](repeating: number, count: 100_000))
        }
    }

    @Test func `a full disk, and a directory that is not there, are told with the directory`()
        throws
    {
        let storage = try make()
        disk.options.capacity = 0
        let bytes = [UInt8](repeating: 1, count: 9000)
        #expect(fails(.noSpace, "store") { try storage.put("a", bytes) })
        #expect(fails(.notFound, "a") { _ = try storage.open("a") })
        let lost = ScratchStorage(
            over: try LocalStorage(at: "store", .reading, on: disk.process()), in: "none")
        #expect(fails(.inputOutput, "none") { try lost.put("a", [1]) })
    }
}
