internal import FoundationEssentials
internal import StratusBytes
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

// Long-lived operations: `Formats/README.md`, "Long-lived operations".

extension Database {
    /// Keeps a call in the store, to be made by ``LongLivedOperation/outcome(progress:)`` or, where
    /// it changes records, by the next opening of the store. The operation is durable when this
    /// returns, at the container's durability. The same request under the same ID is the same
    /// operation, until its outcome was delivered or it was cancelled.
    ///
    /// An operation is kept for 7 days, and its outcome for 24 hours. The assets of records to be saved
    /// are read and stored before the operation is, and kept along with it.
    ///
    /// - Parameters:
    ///   - operationID: names the operation among those of its user, in 1 to 255 bytes.
    ///   - priority: with which priority it runs.
    /// - Throws: ``StoreError`` with `invalidArguments` where another request has that ID, the request
    ///   cannot be stored as it is, or the host itself asks, `limitExceeded` where the request takes more
    ///   than 16 MiB without its assets, or with the others of the user more than 64 MiB, or the user
    ///   has 1,000 already, `notAuthenticated`, what the call itself says of its caller, and why an
    ///   asset cannot be read.
    @discardableResult
    public nonisolated(nonsending) func submit(
        _ request: LongLivedRequest, operationID: String, priority: OperationPriority = .normal
    ) async throws(StoreError) -> LongLivedOperation {
        try await submit(request, AnswerForm(), operationID: operationID, priority: priority)
    }

    /// The same with what a host wants to find again when it answers.
    @discardableResult
    package nonisolated(nonsending) func submit(
        _ request: LongLivedRequest, _ form: AnswerForm, operationID: String,
        priority: OperationPriority = .normal
    ) async throws(StoreError) -> LongLivedOperation {
        try await answering { () async throws(EngineError) -> LongLivedOperation in
            let user = try longLivedUser()
            var token: Data?
            if case .modify(let modification) = request {
                token = modification.clientChangeTokenData
            }
            _ = try OperationLabel(operationID, token, device: device)
            try container.limits?.admit(user)
            if request.isChange { try await checkAccount() }
            let (request, assets) = try await storingAssets(of: request, user)
            var isKept = false
            defer { assets?.end(isKept: isKept) }
            let body = try request.body(form, in: self)
            // Before anything of it is written: what is read is the state as the caller knows it.
            let held = body.isChange ? nil : HeldState(container.published)
            let entry = RequestEntry(
                caller: user, id: operationID, scope: scope.storedScope,
                priority: RequestEntry.Priority(priority), hostName: userName,
                device: device ?? "", point: held?.point ?? .zero, body: body)
            let payload = try entry.checkedBytes()
            let name = RequestName(of: user, operationID, container.identity)
            let committed = try await container.engine().commit(
                RequestSubmission(name: name, entry: entry, payload: payload))
            isKept = true
            let now = container.now
            let stored = try await container.read {
                reading throws(EngineError) -> StoredRequest? in
                try reading.request(name, now: now)
            }
            guard let stored else { throw .refused(.noRequest) }
            // Another one may have come under the name meanwhile.
            if let held, case .staged? = committed.draft.results.first,
                stored.entry.point == held.point
            {
                container.longLivedRuns.hold(
                    held, for: stored.offset, until: now + OperationEntry.lifetime, now: now)
            }
            return try LongLivedOperation(stored, in: container)
        }
    }

    /// The request with its assets in the store. Fails where one cannot be read.
    private nonisolated(nonsending) func storingAssets(
        of request: LongLivedRequest, _ user: UserID
    ) async throws(EngineError) -> (request: LongLivedRequest, assets: RequestAssets?) {
        guard case .modify(var modification) = request,
            modification.items.hasItem(where: { $0.mayHaveAssets })
        else { return (request, nil) }
        // What is refused anyway is not read.
        _ = try writer()
        try container.limits?.check(itemCount: modification.items.count)
        try container.limits?.check(bytesOf: modification.items)
        let now = container.now
        try await container.read { reading throws(EngineError) in
            try reading.checkRoom(for: user, length: 0, now: now)
        }
        var (items, claims) = try claimingReceipts(of: modification.items)
        do throws(EngineError) {
            if items.hasItem(where: { $0.namesHeldAssets }) {
                items = try await findingHeldAssets(items)
            }
            let call = try await upload(items)
            for item in call.items { try item.checkAssets() }
            if let sealed = call.assets { try await commitPlaces(of: sealed) }
            modification.items = call.items
            return (
                .modify(modification),
                RequestAssets(stored: call.assets, claims: claims, itemCount: items.count)
            )
        } catch {
            claims.end([])
            throw error
        }
    }

    /// The user that a long-lived operation belongs to.
    private func longLivedUser() throws(EngineError) -> UserID {
        switch principal {
        case .user(let user): return user
        case .unnamed: throw .refused(.emptyUserName)
        case .anonymous:
            throw .refused(.notAuthenticated, "a long-lived operation belongs to a user")
        case .host:
            throw .refused(
                .invalidArguments, "a long-lived operation belongs to a user, not to the host")
        }
    }
}

extension Container {
    /// The long-lived operations of a user, of all databases, in the order in which they were
    /// submitted. One of which the store's bytes are damaged is left out.
    ///
    /// - Parameter user: named as in ``publicDatabase(as:device:)``.
    /// - Throws: ``StoreError`` with `invalidArguments` for an empty name, and with what
    ///   ``AccountStatus`` says where the account of the user cannot be used.
    public nonisolated(nonsending) func longLivedOperations(
        for user: String
    ) async throws(StoreError) -> [LongLivedOperation] {
        try await answer { () async throws(EngineError) -> [LongLivedOperation] in
            let id = try namedUser(user)
            try limits?.admit(id)
            let places = try await read { reading throws(EngineError) -> [RequestPlace] in
                try reading.checkReadsOwn(id)
                return try reading.requests(of: id)
            }
            var operations: [LongLivedOperation] = []
            for place in places {
                if let operation = try await operation(at: place) { operations.append(operation) }
            }
            return operations
        }
    }

