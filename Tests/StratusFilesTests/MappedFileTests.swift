import FoundationEssentials
import StratusFiles
import Support
import Testing

/// Files that do not change any more, read as memory.
@Suite final class MappedFileTests {
    private let path = FileManager.default.temporaryDirectory.path + "/stratus-\(UUID())"

    deinit { try? FileManager.default.removeItem(atPath: path) }

    private let content = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 / 7) }

    private func mapped(
        on disk: SimulatedDisk
    ) throws -> (storage: LocalStorage, file: any StorageFile) {
        let storage = try LocalStorage(
            at: "store", .writing(creating: true), on: disk.process(), maps: true)
        try storage.put("a", content)
        return (storage, try storage.openUnchanging("a"))
    }

    @Test func `pages that were read are read again without a call`() throws {
        let disk = SimulatedDisk()
        let (storage, file) = try mapped(on: disk)
        disk.logsCalls = true
        #expect(try file.read(5000..<9000) == Array(content[5000..<9000]))
        #expect(disk.log.map(\.call) == [.read])
        // All of it lies in the second page and the third.
        for range in [4096..<4097, 5000..<9000, 12_287..<12_288, 4096..<12_288] {
            #expect(try file.read(range) == Array(content[range]))
            #expect(try file.read(range, .resident) == Array(content[range]))
        }
        #expect(disk.log.map(\.call) == [.read])
        for range in [4095..<4097, 12_287..<12_289] {
            #expect(try file.read(range) == Array(content[range]))
        }
        #expect(disk.log.map(\.call) == [.read, .read, .read])
        // A file that may change is read by calls alone.
        let plain = try storage.open("a")
        for _ in 0..<3 { #expect(try plain.read(5000..<9000) == Array(content[5000..<9000])) }
        #expect(disk.log.count { $0.call == .read } == 6)
    }

    @Test func `what was never read and is not in memory is not waited for`() throws {
        let disk = SimulatedDisk()
        let (_, file) = try mapped(on: disk)
        disk.options.missesOneIn = 1
        #expect(throws: StorageError(.notResident, file: "a")) {
            try file.read(100..<200, .resident)
        }
        #expect(try file.read(100..<200) == Array(content[100..<200]))
        #expect(try file.read(100..<200, .resident) == Array(content[100..<200]))
        #expect(throws: StorageError(.notResident, file: "a")) {
            try file.read(100..<5000, .resident)
        }
    }

    @Test func `what is read once is not counted as read`() throws {
        let disk = SimulatedDisk()
        let (_, file) = try mapped(on: disk)
        #expect(try file.read(0..<100, .streamed) == Array(content[0..<100]))
        disk.options.missesOneIn = 1
        #expect(throws: StorageError(.notResident, file: "a")) {
            try file.read(0..<100, .resident)
        }
    }

    @Test func `a medium that fails, and an end that is passed, are errors at the first reading`()
        throws
    {
        let disk = SimulatedDisk()
        let (_, file) = try mapped(on: disk)
        disk.faults = [DiskFault(.fail(.inputOutput), at: 1, of: .read, lasting: true)]
        #expect {
            try file.read(0..<100)
        } throws: {
            ($0 as? StorageError)?.kind == .inputOutput
        }
        disk.faults = []
        #expect(try file.read(0..<100) == Array(content[0..<100]))
        #expect(throws: StorageError(.truncated, file: "a")) { try file.read(49_990..<50_001) }
        #expect(try file.read(49_990..<50_000) == Array(content[49_990...]))
        #expect(throws: StorageError(.truncated, file: "a")) { try file.read(49_990..<50_001) }
        #expect(try file.read(7..<7) == [])
    }

    @Test func `where the system refuses a mapping the file is read by calls`() throws {
        let disk = SimulatedDisk()
        let (storage, _) = try mapped(on: disk)
        disk.faults = [DiskFault(.fail(.other(12)), at: 1, of: .map, lasting: true)]
        let file = try storage.openUnchanging("a")
        disk.logsCalls = true
        for _ in 0..<3 { #expect(try file.read(0..<100) == Array(content[0..<100])) }
        #expect(disk.log.map(\.call) == [.read, .read, .read])
        try storage.put("empty", [])
        #expect(try storage.openUnchanging("empty").read(0..<0) == [])
    }

    @Test(arguments: [true, false])
    func `random ranges are what lies there, from many threads`(onDisk: Bool) async throws {
        let storage =
            onDisk
            ? try LocalStorage(at: path, .writing(creating: true), maps: true)
            : try LocalStorage(
                at: "store", .writing(creating: true), on: SimulatedDisk().process(), maps: true)
        try storage.put("a", content)
        let file = try storage.openUnchanging("a")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for seed in UInt64(1)...4 {
                group.addTask { [content] in
                    var random = SeededGenerator(seed: seed)
                    for _ in 0..<500 {
                        let start = random.below(content.count)
                        let end = start + random.below(min(9000, content.count - start + 1))
                        let found = try file.read(start..<end)
                        #expect(found == Array(content[start..<end]))
                    }
                }
            }
            try await group.waitForAll()
        }
        // What was read stays as long as the file is in use.
        #expect(try file.read(0..<content.count) == content)
        #expect(try storage.delete("a"))
        #expect(try file.read(0..<content.count) == content)
    }
}
