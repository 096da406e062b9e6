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
        "records/move": entry(MoveRecords.self),
        "changes/database": entry(DatabaseChangesCall.self),
        "changes/zone": entry(ZoneChangesCall.self),
        "assets/upload": entry(UploadAsset.self),
        "assets/download": entry(DownloadAsset.self),
        "users/caller": entry(UserCaller.self),
        "users/discover": entry(DiscoverUsers.self),
        "users/lookup": entry(LookUpUsers.self),
        "store/info": entry(StoreInfo.self),
        "store/verify": entry(StoreVerify.self),
        "store/checkpoint": entry(StoreCheckpointCall.self),
    ]

    /// What other builds answer.
    static let announced: Set<String> = [
        "records/query", "records/resolve", "records/accept",
        "subscriptions/list", "subscriptions/lookup", "subscriptions/modify",
        "notifications/changes", "notifications/read",
        "schema/export", "schema/import", "schema/validate", "schema/deploy", "schema/reset",
        "store/compact", "store/backup", "store/restore",
    ]
}

/// One request: who asks, and what of.
struct Session: Sendable {
    let gateway: Gateway
    let request: GatewayRequest

    var container: Container { gateway.container }

    /// The database that the request means.
    func database() throws(StoreError) -> Database {
        switch request.database {
        case .public:
            return container.publicDatabase(as: request.user, device: request.device)
        case .private:
            return container.privateDatabase(for: try user(), device: request.device)
        case .shared:
            throw StoreError(.badDatabase, "the shared database is not in this build")
        }
    }

    /// The caller, who must be known.
    func user() throws(StoreError) -> String {
        guard let user = request.user else {
            throw StoreError(.notAuthenticated, "the call needs a user: name one as 'as'")
        }
        return user
    }

    /// Fails where the host did not permit it.
    func demand(_ grant: Gateway.Grant) throws(StoreError) {
        guard gateway.grants.contains(grant) else {
            throw StoreError(.permissionFailure, "the host of the gateway does not permit it")
        }
    }

    /// Writes what the answer holds.
    func writer(_ desiredKeys: [String]? = nil) -> RecordWriter {
        let owner = request.database == .private ? request.user : nil
        return RecordWriter(
            owner: owner.map(container.userRecordName), desiredKeys: desiredKeys)
    }

    /// What stands in place of a record that could not be had.
    func item(
        _ error: StoreError, for id: Record.ID, isCreation: Bool = false
    ) -> JSONValue {
        var object: JSONObject = ["recordName": .string(id.recordName)]
        for member in gateway.json(error, isCreation: isCreation).members {
            object.append(member.name, member.value)
        }
        let writer = writer()
        object.append("serverRecord", error.serverRecord.map(writer.json))
        object.append("ancestorRecord", error.ancestorRecord.map(writer.json))
        return .object(object)
    }

    /// What stands in place of a zone that could not be had.
    func item(_ error: StoreError, for id: RecordZone.ID) -> JSONValue {
        var object: JSONObject = ["zoneID": writer().json(id)]
        for member in gateway.json(error).members { object.append(member.name, member.value) }
        return .object(object)
    }
}
