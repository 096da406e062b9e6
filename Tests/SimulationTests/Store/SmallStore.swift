import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization
import Testing

/// A record store on a simulated disk that has so little memory that it writes checkpoints and
/// merges all the time. The same calls make the same store.
struct SmallStore {
    let disk: SimulatedDisk
    /// Where it lies on the disk.
    private(set) var directory = SmallStore.directory
    var durability = Container.Durability.full
    var options = JournalOptions()
    /// Whether files that do not change any more are mapped.
    private let maps: Bool

    static let directory = "store"
    /// The least there is: a memtable is written once it takes 128 KiB.
    static let memoryLimit = 1 << 20

    init(on disk: SimulatedDisk = SimulatedDisk(), seed: UInt64, maps: Bool = false) {
        self.disk = disk
        self.maps = maps
        let time = Mutex<Int64>(1_700_000_000_000_000)
        let generator = Mutex(SeededGenerator(seed: seed))
        options.segmentLength = 64 << 10
        options.clock = Clock {
            time.withLock {
                $0 += 1000
                return $0
            }
        }
        options.randomness = Randomness { generator.withLock { $0.next() } }
    }

    /// Opens the store as a process of its own.
    func open(stepped: Bool = true) throws -> Container {
        let storage = try LocalStorage(
            at: directory, .writing(creating: true), on: disk.process(), maps: maps)
        return try Container(
            writing: storage, creating: true, durability: durability, options: options,
            steppedByCaller: stepped, memoryLimit: Self.memoryLimit)
    }

    func openReadOnly() throws -> Container {
        try Container(
            reading: LocalStorage(at: directory, .reading, on: disk.process(), maps: maps),
            memoryLimit: Self.memoryLimit)
    }

    /// Everything, verified by a process of its own, whose temporary files lie in `scratch`.
    func verification(
        memoryLimit: Int = memoryLimit, scratch: String = SmallStore.directory
    ) throws -> StoreVerification {
        try StoreVerification(
            LocalStorage(at: directory, .reading, on: disk.process()), scratch: scratch,
            memoryLimit: memoryLimit)
    }

    /// The same store on a disk of its own, whose processes were killed.
    func copy(seed: UInt64) -> SmallStore {
        var copy = SmallStore(on: SimulatedDisk(copying: disk), seed: seed, maps: maps)
        copy.directory = directory
        return copy
    }

    func path(_ name: String) -> String { directory + "/" + name }

    var manifest: Manifest {
        get throws {
            let storage = try LocalStorage(at: directory, .reading, on: disk.process())
            return try #require(try Journal.newestManifest(in: storage))
        }
    }

    /// The names of all files of the index.
    var indexFiles: Set<String> {
        let start = path(Manifest.Checkpoint.filePrefix)
        return Set(
            disk.paths.filter { $0.hasPrefix(start) }.map {
                String($0.dropFirst(directory.count + 1))
            })
    }

    /// The names of all segments of the journal, compacted ones too.
    var journalFiles: Set<String> {
        Set(
            disk.paths.filter { $0.hasPrefix(directory + "/") }
                .map { String($0.dropFirst(directory.count + 1)) }
                .filter { $0.hasPrefix("journal-") || $0.hasPrefix("compacted-") })
    }

    /// Those that the newest manifest does not name.
    var journalStrays: Set<String> {
        get throws { journalFiles.subtracting(try manifest.segments.map(\.fileName)) }
    }

    /// The files of the index that the newest manifest does not name.
    var strays: Set<String> {
        get throws { indexFiles.subtracting(try manifest.checkpoint?.files ?? []) }
    }

    /// Makes a store whose files are synced forget what its index was.
    func loseCheckpoint() throws {
        let manifest = try manifest
        guard manifest.checkpoint != nil else { return }
        let path = path(manifest.fileName)
        disk.flip(path, at: manifest.checkpointPlace + 16, mask: 1)
    }

    func deleteIndexFiles() { for name in indexFiles { disk.delete(path(name)) } }

    /// Of a store that was closed nothing is left but the journal.
    func loseIndex() throws {
        disk.killProcesses()
        settle()
        try loseCheckpoint()
        deleteIndexFiles()
    }

    /// What was written becomes durable, so that it can be damaged.
    func settle() {
        for path in disk.paths { disk.replaceContents(path, disk.contents(path)) }
    }
}

// Archives of it.
extension SmallStore {
    static let archives = "archives"

    /// The store that lies in another directory of the same disk.
    func opening(_ directory: String) -> SmallStore {
        var other = self
        other.directory = directory
        return other
    }

    /// In a directory of their own, which is made for the first one.
    func archivePath(_ name: String) -> String {
        let process = disk.process()
        if (try? process.makeDirectory(Self.archives)) != nil,
            let root = try? process.openDirectory(".")
        {
            // Else a power cut takes it with all that is in it.
            try? process.synchronize(root)
        }
        return Self.archives + "/" + name
    }

    func openArchive(_ name: String) async throws(StoreError) -> Archive {
        var archive = try await Archive.open(
            at: Self.archives + "/" + name, on: disk.process(), scratch: Self.archives)
        archive.options = options
        return archive
    }

    /// In the order of their names.
    var archiveLengths: [Int] {
        disk.paths.filter { $0.hasPrefix(Self.archives + "/") }.sorted()
            .map { disk.contents($0).count }
    }
}

// Calls of the system that go wrong.
extension SmallStore {
    /// Does `work` on copies of the store, in each of which one of its calls fails, or is the last before
    /// the power goes, and gives `check` what is left.
    ///
    /// - Parameters:
    ///   - leastCalls: `work` makes more.
    ///   - step: every so-many-th call is tried.
    func sweepFaults(
        cuttingPower: Bool, leastCalls: Int, every step: Int = Campaign.crashStride / 2 + 1,
        _ work: (SmallStore) async throws(StoreError) -> Void,
        _ check: (SmallStore, _ failed: Bool, Comment) async throws -> Void
    ) async throws {
        let counted = copy(seed: 1)
        counted.disk.resetCalls()
        try await work(counted)
        let count = counted.disk.callCount
        #expect(count > leastCalls)
        let first = 1 + Int(Campaign.seed % UInt64(min(step, 5)))
        // And once nothing goes wrong, whichever calls are looked at.
        for call in Array(stride(from: first, through: count, by: step)) + [count + 1] {
            let copy = copy(seed: 1)
            copy.disk.resetCalls()
            if cuttingPower {
                copy.disk.crashAtCall = call
            } else {
                copy.disk.faults = [DiskFault(.fail(.inputOutput), at: call)]
            }
            var failed = false
            do throws(StoreError) {
                try await work(copy)
            } catch {
                failed = true
            }
            copy.disk.faults = []
            if copy.disk.isOff { copy.disk.crash(seed: UInt64(call)) }
            copy.disk.killProcesses()
            try await check(copy, failed, "call \(call)")
        }
    }
}
