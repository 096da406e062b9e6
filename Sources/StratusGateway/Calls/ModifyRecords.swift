internal import FoundationEssentials
internal import Stratus

struct ModifyRecords: Call {
    enum Key: String {
        case operations, zoneID, atomic, desiredKeys, savePolicy, operationID, clientChangeTokenData
        case numbersAsStrings
    }

    private let items: [Item]
    private let isAtomic: Bool
    private let desiredKeys: [String]?
    private let policy: Policy
    private let operationID: String?
    private let clientData: Data?
    private let numbersAsStrings: Bool

    fileprivate enum Policy: String, JSONWord {
        case ifServerRecordUnchanged, changedKeys, allKeys
    }

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let zone = try keys.optional(.zoneID, as: ZoneIDInput.self)?.id ?? .default
        policy = try keys.optional(.savePolicy) ?? .ifServerRecordUnchanged
        isAtomic = try keys.optional(.atomic) ?? false
        desiredKeys = try keys.optional(.desiredKeys)
        operationID = try keys.optional(.operationID)
        clientData = try keys.optional(.clientChangeTokenData, as: Base64.self)?.data
        numbersAsStrings = try keys.optional(.numbersAsStrings) ?? false
        items = try keys.required(.operations, as: [ItemInput].self)
            .map { Item($0, in: zone) }
        for (index, item) in items.enumerated() {
            do throws(Mismatch) {
                // A name that is drawn would make of each repeat another operation.
                try item.check(policy, needsName: operationID != nil)
            } catch {
                throw error.under("record").at(index).under(Key.operations.rawValue)
            }
        }
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        _ = try session.user()
        let database = try session.database()
        let named = items.map { $0.named(session.gateway.identifier) }
        let types = try await types(of: named, in: database)
        var changes: [RecordItem] = []
        for (index, item) in named.enumerated() {
            let change: RecordItem
            do throws(Mismatch) {
                change = try item.change(
                    policy, type: item.input.recordType ?? types[item.id] ?? "Unknown"
                ) { session.container.fieldType($0, of: $1).flatMap(FieldType.init(name:)) }
            } catch {
                let key = Key.operations.rawValue
                throw StoreError(error.under("record").at(index).under(key).under("body"))
            }
            changes.append(try await session.resolvingAssets(change))
        }
        let outcomes = try await database.modifyRecords(
            changes, atomically: isAtomic, operationID: operationID,
            clientChangeTokenData: clientData)
        let writer = session.writer(desiredKeys, numbersAsStrings: numbersAsStrings)
        let answers = zip(named, outcomes).map { item, outcome in
            switch outcome {
            case .success(let record?): writer.json(record)
            case .success(nil): writer.tombstone(item.id, type: item.input.recordType)
            case .failure(let error):
                session.item(
                    error, for: item.id, isCreation: item.kind == .create,
                    numbersAsStrings: numbersAsStrings)
            }
        }
        return ["records": .array(answers)]
    }

    /// The types of the records that are named without one. Where there is no such record, the
    /// item fails for its tag, whatever the type.
    private func types(
        of items: [NamedItem], in database: Database
    ) async throws(StoreError) -> [Record.ID: String] {
        let ids = items.filter { $0.input.recordType == nil && $0.kind.saves }.map(\.id)
        if ids.isEmpty { return [:] }
        return try await database.records(for: ids, desiredKeys: []).compactMapValues {
            try? $0.get().recordType
        }
    }
}

/// An item as the request has it.
private struct ItemInput: JSONBody {
    enum Key: String { case operationType, record }

    let kind: ItemKind
    let record: RecordInput

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        kind = try keys.required(.operationType)
        record = try keys.required(.record)
    }
}

private enum ItemKind: String, JSONWord {
    case create, update, forceUpdate, replace, forceReplace, save, delete, forceDelete

    var saves: Bool { self != .delete && self != .forceDelete }

    /// Whether the tag of the request is compared; a record that is made or forced has none.
    var usesTag: Bool { [.update, .replace, .save, .delete].contains(self) }
}

/// An item that knows its zone.
private struct Item: Sendable {
    let kind: ItemKind
    let input: RecordInput
    let zoneID: RecordZone.ID

    init(_ item: ItemInput, in zone: RecordZone.ID) {
        kind = item.kind
        input = item.record
        zoneID = input.zoneID ?? zone
    }

    /// What each kind of item needs.
    func check(_ policy: ModifyRecords.Policy, needsName: Bool) throws(Mismatch) {
        func need(_ isGiven: Bool, _ key: RecordInput.Key) throws(Mismatch) {
            guard isGiven else { throw Mismatch("is missing").under(key.rawValue) }
        }
        let hasTag = input.recordChangeTag != nil
        if kind != .create || needsName { try need(input.recordName != nil, .recordName) }
        switch kind {
        case .create, .forceUpdate, .forceReplace:
            try need(input.recordType != nil, .recordType)
        case .update, .replace, .delete: try need(hasTag, .recordChangeTag)
        case .save:
            // Only a record that must be there has a type already.
            let isThere = hasTag && policy == .ifServerRecordUnchanged
            try need(isThere || input.recordType != nil, .recordType)
        case .forceDelete: break
        }
    }

    func named(_ makeName: () -> String) -> NamedItem {
        NamedItem(
            kind: kind, input: input,
            id: Record.ID(recordName: input.recordName ?? makeName(), zoneID: zoneID))
    }
}

/// An item whose record has a name.
private struct NamedItem: Sendable {
    let kind: ItemKind
    let input: RecordInput
    let id: Record.ID

    func change(
        _ policy: ModifyRecords.Policy, type: String,
        _ declared: (_ field: String, _ type: String) -> FieldType?
    ) throws(Mismatch) -> RecordItem {
        let tag = kind.usesTag ? input.recordChangeTag : nil
        let record = try input.record(as: id, type: type, recordChangeTag: tag, declared)
        return switch kind {
        case .create, .update: .save(record, SaveRule(.ifServerRecordUnchanged))
        case .replace: .save(record, SaveRule(.ifServerRecordUnchanged, replaces: true))
        case .forceUpdate: .save(record, SaveRule(.changedKeys))
        case .forceReplace: .save(record, SaveRule(.changedKeys, replaces: true))
        case .save:
            switch policy {
            case .ifServerRecordUnchanged: .save(record, SaveRule(.ifServerRecordUnchanged))
            // All keys that are here were sent, and what was not sent is to stay: one and the same.
            case .changedKeys, .allKeys: .save(record, SaveRule(.changedKeys))
            }
        case .delete, .forceDelete: .delete(id, recordChangeTag: tag)
        }
    }
}
