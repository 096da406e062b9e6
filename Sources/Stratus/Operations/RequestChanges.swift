internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// A long-lived request that the store keeps.
struct StoredRequest: Sendable {
    /// Where its entry lies.
    let offset: JournalOffset
    /// When it was submitted, in microseconds since 1970.
    let time: Int64
    let entry: RequestEntry
    /// What failed, where it was run; nil: it is pending.
    let failures: [RequestStateEntry.Failure]?
}

extension RequestName {
    init(of user: UserID, _ operationID: String, _ identity: StoreIdentity) {
        self.init(
            caller: user.bits, id: Hash128(operationID, seed: identity.secret))
    }
}

extension StoreReading {
    /// The request of that name; nil where there is none, or it is forgotten by the time `now`, in
    /// microseconds since 1970.
    func request(_ name: RequestName, now: Int64) throws(EngineError) -> StoredRequest? {
        guard let value = try value(.request(name)) else { return nil }
        return try request(name, at: EntryLocation(value), now: now)
    }

    /// Those of a user, in the order in which they were submitted. One that is damaged is left out.
    func requests(of user: UserID, now: Int64) throws(EngineError) -> [StoredRequest] {
        try requests(in: IndexKey.requests(of: user.bits).asPrefix, now: now)
    }

    /// Those of all users that change records and were not run, likewise.
    func pendingChanges(now: Int64) throws(EngineError) -> [StoredRequest] {
        try requests(in: KeySpace.requests.range(), now: now).filter {
            $0.failures == nil && $0.entry.body.isChange
        }
    }

    /// Whether there is any request, of whatever user.
    func hasRequests() throws(EngineError) -> Bool {
        var isAny = false
        try scan(KeySpace.requests.range()) { _, _ in
            isAny = true
            return false
        }
        return isAny
    }

    private func requests(
        in range: Range<IndexKey>, now: Int64
    ) throws(EngineError) -> [StoredRequest] {
        var places: [(RequestName, EntryLocation)] = []
        try scan(range) { key, value in
            places.append((key.requestName, EntryLocation(value)))
            return true
        }
        places.sort { $0.1.offset < $1.1.offset }
        var found: [StoredRequest] = []
        for (name, place) in places {
            do throws(EngineError) {
                if let stored = try request(name, at: place, now: now) { found.append(stored) }
            } catch {
                guard error.isDamage else { throw error }
            }
        }
        return found
    }

    private func request(
        _ name: RequestName, at place: EntryLocation, now: Int64
    ) throws(EngineError) -> StoredRequest? {
        let entry = try entry(place)
        guard let time = entry.commitTime, entry.kind == .request,
            let request = entry.withPayload({ try? RequestEntry($0) })
        else { throw .damaged(entry) }
        if RequestEntry.isExpired(time, at: now) { return nil }
        var failures: [RequestStateEntry.Failure]?
        if let state = try requestState(name), state.entry.request == place.offset {
            guard case .finished(let found) = state.entry.state,
                now <= state.time.addingReportingOverflow(OperationEntry.lifetime).partialValue
            else { return nil }
            failures = found
        }
        return StoredRequest(
            offset: place.offset, time: time, entry: request, failures: failures)
    }

    /// The last state of a request, and when it was committed.
    func requestState(
        _ name: RequestName
    ) throws(EngineError) -> (entry: RequestStateEntry, time: Int64)? {
        guard let value = try value(.requestState(name)) else { return nil }
        let entry = try entry(EntryLocation(value))
        guard let time = entry.commitTime, entry.kind == .requestState,
            let state = entry.withPayload({ try? RequestStateEntry($0) })
        else { throw .damaged(entry) }
        return (state, time)
    }
}

extension IndexKey {
    /// The request that a row is of.
    fileprivate var requestName: RequestName {
        RequestName(
            caller: Hash128(high: uint64(at: 5), low: uint64(at: 13)),
            id: Hash128(high: uint64(at: 21), low: uint64(at: 29)))
    }
}

/// Keeps a request: a commit of its own, before anything of it is done.
struct RequestSubmission: Transaction {
    let name: RequestName
    let entry: RequestEntry

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readSet = [.request(name), .requestState(name)]
        if let known = try reading.request(name, now: context.now) {
            guard known.entry.id.utf8.elementsEqual(entry.id.utf8),
                known.entry.scope == entry.scope,
                known.entry.body.comparable == entry.body.comparable
            else { throw .refused(.reusedOperationID) }
            draft.results = [.unchanged]
            return draft
        }
        do throws(FrameFault) {
            try draft.buffer.append(.request, zone: 0, limit: context.payloadLimit) {
                entry.write(to: &$0)
            }
        } catch {
            throw .refused(
                .limitExceeded,
                "a long-lived operation has at most \(context.payloadLimit) bytes")
        }
        draft.results = [.staged(place: 0)]
        return draft
    }
}

/// Says what became of a request; nothing where it has ended already.
struct RequestStateChange: Transaction {
    let name: RequestName
    let entry: RequestStateEntry

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        var draft = Draft(reading)
        draft.readSet = [.request(name), .requestState(name)]
        draft.results = [.unchanged]
        guard try reading.value(.request(name))?.stamp == entry.request.rawValue else {
            return draft
        }
        if case .finished = entry.state, let last = try reading.requestState(name),
            last.entry.request == entry.request
        {
            // It was run twice at once, which came to the same.
            draft.results = [.done(entry)]
            return draft
        }
        try draft.buffer.add(.requestState, limit: context.payloadLimit) { entry.write(to: &$0) }
        draft.results = [.staged(place: 0)]
        return draft
    }
}
