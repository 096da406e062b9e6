package import Stratus

// What a hand changes in a store that a service has open: the commands `put` and `delete` of the tool.

/// Makes or changes a record as it is typed.
struct StorePut: Call {
    enum Key: String {
        case recordName, zoneID, recordType, values, unset, parent, directory
    }

    private let id: Record.ID
    private let edit: RecordEdit
    /// Where paths of assets begin that are not absolute.
    private let directory: String?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        id = Record.ID(
            recordName: try keys.required(.recordName),
            zoneID: try keys.optional(.zoneID, as: ZoneIDInput.self)?.id ?? .default)
        edit = RecordEdit(
            type: try keys.optional(.recordType),
            values: try keys.optional(.values, as: [FieldText].self) ?? [],
            unset: try keys.optional(.unset) ?? [], parent: try keys.optional(.parent))
        directory = try keys.optional(.directory)
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let database = try session.hostDatabase()
        let saved: Record
        do {
            saved = try await edit.run(
                on: id, database, in: session.container, files: session.files, from: directory)
        } catch let refusal as RecordEdit.Refusal {
            return ["fault": .object(refusal.json)]
        } catch {
            throw StoreError(translating: error)
        }
        return ["record": .object(RecordWriter().object(saved))]
    }
}

/// Deletes records, all of which must be there.
struct StoreDelete: Call {
    enum Key: String { case records, zoneID }

    private let ids: [Record.ID]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let zone = try keys.optional(.zoneID, as: ZoneIDInput.self)?.id ?? .default
        ids = try keys.required(.records, as: [String].self).map {
            Record.ID(recordName: $0, zoneID: zone)
        }
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let result = try await session.hostDatabase().deleteByHand(ids)
        var failures: [JSONValue] = []
        for id in ids {
            guard case .failure(let error)? = result.deleteResults[id] else { continue }
            failures.append(session.item(error, for: id))
        }
        return [
            "deleted": .strings(result.deletedNames(of: ids)), "failures": .array(failures),
        ]
    }
}

extension Database {
    /// Deletes records, of which one that is not there is a slip of the hand: then none is.
    ///
    /// - Throws: ``StoreError`` with `unknownItem` of the first that is not there.
    package nonisolated(nonsending) func deleteByHand(
        _ ids: [Record.ID]
    ) async throws(StoreError) -> ModifyRecordsResult {
        let there = try await records(for: ids, desiredKeys: [])
        for id in ids { _ = try there[id]?.get() }
        return try await modifyRecords(saving: [], deleting: ids)
    }
}

extension ModifyRecordsResult {
    /// Those of them that are gone, in their order.
    package func deletedNames(of ids: [Record.ID]) -> [String] {
        ids.filter { id in
            if case .success? = deleteResults[id] { true } else { false }
        }.map(\.recordName)
    }
}

extension FieldText: JSONReadable {
    init(_ json: JSONValue) throws(Mismatch) {
        let text = try String(json)
        do throws(StoreError) {
            try self.init(text)
        } catch {
            throw Mismatch(error.reason)
        }
    }
}

extension Session {
    /// The database that the request means, for the operator of the store: in the public one records
    /// of all users may be changed.
    ///
    /// - Throws: ``StoreError`` with `permissionFailure` where the host does not permit it.
    func hostDatabase() throws(StoreError) -> Database {
        try demand(.maintenance)
        guard request.database == .public else { return try database() }
        return container.publicDatabase(asHost: try user())
    }
}
