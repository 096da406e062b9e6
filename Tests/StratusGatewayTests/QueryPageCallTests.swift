import FoundationEssentials
import Stratus
import StratusGateway
import Synchronization
import Testing

/// `records/query`: pages, zones and databases.
struct QueryPageCallTests {
    /// A record of the type Task that is due so many seconds after 1970.
    private func task(_ second: Int) -> String {
        #"{"operationType":"create","record":{"recordName":"t\#(second)","recordType":"Task","#
            + #""fields":{"due":{"value":\#(second * 1000),"type":"TIMESTAMP"},"#
            + #""n":{"value":\#(second)}}}}"#
    }

    private func tasks(
        _ gateway: TestGateway, _ query: String, _ more: String = "", as user: String? = "alice"
    ) async throws -> Answer {
        try await gateway.call(
            "records/query",
            #"{"zoneID":{"zoneName":"notes"},"query":{"recordType":"Task"\#(query)}\#(more)}"#,
            as: user)
    }

    /// The pages of a query up to its end.
    private func pages(
        _ gateway: TestGateway, _ query: String, limit: Int
    ) async throws -> [[String]] {
        var pages: [[String]] = []
        var marker = ""
        repeat {
            let answer = try await tasks(
                gateway, query, #","resultsLimit":\#(limit)\#(marker)"#)
            pages.append(try #require(answer.recordNames, "\(answer.text)"))
            let next = answer.body["continuationMarker"].text
            marker = next.map { #","continuationMarker":"\#($0)""# } ?? ""
        } while !marker.isEmpty && pages.count < 100
        return pages
    }

    @Test func `the marker of a page gives the next one, up to the end`() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.modify((1...25).map(task).joined(separator: ","))
        let sorted = #","sortBy":[{"fieldName":"n","ascending":false}]"#
        for query in ["", sorted, #","predicate":"n > 0""# + sorted] {
            let pages = try await pages(gateway, query, limit: 10)
            #expect(pages.map(\.count) == [10, 10, 5])
            #expect(Set(pages.joined()).count == 25)
            if query.hasSuffix("]") {
                #expect(Array(pages.joined()) == (1...25).reversed().map { "t\($0)" })
            }
        }
        // A full page that is the last one says so.
        #expect(try await pages(gateway, "", limit: 25).map(\.count) == [25])
    }

    @Test func `now() is on every page the moment of the first one`() async throws {
        // Each request comes an hour after the one before.
        let seconds = Mutex(20.5 - 3600)
        let gateway = try await TestGateway(Container.inMemory()) {
            Date(
                timeIntervalSince1970: seconds.withLock { seconds in
                    seconds += 3600
                    return seconds
                })
        }
        _ = try await gateway.modify((1...25).map(task).joined(separator: ","))
        let query = #","predicate":"due < now()","sortBy":[{"fieldName":"due"}]"#
        let first = try await pages(gateway, query, limit: 7)
        #expect(Array(first.joined()) == (1...20).map { "t\($0)" })
        #expect(try await pages(gateway, query, limit: 7).joined().count == 25)
    }

    @Test func `fields and limit may be others on each page`() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.modify((1...5).map(task).joined(separator: ","))
        let sorted = #","sortBy":[{"fieldName":"n"}]"#
        let first = try await tasks(
            gateway, sorted, #","resultsLimit":2,"desiredKeys":["n"],"numbersAsStrings":true"#)
        #expect(first.body["records"][0]["fields"].json == #"{"n":{"value":"1","type":"INT64"}}"#)
        let marker = try #require(first.body["continuationMarker"].text)
        let rest = try await tasks(
            gateway, sorted, #","desiredKeys":[],"continuationMarker":"\#(marker)""#)
        #expect(rest.recordNames == ["t3", "t4", "t5"])
        #expect(rest.body["records"][0]["fields"].names == [])
    }

    @Test func `a marker of another query, caller or store, or that is none, is refused`()
        async throws
    {
        let gateway = try await TestGateway()
        _ = try await gateway.modify((1...5).map(task).joined(separator: ","))
        let first = try await tasks(gateway, "", #","resultsLimit":2"#)
        let marker = try #require(first.body["continuationMarker"].text)
        func refusal(
            _ marker: String, _ query: String = "", of other: TestGateway? = nil,
            as user: String = "alice"
        ) async throws -> String {
            let answer = try await tasks(
                other ?? gateway, query, #","continuationMarker":"\#(marker)""#, as: user)
            #expect(answer.code == "BAD_REQUEST" && answer.body["ckErrorCode"].number == 12)
            return answer.reason
        }
        let another = "the query cursor is of another query or another caller"
        #expect(try await refusal(marker, #","predicate":"n > 1""#) == another)
        #expect(try await refusal(marker, #","sortBy":[{"fieldName":"n"}]"#) == another)
        let elsewhere = try await gateway.call(
            "records/query",
            #"{"query":{"recordType":"Task"},"continuationMarker":"\#(marker)"}"#)
        #expect(elsewhere.reason == another)
        _ = try await gateway.call(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneName":"notes"}}]}"#, as: "bob")
        #expect(try await refusal(marker, as: "bob") == another)
        #expect(
            try await refusal(marker, of: TestGateway()) == "the query cursor is of another store")
        let flipped = String(marker.dropLast(8)) + "AAAA" + marker.suffix(4)
        for bad in ["", "x", "AAAA", flipped, marker + "A", Data("5:".utf8).base64EncodedString()] {
            let reason = try await refusal(bad)
            #expect(reason.hasPrefix("body.continuationMarker "), "\(reason)")
        }
        // A marker of a page with now() does not bear another moment.
        let query = #","predicate":"due < now()""#
        let timed = try await tasks(gateway, query, #","resultsLimit":2"#)
        let text = try #require(timed.body["continuationMarker"].text)
        let parts = String(decoding: try #require(Data(base64Encoded: text)), as: UTF8.self)
            .split(separator: ":")
        let moved = Data("\(try #require(Int(parts[0])) + 1):\(parts[1])".utf8)
        #expect(try await refusal(moved.base64EncodedString(), query) == another)
    }

    @Test func `the default zone is asked unless the request names another or all`() async throws {
        let fleet = try await TestFleet(TestGateway())
        _ = try await fleet.gateway.call(
            "records/modify",
            #"{"operations":[{"operationType":"create","record":{"recordName":"oslo","#
                + #""recordType":"Boat","fields":{"harbour":{"value":{"recordName":"quay"}}}}}]}"#)
        func zones(_ query: String, _ more: String) async throws -> [String]? {
            let answer = try await fleet.gateway.call(
                "records/query", #"{"query":{"recordType":"Boat"\#(query)}\#(more)}"#)
            guard answer.status == 200 else { return nil }
            let records = answer.body["records"]
            return (0..<records.count).map { records[$0]["zoneID"]["zoneName"].text ?? "" }.sorted()
        }
        #expect(try await zones("", "") == ["_defaultZone"])
        #expect(try await zones("", #","zoneWide":false"#) == ["_defaultZone"])
        let notes = Array(repeating: "notes", count: 4)
        #expect(try await zones("", #","zoneWide":true"#) == ["_defaultZone"] + notes)
        let named = #","zoneID":{"zoneName":"notes"}"#
        #expect(try await zones("", named) == notes)
        #expect(try await zones("", named + #","zoneWide":true"#) == notes)
        // A reference without a zone points into the zone that is asked, or into any.
        for filter in [
            #""comparator":"EQUALS","systemFieldName":"recordName","fieldValue":{"value":"oslo"}"#,
            #""comparator":"IN","systemFieldName":"recordName","fieldValue":{"value":["oslo"]}"#,
            #""comparator":"EQUALS","fieldName":"harbour","#
                + #""fieldValue":{"value":{"recordName":"quay"}}"#,
        ] {
            let query = #","filterBy":[{\#(filter)}]"#
            #expect(try await zones(query, "") == ["_defaultZone"])
            #expect(try await zones(query, named) == ["notes"])
            #expect(try await zones(query, #","zoneWide":true"#) == ["_defaultZone", "notes"])
        }
    }

    @Test(arguments: ["it's", #"back\\slash"#, #"') OR TRUEPREDICATE OR ('"#])
    func `a name with quotes finds its record in all zones`(name: String) async throws {
        let fleet = try await TestFleet(TestGateway())
        try await fleet.save(name, "")
        for comparator in ["EQUALS", "IN"] {
            let value = comparator == "IN" ? #"["\#(name)","x"]"# : #""\#(name)""#
            let answer = try await fleet.gateway.call(
                "records/query",
                #"{"zoneWide":true,"query":{"recordType":"Boat","filterBy":[{"comparator":"#
                    + #""\#(comparator)","systemFieldName":"recordName","#
                    + #""fieldValue":{"value":\#(value)}}]}}"#)
            #expect(
                answer.recordNames == [name.replacing(#"\\"#, with: #"\"#)], "\(answer.text)")
        }
    }

    @Test func `every caller queries the public database, and its owner a private one`()
        async throws
    {
        let gateway = try await TestGateway()
        let made = try await gateway.call(
            "records/modify",
            #"{"operations":[{"operationType":"create","record":{"recordName":"a","#
                + #""recordType":"T"}}]}"#, database: .public)
        #expect(made.status == 200)
        let body = #"{"query":{"recordType":"T"}}"#
        for user in [nil, "alice", "bob"] {
            let answer = try await gateway.call(
                "records/query", body, as: user, database: .public)
            #expect(answer.recordNames == ["a"])
            #expect(answer.body["records"][0]["zoneID"]["ownerRecordName"].value == nil)
        }
        #expect(try await gateway.call("records/query", body, as: "bob").recordNames == [])
        let anonymous = try await gateway.call("records/query", body, as: nil)
        #expect(anonymous.status == 401)
        let shared = try await gateway.call("records/query", body, database: .shared)
        #expect(shared.body["ckErrorCode"].number == 12)
    }
}
