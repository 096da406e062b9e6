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
        var answers: [JSONValue] = []
        for zone in zones {
            do throws(StoreError) {
                let found = try await database.zoneWithToken(for: zone.id)
                answers.append(writer.json(found.zone, found.token))
            } catch {
                answers.append(session.item(error, for: zone.id))
            }
        }
        return ["zones": .array(answers)]
    }
}

struct ModifyZones: Call {
    enum Key: String { case operations }

    private struct Item: JSONBody {
        enum Key: String { case operationType, zone }
        enum Kind: String, JSONWord { case create, delete, purge }

        let kind: Kind
        let id: RecordZone.ID

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            kind = try keys.required(.operationType)
            id = try keys.required(.zone, as: ZoneInput.self).id
        }
    }

    private let items: [Item]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { items = try keys.required(.operations) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        _ = try session.user()
        let database = try session.database()
        let writer = session.writer()
        var answers: [JSONValue] = []
        for item in items {
            let id = item.id
            do throws(StoreError) {
                switch item.kind {
                case .create:
                    try await database.save(RecordZone(zoneID: id))
                    let made = try await database.zoneWithToken(for: id)
                    answers.append(writer.json(made.zone, made.token))
                case .delete, .purge:
                    try await database.deleteRecordZone(
                        withID: id, reason: item.kind == .purge ? .purged : .deleted)
                    answers.append(["zoneID": writer.json(id), "deleted": true])
                }
            } catch {
                answers.append(session.item(error, for: id))
            }
        }
        return ["zones": .array(answers)]
    }
}
