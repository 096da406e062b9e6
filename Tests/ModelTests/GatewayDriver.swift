import FoundationEssentials
import Stratus
import StratusGateway
import Support

/// Makes the calls of a model run through the gateway, as lines of JSON.
struct GatewayDriver: ModelDriver {
    private let store: ModelStore
    private var container: Container
    private var openings = 0
    /// The tags of the revisions, which is all that this client keeps.
    private var tags: [Int: String] = [:]
    private var answered: [String] = []

    init(_ store: ModelStore) throws {
        self.store = store
        container = try store.open()
    }

    mutating func hold(_ handle: Int, as copy: ModelCopy) {
        if let revision = copy.revision { tags[revision] = answered[handle] }
    }

    mutating func perform(_ call: ModelCall, token: String?) async throws -> SeenAnswer {
        answered = []
        if case .reopen = call.kind {
            openings += 1
            if openings % 2 == 0 { try await container.checkpoint() }
            try await container.close()
            container = try store.open()
            return .done
        }
        let (name, body) = request(call.kind, token)
        var envelope: [String: WireValue] = [
            "id": .whole(1), "call": .text(name), "body": .object(body),
            "database": .text(call.database == .everybodys ? "public" : "private"),
        ]
        envelope["as"] = call.caller.map { .text("user\($0)") }
        let response = await Gateway(container: container).respond(
            toLine: try WireValue.object(envelope).line)
        let answer = try WireValue(line: response.text)
        guard let found = answer["body"], answer["status"]?.integer == 200 else {
            return .refused(failure(answer["body"] ?? .null))
        }
        return seen(call.kind, found)
    }
}

// Requests.
extension GatewayDriver {
    private func request(
        _ kind: ModelCall.Kind, _ token: String?
    ) -> (name: String, body: [String: WireValue]) {
        var body: [String: WireValue] = [:]
        body["syncToken"] = token.map { .text($0) }
        switch kind {
        case .zones(let saving, let deleting, let reason):
            let delete = reason == .purged ? "purge" : "delete"
            let items = saving.map { ($0, "create") } + deleting.map { ($0, delete) }
            body["operations"] = .list(
                items.map { name, type in
                    .object([
                        "operationType": .text(type),
                        "zone": .object(["zoneID": WireValue(zone: name)]),
                    ])
                })
            return ("zones/modify", body)
        case .batch(let batch): return ("records/modify", modify(batch))
        case .fetch(let ids, let keys):
            body["records"] = .list(ids.map { .object(Self.identity($0)) })
            body["desiredKeys"] = keys.map { .list($0.sorted().map { .text($0) }) }
            return ("records/lookup", body)
        case .move(let ids, let zone):
            body["records"] = .list(ids.map { .object(["recordName": .text($0.name)]) })
            body["zoneID"] = ids.first.map { WireValue(zone: $0.zone) }
            body["toZoneID"] = WireValue(zone: zone)
            return ("records/move", body)
        case .changes(let zone, _, let limit):
            body["zoneID"] = WireValue(zone: zone)
            body["resultsLimit"] = limit.map { .whole($0) }
            return ("changes/zone", ["zones": .list([.object(body)])])
        case .databaseChanges(_, let limit):
            body["resultsLimit"] = limit.map { .whole($0) }
            return ("changes/database", body)
        // Of these the wire has no more than the first; no run through the gateway makes them.
        case .zoneNames, .reopen, .purge, .list: return ("zones/list", body)
        }
    }

    private static func identity(_ id: ModelID) -> [String: WireValue] {
        ["recordName": .text(id.name), "zoneID": WireValue(zone: id.zone)]
    }

    private func modify(_ batch: ModelBatch) -> [String: WireValue] {
        let policies: [ModelRule: String] = [
            .unchanged: "ifServerRecordUnchanged", .changedKeys: "changedKeys",
            .allKeys: "allKeys",
        ]
        var body: [String: WireValue] = ["atomic": .truth(batch.isAtomic)]
        let native = batch.saves.first { policies[$0.rule] != nil }
        body["savePolicy"] = native.flatMap { policies[$0.rule] }.map { .text($0) }
        body["operationID"] = batch.operationID.map { .text($0) }
        body["operations"] = .list(batch.saves.map(item) + batch.deletes.map(item))
        return body
    }

    private func item(_ save: ModelSave) -> WireValue {
        var record = Self.identity(save.copy.id)
        record["recordType"] = .text(save.copy.type)
        record["recordChangeTag"] = save.copy.revision.map { .text(tags[$0] ?? "never seen") }
        let (fields, parent) = save.sent
        record["fields"] = .object(
            fields.mapValues { edit in edit.value.map { WireValue($0) } ?? .null })
        record["parent"] = parent.map { edit in
            edit.value.map { .object(["recordName": .text($0.name)]) } ?? .null
        }
        let type = ModelRule.native.contains(save.rule) ? "save" : "\(save.rule)"
        return .object(["operationType": .text(type), "record": .object(record)])
    }

