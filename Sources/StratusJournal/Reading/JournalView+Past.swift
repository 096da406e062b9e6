internal import StratusFiles

/// What a store was between two commits.
package struct PastState: Equatable, Sendable {
    /// Right behind the last entry before it: what lies before belongs to the state.
    package var point: JournalOffset
    /// Where the next commit begins, or the journal ends: up to there the state is the same.
    package var end: JournalOffset
}

// Finding states of the past. The journal is read from the beginning of a segment on, of one where
// nothing is found also of those before.
extension JournalView {
    /// The state behind the last commit that begins at or before `offset`. The journal ends at
    /// `head`.
    package func state(
        beginningBy offset: JournalOffset, before head: JournalOffset
    ) throws(JournalError) -> PastState {
        try lastState(before: head, in: { $0.base <= offset }, behind: { $0.start <= offset })
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
            }, behind: { $0.time <= time })
    }

    /// A complete commit, as far as it is kept.
    private struct Commit {
        /// Where its first entry lies.
        var start: JournalOffset
        /// Right behind the offset of its last entry.
        var end: JournalOffset
        var time: Int64
    }

    private func lastState(
        before head: JournalOffset, in mayHold: (Segment) -> Bool, behind isOne: (Commit) -> Bool
    ) throws(JournalError) -> PastState {
        let segments = segments.filter { $0.base < head }
        for (number, segment) in segments.enumerated().reversed() {
            // A commit that begins in a segment counts where it ends.
            guard mayHold(segment) || (number + 1 < segments.count && mayHold(segments[number + 1]))
            else { continue }
            var found: PastState?
            try forEachCommit(beginningIn: segment, before: head) { commit in
                if isOne(commit) {
                    found = PastState(point: commit.end, end: head)
                } else if found?.end == head {
                    found?.end = commit.start
                }
                return true
            }
            guard var found else { continue }
            if found.end == head {
                found.end = try firstCommit(
                    in: segments[(number + 1)...], behind: found.point, before: head)
            }
            return found
        }
        return PastState(
            point: .zero, end: try firstCommit(in: segments[...], behind: .zero, before: head))
    }

    /// Where the first commit of `segments` begins that begins behind `place`; `head` where there is
    /// none. In a compacted segment the rest of one that began before looks like a commit.
    private func firstCommit(
        in segments: ArraySlice<Segment>, behind place: JournalOffset, before head: JournalOffset
    ) throws(JournalError) -> JournalOffset {
        for segment in segments {
            var start: JournalOffset?
            try forEachCommit(beginningIn: segment, before: head) { commit in
                if commit.start >= place { start = commit.start }
                return start == nil
            }
            if let start { return start }
        }
        return head
    }

    /// Gives `body` the commits that begin in a segment and end before `head`, until it returns
    /// false.
    private func forEachCommit(
        beginningIn segment: Segment, before head: JournalOffset, _ body: (Commit) -> Bool
    ) throws(JournalError) {
        var log = JournalLog(self, from: segment.base, to: head)
        var start: JournalOffset?
        var nextOrdinal: UInt32 = 0
        while let entry = try log.nextEntry() {
            guard entry.kind.isEntry else { continue }
            let ordinal = entry.header.ordinal
            // Of a commit in a compacted segment the first entry may be missing, or the last.
            if ordinal == 0 || entry.isOfCompleteCommit && (start == nil || ordinal < nextOrdinal) {
                start = entry.offset
            }
            if (start ?? entry.offset) >= segment.end { return }
            nextOrdinal = ordinal + 1
            guard let time = entry.commitTime else { continue }
            if let first = start {
                let commit = Commit(start: first, end: entry.offset.next, time: time)
                guard body(commit) else { return }
            }
            start = nil
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
