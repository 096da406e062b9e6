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
    /// A directory of the machine, and a simulated disk, of which files that do not change are read as
    /// memory.
    case mappedDirectory
    case mappedDisk
    /// A simulated disk that is read through a storage which makes zeros of blocks that the medium does
    /// not give back.
    case lenient
    /// A simulated disk that is read no faster than a rate.
    case paced

    /// Those that other processes can open.
    static let shared: [StorageKind] = [
        .directory, .simulatedDisk, .unrulyDisk, .mappedDirectory, .mappedDisk,
    ]

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
        case .mappedDirectory: return try StoragePlace(path, on: LinuxFileSystem(), maps: true)
        case .mappedDisk: return try StoragePlace("store", on: disk.process(), maps: true)
        case .lenient:
            return try StoragePlace("store", on: disk.process()) { LenientStorage(over: $0) }
        case .paced:
            let pace = ReadingPace(bytesPerSecond: 1 << 30)
            return try StoragePlace("store", on: disk.process()) { PacedStorage(over: $0, pace) }
        }
    }
}

/// A storage that a writer has open, and where it lies.
struct StoragePlace {
    let storage: any Storage
    let path: String
    let system: any FileSystem
    private let isAlone: Bool
    private let maps: Bool
    /// What a reader reads its storage through.
    private let layer: (any Storage) -> any Storage

    init(
        _ path: String, on system: any FileSystem, maps: Bool = false,
        readingThrough layer: @escaping (any Storage) -> any Storage = { $0 }
    ) throws {
        self.path = path
        self.system = system
        self.maps = maps
        self.layer = layer
        isAlone = false
        storage = try LocalStorage(
            at: path, .writing(creating: true), on: system, holder: StorageKind.holder, maps: maps)
    }

    /// A storage that no other process can open.
    init(of storage: any Storage) {
        self.storage = storage
        path = storage.place
        system = LinuxFileSystem()
        isAlone = true
        maps = storage.maps
        layer = { $0 }
    }

    /// The same files as a reader has them.
    func reader() throws -> any Storage {
        isAlone
            ? storage : layer(try LocalStorage(at: path, .reading, on: system, maps: maps))
    }

    /// A file as the writer and a reader have it, each as one that may change and as one that does not.
    func files(_ name: String) throws -> [any StorageFile] {
        let reader = try reader()
        return [
            try storage.open(name), try storage.openUnchanging(name), try reader.open(name),
            try reader.openUnchanging(name),
        ]
    }

    /// The same files as a second writer has them.
    func writer() throws -> any Storage {
        try LocalStorage(at: path, .writing(creating: false), on: system, holder: "the second")
    }
}
