import FoundationEssentials
import Stratus
import Support

/// Makes the calls of a model run to a container.
struct EngineDriver: ModelDriver {
    private let store: ModelStore
    private var container: Container
    private var openings = 0
    private var held: [ModelCopy: Record] = [:]
    private var systemFields: [Int: [UInt8]] = [:]
    /// The records of the last answer.
    private var answered: [Record] = []

    init(_ store: ModelStore) throws {
        self.store = store
        container = try store.open()
    }

    mutating func hold(_ handle: Int, as copy: ModelCopy) {
        held[copy] = answered[handle]
        if let revision = copy.revision {
            systemFields[revision] = answered[handle].encodeSystemFields()
        }
    }

    mutating func perform(_ call: ModelCall, token: String?) async throws -> SeenAnswer {
        answered = []
        do throws(StoreError) {
            return try await answer(call, token.flatMap { ChangeToken($0) })
        } catch {
            return .refused(seen(error))
        }
    }

    private mutating func answer(
        _ call: ModelCall, _ token: ChangeToken?
    ) async throws(StoreError) -> SeenAnswer {
        let database = database(of: call)
        switch call.kind {
        case .zones(let saving, let deleting, let reason):
            return await zones(saving, deleting, reason, database)
        case .purge(let user):
            try await container.purge(user: "user\(user)")
            return .done
        case .zoneNames:
            return .zoneNames(try await database.allRecordZones().map(\.zoneID.zoneName))
        case .batch(let batch): return try await modify(batch, database)
        case .fetch(let ids, let keys):
            let found = try await database.records(
                for: ids.map(\.engine), desiredKeys: keys.map { $0.sorted() })
            return .fetched(seen(found))
        case .move(let ids, let zone):
            let moved = try await database.moveRecords(
                ids.map(\.engine), to: RecordZone.ID(zoneName: zone))
            return .moved(moved.map { seen($0) })
        case .list(let zone, let type): return try await list(zone, type, database)
        case .changes(let zone, _, let limit):
            let page = try await database.recordZoneChanges(
                inZoneWith: RecordZone.ID(zoneName: zone), since: token, resultsLimit: limit)
            return .changes(seen(page))
        case .databaseChanges(_, let limit):
            return .databaseChanges(
                SeenDatabaseChanges(
                    try await database.databaseChanges(since: token, resultsLimit: limit)))
        case .reopen:
            openings += 1
            if openings % 2 == 0 { try await container.checkpoint() }
            try await container.close()
            container = try store.open()
            return .done
        }
    }

    private func database(of call: ModelCall) -> Database {
        switch call.database {
        case .everybodys: container.publicDatabase(as: call.caller.map { "user\($0)" })
        case .own(let user): container.privateDatabase(for: "user\(user)")
        }
    }
}

// Calls.
extension EngineDriver {
    private func zones(
        _ saving: [String], _ deleting: [String], _ reason: ModelDatabase.Reason,
        _ database: Database
    ) async -> SeenAnswer {
        var saves: [String: SeenFailure?] = [:]
        var deletes: [String: SeenFailure?] = [:]
        for name in saving {
            do throws(StoreError) {
                try await database.save(RecordZone(zoneName: name))
                saves[name] = .some(nil)
            } catch { saves[name] = plain(error) }
        }
        for name in deleting {
            do throws(StoreError) {
                try await database.deleteRecordZone(
                    withID: RecordZone.ID(zoneName: name),
                    reason: reason == .purged ? .purged : .deleted)
                deletes[name] = .some(nil)
            } catch { deletes[name] = plain(error) }
        }
        // One call of the model is several of the library, each of which is refused.
        let failures = (Array(saves.values) + Array(deletes.values)).compactMap { $0 }
        if let failure = failures.first, failures.allSatisfy({ $0.code == 9 }) {
            return .refused(failure)
        }
        return .zones(saves: saves, deletes: deletes)
    }

    /// The record that a client began with: it kept that, or the system fields of it only.
    private func base(_ copy: ModelCopy) -> Record? {
        if let record = held[copy] { return record }
        guard let revision = copy.revision, let bytes = systemFields[revision] else { return nil }
        return try? Record(systemFields: bytes)
    }

