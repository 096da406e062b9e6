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
    enum Key: String, LongLivedKey { case syncToken, resultsLimit, operationID, isLongLived }

    private let token: ChangeToken?
    private let limit: Int?
    /// Nil of a call that is made at once.
    private let longLivedID: String?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        token = try keys.optional(.syncToken, as: TokenInput.self)?.token
        limit = try keys.optional(.resultsLimit, as: PageLimit.self)?.value
        longLivedID = try keys.longLivedID()
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        if let longLivedID {
            return try await session.answerLongLived(
                .databaseChanges(since: token, resultsLimit: limit), AnswerForm(), longLivedID)
        }
        let page = try await session.database().databaseChanges(since: token, resultsLimit: limit)
        return session.body(of: page, isFirst: token == nil)
    }
}

extension Session {
    /// - Parameter isFirst: whether no token was given.
    func body(of page: DatabaseChanges, isFirst: Bool) -> JSONObject {
        let writer = writer()
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
        if isFirst { body.append("fullSnapshot", true) }
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
    enum Key: String, ZoneOptionKey, LongLivedKey {
        case zones, desiredKeys, desiredRecordTypes, resultsLimit, reverse, numbersAsStrings
        case operationID, isLongLived
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
    /// Nil of a call that is made at once.
    private let longLivedID: String?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        zones = try keys.required(.zones)
        options = try Options(keys)
        longLivedID = try keys.longLivedID()
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        if let longLivedID { return try await keep(longLivedID, session) }
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
        let options = try options(of: zone, session)
        let page = try await database.recordZoneChanges(
            inZoneWith: zone.id, since: zone.token, asOf: zone.point,
            desiredKeys: options.desiredKeys, desiredRecordTypes: options.types,
            resultsLimit: options.limit)
        return session.body(
            of: page, zone.id, isReversed: options.reverse ?? false,
            numbersAsStrings: options.numbersAsStrings ?? false)
    }

    private func options(of zone: Zone, _ session: Session) throws(StoreError) -> Options {
        let options = zone.options.over(self.options)
        if options.reverse == true, session.request.database == .shared {
            throw StoreError(.invalidArguments, "Reverse sync of share db is unsupported")
        }
        return options
    }

    private func keep(
        _ operationID: String, _ session: Session
    ) async throws(StoreError) -> JSONObject {
        var form = AnswerForm()
        var fetches: [LongLivedRequest.ZoneFetch] = []
        for zone in zones {
            let options = try options(of: zone, session)
            form.zones.append(
                AnswerForm.Zone(
                    isReversed: options.reverse ?? false,
                    numbersAsStrings: options.numbersAsStrings ?? false))
            fetches.append(
                LongLivedRequest.ZoneFetch(
                    inZoneWith: zone.id, since: zone.token, asOf: zone.point,
                    desiredKeys: options.desiredKeys, desiredRecordTypes: options.types,
                    resultsLimit: options.limit))
        }
        return try await session.answerLongLived(.zoneChanges(fetches), form, operationID)
    }
}

extension Session {
    func body(
        of page: RecordZoneChanges, _ zoneID: RecordZone.ID, isReversed: Bool,
        numbersAsStrings: Bool
    ) -> JSONObject {
        let writer = writer(numbersAsStrings: numbersAsStrings)
        var changed = page.modifications.map(writer.json)
        var gone = page.deletions.map { writer.tombstone($0.recordID, type: $0.recordType) }
        if isReversed {
            changed.reverse()
            gone.reverse()
        }
        var body: JSONObject = [
            "zoneID": writer.json(zoneID), "records": .array(changed + gone),
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
