import StratusFiles
import Support
import Testing

/// The faults, locks, counts and damage of the simulated disk.
struct SimulatedDiskFaultTests {
    private let disk = SimulatedDisk()

    private func durableFile(_ old: [UInt8]) throws -> (TestProcess, FileDescriptor) {
        let process = try TestProcess(disk)
        let file = try process.create("a")
        try process.write(old, to: file)
        try process.sync(file)
        try process.syncNames()
        return (process, file)
    }

    private func outcomes(_ disk: SimulatedDisk) -> Set<[UInt8]> {
        let snapshot = disk.snapshot()
        return Set(
            (UInt64(0)..<200).map { seed in
                let copy = SimulatedDisk(snapshot)
                copy.crash(seed: seed)
                return copy.contents("a")
            })
    }

    @Test func `a fault hits the call of its number, once or from then on`() throws {
        let (process, file) = try durableFile([1])
        let next = disk.callCount + 1
        disk.faults = [DiskFault(.fail(.inputOutput), at: next)]
        #expect(throws: SystemError(.inputOutput, in: "pread")) { try process.read(file) }
        #expect(try process.read(file) == [1])
        disk.faults = [DiskFault(.fail(.interrupted), at: next, lasting: true)]
        for _ in 0..<3 {
            #expect(throws: SystemError(.interrupted, in: "pread")) { try process.read(file) }
        }
    }

    @Test func `a fault may count calls of one kind`() throws {
        disk.faults = [DiskFault(.fail(.noSpace), at: 2, of: .write)]
        let (process, file) = try durableFile([1])
        #expect(throws: SystemError(.noSpace, in: "pwrite")) { try process.write([2], to: file) }
        #expect(try process.write([2], to: file) == 1)
    }

    @Test func `reads and writes may be short, by fault and by misbehaviour`() throws {
        let (process, file) = try durableFile([UInt8](repeating: 1, count: 100))
        disk.faults = [
            DiskFault(.short, at: 1, of: .read), DiskFault(.short, at: 2, of: .write),
        ]
        #expect(1..<100 ~= (try process.read(file).count))
        let bytes = [UInt8](repeating: 2, count: 100)
        #expect(1..<100 ~= (try process.write(bytes, to: file)))
        disk.misbehave(seed: 1, oneIn: 3)
        let counts = (0..<200).map { _ in (try? process.read(file).count) ?? -1 }
        #expect(counts.contains(-1))
        #expect(counts.contains { 1..<100 ~= $0 })
        #expect(counts.contains(100))
    }

    @Test func `a read may come from the wrong sector`() throws {
        let (process, file) = try durableFile(
            [UInt8](repeating: 1, count: 512) + [UInt8](repeating: 2, count: 512))
        disk.faults = [DiskFault(.misdirected, at: 1, of: .read)]
        #expect(try process.read(file, upTo: 512) == [UInt8](repeating: 2, count: 512))
    }

