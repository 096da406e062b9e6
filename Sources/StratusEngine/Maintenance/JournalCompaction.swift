package import StratusFiles
internal import StratusIndex
package import StratusJournal

/// Finds out what of the journal is needed no longer, and writes what is needed of the segments that
/// hold it anew.
///
/// An entry is needed while a row of the index that is needed names it: the rows decide, and the
/// sieve that decides of them is that of the merges. What every later reading relies on, such as the
/// entries that give numbers, is always kept: ``EntryForm/Retention``.
package struct JournalCompaction: Sendable {
    /// How much is to be done.
    package enum Effort: Sendable {
        /// What brings much for its cost, once a part of the journal is dead.
        case worthwhile
        /// Whatever brings anything.
        case everything
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
        /// What is to be listed in their place.
        package var outputs: [Manifest.Segment] = []
        /// About what is freed; after a run exactly.
        package var freedBytes = 0
        /// By how much less is dead than had been counted, in bytes of frames.
        package var lessDead = 0
        /// Of segments that stay because they are damaged.
        package var damage: [JournalDamage] = []
    }

    /// The newest state, and then the points that are needed.
    private let state: StoreState
    private let points: NeededPoints
    /// Nothing at or behind it is looked at.
    private let limit: JournalOffset
    private let registry: ProjectionRegistry
    private let storage: any Storage
    private let randomness: Randomness
    private let firstNumber: UInt64
    /// How many offsets may be held in memory.
    private let offsetLimit: Int
    private let usualLength: Int
    private let effort: Effort

    /// - Parameters:
    ///   - limit: segments that do not end before it stay: that of the last checkpoint, behind which
    ///     entries are not in any table yet, and what follows.
    ///   - firstNumber: of the first file that is written.
    package init(
        _ published: PublishedState, before limit: JournalOffset, _ registry: ProjectionRegistry,
        in storage: any Storage, _ randomness: Randomness, _ budget: MemoryBudget,
        firstNumber: UInt64, _ effort: Effort
    ) {
        state = published.current
        // Asked for after the state: who begins to hold a point later holds this one, a newer one,
        // or one of the history that is kept.
        points = published.points
        self.limit = limit
        self.registry = registry
        self.storage = storage
        self.randomness = randomness
        self.firstNumber = firstNumber
        self.effort = effort
        offsetLimit = max(1 << 14, budget.limit / 8 / MemoryLayout<UInt64>.size)
        usualLength = max(256 << 10, min(16 << 20, budget.limit / 4))
    }

    /// A segment that may be compacted.
    private struct Candidate {
        var segment: JournalView.Segment
        /// Of its frames.
        var frameBytes: Int
        /// Of those that are needed, about.
        var neededBytes = 0
        var neededCount = 0

        /// What its needed entries will take, about: blocks take five eighths of frames, where that
        /// is not known better.
        var output: Int {
            let length = segment.lengthInBytes
            guard segment.listed.isCompacted else { return min(length, neededBytes * 5 / 8) }
            return frameBytes == 0 ? length : length * min(neededBytes, frameBytes) / frameBytes
        }
        var benefit: Int { segment.lengthInBytes - output }
        var deadBytes: Int { max(0, frameBytes - neededBytes) }
    }

    /// How many entries pass between two questions whether to stop.
    private static let stride = 4096

    /// The offsets of needed entries, in their order; nil where these are more than may be held.
    private typealias Offsets = [UInt64]?

    /// Finds out what would be done.
    package func plan() throws(EngineError) -> Outcome {
        try choose().outcome
    }

    /// Does it; nil where it was told to stop. What it writes is not listed yet.
    package func run(
        stop: () -> Bool, pace: @escaping (_ bytes: Int) -> Void
    ) throws(EngineError) -> Outcome? {
        var (outcome, runs, found) = try choose()
        if runs.isEmpty { return outcome }
        let offsets = if let found { found } else { try neededOffsets(in: runs) }
        var number = firstNumber
        outcome.freedBytes = 0
        for run in runs {
            var copier = SegmentCopier(
                state.view, in: storage, of: state.identity.storeID, judgedAt: state.head,
                firstNumber: number, usualLength: usualLength, randomness: randomness, pace: pace)
            do throws(JournalError) {
                try copy(run, keeping: offsets, &copier, stop)
                outcome.outputs += copier.outputs
                outcome.freedBytes +=
                    run.reduce(0) { $0 + $1.lengthInBytes }
                    - copier.outputs.reduce(0) { $0 + $1.lengthInBytes }
            } catch {
                copier.discard()
                guard case .damaged(let damage) = error else {
                    discard(outcome)
                    if case .closed = error { return nil }
                    throw EngineError(error)
                }
                // It stays as it is, until it is repaired.
                outcome.damage.append(damage)
            }
            number = copier.nextNumber
        }
        return outcome
    }

    /// Deletes what was written and will not be listed.
    package func discard(_ outcome: Outcome) {
        for segment in outcome.outputs { _ = try? storage.delete(segment.fileName) }
    }

    private func copy(
        _ run: [Manifest.Segment], keeping offsets: [UInt64], _ copier: inout SegmentCopier,
        _ stop: () -> Bool
    ) throws(JournalError) {
        guard let first = run.first, let last = run.last else { return }
        var next = offsets.place(of: first.base.rawValue)
        var count = 0
        try copier.copy(run) { entry throws(JournalError) in
            count += 1
            if count % Self.stride == 0, stop() { throw .closed }
            let offset = entry.offset.rawValue
            guard next < offsets.count, offsets[next] <= offset else {
                return registry.isAlwaysKept(entry.kind) ? .isKept : .isDropped
            }
            // What the index names must be there.
            guard offsets[next] == offset else { throw missing(offsets[next]) }
            next += 1
            return .isNeeded
        }
        if next < offsets.count, offsets[next] < last.end.rawValue { throw missing(offsets[next]) }
    }

    private func missing(_ offset: UInt64) -> JournalError {
        JournalError(
            state.view.damage(.compacted("missing"), at: JournalOffset(rawValue: offset)))
    }

    /// The runs of neighbouring segments that are to be compacted, each on its own.
    private func choose() throws(EngineError) -> (
        outcome: Outcome, runs: [[Manifest.Segment]], offsets: Offsets
    ) {
        var candidates: [Candidate] = []
        for segment in state.view.segments where segment.end <= limit {
            do throws(JournalError) {
                let length = try state.view.frameBytes(of: segment)
                candidates.append(Candidate(segment: segment, frameBytes: length))
            } catch {
                throw EngineError(error)
            }
        }
        var outcome = Outcome()
        if candidates.isEmpty { return (outcome, [], nil) }
        let offsets = try count(&candidates)
        for candidate in candidates {
            outcome.survey.segmentCount += 1
            outcome.survey.length += candidate.segment.lengthInBytes
            outcome.survey.output += candidate.output
            outcome.survey.needed += candidate.neededBytes
            outcome.survey.dead += candidate.deadBytes
        }
        let chosen = chosen(of: candidates, outcome.survey)
        let runs = try runs(of: candidates, chosen)
        let deadAfter = outcome.survey.dead - chosen.reduce(0) { $0 + candidates[$1].deadBytes }
        outcome.lessDead = state.fold.deadBytes - deadAfter
        for segment in runs.joined() {
            outcome.chosenCount += 1
            outcome.chosenLength += segment.lengthInBytes
        }
        outcome.freedBytes = chosen.reduce(0) { $0 + candidates[$1].benefit }
        return (outcome, runs, offsets)
    }

    /// Counts what is needed of each candidate.
    private func count(_ candidates: inout [Candidate]) throws(EngineError) -> Offsets {
        let bases = candidates.map(\.segment.base.rawValue)
        var offsets: Offsets = []
        try forEachNeeded { offset, bytes in
            let place = bases.place(of: offset + 1) - 1
            guard place >= 0, offset < candidates[place].segment.end.rawValue else { return }
            candidates[place].neededBytes += bytes
            candidates[place].neededCount += 1
            if offsets?.count == offsetLimit { offsets = nil }
            offsets?.append(offset)
        }
        return offsets.map(Self.inOrder)
    }

    /// Gives `body` the offset of each entry that a needed row names, and what the row stands for of
    /// it, in bytes.
    private func forEachNeeded(_ body: (UInt64, Int) -> Void) throws(EngineError) {
        var rows = NeededRows(state.fold.index, at: points)
        do throws(IndexError) {
            while let (key, value) = try rows.next() {
                if let bytes = registry.bytesNamed(by: key, value) { body(value.stamp, bytes) }
            }
        } catch {
            throw EngineError(error)
        }
    }

    /// Each once.
    private static func inOrder(_ offsets: [UInt64]) -> [UInt64] {
        var offsets = offsets.sorted()
        var count = 0
        for offset in offsets where count == 0 || offsets[count - 1] != offset {
            offsets[count] = offset
            count += 1
        }
        offsets.removeLast(offsets.count - count)
        return offsets
    }

    /// The numbers of those that are worth it, in their order.
    private func chosen(of candidates: [Candidate], _ survey: Survey) -> [Int] {
        var dead = survey.dead
        let isEverything = effort == .everything
        if !isEverything, dead <= survey.needed / 3 { return [] }
        // What has lain long without dying is not likely to die soon.
        func worth(_ number: Int) -> Double {
            let candidate = candidates[number]
            let age = Double(state.head.rawValue - candidate.segment.end.rawValue + 1)
            let cost = candidate.segment.lengthInBytes + candidate.output
            return Double(candidate.benefit) * age / Double(cost)
        }
        let best = candidates.indices.map { ($0, worth($0)) }.sorted { $0.1 > $1.1 }
        var chosen: [Int] = []
        var count = 0
        for (number, _) in best {
            let candidate = candidates[number]
            // What is not dead is compressed along with what is, and not for its own sake.
            let isWorthIt =
                isEverything
                ? candidate.benefit > candidate.segment.lengthInBytes / 64
                : candidate.deadBytes > candidate.frameBytes / 4
            guard isWorthIt else { continue }
            count += candidate.neededCount
            if !chosen.isEmpty, count > offsetLimit { break }
            chosen.append(number)
            dead -= candidate.deadBytes
            if !isEverything, dead <= survey.needed / 6 { break }
        }
        return chosen.sorted()
    }

    /// Joins those that lie side by side, with small files beside them; none is joined to one behind
    /// it that a recovery ended, since tokens from what was lost there would become good.
    private func runs(
        of candidates: [Candidate], _ chosen: [Int]
    ) throws(EngineError) -> [[Manifest.Segment]] {
        var isChosen = [Bool](repeating: false, count: candidates.count)
        for number in chosen { isChosen[number] = true }
        for number in candidates.indices where number > 0 && isChosen[number] {
            let (before, own) = (candidates[number - 1].segment, candidates[number].segment)
            if before.listed.isEnded { continue }
            if before.listed.isCompacted {
                // Small files are joined to what is written anyway.
                if before.lengthInBytes < usualLength / 4 { isChosen[number - 1] = true }
                continue
            }
            if isChosen[number - 1] || own.listed.isCompacted { continue }
            // How a commit that is open at its beginning ended, its beginning decides.
            do throws(JournalError) {
                if try state.view.beginsAmidCommit(own) { isChosen[number] = false }
            } catch {
                guard case .damaged = error else { throw EngineError(error) }
                isChosen[number] = false
            }
        }
        var runs: [[Manifest.Segment]] = []
        for number in candidates.indices where isChosen[number] {
            let segment = candidates[number].segment.listed
            if number > 0, isChosen[number - 1], runs.last?.last?.isEnded == false {
                runs[runs.count - 1].append(segment)
            } else {
                runs.append([segment])
            }
        }
        return runs
    }

    /// The offsets of all entries of the runs that rows name, in their order.
    private func neededOffsets(in runs: [[Manifest.Segment]]) throws(EngineError) -> [UInt64] {
        let starts = runs.map { $0.first?.base.rawValue ?? 0 }
        let ends = runs.map { $0.last?.end.rawValue ?? 0 }
        var offsets: [UInt64] = []
        try forEachNeeded { offset, _ in
            let place = starts.place(of: offset + 1) - 1
            if place >= 0, offset < ends[place] { offsets.append(offset) }
        }
        return Self.inOrder(offsets)
    }
}
