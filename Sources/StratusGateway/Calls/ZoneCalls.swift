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

/// Makes and deletes zones, one after the other; a long-lived call does so at once.
struct ModifyZones: Call {
    enum Key: String, LongLivedKey { case operations, operationID, isLongLived }

    private struct Item: JSONBody {
        enum Key: String { case operationType, zone }
        enum Kind: String, JSONWord { case create, delete, purge }

        let content: ZoneItem

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            let kind: Kind = try keys.required(.operationType)
            let id = try keys.required(.zone, as: ZoneInput.self).id
            content =
                switch kind {
                case .create: .save(id)
                case .delete: .delete(id, .deleted)
                case .purge: .delete(id, .purged)
                }
        }
    }

    private let items: [ZoneItem]
    /// Nil of a call that is made at once.
    private let longLivedID: String?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        items = try keys.required(.operations, as: [Item].self).map(\.content)
        longLivedID = try keys.longLivedID()
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        _ = try session.user()
        if let longLivedID {
            return try await session.answerLongLived(
                .modifyZones(LongLivedRequest.ZoneModification(items)), AnswerForm(), longLivedID)
        }
        let database = try session.database()
        var answers: [JSONValue] = []
        for item in items {
            do throws(StoreError) {
                let zone = try await database.modifyZones([item])[0].get()
                var token: ChangeToken?
                if zone != nil { token = try await database.zoneWithToken(for: item.id).token }
                answers.append(session.answer(of: .success(zone), item, token))
            } catch {
                answers.append(session.answer(of: .failure(error), item))
            }
        }
        return ["zones": .array(answers)]
    }
}

extension Session {
    /// - Parameter token: the end of the zone's feed, which long-lived calls do not answer.
    func answer(
        of outcome: Result<RecordZone?, StoreError>, _ item: ZoneItem, _ token: ChangeToken? = nil
    ) -> JSONValue {
        let writer = writer()
        return switch outcome {
        case .success(let zone?): writer.json(zone, token)
        case .success(nil): ["zoneID": writer.json(item.id), "deleted": true]
        case .failure(let error): self.item(error, for: item.id)
        }
    }
}
