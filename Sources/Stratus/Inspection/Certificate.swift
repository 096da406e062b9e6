public import FoundationEssentials
internal import StratusFiles
internal import StratusJournal
internal import StratusEngine

/// What a store was at its last commit: which store, the chain over its journal, and what its zones
/// held. A comparison with it shows later whether the history up to there is unchanged; as a file of
/// JSON it outlives the store (`Formats/Certificate.md`).
///
/// It finds lost, exchanged and changed commits. It proves nothing against someone who can write to the
/// store and wants two histories to look alike.
public struct Certificate: Hashable, Sendable {
    /// A zone as it was.
    public typealias Zone = Archive.Information.Zone

    /// 32 hexadecimal digits.
    public var storeID: String
    /// Tells the copies of one store apart, which go their own ways.
    public var lineage: UInt64
    /// Of the store, which each copy raises.
    public var incarnation: UInt16
    /// An offset behind the last commit.
    public var offset: UInt64
    /// The chain over the journal up to there; 0 of an empty store.
    public var chain: UInt64
    /// When the last commit was made; nil where there is none.
    public var lastCommit: Date?
    /// When the certificate was made.
    public var created: Date
    /// The program that made it, with its version.
    public var tool: String
    /// The zones of all databases, each with its content hash.
    public var zones: [Zone]

    /// A certificate that says so.
    public init(
        storeID: String, lineage: UInt64, incarnation: UInt16, offset: UInt64, chain: UInt64,
        lastCommit: Date?, created: Date, tool: String, zones: [Zone]
    ) {
        self.storeID = storeID
        self.lineage = lineage
        self.incarnation = incarnation
        self.offset = offset
        self.chain = chain
        self.lastCommit = lastCommit
        self.created = created
        self.tool = tool
        self.zones = zones
    }
}

extension Container {
    /// A certificate of the store as it is now. All records are read for it; commits and readers go on
    /// meanwhile.
    ///
    /// - Parameters:
    ///   - tool: what the certificate names as the program that made it.
    ///   - progress: is called often, on a thread of the container.
    /// - Throws: ``StoreError`` with the cause `damaged` where something cannot be read.
    public nonisolated(nonsending) func certificate(
        by tool: String = "Stratus", progress: @escaping RecordProgress = { _, _ in }
    ) async throws(StoreError) -> Certificate {
        try await answer { () async throws(EngineError) -> Certificate in
            guard foundation.selection == nil else {
                throw .refused(
                    .invalidArguments, "an archive of some zones is certified by none")
            }
            let source = try await steadySource()
            return try await source.threads.run {
                let snapshot = source.snapshot()
                let (fold, identity) = (snapshot.state.fold, snapshot.state.identity)
                let end = fold.end
                guard let chain = end == .zero ? 0 : try snapshot.state.view.chain(before: end)
                else {
                    throw StoreError(
                        .internalError, "the chain at the end of the journal is not known")
                }
                return Certificate(
                    storeID: identity.storeID.description, lineage: identity.lineage,
                    incarnation: identity.incarnation, offset: end.rawValue, chain: chain,
                    lastCommit: fold.lastTime == 0 ? nil : Date(microseconds: fold.lastTime),
                    created: Date(microseconds: source.foundation.options.clock.now()), tool: tool,
                    zones: try source.zones(at: snapshot, progress))
            }
        }
    }

    /// The zones of all databases in one state, with their content hashes.
    func zones(
        at snapshot: Snapshot, _ progress: RecordProgress
    ) throws(EngineError) -> [Certificate.Zone] {
        try zoneSummary(at: snapshot, contentHashes: true, progress: progress)
            .map { Certificate.Zone($0) }
    }
}
