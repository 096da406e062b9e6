/// Where the committer puts commits together: the group being filled, and what was written before
/// it.
///
/// A commit is appended in one part or, where it is longer than a group, in several, between
/// which groups are written; then it stands alone between its first and its last part.
package struct CommitStage<Fold: JournalFold> {
    package internal(set) var writer: JournalWriter
    package var fold: Fold
    package internal(set) var group: GroupBuilder?
    /// Of the long commit that has begun; 0 where none has.
    private var nextOrdinal = 0
    /// Where the journal stood before it.
    private var savepoint: JournalWriter.Savepoint?

    init(_ writer: JournalWriter, fold: Fold) {
        self.writer = writer
        self.fold = fold
    }

    /// Where the next entry would lie, unless it needs a new segment.
    package var head: JournalOffset { group?.end ?? writer.head }

    /// The longest commit that is appended in one part.
    package var partLimit: Int { writer.groupLimit }

    /// Adds a part of a commit, at most ``partLimit`` long, and gives it to the fold. With
    /// `isLast` the commit is complete. Returns where the part begins.
    ///
    /// After a failure nothing of the commit is there, nor anything else of its group.
    @discardableResult
    package mutating func append(
        _ part: CommitBuffer, isLast: Bool, time: Int64
    ) throws(JournalError) -> JournalOffset {
        let isLong = nextOrdinal > 0 || !isLast
        if nextOrdinal == 0, isLong {
            try flush()
            fold.setSavepoint()
            savepoint = writer.savepoint
        }
        if let group, !group.hasRoom(for: part.lengthInBytes) { try flush(isLong: isLong) }
        if group == nil {
            do {
                group = try writer.beginGroup(roomFor: part.lengthInBytes) { [fold] limit in
                    fold.preamble(limit: limit)
                }
            } catch {
                if isLong { try abandon() }
                throw error
            }
            if !isLong { fold.setSavepoint() }
        }
        let start = group?.append(part, ordinal: nextOrdinal, time: isLast ? time : nil)
        guard let start, let group else { preconditionFailure("a group was begun") }
        let end = group.end
        var refusal: JournalDamage?
        group.forEachEntry(from: start) { header, offset, payload in
            do throws(JournalDamage.Kind) {
                if refusal == nil { try fold.apply(header, at: offset, payload: payload) }
            } catch {
                refusal = JournalDamage(error, file: "", byte: 0, offset: offset)
            }
        }
        // What a reader would refuse is never written. It may come from a damaged entry that the
        // commit repeats in part.
        if let refusal {
            nextOrdinal = 0
            self.group = nil
            fold.rollBack()
            throw JournalError(refusal)
        }
        if isLast {
            fold.complete(end: end, time: time)
            nextOrdinal = 0
            if isLong { try flush(isLong: true) }
            savepoint = nil
        } else {
            nextOrdinal += part.entryCount
        }
        return start
    }

    /// Gives up a long commit that has begun: nothing of it is left, in the journal neither.
    package mutating func abandon() throws(JournalError) {
        guard let savepoint = savepoint.take() else { return }
        nextOrdinal = 0
        group = nil
        fold.rollBack()
        try writer.rollBack(to: savepoint)
    }

    /// Writes the group being filled, if there is one.
    package mutating func flush(isLong: Bool = false) throws(JournalError) {
        guard let full = group.take() else { return }
        do {
            try fold.endGroup()
            try writer.write(full)
        } catch {
            if savepoint == nil { fold.rollBack() } else { try abandon() }
            throw error
        }
    }
}

extension CommitStage where Fold: CommitParticipant {
    /// Shows readers what was written and folded.
    mutating func publish() {
        fold.publish(writer.view, of: writer.identity, head: writer.head)
    }
}
