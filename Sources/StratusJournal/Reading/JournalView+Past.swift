internal import StratusFiles

/// What a store was between two commits.
package struct PastState: Equatable, Sendable {
    /// Right behind the last entry before it: what lies before belongs to the state.
    package var point: JournalOffset
    /// Where the next commit begins, or the journal ends: up to there the state is the same.
    package var end: JournalOffset
}

// Finding states of the past. The journal is read a stretch at a time, from the last one on that may
// hold the commit: nothing tells where commits begin.
extension JournalView {
    /// The state behind the last commit that begins at or before `offset`. The journal ends at
    /// `head`.
    package func state(
        beginningBy offset: JournalOffset, before head: JournalOffset
    ) throws(JournalError) -> PastState {
        try lastState(
            before: head, in: { $0.base <= offset }, from: { $0 <= offset },
            behind: { $0.start <= offset })
    }

    /// The state behind the last commit whose time is not later, in microseconds since 1970. Clocks
    /// may go back: the order is that of the journal.
    package func state(
        madeBy time: Int64, before head: JournalOffset
    ) throws(JournalError) -> PastState {
        try lastState(
            before: head,
            in: { segment in
                let listed = segment.listed
                let isKnown = listed.leastTime != 0 || listed.greatestTime != 0
                return !isKnown || listed.leastTime <= time
            }, from: { _ in true }, behind: { $0.time <= time })
    }

    /// A complete commit, as far as it is kept.
    private struct Commit {
        /// Where its first entry lies.
        var start: JournalOffset
        /// Right behind the offset of its last entry.
        var end: JournalOffset
        var time: Int64
    }

    /// - Parameters:
    ///   - mayHold: whether a segment may have the commit, or the end of it.
    ///   - mayBegin: whether it may lie at that place or behind it.
    private func lastState(
        before head: JournalOffset, in mayHold: (Segment) -> Bool,
        from mayBegin: (JournalOffset) -> Bool, behind isOne: (Commit) -> Bool
    ) throws(JournalError) -> PastState {
        let segments = segments.filter { $0.base < head }
        for (number, segment) in segments.enumerated().reversed() {
            // A commit that begins in a segment counts where it ends.
            guard mayHold(segment) || (number + 1 < segments.count && mayHold(segments[number + 1]))
            else { continue }
            var starts = try stretches(of: segment, before: head)
            var (stop, count) = (segment.end, 1)
            while let start = starts.last {
                guard mayBegin(start) else {
                    stop = start
                    starts.removeLast()
                    continue
                }
                var (first, found): (JournalOffset?, Commit?)
                try forEachCommit(in: segment, from: start, before: head) { commit in
                    guard commit.start < stop else { return false }
                    if first == nil { first = commit.start }
                    if isOne(commit) { found = commit }
                    return true
                }
                if let found {
                    let next = try firstCommit(
                        in: segments[number...], from: start, behind: found.end, before: head)
                    return PastState(point: found.end, end: next)
                }
                // Twice as many each time: to go to a place takes a look at all groups before it.
                stop = first ?? stop
                starts.removeLast(min(count, max(1, starts.count - 1)))
                count *= 2
            }
        }
        let start = segments.first?.base ?? head
        return PastState(
            point: .zero,
            end: try firstCommit(in: segments[...], from: start, behind: .zero, before: head))
    }

    /// Where the first commit of `segments` begins that begins behind `place`; `head` where there is
    /// none. In a compacted segment the rest of one that began before looks like a commit.
    ///
    /// - Parameter start: where to begin in the first of them.
    private func firstCommit(
        in segments: ArraySlice<Segment>, from start: JournalOffset, behind place: JournalOffset,
        before head: JournalOffset
    ) throws(JournalError) -> JournalOffset {
        for segment in segments {
            var found: JournalOffset?
            try forEachCommit(in: segment, from: max(start, segment.base), before: head) { commit in
                if commit.start >= place { found = commit.start }
                return found == nil
            }
            if let found { return found }
        }
        return head
    }

    /// How far apart those places lie at least at which ``stretches(of:before:)`` begin, in bytes.
    private static let stretchLength = 32 << 10

    /// Places in a segment at which reading can begin, the first at its beginning: groups or blocks.
    private func stretches(
        of segment: Segment, before head: JournalOffset
    ) throws(JournalError) -> [JournalOffset] {
        var starts = [segment.base]
        if segment.listed.isCompacted {
            let file = try files.compacted(segment.listed, .blocking)
            var reader = CompactedReader(file)
            var place = 0
            while let row = try reader.skipBlock() {
                if row.place - place < Self.stretchLength { continue }
                if place > 0 { starts.append(row.firstOffset) }
                place = row.place
            }
            return starts
        }
        var reader = GroupReader(
            try files.file(of: segment.listed, .blocking), base: segment.base,
            salt: segment.listed.salt, limit: segment.limit, at: segment.listed.firstGroup,
            chain: segment.listed.chainAtStart)
        let end = min(segment.end, head)
        do throws(StorageError) {
            while let position = try reader.skipGroup(), position < end {
                if position.bytes(since: starts[starts.count - 1]) >= Self.stretchLength {
                    starts.append(position)
                }
            }
        } catch {
            throw .storage(error)
        }
        return starts
    }

    /// Gives `body` the commits that begin in a segment, at or behind `start`, and end before `head`,
    /// until it returns false. Where `start` lies amid a commit, that one is left out.
    private func forEachCommit(
        in segment: Segment, from start: JournalOffset, before head: JournalOffset,
        _ body: (Commit) -> Bool
    ) throws(JournalError) {
        var log = JournalLog(self, from: start, to: head)
        var first: JournalOffset?
        var nextOrdinal: UInt32 = 0
        // Of a commit in a compacted segment the first entry may be missing, or the last: one begins
        // also behind the end of another, and where the ordinals do not go on.
        var isBehindEnd = start == segment.base
        while let entry = try log.nextEntry() {
            guard entry.kind.isEntry else { continue }
            let ordinal = entry.header.ordinal
            if ordinal == 0 || entry.isOfCompleteCommit && (isBehindEnd || ordinal < nextOrdinal) {
                first = entry.offset
            }
            if (first ?? entry.offset) >= segment.end { return }
            nextOrdinal = ordinal + 1
            isBehindEnd = entry.commitTime != nil
            guard let time = entry.commitTime else { continue }
            if let first {
                let commit = Commit(start: first, end: entry.offset.next, time: time)
                guard body(commit) else { return }
            }
            first = nil
        }
    }
}

extension JournalLog {
    /// The next frame; nil at the end.
    fileprivate mutating func nextEntry() throws(JournalError) -> JournalEntry? {
        do {
            return try nextLine()?.entry
        } catch let error as JournalError {
            throw error
        } catch let error as StorageError {
            throw .storage(error)
        } catch {
            throw .storage(StorageError(.inputOutput, file: ""))
        }
    }
}
