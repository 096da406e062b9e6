import Stratus
import StratusFiles
import StratusJournal
import Support
import Synchronization

/// A store that is driven by its caller, with so little memory that its index is written and
/// merged all the time. The same calls make the same store.
struct ModelStore {
    private let disk: SimulatedDisk?
    private let path: String
    private var options = JournalOptions()
    private var durability = Container.Durability.full
    /// Whether files that do not change any more are mapped.
    private let maps: Bool

    /// On a simulated disk.
    init(seed: UInt64) { self.init(seed, SimulatedDisk(), "store") }

    /// In a folder, where nothing is synced.
    init(seed: UInt64, at path: String) {
        self.init(seed, nil, path)
        durability = .none
    }

    private init(_ seed: UInt64, _ disk: SimulatedDisk?, _ path: String) {
        self.disk = disk
        self.path = path
        maps = seed % 2 == 1
        let time = Mutex<Int64>(1_700_000_000_000_000)
        let generator = Mutex(SeededGenerator(seed: seed))
        options.segmentLength = 256 << 10
        // It stands still most of the time, and now and then it goes back.
        options.clock = Clock {
            let step = Int64(generator.withLock { $0.below(2000) }) - 900
            return time.withLock {
                $0 += max(step, -500)
                return $0
            }
        }
        options.randomness = Randomness { generator.withLock { $0.next() } }
    }

    /// Opens the store as a process of its own.
    func open() throws(StoreError) -> Container {
        do {
            let access = LocalStorage.Access.writing(creating: true)
            let storage =
                if let disk {
                    try LocalStorage(at: path, access, on: disk.process(), maps: maps)
                } else {
                    try LocalStorage(at: path, access, maps: maps)
                }
            return try Container(
                writing: storage, creating: true, durability: durability, options: options,
                steppedByCaller: true, memoryLimit: 1 << 20)
        } catch {
            throw error as? StoreError ?? StoreError(.internalError, "\(error)")
        }
    }
}
