public import FoundationEssentials
internal import StratusJournal
internal import StratusEngine

/// A moment in the past of a store.
public enum PastPoint: Hashable, Sendable {
    /// What had been committed with an entry at the offset, or before: of a version its offset or
    /// change tag, or any that `stratus log` shows; ``Snapshot/offset``; ``Mark/offset``.
    case offset(UInt64)
    /// What had been committed when a token was given: the last commit that it knows of, whole.
    case token(ChangeToken)
    /// What had been committed at a time, by the clock of the machine. Where that was set back, the
    /// last commit of those not later than the time.
    case time(Date)
    /// What had been committed when a mark was made.
    case mark(Mark)
}

extension Container {
    /// The store as it was at an earlier moment: behind a commit, never amid one.
    ///
    /// - Throws: ``StoreError`` with `changeTokenExpired` and the cause `changeToken(.compacted)`
    ///   where that state is not kept: what is kept ``history()`` says. For a token also as of
    ///   ``Database``.
    public nonisolated(nonsending) func snapshot(
        at point: PastPoint
    ) async throws(StoreError) -> Snapshot {
        try await answer { () async throws(EngineError) -> Snapshot in
            try await threads.run { [self] in try heldSnapshot(at: point) }
        }
    }

    /// The same. Blocks the calling thread.
    func heldSnapshot(at point: PastPoint) throws(EngineError) -> Snapshot {
        let reading = reading.waiting
        let state = try point.state(in: reading)
        guard reading.keeps(state), let snapshot = Snapshot(self, state) else {
            throw .refused(.expired(.compacted, "the state of that moment is not kept"))
        }
        return snapshot
    }

    /// Where the journal ended at a moment, as an offset, also where that state is not kept.
    ///
    /// - Throws: ``StoreError`` as ``snapshot(at:)`` does for a token or a date that is none.
    package nonisolated(nonsending) func offset(at point: PastPoint) async throws(StoreError)
        -> UInt64
    {
        try await answer { () async throws(EngineError) -> UInt64 in
            try await threads.run { [self] in try point.state(in: reading.waiting).point.rawValue }
        }
    }
}

extension PastPoint {
    /// The state that it means.
    fileprivate func state(in reading: StoreReading) throws(EngineError) -> PastState {
        switch self {
        case .offset(let offset):
            return try reading.state(beginningBy: JournalOffset(rawValue: offset))
        case .mark(let mark):
            return try reading.state(beginningBy: JournalOffset(rawValue: mark.offset))
        case .time(let date):
            let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
            guard let time = Int64(exactly: microseconds) else {
                throw .refused(.invalidArguments, "the date is not one that a commit can have")
            }
            return try reading.state(madeBy: time)
        case .token(let token):
            if token.scope == .zone, let zone = try reading.zone(token.zone),
                reading.isRestored(token.position, in: zone)
            {
                // The versions are of another journal: here all of them came with the zone.
                _ = try token.accepted(for: zone, .none, reading)
                return try reading.state(beginningBy: zone.offset)
            }
            try token.check(in: reading)
            return try reading.state(beginningBy: token.position.offset)
        }
    }
}
