internal import Stratus

/// A call: what its body holds, and what it does.
protocol Call: JSONBody {
    nonisolated(nonsending) func run(in session: Session) async throws(StoreError) -> JSONObject
}

extension Call {
    fileprivate static nonisolated(nonsending) func run(
        _ body: JSONObject, _ session: Session
    ) async throws(StoreError) -> JSONObject {
        let call: Self
        do throws(Mismatch) {
            call = try Self(JSONKeys(body))
        } catch {
            throw StoreError(error.under("body"))
        }
        return try await call.run(in: session)
    }
}

/// All calls by their names.
enum CallTable {
    struct Entry: Sendable {
        fileprivate let body: @Sendable (JSONObject, Session) async throws(StoreError) -> JSONObject

        nonisolated(nonsending) func run(
            _ object: JSONObject, _ session: Session
        ) async throws(StoreError) -> JSONObject {
            try await body(object, session)
        }
    }

    private static func entry(_ call: (some Call).Type) -> Entry {
        Entry { body, session throws(StoreError) in try await call.run(body, session) }
    }

    static let calls: [String: Entry] = [
        "zones/list": entry(ListZones.self),
        "zones/lookup": entry(LookUpZones.self),
        "zones/modify": entry(ModifyZones.self),
        "records/modify": entry(ModifyRecords.self),
        "records/lookup": entry(LookUpRecords.self),
        "records/query": entry(QueryRecords.self),
        "records/move": entry(MoveRecords.self),
        "records/resolve": entry(ResolveShares.self),
        "records/accept": entry(AcceptShares.self),
        "changes/database": entry(DatabaseChangesCall.self),
        "changes/zone": entry(ZoneChangesCall.self),
        "subscriptions/list": entry(ListSubscriptions.self),
        "subscriptions/lookup": entry(LookUpSubscriptions.self),
        "subscriptions/modify": entry(ModifySubscriptions.self),
        "notifications/changes": entry(NotificationChangesCall.self),
        "notifications/read": entry(MarkNotificationsRead.self),
        "badge/set": entry(SetBadge.self),
        "tokens/create": entry(CreateToken.self),
        "tokens/register": entry(RegisterToken.self),
        "operations/list": entry(ListOperations.self),
        "operations/fetch": entry(FetchOperation.self),
        "operations/cancel": entry(CancelOperation.self),
        "assets/upload": entry(UploadAsset.self),
        "assets/download": entry(DownloadAsset.self),
        "users/caller": entry(UserCaller.self),
        "users/current": entry(UserCaller.self),
        "users/discover": entry(DiscoverUsers.self),
        "users/list": entry(ListUsers.self),
        "users/lookup": entry(LookUpUsers.self),
        "users/lookup/email": entry(LookUpUsersByEmail.self),
        "users/lookup/id": entry(LookUpUsers.self),
        "users/lookup/phone": entry(LookUpUsersByPhone.self),
        "schema/export": entry(ExportSchema.self),
        "schema/import": entry(ImportSchema.self),
        "schema/validate": entry(ValidateSchema.self),
        "schema/deploy": entry(DeploySchema.self),
        "schema/reset": entry(ResetSchema.self),
        "store/info": entry(StoreInfo.self),
        "store/verify": entry(StoreVerify.self),
        "store/checkpoint": entry(StoreCheckpointCall.self),
        "store/compact": entry(StoreCompact.self),
        "store/backup": entry(StoreBackup.self),
        "store/mark": entry(StoreMark.self),
        "store/unmark": entry(StoreUnmark.self),
        "store/put": entry(StorePut.self),
        "store/delete": entry(StoreDelete.self),
        "store/restore": entry(StoreRestore.self),
        "store/revert": entry(StoreRevert.self),
        "store/load": entry(StoreLoad.self),
    ]

    /// The calls of Web Services, and those beyond it, that this build does not have.
    static let announced: Set<String> = [
        "records/changes", "zones/changes", "assets/rereference",
        "users/lookup/contacts",
    ]
}

