import Stratus
import StratusGateway
import Testing

/// `records/query`: filters, system fields, orders and predicates as text.
struct QueryCallTests {
    /// A comparator, what it is asked of and with, and which boats it finds, by name.
    private struct Case: CustomTestStringConvertible {
        let comparator: String
        let rest: String
        let names: [String]
        /// Whether CloudKit's predicates have a form for it.
        let isOfService: Bool

        init(
            _ comparator: String, _ field: String?, _ value: String, _ names: [String],
            more: String = "", isOfService: Bool = true
        ) {
            self.comparator = comparator
            let field = field.map { #""fieldName":"\#($0)","# } ?? ""
            rest = #"\#(field)"fieldValue":{"value":\#(value)}\#(more)"#
            self.names = names
            self.isOfService = isOfService
        }

        var filter: String { #""comparator":"\#(comparator)",\#(rest)"# }
        var testDescription: String { filter }
    }

    private static let values: [Case] = [
        Case("EQUALS", "name", #""OSLO""#, ["oslo"]),
        Case("EQUALS", "berths", "4", ["oslo"]),
        Case("EQUALS", "length", "12.5", ["bergen"]),
        Case("EQUALS", "launched", "2000", ["bergen"]),
        Case("EQUALS", "seal", #""AAEC""#, ["oslo"]),
        Case("EQUALS", "harbour", #"{"recordName":"quay"}"#, ["oslo"]),
        Case("EQUALS", "missing", "1", []),
        Case("EQUALS", "berths", "null", ["tromso"], isOfService: false),
        Case("NOT_EQUALS", "berths", "4", ["bergen", "bodo"]),
        Case("NOT_EQUALS", "harbour", #"{"recordName":"quay"}"#, ["bergen"]),
        Case("NOT_EQUALS", "berths", "null", ["bergen", "bodo", "oslo"], isOfService: false),
        Case("LESS_THAN", "berths", "4", ["bodo"]),
        Case("LESS_THAN", "launched", "1500", ["oslo"]),
        Case("LESS_THAN_OR_EQUALS", "berths", "4", ["bodo", "oslo"]),
        Case("GREATER_THAN", "berths", "4", ["bergen"]),
        Case("GREATER_THAN", "berths", #""4""#, ["bergen"]),
        Case("GREATER_THAN_OR_EQUALS", "length", "9.5", ["bergen", "oslo"]),
        Case("IN", "berths", "[2,6]", ["bergen", "bodo"]),
        Case("IN", "launched", "[1000,3000]", ["oslo"]),
        Case("IN", "harbour", #"[{"recordName":"pier"},{"recordName":"x"}]"#, ["bergen"]),
        Case("IN", "berths", "[]", []),
        Case("NOT_IN", "berths", "[2,6]", ["oslo"]),
        Case("NOT_IN", "berths", "[]", ["bergen", "bodo", "oslo"]),
        Case("BEGINS_WITH", "name", #""B""#, ["bodo"]),
        Case("NOT_BEGINS_WITH", "name", #""B""#, ["bergen", "oslo", "tromso"]),
    ]

    private static let others: [Case] = [
        Case("LIST_CONTAINS", "tags", #""RED""#, ["bergen", "oslo"]),
        Case("LIST_CONTAINS", "sizes", "3", ["bergen"]),
        Case("NOT_LIST_CONTAINS", "tags", #""red""#, ["bodo"]),
        Case("LIST_NOT_CONTAINS", "tags", #""old""#, ["bergen", "bodo"]),
        Case("LIST_CONTAINS_ANY", "tags", #"["old","blue"]"#, ["bodo", "oslo"]),
        Case("LIST_CONTAINS_ANY", "sizes", "[3,4]", ["bergen"]),
        Case("NOT_LIST_CONTAINS_ANY", "tags", #"["old","blue"]"#, ["bergen"]),
        Case("LIST_NOT_CONTAINS_ANY", "tags", #"["old"]"#, ["bergen", "bodo"]),
        Case("LIST_CONTAINS_ALL", "tags", #"["red","old"]"#, ["oslo"]),
        Case("LIST_CONTAINS_ALL", "tags", "[]", ["bergen", "bodo", "oslo"]),
        Case(
            "NOT_LIST_CONTAINS_ALL", "tags", #"["red","old"]"#, ["bergen", "bodo"],
            isOfService: false),
        Case("NOT_LIST_CONTAINS_ALL", "tags", #"["old"]"#, ["bergen", "bodo"]),
        Case("NOT_LIST_CONTAINS_ALL", "tags", "[]", []),
        Case("LIST_MEMBER_BEGINS_WITH", "tags", #""redd""#, ["bodo"]),
        Case("NOT_LIST_MEMBER_BEGINS_WITH", "tags", #""o""#, ["bergen", "bodo"]),
        Case("CONTAINS_ALL_TOKENS", nil, #""star blue""#, ["bodo"]),
        Case("CONTAINS_ALL_TOKENS", "name", #""star blue""#, []),
        Case("CONTAINS_ALL_TOKENS", "name", #""STAR bodø""#, ["bodo"]),
        Case("CONTAINS_ANY_TOKENS", nil, #""oslo blue""#, ["bodo", "oslo"]),
        Case("CONTAINS_ANY_TOKENS", "name", #""bergen blue""#, ["bergen"]),
        Case("CONTAINS_ANY_TOKENS", "tags", #""bergen blue""#, ["bodo"]),
        Case(
            "NEAR", "mooring", #"{"latitude":59.9,"longitude":10.7}"#, ["bergen", "oslo"],
            more: #","distance":400000"#),
        Case(
            "NEAR", "mooring", #"{"latitude":59.9,"longitude":10.7}"#, ["oslo"],
            more: #","distance":"100000""#),
        Case(
            "NEAR", "mooring", #"{"latitude":67,"longitude":14}"#, ["bodo"],
            more: #","radiusInKilometers":50.5"#),
    ]

    @Test func `each comparator finds the records for which it holds`() async throws {
        let fleet = try await TestFleet(TestGateway())
        for test in Self.values + Self.others {
            let answer = try await fleet.filter(test.filter)
            #expect(answer.recordNames?.sorted() == test.names, "\(test.filter): \(answer.text)")
            #expect(answer.body["continuationMarker"].value == nil)
        }
    }

    @Test func `with the predicates of the service a comparator that these lack is refused`()
        async throws
    {
        let container = try Container.inMemory(profile: Profile(predicates: .service))
        let fleet = try await TestFleet(TestGateway(container))
        for test in Self.values + Self.others {
            let answer = try await fleet.filter(test.filter)
            guard !test.isOfService else {
                #expect(
                    answer.recordNames?.sorted() == test.names, "\(test.filter): \(answer.text)")
                continue
            }
            #expect(answer.code == "BAD_REQUEST" && answer.body["ckErrorCode"].number == 12)
            #expect(answer.reason.hasSuffix("is not supported by CloudKit"), "\(answer.text)")
        }
    }

    @Test func `all filters hold of a record that is found`() async throws {
        let fleet = try await TestFleet(TestGateway())
        let many = #""comparator":"GREATER_THAN","fieldName":"berths","fieldValue":{"value":2}"#
        let red = #""comparator":"LIST_CONTAINS","fieldName":"tags","fieldValue":{"value":"red"}"#
        let small = #""comparator":"LESS_THAN","fieldName":"length","fieldValue":{"value":10}"#
        #expect(try await fleet.filter(many, red).recordNames?.sorted() == ["bergen", "oslo"])
        #expect(try await fleet.filter(many, red, small).recordNames == ["oslo"])
        #expect(try await fleet.query("").recordNames?.count == 4)
        #expect(try await fleet.query(#""filterBy":[],"sortBy":[]"#).recordNames?.count == 4)
        // What joins many filters is not nested.
        let all = Array(repeating: "{\(many)}", count: 2000).joined(separator: ",")
        let found = try await fleet.query(#""filterBy":[\#(all)]"#).recordNames
        #expect(found?.sorted() == ["bergen", "oslo"])
    }

    @Test func `a system field has names of its own, and takes names and milliseconds`()
        async throws
    {
        let fleet = try await TestFleet(TestGateway())
        let alice = fleet.gateway.container.userRecordName(for: "alice")
        let boats = ["bergen", "bodo", "oslo", "tromso"]
        let cases: [(comparator: String, field: String, value: String, names: [String])] = [
            ("EQUALS", "recordName", #""oslo""#, ["oslo"]),
            ("NOT_EQUALS", "recordName", #""oslo""#, ["bergen", "bodo", "tromso"]),
            ("EQUALS", "recordName", #"{"recordName":"oslo"}"#, ["oslo"]),
            (
                "EQUALS", "recordName",
                #"{"recordName":"oslo","zoneID":{"zoneName":"other"}}"#, []
            ),
            ("IN", "recordName", #"["oslo","bodo"]"#, ["bodo", "oslo"]),
            ("NOT_IN", "recordName", #"["oslo","bodo"]"#, ["bergen", "tromso"]),
            ("EQUALS", "createdUserRecordName", #""alice""#, boats),
            ("EQUALS", "createdUserRecordName", #""\#(alice)""#, boats),
            ("EQUALS", "modifiedUserRecordName", #"{"recordName":"\#(alice)"}"#, boats),
            ("EQUALS", "modifiedUserRecordName", #""bob""#, []),
            ("GREATER_THAN", "createdTimestamp", "1700000000000", boats),
            ("LESS_THAN", "createdTimestamp", "1700000000000.5", []),
            ("GREATER_THAN", "modifiedTimestamp", "4102444800000", []),
            ("EQUALS", "parent", #""oslo""#, ["tromso"]),
            ("NOT_EQUALS", "parent", #""oslo""#, []),
            ("EQUALS", "share", #""oslo""#, []),
        ]
        for (comparator, field, value, names) in cases {
            let answer = try await fleet.filter(
                #""comparator":"\#(comparator)","systemFieldName":"\#(field)","#
                    + #""fieldValue":{"value":\#(value)}"#)
            #expect(answer.recordNames?.sorted() == names, "\(field): \(answer.text)")
        }
        for (field, value) in [
            ("recordID", #""oslo""#), ("___recordID", #""oslo""#),
            ("creationDate", "1700000000000"), ("___modTime", "1700000000000"),
        ] {
            let answer = try await fleet.filter(
                #""comparator":"NOT_EQUALS","fieldName":"\#(field)","#
                    + #""fieldValue":{"value":\#(value)}"#)
            #expect(answer.recordNames?.isEmpty == false, "\(answer.text)")
        }
    }

    @Test(arguments: [
        (#"{"fieldName":"berths"}"#, ["tromso", "bodo", "oslo", "bergen"]),
        (#"{"fieldName":"berths","ascending":false}"#, ["bergen", "oslo", "bodo", "tromso"]),
        (#"{"fieldName":"name","ascending":true}"#, ["bergen", "bodo", "oslo", "tromso"]),
        (
            #"{"systemFieldName":"recordName","ascending":false}"#,
            ["tromso", "oslo", "bodo", "bergen"]
        ),
        (
            #"{"fieldName":"mooring","relativeLocation":{"latitude":67,"longitude":14}}"#,
            ["tromso", "bodo", "oslo", "bergen"]
        ),
        (
            #"{"fieldName":"mooring","ascending":false,"#
                + #""relativeLocation":{"latitude":60,"longitude":5}}"#,
            ["bodo", "oslo", "bergen", "tromso"]
        ),
        (
            #"{"fieldName":"missing"},{"fieldName":"creationDate","ascending":false},"#
                + #"{"fieldName":"name"}"#, nil
        ),
    ])
    func `records come in the order that the request sorts by`(
        descriptors: String, names: [String]?
    ) async throws {
        let fleet = try await TestFleet(TestGateway())
        let answer = try await fleet.query(#""sortBy":[\#(descriptors)]"#)
        let found = try #require(answer.recordNames, "\(answer.text)")
        #expect(found == names ?? found && found.count == 4, "\(answer.text)")
    }

    @Test(arguments: [
        ("berths > 3", "[]", ["bergen", "oslo"]),
        ("TRUEPREDICATE", "[]", ["bergen", "bodo", "oslo", "tromso"]),
        (
            "%K > %@ AND name BEGINSWITH %@", #"[{"value":"berths"},{"value":3},{"value":"O"}]"#,
            ["oslo"]
        ),
        ("launched < %@", #"[{"value":1500,"type":"TIMESTAMP"}]"#, ["oslo"]),
        ("harbour = %@", #"[{"value":{"recordName":"quay"}}]"#, ["oslo"]),
        (
            "harbour = %@", #"[{"value":{"recordName":"quay","zoneID":{"zoneName":"other"}}}]"#, []
        ),
        ("berths IN %@", #"[{"value":[2,6]}]"#, ["bergen", "bodo"]),
        ("berths = %@", #"[{"value":null}]"#, ["tromso"]),
        ("name = 'oslo' OR name LIKE '*Star'", "[]", ["bodo", "oslo"]),
        ("name = %@", #"[{"value":"' OR 1 = 1 OR name = '"}]"#, []),
        ("self CONTAINS 'star'", "[]", ["bodo"]),
        (
            "distanceToLocation:fromLocation:(mooring, %@) < 50",
            #"[{"value":{"latitude":67,"longitude":14}}]"#, ["bodo"]
        ),
    ])
    func `a predicate is text with arguments in its places`(
        text: String, arguments: String, names: [String]
    ) async throws {
        let fleet = try await TestFleet(TestGateway())
        let answer = try await fleet.query(
            #""predicate":"\#(text)","arguments":\#(arguments)"#)
        #expect(answer.recordNames?.sorted() == names, "\(answer.text)")
    }

    @Test func `OR is refused with the profile of CloudKit, and accepted otherwise`() async throws {
        for (profile, isRefused) in [
            (Profile.cloudKit, true), (.unlimited, false), (Profile(predicates: .service), true),
        ] {
            let fleet = try await TestFleet(
                TestGateway(Container.inMemory(profile: profile)))
            let answer = try await fleet.query(#""predicate":"name = 'oslo' OR berths = 2""#)
            #expect((answer.status == 400) == isRefused)
            #expect((answer.recordNames?.sorted() == ["bodo", "oslo"]) != isRefused)
            #expect(answer.reason.hasPrefix("OR is not supported by CloudKit") == isRefused)
        }
    }
}
