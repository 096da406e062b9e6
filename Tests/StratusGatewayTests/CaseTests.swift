import FoundationEssentials
import Stratus
import StratusGateway
import Testing

/// Behaviour cases of the wire.
struct CaseTests {
    // C73.
    @Test(arguments: [
        ("changes/zone", "syncTokens"), ("changes/zone", "SyncToken"),
        ("changes/zone", "serverChangeToken"), ("changes/zone", "token"),
        ("changes/database", "sync_token"), ("changes/database", "serverChangeToken"),
    ])
    func `a token under a wrong name is refused, and never taken for none`(
        call: String, name: String
    ) async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(#"{"operationType":"create","record":{"recordType":"T"}}"#)
        let isZone = call == "changes/zone"
        func body(_ key: String, _ token: String) -> String {
            isZone
                ? #"{"zones":[{"zoneID":{"zoneName":"notes"},"\#(key)":"\#(token)"}]}"#
                : #"{"\#(key)":"\#(token)"}"#
        }
        let first = try await gateway.call(
            call, isZone ? #"{"zones":[{"zoneID":{"zoneName":"notes"}}]}"# : "{}")
        let page = isZone ? first.body["zones"][0] : first.body
        let token = try #require(page["syncToken"].text)
        let refused = try await gateway.call(call, body(name, token))
        #expect(refused.status == 400 && refused.code == "BAD_REQUEST")
        let place = isZone ? "body.zones[0].\(name) " : "body.\(name) "
        #expect(refused.body["reason"].text?.hasPrefix(place) == true, "\(refused.text)")
        let next = try await gateway.call(call, body("syncToken", token))
        #expect(next.status == 200)
        let rest = isZone ? next.body["zones"][0]["records"] : next.body["zones"]
        #expect(rest.value != nil && rest.count == 0)
    }

    // C120.
    @Test func `dates on the wire are whole milliseconds`() async throws {
        let gateway = try await TestGateway()
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000.1234567)
        let database = gateway.container.privateDatabase(for: "alice")
        let notes = RecordZone.ID(zoneName: "notes")
        var record = Record(
            recordType: "T", recordID: Record.ID(recordName: "r", zoneID: notes))
        record["date"] = .date(date)
        try await database.save(record)
        let found = try await gateway.record("r")
        #expect(found["fields"]["date"]["value"].number == 1_678_307_200_123)
        for change in ["created", "modified"] { #expect(found[change]["timestamp"].number != nil) }
        // The rest rides beside it, and what comes back is the same to the bit.
        _ = try await gateway.modify(
            #"{"operationType":"forceReplace","record":{"recordName":"again","recordType":"T","#
                + #""fields":{"date":\#(found["fields"]["date"].json)}}}"#)
        let again = try await database.record(
            for: Record.ID(recordName: "again", zoneID: notes))["date"]
        #expect(again == .date(date))
        for value in ["1678307200123.4", #""1678307200123.4""#, "1.5e0", #""2023-03-08""#] {
            let refused = try await gateway.modify(
                #"{"operationType":"create","record":{"recordType":"T","#
                    + #""fields":{"date":{"value":\#(value),"type":"TIMESTAMP"}}}}"#)
            #expect(
                refused.body["records"][0]["serverErrorCode"].text == "BAD_REQUEST", "\(value)")
        }
    }
}
