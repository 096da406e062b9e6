import Stratus
import StratusGateway
import Testing

/// What an error says in JSON beside its code.
struct ErrorAnswerTests {
    private func save(_ name: String, _ more: String = "") -> String {
        #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"T"\#(more)}}"#
    }

    // C53.
    @Test func `a record that fails with its parent carries the errors of those above it`()
        async throws
    {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(save("typed", #","fields":{"f":{"value":1}}"#))
        let items =
            save("p", #","fields":{"f":{"value":"text","type":"STRING"}}"#) + ","
            + save("c", #","parent":{"recordName":"p"}"#) + ","
            + save("leaf", #","parent":{"recordName":"c"}"#) + "," + save("a")
        let first = try await gateway.modify(items, #","operationID":"o""#)
        let repeated = try await gateway.modify(items, #","operationID":"o""#)
        for answer in [first, repeated] {
            let records = answer.body["records"]
            #expect(records[0]["serverErrorCode"].text == "BAD_REQUEST")
            #expect(records[0]["partialErrors"].value == nil)
            #expect(records[1]["serverErrorCode"].text == "VALIDATING_REFERENCE_ERROR")
            #expect(records[1]["partialErrors"].count == 1)
            let errors = records[2]["partialErrors"]
            #expect(errors.count == 2)
            #expect(errors[0]["recordName"].text == "c")
            #expect(errors[0]["ckErrorCode"].number == 31)
            #expect(errors[1]["recordName"].text == "p")
            #expect(errors[1]["ckErrorCode"].number == 12)
            #expect(errors[1]["reason"] == records[0]["reason"])
            #expect(records[3]["serverErrorCode"].value == nil)
        }
    }

    @Test func `a move that fails names the record`() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.call(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneName":"to"}}]}"#)
        _ = try await gateway.modify(
            save("p") + "," + save("c", #","parent":{"recordName":"p"}"#))
        let move = { (names: String, zone: String) in
            try await gateway.call(
                "records/move",
                #"{"zoneID":{"zoneName":"notes"},"toZoneID":{"zoneName":"\#(zone)"},"#
                    + #""records":[\#(names)]}"#)
        }
        let missing = try await move(#"{"recordName":"p"},{"recordName":"none"}"#, "to")
        #expect(missing.status == 404 && missing.body["recordName"].text == "none")
        let apart = try await move(#"{"recordName":"c"}"#, "to")
        #expect(apart.status == 412 && apart.body["recordName"].text == "c")
        let zone = try await move(#"{"recordName":"p"}"#, "none")
        #expect(zone.status == 404 && zone.body["zoneID"]["zoneName"].text == "none")
        #expect(try await move(#"{"recordName":"p"}"#, "to").status == 200)
        _ = try await gateway.modify(save("p"))
        let taken = try await move(#"{"recordName":"p"}"#, "to")
        #expect(taken.status == 409 && taken.body["recordName"].text == "p")
        #expect(taken.body["serverRecord"]["zoneID"]["zoneName"].text == "to")
    }

    @Test func `an error names its cause`() async throws {
        let gateway = try await TestGateway()
        let zone = { (name: String, more: String) in
            try await gateway.call(
                "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"\#(name)"}\#(more)}]}"#
            ).body["zones"][0]
        }
        _ = try await gateway.call(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneName":"to"}}]}"#)
        let token = try #require(try await zone("to", "")["syncToken"].text)
        let expired = try await zone("notes", #","syncToken":"\#(token)""#)
        #expect(expired["cause"].text == "changeToken.zone")
        #expect(expired["ckErrorCode"].number == 21)
        #expect(try await zone("none", "")["cause"].value == nil)
    }

    @Test func `a repeated request gives a conflict with its ancestor`() async throws {
        let gateway = try await TestGateway()
        let made = try await gateway.modify(save("a", #","fields":{"f":{"value":1}}"#))
        let tag = try #require(made.body["records"][0]["recordChangeTag"].text)
        let update = { (value: Int, more: String) in
            #"{"operationType":"update","record":{"recordName":"a","recordChangeTag":"\#(tag)","#
                + #""fields":{"f":{"value":\#(value)}}}}\#(more)"#
        }
        _ = try await gateway.modify(update(2, ""))
        for _ in 0..<2 {
            let answer = try await gateway.modify(
                update(3, "," + save("b")), #","operationID":"o""#)
            let conflict = answer.body["records"][0]
            #expect(conflict["serverErrorCode"].text == "CONFLICT", "\(answer.text)")
            #expect(conflict["serverRecord"]["fields"]["f"]["value"].number == 2)
            #expect(conflict["ancestorRecord"]["fields"]["f"]["value"].number == 1)
            #expect(conflict["ancestorRecord"]["recordChangeTag"].text == tag)
        }
    }
}
