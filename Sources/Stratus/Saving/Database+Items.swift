package import FoundationEssentials
internal import StratusBytes
internal import StratusEngine

// Calls of items that say each what they may overwrite.

extension Database {
    /// Does what each item says; what lies in one zone is one commit. The results are in the
    /// order of the items: the record as it is now, nil where it is gone, or why nothing was
    /// done. `policy` is that of the whole call, where it has one.
    ///
    /// - Throws: ``StoreError`` with `notAuthenticated`, `limitExceeded`, or `invalidArguments`
    ///   where a record is named twice or another call had that operationID.
    package nonisolated(nonsending) func modifyRecords(
        _ items: [RecordItem], _ policy: SavePolicy = .ifServerRecordUnchanged,
        atomically: Bool, operationID: String? = nil, clientChangeTokenData: Data? = nil,
        progress: UploadProgress? = nil
    ) async throws(StoreError) -> [Result<Record?, StoreError>] {
        let options = RecordCall.Options(
            policy: policy, isAtomic: atomically, operationID: operationID,
            clientChangeTokenData: clientChangeTokenData)
        return try await answering { () async throws(EngineError) -> RecordCall.Outcomes in
            try await run(RecordCall(items, options, of: self), progress)
        }
    }

    /// Takes the steps of a call, as a task.
    nonisolated(nonsending) func run(
        _ call: RecordCall, _ progress: UploadProgress?
    ) async throws(EngineError) -> RecordCall.Outcomes {
        try await checkAccount()
        var call = call
        var outcomes: RecordCall.Outcomes = []
        defer { call.end(outcomes) }
        while true {
            switch try call.step() {
            case .find(let items): call.found(try await findingHeldAssets(items))
            case .upload(let items): call.take(try await upload(items, progress))
            case .commit(let batch):
                do throws(EngineError) {
                    call.take(try await commit(batch))
                } catch {
                    call.fail(error)
                }
            case .grow(let transaction):
                do throws(EngineError) {
                    call.grew(.success(try await container.engine().commit(transaction)))
                } catch {
                    call.grew(.failure(error))
                }
            case .drop(let dropping):
                let engine = try container.engine()
                let done = await Task { try? await engine.commit(dropping) }.value
                call.dropped(done != nil)
            case .done(let results):
                outcomes = results
                return results
            }
        }
    }

    /// Takes the steps of a call on the calling thread, which waits.
    func runAndWait(_ call: RecordCall) throws(EngineError) -> RecordCall.Outcomes {
        try container.reading.waiting.checkAccount(of: principal, in: scope)
        var call = call
        var outcomes: RecordCall.Outcomes = []
        defer { call.end(outcomes) }
        while true {
            switch try call.step() {
            case .find(let items): call.found(try findingHeldAssetsAndWait(items))
            case .upload(let items): call.take(try uploadAndWait(items))
            case .commit(let batch):
                do throws(EngineError) {
                    call.take(try commitAndWait(batch))
                } catch {
                    call.fail(error)
                }
            case .grow(let transaction):
                do throws(EngineError) {
                    call.grew(.success(try container.engine().commitBlocking(transaction)))
                } catch {
                    call.grew(.failure(error))
                }
            case .drop(let dropping):
                let done = try? container.engine().commitBlocking(dropping)
                call.dropped(done != nil)
            case .done(let results):
                outcomes = results
                return results
            }
        }
    }

    private nonisolated(nonsending) func commit(
        _ batch: RecordBatch
    ) async throws(EngineError) -> RecordCall.Outcomes {
        try batch.limits?.enter(scope, batch.zoneID)
        defer { batch.limits?.leave(scope, batch.zoneID) }
        let committed = try await container.engine().commit(batch)
        if committed.draft.buildsIndexes { try? await container.buildIndexes() }
        // As Container.read, but on this hot path nothing is allocated for waiting.
        let reading = container.reading
        do throws(EngineError) {
            return try batch.outcomes(of: committed, reading)
        } catch {
            guard error.wouldBlock else { throw error }
        }
        return try await container.threads.run {
            try batch.outcomes(of: committed, reading.waiting)
        }
    }

