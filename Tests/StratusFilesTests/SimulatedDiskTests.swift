import StratusFiles
import Support
import Testing

/// What the simulated disk may do to data, and what it must never do.
struct SimulatedDiskTests {
    private let disk = SimulatedDisk()

    /// The outcomes of crashes of copies of `disk` over many seeds.
    private func outcomes<Outcome: Hashable>(
        of disk: SimulatedDisk, seeds: Range<UInt64> = 0..<400,
        _ outcome: (SimulatedDisk) throws -> Outcome
    ) rethrows -> Set<Outcome> {
        let snapshot = disk.snapshot()
        return Set(
            try seeds.map { seed in
                let copy = SimulatedDisk(snapshot)
                copy.crash(seed: seed)
                return try outcome(copy)
            })
    }

    /// A disk with a durable file `a` that holds `old`.
    private func durableFile(_ old: [UInt8]) throws -> (TestProcess, FileDescriptor) {
        let process = try TestProcess(disk)
        let file = try process.create("a")
        try process.write(old, to: file)
        try process.sync(file)
        try process.syncNames()
        return (process, file)
    }

    @Test func `an unsynced write may be lost at a crash or not, and a synced one never is`() throws
    {
        let old = [UInt8](repeating: 1, count: 512)
        let (process, file) = try durableFile(old)
        try process.write([UInt8](repeating: 2, count: 512), to: file, at: 512)
        let heads = outcomes(of: disk) { $0.contents("a").prefix(512) }
        #expect(heads == [old[...]])
        let lengths = outcomes(of: disk) { $0.contents("a").count }
        #expect(lengths == [512, 1024])
    }

    @Test func `sectors of a write survive in any subset`() throws {
        let (process, file) = try durableFile([UInt8](repeating: 0, count: 1536))
        try process.write([UInt8](repeating: 1, count: 1536), to: file)
        disk.options.tearsSectors = false
        let found = outcomes(of: disk) { disk in
            [0, 512, 1024].map { disk.contents("a")[$0] }
        }
        #expect(found.count == 8)
    }

    @Test func `every version of a sector since the last sync may be what survives`() throws {
        let (process, file) = try durableFile([0])
        for value in 1...3 { try process.write([UInt8(value)], to: file) }
        #expect(outcomes(of: disk) { $0.contents("a") } == [[0], [1], [2], [3]])
        try process.sync(file)
        #expect(outcomes(of: disk) { $0.contents("a") } == [[3]])
    }

    @Test func `a sector may be torn, in either order, unless that is off`() throws {
        let (process, file) = try durableFile([UInt8](repeating: 1, count: 512))
        try process.write([UInt8](repeating: 2, count: 512), to: file)
        let isTorn = { (disk: SimulatedDisk) in
            let bytes = disk.contents("a")
            return [bytes[0], bytes[511]]
        }
        #expect(outcomes(of: disk, isTorn) == [[1, 1], [1, 2], [2, 1], [2, 2]])
        disk.options.tearsSectors = false
        #expect(outcomes(of: disk, isTorn) == [[1, 1], [2, 2]])
    }

    @Test func `a length may survive without its data, over zeros or over old blocks`() throws {
        let (process, file) = try durableFile([1])
        try process.write([UInt8](repeating: 2, count: 1023), to: file, at: 1)
        let gap = { (disk: SimulatedDisk) in
            let bytes = disk.contents("a")
            #expect(bytes[0] == 1)
            return bytes.count == 1024 ? bytes[600] : 255
        }
        #expect(outcomes(of: disk, gap) == [0, 2, 255])
        disk.options.garbageInGaps = true
        #expect(outcomes(of: disk, gap).subtracting([0, 1, 2, 255]).isEmpty == false)
    }

    @Test func `allocated space is zeros, or old blocks after a crash where that is on`() throws {
        let (process, file) = try durableFile([1])
        try process.files.truncate(file, to: 4096)
        try process.files.allocate(file, 0..<4096)
        try process.sync(file)
        let rest = { (disk: SimulatedDisk) in
            disk.contents("a").dropFirst(512).allSatisfy { $0 == 0 }
        }
        #expect(outcomes(of: disk, rest) == [true])
        disk.options.garbageInAllocations = true
        #expect(outcomes(of: disk, rest).contains(false))
        #expect(outcomes(of: disk) { $0.contents("a")[0] } == [1])
    }

    @Test func `a cut may be undone by a crash, and a synced cut is not`() throws {
        let old = [UInt8](repeating: 1, count: 1200)
        let (process, file) = try durableFile(old)
        try process.files.truncate(file, to: 100)
        #expect(try process.read(file) == [UInt8](repeating: 1, count: 100))
        #expect(outcomes(of: disk) { $0.contents("a").count } == [100, 1200])
        try process.files.truncate(file, to: 600)
        let zeros = [UInt8](repeating: 0, count: 500)
        #expect(try process.read(file) == old.prefix(100) + zeros)
        try process.sync(file)
        #expect(outcomes(of: disk) { $0.contents("a") } == [old.prefix(100) + zeros])
    }

