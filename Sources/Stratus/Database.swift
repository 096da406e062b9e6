public import FoundationEssentials
internal import StratusBytes
internal import StratusIndex
internal import StratusJournal
internal import StratusEngine

/// One database of a container, as one user sees it: a value, made anew at no cost.
public struct Database: Sendable {
    let container: Container
    let scope: DatabaseScope
    let principal: Principal
    /// The caller's name as the host gave it.
    let userName: String
    /// Which of the caller's devices asks; nil: the one without a name.
    var device: String?

    /// Nil where the caller is anonymous.
    var caller: UserID? { principal.user }

    /// Saves one record and returns it as it is in the store now.
    ///
    /// - Parameter progress: is told how far the record's assets were read.
    /// - Throws: ``StoreError`` with `serverRecordChanged` and the three records where another
    ///   client saved it since, `zoneNotFound`, `unknownItem` where it was deleted since,
    ///   `permissionFailure` in the public database where another user created it,
    ///   `invalidArguments`, `assetFileNotFound` and `assetFileModified` where the file of an asset
    ///   cannot be read or was changed meanwhile.
    @discardableResult
    public nonisolated(nonsending) func save(
        _ record: Record, savePolicy: SavePolicy = .ifServerRecordUnchanged,
        operationID: String? = nil, progress: UploadProgress? = nil
    ) async throws(StoreError) -> Record {
        let outcomes = try await answering { () async throws(EngineError) -> RecordCall.Outcomes in
            try await run(RecordCall(saving: record, savePolicy, operationID, in: self), progress)
        }
        return try outcomes[0].get() ?? record
    }

    /// Deletes one record. That it is not there is no error.
    ///
    /// - Throws: ``StoreError`` with `permissionFailure` in the public database where another user
    ///   created it, `zoneNotFound`, `referenceViolation` where it is the parent of others.
    @discardableResult
    public nonisolated(nonsending) func deleteRecord(
        withID id: Record.ID, operationID: String? = nil
    ) async throws(StoreError) -> Record.ID {
        let options = RecordCall.Options(operationID: operationID, isSingle: true)
        let outcomes = try await answering { () async throws(EngineError) -> RecordCall.Outcomes in
            try await run(RecordCall([.delete(id)], options, of: self), nil)
        }
        _ = try outcomes[0].get()
        return id
    }

    /// Saves and deletes records; what lies in one zone is one commit.
    ///
    /// - Parameters:
    ///   - atomically: whether in each zone all or nothing is done. Zones without the capability
    ///     `atomic` do what they can.
    ///   - operationID: names the call, in 1 to 255 bytes. The same call under the same name within
    ///     24 hours changes nothing, and gives the results that the first one had in every zone
    ///     where it changed anything.
    ///   - clientChangeTokenData: at most 4096 bytes, given to this device with the next changes
    ///     of each zone: by them it knows that the call has arrived.
    ///   - progress: is told how far the assets of each record were read.
    /// - Returns: for each record what became of it.
    /// - Throws: ``StoreError`` with `notAuthenticated`, `limitExceeded`, or `invalidArguments`
    ///   where a record is named twice or another call had that operationID.
    public nonisolated(nonsending) func modifyRecords(
        saving records: [Record], deleting recordIDs: [Record.ID] = [],
        savePolicy: SavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        operationID: String? = nil, clientChangeTokenData: Data? = nil,
        progress: UploadProgress? = nil
    ) async throws(StoreError) -> ModifyRecordsResult {
        let items = Self.items(saving: records, deleting: recordIDs, savePolicy)
        return ModifyRecordsResult(
            items,
            try await modifyRecords(
                items, savePolicy, atomically: atomically, operationID: operationID,
                clientChangeTokenData: clientChangeTokenData, progress: progress))
    }

    static func items(
        saving records: [Record], deleting recordIDs: [Record.ID], _ policy: SavePolicy
    ) -> [RecordItem] {
        let rule = SaveRule(policy)
        return records.map { .save($0, rule) } + recordIDs.map { .delete($0) }
    }

    /// The record `id`.
    ///
    /// - Throws: ``StoreError`` with `unknownItem` or `zoneNotFound`.
    public nonisolated(nonsending) func record(
        for id: Record.ID, desiredKeys: [String]? = nil
    ) async throws(StoreError) -> Record {
        // The most frequent of all calls: nothing is allocated for the case that it must wait.
        do throws(EngineError) {
            if let limits = container.limits { try limits.admit(caller) }
            let view = current
            do throws(EngineError) {
                return try view.record(for: id, desiredKeys: desiredKeys)
            } catch {
                guard error.wouldBlock else { throw error }
            }
            return try await container.threads.run {
                try view.waiting.record(for: id, desiredKeys: desiredKeys)
            }
        } catch {
            throw StoreError(error)
        }
    }

