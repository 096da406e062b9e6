import Stratus
import StratusGateway
import Testing

/// The schema as text, through the gateway.
@Suite struct SchemaCallTests {
    private static let schema = #"DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE);"#

    @Test func `a schema is imported, exported and validated`() async throws {
        let gateway = try await TestGateway(grants: [.maintenance])
        let valid = try await gateway.call("schema/validate", #"{"schema":"\#(Self.schema)"}"#)
        #expect(valid.status == 200)
        let changed = try await gateway.call("schema/import", #"{"schema":"\#(Self.schema)"}"#)
        #expect(changed.body["changes"][0].text == "add record type 'Note'")
        let text = try await gateway.call("schema/export").body["schema"].text
        #expect(text?.contains("title STRING QUERYABLE") == true)
        #expect(try await gateway.container.indexes().map(\.fields) == [["title"]])
        let again = try await gateway.call("schema/deploy", #"{"schema":"\#(Self.schema)"}"#)
        #expect(again.status == 200 && again.body["changes"][0].text == nil)
    }

    @Test func `what is no schema is refused with line and column`() async throws {
        let gateway = try await TestGateway(grants: [.maintenance])
        for call in ["schema/validate", "schema/import", "schema/deploy"] {
            let answer = try await gateway.call(
                call, #"{"schema":"DEFINE SCHEMA\n RECORD TYPE Note (title TEXT);"}"#)
            #expect(answer.status == 400 && answer.body["ckErrorCode"].number == 12)
            #expect(answer.body["line"].number == 2 && answer.body["column"].number == 26)
        }
    }

    @Test func `only the host's grant lets a schema be changed, and production takes no import`()
        async throws
    {
        let stranger = try await TestGateway()
        for call in ["schema/import", "schema/deploy"] {
            let answer = try await stranger.call(call, #"{"schema":"\#(Self.schema)"}"#)
            #expect(answer.code == "ACCESS_DENIED")
        }
        #expect(try await stranger.call("schema/reset").code == "ACCESS_DENIED")
        #expect(try await stranger.call("schema/export").status == 200)
        let gateway = try await TestGateway(
            Container.inMemory(environment: .production), grants: [.maintenance])
        let refused = try await gateway.call("schema/import", #"{"schema":"\#(Self.schema)"}"#)
        #expect(refused.body["ckErrorCode"].number == 12)
        let taken = try await gateway.call("schema/deploy", #"{"schema":"\#(Self.schema)"}"#)
        #expect(taken.status == 200)
        let reset = try await gateway.call("schema/reset")
        #expect(reset.body["ckErrorCode"].number == 12)
    }

    @Test func `a reset leaves neither records nor types`() async throws {
        let gateway = try await TestGateway(grants: [.maintenance])
        _ = try await gateway.call("schema/import", #"{"schema":"\#(Self.schema)"}"#)
        let record = #"{"recordName":"a","recordType":"Note","fields":{"title":{"value":"x"}}}"#
        let saved = try await gateway.call(
            "records/modify",
            #"{"operations":[{"operationType":"create","record":\#(record)}]}"#)
        #expect(saved.status == 200)
        #expect(try await gateway.call("schema/reset").status == 200)
        let text = try await gateway.call("schema/export").body["schema"].text
        #expect(text?.contains("Note") == false)
        let found = try await gateway.call("records/query", #"{"query":{"recordType":"Note"}}"#)
        #expect(found.status == 200 && found.body["records"][0].text == nil)
        #expect(found.body["records"][0]["recordName"].text == nil)
    }

    @Test func `what a unique field has already is refused with the record that has it`()
        async throws
    {
        let gateway = try await TestGateway(grants: [.maintenance])
        let text = #"DEFINE SCHEMA RECORD TYPE User (mail STRING // stratus: UNIQUE\n);"#
        let imported = try await gateway.call("schema/import", #"{"schema":"\#(text)"}"#)
        #expect(imported.status == 200)
        func save(_ name: String, _ mail: String) async throws -> Answer {
            let fields = #"{"mail":{"value":"\#(mail)"}}"#
            let record = #"{"recordName":"\#(name)","recordType":"User","fields":\#(fields)}"#
            return try await gateway.call(
                "records/modify",
                #"{"operations":[{"operationType":"create","record":\#(record)}]}"#)
        }
        #expect(try await save("a", "a@x.org").body["records"][0]["recordName"].text == "a")
        let refused = try await save("b", "A@x.org").body["records"][0]
        #expect(refused["serverErrorCode"].text == "UNIQUE_FIELD_ERROR")
        #expect(refused["ckErrorCode"].number == 19)
        #expect(refused["reason"].text == "record 'a' has the same value in 'mail'")
    }
}
