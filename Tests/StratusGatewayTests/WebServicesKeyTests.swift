import Stratus
import StratusGateway
import Testing

/// Values that follow the schema, and the keys of Web Services: semantics 12.
struct WebServicesKeyTests {
    private func save(
        _ name: String, _ fields: String, _ more: String = "", type: String = "T",
        kind: String = "forceUpdate"
    ) -> String {
        #"{"operationType":"\#(kind)","record":{"recordName":"\#(name)","recordType":"\#(type)","#
            + #""fields":{\#(fields)}\#(more)}}"#
    }

    @Test(arguments: [
        (#"{"value":1.5}"#, "2", #"{"value":2.0,"type":"DOUBLE"}"#),
        (#"{"value":1.5}"#, #""2.5""#, #"{"value":2.5,"type":"DOUBLE"}"#),
        (#"{"value":[1.5]}"#, "[2,3]", #"{"value":[2.0,3.0],"type":"DOUBLE_LIST"}"#),
        (#"{"value":1}"#, #""2""#, #"{"value":2,"type":"INT64"}"#),
        (
            #"{"value":0,"type":"TIMESTAMP"}"#, "1700000000000",
            #"{"value":1700000000000,"type":"TIMESTAMP"}"#
        ),
        (#"{"value":"","type":"BYTES"}"#, #""AAEC""#, #"{"value":"AAEC","type":"BYTES"}"#),
        (
            #"{"value":["AA=="],"type":"BYTES_LIST"}"#, #"["AAEC"]"#,
            #"{"value":["AAEC"],"type":"BYTES_LIST"}"#
        ),
        (#"{"value":"a"}"#, #""2""#, #"{"value":"2","type":"STRING"}"#),
    ])
    func `a value without a type is read as the type of its field`(
        first: String, value: String, expected: String
    ) async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(save("first", #""f":\#(first)"#))
        let answer = try await gateway.modify(save("a", #""f":{"value":\#(value)}"#))
        let record = answer.body["records"][0]
        #expect(record["fields"]["f"].json == expected, "\(answer.text)")
        // Of another type of records it is another field.
        let other = try await gateway.modify(
            save("b", #""f":{"value":"text"}"#, type: "U"))
        #expect(other.body["records"][0]["fields"]["f"]["type"].text == "STRING")
        // A list of unknown values is as the field, too.
        if value.hasPrefix("[") {
            let unknown = try await gateway.modify(
                save("c", #""f":{"value":\#(value),"type":"UNKNOWN_LIST"}"#))
            #expect(unknown.body["records"][0]["fields"]["f"].json == expected)
        }
    }

    @Test func `an encrypted field is read as its type, too`() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(save("a", #""f":{"value":1.5,"type":"ENCRYPTED_DOUBLE"}"#))
        let field = try await gateway.record("a")["fields"]["f"]
        #expect(field.json == #"{"value":1.5,"type":"DOUBLE","isEncrypted":true}"#)
        _ = try await gateway.modify(save("a", #""f":{"value":2,"isEncrypted":true}"#))
        #expect(try await gateway.record("a")["fields"]["f"]["value"].json == "2.0")
        _ = try await gateway.modify(
            save("a", #""g":{"value":["AA=="],"type":"ENCRYPTED_BYTES_LIST"}"#))
        let list = try await gateway.record("a")["fields"]["g"]
        #expect(list["type"].text == "BYTES_LIST" && list["isEncrypted"].isTrue)
        let reference = try await gateway.modify(
            save("b", #""h":{"value":{"recordName":"a"},"type":"ENCRYPTED_REFERENCE"}"#))
        #expect(reference.body["records"][0]["serverErrorCode"].text == "BAD_REQUEST")
    }

    @Test func `a value that does not fit is the error of its record alone`() async throws {
        let gateway = try await TestGateway()
        let values = [
            #"{"value":["a",1]}"#, #"{"value":1,"type":"STRING"}"#, #"{"value":{}}"#,
            #"{"value":"x","type":"BYTES"}"#, #"{"value":{"recordName":5}}"#,
        ]
        for (index, value) in values.enumerated() {
            let answer = try await gateway.modify(
                save("good\(index)", #""n":{"value":1}"#) + ","
                    + save("bad\(index)", #""f":\#(value)"#))
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.body["records"][0]["fields"]["n"]["value"].number == 1)
            let bad = answer.body["records"][1]
            #expect(bad["recordName"].text == "bad\(index)")
            #expect(bad["serverErrorCode"].text == "BAD_REQUEST")
            #expect(bad["ckErrorCode"].number == 12)
            #expect(bad["reason"].text?.hasPrefix("record.fields.f.value") == true)
            #expect(try await gateway.record("bad\(index)")["ckErrorCode"].number == 11)
        }
        let atomic = try await gateway.modify(
            save("x", #""n":{"value":1}"#) + "," + save("y", #""f":{"value":["a",1]}"#),
            #","atomic":true"#)
        #expect(atomic.body["records"][0]["serverErrorCode"].text == "ATOMIC_ERROR")
        #expect(atomic.body["records"][1]["serverErrorCode"].text == "BAD_REQUEST")
        #expect(try await gateway.record("x")["ckErrorCode"].number == 11)
    }

    @Test(arguments: [
        (#"{"recordName":"a","acton":"NONE"}"#, "acton"),
        (#"{"latitude":1,"longitude":2,"height":3}"#, "height"),
        (#"{"recordName":"a","zoneID":{"zoneName":"notes","zone":1}}"#, "zoneID.zone"),
    ])
    func `an unknown key inside a value refuses the whole request`(
        value: String, key: String
    ) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.modify(
            save("good", #""n":{"value":1}"#) + "," + save("bad", #""f":{"value":\#(value)}"#))
        #expect(answer.status == 400 && answer.code == "BAD_REQUEST")
        #expect(
            answer.body["reason"].text?
                .hasPrefix("body.operations[1].record.fields.f.value.\(key) ") == true,
            "\(answer.text)")
        #expect(try await gateway.record("good")["ckErrorCode"].number == 11)
    }

    @Test func `numbers are strings where a request asks for it, and are read back`()
        async throws
    {
        let gateway = try await TestGateway()
        let flag = #","numbersAsStrings":true"#
        let saved = try await gateway.modify(
            save(
                "a",
                #""i":{"value":5},"d":{"value":2.5},"l":{"value":[1,2]},"#
                    + #""s":{"value":"t"},"t":{"value":7,"type":"TIMESTAMP"}"#), flag)
        let expected =
            #"{"d":{"value":"2.5","type":"DOUBLE"},"i":{"value":"5","type":"INT64"},"#
            + #""l":{"value":["1","2"],"type":"INT64_LIST"},"s":{"value":"t","type":"STRING"},"#
            + #""t":{"value":7,"type":"TIMESTAMP"}}"#
        let record = saved.body["records"][0]
        #expect(record["fields"].json == expected)
        let found = try await gateway.call(
            "records/lookup",
            #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"a"}]\#(flag)}"#)
        #expect(found.body["records"][0]["fields"].json == expected)
        for body in [
            #"{"zones":[{"zoneID":{"zoneName":"notes"}}]\#(flag)}"#,
            #"{"zones":[{"zoneID":{"zoneName":"notes"}\#(flag)}]}"#,
        ] {
            let page = try await gateway.call("changes/zone", body).body["zones"][0]
            #expect(page["records"][0]["fields"].json == expected)
        }
        let taken = try await gateway.modify(save("a", "", kind: "create"), flag)
        #expect(taken.body["records"][0]["serverRecord"]["fields"].json == expected)
        let again = try await gateway.modify(
            #"{"operationType":"update","record":\#(record.json)}"#)
        #expect(again.body["records"][0]["fields"]["d"].json == #"{"value":2.5,"type":"DOUBLE"}"#)
    }

    @Test func `the changes of a page come newest first where a request asks for it`()
        async throws
    {
        let gateway = try await TestGateway()
        for name in ["a", "b", "c", "d"] { _ = try await gateway.modify(save(name, "")) }
        let page = { (zone: String, more: String) in
            let found = try await gateway.call(
                "changes/zone",
                #"{"zones":[{"zoneID":{"zoneName":"notes"}\#(zone)}]\#(more)}"#
            ).body["zones"][0]
            return (0..<found["records"].count).map {
                found["records"][$0]["recordName"].text ?? ""
            }
        }
        #expect(try await page("", "") == ["a", "b", "c", "d"])
        #expect(try await page("", #","reverse":true"#) == ["d", "c", "b", "a"])
        #expect(try await page(#","reverse":true"#, "") == ["d", "c", "b", "a"])
        // What a zone says goes over what the request says.
        let zone = #","reverse":false,"resultsLimit":3,"desiredRecordTypes":["T"]"#
        #expect(
            try await page(
                zone, #","reverse":true,"resultsLimit":1,"desiredRecordTypes":["U"]"#)
                == ["a", "b", "c"])
        #expect(try await page("", #","desiredRecordTypes":["U"]"#) == [])
    }

    @Test func `a record made anew under another type is deleted for who asks for the old one`()
        async throws
    {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(save("a", "") + "," + save("b", ""))
        let zone = { (more: String) in
            try await gateway.call(
                "changes/zone",
                #"{"zones":[{"zoneID":{"zoneName":"notes"},"desiredRecordTypes":["T"]\#(more)}]}"#
            ).body["zones"][0]
        }
        let token = try #require(try await zone("")["syncToken"].text)
        _ = try await gateway.modify(
            #"{"operationType":"forceDelete","record":{"recordName":"a"}}"#)
        _ = try await gateway.modify(save("a", "", type: "U"))
        let page = try await zone(#","syncToken":"\#(token)""#)
        #expect(page["records"].count == 1)
        #expect(page["records"][0]["recordName"].text == "a")
        #expect(page["records"][0]["recordType"].text == "T")
        #expect(page["records"][0]["deleted"].isTrue)
    }

    @Test func `keys of records that Web Services knows are accepted`() async throws {
        let gateway = try await TestGateway()
        let more =
            #","parent":{"recordName":"p","zoneID":{"zoneName":"notes"}},"createShortGUID":true,"#
            + #""shortGUID":"0x","pluginFields":{},"share":{"recordName":"s","zoneID":{"#
            + #""zoneName":"notes"}},"created":{"timestamp":1,"userRecordName":"_a","#
            + #""deviceID":"1"},"publicPermission":"NONE","participants":[]"#
        let answer = try await gateway.modify(save("p", "") + "," + save("a", "", more))
        #expect(answer.status == 200, "\(answer.text)")
        let record = answer.body["records"][1]
        #expect(record["parent"]["recordName"].text == "p")
        #expect(record["share"].value == nil)
        let apart = try await gateway.modify(
            save("b", "", #","parent":{"recordName":"p","zoneID":{"zoneName":"other"}}"#))
        #expect(apart.body["records"][0]["serverErrorCode"].text == "BAD_REQUEST")
        // Where a record is asked for, what an answer said of it is taken for its name.
        let found = try await gateway.call(
            "records/lookup", #"{"records":[\#(record.json)]}"#)
        #expect(found.body["records"][0] == record)
        for wrong in [#","parent":{"recordName":"p","zone":{}}"#, #","shared":{}"#] {
            let refused = try await gateway.modify(save("c", "", wrong))
            #expect(refused.status == 400, "\(refused.text)")
        }
    }

    @Test func `the caller and users by their names are asked for under all their paths`()
        async throws
    {
        let gateway = try await TestGateway()
        let caller = try await gateway.call("users/caller")
        #expect(try await gateway.call("users/current").body == caller.body)
        #expect(try await gateway.call("users/current", as: nil).status == 401)
        let users = #"{"users":[{"userRecordName":"alice"},{"userRecordName":"bob"}]}"#
        let found = try await gateway.call("users/lookup/id", users).body["users"]
        #expect(found[0]["userRecordName"] == caller.body["userRecordName"])
        #expect(found[1]["serverErrorCode"].text == "NOT_FOUND")
    }
}
