internal import FoundationEssentials
internal import Stratus

struct ModifyRecords: Call {
    enum Key: String, LongLivedKey {
        case operations, zoneID, atomic, desiredKeys, savePolicy, operationID, clientChangeTokenData
        case numbersAsStrings, isLongLived
    }

    private let items: [Item]
    private let isAtomic: Bool
    private let desiredKeys: [String]?
    private let policy: Policy
    private let operationID: String?
    /// Nil of a call that is made at once.
    private let longLivedID: String?
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
        longLivedID = try keys.longLivedID(isNamed: true)
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
        var types = try await types(of: named, in: database)
        if let kept = try await session.kept(longLivedID) {
            types.merge(kept.savedTypes) { _, then in then }
        }
        let roots = SharedRoot.roots(of: named, types)
        let saved = Set(named.filter { $0.kind.saves }.map(\.id) + roots.map(\.id))
        var changes: [RecordItem] = []
        for (index, item) in named.enumerated() {
            let change: RecordItem
            do throws(Mismatch) {
                change = try item.change(
                    policy, type: item.input.recordType ?? types[item.id] ?? "Unknown", saved,
                    session)
            } catch {
                let key = Key.operations.rawValue
                throw StoreError(error.under("record").at(index).under(key).under("body"))
            }
            changes.append(try await session.resolvingAssets(change))
        }
        if let longLivedID {
            return try await session.answerLongLived(
                .modify(
                    LongLivedRequest.Modification(
                        changes, atomically: isAtomic, clientChangeTokenData: clientData)),
                answerForm(named), longLivedID)
        }
        let outcomes = try await database.modifyRecords(
            changes + roots.map(\.save), atomically: isAtomic, operationID: operationID,
            clientChangeTokenData: clientData)
        let rootErrors = SharedRoot.errors(of: roots, outcomes, after: named.count)
        let writer = session.writer(desiredKeys, numbersAsStrings: numbersAsStrings)
        let answers = named.indices.map { index -> JSONValue in
            let item = named[index]
            if let error = rootErrors[index] {
                return session.item(error, for: item.id, numbersAsStrings: numbersAsStrings)
            }
            switch outcomes[index] {
            case .success(let record?): return writer.json(record)
            case .success(nil): return writer.tombstone(item.id, type: item.input.recordType)
            case .failure(let error):
                return session.item(
                    error, for: item.id, isCreation: item.kind == .create,
                    numbersAsStrings: numbersAsStrings)
            }
        }
        return ["records": .array(answers)]
    }

    /// What the answer needs to know of the items besides what becomes of them.
    private func answerForm(_ items: [NamedItem]) -> AnswerForm {
        var form = AnswerForm()
        form.desiredKeys = desiredKeys
        form.numbersAsStrings = numbersAsStrings
        for (place, item) in items.enumerated() {
            if item.kind == .create { form.creations.insert(place) }
            if !item.kind.saves { form.types[place] = item.input.recordType }
        }
        return form
    }

    /// The types of the records that are named without one. Where there is no such record, the
    /// item fails for its tag, whatever the type.
    private func types(
        of items: [NamedItem], in database: Database
    ) async throws(StoreError) -> [Record.ID: String] {
        let ids =
            items.filter { $0.input.recordType == nil && $0.kind.saves }.map(\.id)
            + SharedRoot.ids(of: items).map { $0.id }
        if ids.isEmpty { return [:] }
        return try await database.records(for: ids, desiredKeys: []).compactMapValues {
            try? $0.get().recordType
        }
    }
}

