internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal

extension LongLivedOperation {
    private var user: UserID { UserID(bits: stored.entry.caller) }

    /// As its user sees it.
    private var database: Database {
        let entry = stored.entry
        let scope: DatabaseScope =
            switch entry.scope {
            case .public: .public
            case .private: .private(owner: user)
            case .shared: .shared(user: user)
            }
        return Database(
            container: container, scope: scope, principal: .user(user),
            userName: entry.hostName.isEmpty ? user.recordName : entry.hostName,
            device: entry.device.isEmpty ? nil : entry.device)
    }

    nonisolated(nonsending) func run(
        _ progress: Progress?
    ) async throws(EngineError) -> LongLivedAnswer {
        let known = try await current()
        if let failure = known.failures?.first, failure.count == 0 {
            throw .refused(StoreError(failure))
        }
        let answer: LongLivedAnswer
        do throws(EngineError) {
            answer = try await call(known.failures, progress)
        } catch {
            let refusal = StoreError(error)
            if known.failures == nil, refusal.isOutcome {
                let failure = RequestStateEntry.Failure(
                    start: 0, count: 0, code: refusal.code.rawValue, reason: refusal.reason)
                guard try await note(.finished([failure])) else { throw try await ended() }
            }
            throw error
        }
        if known.failures == nil, !request.endsInItsCommit {
            let failures = RequestStateEntry.Failure.list(
                answer.recordErrors, reasonLimit: stored.reasonLimit)
            guard try await note(.finished(failures)) else { throw try await ended() }
        }
        return answer
    }

    /// What is known of the request by now.
    private nonisolated(nonsending) func current() async throws(EngineError) -> StoredRequest {
        let now = container.now
        let (name, offset) = (name, stored.offset)
        let known = try await container.read { reading throws(EngineError) -> StoredRequest? in
            try reading.request(name, now: now)
        }
        guard let known, known.offset == offset else { throw try await ended() }
        return known
    }

    /// Why there is no such request.
    private nonisolated(nonsending) func ended() async throws(EngineError) -> EngineError {
        let (name, offset) = (name, stored.offset)
        return try await container.read { reading throws(EngineError) -> EngineError in
            .refused(try reading.absence(of: name, at: offset))
        }
    }

    /// - Parameter failures: of a request that was run what failed.
    private nonisolated(nonsending) func call(
        _ failures: [RequestStateEntry.Failure]?, _ progress: Progress?
    ) async throws(EngineError) -> LongLivedAnswer {
        let run = LongLivedRun(
            name: name, request: stored.offset, submitted: stored.time, isReplay: failures != nil,
            failures: failures ?? [])
        switch request {
        case .modify(let modification):
            let options = RecordCall.Options(
                policy: modification.policy, isAtomic: modification.atomically,
                operationID: stored.entry.id,
                clientChangeTokenData: modification.clientChangeTokenData, longLived: run,
                progress: progress)
            let caller = database
            let call = try RecordCall(modification.items, options, of: caller)
            return .items(modification.items, try await caller.run(call, nil))
        case .move(let ids, let zone):
            do throws(EngineError) {
                let moved = try await database.move(ids, to: zone, stored.entry.id, run)
                if let progress { for record in moved { progress(record.recordID, 1) } }
                return .moved(moved)
            } catch {
                guard case .other(let refusal as StoreError) = error, refusal == .notRecorded
                else { throw error }
                throw .refused(.unknownItem, "what was moved then is not kept any more")
            }
        case .records(let ids, let keys):
            try container.limits?.check(itemCount: ids.count)
            let state = try await readState()
            var results: [Record.ID: Result<Record, StoreError>] = [:]
            for begin in stride(from: 0, to: ids.count, by: Self.stepLength) {
                let some = Array(ids[begin..<min(begin + Self.stepLength, ids.count)])
                let found = try await step(state) { view throws(EngineError) in
                    try view.records(for: some, desiredKeys: keys)
                }
                results.merge(found) { _, last in last }
                guard let progress else { continue }
                for id in some {
                    if case .success? = found[id] { progress(id, 1) }
                }
            }
            return .records(ids, results)
        case .query(let fetch):
            let profile = container.limits?.profile
            let state = try await readState()
            var progress = try await step(state) { view throws(EngineError) in
                QueryProgress(
                    try QueryRun(
                        fetch.query, in: fetch.zoneID, of: view, profile,
                        desiredKeys: fetch.desiredKeys, resultsLimit: fetch.resultsLimit,
                        from: fetch.cursor, skippingDamaged: false))
            }
            while !progress.isDone {
                let last = progress
                progress = try await step(state) { view throws(EngineError) in
                    try last.after(QueryStep.long, of: view)
                }
            }
            let done = progress.work
            return .query(
                try await step(state) { view throws(EngineError) -> QueryPage in
                    var work = done
                    return try work.finish(view)
                })
        case .zoneChanges(let zones):
            let state = try await readState()
            var pages: [Result<RecordZoneChanges, StoreError>] = []
            for zone in zones {
                pages.append(
                    try await step(state) { view throws(EngineError) in
                        try view.changes(in: zone)
                    })
            }
            return .zones(zones, pages)
        case .databaseChanges(let token, let limit):
            let page = try await step(try await readState()) {
                view throws(EngineError) -> DatabaseChanges in
                try view.databaseChanges(since: token, resultsLimit: limit)
            }
            return .database(page, isFirst: token == nil)
        case .modifyZones(let modification):
            let items = modification.items
            let outcomes = try await outcomes(of: items, failures) {
                () async throws(EngineError) in try await database.zoneBatch(items)
            }
            return .zoneItems(items, outcomes)
        case .modifySubscriptions(let modification):
            let items = modification.items
            let outcomes = try await outcomes(of: items, failures) {
                () async throws(EngineError) in try await database.subscriptionChange(items)
            }
            return .subscriptionItems(items, outcomes)
        }
    }

