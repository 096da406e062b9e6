import Stratus
import StratusGateway
import Testing

/// Refusals by the host's rules, on the wire: `Formats/Requests.md`, "Errors"; case C138.
@Suite struct RuleErrorTests {
    private static let refusal = RuleRefusal(domain: "tests", code: 7, description: "not here")

    /// Refuses notes whose field `bad` is 1.
    private static var refusingBad: RecordRules {
        var rules = RecordRules()
        rules.validate("Note", named: "good") { change, _ throws(RuleRefusal) in
            if change.new?["bad"] == 1 { throw Self.refusal }
        }
        return rules
    }

    private static func gateway(_ rules: RecordRules) async throws -> TestGateway {
        try await TestGateway(Container.inMemory(rules: rules))
    }

    /// An item that makes a record.
    private func create(_ name: String, _ fields: String = "", type: String = "Note") -> String {
        #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"\#(type)","#
            + #""fields":{\#(fields)}}}"#
    }

    private static let bad = #""bad":{"value":1}"#

    // C138.
    @Test func `a validator's refusal has its code and cause, the rest of an atomic batch its own`()
        async throws
    {
        let gateway = try await Self.gateway(Self.refusingBad)
        let items = [create("a"), create("b", Self.bad), create("c"), create("d", Self.bad)]
        let answer = try await gateway.modify(items.joined(separator: ","), #","atomic":true"#)
        #expect(answer.status == 200)
        let records = answer.body["records"]
        #expect(records.count == 4)
        for (place, name) in ["a", "b", "c", "d"].enumerated() {
            let error = records[place]
            #expect(error["recordName"].text == name)
            if ["b", "d"].contains(name) {
                #expect(error.error == 15 && error["serverErrorCode"].text == "BAD_REQUEST")
                #expect(error["cause"].text == "validator.good.tests.7")
                #expect(error["reason"].text == "the validator good refuses it: not here")
            } else {
                #expect(error.error == 22 && error["serverErrorCode"].text == "ATOMIC_ERROR")
                #expect(error["cause"].value == nil)
            }
            #expect(error["partialErrors"].value == nil && error["serverRecord"].value == nil)
            #expect(try await gateway.record(name)["serverErrorCode"].text == "NOT_FOUND")
        }
    }

    // C138.
    @Test func `a validator's refusal fails one item of a batch that is not atomic`()
        async throws
    {
        let gateway = try await Self.gateway(Self.refusingBad)
        let items = [create("a"), create("b", Self.bad), create("c")]
        let records = try await gateway.modify(items.joined(separator: ",")).body["records"]
        #expect((0..<3).map { records[$0].error } == [nil, 15, nil])
        #expect(records[1]["cause"].text == "validator.good.tests.7")
        for (name, isThere) in [("a", true), ("b", false), ("c", true)] {
            let found = try await gateway.record(name)
            #expect((found.error == nil) == isThere, "\(name)")
        }
    }

    @Test func `updates and deletions are refused like creations`() async throws {
        var rules = Self.refusingBad
        rules.validate("Note", named: "kept") { change, _ throws(RuleRefusal) in
            if change.new == nil { throw Self.refusal }
        }
        let gateway = try await Self.gateway(rules)
        _ = try await gateway.modify(create("a"))
        let update =
            #"{"operationType":"forceUpdate","record":{"recordName":"a","recordType":"Note","#
            + #""fields":{\#(Self.bad)}}}"#
        let changed = try await gateway.modify(update).body["records"][0]
        #expect(changed.error == 15 && changed["cause"].text == "validator.good.tests.7")
        let deleted = try await gateway.modify(
            #"{"operationType":"forceDelete","record":{"recordName":"a"}}"#
        ).body["records"][0]
        #expect(deleted.error == 15 && deleted["cause"].text == "validator.kept.tests.7")
        #expect(try await gateway.record("a")["fields"].names == [])
    }

    @Test func `special characters in the host's words survive the wire`() async throws {
        let words = "\"}]\\\n\u{1}\u{202E}é"
        var rules = RecordRules()
        rules.validate("Note", named: "a.b \"c\"") { _, _ throws(RuleRefusal) in
            throw RuleRefusal(domain: words, code: -1, description: words)
        }
        let gateway = try await Self.gateway(rules)
        let answer = try await gateway.modify(create("a"))
        // As a client reads the line.
        let line = Found(.object(try JSONObject(reading: answer.text)))
        let error = line["body"]["records"][0]
        #expect(error.error == 15)
        #expect(error["cause"].text == "validator.a.b \"c\".\(words).-1")
        #expect(error["reason"].text == "the validator a.b \"c\" refuses it: \(words)")
    }
}

// Triggers.
extension RuleErrorTests {
    /// Saves a log record with each note that has a field `log`, which must not be empty.
    private static var logging: RecordRules {
        var rules = RecordRules()
        rules.trigger("Note", named: "log") { change, _ throws(RuleRefusal) in
            guard let text = change.new?["log"] else { return [] }
            let name = "log-" + change.recordID.recordName
            var log = Record(
                recordType: "Log",
                recordID: Record.ID(recordName: name, zoneID: change.recordID.zoneID))
            log["text"] = text
            return [.save(log)]
        }
        rules.validate("Log", named: "short") { change, _ throws(RuleRefusal) in
            if change.new?["text"]?.stringValue?.isEmpty == true { throw Self.refusal }
        }
        return rules
    }

