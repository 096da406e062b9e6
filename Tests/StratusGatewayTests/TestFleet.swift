import Testing

/// Records of the type Boat in the zone `notes` of alice, and queries for them.
struct TestFleet {
    let gateway: TestGateway

    init(_ gateway: TestGateway) async throws {
        self.gateway = gateway
        try await save(
            "oslo",
            #""name":{"value":"Oslo"},"berths":{"value":4},"length":{"value":9.5},"#
                + #""launched":{"value":1000,"type":"TIMESTAMP"},"tags":{"value":["red","old"]},"#
                + #""sizes":{"value":[1,2]},"seal":{"value":"AAEC","type":"BYTES"},"#
                + #""mooring":{"value":{"latitude":59.9,"longitude":10.7}},"#
                + #""harbour":{"value":{"recordName":"quay"}}"#)
        try await save(
            "bergen",
            #""name":{"value":"bergen"},"berths":{"value":6},"length":{"value":12.5},"#
                + #""launched":{"value":2000,"type":"TIMESTAMP"},"tags":{"value":["red"]},"#
                + #""sizes":{"value":[2,3]},"#
                + #""mooring":{"value":{"latitude":60.4,"longitude":5.3}},"#
                + #""harbour":{"value":{"recordName":"pier"}}"#)
        try await save(
            "bodo",
            #""name":{"value":"Bodø Star"},"berths":{"value":2},"#
                + #""tags":{"value":["Blue","reddish"]},"#
                + #""mooring":{"value":{"latitude":67.28,"longitude":14.4}}"#)
        // Without any of the other fields.
        try await save(
            "tromso", #""name":{"value":"Tromsø"}"#, #","parent":{"recordName":"oslo"}"#)
        try await save("quay", #""name":{"value":"Quay"}"#, type: "Harbour")
    }

    func save(
        _ name: String, _ fields: String, _ more: String = "", type: String = "Boat"
    ) async throws {
        let answer = try await gateway.modify(
            #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"\#(type)","#
                + #""fields":{\#(fields)}\#(more)}}"#)
        try #require(answer.body["records"][0]["recordChangeTag"].text != nil, "\(answer.text)")
    }

    /// The answer to a query for boats in that zone.
    func query(_ parts: String, _ more: String = "") async throws -> Answer {
        let parts = parts.isEmpty ? "" : "," + parts
        return try await gateway.call(
            "records/query",
            #"{"zoneID":{"zoneName":"notes"},"query":{"recordType":"Boat"\#(parts)}\#(more)}"#)
    }

    /// The answer to a query with filters, without the braces of each.
    func filter(_ filters: String...) async throws -> Answer {
        try await query(#""filterBy":[\#(filters.map { "{\($0)}" }.joined(separator: ","))]"#)
    }
}

extension Answer {
    /// The names of the records, in their order; nil of an error.
    var recordNames: [String]? {
        guard status == 200 else { return nil }
        return (0..<body["records"].count).map { body["records"][$0]["recordName"].text ?? "" }
    }

    var reason: String { body["reason"].text ?? "" }
}
