internal import Stratus

struct ListZones: Call {
    typealias Key = NoKey

    init(_ keys: JSONKeys<NoKey>) {}

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let writer = session.writer()
        let zones = try await session.database().zonesWithTokens()
        return ["zones": .array(zones.map { writer.json($0.zone, $0.token) })]
    }
}

struct LookUpZones: Call {
    enum Key: String { case zones }

    let zones: [ZoneInput]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { zones = try keys.required(.zones) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let database = try session.database()
        let writer = session.writer()
        var items: [JSONValue] = []
        for zone in zones {
            do throws(StoreError) {
                let found = try await database.zoneWithToken(for: zone.id)
                items.append(writer.json(found.zone, found.token))
            } catch {
                items.append(session.item(error, for: zone.id))
            }
        }
        return ["zones": .array(items)]
    }
}

struct ModifyZones: Call {
    enum Key: String { case operations }

    private struct Operation: JSONBody {
        enum Key: String { case operationType, zone }
        enum Kind: String, JSONWord { case create, delete, purge }

        let kind: Kind
        let id: RecordZone.ID

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            kind = try keys.required(.operationType)
            id = try keys.required(.zone, as: ZoneInput.self).id
        }
    }

    private let operations: [Operation]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { operations = try keys.required(.operations) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        _ = try session.user()
        let database = try session.database()
        let writer = session.writer()
        var items: [JSONValue] = []
        for operation in operations {
            let id = operation.id
            do throws(StoreError) {
                switch operation.kind {
                case .create:
                    try await database.save(RecordZone(zoneID: id))
                    let made = try await database.zoneWithToken(for: id)
                    items.append(writer.json(made.zone, made.token))
                case .delete, .purge:
                    try await database.deleteRecordZone(
                        withID: id, reason: operation.kind == .purge ? .purged : .deleted)
                    items.append(["zoneID": writer.json(id), "deleted": true])
                }
            } catch {
                items.append(session.item(error, for: id))
            }
        }
        return ["zones": .array(items)]
    }
}
