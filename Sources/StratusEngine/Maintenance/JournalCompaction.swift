package import StratusFiles
internal import StratusIndex
package import StratusJournal
internal import Synchronization

/// Writes what is needed of segments that hold much else anew, once.
///
/// It does so piece by piece. The segments that a piece stands for can be deleted once it is listed, so that
/// no second journal comes to lie beside the first.
package final class JournalCompaction: Sendable {
    /// How much is to be done.
    package enum Effort: Sendable {
        /// What brings much for its cost, once a part of the journal is dead.
        case worthwhile
        /// Whatever brings anything.
        case everything
        /// Whatever has anything that is needed no longer.
        case erasing
    }

    /// What the segments that may be compacted hold.
    package struct Survey: Equatable, Sendable {
        /// How many there are.
        package var segmentCount = 0
        /// Their files, in bytes.
        package var length = 0
        /// About what they would take, were all of them compacted.
        package var output = 0
        /// What the frames of needed entries have, and what all others do, in bytes.
        package var needed = 0
        package var dead = 0
    }

    package struct Outcome: Sendable {
        package var survey = Survey()
        /// The segments that were chosen, and their files in bytes.
        package var chosenCount = 0
        package var chosenLength = 0
        /// The deletions that can be forgotten now.
        package var forgotten: [Horizon] = []
        /// The ends of participations that can.
        package var participations: [ParticipationHorizonEntry] = []
        /// About what is freed; after a run exactly.
        package var freedBytes = 0
        /// Of segments that stay because they are damaged.
        package var damage: [JournalDamage] = []
        /// Whether another run would find more, once this one is listed and ``forgotten`` committed.
        package var isUnfinished = false

        /// Adds what another run did.
        mutating func add(_ next: Outcome) {
            chosenCount = max(chosenCount, next.chosenCount)
            chosenLength = max(chosenLength, next.chosenLength)
            freedBytes += next.freedBytes
            for place in next.damage where !damage.contains(place) { damage.append(place) }
        }
    }

    /// The last deletion of a zone that is forgotten.
    package struct Horizon: Equatable, Sendable {
        package var zone: UInt32
        package var through: JournalOffset
    }

    /// What is to be listed together.
    package struct Piece: Sendable {
        /// What stands in the place of others, and whose files are durable.
        var outputs: [Manifest.Segment] = []
        /// Segments that stay as they are, of which more is known to be gone than is listed.
        var cleared: [Manifest.Segment] = []
        /// By how much less is dead then than is counted, in bytes of frames.
        var lessDead = 0
    }

    private let published: PublishedState
    /// Given away when the work begins, since it holds a state, of which no file is deleted.
    private let planner: Mutex<CompactionPlanner?>
    private let registry: ProjectionRegistry
    private let storage: any Storage
    private let randomness: Randomness
    private let firstNumber: UInt64
    /// How long the files become that are written, in bytes.
    private let usualLength: Int

    /// - Parameters:
    ///   - checkpoint: where the one in force lies. What its state needs is kept, so that it can still
    ///     be made of the journal, and what was committed since is not looked at.
    ///   - limit: segments that do not end before it stay: that of the checkpoint, behind which entries
    ///     are not in any table yet, and what follows.
    ///   - firstNumber: of the first file that is written.
    ///   - progress: is told how many rows of the index were looked at, often, and from 0 on where they
    ///     are looked at once more.
    package init(
        _ published: PublishedState, at checkpoint: JournalOffset, before limit: JournalOffset,
        _ registry: ProjectionRegistry, in storage: any Storage, _ randomness: Randomness,
        _ budget: MemoryBudget, firstNumber: UInt64, _ effort: Effort,
        progress: (@Sendable (Int) -> Void)? = nil
    ) {
        self.published = published
        self.registry = registry
        self.storage = storage
        self.randomness = randomness
        self.firstNumber = firstNumber
        usualLength = max(256 << 10, min(16 << 20, budget.limit / 4))
        planner = Mutex(
            CompactionPlanner(
                published, at: checkpoint, before: limit, registry, budget, effort,
                usualLength: usualLength, progress: progress))
    }

    /// How many entries pass between two questions whether to stop.
    private static let stride = 4096

    /// Finds out what would be done.
    package func plan() throws(EngineError) -> Outcome {
        try makePlan(findingOffsets: false).outcome
    }

    private func makePlan(findingOffsets: Bool) throws(EngineError) -> CompactionPlan {
        guard let planner = planner.withLock({ $0.take() }) else { throw .closed }
        return try planner.plan(findingOffsets: findingOffsets)
    }

    /// Does it, and gives `deliver` what is written as it comes; nil where it was told to stop.
    package func run(
        stop: () -> Bool, pace: @escaping (_ bytes: Int) -> Void, deliver: (Piece) -> Void
    ) throws(EngineError) -> Outcome? {
        let plan = try makePlan(findingOffsets: true)
        var outcome = plan.outcome
        outcome.freedBytes = 0
        var ready = Piece(lessDead: plan.lessDead)
        // Whatever comes, what is complete counts.
        defer { deliver(ready) }
        var next = Place(number: firstNumber)
        for piece in plan.pieces {
            if stop() { return nil }
            do throws(JournalError) {
                let outputs = try write(piece, of: plan, &next, stop, pace)
                ready.outputs += outputs
                ready.lessDead += piece.deadBytes
                outcome.freedBytes += piece.lengthInBytes - outputs.lengthInBytes
                if ready.outputs.lengthInBytes >= plan.usualOutput {
                    deliver(ready)
                    ready = Piece()
                }
            } catch {
                switch error {
                // It stays as it is, until it is repaired.
                case .damaged(let damage): outcome.damage.append(damage)
                case .closed: return nil
                default: throw EngineError(error)
                }
            }
        }
        ready.cleared = plan.cleared
        return outcome
    }

    /// Where the next piece is written.
    private struct Place {
        /// Of its first file.
        var number: UInt64
        /// Where the last one ended, and the time of the last commit before.
        var end = JournalOffset.zero
        var time: Int64 = 0
    }

    private func write(
        _ piece: CompactionPlan.Piece, of plan: CompactionPlan, _ place: inout Place,
        _ stop: () -> Bool, _ pace: @escaping (_ bytes: Int) -> Void
    ) throws(JournalError) -> [Manifest.Segment] {
        // The state is not held: only compactions give up segments, so those of this piece stay, and those
        // of the last one can be deleted meanwhile.
        let (view, storeID, head) = {
            let state = published.current
            return (state.view, state.identity.storeID, state.head)
        }()
        var copier = SegmentCopier(
            view, of: storeID, head: head, clearedBefore: plan.clearedBefore,
            firstNumber: place.number, usualLength: usualLength, randomness: randomness
        ) { [storage] name, length throws(StorageError) in
            PacedDraft(try storage.draft(name, length: length), pace)
        }
        defer { place.number = copier.nextNumber }
        let isNext = piece.segments.first?.base == place.end
        do throws(JournalError) {
            try copy(
                piece.segments, behind: isNext ? place.time : nil, keeping: plan.offsets,
                in: view, &copier, stop)
        } catch {
            copier.outputs.delete(from: storage)
            throw error
        }
        (place.end, place.time) = (piece.segments.last?.end ?? .zero, copier.lastTime)
        return copier.outputs
    }

    private func copy(
        _ run: [Manifest.Segment], behind time: Int64?, keeping offsets: [UInt64],
        in view: JournalView, _ copier: inout SegmentCopier, _ stop: () -> Bool
    ) throws(JournalError) {
        guard let first = run.first, let last = run.last else { return }
        func missing(_ offset: UInt64) -> JournalError {
            JournalError(view.damage(.compacted("missing"), at: JournalOffset(rawValue: offset)))
        }
        var next = offsets.place(of: first.base.rawValue)
        var count = 0
        try copier.copy(run, behind: time) { entry throws(JournalError) in
            count += 1
            if count % Self.stride == 0, stop() { throw .closed }
            let offset = entry.offset.rawValue
            guard next < offsets.count, offsets[next] <= offset else {
                return registry.isAlwaysKept(entry.kind) ? .isKept : .isDropped
            }
            // What the index names must be there.
            guard offsets[next] == offset else { throw missing(offsets[next]) }
            next += 1
            return .isNamed
        }
        if next < offsets.count, offsets[next] < last.end.rawValue { throw missing(offsets[next]) }
    }
}

/// A file that says how much is written to it.
private final class PacedDraft: FileDraft {
    private let under: any FileDraft
    private let pace: (_ bytes: Int) -> Void

    init(_ under: any FileDraft, _ pace: @escaping (_ bytes: Int) -> Void) {
        self.under = under
        self.pace = pace
    }

    func write(_ bytes: Span<UInt8>, at position: Int) throws(StorageError) {
        pace(bytes.count)
        try under.write(bytes, at: position)
    }

    func finish() throws(StorageError) { try under.finish() }
}
