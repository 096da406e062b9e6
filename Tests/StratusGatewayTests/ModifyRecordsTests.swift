import Stratus
import StratusGateway
import Testing

/// records/modify: what each item does to a record that is there, that is not, and that
/// another client changed.
struct ModifyRecordsTests {
    /// An item on the record `r`.
    private func itemJSON(
        _ kind: String, tag: String? = nil, _ fields: String = #""b":{"value":2}"#,
        name: String = "r", more: String = ""
    ) -> String {
        let tag = tag.map { #","recordChangeTag":"\#($0)""# } ?? ""
        return #"{"operationType":"\#(kind)","record":{"recordName":"\#(name)","recordType":"T""#
            + #"\#(tag),"fields":{\#(fields)}\#(more)}}"#
    }

    /// Makes the record `r` with the fields a and b, and returns its tag.
    private func makeRecord(in gateway: TestGateway) async throws -> String {
        let answer = try await gateway.modify(
            itemJSON("create", #""a":{"value":1},"b":{"value":1}"#))
        return try #require(answer.body["records"][0]["recordChangeTag"].text)
    }

    private func outcome(_ answer: Answer) -> String {
        let item = answer.body["records"][0]
        return answer.code ?? item["serverErrorCode"].text
            ?? (item["deleted"].isTrue ? "gone" : item["fields"].names.joined())
    }

    @Test(arguments: [
        ("create", "EXISTS", "b"), ("update", "ab", "NOT_FOUND"), ("forceUpdate", "ab", "b"),
        ("replace", "b", "NOT_FOUND"), ("forceReplace", "b", "b"), ("delete", "gone", "NOT_FOUND"),
        ("forceDelete", "gone", "gone"), ("save", "ab", "NOT_FOUND"),
    ])
    func `an item on a record that is there, and that is not`(
        kind: String, there: String, missing: String
    ) async throws {
        let gateway = try await TestGateway()
        let tag = try await makeRecord(in: gateway)
        #expect(outcome(try await gateway.modify(itemJSON(kind, tag: tag))) == there)
        let other = try await gateway.modify(itemJSON(kind, tag: tag, name: "other"))
        #expect(outcome(other) == missing)
    }

    @Test(arguments: [
        ("create", "EXISTS"), ("update", "CONFLICT"), ("forceUpdate", "abc"),
        ("replace", "CONFLICT"), ("forceReplace", "b"), ("delete", "CONFLICT"),
        ("forceDelete", "gone"), ("save", "CONFLICT"),
    ])
    func `an item on a record that another client changed`(
        kind: String, expected: String
    ) async throws {
        let gateway = try await TestGateway()
        let tag = try await makeRecord(in: gateway)
        _ = try await gateway.modify(itemJSON("forceUpdate", #""c":{"value":3}"#))
        let answer = try await gateway.modify(itemJSON(kind, tag: tag))
        #expect(outcome(answer) == expected)
        let item = answer.body["records"][0]
        guard expected == "CONFLICT" else { return }
        #expect(item["ckErrorCode"].number == 14 && item["uuid"].text != nil)
        #expect(item["serverRecord"]["fields"].names == ["a", "b", "c"])
        #expect(item["serverRecord"]["recordChangeTag"].text != tag)
        #expect(item["ancestorRecord"]["fields"].names == ["a", "b"])
        #expect(item["ancestorRecord"]["recordChangeTag"].text == tag)
    }

    @Test(arguments: ["update", "replace", "delete"])
    func `an item that compares needs a tag`(kind: String) async throws {
        let gateway = try await TestGateway()
        _ = try await makeRecord(in: gateway)
        let answer = try await gateway.modify(itemJSON(kind))
        #expect(answer.status == 400 && answer.code == "BAD_REQUEST")
        #expect(
            answer.body["reason"].text
                == "body.operations[0].record.recordChangeTag is missing")
    }

    @Test(arguments: [
        ("changedKeys", "ab"), ("allKeys", "ab"), ("ifServerRecordUnchanged", "CONFLICT"),
    ])
    func `a native save follows the policy`(policy: String, expected: String) async throws {
        let gateway = try await TestGateway()
        let tag = try await makeRecord(in: gateway)
        _ = try await gateway.modify(itemJSON("forceUpdate"))
        let answer = try await gateway.modify(
            itemJSON("save", tag: tag, #""a":{"value":9}"#), #","savePolicy":"\#(policy)""#)
        #expect(outcome(answer) == expected)
    }

    @Test(arguments: ["update", "forceUpdate", "save"], ["null", #"{"value":null}"#])
    func `null removes a field, and what is not sent stays`(
        kind: String, null: String
    ) async throws {
        let gateway = try await TestGateway()
        let tag = try await makeRecord(in: gateway)
        let answer = try await gateway.modify(itemJSON(kind, tag: tag, #""a":\#(null)"#))
        #expect(outcome(answer) == "b")
        #expect(try await gateway.record("r")["fields"].names == ["b"])
    }

    @Test func `a parent is set, kept where it is not sent, removed by null and by replacing`()
        async throws
    {
        let gateway = try await TestGateway()
        _ = try await gateway.modify(itemJSON("create", name: "p"))
        let child = { (kind: String, more: String) in
            try await gateway.modify(itemJSON(kind, more: more)).body["records"][0]["parent"]
        }
        let parent = #","parent":{"recordName":"p"}"#
        #expect(try await child("create", parent)["recordName"].text == "p")
        #expect(try await child("forceUpdate", "")["recordName"].text == "p")
        #expect(try await child("forceUpdate", #","parent":null"#).value == nil)
        #expect(try await child("forceUpdate", parent)["recordName"].text == "p")
        #expect(try await child("forceReplace", "").value == nil)
    }

    @Test func `a type may be left out where the record must be there`() async throws {
        let gateway = try await TestGateway()
        let tag = try await makeRecord(in: gateway)
        let update =
            #"{"operationType":"update","record":{"recordName":"r","recordChangeTag":"\#(tag)"}}"#
        #expect(try await gateway.modify(update).body["records"][0]["recordType"].text == "T")
        let missing = update.replacing(#""r""#, with: #""x""#)
        #expect(outcome(try await gateway.modify(missing)) == "NOT_FOUND")
        let force = #"{"operationType":"forceUpdate","record":{"recordName":"r"}}"#
        #expect(try await gateway.modify(force).code == "BAD_REQUEST")
    }

    @Test func `a record without a name gets one`() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.modify(
            #"{"operationType":"create","record":{"recordType":"T"}}"#)
        let name = try #require(answer.body["records"][0]["recordName"].text)
        #expect(try await gateway.record(name)["recordType"].text == "T")
    }

    @Test func `what fails leaves the others alone unless all is to be atomic`() async throws {
        let gateway = try await TestGateway()
        _ = try await makeRecord(in: gateway)
        let items =
            itemJSON("create", name: "x") + "," + itemJSON("create") + ","
            + itemJSON("forceDelete", name: "y")
        let atomic = try await gateway.modify(items, #","atomic":true"#)
        #expect(atomic.status == 200)
        let codes = (0..<3).map { atomic.body["records"][$0]["serverErrorCode"].text }
        #expect(codes == ["ATOMIC_ERROR", "EXISTS", "ATOMIC_ERROR"])
        #expect(atomic.body["records"][0]["ckErrorCode"].number == 22)
        #expect(try await gateway.record("x")["serverErrorCode"].text == "NOT_FOUND")
        let single = try await gateway.modify(items)
        #expect(
            (0..<3).map { single.body["records"][$0]["serverErrorCode"].text }
                == [nil, "EXISTS", nil])
        #expect(try await gateway.record("x")["recordType"].text == "T")
    }

    @Test func `a record named twice fails the whole request`() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.modify(
            itemJSON("create") + "," + itemJSON("forceDelete"))
        #expect(answer.status == 400 && answer.body["ckErrorCode"].number == 12)
        #expect(try await gateway.record("r")["serverErrorCode"].text == "NOT_FOUND")
    }

    @Test func `an answer has the fields that are asked for`() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.modify(
            itemJSON("create", #""a":{"value":1},"b":{"value":2}"#), #","desiredKeys":["b"]"#)
        #expect(outcome(answer) == "b")
        #expect(try await gateway.record("r")["fields"].names == ["a", "b"])
    }

    @Test(arguments: [
        #"{"operationType":"create"}"#, #"{"record":{}}"#, "5", "null",
        #"{"operationType":"upsert","record":{"recordName":"r","recordType":"T"}}"#,
        #"{"operationType":"create","record":{"recordName":"r"}}"#,
        #"{"operationType":"create","record":{"recordName":5,"recordType":"T"}}"#,
        #"{"operationType":"create","record":{"recordName":"r","recordType":"T","x":1}}"#,
        #"{"operationType":"create","record":{"recordName":"r","recordType":"T"},"x":1}"#,
        #"{"operationType":"create","record":{"recordType":"T","fields":[]}}"#,
        #"{"operationType":"create","record":{"recordType":"T","parent":"p"}}"#,
        #"{"operationType":"create","record":{"recordType":"T","deleted":true}}"#,
        #"{"operationType":"forceDelete","record":{}}"#,
    ])
    func `a malformed item is refused by its place`(itemJSON: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.modify(itemJSON)
        #expect(answer.status == 400 && answer.code == "BAD_REQUEST")
        #expect(answer.body["reason"].text?.hasPrefix("body.operations[0]") == true)
    }
}
