import FoundationEssentials
import Stratus
import StratusGateway
import Support
import Testing

/// Records in JSON: what goes in comes out, to the bit, and what cannot be one is refused.
struct RecordJSONTests {
    private let notes = RecordZone.ID(zoneName: "notes")

    /// Sends one field of a new record and gives what is stored of it.
    private func stored(
        _ field: String, type: String = "T", in gateway: TestGateway
    ) async throws -> Found {
        let answer = try await gateway.modify(
            #"{"operationType":"create","record":{"recordName":"r\#(type)","#
                + #""recordType":"\#(type)","fields":{"f":\#(field)}}}"#)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.body["records"][0]["fields"]["f"]
    }

    @Test(arguments: [
        (#"{"value":"a"}"#, #"{"value":"a","type":"STRING"}"#),
        (#"{"value":5}"#, #"{"value":5,"type":"INT64"}"#),
        (#"{"value":true}"#, #"{"value":1,"type":"INT64"}"#),
        (
            #"{"value":"9223372036854775807","type":"INT64"}"#,
            #"{"value":"9223372036854775807","type":"INT64"}"#
        ),
        (#"{"value":9007199254740993}"#, #"{"value":"9007199254740993","type":"INT64"}"#),
        (#"{"value":9007199254740992}"#, #"{"value":9007199254740992,"type":"INT64"}"#),
        (#"{"value":0.5}"#, #"{"value":0.5,"type":"DOUBLE"}"#),
        (#"{"value":5,"type":"DOUBLE"}"#, #"{"value":5.0,"type":"DOUBLE"}"#),
        (#"{"value":"inf","type":"DOUBLE"}"#, #"{"value":"inf","type":"DOUBLE"}"#),
        (
            #"{"value":1700000000000,"type":"TIMESTAMP"}"#,
            #"{"value":1700000000000,"type":"TIMESTAMP"}"#
        ),
        (
            #"{"value":1700000000000,"type":"TIMESTAMP","exact":"1700000000.0001"}"#,
            #"{"value":1700000000000,"type":"TIMESTAMP","exact":"1700000000.0001"}"#
        ),
        (#"{"value":"AAEC","type":"BYTES"}"#, #"{"value":"AAEC","type":"BYTES"}"#),
        (#"{"value":["a","b"]}"#, #"{"value":["a","b"],"type":"STRING_LIST"}"#),
        (#"{"value":[1,2.5]}"#, #"{"value":[1.0,2.5],"type":"DOUBLE_LIST"}"#),
        (#"{"value":[]}"#, #"{"value":[],"type":"EMPTY_LIST"}"#),
        (
            #"{"value":"s","isEncrypted":true}"#,
            #"{"value":"s","type":"STRING","isEncrypted":true}"#
        ),
        (
            #"{"value":[1],"type":"INT64_LIST","isEncrypted":true}"#,
            #"{"value":[1],"type":"INT64_LIST","isEncrypted":true}"#
        ),
        (#"{"value":"s","isEncrypted":false}"#, #"{"value":"s","type":"STRING"}"#),
        (#"{"value":[],"type":"STRING_LIST"}"#, #"{"value":[],"type":"EMPTY_LIST"}"#),
        (
            #"{"value":[0,1],"type":"TIMESTAMP_LIST","exact":[null,"0.0012"]}"#,
            #"{"value":[0,1],"type":"TIMESTAMP_LIST","exact":[null,"0.0012"]}"#
        ),
    ])
    func `a value is stored as its type, which its JSON decides where nothing else does`(
        field: String, expected: String
    ) async throws {
        let gateway = try await TestGateway()
        #expect(try await stored(field, in: gateway).json == expected)
    }

    @Test func `a location and a reference come back with all their parts`() async throws {
        let gateway = try await TestGateway()
        let place = try await stored(#"{"value":{"latitude":54.3,"longitude":10}}"#, in: gateway)
        #expect(place["type"].text == "LOCATION")
        #expect(
            place["value"].json
                == #"{"latitude":54.3,"longitude":10.0,"altitude":0.0,"horizontalAccuracy":0.0,"#
                + #""verticalAccuracy":-1.0,"course":-1.0,"speed":-1.0,"timestamp":0}"#)
        let reference = try await stored(
            #"{"value":{"recordName":"x","action":"DELETE_SELF"}}"#, type: "U", in: gateway)
        #expect(reference["type"].text == "REFERENCE")
        #expect(reference["value"]["action"].text == "DELETE_SELF")
        #expect(reference["value"]["recordName"].text == "x")
        #expect(reference["value"]["zoneID"]["zoneName"].text == "notes")
    }

    @Test(arguments: [
        #"{}"#, #"{"type":"STRING"}"#, #"5"#, #""a""#, #"[1]"#, #"{"value":1,"x":2}"#,
        #"{"value":1,"type":"STRING"}"#, #"{"value":"a","type":"INT64"}"#,
        #"{"value":"01","type":"INT64"}"#, #"{"value":1.0,"type":"INT64"}"#,
        #"{"value":9223372036854775808,"type":"INT64"}"#, #"{"value":"1x","type":"DOUBLE"}"#,
        #"{"value":"0x1p3","type":"DOUBLE"}"#, #"{"value":[1],"type":"DOUBLE"}"#,
        #"{"value":1,"type":"UNKNOWN_LIST"}"#, #"{"value":1,"type":"ENCRYPTED_"}"#,
        #"{"value":"a","type":"BYTES"}"#, #"{"value":"AAE","type":"BYTES"}"#,
        #"{"value":1,"type":"NUMBER"}"#, #"{"value":1,"type":1}"#, #"{"value":{}}"#,
        #"{"value":{"latitude":1}}"#, #"{"value":{"latitude":1,"longitude":"x"}}"#,
        #"{"value":{"latitude":1,"longitude":2,"height":3}}"#,
        #"{"value":{"recordName":1}}"#, #"{"value":{"recordName":"x","action":"none"}}"#,
        #"{"value":{"recordName":"x","zoneID":{"zoneName":""}}}"#,
        #"{"value":[null]}"#, #"{"value":[[1]]}"#, #"{"value":["a",1]}"#,
        #"{"value":[1],"type":"INT64"}"#, #"{"value":1,"type":"INT64_LIST"}"#,
        #"{"value":[1],"type":"EMPTY_LIST"}"#, #"{"value":1,"exact":"1"}"#,
        #"{"value":1,"type":"TIMESTAMP","exact":1}"#,
        #"{"value":1,"type":"TIMESTAMP","exact":"1e999"}"#,
        #"{"value":1,"type":"TIMESTAMP","exact":"x"}"#,
        #"{"value":[1,2],"type":"TIMESTAMP_LIST","exact":["1"]}"#,
    ])
    func `what is no value is refused by the name of the field, and its record is not stored`(
        field: String
    ) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.modify(
            #"{"operationType":"create","record":{"recordName":"ok","recordType":"T"}},"#
                + #"{"operationType":"create","record":{"recordName":"r","recordType":"T","#
                + #""fields":{"f":\#(field)}}}"#)
        let isRefused = answer.status == 400
        let item = isRefused ? answer.body : answer.body["records"][1]
        #expect(item["serverErrorCode"].text == "BAD_REQUEST" && item["ckErrorCode"].number == 12)
        let place = (isRefused ? "body.operations[1]." : "") + "record.fields.f"
        #expect(item["reason"].text?.hasPrefix(place) == true, "\(answer.text)")
        #expect(try await gateway.record("r")["serverErrorCode"].text == "NOT_FOUND")
        let other = try await gateway.record("ok")["serverErrorCode"].text
        #expect(other == (isRefused ? "NOT_FOUND" : nil))
    }

    @Test func `records go through JSON into another store without loss`() async throws {
        var random = SeededGenerator(seed: 11)
        let source = try await TestGateway()
        let copy = try await TestGateway()
        let database = source.container.privateDatabase(for: "alice")
        for index in 0..<60 {
            var record = Record(
                recordType: "Type\(index % 3)",
                recordID: Record.ID(recordName: "r\(index)", zoneID: notes))
            for kind in 0..<16 where random.oneIn(2) {
                record["field\(kind)"] = anyValue(kind, &random)
            }
            try await database.save(record)
        }
        let feed = try await source.call(
            "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"notes"}}]}"#
        ).body["zones"][0]["records"]
        #expect(feed.count == 60)
        for index in 0..<feed.count {
            // The owner's record name is another in another store.
            let record = feed[index].json.replacing(
                source.container.userRecordName(for: "alice"), with: "__defaultOwner__")
            let answer = try await copy.modify(
                #"{"operationType":"forceReplace","record":\#(record)}"#)
            #expect(answer.body["records"][0]["recordName"] == feed[index]["recordName"])
        }
        let hash = try await database.contentHash(of: notes)
        #expect(
            try await copy.container.privateDatabase(for: "alice").contentHash(of: notes) == hash)
    }

    private func anyValue(_ kind: Int, _ random: inout SeededGenerator) -> RecordValue {
        if kind >= 8 {
            // No list is empty: an empty one fixes no type.
            return .list((0...random.below(3)).map { _ in anyValue(kind - 8, &random) })
        }
        switch kind {
        case 0: return .string("s\(random.next())\u{0}ä🚀")
        case 1: return .int64(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
        case 2: return .double(Double(bitPattern: random.next()))
        case 3: return .date(anyDate(&random))
        case 4: return .bytes(Data(random.bytes(random.below(40))))
        case 5:
            return .location(
                Location(
                    latitude: Double(bitPattern: random.next()), longitude: -0.0,
                    altitude: Double(random.below(9000)), course: .infinity,
                    timestamp: anyDate(&random)))
        case 6:
            return .reference(
                Reference(
                    recordID: Record.ID(recordName: "t\(random.below(9))", zoneID: notes),
                    action: .none))
        default: return .int64(Int64(random.below(2)))
        }
    }

    private func anyDate(_ random: inout SeededGenerator) -> Date {
        switch random.below(4) {
        case 0: Date(timeIntervalSince1970: Double(random.below(1 << 41)) / 1000)
        case 1: Date(timeIntervalSinceReferenceDate: Double(bitPattern: random.next()))
        case 2: Date(timeIntervalSinceReferenceDate: Double(random.below(1000)) / 7 - 70)
        default: Date(timeIntervalSince1970: -Double(random.below(1 << 30)) / 1e9)
        }
    }
}
