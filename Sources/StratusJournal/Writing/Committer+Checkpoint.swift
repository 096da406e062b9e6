internal import Synchronization

// What the layer above does between commits to spare the next opening its work.

extension Committer {
    /// Gives `body` the fold and the place up to which it has seen the journal; no commit is open
    /// there. Nil where no checkpoint can be taken now: the store was closed or is poisoned, or the
    /// segment is full and the next one could not be begun.
    package func freeze<Result: Sendable>(
        _ body: @Sendable (inout Participant, JournalPosition) -> Result
    ) -> Result? {
        state.withLock { state in
            guard !state.isClosed, let position = state.stage.writer.position else { return nil }
            return body(&state.stage.fold, position)
        }
    }

    /// Makes `checkpoint`, whose position ``freeze(_:)`` gave, the one that openings begin at. What
    /// was written so far is durable then.
    package func take(_ checkpoint: Manifest.Checkpoint) throws(JournalError) {
        try state.withLock { state throws(JournalError) in
            if state.isClosed { throw .closed }
            try state.stage.writer.take(checkpoint)
        }
    }

    /// Lists compacted segments instead of those in whose place they stand, and gives `body` the
    /// fold and the names of the files that are listed no more. Then readers are shown the journal
    /// as it lies now.
    package func list(
        _ compacted: [Manifest.Segment], _ body: @Sendable (inout Participant, [String]) -> Void
    ) throws(JournalError) {
        try state.withLock { state throws(JournalError) in
            if state.isClosed { throw .closed }
            let gone = try state.stage.writer.list(compacted)
            body(&state.stage.fold, gone)
            state.stage.publish()
        }
    }

    /// Ends the segment that is written to, so that all that was committed can be compacted.
    package func endSegment() throws(JournalError) {
        try state.withLock { state throws(JournalError) in
            if state.isClosed { throw .closed }
            try state.stage.writer.endSegment()
            state.stage.publish()
        }
    }

    /// Makes the versions of what is committed from here on greater than those of a store with that
    /// incarnation: see ``JournalWriter/raise(above:)``.
    package func raise(above incarnation: UInt16) throws(JournalError) {
        try state.withLock { state throws(JournalError) in
            if state.isClosed { throw .closed }
            try state.stage.writer.raise(above: incarnation)
            state.stage.publish()
        }
    }

    /// Makes known what ``freeze(_:)`` changed in the fold, before the next commit does.
    package func publish() {
        state.withLock { state in
            guard !state.isClosed, state.stage.writer.position != nil else { return }
            state.stage.publish()
        }
    }

    /// Why there will be no checkpoint any more, if so.
    package var failure: JournalError? {
        state.withLock { state in
            state.isClosed ? .closed : state.stage.writer.poison.map { .poisoned($0) }
        }
    }

    /// Files of the layer above are no longer needed: see ``JournalWriter/release(_:)``.
    package func release(_ files: [String]) {
        state.withLock { state in
            if !state.isClosed { _ = state.stage.writer.release(files) }
        }
    }
}