    /// The records of these identities: for each the record or why it cannot be had.
    public nonisolated(nonsending) func records(
        for ids: [Record.ID], desiredKeys: [String]? = nil
    ) async throws(StoreError) -> [Record.ID: Result<Record, StoreError>] {
        try answering { () throws(EngineError) in
            try container.limits?.check(itemCount: ids.count)
        }
        return try await read { view throws(EngineError) in
            try view.records(for: ids, desiredKeys: desiredKeys)
        }
    }

    /// The newest state, as far as memory holds it.
    var current: DatabaseView { DatabaseView(container.reading, scope, principal, device) }

    /// A call that reads: counts it, and asks the newest state.
    nonisolated(nonsending) func read<Answer: Sendable>(
        _ body: @escaping @Sendable (DatabaseView) throws(EngineError) -> Answer
    ) async throws(StoreError) -> Answer {
        do throws(EngineError) {
            if let limits = container.limits { try limits.admit(caller) }
            return try await answer(body)
        } catch {
            throw StoreError(error)
        }
    }

    /// Asks the newest state of this database.
    nonisolated(nonsending) func answer<Answer: Sendable>(
        _ body: @escaping @Sendable (DatabaseView) throws(EngineError) -> Answer
    ) async throws(EngineError) -> Answer {
        try await container.read { [scope, principal, device] reading throws(EngineError) in
            try body(DatabaseView(reading, scope, principal, device))
        }
    }

    /// Who makes a change of so many items that are no records. Fails where the call as a whole is
    /// refused.
    nonisolated(nonsending) func admittedWriter(
        itemCount: Int
    ) async throws(EngineError) -> UserID {
        let user = try writer()
        try await checkAccount()
        try container.limits?.admit(user)
        try container.limits?.check(itemCount: itemCount)
        return user
    }

    /// The zone under the one name for the caller as its owner, who has two.
    func ownZone(_ id: RecordZone.ID) -> RecordZone.ID {
        guard id.ownerName != RecordZone.ID.currentUser, id.ownerName == caller?.recordName else {
            return id
        }
        return RecordZone.ID(zoneName: id.zoneName)
    }

    /// Checks what concerns a call that writes records as a whole.
    func admit(_ items: [RecordItem]) throws(EngineError) {
        _ = try writer()
        guard let limits = container.limits else { return }
        try limits.admit(caller)
        try limits.check(itemCount: items.count)
        try limits.check(bytesOf: items)
    }

    /// The user whose name a change bears, where the caller may make any.
    func writer() throws(EngineError) -> UserID {
        try Permission.check(.write, by: principal, in: scope)
        guard let caller else { preconditionFailure("only users and the host may write") }
        return caller
    }

    /// Fails where the account of the caller cannot be used: the call as a whole.
    nonisolated(nonsending) func checkAccount() async throws(EngineError) {
        let (principal, scope) = (principal, scope)
        // On this hot path nothing is allocated where the host said nothing of any user.
        do throws(EngineError) {
            guard try container.reading.hasIdentities() else { return }
        } catch {
            guard error.wouldBlock else { throw error }
        }
        try await container.read { reading throws(EngineError) in
            try reading.checkAccount(of: principal, in: scope)
        }
    }

    func batch(
        _ items: [RecordBatch.Item], in zoneID: RecordZone.ID, isAtomic: Bool, isRestore: Bool,
        _ operation: OperationRequest?, _ assets: SealedAssets?
    ) throws(EngineError) -> RecordBatch {
        let user = try writer()
        try current.check(zoneID)
        return RecordBatch(
            scope: scope, principal: principal, caller: user, userName: userName,
            zoneID: zoneID, items: items,
            isAtomic: isRestore || isAtomic && canBeAtomic(zoneID), isRestore: isRestore,
            limits: container.limits, environment: container.environment,
            operation: operation, assets: assets, rules: container.rules, device: device)
    }

    /// The default zone and the public database do what they can: `Formats/README.md`, "Batches".
    private func canBeAtomic(_ id: RecordZone.ID) -> Bool { !id.isDefault && scope != .public }
}

/// What became of the records that a call was to save and delete.
public struct ModifyRecordsResult: Sendable {
    /// For each saved record what it is in the store now, or why it was not saved.
    public internal(set) var saveResults: [Record.ID: Result<Record, StoreError>] = [:]
    /// For each deleted record nothing, or why it was not deleted.
    public internal(set) var deleteResults: [Record.ID: Result<Void, StoreError>] = [:]

    /// Nil where everything was done, else an error of code `partialFailure` with one per record.
    public var partialFailure: StoreError? {
        StoreError.partial(
            saveResults, deleteResults, "some records could not be changed"
        ) { id, _ in .record(id) }
    }

    init(_ items: [RecordItem], _ outcomes: [Result<Record?, StoreError>]) {
        saveResults.reserveCapacity(items.count)
        for index in items.indices {
            switch items[index] {
            case .save(let record, _):
                saveResults[record.recordID] = outcomes[index].map { $0 ?? record }
            case .delete(let id, _): deleteResults[id] = outcomes[index].map { _ in }
            }
        }
    }
}
