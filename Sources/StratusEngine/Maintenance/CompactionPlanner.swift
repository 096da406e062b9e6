internal import StratusFiles
internal import StratusIndex
internal import StratusJournal

/// What a compaction is to write.
struct CompactionPlan {
    /// What will have come of it.
    var outcome = JournalCompaction.Outcome()
    /// In the order of the journal.
    var pieces: [Piece] = []
    /// So much is written before it is listed, in bytes: a part of the journal, so that neither many files
    /// nor many generations come of it.
    var usualOutput = 0
    /// By how much less is dead than is counted, in bytes of frames, before anything is written.
    var lessDead = 0
    /// The offsets of all entries of the pieces that rows name, in their order, where they were asked for.
    var offsets: [UInt64] = []
    /// Segments that stay as they are, of which more is known to be gone than is listed.
    var cleared: [Manifest.Segment] = []
    /// Of what was replaced or taken away before it, the pieces have only what marks need.
    var clearedBefore: JournalOffset

    /// Neighbouring segments that are written anew together.
    struct Piece {
        var segments: [Manifest.Segment] = []
        /// Their files, in bytes.
        var lengthInBytes = 0
        /// About what is written for them, in bytes.
        var output = 0
        /// What their frames have that is needed no longer, in bytes.
        var deadBytes = 0
    }
}

/// Finds out what of the journal is needed no longer, and which segments are worth being written anew
/// without it.
///
/// An entry is needed while a row of the index that is needed names it: the rows decide, and the
/// sieve that decides of them is that of the merges. What every later reading relies on, such as the
/// entries that give numbers, is always kept: ``EntryForm/Retention``.
struct CompactionPlanner: Sendable {
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
    /// How many offsets may be held in memory.
    private let offsetLimit: Int
    private let usualLength: Int
    private let effort: JournalCompaction.Effort
    private let progress: (@Sendable (Int) -> Void)?

    /// - Parameters: as of ``JournalCompaction``.
    init(
        _ published: PublishedState, at checkpoint: JournalOffset, before limit: JournalOffset,
        _ registry: ProjectionRegistry, _ budget: MemoryBudget, _ effort: JournalCompaction.Effort,
        usualLength: Int, progress: (@Sendable (Int) -> Void)?
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
        self.effort = effort
        self.usualLength = usualLength
        self.progress = progress
        offsetLimit = max(1 << 14, budget.limit / 8 / MemoryLayout<UInt64>.size)
    }

    /// A segment that may be compacted.
    fileprivate struct Candidate {
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

        /// What its needed entries will take, about.
        var output: Int {
            let length = segment.lengthInBytes
            guard segment.listed.isCompacted else {
                return min(length, CompactionPlanner.output(of: neededBytes))
            }
            return frameBytes == 0 ? length : length * min(neededBytes, frameBytes) / frameBytes
        }
        var benefit: Int { segment.lengthInBytes - output }
        var deadBytes: Int { max(0, frameBytes - neededBytes) }
    }

    /// How many bytes the blocks of a compacted segment have for frames of so many, about.
    static func output(of frameBytes: Int) -> Int { frameBytes * 5 / 8 }

    /// At least how many rows pass between two reports of progress.
    private static let stride = 4096

    /// The offsets of needed entries, in their order; nil where these are more than may be held.
    private typealias Offsets = [UInt64]?