    /// The long-lived operation of that ID; nil where the user has none: it was never submitted,
    /// its outcome was delivered, it was cancelled, or it is forgotten.
    ///
    /// - Throws: as ``longLivedOperations(for:)``, and ``StoreError`` with the cause
    ///   ``StoreError/Cause/damaged``.
    public nonisolated(nonsending) func longLivedOperation(
        _ operationID: String, for user: String
    ) async throws(StoreError) -> LongLivedOperation? {
        try await answer { () async throws(EngineError) -> LongLivedOperation? in
            let id = try namedUser(user)
            try limits?.admit(id)
            let now = now
            let name = RequestName(of: id, operationID, identity)
            let stored = try await read { reading throws(EngineError) -> StoredRequest? in
                try reading.checkReadsOwn(id)
                return try reading.request(name, now: now)
            }
            guard let stored else { return nil }
            return try LongLivedOperation(stored, in: self)
        }
    }

    /// Why a user has no long-lived operation of that ID: `operationCancelled` where the last one was
    /// cancelled, as long as that is known, otherwise `unknownItem`.
    package nonisolated(nonsending) func absence(
        of operationID: String, for user: String
    ) async throws(StoreError) -> StoreError {
        try await answer { () async throws(EngineError) -> StoreError in
            let name = RequestName(of: try namedUser(user), operationID, identity)
            return try await read { reading throws(EngineError) in try reading.absence(of: name) }
        }
    }

    /// The operation of that ID as the store has it, for a host that repeats its request. Nil where
    /// there is none, or it is damaged.
    package nonisolated(nonsending) func keptOperation(
        _ operationID: String, for user: String
    ) async throws(StoreError) -> LongLivedOperation? {
        try await answer { () async throws(EngineError) -> LongLivedOperation? in
            let name = RequestName(of: try namedUser(user), operationID, identity)
            let place = try await read { reading throws(EngineError) -> RequestPlace? in
                try reading.value(.request(name)).map {
                    RequestPlace(name: name, entry: EntryLocation($0))
                }
            }
            guard let place else { return nil }
            return try await operation(at: place)
        }
    }

    /// Runs the operations that change records and are pending, of all users, the more urgent ones
    /// first, and of one priority in the order in which they were submitted: as the opening of the
    /// store does beside whatever follows. Their outcomes are kept.
    public nonisolated(nonsending) func continueLongLivedOperations() async throws(StoreError) {
        try await answer { () async throws(EngineError) in
            let places = try await read { reading throws(EngineError) in try reading.requests() }
            // One at a time: together they may be long.
            var pending: [OperationPriority: [RequestPlace]] = [:]
            for place in places {
                if longLivedRuns.isClosed { throw .closed }
                guard let operation = try await operation(at: place), operation.isPendingChange
                else { continue }
                pending[operation.priority, default: []].append(place)
            }
            let order: [OperationPriority] = [.high, .normal, .low]
            for place in order.flatMap({ pending[$0] ?? [] }) {
                if longLivedRuns.isClosed { throw .closed }
                guard let operation = try await operation(at: place), operation.isPendingChange
                else { continue }
                do throws(StoreError) {
                    _ = try await operation.answer()
                } catch {
                    // Why it failed is its outcome, or it is tried again when it is asked for.
                }
            }
        }
    }

    /// Does so as a task of its own, which ends with the container.
    func resumeLongLivedOperations() {
        // Most stores have none, which memory may tell.
        if let hasAny = try? reading.hasRequests(), !hasAny { return }
        Task.detached(priority: .background) { [self] in
            try? await continueLongLivedOperations()
        }
    }

    /// The operation at a place; nil where there is none any more, or it is damaged.
    private nonisolated(nonsending) func operation(
        at place: RequestPlace
    ) async throws(EngineError) -> LongLivedOperation? {
        let now = now
        let stored = try await read { reading throws(EngineError) -> StoredRequest? in
            try reading.request(at: place, now: now)
        }
        do throws(EngineError) {
            return try stored.map { stored throws(EngineError) in
                try LongLivedOperation(stored, in: self)
            }
        } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }
}

extension StoreReading {
    /// Fails where the account of a user cannot be used.
    fileprivate func checkReadsOwn(_ user: UserID) throws(EngineError) {
        let refusal = try accountRefusal(
            of: .user(user), in: .private(owner: user), isWrite: false)
        if let refusal { throw .refused(refusal) }
    }
}

extension RequestEntry.Priority {
    fileprivate init(_ priority: OperationPriority) {
        self =
            switch priority {
            case .low: .low
            case .normal: .normal
            case .high: .high
            }
    }
}

extension RequestEntry {
    /// As bytes. Fails where it cannot be read again: others that commit with it would fail.
    fileprivate func checkedBytes() throws(EngineError) -> [UInt8] {
        var writer = ByteWriter()
        write(to: &writer)
        let bytes = writer.bytes
        guard bytes.count <= FrameFormat.payloadLimit else {
            throw .refused(
                .limitExceeded,
                "a long-lived operation has at most \(FrameFormat.payloadLimit) bytes")
        }
        guard (try? RequestEntry(bytes.span)) == self else {
            throw .refused(.invalidArguments, "the request cannot be stored as it is")
        }
        return bytes
    }
}