    /// What became of the items of a call that is one commit: made now along with the end of the
    /// request or, where it was run before, as that says.
    private nonisolated(nonsending) func outcomes<Call: ItemizedTransaction>(
        of items: [Call.Item], _ failures: [RequestStateEntry.Failure]?,
        _ call: () async throws(EngineError) -> Call
    ) async throws(EngineError) -> [Result<Call.Item.Saved?, StoreError>] {
        var failures = failures
        if failures == nil {
            let commit = EndingCall(call: try await call(), name: name, request: stored)
            let committed = try await container.engine().commit(commit)
            failures = try commit.failures(of: committed.draft)
        }
        return items.enumerated().map { place, item in
            let failure = failures?.first { $0.range.contains(place) }
            return item.outcome(failure.map { item.placed(StoreError($0)) })
        }
    }

    /// So many records are looked up before it is asked whether the request was cancelled.
    private static let stepLength = 256

    /// The state that the request reads.
    private nonisolated(nonsending) func readState() async throws(EngineError) -> HeldState {
        let (store, point) = (container, stored.entry.point)
        try store.limits?.admit(user)
        if let held = store.longLivedRuns.heldState(of: stored.offset, now: store.now) {
            return held
        }
        return try await store.threads.run { () throws(EngineError) in
            try store.state(before: point)
        }
    }

    /// Reads a part on a thread that may wait for the disk, which others use between the parts.
    private nonisolated(nonsending) func step<Answer: Sendable>(
        _ state: HeldState,
        _ body: @escaping @Sendable (DatabaseView) throws(EngineError) -> Answer
    ) async throws(EngineError) -> Answer {
        if container.longLivedRuns.isClosed { throw .closed }
        if Task.isCancelled { throw .refused(.requestCancelled) }
        let caller = database
        return try await container.threads.run { () throws(EngineError) in
            var reading = state.reading
            reading.showsOnlyWhatIsShared = true
            return try body(
                DatabaseView(reading, caller.scope, caller.principal, caller.device))
        }
    }
}

extension Container {
    /// In microseconds since 1970: by the clock of the committer or, without one, of the last
    /// commit.
    var now: Int64 {
        switch access {
        case .writing(let engine): engine.clock.now()
        case .reading: state.fold.lastTime
        }
    }

    /// The state of all that lies before `point`. Waits for the disk.
    fileprivate func state(before point: JournalOffset) throws(EngineError) -> HeldState {
        let reading = reading.waiting
        let state = try reading.state(beginningBy: point.previous)
        guard reading.keeps(state), let held = HeldState(published, state) else {
            throw .refused(.expired(.compacted, "the state of that moment is not kept"))
        }
        return held
    }
}

extension DatabaseView {
    /// A page of the changes of a zone, or why it cannot be had.
    fileprivate func changes(
        in zone: LongLivedRequest.ZoneFetch
    ) throws(EngineError) -> Result<RecordZoneChanges, StoreError> {
        do throws(EngineError) {
            return .success(
                try recordZoneChanges(
                    inZoneWith: zone.zoneID, since: zone.token, asOf: zone.point,
                    desiredKeys: zone.desiredKeys, desiredRecordTypes: zone.desiredRecordTypes,
                    resultsLimit: zone.resultsLimit))
        } catch {
            if error.wouldBlock { throw error }
            return .failure(StoreError(error))
        }
    }
}