    /// The engine's own record, as the client holds it, with the client's edits.
    private func record(_ save: ModelSave) -> Record {
        var record =
            base(save.copy.unedited)
            ?? Record(recordType: save.copy.type, recordID: save.copy.id.engine)
        for (key, edit) in save.copy.edits.sorted(by: { $0.key < $1.key }) {
            record[key] = edit.value.map { RecordValue($0) }
        }
        if let edit = save.copy.parentEdit {
            record.parent = edit.value.map { Reference(recordID: $0.engine) }
        }
        return record
    }

    private mutating func modify(
        _ batch: ModelBatch, _ database: Database
    ) async throws(StoreError) -> SeenAnswer {
        let result = try await database.modifyRecords(
            saving: batch.saves.map(record), deleting: batch.deletes.map(\.id.engine),
            savePolicy: SavePolicy(batch.saves.first?.rule ?? .unchanged),
            atomically: batch.isAtomic, operationID: batch.operationID)
        var deletes: [ModelID: SeenFailure?] = [:]
        for (id, outcome) in result.deleteResults {
            switch outcome {
            case .success: deletes[ModelID(id)] = .some(nil)
            case .failure(let error): deletes[ModelID(id)] = seen(error)
            }
        }
        return .batch(saves: seen(result.saveResults), deletes: deletes)
    }

    private mutating func list(
        _ zone: String, _ type: String?, _ database: Database
    ) async throws(StoreError) -> SeenAnswer {
        var records: [SeenRecord] = []
        var cursor: RecordPage.Cursor?
        repeat {
            let page = try await database.records(
                inZoneWith: RecordZone.ID(zoneName: zone), type: type, resultsLimit: 7,
                from: cursor)
            records += page.records.map { seen($0) }
            cursor = page.cursor
        } while cursor != nil
        return .listed(records)
    }
}

// Answers, in the words of the model.
extension EngineDriver {
    private mutating func seen(_ record: Record) -> SeenRecord {
        answered.append(record)
        var fields: [String: ModelValue] = [:]
        for key in record.allKeys { fields[key] = record[key].map { ModelValue($0) } }
        return SeenRecord(
            id: ModelID(record.recordID), type: record.recordType, fields: fields,
            parent: record.parent.map { ModelID($0.recordID) }, tag: record.recordChangeTag ?? "",
            created: record.creationDate?.timeIntervalSince1970 ?? 0,
            modified: record.modificationDate?.timeIntervalSince1970 ?? 0,
            creator: record.creatorUserRecordID?.recordName ?? "",
            modifier: record.lastModifiedUserRecordID?.recordName ?? "",
            handle: answered.count - 1)
    }

    private func plain(_ error: StoreError) -> SeenFailure {
        SeenFailure(code: error.code.rawValue, text: error.description)
    }

    private mutating func seen(_ error: StoreError) -> SeenFailure {
        var failure = plain(error)
        failure.server = error.serverRecord.map { seen($0) }
        failure.ancestor = error.ancestorRecord.map { seen($0) }
        return failure
    }

    private mutating func seen(
        _ results: [Record.ID: Result<Record, StoreError>]
    ) -> [ModelID: Result<SeenRecord, SeenFailure>] {
        var found: [ModelID: Result<SeenRecord, SeenFailure>] = [:]
        for (id, result) in results {
            switch result {
            case .success(let record): found[ModelID(id)] = .success(seen(record))
            case .failure(let error): found[ModelID(id)] = .failure(seen(error))
            }
        }
        return found
    }

    private mutating func seen(_ page: RecordZoneChanges) -> SeenChanges {
        var changes = SeenChanges()
        changes.modified = page.modifications.map { seen($0) }
        changes.deleted = page.deletions.map { (ModelID($0.recordID), $0.recordType) }
        changes.token = page.changeToken.description
        changes.moreComing = page.moreComing
        changes.isFullSnapshot = page.isFullSnapshot
        return changes
    }
}

extension SeenDatabaseChanges {
    fileprivate init(_ page: DatabaseChanges) {
        self.init()
        modified = page.modifications.map(\.zoneName)
        deleted = page.deletions.map { ($0.zoneID.zoneName, $0.reason.rawValue) }
        token = page.changeToken.description
        moreComing = page.moreComing
    }
}