    @Test func `the same seed gives the same crash`() throws {
        let (process, file) = try durableFile([UInt8](repeating: 1, count: 5000))
        try process.write([UInt8](repeating: 2, count: 5000), to: file, at: 700)
        for name in ["b", "c", "d"] { _ = try process.create(name) }
        for seed in UInt64(0)..<50 {
            let found = outcomes(of: disk, seeds: seed..<seed + 1) {
                [$0.paths.description, "\($0.contents("a"))"]
            }
            let again = outcomes(of: disk, seeds: seed..<seed + 1) {
                [$0.paths.description, "\($0.contents("a"))"]
            }
            #expect(found == again)
        }
    }

    @Test func `a copy of a disk is independent`() throws {
        let (process, file) = try durableFile([1])
        let copy = SimulatedDisk(copying: disk)
        try process.write([2], to: file)
        try process.sync(file)
        #expect(copy.contents("a") == [1])
        copy.flip("a", at: 0)
        #expect(disk.contents("a") == [2])
    }
}

// Names.
extension SimulatedDiskTests {
    @Test func `names persist in any subset until their directory is synced`() throws {
        let process = try TestProcess(disk)
        for name in ["a", "b", "c"] { try process.sync(process.create(name)) }
        #expect(outcomes(of: disk) { $0.paths }.count == 8)
        try process.syncNames()
        #expect(outcomes(of: disk) { $0.paths } == [["a", "b", "c"]])
        try process.files.unlink("a", in: process.directory)
        #expect(outcomes(of: disk) { $0.paths } == [["a", "b", "c"], ["b", "c"]])
        try process.syncNames()
        #expect(outcomes(of: disk) { $0.paths } == [["b", "c"]])
    }

    @Test func `a rename leaves the old name, the new one or both, and never none`() throws {
        let (process, _) = try durableFile([7])
        try process.files.rename("a", to: "b", in: process.directory)
        try process.files.rename("b", to: "c", in: process.directory)
        let found = outcomes(of: disk) { $0.paths }
        #expect(found.isSuperset(of: [["a"], ["b"], ["c"], ["a", "c"]]))
        #expect(!found.contains([]))
        let bytes = outcomes(of: disk) { disk in disk.paths.map { disk.contents($0) } }
        #expect(bytes.allSatisfy { $0.allSatisfy { $0 == [7] } })
        try process.syncNames()
        #expect(outcomes(of: disk) { $0.paths } == [["c"]])
    }

    @Test func `a rename before the sync of the file may leave an empty file`() throws {
        let process = try TestProcess(disk)
        let file = try process.create("new")
        try process.write([1], to: file)
        try process.files.rename("new", to: "a", in: process.directory)
        try process.syncNames()
        #expect(outcomes(of: disk) { $0.contents("a") }.isSuperset(of: [[], [0], [1]]))
    }

    @Test func `a directory is lost with all in it until its parent is synced`() throws {
        let process = try TestProcess(disk)
        try process.files.makeDirectory("store")
        let store = try process.files.openDirectory("/store")
        _ = try process.files.open("a", in: store, .creating)
        try process.files.synchronize(store)
        #expect(outcomes(of: disk) { $0.paths } == [[], ["store/a"]])
        try process.syncNames()
        #expect(outcomes(of: disk) { $0.paths } == [["store/a"]])
    }

    @Test func `an unlinked file lives as long as it is open`() throws {
        let (process, file) = try durableFile([1])
        try process.files.unlink("a", in: process.directory)
        try process.syncNames()
        #expect(try process.read(file) == [1])
        #expect(try process.files.status(file).links == 0)
        try process.files.close(file)
        #expect(throws: SystemError(.notFound, in: "open")) {
            try process.files.open("a", in: process.directory, .reading)
        }
    }

    @Test func `opening and renaming refuse names as Linux does`() throws {
        let (process, _) = try durableFile([1])
        _ = try process.create("b")
        #expect(throws: SystemError(.exists, in: "open")) { try process.create("a") }
        #expect(throws: SystemError(.exists, in: "renameat2")) {
            try process.files.rename("a", to: "b", in: process.directory)
        }
        #expect(throws: SystemError(.exists, in: "mkdir")) { try process.files.makeDirectory("a") }
        #expect(try Set(process.names()) == ["a", "b"])
        let reading = try process.files.open("a", in: process.directory, .reading)
        #expect(throws: SystemError(.other(9), in: "pwrite")) {
            try process.write([1], to: reading)
        }
    }
}

/// A process with the root directory open.
struct TestProcess {
    let files: SimulatedProcess
    let directory: FileDescriptor

    init(_ disk: SimulatedDisk) throws {
        files = disk.process()
        directory = try files.openDirectory("/")
    }

    func create(_ name: String) throws -> FileDescriptor {
        try files.open(name, in: directory, .creatingExclusively)
    }

    @discardableResult
    func write(_ bytes: [UInt8], to file: FileDescriptor, at offset: Int = 0) throws -> Int {
        try files.write(file, bytes.span, at: offset, .kept)
    }

    func read(_ file: FileDescriptor, at offset: Int = 0, upTo count: Int = 10_000) throws
        -> [UInt8]
    {
        try [UInt8](capacity: count) { bytes in
            let read = try files.read(file, into: &bytes, at: offset, .blocking)
            #expect(read == bytes.count)
        }
    }

    func sync(_ file: FileDescriptor) throws { try files.synchronizeData(file) }

    func names() throws -> [String] {
        try files.list(directory).map { String(decoding: $0, as: UTF8.self) }
    }

    func syncNames() throws { try files.synchronize(directory) }
}