    func plan(findingOffsets: Bool) throws(EngineError) -> CompactionPlan {
        var plan = CompactionPlan(clearedBefore: clearedBefore)
        var candidates: [Candidate] = []
        for (place, segment) in state.view.segments.enumerated() where segment.end <= limit {
            do throws(JournalError) {
                let (length, count) = try state.view.content(of: segment)
                candidates.append(
                    Candidate(
                        place: place, segment: segment, frameBytes: length, namedCount: count))
            } catch {
                guard case .damaged(let damage) = error else { throw EngineError(error) }
                plan.outcome.damage.append(damage)
            }
        }
        guard let last = candidates.last?.segment else { return plan }
        let needs = try needs(of: &candidates)
        var survey = JournalCompaction.Survey()
        for candidate in candidates {
            survey.segmentCount += 1
            survey.length += candidate.segment.lengthInBytes
            survey.output += candidate.output
            survey.needed += candidate.neededBytes
            survey.dead += candidate.deadBytes
        }
        plan.outcome.survey = survey
        let behind = state.head.bytes(since: last.end)
        let deadBehind = deadBytes(among: behind, survey)
        let chosen = chosen(
            of: candidates, length: survey.length + behind, dead: survey.dead + deadBehind,
            output: survey.output + Self.output(of: behind - deadBehind),
            waiting: needs.waitingBytes)
        plan.usualOutput = max(usualLength, survey.output / 16)
        plan.pieces = try pieces(of: candidates, chosen, usualOutput: plan.usualOutput)
        if let offsets = needs.offsets {
            plan.offsets = offsets
        } else if findingOffsets {
            plan.offsets = try neededOffsets(in: plan.pieces)
        }
        plan.outcome.forgotten = needs.horizons
        plan.outcome.participations = needs.participations
        plan.lessDead =
            state.fold.deadBytes - survey.dead - deadBehind - needs.forgottenBytes
        for piece in plan.pieces {
            plan.outcome.chosenCount += piece.segments.count
            plan.outcome.chosenLength += piece.lengthInBytes
            plan.outcome.freedBytes += piece.lengthInBytes - piece.output
        }
        if !plan.pieces.isEmpty || needs.waitingBytes > 0 {
            let isChosen = Set(plan.pieces.flatMap(\.segments).map(\.base))
            for candidate in candidates
            where holdsBack(candidate) && candidate.isWhollyNamed {
                var listed = candidate.segment.listed
                if isChosen.contains(listed.base) { continue }
                listed.clearedBefore = clearedBefore
                plan.cleared.append(listed)
            }
        }
        plan.outcome.isUnfinished =
            !needs.horizons.isEmpty || !needs.participations.isEmpty
            || needs.waitingBytes > 0
                && (!plan.pieces.isEmpty || !plan.cleared.isEmpty)
        return plan
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
            if forgotten.count == CompactionPlanner.forgottenLimit { return false }
            forgotten[zone] = through
            return true
        }

        /// In the order of the zones.
        var horizons: [JournalCompaction.Horizon] {
            forgotten.sorted { $0.key < $1.key }.map {
                JournalCompaction.Horizon(zone: $0.key, through: $0.value)
            }
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
        var passedOver = registry.keyspacesNamingNothing
        // Only the rows of records tell ``PartitionDeletions`` what marks still need of records that were
        // deleted. All other points lie behind what can be forgotten.
        if !points.marks.isEmpty { passedOver.remove(KeySpace.records.rawValue) }
        var needed = NeededRows(
            state.fold.index, at: points, horizonsBefore: checkpoint.rawValue,
            passingOver: passedOver)
        var rows: [NeededRows.Row] = []
        var (count, told) = (0, 0)
        while true {
            do throws(IndexError) {
                guard try needed.next(into: &rows) else { break }
            } catch {
                throw EngineError(error)
            }
            for row in rows { try body(row, registry.bytesNamed(by: row.key, row.value)) }
            count += rows.count
            if count - told >= Self.stride {
                told = count
                progress?(count)
            }
        }
        progress?(count)
    }

