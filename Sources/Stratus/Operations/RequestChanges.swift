internal import StratusBytes
package import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// A long-lived request that the store keeps.
struct StoredRequest: Sendable {
    /// Where its entry lies.
    let offset: JournalOffset
    /// When it was submitted, in microseconds since 1970.
    let time: Int64
    let entry: RequestEntry
    /// Of its frame, in bytes.
    let length: Int
    /// What failed, where it was run; nil: it is pending.
    let failures: [RequestStateEntry.Failure]?

    /// So many bytes the reasons of failures may take: with them its state is no longer than the
    /// request, since an item takes more than what is said of one that failed.
    var reasonLimit: Int { max(4096, length / 2) }

    /// What says what became of it.
    func entry(_ state: RequestStateEntry.State) -> RequestStateEntry {
        RequestStateEntry(
            caller: entry.caller, id: entry.id, request: offset, submitted: time, state: state)
    }
}

/// Which request, and where its entry lies.
struct RequestPlace: Sendable {
    let name: RequestName
    let entry: EntryLocation
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

    /// The places of those of a user, in the order in which they were submitted.
    func requests(of user: UserID) throws(EngineError) -> [RequestPlace] {
        try requests(in: IndexKey.requests(of: user.bits).asPrefix)
    }

    /// The places of those of all users, likewise.
    func requests() throws(EngineError) -> [RequestPlace] {
        try requests(in: KeySpace.requests.range())
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

    private func requests(in range: Range<IndexKey>) throws(EngineError) -> [RequestPlace] {
        var places: [RequestPlace] = []
        try scan(range) { key, value in
            places.append(RequestPlace(name: key.requestName, entry: EntryLocation(value)))
            return true
        }
        return places.sorted { $0.entry.offset < $1.entry.offset }
    }

    /// The request at a place; nil where it is forgotten by the time `now`, is another one by now,
    /// or its bytes are damaged.
    func request(at place: RequestPlace, now: Int64) throws(EngineError) -> StoredRequest? {
        do throws(EngineError) {
            let found = try request(place.name, now: now)
            return found?.offset == place.entry.offset ? found : nil
        } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }

    /// Fails where another request of so many bytes would be too much for one user.
    func checkRoom(
        for user: UserID, length: Int, now: Int64
    ) throws(EngineError) {
        let kept = try requests(of: user)
        func isTooMuch(_ kept: [RequestPlace]) -> Bool {
            kept.count >= RequestEntry.countLimit
                || kept.reduce(length) { $0 + $1.entry.frameLength } > RequestEntry.bytesLimit
        }
        // Those that are over stay in the index until others are committed.
        guard isTooMuch(kept) else { return }
        var rest: [RequestPlace] = []
        for place in kept where try request(at: place, now: now) != nil { rest.append(place) }
        if isTooMuch(rest) {
            throw .refused(
                .limitExceeded,
                "a user has at most \(RequestEntry.countLimit) long-lived operations, of at most "
                    + "\(RequestEntry.bytesLimit) bytes together")
        }
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
            offset: place.offset, time: time, entry: request, length: place.frameLength,
            failures: failures)
    }

    /// Why there is no request of a name: `operationCancelled` where the last one was cancelled, as long
    /// as that is known.
    ///
    /// - Parameter request: where it lay; nil: wherever.
    func absence(
        of name: RequestName, at request: JournalOffset? = nil
    ) throws(EngineError) -> StoreError {
        guard let last = try requestState(name)?.entry, case .cancelled = last.state,
            request == nil || request == last.request
        else { return .noRequest }
        return .requestCancelled
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
    /// The entry in bytes.
    let payload: [UInt8]

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
        draft.readRanges.append(IndexKey.requests(of: entry.caller).asPrefix)
        try reading.checkRoom(
            for: UserID(bits: entry.caller),
            length: FrameFormat.frameLength(payload: payload.count), now: context.now)
        do throws(FrameFault) {
            try draft.buffer.append(.request, zone: 0, limit: context.payloadLimit) {
                $0.append(payload)
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

/// A call that is one commit, and with it the end of its request: so it is made once, and what failed
/// stands in the request's state.
struct EndingCall<Call: ItemizedTransaction>: Transaction {
    let call: Call
    let name: RequestName
    let request: StoredRequest

    var beginsGroup: Bool { call.beginsGroup }

    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        try reading.checkIsKept(name, at: request.offset)
        guard var draft = try call.draft(reading, context, sink: sink) else { return nil }
        let state = request.entry(.finished(try failures(of: draft)))
        draft.readSet += [.request(name), .requestState(name)]
        try draft.buffer.add(.requestState, limit: context.payloadLimit) { state.write(to: &$0) }
        return draft
    }

    /// The items that failed. Fails where one is to be tried again.
    func failures(of draft: Draft) throws(EngineError) -> [RequestStateEntry.Failure] {
        let errors = call.errors(of: draft)
        if let passing = errors.compactMap({ $0 }).first(where: { !$0.isOutcome }) {
            throw .refused(passing)
        }
        return RequestStateEntry.Failure.list(errors, reasonLimit: request.reasonLimit)
    }
}

extension RequestStateEntry.Failure {
    /// Of the items that failed, those that follow one another for one reason together. Their reasons
    /// have at most so many bytes together; later ones are left out.
    package static func list(_ errors: [StoreError?], reasonLimit: Int) -> [RequestStateEntry
        .Failure]
    {
        var failures: [RequestStateEntry.Failure] = []
        var rest = reasonLimit
        for (place, error) in errors.enumerated() {
            guard let error else { continue }
            let code = error.code.rawValue
            if let last = failures.last, last.range.upperBound == place, last.code == code,
                last.reason == error.reason || last.reason.isEmpty && error.reason.utf8.count > rest
            {
                failures[failures.count - 1].count += 1
                continue
            }
            let reason = error.reason.utf8.count <= rest ? error.reason : ""
            rest -= reason.utf8.count
            failures.append(
                RequestStateEntry.Failure(start: place, count: 1, code: code, reason: reason))
        }
        return failures
    }
}
