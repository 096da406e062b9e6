internal import FoundationEssentials
internal import Stratus

struct QueryRecords: Call {
    enum Key: String, LongLivedKey {
        case query, zoneID, zoneWide, resultsLimit, desiredKeys, continuationMarker
        case numbersAsStrings, operationID, isLongLived
    }

    private let input: QueryInput
    /// Nil: all zones of the database.
    private let zone: RecordZone.ID?
    private let namesZone: Bool
    private let limit: Int?
    private let desiredKeys: [String]?
    private let marker: ContinuationMarker?
    private let numbersAsStrings: Bool
    /// Nil of a call that is made at once.
    private let longLivedID: String?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        input = try keys.required(.query)
        let isZoneWide: Bool = try keys.optional(.zoneWide) ?? false
        let named = try keys.optional(.zoneID, as: ZoneIDInput.self)?.id
        zone = named ?? (isZoneWide ? nil : RecordZone.ID.default)
        namesZone = named != nil
        limit = try keys.optional(.resultsLimit, as: PageLimit.self)?.value
        desiredKeys = try keys.optional(.desiredKeys)
        marker = try keys.optional(.continuationMarker)
        numbersAsStrings = try keys.optional(.numbersAsStrings) ?? false
        longLivedID = try keys.longLivedID()
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let database = try session.database()
        if session.request.database == .shared, !namesZone {
            throw StoreError(
                .invalidArguments, "body.zoneID is missing: in the shared database it is needed")
        }
        // `now()` is part of the query, and a cursor is good for the same query only.
        let kept = try await session.kept(longLivedID)
        let milliseconds =
            marker?.milliseconds ?? kept?.form.moment
            ?? ExactDate(session.gateway.now()).milliseconds
        let scope = QueryScope(
            container: session.container, recordType: input.recordType, zone: zone,
            now: ExactDate.date(milliseconds: milliseconds))
        let query: Query
        do throws(Mismatch) {
            query = try input.query(scope)
        } catch {
            throw StoreError(error.under(Key.query.rawValue).under("body"))
        }
        if let longLivedID {
            var form = AnswerForm()
            form.numbersAsStrings = numbersAsStrings
            form.moment = milliseconds
            return try await session.answerLongLived(
                .query(
                    LongLivedRequest.QueryFetch(
                        query, inZoneWith: zone, desiredKeys: desiredKeys, resultsLimit: limit,
                        from: marker?.cursor)), form, longLivedID)
        }
        let page = try await database.records(
            matching: query, inZoneWith: zone, desiredKeys: desiredKeys, resultsLimit: limit,
            from: marker?.cursor)
        return session.body(
            of: page, milliseconds: milliseconds, numbersAsStrings: numbersAsStrings)
    }
}

extension Session {
    /// - Parameter milliseconds: the moment of `now()` in the query, since 1970.
    func body(
        of page: QueryPage, milliseconds: Int, numbersAsStrings: Bool
    ) -> JSONObject {
        let writer = writer(numbersAsStrings: numbersAsStrings)
        var body: JSONObject = ["records": .array(page.records.map(writer.json))]
        if let cursor = page.cursor {
            let next = ContinuationMarker(milliseconds: milliseconds, cursor: cursor)
            body.append("continuationMarker", .string(next.text))
        }
        return body
    }
}

/// Where the next page of a query begins, and the moment that `now()` is on all of its pages.
private struct ContinuationMarker: JSONReadable {
    /// Since 1970.
    let milliseconds: Int
    let cursor: QueryPage.Cursor

    init(milliseconds: Int, cursor: QueryPage.Cursor) {
        self.milliseconds = milliseconds
        self.cursor = cursor
    }

    init(_ json: JSONValue) throws(Mismatch) {
        let text = try String(json)
        guard let data = Data(base64Encoded: text) else {
            throw Mismatch("is no continuation marker")
        }
        let parts = String(decoding: data, as: UTF8.self).split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let milliseconds = Int(parts[0]),
            let cursor = QueryPage.Cursor(String(parts[1]))
        else { throw Mismatch("is no continuation marker") }
        self.init(milliseconds: milliseconds, cursor: cursor)
    }

    /// The milliseconds, `:` and the cursor, all in base64.
    var text: String { Data("\(milliseconds):\(cursor)".utf8).base64EncodedString() }
}
