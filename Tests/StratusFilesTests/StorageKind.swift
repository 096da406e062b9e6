import StratusFiles
import Support

/// The storages there are.
enum StorageKind: CaseIterable, Sendable {
    /// A directory of the machine.
    case directory
    case simulatedDisk
    /// A simulated disk that interrupts calls and transfers less than it is asked to.
    case unrulyDisk
    case memory
    /// Memory behind a storage that hands every call on.
    case wrapper
    /// What is put lies in a file for temporary ones, over a simulated disk.
    case scratch

    /// Those that other processes can open.
    static let shared: [StorageKind] = [.directory, .simulatedDisk, .unrulyDisk]

    /// What the writer says of itself.
    static let holder = "the first writer"

    /// An empty storage, open for writing; in the directory `path` where it is one of the machine.
    func make(_ path: String) throws -> StoragePlace {
        let disk = SimulatedDisk()
        switch self {
        case .directory: return try StoragePlace(path, on: LinuxFileSystem())
        case .simulatedDisk: return try StoragePlace("store", on: disk.process())
        case .unrulyDisk:
            disk.misbehave(seed: 1, oneIn: 3)
            return try StoragePlace("store", on: disk.process())
        case .memory: return StoragePlace(of: MemoryStorage())
        case .wrapper: return StoragePlace(of: GatedStorage())
        case .scratch:
            let base = try LocalStorage(
                at: "store", .writing(creating: true), on: disk.process())
            try disk.process().makeDirectory("temporary")
            return StoragePlace(of: ScratchStorage(over: base, in: "temporary"))
        }
    }
}

/// A storage that a writer has open, and where it lies.
struct StoragePlace {
    let storage: any Storage
    let path: String
    let system: any FileSystem
    private let isAlone: Bool

    init(_ path: String, on system: any FileSystem) throws {
        self.path = path
        self.system = system
        isAlone = false
        storage = try LocalStorage(
            at: path, .writing(creating: true), on: system, holder: StorageKind.holder)
    }

    /// A storage that no other process can open.
    init(of storage: any Storage) {
        self.storage = storage
        path = storage.place
        system = LinuxFileSystem()
        isAlone = true
    }

    /// The same files as a reader has them.
    func reader() throws -> any Storage {
        isAlone ? storage : try LocalStorage(at: path, .reading, on: system)
    }

    /// The same files as a second writer has them.
    func writer() throws -> any Storage {
        try LocalStorage(at: path, .writing(creating: false), on: system, holder: "the second")
    }
}