    @Test func `after a failed sync a later one succeeds and the data may still be lost`() throws {
        for call in [DiskCall.synchronizeData, .synchronize] {
            disk.killProcesses()
            if disk.exists("a") { disk.delete("a") }
            let (process, file) = try durableFile([1])
            try process.write([2], to: file)
            let next = disk.callCount + 1
            disk.faults = [DiskFault(.fail(.inputOutput), at: next)]
            #expect(throws: SystemError(.inputOutput, in: call.systemCall)) {
                switch call {
                case .synchronize: try process.files.synchronize(file)
                default: try process.files.synchronizeData(file)
                }
            }
            try process.files.synchronize(file)
            #expect(try process.read(file) == [2])
            #expect(outcomes(disk) == [[1], [2]])
            try process.write([3], to: file)
            try process.sync(file)
            #expect(outcomes(disk) == [[3]])
        }
    }

    @Test func `a failed sync may evict what was written, and an interrupted one harms nothing`()
        throws
    {
        disk.options.failedSyncEvicts = true
        let (process, file) = try durableFile([1])
        try process.write([2], to: file)
        let next = disk.callCount + 1
        disk.faults = [
            DiskFault(.fail(.interrupted), at: next), DiskFault(.fail(.inputOutput), at: next + 2),
        ]
        #expect(throws: SystemError.self) { try process.sync(file) }
        #expect(try process.read(file) == [2])
        #expect(throws: SystemError.self) { try process.sync(file) }
        #expect(try process.read(file) == [1])
        #expect(outcomes(disk) == [[1], [2]])
    }

    @Test func `names whose sync failed may be lost though a later one succeeds`() throws {
        let process = try TestProcess(disk)
        try process.sync(process.create("a"))
        disk.faults = [DiskFault(.fail(.inputOutput), at: disk.callCount + 1)]
        #expect(throws: SystemError.self) { try process.syncNames() }
        try process.syncNames()
        let snapshot = disk.snapshot()
        let found = Set(
            (UInt64(0)..<50).map { seed in
                let copy = SimulatedDisk(snapshot)
                copy.crash(seed: seed)
                return copy.paths
            })
        #expect(found == [[], ["a"]])
    }

    @Test func `a full disk refuses writes and allocations and shortens the last write`() throws {
        disk.options.capacity = 2048
        let (process, file) = try durableFile([UInt8](repeating: 1, count: 512))
        #expect(try process.write([UInt8](repeating: 2, count: 4000), to: file, at: 500) == 1548)
        #expect(throws: SystemError(.noSpace, in: "pwrite")) {
            try process.write([1], to: file, at: 2048)
        }
        #expect(try process.write([3], to: file, at: 0) == 1)
        try process.files.truncate(file, to: 4096)
        #expect(throws: SystemError(.noSpace, in: "fallocate")) {
            try process.files.allocate(file, 0..<4096)
        }
        try process.files.truncate(file, to: 512)
        try process.files.truncate(file, to: 1024)
        try process.files.allocate(file, 0..<1024)
        #expect(try process.write([UInt8](repeating: 4, count: 4000), to: file, at: 1024) == 1024)
    }

    @Test func `after the power cut every call fails until the disk is switched on`() throws {
        let (process, file) = try durableFile([1])
        disk.crashAtCall = disk.callCount + 1
        #expect(throws: SystemError(.inputOutput, in: "pwrite")) {
            try process.write([2], to: file)
        }
        #expect(disk.isOff)
        #expect(throws: SystemError(.inputOutput, in: "pread")) { try process.read(file) }
        let other = disk.process()
        #expect(throws: SystemError(.inputOutput, in: "open")) { try other.openDirectory("/") }
        #expect(outcomes(disk) == [[1], [2]])
        disk.crash(seed: 1)
        #expect(!disk.isOff)
        #expect(throws: SystemError(.inputOutput, in: "pread")) { try process.read(file) }
        let next = try TestProcess(disk)
        #expect(try next.names() == ["a"])
    }

    @Test func `a killed process loses its descriptors and locks, and not what it wrote`() throws {
        let (process, file) = try durableFile([1])
        let other = try TestProcess(disk)
        let same = try other.files.open("a", in: other.directory, .writing)
        try process.write([2], to: file)
        #expect(try process.files.lock(file, .exclusive))
        #expect(try !other.files.lock(same, .shared))
        process.files.kill()
        #expect(throws: SystemError.self) { try process.read(file) }
        #expect(try other.read(same) == [2])
        #expect(try other.files.lock(same, .exclusive))
        #expect(outcomes(disk) == [[1], [2]])
    }

    @Test func `locks belong to descriptors, as with flock`() throws {
        let (process, first) = try durableFile([1])
        let second = try process.files.open("a", in: process.directory, .writing)
        #expect(try process.files.lock(first, .shared))
        #expect(try process.files.lock(second, .shared))
        // A conversion that fails has given the old lock up.
        #expect(try !process.files.lock(second, .exclusive))
        #expect(try process.files.lock(first, .exclusive))
        #expect(try !process.files.lock(second, .shared))
        #expect(try process.files.lock(first, .none))
        #expect(try process.files.lock(second, .exclusive))
        try process.files.close(second)
        #expect(try process.files.lock(first, .exclusive))
    }

    @Test func `calls are counted and logged, and crash points kept after each change`() throws {
        disk.logsCalls = true
        disk.keepsCrashPoints = true
        let (process, file) = try durableFile([1])
        #expect(try process.read(file) == [1])
        #expect(
            disk.log.map(\.call) == [
                .openDirectory, .open, .write, .synchronizeData, .synchronize, .read,
            ])
        #expect(disk.log.map(\.name) == ["/", "a", "a", "a", "/", "a"])
        #expect(disk.callCount == 6)
        #expect(disk.crashPoints.map(\.call) == [2, 3, 4, 5])
        for seed in UInt64(0)..<20 {
            #expect(disk.crashPoints[3].crashed(seed: seed).contents("a") == [1])
        }
    }

    @Test func `the medium can be damaged in every way`() throws {
        disk.options.keepsReplacedSectors = true
        let (process, file) = try durableFile([UInt8](repeating: 1, count: 1000))
        try process.write([UInt8](repeating: 2, count: 1000), to: file)
        try process.sync(file)
        disk.flip("a", at: 3, mask: 4)
        #expect(try process.read(file)[3] == 6)
        #expect(disk.makeStale("a", sector: 0))
        #expect(!disk.makeStale("a", sector: 0, by: 3))
        disk.copySector("a", 0, to: "a", 1)
        #expect(disk.contents("a") == [UInt8](repeating: 1, count: 1000))
        disk.zeroSector("a", 1)
        disk.overwrite("a", at: 510, with: [5, 6, 7])
        #expect(disk.contents("a")[509..<514] == [1, 5, 6, 7, 0])
        disk.setLength("a", 2)
        disk.duplicate("a", to: "b")
        disk.move("a", to: "c")
        disk.link("b", to: "d")
        disk.replaceContents("b", [9])
        #expect(disk.paths == ["b", "c", "d"])
        disk.crash(seed: 3)
        #expect(disk.contents("c") == [1, 1])
        #expect(disk.contents("d") == [9])
        #expect(disk.durableContents("b") == [9])
        disk.delete("b")
        #expect(disk.paths == ["c", "d"])
    }
}
