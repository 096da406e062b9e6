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
        /// What is to be listed in their place.
        package var outputs: [Manifest.Segment] = []
        /// Segments that stay as they are, of which more is known to be gone than is listed.
        package var cleared: [Manifest.Segment] = []
        /// The deletions that can be forgotten now.
        package var forgotten: [Horizon] = []
        /// The ends of participations that can.
        package var participations: [ParticipationHorizonEntry] = []
        /// About what is freed; after a run exactly.
        package var freedBytes = 0
        /// By how much less is dead than had been counted, in bytes of frames, once these are.
        package var lessDead = 0
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

    /// The newest state, and then the points that are needed.
    private let state: StoreState
    private let points: NeededPoints
    private let checkpoint: JournalOffset
    /// Nothing at or behind it is looked at.
    private let limit: JournalOffset
    /// What was replaced or taken away before it, only marks need.
    private let clearedBefore: JournalOffset
    /// Deletions before it need not be remembered.
    private let remembered: JournalOffset
    private let registry: ProjectionRegistry
    private let storage: any Storage
    private let randomness: Randomness
    private let firstNumber: UInt64
    /// How many offsets may be held in memory.
    private let offsetLimit: Int
    private let usualLength: Int
    private let effort: Effort
    private let progress: (@Sendable (Int) -> Void)?

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
        state = published.current
        // Asked for after the state: who begins to hold a point later holds this one, a newer one,
        // or one of the history that is kept.
        points = published.points.adding(checkpoint.previous.rawValue)
        self.checkpoint = checkpoint
        let deletions = state.fold.deletions
        let earliest = points.earliestState.map { JournalOffset(rawValue: $0).next }
        clearedBefore = min(checkpoint, earliest ?? checkpoint)
        remembered = min(
            clearedBefore, deletions.policy == .none ? clearedBefore : deletions.begin)
        self.limit = limit
        self.registry = registry
        self.storage = storage
        self.randomness = randomness
        self.firstNumber = firstNumber
        self.effort = effort
        self.progress = progress
        offsetLimit = max(1 << 14, budget.limit / 8 / MemoryLayout<UInt64>.size)
        usualLength = max(256 << 10, min(16 << 20, budget.limit / 4))
    }

    /// A segment that may be compacted.
    private struct Candidate {
        /// Of the journal's segments its number.
        var place: Int
        var segment: JournalView.Segment
        /// Of its frames.
        var frameBytes: Int
        /// How many of its entries rows named when it was written; nil where it is not compacted.
        var namedCount: Int?
        /// Of those that are needed, about.
        var neededBytes = 0
        var neededCount = 0
        /// Whether rows name as many entries as when it was written, so that nothing of it is dead.
        var isWhollyNamed = false

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

    /// The last deletion of a zone that is forgotten.
    package struct Horizon: Equatable, Sendable {
        package var zone: UInt32
        package var through: JournalOffset
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
        outcome.freedBytes = 0
        if runs.isEmpty { return outcome }
        let offsets = if let found { found } else { try neededOffsets(in: runs) }
        var number = firstNumber
        for run in runs {
            var copier = SegmentCopier(
                state.view, of: state.identity.storeID, head: state.head,
                clearedBefore: clearedBefore, firstNumber: number, usualLength: usualLength,
                randomness: randomness
            ) { [storage] name, bytes throws(StorageError) in
                pace(bytes.count)
                try storage.put(name, bytes)
            }
            do throws(JournalError) {
                try copy(run, keeping: offsets, &copier, stop)
                outcome.outputs += copier.outputs
                outcome.freedBytes +=
                    run.reduce(0) { $0 + $1.lengthInBytes }
                    - copier.outputs.reduce(0) { $0 + $1.lengthInBytes }
            } catch {
                discard(copier.outputs)
                guard case .damaged(let damage) = error else {
                    discard(outcome.outputs)
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
    package func discard(_ outputs: [Manifest.Segment]) {
        for segment in outputs { _ = try? storage.delete(segment.fileName) }
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
            return .isNamed
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
        var outcome = Outcome()
        var candidates: [Candidate] = []
        for (place, segment) in state.view.segments.enumerated() where segment.end <= limit {
            do throws(JournalError) {
                let (length, count) = try state.view.content(of: segment)
                candidates.append(
                    Candidate(
                        place: place, segment: segment, frameBytes: length, namedCount: count))
            } catch {
                guard case .damaged(let damage) = error else { throw EngineError(error) }
                outcome.damage.append(damage)
            }
        }
        if candidates.isEmpty { return (outcome, [], nil) }
        let needs = try needs(of: &candidates)
        for candidate in candidates {
            outcome.survey.segmentCount += 1
            outcome.survey.length += candidate.segment.lengthInBytes
            outcome.survey.output += candidate.output
            outcome.survey.needed += candidate.neededBytes
            outcome.survey.dead += candidate.deadBytes
        }
        let chosen = chosen(of: candidates, outcome.survey, waiting: needs.waitingBytes)
        let runs = try runs(of: candidates, chosen)
        outcome.forgotten = needs.horizons
        outcome.participations = needs.participations
        let deadAfter =
            outcome.survey.dead - chosen.reduce(0) { $0 + candidates[$1].deadBytes }
            + deadBytes(behind: candidates[candidates.count - 1].segment, outcome.survey)
        outcome.lessDead = state.fold.deadBytes - deadAfter - needs.forgottenBytes
        for segment in runs.joined() {
            outcome.chosenCount += 1
            outcome.chosenLength += segment.lengthInBytes
        }
        outcome.freedBytes = chosen.reduce(0) { $0 + candidates[$1].benefit }
        if !runs.isEmpty || needs.waitingBytes > 0 {
            let isChosen = Set(runs.joined().map(\.base))
            for candidate in candidates
            where holdsBack(candidate) && candidate.isWhollyNamed {
                var listed = candidate.segment.listed
                if isChosen.contains(listed.base) { continue }
                listed.clearedBefore = clearedBefore
                outcome.cleared.append(listed)
            }
        }
        outcome.isUnfinished =
            !needs.forgotten.isEmpty || !needs.participations.isEmpty
            || needs.waitingBytes > 0 && (!runs.isEmpty || !outcome.cleared.isEmpty)
        return (outcome, runs, needs.offsets)
    }

    /// What the needed rows say.
    private struct Needs {
        var offsets: Offsets = []
        /// By zone the last of the deletions that can be forgotten now, and what the entries of all of
        /// them have, in bytes.
        private(set) var forgotten: [UInt32: JournalOffset] = [:]
        var forgottenBytes = 0
        /// Whose ends of participations can be forgotten now.
        var participations: [ParticipationHorizonEntry] = []
        /// What the entries have of deletions that need not be remembered, but may have to take
        /// something away that is still in a segment before them.
        var waitingBytes = 0

        /// Returns false where too many zones forget some already.
        mutating func forget(_ zone: UInt32, through: JournalOffset) -> Bool {
            if let known = forgotten[zone] {
                forgotten[zone] = max(known, through)
                return true
            }
            if forgotten.count == JournalCompaction.forgottenLimit { return false }
            forgotten[zone] = through
            return true
        }

        /// In the order of the zones.
        var horizons: [Horizon] {
            forgotten.sorted { $0.key < $1.key }.map { Horizon(zone: $0.key, through: $0.value) }
        }
    }

    /// No more zones forget deletions at a time, so that the commit that says so stays small.
    static let forgottenLimit = 1 << 15

    /// Finds out what is needed of each candidate.
    private func needs(of candidates: inout [Candidate]) throws(EngineError) -> Needs {
        let bases = candidates.map(\.segment.base.rawValue)
        let clear = try clearedEverywhere()
        var needs = Needs()
        var deletions = PartitionDeletions()
        try forEachNeeded { row, bytes throws(EngineError) in
            let offset = JournalOffset(rawValue: row.value.stamp)
            deletions.take(row)
            // Only a zone has an entry of a horizon, and its shares forget with it.
            if row.key.isOfShare, !deletions.isOfShare {
                let owner = try share(deletions.partition)
                deletions.enter(owner)
                // The rows of a share that ended go at once, without lapsing.
                if let end = owner?.end, end < remembered, end > deletions.horizon,
                    end < min(clear, deletions.neededFrom)
                {
                    _ = needs.forget(deletions.zone, through: end)
                }
            }
            guard let bytes else { return }
            if row.isLapsing, offset < remembered, offset > deletions.horizon {
                if offset < min(clear, deletions.neededFrom),
                    needs.forget(deletions.zone, through: offset)
                {
                    needs.forgottenBytes += bytes
                } else {
                    needs.waitingBytes += bytes
                }
            }
            let place = bases.place(of: offset.rawValue + 1) - 1
            guard place >= 0, offset < candidates[place].segment.end else { return }
            candidates[place].neededBytes += bytes
            candidates[place].neededCount += 1
            if needs.offsets?.count == offsetLimit { needs.offsets = nil }
            needs.offsets?.append(offset.rawValue)
        }
        try forgetParticipations(deletions, before: clear, &needs)
        needs.offsets?.order()
        guard let offsets = needs.offsets else { return needs }
        for number in candidates.indices {
            let segment = candidates[number].segment
            let named =
                offsets.place(of: segment.end.rawValue) - offsets.place(of: segment.base.rawValue)
            candidates[number].isWhollyNamed = named == candidates[number].namedCount
        }
        return needs
    }

    /// Ends of participations need not be remembered longer than deletions. Their zones forget first:
    /// what left with a participation is told by those that are kept.
    private func forgetParticipations(
        _ deletions: PartitionDeletions, before clear: JournalOffset, _ needs: inout Needs
    ) throws(EngineError) {
        let reading = StoreReading(state, .blocking)
        /// Of the user whose participations are gone through.
        var (user, ready, first): (UInt32, [JournalOffset], JournalOffset?) = (0, [], nil)
        func finish() throws(EngineError) {
            guard user > 0, needs.participations.count < Self.forgottenLimit else { return }
            let through = ready.filter { end in first.map { end < $0 } ?? true }.max()
            if let through, through > (try reading.participationHorizon(of: user).through) {
                needs.participations.append(
                    ParticipationHorizonEntry(user: user, through: through))
            }
        }
        try reading.scan(KeySpace.participations.range()) { key, value throws(EngineError) in
            guard let participation = Participation(key, value) else { return true }
            if participation.user != user {
                try finish()
                (user, ready, first) = (participation.user, [], nil)
            }
            let ends: [JournalOffset]
            let horizon: UInt64
            do throws(IndexError) {
                ends = try participation.ends(in: state.fold.index)
                horizon = try state.fold.index.horizon(
                    ofPartition: participation.zone, .blocking)
            } catch {
                throw EngineError(error)
            }
            // It is forgotten once all of its ends can be: a store that is restored from a chain of archives
            // may have only one of them.
            guard let end = ends.max(), let firstEnd = ends.min() else { return true }
            let isGone = try reading.zone(participation.zone)?.isAlive != true
            let mayLapse = end < remembered && !deletions.neededParticipations.contains(key)
            let mayGo = mayLapse && end < clear
            if mayGo, isGone || end.rawValue <= horizon {
                ready.append(end)
                return true
            }
            first = min(first ?? firstEnd, firstEnd)
            if mayLapse, !mayGo { needs.waitingBytes += registry.bytesNamed(by: key, value) ?? 0 }
            if mayGo, end < deletions.neededFrom(ofZone: participation.zone) {
                _ = needs.forget(participation.zone, through: end)
            }
            return true
        }
        try finish()
    }

    /// Nil where a number is that of no share.
    private func share(_ number: UInt32) throws(EngineError) -> OwnedShare? {
        let value = try StoreReading(state, .blocking).value(.share(number))
        guard let place = value.flatMap({ SharePlace(number: number, $0) }) else { return nil }
        let horizon: UInt64
        do throws(IndexError) {
            horizon = try state.fold.index.horizon(ofPartition: place.zone, .blocking)
        } catch {
            throw EngineError(error)
        }
        return OwnedShare(
            zone: place.zone, horizon: JournalOffset(rawValue: horizon),
            end: place.hasMembers ? nil : place.offset)
    }

    /// Of what was taken away before this place, nothing is in any segment that no row names. So the
    /// entry that took it away can go, without bringing it back where the index is made anew.
    private func clearedEverywhere() throws(EngineError) -> JournalOffset {
        var limit = remembered
        let removals = try removedMarks()
        for segment in state.view.segments where segment.base < limit {
            limit = min(limit, max(segment.base, segment.listed.clearedBefore))
            // What a mark kept that was removed since may still be there.
            for mark in removals
            where mark.removed >= segment.listed.clearedBefore && mark.offset > segment.base {
                limit = min(limit, mark.offset)
            }
        }
        return limit
    }

    private func removedMarks() throws(EngineError) -> [(
        offset: JournalOffset, removed: JournalOffset
    )] {
        var marks: [(offset: JournalOffset, removed: JournalOffset)] = []
        try StoreReading(state, .blocking).scan(KeySpace.marks.range()) { key, value in
            if EntryLocation(value).isDeleted {
                marks.append(
                    (
                        JournalOffset(rawValue: key.uint64(at: 5)),
                        JournalOffset(rawValue: value.stamp)
                    ))
            }
            return true
        }
        return marks
    }

    /// Whether deletions have to be remembered because of what may be in a segment.
    private func holdsBack(_ candidate: Candidate) -> Bool {
        let segment = candidate.segment
        return max(segment.base, segment.listed.clearedBefore) < clearedBefore
    }

    /// Gives `body` each needed row and, where it names an entry, what it stands for of that, in
    /// bytes.
    private func forEachNeeded(
        _ body: (NeededRows.Row, Int?) throws(EngineError) -> Void
    ) throws(EngineError) {
        var rows = NeededRows(
            state.fold.index, at: points, horizonsBefore: checkpoint.rawValue)
        var count = 0
        while true {
            let next: NeededRows.Row?
            do throws(IndexError) {
                next = try rows.next()
            } catch {
                throw EngineError(error)
            }
            guard let row = next else {
                progress?(count)
                return
            }
            count += 1
            if count % Self.stride == 0 { progress?(count) }
            try body(row, registry.bytesNamed(by: row.key, row.value))
        }
    }

    /// The numbers of those that are worth it, in their order.
    private func chosen(
        of candidates: [Candidate], _ survey: Survey, waiting: Int
    ) -> [Int] {
        if effort == .erasing {
            return candidates.indices.filter { !candidates[$0].isWhollyNamed }
        }
        let isEverything = effort == .everything
        var chosen: Set<Int> = []
        // Deletions wait for segments to be cleared that need not be worth it themselves.
        if waiting > (isEverything ? 0 : survey.needed / 6) {
            chosen = Set(
                candidates.indices.filter {
                    holdsBack(candidates[$0]) && candidates[$0].segment.base < remembered
                        && !candidates[$0].isWhollyNamed
                })
        }
        var dead = survey.dead - chosen.reduce(0) { $0 + candidates[$1].deadBytes }
        if !isEverything, dead <= survey.needed / 3 { return chosen.sorted() }
        // What has lain long without dying is not likely to die soon.
        func worth(_ number: Int) -> Double {
            let candidate = candidates[number]
            let age = Double(state.head.rawValue - candidate.segment.end.rawValue + 1)
            let cost = candidate.segment.lengthInBytes + candidate.output
            return Double(candidate.benefit) * age / Double(cost)
        }
        let best = candidates.indices.map { ($0, worth($0)) }.sorted { $0.1 > $1.1 }
        var count = chosen.reduce(0) { $0 + candidates[$1].neededCount }
        for (number, _) in best where !chosen.contains(number) {
            let candidate = candidates[number]
            // What is not dead is compressed along with what is, and not for its own sake.
            let isWorthIt =
                isEverything
                ? candidate.benefit > candidate.segment.lengthInBytes / 64
                : candidate.deadBytes > candidate.frameBytes / 4
            guard isWorthIt else { continue }
            count += candidate.neededCount
            if !chosen.isEmpty, count > offsetLimit { break }
            chosen.insert(number)
            dead -= candidate.deadBytes
            if !isEverything, dead <= survey.needed / 6 { break }
        }
        return chosen.sorted()
    }

    /// About how much is dead behind the candidates, which is not looked at: what was counted and does not
    /// lie in them, but not more than there is.
    private func deadBytes(behind last: JournalView.Segment, _ survey: Survey) -> Int {
        var counted = state.fold.deadBytes
        if state.fold.countsForgotten { counted -= state.fold.end.bytes(since: .zero) }
        return min(state.head.bytes(since: last.end), max(0, counted - survey.dead))
    }

    /// Joins those that lie side by side, with small files beside them; none is joined to one behind
    /// it that a recovery ended, since tokens from what was lost there would become good. Those that
    /// are damaged are none of the candidates.
    private func runs(
        of candidates: [Candidate], _ chosen: [Int]
    ) throws(EngineError) -> [[Manifest.Segment]] {
        var isChosen = [Bool](repeating: false, count: candidates.count)
        for number in chosen { isChosen[number] = true }
        for number in candidates.indices where number > 0 && isChosen[number] {
            let (before, own) = (candidates[number - 1].segment, candidates[number].segment)
            guard areNeighbours(number, candidates) else { continue }
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
            if number > 0, isChosen[number - 1], areNeighbours(number, candidates) {
                runs[runs.count - 1].append(segment)
            } else {
                runs.append([segment])
            }
        }
        return runs
    }

    /// Whether a candidate may be joined to the one before it.
    private func areNeighbours(_ number: Int, _ candidates: [Candidate]) -> Bool {
        let before = candidates[number - 1]
        return before.place + 1 == candidates[number].place && !before.segment.listed.isEnded
    }

    /// The offsets of all entries of the runs that rows name, in their order.
    private func neededOffsets(in runs: [[Manifest.Segment]]) throws(EngineError) -> [UInt64] {
        let starts = runs.map { $0.first?.base.rawValue ?? 0 }
        let ends = runs.map { $0.last?.end.rawValue ?? 0 }
        var offsets: [UInt64] = []
        try forEachNeeded { row, bytes in
            if bytes == nil { return }
            let place = starts.place(of: row.value.stamp + 1) - 1
            if place >= 0, row.value.stamp < ends[place] { offsets.append(row.value.stamp) }
        }
        offsets.order()
        return offsets
    }
}