extension LongLivedOperation {
    /// The types of the records that it saves.
    fileprivate var savedTypes: [Record.ID: String] {
        guard case .modify(let modification) = request else { return [:] }
        var types: [Record.ID: String] = [:]
        for case .save(let record, _) in modification.items {
            types[record.recordID] = record.recordType
        }
        return types
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

    /// What it does to a share, which is always compared by its tag.
    var ofShare: ItemKind {
        switch self {
        case .forceUpdate: .update
        case .forceReplace: .replace
        default: self
        }
    }
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

    /// Whether the request says that it is a share.
    private var isShare: Bool { input.recordType == Record.shareType }

    /// What each kind of item needs.
    func check(_ policy: ModifyRecords.Policy, needsName: Bool) throws(Mismatch) {
        func need(_ isGiven: Bool, _ key: RecordInput.Key) throws(Mismatch) {
            guard isGiven else { throw Mismatch("is missing").under(key.rawValue) }
        }
        let hasTag = input.recordChangeTag != nil
        if kind != .create || needsName { try need(input.recordName != nil, .recordName) }
        if isShare, kind == .create || kind == .save && !hasTag { try checkNewShare() }
        switch isShare ? kind.ofShare : kind {
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

    /// A share is one of the record that it names, or of a whole zone.
    private func checkNewShare() throws(Mismatch) {
        let isZoneWide = input.recordName == Share.zoneWideRecordName
        guard isZoneWide == (input.share.root == nil) else {
            throw Mismatch(isZoneWide ? "is for the share of a record" : "is missing")
                .under(RecordInput.Key.forRecord.rawValue)
        }
    }

    func named(_ makeName: () -> String) -> NamedItem {
        let name = input.recordName ?? (isShare ? "Share-" : "") + makeName()
        return NamedItem(
            kind: kind, input: input, id: Record.ID(recordName: name, zoneID: zoneID))
    }
}

/// An item whose record has a name.
private struct NamedItem: Sendable {
    let kind: ItemKind
    let input: RecordInput
    let id: Record.ID

    /// What the item, as a new share, is to share; nil of any other item.
    var sharedRoot: ShareInput.Root? {
        let isNew = kind == .create || kind == .save && input.recordChangeTag == nil
        return isNew && input.recordType == Record.shareType ? input.share.root : nil
    }

    var sharedRootID: Record.ID? {
        sharedRoot.map { Record.ID(recordName: $0.recordName, zoneID: id.zoneID) }
    }

    /// - Parameter saved: the records that the request saves.
    func change(
        _ policy: ModifyRecords.Policy, type: String, _ saved: Set<Record.ID>, _ session: Session
    ) throws(Mismatch) -> RecordItem {
        let isShare = type == Record.shareType
        let kind = isShare ? kind.ofShare : kind
        let policy = isShare ? .ifServerRecordUnchanged : policy
        let tag = kind.usesTag ? input.recordChangeTag : nil
        let container = session.container
        let declared = { (field: String, type: String) in
            container.fieldType(field, of: type).flatMap(FieldType.init(name:))
        }
        let record =
            if isShare {
                try input.shareRecord(
                    as: id, recordChangeTag: tag, of: sharedRootID,
                    isRootSaved: sharedRootID.map { saved.contains($0) } == true, container,
                    owner: session.owner(of: id.zoneID), declared)
            } else {
                try input.record(as: id, type: type, recordChangeTag: tag, declared)
            }
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

/// The record that a new share is to share, where the request names it with a change tag and has no
/// item for it: it is saved along as it is, so that the tag is compared in the same commit.
private struct SharedRoot {
    /// Which item of the request the share is.
    let place: Int
    let id: Record.ID
    let save: RecordItem

    /// The places of such shares, and their roots, each once.
    static func ids(of items: [NamedItem]) -> [(place: Int, id: Record.ID)] {
        var seen = Set(items.map(\.id))
        var found: [(place: Int, id: Record.ID)] = []
        for (place, item) in items.enumerated() where item.sharedRoot?.recordChangeTag != nil {
            guard let id = item.sharedRootID, seen.insert(id).inserted else { continue }
            found.append((place, id))
        }
        return found
    }

    /// - Parameter types: those of the roots that are there; one that is not fails in any case.
    static func roots(of items: [NamedItem], _ types: [Record.ID: String]) -> [SharedRoot] {
        ids(of: items).map { place, id in
            let root = Record(
                recordType: types[id] ?? "Unknown", recordID: id,
                recordChangeTag: items[place].sharedRoot?.recordChangeTag)
            return SharedRoot(
                place: place, id: id, save: .save(root, SaveRule(.ifServerRecordUnchanged)))
        }
    }

    /// Why shares failed since their roots were not saved, by the places of the shares.
    ///
    /// - Parameter count: how many items the request has, whose outcomes come before those of the
    ///   roots.
    static func errors(
        of roots: [SharedRoot], _ outcomes: [Result<Record?, StoreError>], after count: Int
    ) -> [Int: StoreError] {
        var errors: [Int: StoreError] = [:]
        for (root, outcome) in zip(roots, outcomes.dropFirst(count)) {
            // What went wrong elsewhere in the batch is told where it went wrong.
            guard case .failure(let error) = outcome, error.code != .batchRequestFailed,
                case .failure = outcomes[root.place]
            else { continue }
            errors[root.place] = error
        }
        return errors
    }
}
