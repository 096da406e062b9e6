internal import StratusEngine
internal import StratusFiles
internal import Synchronization

extension Maintenance {
    /// Reads every byte of the store once, or of a part of it, slowly, and says what is not as it was written: so that damage
    /// of the medium is found while a backup or a second copy still has what it took.
    ///
    /// Checks what `stratus verify` checks: the journal, the index against the journal, every chunk of an
    /// asset and every asset of a record. With a checkpoint the journal is read twice. Nothing is changed
    /// or mended, and commits and readers go on. Blocks that the medium does not give back are damage
    /// like any other. What the scrub reads does not displace pages of the system's cache, where the
    /// kernel can do that (Linux 6.14); pages that are in the cache are read from there.
    ///
    /// The state at the beginning is checked. What belongs to it stays until the scrub ends, so that
    /// compaction frees no file meanwhile. A large store can be read in parts, a night each.
    ///
    /// - Parameters:
    ///   - part: what is read; the whole store unless more is said.
    ///   - bytesPerSecond: how much is read in a second at most, above 0.
    ///   - progress: is told how many bytes of the journal were read, and of how many.
    /// - Throws: ``StoreError`` with `invalidArguments` where the rate is not above 0 or the subset is
    ///   none, with `operationCancelled` where the task was cancelled or the container closed, and with
    ///   the cause `newerFormat` where a newer version wrote the store meanwhile.
    public nonisolated(nonsending) func scrub(
        _ part: ScrubPart = ScrubPart(), bytesPerSecond: Int,
        progress: @escaping Container.ReadingProgress = { _, _ in }
    ) async throws(StoreError) -> ScrubReport {
        guard bytesPerSecond > 0 else {
            throw StoreError(
                .invalidArguments, "a rate of \(bytesPerSecond) bytes a second reads nothing")
        }
        return try await answering { () async throws(EngineError) -> ScrubReport in
            let (foundation, published) = (container.foundation, container.published)
            let flag = CancelFlag()
            let pace = ReadingPace(bytesPerSecond: bytesPerSecond) {
                flag.isSet || published.isEnded
            }
            let threads = IOThreads(count: 1, isBackground: true)
            let start = Clock.monotonicNanoseconds
            let result = await withTaskCancellationHandler {
                await threads.outcome {
                    try StoreVerification(
                        part, ofMedium: foundation.storage, pace, foundation.registry,
                        memoryLimit: foundation.budget.limit / 4, progress: progress)
                }
            } onCancel: {
                flag.set()
            }
            switch result {
            case .success(let verification):
                return ScrubReport(
                    verification, bytesRead: pace.bytesRead,
                    duration: .nanoseconds(Clock.monotonicNanoseconds - start))
            case .failure(let error): throw EngineError(translating: error)
            }
        }
    }
}

/// What a scrub has read and found.
///
/// Its places are those of `stratus verify`; where the medium does not give a block of 4,096 bytes back,
/// the kind is `file.unreadable`.
public struct ScrubReport: Hashable, Sendable {
    /// What is damaged, and where; empty: nothing is.
    public var damage: [StoreError.Place]
    /// Segments of the journal.
    public var segmentCount: Int
    /// Entries of the journal.
    public var entryCount: Int
    /// Tables of the index.
    public var tableCount: Int
    /// Chunks of assets.
    public var chunkCount: Int
    /// What was read of all files, in bytes.
    public var bytesRead: Int
    /// How long it took, most of which is waiting where the rate is low.
    public var duration: Duration
    /// Of a part that had to end before its end, where the next one begins; nil: it was read to its end.
    public var next: ScrubPlace?

    init(_ verification: StoreVerification, bytesRead: Int, duration: Duration) {
        damage = verification.findings.filter { $0.severity == .damage }.map(\.place)
        segmentCount = verification.segmentCount
        entryCount = verification.entryCount
        tableCount = verification.tableCount
        chunkCount = verification.chunkCount
        self.bytesRead = bytesRead
        self.duration = duration
        next = verification.next
    }
}
