import FoundationEssentials
import Stratus
import StratusGateway
import Testing

/// A gateway over a store in memory, and what tests ask of it.
struct TestGateway {
    let container: Container
    let gateway: Gateway

    /// With the zone `notes` of alice.
    init(grants: Set<Gateway.Grant> = []) async throws {
        try await self.init(Container.inMemory(), grants: grants)
    }

    /// - Parameter now: the moment of `now()` in predicates.
    init(
        _ container: Container, grants: Set<Gateway.Grant> = [],
        now: @escaping @Sendable () -> Date = { Date() }
    ) async throws {
        self.container = container
        gateway = Gateway(
            container: container, grants: grants, now: now, makeIdentifier: { UUID() })
        _ = try await container.privateDatabase(for: "alice").save(RecordZone(zoneName: "notes"))
    }

    /// The answer to a call of alice, whose body is JSON.
    func call(
        _ call: String, _ body: String = "{}", as user: String? = "alice", on device: String? = nil,
        database: GatewayRequest.Database = .private
    ) async throws -> Answer {
        let object = try JSONObject(reading: body)
        let request = GatewayRequest(
            id: 1, as: user, device: device, database: database, call: call, body: object)
        return Answer(await gateway.respond(to: request))
    }

    /// Changes records of the zone `notes`.
    func modify(_ items: String, _ more: String = "") async throws -> Answer {
        try await call(
            "records/modify",
            #"{"zoneID":{"zoneName":"notes"},"operations":[\#(items)]\#(more)}"#)
    }

    /// The record of that name, as it is now.
    func record(_ name: String) async throws -> Found {
        try await call(
            "records/lookup",
            #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"\#(name)"}]}"#
        ).body["records"][0]
    }
}

/// What a gateway answered.
struct Answer {
    let status: Int
    let body: Found
    let text: String

    init(_ response: GatewayResponse) {
        status = response.status
        body = Found(.object(response.body))
        text = response.text
    }

    var code: String? { body["serverErrorCode"].text }
}

/// A value of JSON, to be looked into: what is not there is nil.
struct Found: Equatable {
    let value: JSONValue?

    init(_ value: JSONValue?) { self.value = value }

    subscript(name: String) -> Found {
        guard case .object(let object) = value else { return Found(nil) }
        return Found(object[name])
    }

    subscript(index: Int) -> Found {
        guard case .array(let values) = value, values.indices.contains(index) else {
            return Found(nil)
        }
        return Found(values[index])
    }

    var text: String? { if case .string(let text) = value { text } else { nil } }
    var number: Int? { if case .integer(let number) = value { number } else { nil } }
    var isTrue: Bool { value == .boolean(true) }
    var count: Int { if case .array(let values) = value { values.count } else { 0 } }
    var names: [String] {
        if case .object(let object) = value { object.members.map(\.name) } else { [] }
    }
    var json: String {
        var writer = JSONWriter()
        writer.append(value ?? .null)
        return writer.text
    }
}

extension JSONObject {
    struct NoObject: Error {}

    init(reading text: String) throws {
        guard case .object(let object) = try JSONReader.read(Array(text.utf8).span) else {
            throw NoObject()
        }
        self = object
    }
}
