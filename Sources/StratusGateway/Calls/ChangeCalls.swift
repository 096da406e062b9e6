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
struct PageLimit: JSONReadable {
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

/// The keys of what may be said of a zone and of a whole request alike.
private protocol ZoneOptionKey: RawRepresentable<String> {
    static var desiredKeys: Self { get }
    static var desiredRecordTypes: Self { get }
    static var resultsLimit: Self { get }
    static var reverse: Self { get }
    static var numbersAsStrings: Self { get }
}

struct ZoneChangesCall: Call {
    enum Key: String, ZoneOptionKey {
        case zones, desiredKeys, desiredRecordTypes, resultsLimit, reverse, numbersAsStrings
    }

    /// What is asked of a zone; what it does not say is as the whole request says.
    private struct Options {
        var desiredKeys: [String]?
        var types: [String]?
        var limit: Int?
        /// Whether the newest change of a page comes first.
        var reverse: Bool?
        var numbersAsStrings: Bool?

        init(_ keys: JSONKeys<some ZoneOptionKey>) throws(Mismatch) {
            desiredKeys = try keys.optional(.desiredKeys)
            types = try keys.optional(.desiredRecordTypes)
            limit = try keys.optional(.resultsLimit, as: PageLimit.self)?.value
            reverse = try keys.optional(.reverse)
            numbersAsStrings = try keys.optional(.numbersAsStrings)
        }

        func over(_ other: Options) -> Options {
            var options = self
            options.desiredKeys = desiredKeys ?? other.desiredKeys
            options.types = types ?? other.types
            options.limit = limit ?? other.limit
            options.reverse = reverse ?? other.reverse
            options.numbersAsStrings = numbersAsStrings ?? other.numbersAsStrings
            return options
        }
    }

    private struct Zone: JSONBody {
        enum Key: String, ZoneOptionKey {
            case zoneID, syncToken, atToken
            case desiredKeys, desiredRecordTypes, resultsLimit, reverse, numbersAsStrings
        }

        let id: RecordZone.ID
        let token: ChangeToken?
        let point: ChangeToken?
        let options: Options

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            id = try keys.required(.zoneID, as: ZoneIDInput.self).id
            token = try keys.optional(.syncToken, as: TokenInput.self)?.token
            point = try keys.optional(.atToken, as: TokenInput.self)?.token
            options = try Options(keys)
        }
    }

    private let zones: [Zone]
    private let options: Options

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        zones = try keys.required(.zones)
        options = try Options(keys)
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
        let options = zone.options.over(options)
        if options.reverse == true, session.request.database == .shared {
            throw StoreError(.invalidArguments, "Reverse sync of share db is unsupported")
        }
        let writer = session.writer(numbersAsStrings: options.numbersAsStrings ?? false)
        let page = try await database.recordZoneChanges(
            inZoneWith: zone.id, since: zone.token, asOf: zone.point,
            desiredKeys: options.desiredKeys, desiredRecordTypes: options.types,
            resultsLimit: options.limit)
        var changed = page.modifications.map(writer.json)
        var gone = page.deletions.map { writer.tombstone($0.recordID, type: $0.recordType) }
        if options.reverse == true {
            changed.reverse()
            gone.reverse()
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
