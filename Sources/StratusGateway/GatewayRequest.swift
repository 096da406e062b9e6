package import Stratus

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

extension GatewayRequest {
    /// As one line of JSON in UTF-8, without its end.
    package var bytes: [UInt8] {
        var object: JSONObject = ["id": id]
        object.append("as", user.map(JSONValue.string))
        object.append("device", device.map(JSONValue.string))
        object.append("database", .string(database.rawValue))
        object.append("call", .string(call))
        object.append("body", .object(body))
        var writer = JSONWriter()
        writer.append(.object(object))
        return writer.bytes
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

extension GatewayResponse: JSONBody {
    enum Key: String { case id, status, line, body }

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        id = keys.given(.id) ?? .null
        status = try keys.required(.status)
        line = try keys.optional(.line)
        body = try keys.required(.body)
    }

    /// What another process was answered, from a line of JSON.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where it is no answer.
    package init(line: [UInt8]) throws(StoreError) {
        let json: JSONValue
        do throws(JSONError) {
            json = try JSONReader.read(line.span)
        } catch {
            throw StoreError(.invalidArguments, "no JSON: \(error.reason)")
        }
        do throws(Mismatch) {
            self = try GatewayResponse(json)
        } catch {
            throw StoreError(error)
        }
    }

    /// The body or, where the call was refused, why.
    package func get() throws(StoreError) -> JSONObject {
        if status == 200 { return body }
        throw StoreError(refusal: body)
    }
}

extension StoreError {
    /// What an object says that stands for an error: its code, its reason and what it is about. Of an
    /// error of several items it is the first that is the reason of others.
    package init(refusal: JSONObject) {
        let object = refusal.objects("partialErrors").first { !Self.isOfBatch($0) } ?? refusal
        var code = Code.internalError
        if case .integer(let number)? = object["ckErrorCode"] { code = Code(rawValue: number) }
        self.init(code, object.text("reason") ?? "the service gave no reason")
        switch object.text("cause") {
        case Cause.damaged.name: cause = .damaged
        case Cause.newerFormat.name: cause = .newerFormat
        case Cause.poisoned.name: cause = .poisoned
        default: break
        }
        if let name = object.text("recordName") {
            item = .record(Record.ID(recordName: name))
        } else if let name = object.object("zoneID")?.text("zoneName") {
            item = .zone(RecordZone.ID(zoneName: name))
        }
    }

    /// Whether an object stands for an error that another one of its batch is the reason of.
    package static func isOfBatch(_ refusal: JSONObject) -> Bool {
        refusal["ckErrorCode"] == .integer(Code.batchRequestFailed.rawValue)
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
