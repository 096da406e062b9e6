package import StratusFiles
internal import StratusJournal
internal import StratusEngine

/// What is wrong with a store and can be made anew without a loss, and what cannot.
public struct RepairPlan: Sendable {
    /// Something that is made anew.
    public enum Step: String, CaseIterable, Sendable {
        /// The manifest, of what the segments say of themselves.
        case manifest
        /// The index, of the journal, and with it both copies of the manifest.
        case index
    }

    /// What is wrong and is made anew.
    public private(set) var damage: [StoreError.Place] = []
    /// What is wrong and is not: in the journal, or in assets.
    public private(set) var remaining: [StoreError.Place] = []
    /// What is made anew, in this order.
    public private(set) var steps: [Step] = []
    /// How many entries the journal has.
    public private(set) var entryCount = 0
    /// How many commits, as far as their last entries are kept.
    public private(set) var commitCount = 0
    /// That takes the place of one that is not whole.
    private var manifest: Manifest?

    /// Whether the steps make a store of it that opens: its journal is whole.
    public var isPossible: Bool { remaining.allSatisfy(\.isOfAssets) }
    /// The files that are kept beside what takes their place.
    public private(set) var keptFiles: [String] = []

    fileprivate init(
        _ storage: any Storage, scratch: String,
        progress: @escaping Container.ReadingProgress = { _, _ in }
    ) throws {
        let readable = try ReadableStore(storage, scratch: scratch)
        manifest = readable.manifest
        if let place = readable.damage {
            damage.append(StoreError.Place(place))
            steps = [.manifest]
        }
        let result = try StoreVerification(
            readable.storage, scratch: scratch, progress: progress)
        // Where the manifest is lost, nothing says that the journal was not longer.
        for finding in result.findings where manifest != nil || finding.severity != .tornTail {
            if StoreVerification.canBeMadeAnew(finding.place) {
                damage.append(finding.place)
            } else {
                remaining.append(finding.place)
            }
        }
        if !damage.isEmpty { steps.append(.index) }
        (entryCount, commitCount) = (result.entryCount, result.commitCount)
    }
}

extension Container {
    /// Reads every byte of the store in the directory `path` and says what of it can be made anew
    /// without a loss. Nothing is changed.
    ///
    /// - Throws: ``StoreError`` with `badContainer` where there is no store, with the cause `newerFormat`
    ///   where anything is of a newer format, with the cause `damaged` where neither the manifest nor the
    ///   header of a segment is whole.
    public nonisolated(nonsending) static func planRepair(
        at path: String, progress: @escaping ReadingProgress = { _, _ in }
    ) async throws(StoreError) -> RepairPlan {
        try await answering { () async throws(EngineError) -> RepairPlan in
            try await IOThreads(count: 1).run {
                let storage = try LocalStorage(at: path, .reading)
                defer { storage.close() }
                return try RepairPlan(
                    storage, scratch: StoreVerification.scratchDirectory, progress: progress)
            }
        }
    }

    /// Makes anew what ``planRepair(at:progress:)`` says, in the store itself. What is replaced stays beside it,
    /// in files whose names begin with `broken-`, which the store never looks at.
    ///
    /// - Returns: what was done; where that is not ``RepairPlan/isPossible``, nothing was: what is whole
    ///   of a damaged journal, ``salvage(_:to:progress:)`` brings out.
    /// - Throws: as there.
    @discardableResult
    public nonisolated(nonsending) static func repair(
        at path: String, progress: @escaping ReadingProgress = { _, _ in }
    ) async throws(StoreError) -> RepairPlan {
        try await repair(at: path, on: LinuxFileSystem(), progress: progress)
    }

    /// The same in a directory of `system`.
    @discardableResult
    package nonisolated(nonsending) static func repair(
        at path: String, on system: any FileSystem,
        scratch: String = StoreVerification.scratchDirectory,
        progress: @escaping ReadingProgress = { _, _ in }
    ) async throws(StoreError) -> RepairPlan {
        let plan = try await answering { () async throws(EngineError) -> RepairPlan in
            try await IOThreads(count: 1).run {
                let reading = try LocalStorage(at: path, .reading, on: system)
                defer { reading.close() }
                let plan = try RepairPlan(reading, scratch: scratch)
                guard plan.isPossible, !plan.steps.isEmpty else { return plan }
                // No other process writes from here on; what it may have written is looked at again.
                let storage = try LocalStorage(at: path, .writing(creating: false), on: system)
                defer { storage.close() }
                var last = try RepairPlan(
                    LenientStorage(over: storage, hidesWriter: true), scratch: scratch)
                if last.isPossible { try last.beginRepair(storage) }
                return last
            }
        }
        if plan.isPossible, plan.steps.contains(.index) {
            try await reindex(at: path, on: system, progress: progress).close()
        }
        return plan
    }
}

extension RepairPlan {
    private static let keptPrefix = "broken-"

    /// Keeps what is damaged, and puts the manifest in its place.
    fileprivate mutating func beginRepair(_ storage: any Storage) throws {
        let names = try storage.list()
        let files = Set(damage.map(\.file)).sorted()
        for name in files where names.contains(name) && !names.contains(Self.keptPrefix + name) {
            let file = try storage.open(name)
            try storage.put(Self.keptPrefix + name, file.readableBytes(in: 0..<file.length))
            keptFiles.append(Self.keptPrefix + name)
        }
        if let manifest { try storage.put(manifest.fileName, manifest.encoded()) }
    }
}

extension StoreError.Place {
    /// Whether it concerns assets alone, so that the store opens.
    fileprivate var isOfAssets: Bool { kind.hasPrefix("asset.") || kind.hasPrefix("chunk") }
}
