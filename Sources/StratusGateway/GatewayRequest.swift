/// What a client asks, as one line of JSON says it.
public struct GatewayRequest: Sendable, Equatable {
    /// Which database is meant.
    public enum Database: String, CaseIterable, Sendable {
        /// The caller's own.
        case `private`
        /// The one that everybody reads.
        case `public`
        /// What others share with the caller.
        case shared
    }

    /// Comes back unchanged.
    public var id: JSONValue
    /// The name of the caller, which is believed: the host has made sure of it. Nil is an anonymous
    /// caller. A user record name needs the grant ``Gateway/Grant/userRecordNames``; an empty name
    /// is refused.
    public var user: String?
    /// The device of the caller.
    public var device: String?
    /// Which database is meant.
    public var database: Database
    /// Such as `records/modify`.
    public var call: String
    /// What the call takes.
    public var body: JSONObject

    /// A request for `call`.
    public init(
        id: JSONValue = .null, as user: String? = nil, device: String? = nil,
        database: Database = .private, call: String, body: JSONObject = JSONObject()
    ) {
        self.id = id
        self.user = user
        self.device = device
        self.database = database
        self.call = call
        self.body = body
    }
}

/// What a client is answered.
public struct GatewayResponse: Sendable, Equatable {
    /// That of the request.
    public var id: JSONValue
    /// As of HTTP.
    public var status: Int
    /// The answer or, where the status is not 200, why there is none.
    public var body: JSONObject
    /// Of a line that is no JSON: which it was, counted from 1.
    public var line: Int?

    /// As one line of JSON, without its end.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The same in UTF-8.
    package var bytes: [UInt8] {
        var object: JSONObject = ["id": id, "status": .integer(status)]
        object.append("line", line.map(JSONValue.integer))
        object.append("body", .object(body))
        var writer = JSONWriter()
        writer.append(.object(object))
        return writer.bytes
    }
}

extension GatewayRequest.Database: JSONWord {}

extension GatewayRequest: JSONBody {
    enum Key: String { case id, `as`, device, database, call, body }

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        self.init(
            id: keys.given(.id) ?? .null, as: try keys.optional(.as),
            device: try keys.optional(.device), database: try keys.optional(.database) ?? .private,
            call: try keys.required(.call), body: try keys.optional(.body) ?? JSONObject())
    }
}