    private func commitAndWait(
        _ batch: RecordBatch
    ) throws(EngineError) -> RecordCall.Outcomes {
        try batch.limits?.enter(scope, batch.zoneID)
        defer { batch.limits?.leave(scope, batch.zoneID) }
        let committed = try container.engine().commitBlocking(batch)
        if committed.draft.buildsIndexes { container.resumeIndexes() }
        return try batch.outcomes(of: committed, container.reading.waiting)
    }
}

/// The items of a call by the zones that they concern, and what became of them.
struct CallByZone {
    struct Zone {
        let id: RecordZone.ID
        fileprivate(set) var items: [RecordBatch.Item]
        /// Where they stand in the call. The usual one has one zone, and they go without saying.
        fileprivate var places: [Int] = []
    }

    private(set) var zones: [Zone] = []
    /// In the order of the call.
    private(set) var results: RecordCall.Outcomes

    /// Fails where a record is named twice.
    init(_ items: [RecordItem], of database: Database) throws(EngineError) {
        results = Array(repeating: .success(nil), count: items.count)
        guard let first = items.first?.recordID.zoneID else { return }
        if !items.hasItem(where: { $0.recordID.zoneID != first }) {
            zones = [Zone(id: first, items: items)]
        } else {
            var numbers: [RecordZone.ID: Int] = [:]
            for (place, item) in items.enumerated() {
                let id = database.ownZone(item.recordID.zoneID)
                let number = numbers[id] ?? zones.count
                if number == zones.count {
                    numbers[id] = number
                    zones.append(Zone(id: id, items: []))
                }
                zones[number].items.append(item)
                zones[number].places.append(place)
            }
        }
        for zone in zones { try Self.checkThatNoneIsTwice(zone.items) }
    }

    /// The same items, with assets that were stored since.
    mutating func replace(with items: [RecordItem]) {
        for index in zones.indices {
            let places = zones[index].places
            zones[index].items = places.isEmpty ? items : places.map { items[$0] }
        }
    }

    private static func checkThatNoneIsTwice(
        _ items: [RecordBatch.Item]
    ) throws(EngineError) {
        // Sorting fast hashes is cheaper than a set of names; only equal ones are looked at.
        let hashes = items.indices.map {
            (hash: Checksum.xxh3(items[$0].recordID.recordName), place: $0)
        }.sorted { ($0.hash, $0.place) < ($1.hash, $1.place) }
        for (index, entry) in hashes.enumerated() {
            for other in hashes.dropFirst(index + 1) {
                guard other.hash == entry.hash else { break }
                let id = items[entry.place].recordID
                guard items[other.place].recordID.recordName != id.recordName else {
                    throw .refused(
                        StoreError(.invalidArguments, "a record is named twice in one call")
                            .with(id))
                }
            }
        }
    }

    mutating func put(_ outcomes: RecordCall.Outcomes, ofZone number: Int) {
        let zone = zones[number]
        for index in outcomes.indices {
            let place = zone.places.isEmpty ? index : zone.places[index]
            results[place] = outcomes[index]
            // A save that changed nothing leaves the record that was given.
            if case .success(nil) = outcomes[index], case .save(let record, _) = zone.items[index] {
                results[place] = .success(record)
            }
        }
    }

    /// What is known of a zone without a receipt: which items failed. Others changed nothing.
    mutating func put(recorded failures: [RequestStateEntry.Failure], ofZone number: Int) {
        let zone = zones[number]
        for (index, item) in zone.items.enumerated() {
            let place = zone.places.isEmpty ? index : zone.places[index]
            let failure = failures.first { $0.range.contains(place) }
            if let failure {
                results[place] = .failure(StoreError(failure).with(item.recordID))
            } else if item.isDeletion {
                results[place] = .success(nil)
            } else {
                // The zone was deleted since, and its receipt is of no zone any more.
                results[place] = .failure(
                    StoreError(.unknownItem, "what was saved then is not kept any more")
                        .with(item.recordID))
            }
        }
    }

    /// Nothing in the zone was done.
    mutating func fail(zone number: Int, _ error: StoreError) {
        put(zones[number].items.map { .failure(error.with($0.recordID)) }, ofZone: number)
    }
}