    @Test func `a trigger's refusal has its code and cause`() async throws {
        var rules = RecordRules()
        rules.trigger("Note", named: "never") { change, _ throws(RuleRefusal) in
            if change.new?["bad"] == 1 { throw Self.refusal }
            return []
        }
        let gateway = try await Self.gateway(rules)
        let items = create("a") + "," + create("b", Self.bad)
        let records = try await gateway.modify(items, #","atomic":true"#).body["records"]
        #expect(records[0].error == 22 && records[0]["cause"].value == nil)
        #expect(records[1].error == 15)
        #expect(records[1]["cause"].text == "trigger.never.tests.7")
        #expect(records[1]["reason"].text == "the trigger never refuses it: not here")
    }

    @Test func `an effect that fails names its trigger, and the record in partialErrors`()
        async throws
    {
        let gateway = try await Self.gateway(Self.logging)
        let items =
            create("a", #""log":{"value":"text"}"#) + ","
            + create("b", #""log":{"value":""}"#)
        let records = try await gateway.modify(items).body["records"]
        #expect(records[0].error == nil)
        let error = records[1]
        #expect(error.error == 15 && error["serverErrorCode"].text == "BAD_REQUEST")
        #expect(error["recordName"].text == "b" && error["cause"].text == "triggerEffect.log")
        #expect(error["partialErrors"].count == 1)
        let nested = error["partialErrors"][0]
        #expect(nested["recordName"].text == "log-b" && nested.error == 15)
        #expect(nested["cause"].text == "validator.short.tests.7")
        #expect(try await gateway.record("log-a")["fields"]["text"]["value"].text == "text")
        for name in ["b", "log-b"] {
            #expect(try await gateway.record(name)["serverErrorCode"].text == "NOT_FOUND")
        }
    }

    @Test func `a chain of triggers that is too deep names the last trigger`() async throws {
        var rules = RecordRules()
        rules.trigger("Step", named: "next") { change, _ throws(RuleRefusal) in
            guard let number = change.new?["number"]?.int64Value else { return [] }
            var next = Record(
                recordType: "Step",
                recordID: Record.ID(
                    recordName: "s\(number + 1)", zoneID: change.recordID.zoneID))
            next["number"] = .int64(number + 1)
            return [.save(next)]
        }
        let gateway = try await Self.gateway(rules)
        let error = try await gateway.modify(
            create("s0", #""number":{"value":0}"#, type: "Step")
        ).body["records"][0]
        #expect(error.error == 15 && error["recordName"].text == "s0")
        #expect(error["cause"].text == "triggerDepth.next")
        #expect(error["reason"].text?.contains("the record s9") == true)
        #expect(try await gateway.record("s0")["serverErrorCode"].text == "NOT_FOUND")
    }
}

// Other calls.
extension RuleErrorTests {
    @Test func `a deletion whose cascade a validator refuses names the record in partialErrors`()
        async throws
    {
        var rules = RecordRules()
        rules.validate("Note", named: "kept") { change, _ throws(RuleRefusal) in
            if change.kind == .deletion { throw Self.refusal }
        }
        let gateway = try await Self.gateway(rules)
        _ = try await gateway.modify(create("root", type: "Root"))
        let target = #""target":{"value":{"recordName":"root","action":"DELETE_SELF"}}"#
        let made = try await gateway.modify(create("b", target))
        #expect(made.body["records"][0].error == nil, "\(made.text)")
        let error = try await gateway.modify(
            #"{"operationType":"forceDelete","record":{"recordName":"root"}}"#
        ).body["records"][0]
        #expect(error.error == 15 && error["recordName"].text == "root")
        #expect(error["cause"].text == "validator.kept.tests.7")
        #expect(error["partialErrors"].count == 1)
        let nested = error["partialErrors"][0]
        #expect(nested["recordName"].text == "b" && nested.error == 15)
        #expect(nested["cause"].text == "validator.kept.tests.7")
        for name in ["root", "b"] { #expect(try await gateway.record(name).error == nil) }
    }

    // Formats/README.md, "Validators and triggers", 11.
    @Test func `a repeated request has the code and reason of the first one, without the cause`()
        async throws
    {
        let gateway = try await Self.gateway(Self.refusingBad)
        let items = create("a") + "," + create("b", Self.bad)
        let first = try await gateway.modify(items, #","operationID":"o""#).body["records"]
        let again = try await gateway.modify(items, #","operationID":"o""#).body["records"]
        #expect(first[1]["cause"].text == "validator.good.tests.7")
        #expect(again[0] == first[0])
        #expect(again[1].error == 15 && again[1]["cause"].value == nil)
        #expect(again[1]["reason"] == first[1]["reason"])
        // The same holds when a long-lived request is fetched.
        let more = create("c") + "," + create("d", Self.bad)
        let made = try await gateway.modify(
            more, #","operationID":"long","isLongLived":true"#
        ).body["records"]
        #expect(made[1]["cause"].text == "validator.good.tests.7")
        let fetched = try await gateway.call(
            "operations/fetch", #"{"operationID":"long"}"#
        ).body["records"]
        #expect(fetched[0] == made[0])
        #expect(fetched[1].error == 15 && fetched[1]["cause"].value == nil)
        #expect(fetched[1]["reason"] == made[1]["reason"])
    }

    @Test func `a record of a type with rules is not moved, and the error names it`()
        async throws
    {
        let gateway = try await Self.gateway(Self.refusingBad)
        _ = try await gateway.modify(create("a"))
        _ = try await gateway.call(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneName":"to"}}]}"#)
        let answer = try await gateway.call(
            "records/move",
            #"{"zoneID":{"zoneName":"notes"},"toZoneID":{"zoneName":"to"},"#
                + #""records":[{"recordName":"a"}]}"#)
        #expect(answer.status == 400 && answer.code == "BAD_REQUEST")
        #expect(answer.body.error == 15 && answer.body["recordName"].text == "a")
        #expect(answer.body["cause"].value == nil)
        #expect(try await gateway.record("a").error == nil)
    }
}