/// One request: who asks, and what of.
struct Session: Sendable {
    let gateway: Gateway
    let request: GatewayRequest

    var container: Container { gateway.container }

    /// Whether the request names its caller as it may. A plain name is never a user record name.
    func checkCaller() throws(StoreError) {
        guard let user = request.user else { return }
        guard !user.isEmpty else {
            throw StoreError(
                .invalidArguments, "as is empty: expected the name of a user, or null")
        }
        guard Container.isUserRecordName(user) else { return }
        guard gateway.grants.contains(.userRecordNames) else {
            throw StoreError(
                .permissionFailure,
                "as is a user record name, which the host of the gateway does not permit: expected "
                    + "a plain name")
        }
    }

    /// The database that the request means.
    func database() throws(StoreError) -> Database {
        switch request.database {
        case .public:
            return container.publicDatabase(as: request.user, device: request.device)
        case .private:
            return container.privateDatabase(for: try user(), device: request.device)
        case .shared:
            return container.sharedDatabase(for: try user(), device: request.device)
        }
    }

    /// The caller, who must be known.
    func user() throws(StoreError) -> String {
        guard let user = request.user else {
            throw StoreError(.notAuthenticated, "the call needs a user: name one as 'as'")
        }
        return user
    }

    /// The user record name of the owner of a zone; empty in the public database.
    func owner(of zone: RecordZone.ID) -> String {
        guard zone.ownerName == RecordZone.ID.currentUser else { return zone.ownerName }
        return request.database == .private
            ? request.user.map(container.userRecordName) ?? "" : ""
    }

    /// Fails where the host did not permit it.
    func demand(_ grant: Gateway.Grant) throws(StoreError) {
        guard gateway.grants.contains(grant) else {
            throw StoreError(.permissionFailure, "the host of the gateway does not permit it")
        }
    }

    /// Writes what the answer holds.
    func writer(
        _ desiredKeys: [String]? = nil, numbersAsStrings: Bool = false
    ) -> RecordWriter {
        let owner = request.database == .private ? request.user : nil
        return RecordWriter(
            owner: owner.map(container.userRecordName), desiredKeys: desiredKeys,
            numbersAsStrings: numbersAsStrings)
    }

    /// What stands in place of a record that could not be had.
    func item(
        _ error: StoreError, for id: Record.ID, isCreation: Bool = false,
        numbersAsStrings: Bool = false
    ) -> JSONValue {
        var error = error
        error.item = .record(id)
        return .object(
            json(error, isCreation: isCreation, numbersAsStrings: numbersAsStrings))
    }

    /// What stands in place of a zone that could not be had.
    func item(_ error: StoreError, for id: RecordZone.ID) -> JSONValue {
        var error = error
        error.item = .zone(id)
        return .object(json(error))
    }

    /// All that an error says: what it is about, the records of a conflict, and the errors that
    /// are its reason.
    func json(
        _ error: StoreError, isCreation: Bool = false, numbersAsStrings: Bool = false
    ) -> JSONObject {
        let writer = writer(numbersAsStrings: numbersAsStrings)
        var object = JSONObject()
        switch error.item {
        case .record(let id): object.append("recordName", .string(id.recordName))
        case .zone(let id): object.append("zoneID", writer.json(id))
        case .subscription(let id): object.append("subscriptionID", .string(id))
        case nil: break
        }
        object.append(gateway.json(error, isCreation: isCreation))
        object.append("serverRecord", error.serverRecord.map(writer.json))
        object.append("ancestorRecord", error.ancestorRecord.map(writer.json))
        let reasons = error.partialErrors.map { item, reason in
            var reason = reason
            reason.item = item
            return reason
        }.sorted { ($0.recordID?.recordName ?? "") < ($1.recordID?.recordName ?? "") }
        if !reasons.isEmpty {
            object.append("partialErrors", .array(reasons.map { .object(json($0)) }))
        }
        return object
    }
}
