public import FoundationEssentials
internal import StratusEngine
internal import StratusFiles
internal import StratusJournal

/// A generation of a store's files that processes read, which keeps what it names from being deleted.
public struct PinnedGeneration: Equatable, Sendable {
    /// Its number: higher with every change of the set of files.
    public var generation: UInt64
    /// Whether it is that of the store as it is now.
    public var isNewest: Bool
    /// When it was made; nil where the files have no times.
    public var date: Date?
    /// The numbers of the processes that read it, as far as the system tells: those of this machine.
    public var processes: [Int]
    /// What it names that the newest one does not, in bytes: so much is freed at the most once no process
    /// reads it.
    public var keptBytes: Int
}

extension Container {
    /// The generations of the store's files that are read: the newest one, and earlier ones which
    /// readers or a crash have left, in their order. This container is one of the readers.
    ///
    /// - Throws: ``StoreError`` where a manifest or a file that it names cannot be read.
    public nonisolated(nonsending) func pins() async throws(StoreError) -> [PinnedGeneration] {
        let storage = foundation.storage
        return try await answer { () async throws(EngineError) in
            try await threads.run { try PinnedGeneration.all(in: storage) }
        }
    }
}

extension PinnedGeneration {
    fileprivate static func all(in storage: any Storage) throws -> [PinnedGeneration] {
        let names = try storage.list().filter { Manifest.generation(ofFile: $0) != nil }
        guard let newest = try Journal.newestManifest(in: storage) else { return [] }
        let needed = Set(newest.fileNames)
        return try names.sorted().compactMap { name in
            do {
                let manifest = try Journal.manifest(name, in: storage)
                let readers = try storage.readers(of: name)
                let kept = try manifest.fileNames.filter { !needed.contains($0) }
                    .reduce(0) { $0 + (try storage.open($1)).length }
                return PinnedGeneration(
                    generation: manifest.generation,
                    isNewest: manifest.generation == newest.generation,
                    date: readers.made.map {
                        Date(
                            timeIntervalSince1970: Double($0.seconds) + Double($0.nanoseconds) / 1e9
                        )
                    }, processes: readers.processes, keptBytes: kept)
            } catch let error as StorageError where error.kind == .notFound {
                // It went meanwhile.
                return nil
            }
        }
    }
}

extension Manifest {
    /// Of all files that it names.
    fileprivate var fileNames: [String] { segments.map(\.fileName) + (checkpoint?.files ?? []) }
}
