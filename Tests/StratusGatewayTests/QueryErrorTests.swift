import Stratus
import StratusGateway
import Testing

/// `records/query`: what is refused, and as what.
struct QueryErrorTests {
    @Test(arguments: [
        ("berths", #"{"value":"four"}"#, "INT64", "STRING"),
        ("berths", #"{"value":"4","type":"STRING"}"#, "INT64", "STRING"),
        ("name", #"{"value":5}"#, "STRING", "INT64"),
        ("harbour", #"{"value":"quay"}"#, "REFERENCE", "STRING"),
        ("launched", #"{"value":1000,"type":"INT64"}"#, "TIMESTAMP", "INT64"),
        ("tags", #"{"value":5}"#, "STRING_LIST", "INT64"),
    ])
    func `a value of another type than its field's is refused`(
        field: String, value: String, has: String, given: String
    ) async throws {
        let fleet = try await TestFleet(TestGateway())
        let answer = try await fleet.filter(
            #""comparator":"EQUALS","fieldName":"\#(field)","fieldValue":\#(value)"#)
        #expect(answer.code == "BAD_REQUEST" && answer.body["ckErrorCode"].number == 12)
        #expect(
            answer.reason
                == "Field '\(field)' has a value type of \(has) and cannot be queried using "
                + "filter value type \(given)")
    }

    @Test func `errors of a query are those of its request`() async throws {
        let gateway = try await TestGateway()
        func error(_ body: String, of gateway: TestGateway) async throws -> (Int, String?, Int?) {
            let answer = try await gateway.call("records/query", body)
            return (answer.status, answer.code, answer.body["ckErrorCode"].number)
        }
        let zone = try await error(
            #"{"zoneID":{"zoneName":"none"},"query":{"recordType":"T"}}"#, of: gateway)
        #expect(zone == (404, "ZONE_NOT_FOUND", 26))
        let users = try await error(#"{"query":{"recordType":"Users"}}"#, of: gateway)
        #expect(users == (400, "BAD_REQUEST", 12))
        let unknown = #"{"query":{"recordType":"Unknown"}}"#
        #expect(try await gateway.call("records/query", unknown).recordNames == [])
        let production = try await TestGateway(Container.inMemory(environment: .production))
        #expect(try await error(unknown, of: production) == (404, "NOT_FOUND", 11))
    }

    @Test(arguments: [
        ("{}", "body.query is missing"), (#"{"query":{}}"#, "body.query.recordType is missing"),
        (#"{"query":{"recordType":""}}"#, "a query needs a record type"),
        (#"{"query":{"recordType":"T"},"zone":1}"#, "body.zone is no key"),
        (#"{"query":{"recordType":"T"},"resultsLimit":0}"#, "body.resultsLimit must"),
        (#"{"query":{"recordType":"T"},"zoneWide":1}"#, "body.zoneWide must"),
        (#"{"query":{"recordType":"T","filter":[]}}"#, "body.query.filter is no key"),
        (
            #"{"query":{"recordType":"T","filterBy":[],"predicate":"a = 1"}}"#,
            "body.query has either"
        ),
        (#"{"query":{"recordType":"T","arguments":[]}}"#, "body.query.arguments is for"),
        (
            #"{"query":{"recordType":"T","predicate":"a >"}}"#,
            "body.query.predicate cannot be read: the predicate is not valid: line 1, column 4: "
        ),
        (
            #"{"query":{"recordType":"T","predicate":"a = %@","arguments":[{"value":{}}]}}"#,
            "body.query.arguments[0].value is an object"
        ),
        (
            #"{"zoneWide":true,"query":{"recordType":"T","predicate":"a = %@","#
                + #""arguments":[{"value":{"recordName":"b"}}]}}"#,
            "body.query.arguments[0].value needs a zoneID"
        ),
        (#"{"query":{"recordType":"T","sortBy":[{}]}}"#, "body.query.sortBy[0].fieldName is"),
        (
            #"{"query":{"recordType":"T","sortBy":[{"fieldName":"a b"}]}}"#,
            "body.query.sortBy[0].fieldName is not the name"
        ),
        (
            #"{"query":{"recordType":"T","sortBy":[{"systemFieldName":"name"}]}}"#,
            "body.query.sortBy[0].systemFieldName must be one of recordName, "
        ),
    ])
    func `a body that is no query is refused by its place`(
        body: String, reason: String
    ) async throws {
        let answer = try await TestGateway().call("records/query", body)
        #expect(answer.code == "BAD_REQUEST" && answer.body["ckErrorCode"].number == 12)
        #expect(answer.reason.hasPrefix(reason), "\(answer.text)")
    }

    @Test(arguments: [
        (#""fieldName":"a","fieldValue":{"value":1}"#, "comparator is missing"),
        (#""comparator":"OR","fieldName":"a","fieldValue":{"value":1}"#, "comparator must be one"),
        (#""comparator":"EQUALS","fieldValue":{"value":1}"#, "fieldName is missing"),
        (#""comparator":"EQUALS","fieldName":"a""#, "fieldValue is missing"),
        (#""comparator":"EQUALS","fieldName":"a","fieldValue":1"#, "fieldValue must be"),
        (#""comparator":"EQUALS","fieldName":"1a","fieldValue":{"value":1}"#, "fieldName is not"),
        (#""comparator":"EQUALS","fieldName":"a.b","fieldValue":{"value":1}"#, "fieldName is not"),
        (
            #""comparator":"EQUALS","fieldName":"a","systemFieldName":"recordName","#
                + #""fieldValue":{"value":1}"#, "has either"
        ),
        (
            #""comparator":"IN","fieldName":"a","fieldValue":{"value":1}"#,
            "fieldValue.value must be a list"
        ),
        (
            #""comparator":"LESS_THAN","fieldName":"a","fieldValue":{"value":null}"#,
            "fieldValue.value is null"
        ),
        (
            #""comparator":"LIST_CONTAINS","fieldName":"a","fieldValue":{"value":[1]}"#,
            "fieldValue.value must not be a list"
        ),
        (
            #""comparator":"BEGINS_WITH","fieldName":"a","fieldValue":{"value":1}"#,
            "fieldValue.value must be text"
        ),
        (
            #""comparator":"CONTAINS_ALL_TOKENS","fieldValue":{"value":1}"#,
            "fieldValue.value must be text"
        ),
        (
            #""comparator":"EQUALS","fieldName":"a","#
                + #""fieldValue":{"value":{"recordName":"b","x":1}}"#,
            "fieldValue.value.x is no key"
        ),
        (
            #""comparator":"NEAR","fieldName":"a","fieldValue":{"value":1},"distance":1"#,
            "fieldValue.value must be a location"
        ),
        (
            #""comparator":"NEAR","fieldName":"a","#
                + #""fieldValue":{"value":{"latitude":1,"longitude":1}}"#, "has either a distance"
        ),
        (
            #""comparator":"NEAR","fieldName":"a","distance":-1,"#
                + #""fieldValue":{"value":{"latitude":1,"longitude":1}}"#, "distance must be 0"
        ),
        (
            #""comparator":"EQUALS","fieldName":"a","fieldValue":{"value":1},"distance":1"#,
            "distance is for NEAR only"
        ),
    ])
    func `a filter that is none is refused by its place`(
        filter: String, reason: String
    ) async throws {
        let body = #"{"query":{"recordType":"T","filterBy":[{\#(filter)}]}}"#
        let answer = try await TestGateway().call("records/query", body)
        #expect(answer.code == "BAD_REQUEST" && answer.body["ckErrorCode"].number == 12)
        let place = reason.hasPrefix("has ") ? "body.query.filterBy[0] " : "body.query.filterBy[0]."
        #expect(answer.reason.hasPrefix(place + reason), "\(answer.text)")
    }
}