    /// The numbers of those that are worth it, in their order.
    ///
    /// - Parameters:
    ///   - length: of the journal, in bytes.
    ///   - dead: what of its frames is.
    ///   - output: about what the others would take, were all of them compacted.
    ///   - waiting: what the entries of deletions have that wait for segments to be cleared.
    private func chosen(
        of candidates: [Candidate], length: Int, dead: Int, output: Int, waiting: Int
    ) -> [Int] {
        if effort == .erasing {
            return candidates.indices.filter { !candidates[$0].isWhollyNamed }
        }
        let isEverything = effort == .everything
        var chosen: Set<Int> = []
        // Deletions wait for segments to be cleared that need not be worth it themselves.
        if waiting > (isEverything ? 0 : output / 6) {
            chosen = Set(
                candidates.indices.filter {
                    holdsBack(candidates[$0]) && candidates[$0].segment.base < remembered
                        && !candidates[$0].isWhollyNamed
                })
        }
        // What made it due was an estimate: less is enough here.
        if !isEverything, dead <= output / 8 || length <= output / 2 * 3 { return chosen.sorted() }
        var length = length - chosen.reduce(0) { $0 + candidates[$1].benefit }
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
            // Of a segment that was never compacted the needed entries shrink, too: less has to be dead.
            let part = candidate.segment.listed.isCompacted ? 4 : 16
            let isWorthIt =
                isEverything
                ? candidate.benefit > candidate.segment.lengthInBytes / 64
                : candidate.deadBytes > candidate.frameBytes / part
            guard isWorthIt else { continue }
            count += candidate.neededCount
            if !chosen.isEmpty, count > offsetLimit { break }
            chosen.insert(number)
            length -= candidate.benefit
            if !isEverything, length <= output / 4 * 5 { break }
        }
        return chosen.sorted()
    }

    /// About how much is dead of the bytes behind the candidates, which are not looked at: what was counted
    /// and does not lie in them, but not more than there is.
    private func deadBytes(among behind: Int, _ survey: JournalCompaction.Survey) -> Int {
        var counted = state.fold.deadBytes
        if state.fold.countsForgotten { counted -= state.fold.end.bytes(since: .zero) }
        return min(behind, max(0, counted - survey.dead))
    }

    /// Joins those that lie side by side, with small files beside them; none is joined to one behind
    /// it that a recovery ended, since tokens from what was lost there would become good. Those that
    /// are damaged are none of the candidates.
    ///
    /// - Parameter usualOutput: what is written for a piece before the next one begins, in bytes.
    private func pieces(
        of candidates: [Candidate], _ chosen: [Int], usualOutput: Int
    ) throws(EngineError) -> [CompactionPlan.Piece] {
        var isChosen = [Bool](repeating: false, count: candidates.count)
        for number in chosen { isChosen[number] = true }
        for number in candidates.indices where number > 0 && isChosen[number] {
            if isChosen[number - 1] || !areNeighbours(number, candidates) { continue }
            let before = candidates[number - 1].segment
            // Small files are joined to what is written anyway.
            if before.listed.isCompacted, before.lengthInBytes < usualLength / 4 {
                isChosen[number - 1] = true
            } else if try !canBegin(at: number, candidates) {
                isChosen[number] = false
            }
        }
        var pieces: [CompactionPlan.Piece] = []
        for number in candidates.indices where isChosen[number] {
            let isJoined = number > 0 && isChosen[number - 1] && areNeighbours(number, candidates)
            let isLong = (pieces.last?.output ?? 0) >= usualOutput
            var begins = !isJoined
            if isJoined, isLong { begins = try canBegin(at: number, candidates) }
            if begins { pieces.append(CompactionPlan.Piece()) }
            pieces[pieces.count - 1].add(candidates[number])
        }
        return pieces
    }

    /// Whether a piece may begin at a candidate that is not the first: how a commit that is open there
    /// ended, its beginning decides.
    private func canBegin(
        at number: Int, _ candidates: [Candidate]
    ) throws(EngineError) -> Bool {
        let (before, own) = (candidates[number - 1].segment, candidates[number].segment)
        if before.listed.isCompacted || own.listed.isCompacted { return true }
        do throws(JournalError) {
            return try !state.view.beginsAmidCommit(own)
        } catch {
            guard case .damaged = error else { throw EngineError(error) }
            return false
        }
    }

    /// Whether a candidate may be joined to the one before it.
    private func areNeighbours(_ number: Int, _ candidates: [Candidate]) -> Bool {
        let before = candidates[number - 1]
        return before.place + 1 == candidates[number].place && !before.segment.listed.isEnded
    }

    /// The offsets of all entries of the pieces that rows name, in their order.
    private func neededOffsets(
        in pieces: [CompactionPlan.Piece]
    ) throws(EngineError) -> [UInt64] {
        if pieces.isEmpty { return [] }
        let starts = pieces.map { $0.segments.first?.base.rawValue ?? 0 }
        let ends = pieces.map { $0.segments.last?.end.rawValue ?? 0 }
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

extension CompactionPlan.Piece {
    fileprivate mutating func add(_ candidate: CompactionPlanner.Candidate) {
        segments.append(candidate.segment.listed)
        lengthInBytes += candidate.segment.lengthInBytes
        output += candidate.output
        deadBytes += candidate.deadBytes
    }
}
