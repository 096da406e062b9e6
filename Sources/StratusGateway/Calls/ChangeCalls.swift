internal import FoundationEssentials
internal import Stratus

/// How far a client has come, as text.
private struct TokenInput: JSONReadable {
    let token: ChangeToken

    init(_ json: JSONValue) throws(Mismatch) {
        guard let token = ChangeToken(try String(json)) else { throw Mismatch("is no token") }
        self.token = token
    }
}

/// The most items of a page.
private struct PageLimit: JSONReadable {
    let value: Int

    init(_ json: JSONValue) throws(Mismatch) {
        value = try Int(json)
        guard value > 0 else { throw Mismatch("must be above 0") }
    }
}

struct DatabaseChangesCall: Call {
    enum Key: String { case syncToken, resultsLimit }

    private let token: ChangeToken?
    private let limit: Int?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        token = try keys.optional(.syncToken, as: TokenInput.self)?.token
        limit = try keys.optional(.resultsLimit, as: PageLimit.self)?.value
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let writer = session.writer()
        let page = try await session.database().databaseChanges(since: token, resultsLimit: limit)
        let changed = page.modifications.map { id -> JSONValue in ["zoneID": writer.json(id)] }
        let gone = page.deletions.map { deletion -> JSONValue in
            [
                "zoneID": writer.json(deletion.zoneID), "deleted": true,
                "reason": .string("\(deletion.reason)"),
            ]
        }
        var body: JSONObject = [
            "zones": .array(changed + gone), "syncToken": .string(page.changeToken.description),
            "moreComing": .boolean(page.moreComing),
        ]
        if token == nil { body.append("fullSnapshot", true) }
        return body
    }
}

struct ZoneChangesCall: Call {
    enum Key: String { case zones, resultsLimit, desiredKeys }

    private struct Zone: JSONBody {
        enum Key: String {
            case zoneID, syncToken, atToken, desiredKeys, desiredRecordTypes, resultsLimit
        }

        let id: RecordZone.ID
        let token: ChangeToken?
        let point: ChangeToken?
        let desiredKeys: [String]?
        let types: [String]?
        let limit: Int?

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            id = try keys.required(.zoneID, as: ZoneIDInput.self).id
            token = try keys.optional(.syncToken, as: TokenInput.self)?.token
            point = try keys.optional(.atToken, as: TokenInput.self)?.token
            desiredKeys = try keys.optional(.desiredKeys)
            types = try keys.optional(.desiredRecordTypes)
            limit = try keys.optional(.resultsLimit, as: PageLimit.self)?.value
        }

        func wants(_ type: String) -> Bool { types?.contains(where: type.isSame) ?? true }
    }

    private let zones: [Zone]
    private let limit: Int?
    private let desiredKeys: [String]?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        zones = try keys.required(.zones)
        limit = try keys.optional(.resultsLimit, as: PageLimit.self)?.value
        desiredKeys = try keys.optional(.desiredKeys)
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let database = try session.database()
        var items: [JSONValue] = []
        for zone in zones {
            do throws(StoreError) {
                items.append(.object(try await page(of: zone, in: database, session)))
            } catch {
                items.append(session.item(error, for: zone.id))
            }
        }
        return ["zones": .array(items)]
    }

    private func page(
        of zone: Zone, in database: Database, _ session: Session
    ) async throws(StoreError) -> JSONObject {
        let writer = session.writer()
        let page = try await database.recordZoneChanges(
            inZoneWith: zone.id, since: zone.token, asOf: zone.point,
            desiredKeys: zone.desiredKeys ?? desiredKeys, resultsLimit: zone.limit ?? limit)
        let changed = page.modifications.filter { zone.wants($0.recordType) }.map(writer.json)
        let gone = page.deletions.filter { zone.wants($0.recordType) }.map {
            writer.tombstone($0.recordID, type: $0.recordType)
        }
        var body: JSONObject = [
            "zoneID": writer.json(zone.id), "records": .array(changed + gone),
            "syncToken": .string(page.changeToken.description),
            "moreComing": .boolean(page.moreComing),
        ]
        if page.isFullSnapshot { body.append("fullSnapshot", true) }
        body.append(
            "clientChangeTokenData",
            page.clientChangeTokenData.map { .string($0.base64EncodedString()) })
        return body
    }
}