    private func item(_ delete: ModelDelete) -> WireValue {
        var record = Self.identity(delete.id)
        var type = "forceDelete"
        if case .revision(let revision) = delete.condition {
            type = "delete"
            record["recordChangeTag"] = .text(tags[revision] ?? "never seen")
        }
        return .object(["operationType": .text(type), "record": .object(record)])
    }
}

// Answers.
extension GatewayDriver {
    private mutating func seen(_ kind: ModelCall.Kind, _ body: WireValue) -> SeenAnswer {
        let zones = body["zones"]?.items ?? []
        let records = body["records"]?.items ?? []
        switch kind {
        case .zones(let saving, let deleting, _):
            var answer = zones.map { self.item($0) }
            let deletes = answer.suffix(deleting.count)
            answer.removeLast(deleting.count)
            return .zones(
                saves: Dictionary(uniqueKeysWithValues: zip(saving, answer)),
                deletes: Dictionary(uniqueKeysWithValues: zip(deleting, deletes)))
        case .zoneNames, .reopen, .purge, .list:
            return .zoneNames(zones.map { $0["zoneID"]?["zoneName"]?.string ?? "" })
        case .move: return .moved(records.map { record($0) })
        case .batch(let batch):
            let saves = zip(batch.saves.map(\.copy.id), records).map { ($0, result($1)) }
            let rest = records.dropFirst(batch.saves.count)
            let deletes = zip(batch.deletes.map(\.id), rest).map { ($0, item($1)) }
            return .batch(
                saves: Dictionary(uniqueKeysWithValues: saves),
                deletes: Dictionary(uniqueKeysWithValues: deletes))
        case .fetch(let ids, _):
            let results = zip(ids, records).map { ($0, result($1)) }
            return .fetched(Dictionary(uniqueKeysWithValues: results))
        case .changes: return changes(zones.first ?? .null)
        case .databaseChanges: return .databaseChanges(databaseChanges(body))
        }
    }

    /// nil where the item was done.
    private mutating func item(_ item: WireValue) -> SeenFailure? {
        item["serverErrorCode"] == nil ? nil : failure(item)
    }

    private mutating func result(_ item: WireValue) -> Result<SeenRecord, SeenFailure> {
        item["serverErrorCode"] == nil ? .success(record(item)) : .failure(failure(item))
    }

    private mutating func failure(_ item: WireValue) -> SeenFailure {
        let text = (item["serverErrorCode"]?.string ?? "") + " " + (item["reason"]?.string ?? "")
        var failure = SeenFailure(code: item["ckErrorCode"]?.integer ?? 0, text: text)
        failure.server = item["serverRecord"].map { record($0) }
        failure.ancestor = item["ancestorRecord"].map { record($0) }
        return failure
    }

    private mutating func record(_ item: WireValue) -> SeenRecord {
        let zone = item["zoneID"]?["zoneName"]?.string ?? ""
        let tag = item["recordChangeTag"]?.string ?? ""
        answered.append(tag)
        let parent = item["parent"]?["recordName"]?.string
        return SeenRecord(
            id: ModelID(zone: zone, name: item["recordName"]?.string ?? ""),
            type: item["recordType"]?.string ?? "",
            fields: (item["fields"]?.members ?? [:]).mapValues(\.modelValue),
            parent: parent.map { ModelID(zone: zone, name: $0) }, tag: tag,
            created: item["created"]?["timestamp"]?.double ?? 0,
            modified: item["modified"]?["timestamp"]?.double ?? 0,
            creator: item["created"]?["userRecordName"]?.string ?? "",
            modifier: item["modified"]?["userRecordName"]?.string ?? "",
            handle: answered.count - 1)
    }

    private mutating func changes(_ zone: WireValue) -> SeenAnswer {
        if let failure = item(zone) { return .refused(failure) }
        var changes = SeenChanges()
        for item in zone["records"]?.items ?? [] {
            if item["deleted"]?.isTrue == true {
                let zone = item["zoneID"]?["zoneName"]?.string ?? ""
                let id = ModelID(zone: zone, name: item["recordName"]?.string ?? "")
                changes.deleted.append((id, item["recordType"]?.string ?? ""))
            } else {
                changes.modified.append(record(item))
            }
        }
        changes.token = zone["syncToken"]?.string ?? ""
        changes.moreComing = zone["moreComing"]?.isTrue == true
        changes.isFullSnapshot = zone["fullSnapshot"]?.isTrue == true
        return .changes(changes)
    }

    private func databaseChanges(_ body: WireValue) -> SeenDatabaseChanges {
        var changes = SeenDatabaseChanges()
        for zone in body["zones"]?.items ?? [] {
            let name = zone["zoneID"]?["zoneName"]?.string ?? ""
            if zone["deleted"]?.isTrue == true {
                let reasons = ["deleted", "purged"]
                let reason = reasons.firstIndex(of: zone["reason"]?.string ?? "")
                changes.deleted.append((name, reason ?? -1))
            } else {
                changes.modified.append(name)
            }
        }
        changes.token = body["syncToken"]?.string ?? ""
        changes.moreComing = body["moreComing"]?.isTrue == true
        return changes
    }
}
